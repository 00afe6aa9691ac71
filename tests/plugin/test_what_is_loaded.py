"""What a run imports, builds, starts and leaves behind: facts that make it fast, and not times."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import Built, Request
from tests.conftest import FITS, TABLE

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.process
cold = pytest.mark.usefixtures("cold_helper")

InHelper = Callable[[Sequence[Request]], set[str]]
HEAVY = {"torch", "transformers", "numpy", "sympy", "jinja2", "peft", "yaml", "safetensors", "tokenizers"}
TINY = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}
ONLY_OURS = ["-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:anyio", "-p", "no:cov"]
LINES = "import sys\nfrom pytest_bertsize.__main__ import main\nstatus = main({arguments})\nprint(sorted(sys.modules))"
IMPORTED = """
    import atexit, json, os, sys
    def written_down():
        with open({log!r}, "a") as log:
            log.write(json.dumps([sys.orig_argv[1:], sorted(sys.modules)]) + "\\n")
    atexit.register(written_down)
    leave = os._exit
    def leave_and_tell(status):
        written_down()
        leave(status)
    os._exit = leave_and_tell
"""
"""A sitecustomize that writes down what each Python process has imported when it ends by itself."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-I", "-m", "pytest_bertsize", *arguments]


def modules_of_check(*arguments: str) -> set[str]:
    """Return what the process of ``check`` has imported when it is through, and nobody measures what is run of it."""
    code = LINES.format(arguments=["check", *arguments])
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    return set(json.loads(done.stdout.splitlines()[-1].replace("'", '"')))


def modules_of_pytest(pytester: pytest.Pytester, *arguments: str) -> set[str]:
    """Return what the process of pytest has imported when it is through, other plugins than ours left out.

    A module whose asserts pytest has compiled anew, but for that of the entry point, is named so.
    """
    conftest = """
        import json, sys
        def pytest_unconfigure():
            anew = {name for name, each in sys.modules.items() if "Rewrit" in repr(getattr(each, "__loader__", ""))}
            ours = {f"{name} anew" for name in anew if name.startswith("pytest_bertsize.")}
            with open("modules.json", "w") as file:
                json.dump(sorted({*sys.modules, *ours} - {"pytest_bertsize.plugin anew"}), file)
    """
    Path("conftest.py").write_text(textwrap.dedent(conftest))
    pytester.runpytest_subprocess(*ONLY_OURS, *arguments)
    return set(json.loads(Path("modules.json").read_text()))


def models(count: int) -> str:
    one = '[tool.bertsize.models.m{number:04}]\nconfig = "config.json"\nbudget.total = "60K"\n'
    return "".join(one.format(number=number) for number in range(count))


# what the processes of the gate import


@cold
def test_without_a_build_nothing_is_imported_that_table_and_options_do_not_ask_for(project: Project) -> None:
    pytester = project(TABLE)
    command, families = modules_of_check("--no-build"), "pytest_bertsize.closed_forms.families."
    assert not {*HEAVY, "psutil", "tomlkit", "pytest", "pluggy", "_pytest"} & command
    assert not {"pytest_bertsize.reports.html.page", "pytest_bertsize.reports.markdown", "html"} & command
    assert {name for name in command if name.startswith(families)} == {f"{families}bert"}
    assert "pytest_bertsize.reports.html.page" not in modules_of_check("--no-build", "--report", "size.json")
    assert not HEAVY & modules_of_pytest(pytester, "--bert-budget", "--bert-budget-no-build")


def test_without_a_build_no_process_is_started(project: Project) -> None:
    watch = """
        import sys
        def heard(event, args):
            if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"):
                sys.stderr.write(f"STARTED {args[:2]}\\n")
        sys.addaudithook(heard)
    """
    pytester = project(TABLE, sitecustomize=watch)
    environment = {"PYTHONPATH": str(pytester.path), "PATH": os.environ["PATH"]}
    lines = (["-m", "pytest_bertsize", "check", "--no-build"], ["-c", "import subprocess; subprocess.run('false')"])
    started = []
    for line in lines:
        done = subprocess.run([sys.executable, *line], env=environment, capture_output=True, text=True, check=False)
        started.append((done.returncode, done.stderr.count("STARTED")))
    assert started == [(1, 0), (0, 1)]


