"""The tests' own short cut: a helper that is forked from a warm process is, to its parent, the one that is started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder import helper, own_process
from pytest_bertsize.builder.helper import Helper, Limits
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


@pytest.fixture
def forked(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(command: Any) -> Any:
        process = warm_helper.started(warm, command)
        assert isinstance(process, warm_process.Forked)
        return process

    monkeypatch.setattr(helper, "start_process", started)


@pytest.fixture
def helpers() -> Iterator[list[Helper]]:
    made: list[Helper] = []
    yield made
    for each in made:
        each.stop()


def answers(helpers: list[Helper], requests: list[Request], **limits: Any) -> dict[str, Built | NotBuilt]:
    helpers.append(Helper(Limits(**limits)))
    helpers[-1].ask(requests)
    return {each.name: helpers[-1].result(each.name) for each in requests}


def test_it_answers_what_the_real_one_does(
    forked: None, own: Path, helpers: list[Helper], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [*ASKED, ask_for_factory(own, "line"), ask_for_factory(own, "where")]
    monkeypatch.setenv("SAID", "what the run has set")
    warm = answers(helpers, requests)
    monkeypatch.setattr(helper, "start_process", own_process.start_process)
    assert answers(helpers, requests) == warm
    assert helpers[0].versions == helpers[1].versions
    assert [name for name, answer in warm.items() if isinstance(answer, Built)] == ["bert", "electra", "line"]
    told = warm["where"]
    assert isinstance(told, NotBuilt)
    assert told.reason.startswith(f"ValueError: {own.resolve()} what the run has set None ''")


def test_a_helper_is_forked_and_not_started(warm: Warm) -> None:
    process = warm_helper.started(warm, Helper().command)
    assert not isinstance(process, subprocess.Popen)
    own_process.end_process(process)


def test_a_helper_that_is_no_helper_is_started(warm: Warm) -> None:
    process = warm_helper.started(warm, [sys.executable, "-c", "print(3)"])
    assert process.stdout
    assert process.stdout.read() == b"3\n"
    own_process.end_process(process)
