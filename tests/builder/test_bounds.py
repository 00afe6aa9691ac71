"""What a model may cost, whatever its config says: memory, output, and nothing at all where it is refused."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.derive import BYTES_OF_A_LABEL, BYTES_OF_A_TENSOR, MOST_MEMORY

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.process


TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget = "report-only"
"""
MEGABYTE = 1024 * 1024


# memory


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory is used")
def test_a_thousand_layers_take_what_the_closed_form_foresees_and_less_than_64_megabytes() -> None:
    """BERT with 1,000 layers has 16,007 tensors; a process of its own tells what building and listing them took."""
    code = """
        import json, re
        from pathlib import Path
        from pytest_bertsize.builder.messages import Request
        from pytest_bertsize.builder.child.listing import take_inventory
        from pytest_bertsize.builder.child.making import instantiate
        def most(): return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
        def request(layers):
            return Request("", "bert", "BertModel", {"num_hidden_layers": layers}, {})
        take_inventory(instantiate(request(1)))
        before = most()
        found = json.dumps(take_inventory(instantiate(request(1000))))
        print(len(json.loads(found)[0]), most() - before)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    tensors, taken = map(int, run.stdout.split())
    assert tensors == 5 + 16 * 1_000 + 2
    assert taken < MOST_MEMORY
    assert tensors * BYTES_OF_A_TENSOR < MOST_MEMORY
    assert tensors * BYTES_OF_A_TENSOR > 0.8 * taken


def test_what_would_take_more_is_built_where_the_table_says_that_it_takes_that_much(
    project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    sizes = {"num_hidden_layers": 1_000, "num_labels": 100_000, "architectures": ["BertForSequenceClassification"]}
    takes = (16_009 * BYTES_OF_A_TENSOR + 100_000 * BYTES_OF_A_LABEL) // MEGABYTE
    result = project(TABLE, {**tiny, **sizes}).runpytest("--bert-budget")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"*16,009 tensors and 100,000 labels, which would take {takes} MB to build, more than 64*"]
    )
    table = f'{TABLE}build = {{ memory = "400MB", seconds = 300 }}\n'
    project(table, {**tiny, **sizes}).runpytest("--bert-budget").assert_outcomes(passed=1)


# a refusal


PYTEST, CHECK = ["-m", "pytest", "--bert-budget"], ["-m", "pytest_bertsize", "check"]
REFUSED: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    "a table": (CHECK, TABLE.replace("report-only", "110 MB"), {}),
    "a config": (PYTEST, TABLE, {"num_hidden_layers": -1}),
    "a model": (CHECK, TABLE, {"num_hidden_layers": 1_000, "num_labels": 100_000}),
}


@pytest.mark.parametrize(("command", "table", "change"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_imports_no_torch_and_leaves_no_process(
    project: Project, tiny: dict[str, Any], command: list[str], table: str, change: dict[str, Any]
) -> None:
    """A sitecustomize writes down which processes end by themselves, and whether they have imported torch."""
    change = {"architectures": ["BertForSequenceClassification"], **change}
    watch = """
        import atexit, os, sys
        def left(*_):
            heavy = sorted({"torch", "transformers"} & sys.modules.keys())
            open(os.environ["LOG"], "a").write(f"{sys.orig_argv[1:]} {heavy}\\n")
        atexit.register(left)
        leave = os._exit
        os._exit = lambda status: (left(), leave(status))
    """
    pytester = project(table, {**tiny, **change}, sitecustomize=watch)
    log = pytester.path / "log"
    environment = {"PYTHONPATH": str(pytester.path), "LOG": str(log), "PATH": ""}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, check=False)
    assert done.returncode != 0
    assert log.read_text() == f"{command} []\n"


# the terminal


def test_one_failing_model_prints_less_than_64_kilobytes(
    project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    noise = {f"__{'ö' * 50}{index}": "é" * 20 for index in range(1_900)}
    result = project(TABLE, {**tiny, **noise}).runpytest("--bert-budget", "-vv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(result.stdout.str().encode()) < 64 * 1024
    result.stdout.fnmatch_lines(["1,859 more findings in the JSON report"])
