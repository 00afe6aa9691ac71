"""The ledger of a run without a run: stand-ins for what pytest hands to it, and what tests leave on their reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from pytest_bertsize.plugin.ledger import Ledger
from pytest_bertsize.plugin.selection import Selection
from pytest_bertsize.reports.files import ReportFiles
from pytest_bertsize.reports.report import FindingRow, FoldedTensor, ModelReport, Totals, to_plain
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.run_reports import blank, component, finding, model

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}


@dataclass
class Config:
    """As much of pytest's as is asked."""

    verbosity: int = 0
    args_source: object = None

    def get_verbosity(self) -> int:
        return self.verbosity

    def getoption(self, _: str, default: object = None) -> object:
        return default


class Screen:
    """Stands in for pytest's terminal reporter; what has a colour of its own is marked."""

    def __init__(self, *, width: int = 80, colour: bool = False) -> None:
        self._tw = SimpleNamespace(fullwidth=width, hasmarkup=colour)
        self.printed: list[str] = []

    def ensure_newline(self) -> None:
        self.printed.append("")

    def section(self, title: str) -> None:
        self.printed.append(f"== {title} ==")

    def write_line(self, text: str, **colours: bool) -> None:
        colour = next((name for name, has in colours.items() if has), "")
        self.printed += [f"{colour}: {text}"] if colour else text.split("\n")


def declared(*names: str, root: Path = Path("project")) -> Settings:
    models = {name: Model(name=name, config=f"{name}.json", budget=Budget()) for name in names}
    return Settings(root / "pyproject.toml", "", models)


def opened(*names: str, verbosity: int = 0, reports: Sequence[Path] = ()) -> Ledger:
    settings = declared(*names)
    config = cast("pytest.Config", Config(verbosity))
    return Ledger(config, settings, VERSIONS, ReportFiles(tuple(reports), settings), Selection(config))


def warning(message: str) -> FindingRow:
    row = finding(message, "remove it", "warning")
    row.file, row.line = "config.json", 4
    return row


POOLER = blank(FoldedTensor, name="pooler.dense.weight", component="pooler", shape=[9, 10], trainable=True)
POOLER.layers, POOLER.expected, POOLER.actual = 1, 90, 90


def found(name: str, verdict: Literal["passed", "failed"] = "passed", *findings: FindingRow) -> ModelReport:
    """A model of 1,090 parameters."""
    most = 2_000 if verdict == "passed" else 1_000
    report = model(component("pooler", 90), component("total", 1_090, maximum=most), findings=[*findings], name=name)
    report.architecture, report.config, report.symbols = "BertModel", "config.json", {"V": 101}
    report.verdict, report.tensors = verdict, [POOLER]
    report.totals = Totals(expected=1_090, actual=1_090, trainable=1_090, stored=1_090, unrolled=1_090)
    return report


def enter(ledger: Ledger, *models: ModelReport, by_declaration: bool = True) -> Ledger:
    for each in models:
        report = a_report(each.name)
        report.bertsize = {"declared": by_declaration, "model": to_plain(each)}  # type: ignore[attr-defined]
        ledger.pytest_runtest_logreport(report)
    return ledger


def a_report(name: str) -> pytest.TestReport:
    return pytest.TestReport(f"pyproject.toml::{name}", ("pyproject.toml", 0, name), {}, "passed", None, "call")


def status_after(ledger: Ledger, status: int) -> int:
    session = SimpleNamespace(exitstatus=status)
    ledger.pytest_sessionfinish(cast("pytest.Session", session))
    return int(session.exitstatus)


def printed(ledger: Ledger, screen: Screen | None = None) -> list[str]:
    screen = screen or Screen()
    ledger.pytest_terminal_summary(cast("pytest.TerminalReporter", screen))
    ledger.pytest_unconfigure()
    return screen.printed


def written(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))
