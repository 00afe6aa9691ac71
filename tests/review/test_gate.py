"""What a gate does for a model, counted: nothing before it is asked, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize import files
from pytest_bertsize.base.lock import Lock
from pytest_bertsize.builder.messages import NotBuilt, Why
from pytest_bertsize.closed_forms import family
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.closed_forms.tree import Tree
from pytest_bertsize.reports.from_review import report_model
from pytest_bertsize.review import gate as gates
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


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str], list[object]]:
    """Has the first arguments of all calls of a function noted."""

    def note(module: object, name: str) -> list[object]:
        calls: list[object] = []
        original = getattr(module, name)

        def noting(*arguments: object, **named: object) -> object:
            calls.append(arguments[0])
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, noting)
        return calls

    return note


def of(settings: Settings, *, builds: bool = False) -> Gate:
    result = (lambda _: NotBuilt(Why.RAISED, "nobody builds here")) if builds else None
    return Gate(settings, Registry(), result, mode=Mode(detail=False))


def test_a_worker_examines_the_models_of_its_own_tests_and_each_once(
    settings: Settings, counted: Callable[[object, str], list[object]]
) -> None:
    examined = counted(gates, "examine")
    gate = of(settings, builds=True)
    assert examined == []
    assert [gate.review(name).name for name in ("m3", "m1", "m3")] == ["m3", "m1", "m3"]
    assert examined == [settings.models["m3"], settings.models["m1"]]


def test_a_model_is_one_file_opened_once_and_no_tensor_listed_that_nobody_is_shown(
    settings: Settings, counted: Callable[[object, str], list[object]]
) -> None:
    opened, listed, walked = (
        counted(files, "open_regular"),
        counted(family, "list_tensors"),
        counted(Tree, "terms"),
    )
    gate = of(settings)
    reports = [report_model(gate.review(name)) for name in settings.names]
    assert [report.totals.expected for report in reports] == [59_549 + 49 * index for index in range(5)]
    assert opened == [settings.root / f"{name}.json" for name in FIVE]
    assert listed == []
    assert len(walked) == 2 * len(FIVE)  # the body of each, and its head


def test_a_request_has_the_hash_of_its_closed_form_unless_a_lock_asks_for_tensors(settings: Settings) -> None:
    hashes = {each.closed_form for each in of(settings, builds=True).requests.values()}
    assert len(hashes - {""}) == len(FIVE)
    locked = Gate(settings, Registry(), lambda _: NotBuilt(Why.RAISED, ""), lock=Lock("bertsize.lock"))
    assert {each.closed_form for each in locked.requests.values()} == {""}
