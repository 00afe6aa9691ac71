"""What a gate does for a model, counted: nothing before it is asked, and nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.base.lock import Lock
from pytest_bertsize.builder.messages import NotBuilt, Why
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.review.gate import Gate, Mode
from tests.conftest import TINY
from tests.support.desk import lay

if TYPE_CHECKING:
    from pytest_bertsize.table.settings import Settings

FIVE = [f"m{index}" for index in range(5)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Five models, of which the tiny one of conftest.py has 59,549 parameters, and each next one more of a width of 48."""
    text = "".join(f'[tool.bertsize.models.{name}]\nconfig = "{name}.json"\nbudget.total = 70_000\n' for name in FIVE)
    configs = {name: {**TINY, "vocab_size": TINY["vocab_size"] + index} for index, name in enumerate(FIVE)}
    return lay(tmp_path, text, TINY, **configs)


def of(settings: Settings, *, builds: bool = False) -> Gate:
    result = (lambda _: NotBuilt(Why.RAISED, "nobody builds here")) if builds else None
    return Gate(settings, Registry(), result, mode=Mode(detail=False))


def test_a_request_has_the_hash_of_its_closed_form_unless_a_lock_asks_for_tensors(settings: Settings) -> None:
    hashes = {each.closed_form for each in of(settings, builds=True).requests.values()}
    assert len(hashes - {""}) == len(FIVE)
    locked = Gate(settings, Registry(), lambda _: NotBuilt(Why.RAISED, ""), lock=Lock("bertsize.lock"))
    assert {each.closed_form for each in locked.requests.values()} == {""}
