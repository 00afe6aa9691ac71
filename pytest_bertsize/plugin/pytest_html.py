"""What pytest-html's page has of a model: a column with its parameters, and its components in the row.

Drawn where the page is written, from the data that a report brings along: an xdist worker has no part in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport

COLUMN = 2
"""Where the column stands: behind the result and the name of the test."""
DIGITS = 30
"""pytest-html sorts a column as text: what it compares begins with the number, filled up to so many digits."""


def register(config: pytest.Config) -> None:
    """Add to pytest-html's page of a project that declares models, and leave any other page as it is."""
    pytest_html: Any = config.pluginmanager.getplugin("html")
    if pytest_html and _declares_models(config):
        config.pluginmanager.register(PytestHtmlRows(pytest_html.extras.html))


def _declares_models(config: pytest.Config) -> bool:
    """Looked up as text first, so that other projects load nothing of ours."""
    path = config.rootpath / "pyproject.toml"
    if not path.is_file() or b"bertsize" not in path.read_bytes():
        return False
    from pytest_bertsize.table.settings import declares_models

    return declares_models(path)


class PytestHtmlRows:
    """Kept by the process that writes the page."""

    def __init__(self, as_extra: Any) -> None:
        self.as_extra = as_extra
        """pytest-html's own function from markup to what it shows in a row."""

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells.insert(COLUMN, '<th class="sortable" data-column-type="parameters">Parameters</th>')

    def pytest_html_results_table_row(self, report: pytest.TestReport | pytest.CollectReport, cells: list[str]) -> None:
        """An empty cell for a test that is about no model; none where another plugin has taken the row away."""
        if cells:
            cells.insert(COLUMN, _cell(_model(report)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Before pytest-html collects what is to be shown; of a test that is run again, only the last time."""
        model = _model(report)
        if model and report.outcome != "rerun":  # type: ignore[comparison-overlap]  # pytest-rerunfailures' own outcome
            from pytest_bertsize.reports.html import row

            report.extras = [*getattr(report, "extras", ()), self.as_extra(row.row(model))]  # type: ignore[attr-defined]


def _model(report: pytest.TestReport | pytest.CollectReport) -> ModelReport | None:
    found = getattr(report, "bertsize", None)
    return found["model"] if found else None


def _cell(model: ModelReport | None) -> str:
    if model is None:
        return '<td class="col-parameters"></td>'
    from pytest_bertsize.reports.rows import unique
    from pytest_bertsize.wording import exact

    count = unique(model)
    if count is None:
        return '<td class="col-parameters"></td>'
    said = exact(count) if model["built"] else f"{exact(count)} by the closed form"
    return f'<td class="col-parameters"><data value="{count:0{DIGITS}}">{said}</data></td>'
