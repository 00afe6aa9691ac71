"""The tests' own short cut: a helper that is forked from a warm process is, to its parent, the one that is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder import helper, own_process
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from tests.builder.conftest import ask_for_factory
from tests.support import warm_helper, warm_process

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

pytestmark = pytest.mark.process

TINY = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}
ASKED = [
    Request("bert", "bert", "BertForMaskedLM", TINY, {}, seq_len=7),
    Request("electra", "electra", "ElectraModel", TINY, {}),
    Request("refused", "bert", "BertModel", {**TINY, "hidden_act": "foo"}, {}),
    Request("nowhere", "bert", "NoSuchModel", TINY, {}),
]
OWN = """
import os, sys
from torch import nn

def where():
    trace = None if "coverage" in repr(sys.gettrace()) else sys.gettrace()  # where tests are measured
    raise ValueError(f"{os.path.realpath(os.getcwd())} {os.environ.get('SAID')} {trace} {sys.stdin.read()!r}")
def line(): return nn.Linear(3, 2)
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def test_it_answers_what_the_real_one_does(own: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    def forked(command: Any) -> Any:
        process = warm_helper.started(warm, command)
        assert isinstance(process, warm_process.Forked)
        return process

    requests = [*ASKED, ask_for_factory(own, "line"), ask_for_factory(own, "where")]
    monkeypatch.setenv("SAID", "what the run has set")
    helpers = Helper(), Helper()
    answers: list[dict[str, Built | NotBuilt]] = []
    for each, start in zip(helpers, (forked, own_process.start_process), strict=True):
        monkeypatch.setattr(helper, "start_process", start)
        each.ask(requests)
        answers.append({request.name: each.result(request.name) for request in requests})
        each.stop()
    assert answers[0] == answers[1]
    assert helpers[0].versions == helpers[1].versions
    built = [name for name, answer in answers[0].items() if isinstance(answer, Built)]
    assert built == ["bert", "electra", "line"]
    told = answers[0]["where"]
    assert isinstance(told, NotBuilt)
    assert told.reason.startswith(f"ValueError: {own.resolve()} what the run has set None ''")
