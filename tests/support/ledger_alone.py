"""The ledger of a run without a run: stand-ins for what pytest hands to it, and what tests leave on their reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest
from msgspec.structs import replace

from pytest_bertsize.plugin.ledger import Ledger
from pytest_bertsize.plugin.selection import Selection
from pytest_bertsize.reports.files import ReportFiles
from pytest_bertsize.reports.report import FindingRow, FoldedTensor, ModelReport, Totals, to_plain
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.run_reports import blank, component, finding, model

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}


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
    """A ledger, and as much of pytest's configuration as it asks for."""
    settings = declared(*names)
    options = {"get_verbosity": lambda: verbosity, "getoption": lambda _, default=None: default, "args_source": None}
    config = cast("pytest.Config", SimpleNamespace(**options))
    return Ledger(Selection(config), VERSIONS, ReportFiles(tuple(reports), settings), None)


def warning(message: str) -> FindingRow:
    return replace(finding(message, "remove it", "warning"), file="config.json", line=4)


def found(name: str, verdict: Literal["passed", "failed"] = "passed", *findings: FindingRow) -> ModelReport:
    """A model of 1,090 parameters."""
    most = 2_000 if verdict == "passed" else 1_000
    report = model(component("pooler", 90), component("total", 1_090, maximum=most), findings=[*findings], name=name)
    pooler = {"name": "pooler.dense.weight", "component": "pooler", "shape": [9, 10], "trainable": True}
    tensors = [blank(FoldedTensor, **pooler, layers=1, expected=90, actual=90)]
    totals = Totals(expected=1_090, actual=1_090, trainable=1_090, stored=1_090, unrolled=1_090)
    given = {"architecture": "BertModel", "config": "config.json", "symbols": {"V": 101}, "verdict": verdict}
    return replace(report, **given, tensors=tensors, totals=totals)


def enter(ledger: Ledger, *models: ModelReport, by_declaration: bool = True) -> Ledger:
    for each in models:
        place = (f"pyproject.toml::{each.name}", ("pyproject.toml", 0, each.name))
        report = pytest.TestReport(*place, {}, "passed", None, "call")
        report.bertsize = {"declared": by_declaration, "model": to_plain(each)}  # type: ignore[attr-defined]
        ledger.pytest_runtest_logreport(report)
    return ledger


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
