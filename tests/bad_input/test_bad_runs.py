"""Bad tables, markers, options and surroundings, run through pytest as a user runs it.

The cases are data: ``bad_input/tables*.toml``, ``markers*.toml``, ``options*.toml``, ``surroundings*.toml``. What stands
in a file's ``[default]`` holds for each of its cases that does not say otherwise. A good ``config.json`` (the tiny model of
``conftest.py``) always lies beside the ``pyproject.toml``. A row of ``mistakes`` is a case in short: lines of the table, what is
said of them, and what a lax gate does.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
import tomli
import tomlkit

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.commands.check import check
from pytest_bertsize.plugin import session
from pytest_bertsize.table.settings import SettingsError, load
from tests.bad_input.test_bad_input import untidy
from tests.support.warm_helper import command

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request
    from tests.support.warm_helper import Warm

assert all((bert, session, tomlkit))  # imported here once, and not again by each run inside this process

DATA = Path(__file__).parent
TOPICS = ("tables", "markers", "options", "surroundings")
SECONDS = 120
"""After which a run in a process of its own hangs."""


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    why: str
    """What a lax gate does with it."""
    table: str = ""
    """What stands in pyproject.toml behind ``[tool.pytest.ini_options]``."""
    above: str = ""
    """What stands between the two."""
    pyproject: str | None = None
    """The whole file, instead."""
    pyproject_hex: str | None = None
    without_pyproject: bool = False
    folders: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    symlinks: dict[str, str] = field(default_factory=dict)
    args: list[str] = field(default_factory=lambda: ["--bert-budget"])
    """Of pytest; of ``python -I -m pytest_bertsize`` where the first is ``check``."""
    env: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    subprocess: bool = False
    exit: int
    says: list[str]
    """Lines of the output, in this order; ``*`` stands for anything."""
    not_said: list[str] = field(default_factory=list)
    said_by: Literal["gate", "pytest", "argparse"] = "gate"
    """Whose the message is: pytest's and argparse's take more than a line."""
    wrote: dict[str, list[str]] = field(default_factory=dict)
    """Files that are there afterwards, and lines of each."""

    @property
    def is_outer_check(self) -> bool:
        return self.args[:1] == ["check"]

    @property
    def is_mistake(self) -> bool:
        return self.exit == (2 if self.is_outer_check else pytest.ExitCode.USAGE_ERROR)

    @property
    def pyproject_bytes(self) -> bytes:
        if self.pyproject_hex is not None:
            return bytes.fromhex(self.pyproject_hex)
        text = f"[tool.pytest.ini_options]\n{self.above}{self.table}\n" if self.pyproject is None else self.pyproject
        return text.encode("utf-8")


def _cases(topic: str) -> list[Case]:
    found = []
    for path in sorted(DATA.glob(f"{topic}*.toml")):
        document = tomli.loads(path.read_text("utf-8"))
        default = document.get("default", {})
        found += [
            _mistake(f"{path.stem}-{number}", default, *row) for number, row in enumerate(document.get("mistakes", []))
        ]
        found += [Case(**{**default, **case}) for case in document.get("case", [])]
    return found


def _mistake(prefix: str, default: dict[str, Any], table: str, says: str, why: str) -> Case:
    """A case of a few words: a mistake in the table of one model, ``encoder``, and what is said of it.

    :param says: in a file whose cases are mistakes, behind ``ERROR: ``, a line, a key of the model and the sentence.
    """
    name = f"{prefix}-{re.sub(r'[^a-z0-9]+', '-', table.lower())[:60]}".strip("-")
    above = default.get("above", '[tool.bertsize.models.encoder]\nconfig = "config.json"\n')
    if not re.search("^budget", f"{above}{table}", re.MULTILINE):
        table += '\nbudget = "report-only"'
    if default["exit"] == pytest.ExitCode.USAGE_ERROR:
        line, _, sentence = says.partition(": ")
        says = f"ERROR: pyproject.toml:{line}: tool.bertsize.models.encoder.{sentence}"
    return Case(**{**default, "above": above, "name": name, "why": why, "table": table, "says": [says]})


CASES = {topic: _cases(topic) for topic in TOPICS}


def _parametrized(topic: str) -> pytest.MarkDecorator:
    """A helper and its surroundings are such a test's subject; so are workers of xdist that run tests."""
    processes = [topic == "surroundings" or (topic == "markers" and "-n2" in case.args) for case in CASES[topic]]
    marks = [[pytest.mark.process] if process else [] for process in processes]
    cases = [pytest.param(case, id=case.name, marks=each) for case, each in zip(CASES[topic], marks, strict=True)]
    return pytest.mark.parametrize("case", cases)


BUILT: dict[str, Built | NotBuilt] = {}
"""What helper processes have built for any run inside this process, by what was asked of them."""


@pytest.fixture(autouse=True)
def build_no_model_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model is built by a helper process, once for all runs inside this process, whatever the case calls it."""
    asked: dict[str, tuple[str, Request]] = {}
    start, ask, result = Helper.start, Helper.ask, Helper.result

    def note(helper: Helper, requests: Sequence[Request]) -> None:
        helper.versions.update(torch="2", transformers="5")
        for request in requests:
            asked[request.name] = json.dumps(request._replace(name="", root="")), request

    def remember(_: Helper, name: str) -> Built | NotBuilt:
        key, request = asked[name]
        if key not in BUILT:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Helper, "start", start)
                helper = Helper()
                ask(helper, [request])
                BUILT[key] = result(helper, name)
                helper.stop()
        return BUILT[key]

    monkeypatch.setattr(Helper, "start", lambda _: None)
    monkeypatch.setattr(Helper, "ask", note)
    monkeypatch.setattr(Helper, "result", remember)


@pytest.fixture(autouse=True)
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's folder stands inside another one, so that what is written beside it is seen as well."""
    monkeypatch.chdir(pytester.mkdir("project"))
    monkeypatch.setenv("COLUMNS", "400")


