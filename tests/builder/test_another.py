"""Models are built by another interpreter: what it gets of the gate, what it is kept from, and how it is told."""

from __future__ import annotations

import ast
import errno
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import pytest_bertsize.builder.child as folder_of_child
from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.child.start import OLDEST
from pytest_bertsize.builder.helper import Helper, Limits
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.which_release import find_release
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import load
from tests.builder.conftest import ask_for_factory

if TYPE_CHECKING:
    from tests.conftest import Project

pytestmark = pytest.mark.process


ROOT = Path(__file__).parents[2]
PACKAGE = Path(folder_of_child.__file__).parents[2]
START = PACKAGE / "builder" / "child" / "start.py"
CUTS_OFF = sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64")
REQUEST = Request("tiny", "bert", "BertModel", {}, {})
LIBRARIES = {"transformers/__init__.py": "__version__ = '4.57.6'", "transformers/modeling_utils.py": ""}
TABLE = """
[tool.bertsize]
python = ".venv/bin/python"
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
"""


Building = Callable[..., Helper]


def environment(folder: Path, files: dict[str, str]) -> Path:
    """A virtual environment with nothing but these files installed, and its interpreter."""
    venv.create(folder, symlinks=True)
    for name, text in files.items():
        path = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)})) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "bin" / "python"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def building() -> Iterator[Callable[..., Helper]]:
    """A helper process by an interpreter that the table calls ``.venv/bin/python``, at one model of BERT."""
    helpers = []

    def build(python: Path, **limits: Any) -> Helper:
        helper = Helper(Limits(**limits))
        helper.build_with(python, ".venv/bin/python")
        helper.ask([REQUEST])
        helpers.append(helper)
        return helper

    yield build
    for helper in helpers:
        helper.stop()


def is_no_python(problem: str) -> NotBuilt:
    fix = 'name a Python of 3.9 or newer that has torch, as in python = ".venv/bin/python"'
    return NotBuilt(f".venv/bin/python {problem}", fix, "elsewhere")


def lacks(library: str) -> NotBuilt:
    error = f"ModuleNotFoundError: No module named '{library}'"
    fix = "install them there: .venv/bin/python -m pip install torch transformers"
    return NotBuilt(f"torch and transformers cannot be imported by .venv/bin/python: {error}", fix, "elsewhere")


# what it is, and what it is kept from


NOSES_AROUND = """
import ctypes, importlib.util, json, os, sys
import first_of_all
asked = ["pytest", "_pytest", "msgspec", "tomli", "rich", "jinja2", "numpy", "safetensors", "beside", "json"]
__version__ = json.dumps({
    "can be imported": [name for name in asked if importlib.util.find_spec(name)],
    "of ours": sys.modules["pytest_bertsize"].__path__,
    "of the gate": [path for path in sys.path if path in %r],
    "open": [n for n in os.listdir("/dev/fd") if "secret" in os.path.realpath("/dev/fd/" + n)],
    "network": first_of_all.said,
    "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) if sys.platform == "linux" else 0,
})
"""
"""A torch that looks around as it is imported. 3 is PR_GET_DUMPABLE of linux/prctl.h: no other process looks into it."""
TRIES_A_SOCKET = """
import socket
try:
    socket.socket(socket.AF_INET)
    said = "open"
except OSError as error:
    said = str(error)
"""


