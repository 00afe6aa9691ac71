"""``pytest --bert-budget --bert-budget-update`` and ``--bert-budget-tighten``, as they are run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import tomlkit

from pytest_bertsize.base.lock import HEAD, Locked, parse_lock, read_lock, render_model
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.plugin.ledger import Rewriter
from pytest_bertsize.table.settings import load
from tests.bad_input.test_bad_runs import build_no_model_twice  # noqa: F401  (a fixture)
from tests.conftest import alone_and_spread, without_others
from tests.support.code_changes import tree
from tests.support.ledger_alone import Screen

if TYPE_CHECKING:
    from tests.conftest import Project

assert tomlkit  # imported here once, and not again by each run inside this process

UPDATE, TIGHTEN = ("--bert-budget", "--bert-budget-update"), ("--bert-budget", "--bert-budget-tighten")
BURSTS = """
    # sizes of record
    [tool.bertsize.models.bursts]
    config = "config.json"
    budget.total   = "50K"   # what the phone takes
    budget.head = 2_548
    """
ROOMY = """
    [tool.bertsize.models.roomy]
    config = "config.json"
    budget.total = "99K" # what the phone takes
    """
A_TEST = "def test_it(): pass"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def text() -> str:
    return Path("pyproject.toml").read_bytes().decode()


def accepted(before: str) -> str:
    return before.replace('"50K"', '"60K"').replace("2_548", "2_549")


def said(result: pytest.RunResult) -> list[str]:
    """The lines of our section on budgets, below its title."""
    lines = result.outlines
    start = next(index for index, line in enumerate(lines) if " budgets " in line and line.startswith("=="))
    end = next(index for index in range(start + 1, len(lines)) if lines[index].startswith("=="))
    return lines[start + 1 : end]


# what is collected, without a run


@pytest.fixture
def rewriter(tmp_path: Path) -> Rewriter:
    table = '[tool.bertsize.models.x]\nconfig = "c.json"\nbudget.total = "50K"\nbudget.head = 9\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    return Rewriter(load(tmp_path / "pyproject.toml"), "update")


def a_change(component: str = "total", after: str = '"60K"') -> dict[str, Any]:
    """As it comes from a worker of xdist."""
    key = ["tool", "bertsize", "models", "x", "budget", component]
    return {"model": "x", "key": key, "component": component, "bound": "max", "counted": 59_549, "after": after}


def reported(
    rewriter: Rewriter, *changes: dict[str, Any], model: str = "x", asks_why: bool = True, **more: Any
) -> None:
    """Send what a run makes of one model."""
    asked = {"model": model, "changes": list(changes), "asks_why": asks_why, **more}
    rewriter.pytest_runtest_logreport(cast("pytest.TestReport", SimpleNamespace(bertsize_changes=asked)))


def finished(rewriter: Rewriter, status: int = pytest.ExitCode.OK) -> int:
    plugins = SimpleNamespace(hasplugin=lambda _: True)
    session = SimpleNamespace(exitstatus=status, config=SimpleNamespace(pluginmanager=plugins))
    rewriter.pytest_sessionfinish(cast("pytest.Session", session))
    return int(session.exitstatus)


def printed(rewriter: Rewriter) -> list[str]:
    screen = Screen(width=200)
    rewriter.pytest_terminal_summary(cast("pytest.TerminalReporter", screen))
    return screen.printed


RAISED = 'pyproject.toml:3: x: total "50K" → "60K", for 59,549'
WHY = '→ give a reason before you commit, because a run with a base needs one: bertsize accept --reason "…"'
NOTHING = "no limit that can be raised is exceeded, and none was raised"
BROKEN_OFF = "red: {path}: the run was interrupted, and nothing was changed"


@pytest.mark.parametrize(
    ("asked", "reason", "status", "after", "lines"),
    [
        ([a_change()] * 3, "", 0, ("50K", "60K"), [RAISED, WHY]),
        (
            [a_change(), a_change("head", "2_549")],
            "",
            0,
            ("9", "2_549"),
            [RAISED, "pyproject.toml:4: x: head 9 → 2,549, for 59,549", WHY],
        ),
        ([a_change()], "ADR-12", 0, ("50K", "60K"), [RAISED, "→ reason: written for x; commit it"]),
        ([], "ADR-12", 0, ("", ""), [f"{NOTHING}; no reason is written"]),
        ([a_change()], "", 1, ("50K", "60K"), [RAISED, WHY]),
        *(([a_change()], "", status, ("", ""), [BROKEN_OFF]) for status in (2, 3, 4, 77)),
    ],
)
def test_a_run_that_came_to_its_end_is_written_and_said_once(
    rewriter: Rewriter, asked: list[dict[str, Any]], reason: str, status: int, after: tuple[str, str], lines: list[str]
) -> None:
    before, rewriter.reason = rewriter.settings.text, reason
    for _ in range(2):
        reported(rewriter, *asked, asks_why=bool(asked))
    assert finished(rewriter, status) == status
    now = rewriter.settings.path.read_text("utf-8")
    assert (now == before) == (after == ("", ""))
    assert after[1] in now
    assert ('reason = "ADR-12"' in now) == (bool(reason) and now != before)
    assert printed(rewriter)[1:] == [line.format(path=rewriter.settings.path) for line in lines]


def test_what_could_not_be_written_fails_the_run(rewriter: Rewriter) -> None:
    reported(rewriter, a_change())
    rewriter.settings.path.write_text("# changed\n", encoding="utf-8")
    assert finished(rewriter) == pytest.ExitCode.TESTS_FAILED
    assert rewriter.settings.path.read_text("utf-8") == "# changed\n"
    said = "has changed since it was read, and was not changed: run this again"
    assert printed(rewriter)[1:] == [f"red: {rewriter.settings.path} {said}"]


def test_tightening_writes_nothing_that_is_not_lower(rewriter: Rewriter) -> None:
    rewriter.verb = "tighten"
    reported(rewriter, a_change(after='"50K"'), a_change("head", "10"))
    before = rewriter.settings.path.stat()
    assert finished(rewriter) == pytest.ExitCode.OK
    assert rewriter.settings.path.stat().st_ino == before.st_ino


# runs


def test_accepting_passes_writes_and_says_what_it_changed(project: Project) -> None:
    pytester = project(ROOMY + BURSTS, test_a=A_TEST)
    Path("pyproject.toml").write_bytes(text().replace("\n", "\r\n").encode())
    before = text()
    result = pytester.runpytest_inprocess(*UPDATE)
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=3)
    assert text() == accepted(before)
    result.stdout.fnmatch_lines(["2 configured, 2 checked, 0 failed"])
    assert said(result) == [
        'pyproject.toml:10: bursts: total "50K" → "60K", for 59,549',
        "pyproject.toml:11: bursts: head 2,548 → 2,549, for 2,549",
        '→ give a reason before you commit, because a run with a base needs one: bertsize accept --reason "…"',
    ]
    found = Path("pyproject.toml").stat()
    result = pytester.runpytest_inprocess(*UPDATE)
    assert result.ret == pytest.ExitCode.OK
    assert said(result) == ["no limit that can be raised is exceeded, and none was raised"]
    again = Path("pyproject.toml").stat()
    assert (again.st_ino, again.st_mtime_ns) == (found.st_ino, found.st_mtime_ns)
    assert pytester.runpytest_inprocess("--bert-budget").ret == pytest.ExitCode.OK


def test_tightening_passes_writes_and_says_what_it_changed(project: Project) -> None:
    pytester = project(ROOMY + BURSTS)
    before = text()
    result = pytester.runpytest_inprocess(*TIGHTEN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=1)
    assert text() == before.replace('"99K"', '"60K"')
    assert said(result) == [
        'pyproject.toml:5: roomy: total "99K" → "60K", for 59,549',
        "bursts: total is unchanged: its model fails",
        "bursts: head is unchanged: its model fails",
    ]


@pytest.fixture
def reruns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", without_others("rerunfailures"))


@pytest.mark.parametrize(
    "extra",
    [
        ["--reruns", "1"],
        *(pytest.param(each, marks=pytest.mark.process) for each in (["-n2"], ["-n2", "--reruns", "1"])),
    ],
    ids=" ".join,
)
def test_workers_and_reruns_change_it_once(project: Project, reruns: None, extra: list[str]) -> None:
    pytester = project(ROOMY + BURSTS + '    budget.bytes = { max = "github-file" }\n', test_a=A_TEST)
    before = text()
    result = pytester.runpytest_inprocess(*UPDATE, *extra)
    assert result.ret == pytest.ExitCode.OK
    assert text() == accepted(before)
    assert [line.count("→") for line in said(result)] == [1, 1, 1]


def test_only_selected_models_are_accepted_and_the_others_are_not_checked(project: Project) -> None:
    other = BURSTS.replace("models.bursts", "models.other")
    pytester = project(other + BURSTS)
    before = text()
    result = pytester.runpytest_inprocess(*UPDATE, "-k", "bursts")
    assert result.ret == pytest.ExitCode.OK
    assert result.outlines[-1].startswith("NOT CHECKED: other: ")
    head, _, tail = before.partition("models.bursts")
    assert text() == f"{head}models.bursts{accepted(tail)}"


def test_a_run_that_a_test_ends_changes_nothing(project: Project) -> None:
    pytester = project(BURSTS + ROOMY, test_a="import pytest\ndef test_it(): pytest.exit('over', returncode=0)")
    before = text()
    result = pytester.runpytest_inprocess(*UPDATE, "pyproject.toml::bursts", "test_a.py", "pyproject.toml::roomy")
    assert result.ret != pytest.ExitCode.OK
    assert text() == before


# what could not be written


def test_a_file_that_cannot_be_replaced_is_refused_before_the_run(project: Project) -> None:
    pytester = project(BURSTS)
    Path("pyproject.toml").chmod(0o444)
    before = text()
    result = pytester.runpytest_inprocess(*UPDATE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert text() == before
    result.stderr.fnmatch_lines(["ERROR: *pyproject.toml is read-only and was not changed*"])


def test_a_report_of_what_was_accepted_is_one_of_the_table_that_was_written(project: Project) -> None:
    pytester = project(BURSTS)
    assert pytester.runpytest_inprocess(*UPDATE, "--bert-budget-report=size.json").ret == pytest.ExitCode.OK
    report = json.loads(Path("size.json").read_text("utf-8"))
    assert (report["complete"], report["failed"], report["models"][0]["verdict"]) == (True, 0, "passed")
    assert report["table_sha256"] == load(Path("pyproject.toml")).table_sha256


# the lock


LOCKED = f'[tool.bertsize]\nlock = "bertsize.lock"\n{BURSTS}'


def locking(folder: Path) -> Rewriter:
    table = '[tool.bertsize]\nlock = "x.lock"\n[tool.bertsize.models.a]\nconfig = "c.json"\nbudget.total = "50K"\n'
    (folder / "pyproject.toml").write_text(table + table[table.index("[tool.bertsize.models") :].replace(".a]", ".b]"))
    settings = load(folder / "pyproject.toml")
    return Rewriter(settings, "update", read_lock(settings))


def a_block(name: str, layers: int = 2) -> dict[str, str]:
    return {name: render_model(name, Locked(tree({f"layer[0:{layers}].w": [4]}).tensors, "", "torch 2.13.0"))}


def looked_at(rewriter: Rewriter, **blocks: str) -> None:
    for name, block in blocks.items():
        reported(rewriter, model=name, block=block, asks_why=False)


@pytest.mark.parametrize(
    ("before", "blocks", "layers", "lines"),
    [
        ((), {**a_block("b"), **a_block("a")}, {"a": 2, "b": 2}, ["→ x.lock: written for a, b; commit it"]),
        (("a", "b"), {**a_block("b"), **a_block("a")}, {"a": 2, "b": 2}, [NOTHING]),
        (("a", "b", "left"), a_block("a", 3), {"a": 3, "b": 2}, ["→ x.lock: written for a, left (removed); commit it"]),
        (
            (),
            {"a": "", **a_block("b")},
            {"b": 2},
            ["→ x.lock: written for b; commit it", "red: a: its tensors are not written to the lock, because it fails"],
        ),
    ],
    ids=["new", "as it is", "a part of it", "a model that fails"],
)
def test_a_lock_has_a_block_for_each_model_and_what_was_not_looked_at_keeps_its_lines(
    tmp_path: Path, before: tuple[str, ...], blocks: dict[str, str], layers: dict[str, int], lines: list[str]
) -> None:
    if before:
        (tmp_path / "x.lock").write_text("".join((HEAD, *(a_block(name)[name] for name in before))))
    rewriter = locking(tmp_path)
    looked_at(rewriter, **blocks)
    assert finished(rewriter) == pytest.ExitCode.OK
    found = parse_lock((tmp_path / "x.lock").read_text("utf-8"), "x.lock")
    assert {name: len(each.tensors) for name, each in found.items()} == layers
    assert [*found] == sorted(found)
    assert printed(rewriter)[1:] == lines


def test_what_a_class_calls_a_tensor_and_no_lock_can_is_one_line(tmp_path: Path) -> None:
    rewriter = locking(tmp_path)
    looked_at(rewriter, a=render_model("a", Locked((Tensor("a..w", (2,), ""),))))
    assert finished(rewriter) == pytest.ExitCode.TESTS_FAILED
    assert not (tmp_path / "x.lock").exists()
    assert printed(rewriter)[-1].startswith('red: x.lock:7: "a..w" is not a name that a tensor can have; ')


def test_a_lock_that_somebody_has_changed_meanwhile_is_left_alone_and_fails_the_run(tmp_path: Path) -> None:
    rewriter = locking(tmp_path)
    key = ("tool", "bertsize", "models", "a", "budget", "total")
    reported(rewriter, {**a_change(), "model": "a", "key": key}, model="a")
    looked_at(rewriter, **a_block("a"))
    (tmp_path / "x.lock").write_text("mine")
    assert finished(rewriter) == pytest.ExitCode.TESTS_FAILED
    assert (tmp_path / "x.lock").read_text() == "mine"
    assert '"50K"' in rewriter.settings.path.read_text("utf-8")
    assert "x.lock did not exist when this run began, and was not changed: run this again" in printed(rewriter)[-1]


@alone_and_spread
def test_accepting_raises_a_budget_and_writes_the_lock_and_the_reason(project: Project, workers: list[str]) -> None:
    pytester = project(LOCKED)
    before = text()
    result = pytester.runpytest(*UPDATE, "--bert-budget-reason=ADR-12: wider", *workers)
    assert result.ret == pytest.ExitCode.OK
    assert said(result)[2:] == [
        "→ reason: written for bursts; commit it",
        "→ bertsize.lock: written for bursts; commit it",
    ]
    assert text() == accepted(before).replace("= 2_549", '= 2_549\n    reason = "ADR-12: wider"')
    found = parse_lock(Path("bertsize.lock").read_text("utf-8"), "bertsize.lock")["bursts"]
    assert sum(each.owned for each in found.tensors) == 59_549
    assert found.config.startswith("sha256:")
    assert found.built_with.startswith("transformers ")
