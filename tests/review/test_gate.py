"""What a gate does for a model, counted: nothing before it is asked, and nothing twice."""

from __future__ import annotations

from pathlib import Path

from pytest_bertsize.base.lock import Lock
from pytest_bertsize.builder.messages import NotBuilt
from pytest_bertsize.review.gate import Gate
from tests.conftest import TINY
from tests.support.desk import as_project, lay


def test_a_request_has_the_hash_of_its_closed_form_unless_a_lock_asks_for_tensors(tmp_path: Path) -> None:
    text = "".join(f'[tool.bertsize.models.{name}]\nconfig = "{name}.json"\nbudget.total = 70_000\n' for name in "ab")
    settings = lay(tmp_path, text, TINY, a=TINY, b={**TINY, "vocab_size": 102})

    def hashes(lock: Lock | None) -> set[str]:
        gate = Gate(as_project(settings), lambda _: NotBuilt("nobody builds here"), lock=lock)
        return {each.closed_form for each in gate.find_requests(gate.settings.models).values()}

    assert len(hashes(None) - {""}) == len(settings.models)
    assert hashes(Lock("bertsize.lock")) == {""}