@_parametrized("tables")
def test_bad_tables(case: Case, pytester: pytest.Pytester, warm: Warm, tiny: dict[str, Any]) -> None:
    assert exit_status(case, pytester, warm, tiny) == case.exit


@_parametrized("markers")
def test_bad_markers(case: Case, pytester: pytest.Pytester, warm: Warm, tiny: dict[str, Any]) -> None:
    assert exit_status(case, pytester, warm, tiny) == case.exit


@_parametrized("options")
def test_bad_options(case: Case, pytester: pytest.Pytester, warm: Warm, tiny: dict[str, Any]) -> None:
    assert exit_status(case, pytester, warm, tiny) == case.exit


@_parametrized("surroundings")
def test_bad_surroundings(case: Case, pytester: pytest.Pytester, warm: Warm, tiny: dict[str, Any]) -> None:
    """A helper is a process that surroundings may reach, but for those that are workers of xdist alone."""
    are_workers = "-n2" in case.args and case.env.keys() <= {"CI"}
    assert exit_status(case, pytester, warm if are_workers else None, tiny) == case.exit


def test_no_two_cases_have_one_name() -> None:
    names = [case.name for cases in CASES.values() for case in cases]
    assert sorted(set(names)) == sorted(names)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []


# a run


def exit_status(case: Case, pytester: pytest.Pytester, warm: Warm | None, tiny: dict[str, Any]) -> int:
    """Of the case's run, which has said what it is to say and written what it is to write, and nothing else."""
    lay_out(case, tiny)
    before = _contents(pytester.path)
    code, out, err = refused(case) or run(case, pytester, warm)
    lines = [*out, *err]
    _matcher(lines).fnmatch_lines([_literal(line) for line in case.says])
    for line in ["*Traceback*", "*INTERNALERROR*", *case.not_said]:
        _matcher(lines).no_fnmatch_line(_literal(line))
    if case.is_mistake:
        assert _contents(pytester.path) == before
        if case.said_by == "gate":
            _hold_message([line for line in err if line])
    for name, written in case.wrote.items():
        _matcher(Path(name).read_text("utf-8").splitlines()).fnmatch_lines([_literal(line) for line in written])
    return code


def lay_out(case: Case, tiny: dict[str, Any]) -> None:
    for each in case.folders:
        Path(each).mkdir(parents=True)
    Path("config.json").write_text(json.dumps(tiny, indent=2), encoding="utf-8")
    if not case.without_pyproject:
        Path("pyproject.toml").write_bytes(case.pyproject_bytes)
    for name, text in case.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    for name, target in case.symlinks.items():
        Path(name).symlink_to(target)


def refused(case: Case) -> tuple[int, list[str], list[str]] | None:
    """What a run ends with where the reader refuses the table: its words. One table in twenty is run all the same."""
    if case not in CASES["tables"] or case.args != ["--bert-budget"] or CASES["tables"].index(case) % 20 == 0:
        return None
    try:
        load(Path("pyproject.toml").absolute())
    except SettingsError as error:
        pytest_refuses = ": not TOML: " in str(error)
        return None if pytest_refuses else (pytest.ExitCode.USAGE_ERROR, [], f"ERROR: {error}".splitlines())
    if case.above or case.pyproject or case.files or case.wrote or case.env:
        return None
    out = io.StringIO()
    status = check(Path.cwd(), Helper(), out=out, err=out)
    return (status, out.getvalue().splitlines(), []) if status in (0, 1) else None


def run(case: Case, pytester: pytest.Pytester, warm: Warm | None) -> tuple[int, list[str], list[str]]:
    """Exit status, standard output and standard error; ``None`` where no helper is forked for a run in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in case.env.items():
            patch.setenv(name, value)
        for name in case.unset:
            patch.delenv(name, raising=False)
        if not (case.subprocess or case.is_outer_check):
            with warnings.catch_warnings():
                warnings.resetwarnings()  # those of the tests' own run are stricter than a user's
                result = pytester.runpytest_inprocess(*case.args)
            return int(result.ret), result.outlines, result.errlines
        flags, module = (["-I"], "pytest_bertsize") if case.is_outer_check else (["-P"], "pytest")
        line = ["-m", module, *case.args]
        done = subprocess.run(
            command(warm, *line, flags=flags) if warm else [sys.executable, *flags, *line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    out, err = (stream.decode("utf-8", "replace").splitlines() for stream in (done.stdout, done.stderr))
    return done.returncode, out, err


def _hold_message(lines: list[str]) -> None:
    """One line for each mistake; several have a line above them that says how many they are."""
    first, *rest = lines
    assert first.startswith("ERROR: ")
    several = re.match(r"ERROR: (\d+) mistakes in ", first)
    assert len(rest) == (int(several[1]) if several else 0), lines
    assert [lost for line in lines for lost in untidy(line.strip())] == []


def _contents(folder: Path) -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        if not {"__pycache__", ".pytest_cache"} & set(path.parts):
            content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(folder))] = content
    return found


def _matcher(lines: Sequence[str]) -> pytest.LineMatcher:
    return pytest.LineMatcher(list(lines))


def _literal(pattern: str) -> str:
    return re.sub(r"[\[?]", r"[\g<0>]", pattern)