def test_nothing_of_the_gate_is_there_and_no_network_from_the_first_instruction_on(
    building: Building, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what the environment variables of Python name, nor what lies in the current folder.

    The network is tried before our own files are read there: what is installed may be run as the interpreter starts.
    """
    of_gate = [each for each in sys.path if "site-packages" in each or each == str(PACKAGE.parent)]
    assert of_gate
    (tmp_path / "beside.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    files = {
        **LIBRARIES,
        "first.pth": "import first_of_all\n",  # a sitecustomize.py may be another: Debian has one of its own
        "first_of_all.py": TRIES_A_SOCKET,
        "torch/__init__.py": NOSES_AROUND % of_gate,
    }
    with (tmp_path / "secret").open("w") as stream:
        os.set_inheritable(stream.fileno(), True)  # noqa: FBT003
        helper = building(environment(tmp_path / ".venv", files))
        result = helper.result("tiny")
    assert getattr(result, "reason", "") == "transformers 4.57.6 has no model class BertModel"
    assert helper.versions["transformers"] == "4.57.6"
    assert helper.versions["python"] == platform.python_version()
    assert json.loads(helper.versions["torch"]) == {
        "can be imported": ["json"],
        "of ours": [str(PACKAGE)],
        "of the gate": [],
        "open": [],
        "network": f"[Errno {errno.ENETDOWN}] {os.strerror(errno.ENETDOWN)}" if CUTS_OFF else "open",
        "dumpable": 0,
    }


@pytest.mark.usefixtures("cold_helper")
def test_a_model_is_built_in_the_projects_own_environment(project: Project) -> None:
    """With the torch and the transformers of these tests, and nothing else that they have."""
    pytester = project(TABLE)
    python = environment(pytester.path / ".venv", {})
    _link(python, but=("pytest_bertsize", "msgspec", "tomli"))
    result = pytester.runpytest("--bert-budget", "--bert-budget-report=size.json")
    result.assert_outcomes(passed=1)
    report = json.loads(Path("size.json").read_text("utf-8"))
    assert report["models"][0]["totals"]["actual"] == 59_549
    assert list(report["versions"]) == ["pytest_bertsize", "torch", "transformers", "python"]


OWN = """
import sys
from torch import nn
def build():
    before = {*sys.modules}
    made = nn.ModuleList([nn.Embedding(3, 4), nn.Linear(4, 5), nn.LayerNorm(5)])
    assert {*sys.modules} == before, sorted({*sys.modules} - before)
    return made
"""


def test_a_class_of_the_projects_own_needs_no_transformers(tmp_path: Path) -> None:
    """What the first module on meta imports, 80 MB of torch and sympy, is taken for no model's memory.

    transformers 5 has imported it by itself, and 4.40 has not.
    """
    python = environment(tmp_path / ".venv", {})
    _link(python, but=("transformers",))
    (tmp_path / "own.py").write_text(OWN)
    helper = Helper()
    helper.build_with(python, ".venv/bin/python")
    helper.ask([ask_for_factory(tmp_path, "build"), REQUEST])
    assert isinstance(helper.result("build"), Built)
    assert helper.result("tiny") == lacks("transformers")
    helper.stop()


def _link(python: Path, but: tuple[str, ...]) -> None:
    """Have an environment what these tests have installed, but for some."""
    there = Path(sysconfig.get_path("purelib", "venv", {"base": str(python.parents[1])}))
    for each in {Path(path) for path in sys.path if path.endswith("site-packages")}:
        for entry in each.iterdir():
            if not entry.name.startswith(but) and entry.suffix != ".pth" and not (there / entry.name).exists():
                (there / entry.name).symlink_to(entry)


def test_it_is_ended_where_it_takes_too_much_before_a_model(building: Building, tmp_path: Path) -> None:
    body = "import time\nheld = bytes(200_000_000)\nheld = bytearray(held)\ntime.sleep(60)"
    helper = building(environment(tmp_path / ".venv", {"torch/__init__.py": body}), another=100 * 1024**2)
    assert helper.result("tiny") == is_no_python(
        "does not run as a Python interpreter: it took more than 100 MB of memory"
    )


# what it may lack


@pytest.mark.parametrize("files", [{}, {"torch/__init__.py": "__version__ = '2.2'"}], ids=["torch", "transformers"])
def test_without_a_library_it_says_what_to_install_where(
    building: Building, tmp_path: Path, files: dict[str, str]
) -> None:
    assert building(environment(tmp_path / ".venv", files)).result("tiny") == lacks(
        "transformers" if files else "torch"
    )


def test_a_python_that_is_too_old_says_so(building: Building, tmp_path: Path) -> None:
    """By an interpreter that says of itself to be 3.8, and runs what it is told to."""
    code = "import runpy, sys; sys.version_info = (3, 8, 18); runpy.run_path(sys.argv[1], run_name='__main__')"
    python = script(tmp_path / "python", f'#!/bin/sh\nexec "{sys.executable}" -I -c "{code}" "$2"\n')
    failure = building(python).result("tiny")
    assert failure == is_no_python("is Python 3.8, and 3.9 is the oldest that builds models")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\nexit 3\n", "does not run as a Python interpreter: the helper process ended early, with status 3"),
        (
            "#!/bin/sh\necho Python 3.12\n",
            "does not run as a Python interpreter: the helper process sent an unreadable answer",
        ),
        ("\0", "cannot be started: Exec format error"),
    ],
    ids=["a program that fails", "a program that prints", "no program"],
)
def test_what_is_no_python_is_told_from_one(building: Building, tmp_path: Path, text: str, reason: str) -> None:
    python = script(tmp_path / "python", text)
    assert building(python).result("tiny") == is_no_python(reason)


# by which Python


def closure() -> dict[Path, ast.Module]:
    """Return what the helper process imports of ours in another interpreter, late imports too, from where it begins."""
    waiting, found = [START], {}
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = ast.parse(path.read_text("utf-8"), feature_version=OLDEST)
            waiting += _imported(found[path])
    return found


def _imported(tree: ast.Module) -> Iterator[Path]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {node.value} if re.fullmatch(r"pytest_bertsize(\.\w+)+", node.value) else set()
    for name in names:
        path = PACKAGE.parent / f"{name.replace('.', '/')}.py"
        if name.startswith("pytest_bertsize.") and path.is_file():
            yield path


NEWER = {"contextlib.chdir", "sys.stdlib_module_names", "TypeAlias", "Self", "pairwise", "StrEnum", "tomllib", "anext"}
"""Of Python 3.10 and newer, and of use here; ruff knows more of them."""


def test_what_runs_there_is_written_in_python_3_9() -> None:
    for path, tree in closure().items():
        text = path.read_text("utf-8")
        assert path == START or "from __future__ import annotations" in text
        nodes = (each for each in ast.walk(tree) if isinstance(each, ast.Attribute | ast.Name))
        assert {ast.unparse(each) for each in nodes} & NEWER == set(), path
        for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call)):
            keywords = {each.arg for each in call.keywords}
            assert not keywords & ({"strict"} if ast.unparse(call.func) == "zip" else {"slots", "kw_only"})
            if ast.unparse(call.func) in {"isinstance", "issubclass"}:
                assert not isinstance(call.args[1], ast.BinOp), f"{path}: {ast.unparse(call)}"


# which release is there, without a process


@pytest.mark.parametrize("inside", ["lib/python3.9/site-packages", "lib/python3/dist-packages"])
def test_a_release_is_read_from_the_metadata_of_an_environment(tmp_path: Path, inside: str) -> None:
    _install(tmp_path / inside, "4.57.6")
    python = script(tmp_path / "bin" / "python3.9", "#!/bin/sh\ntouch run\n")
    assert (find_release("transformers", python), find_release("torch", python)) == ("4.57.6", None)


def test_a_virtual_environment_has_its_own_release_and_perhaps_that_of_its_base(tmp_path: Path) -> None:
    base, own = tmp_path / "base", tmp_path / ".venv"
    _install(base / "lib/python3.12/site-packages", "5.1.0")
    python = script(base / "bin" / "python3.12", "")
    (own / "bin").mkdir(parents=True)
    (own / "bin" / "python").symlink_to(python)
    settings = own / "pyvenv.cfg"
    settings.write_text("home = elsewhere\nversion = 3.12.1\ninclude-system-site-packages = false\n")
    assert find_release("transformers", own / "bin" / "python") is None
    settings.write_text("home = elsewhere\nversion = 3.12.1\ninclude-system-site-packages = true\n")
    assert find_release("transformers", own / "bin" / "python") == "5.1.0"
    _install(own / "lib/python3.12/site-packages", "4.40.2")
    assert find_release("transformers", own / "bin" / "python") == "4.40.2"


def _install(folder: Path, version: str) -> None:
    metadata = folder / f"transformers-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: transformers\nVersion: {version}\n")


# where nothing is built


def test_without_a_build_it_is_neither_run_nor_missed(project: Project) -> None:
    pytester = project(TABLE)
    assert pytester.runpytest("--bert-budget", "--bert-budget-no-build").ret == pytest.ExitCode.OK
    script(pytester.path / ".venv" / "bin" / "python", "#!/bin/sh\ntouch ran\n")
    assert pytester.runpytest("--bert-budget", "--bert-budget-no-build").ret == pytest.ExitCode.OK
    assert not (pytester.path / "ran").exists()


def test_where_the_table_names_one_the_gates_own_never_starts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("pytest_bertsize.builder.helper.start_process", lambda command: _noted(started, command))
    pytester = project(TABLE)
    script(pytester.path / ".venv" / "bin" / "python", "#!/bin/sh\nexit 3\n")
    assert pytester.runpytest_inprocess("--bert-budget").ret == pytest.ExitCode.TESTS_FAILED
    assert [line[-2:] for line in started] == [
        ["pytest_bertsize.builder.confined", str(pytester.path / ".venv" / "bin" / "python")]
    ]


def _noted(started: list[list[str]], command: Any) -> subprocess.Popen[bytes]:
    started.append([*command])
    return own_process.start_process(command)


def test_there_is_no_module_of_a_model_in_the_process_that_asks(tmp_path: Path, tiny: dict[str, Any]) -> None:
    """``.model`` of the fixture would be of another class than the one that was counted."""
    (tmp_path / "config.json").write_text(json.dumps(tiny))
    (tmp_path / "pyproject.toml").write_text(TABLE)
    settings = load(tmp_path / "pyproject.toml")
    found = examine(settings.models["encoder"], settings, Registry())
    built = replace(conclude_unbuilt(found), actual=found.form)
    with pytest.raises(
        RuntimeError, match=r"encoder is built by .venv/bin/python, so this process has no module of it"
    ):
        _ = built.model