@cold
def test_the_whole_gate_imports_nothing_heavy_in_its_own_process_and_its_helper_has_ended(
    project: Project, started: Callable[[], list[int]]
) -> None:
    passes = modules_of_check()
    assert not {*HEAVY, "tomlkit"} & passes
    assert "psutil" in passes  # which looks at the process that it starts
    raises = modules_of_pytest(project(TABLE), "--bert-budget", "--bert-budget-update")
    assert HEAVY & raises == set()
    assert "tomlkit" in raises  # which writes the limit
    assert not [each for each in raises if each.endswith(" anew")]
    assert len(started()) == 2
    assert [process for process in started() if alive(process)] == []


@cold  # the one that is forked imports what starts a helper
def test_a_run_of_other_tests_reads_no_table(project: Project) -> None:
    pytester = project(f"bert_budget = true\n{FITS}", test_a="def test_it(): pass")
    loaded = modules_of_pytest(pytester, "test_a.py")
    assert "pytest_bertsize.plugin.selection" in loaded
    assert not {"msgspec", "tomli", "pytest_bertsize.table.settings"} & loaded


@cold
def test_installed_and_unused_it_brings_no_module_that_pytest_has_not(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    unused = modules_of_pytest(pytester)
    without = modules_of_pytest(pytester, "-p", "no:bertsize")
    assert unused - without == {"pytest_bertsize", "pytest_bertsize.plugin"}


@pytest.fixture
def in_helper(project: Project, monkeypatch: pytest.MonkeyPatch, cold_helper: None) -> Iterator[InHelper]:
    """The modules that the helper process has imported when it has built what is asked of it."""
    pytester = project("")
    log = pytester.path / "log"
    Path("sitecustomize.py").write_text(textwrap.dedent(IMPORTED).format(log=str(log)))
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    helper = Helper()

    def modules(requests: Sequence[Request]) -> set[str]:
        helper.ask(requests)
        for request in requests:
            assert isinstance(helper.result(request.name), Built)
        assert helper._child is not None
        assert helper._child.process.stdin is not None
        helper._child.process.stdin.close()
        helper._child.process.wait(60)
        return {
            name for written in log.read_text().splitlines() for name in json.loads(written)[1]
        }  # of its forks, too

    yield modules
    helper.stop()


def files_of_models(modules: set[str]) -> set[str]:
    """The files of transformers in which models are defined: ``{"bert.modeling_bert"}``."""
    prefix = "transformers.models."
    return {name.removeprefix(prefix) for name in modules if name.startswith(prefix) and ".modeling_" in name}


AUTO = "auto.modeling_auto"
"""Names alone; every file of a model imports it, by ``transformers.modeling_layers``."""


ARCHITECTURES = ("BertModel", "BertForMaskedLM", "BertForSequenceClassification")


def test_the_helper_imports_the_models_of_one_family_and_nothing_for_tests_training_or_pictures(
    in_helper: InHelper,
) -> None:
    found = in_helper([Request(each, "bert", each, TINY, {}) for each in ARCHITECTURES])
    assert files_of_models(found) == {"bert.modeling_bert", AUTO}
    assert {name for name in found if re.match(r"transformers\.models\..*\.configuration_", name)} == {
        "transformers.models.auto.configuration_auto",
        "transformers.models.bert.configuration_bert",
    }
    unneeded = {"pytest", "torchvision", "torchaudio", "datasets", "peft", "scipy", "sklearn", "pandas", "tensorflow"}
    assert not unneeded & found
    assert not {"transformers.trainer", "transformers.pipelines", "transformers.generation.watermarking"} & found


# what is built


COUNTED = """
    from pathlib import Path
    from torch import nn
    def build(config):
        with Path(__file__).with_suffix(".log").open("a") as log:
            log.write("x")
        return nn.Linear(config["hidden_size"], config["vocab_size"])
"""
FACTORY = """
    [tool.bertsize.models.{name}]
    factory = "counted:build"
    config = "config.json"
    closed_form = false
    overrides = {{ vocab_size = {tokens} }}
    budget.total = "60K"
    """


def factories(**tokens: int) -> str:
    return "".join(FACTORY.format(name=name, tokens=count) for name, count in tokens.items())


@pytest.mark.parametrize(
    ("tokens", "made", "calls", "told"),
    [
        ({"first": 7, "second": 7}, "return", "x", ["✓ * 343 *", "✓ * 343 *", "2 configured, *"]),
        (
            {"first": 7, "second": 7, "third": 8},
            "raise ValueError('no') #",
            "xx",
            ["✗ *, *, *: counted:build could not be built: ValueError: no*"],
        ),
        ({"first": 0}, "return", "", ["first: pyproject.toml:*"]),
    ],
    ids=["once for all its names", "a failure once too", "never if it is refused"],
)
def test_a_factory_is_called_once_whatever_its_names(
    project: Project, tokens: dict[str, int], made: str, calls: str, told: list[str]
) -> None:
    pytester = project(factories(**tokens), counted=COUNTED.replace("return", made))
    pytester.runpytest_subprocess("--bert-budget", "-n2").stdout.fnmatch_lines(told)
    log = Path("counted.log")
    assert (log.read_text() if log.exists() else "") == calls


# what stays behind


def alive(process: int) -> bool:
    """Tell whether a process is there, if only as a zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def started(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """The helper processes that were started, by a sitecustomize that only they have seen."""
    pytester = project(FITS)
    tell = """
        import os, sys
        if "pytest_bertsize.builder.child" in sys.orig_argv:
            with open({log!r}, "a") as log:
                log.write(f"{{os.getpid()}}\\n")
    """
    log = pytester.path / "helpers"
    Path("sitecustomize.py").write_text(textwrap.dedent(tell).format(log=str(log)))
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return lambda: [int(line) for line in log.read_text().split()] if log.exists() else []


NOT_ISOLATED = [sys.executable, "-m", "pytest_bertsize", "check"]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--bert-budget"]
MISTAKES = {
    "well": (FITS, 0),
    "a mistake in the table": (FITS.replace('"60K"', '"60 K"'), 2),
    "nothing to build": (FITS.replace("config.json", "lost.json"), 1),
}


@pytest.mark.parametrize(
    ("line", "how"),
    [(NOT_ISOLATED, "a mistake in the table"), (PYTEST, "nothing to build"), ([*PYTEST, "-n2"], "well")],
    ids=lambda each: each if isinstance(each, str) else " ".join(each[2:]),
)
def test_however_a_run_ends_its_helper_has_ended(started: Callable[[], list[int]], line: list[str], how: str) -> None:
    table, status = MISTAKES[how]
    Path("pyproject.toml").write_text('[tool.pytest.ini_options]\nminversion = "8.2"\n' + textwrap.dedent(table))
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == (4 if status == 2 and line is not NOT_ISOLATED else status)
    assert (how == "well") <= len(started()) <= 1  # of the run, and not of each worker
    assert [process for process in started() if alive(process)] == []


def test_a_check_leaves_neither_a_file_nor_its_helper_behind(
    project: Project, started: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project(factories(first=7), counted=COUNTED)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = {path.name for path in Path().iterdir()}
    assert subprocess.run(NOT_ISOLATED, capture_output=True, check=False).returncode == 0
    assert list(tmp_path.iterdir()) == []
    assert {path.name for path in Path().iterdir()} - before <= {"counted.log", "helpers", "__pycache__"}
    assert [alive(process) for process in started()] == [False]


def test_a_check_that_is_interrupted_leaves_no_helper_behind(started: Callable[[], list[int]]) -> None:
    slow = "import time\ndef build(config): time.sleep(300)"
    Path("slow.py").write_text(slow)
    table = FITS + 'factory = "slow:build"\nclosed_form = false\n'
    Path("pyproject.toml").write_text(textwrap.dedent(table))
    with subprocess.Popen(NOT_ISOLATED, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not started():
            assert process.poll() is None
        process.send_signal(2)
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert [each for each in started() if alive(each)] == []


# where the command writes


CLOSED = ["sh", "-c", 'exec "$@" >&-', "sh"]


@pytest.mark.parametrize(
    ("table", "status", "before", "arguments"),
    [("60K", 0, [], []), ("50K", 1, [], ["-vv"]), ("60K", 0, CLOSED, []), ("50K", 1, CLOSED, [])],
    ids=["passes", "fails", "passes into nothing", "fails into nothing"],
)
def test_a_reader_that_leaves_early_or_is_not_there_costs_neither_the_verdict_nor_a_traceback(
    project: Project, table: str, status: int, before: list[str], arguments: list[str]
) -> None:
    project(models(1 if before else 100).replace("60K", table))
    line = [*before, *command("check", "--no-build", *arguments)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(timeout=60)
    assert b"Traceback" not in said
    assert process.returncode == status


@pytest.mark.parametrize("count", [1, 1_000], ids=["less than a buffer", "more than a buffer"])
def test_a_full_disk_is_no_success(project: Project, count: int) -> None:
    project(models(count))
    with Path("/dev/full").open("w") as out:
        done = subprocess.run(
            command("check", "--no-build"), stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert re.search(r"No space left on device", done.stderr)
