"""What pytest-html's page says of a model: a column with its parameters, and its components in the row."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

import pytest

from pytest_bertsize.reports.html import page as html
from pytest_bertsize.reports.html import row as html_row
from pytest_bertsize.reports.markdown import page as markdown
from tests.plugin.test_what_is_loaded import modules_of_pytest, ours
from tests.reports import test_page_in_browser as in_browser
from tests.support.parsed_page import Page
from tests.support.run_reports import (
    bert,
    failing,
    large,
    not_built,
    passing,
    refused,
    reported,
    run,
    without_closed_form,
)
from tests.support.runs_beside import NO_BUILD, inside, lay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium import webdriver

    from pytest_bertsize.reports.shape import Component, ModelReport
    from tests.conftest import Project

browser = in_browser.browser
PAGE = Path("page.html")
HTML = ("--html=page.html", "--self-contained-html")
HEAD = ["Result", "Test", "Parameters", "Duration", "Links"]
MARKED = """
    import pytest
    @pytest.mark.bert_budget("layered")
    def test_marked(): pass
    @pytest.mark.bert_budget("layered", head=7)
    def test_marked_more_tightly(): pass
    @pytest.mark.bert_budget("layered")
    def test_marked_and_wrong_by_itself(): assert "its own" == "mistake"
    def test_other(): pass
"""


@pytest.fixture(autouse=True)
def pytest_html_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/conftest.py keeps other plugins out of inner runs."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly")


class Data(HTMLParser):
    """What pytest-html's script draws the page from, and the head of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.head: list[str] = []
        self.tests: dict[str, list[dict[str, Any]]] = {}
        self._is_head = False
        self.feed(PAGE.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._is_head = tag == "th"
        if attributes.get("id") == "data-container":
            self.tests = json.loads(attributes["data-jsonblob"] or "")["tests"]

    def handle_data(self, data: str) -> None:
        if self._is_head and data.strip():
            self.head.append(data)

    def cells(self, test: str) -> list[str]:
        """What stands in the column, a text for each row of the test."""
        return [text_of(row["resultsTableRow"][HEAD.index("Parameters")]) for row in self.tests[test]]

    def extras(self, test: str) -> list[str]:
        """What the last row of a test has folded away."""
        return [extra["content"] for extra in self.tests[test][-1]["extras"]]


def text_of(markup: str) -> str:
    return Page(markup).text


class Table(HTMLParser):
    """Its rows of texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(str(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (HTMLParser's)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def rows(model: ModelReport) -> list[list[str]]:
    return Table(html_row.row(model)).rows


# the column


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "-n2"])
def test_each_model_and_each_marked_test_has_its_parameters_in_a_column(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    lay("fails", test_it=MARKED)
    inside(pytester, *NO_BUILD, *HTML, *workers)
    data = Data()
    counted = "76,181 by the closed form"
    assert data.head == HEAD
    assert {test: data.cells(test) for test in data.tests} == {
        "pyproject.toml::layered": [counted],
        "pyproject.toml::plain": ["59,352 by the closed form"],
        "test_it.py::test_marked": [counted],
        "test_it.py::test_marked_more_tightly": [counted],
        "test_it.py::test_marked_and_wrong_by_itself": [counted],
        "test_it.py::test_other": [""],
    }


def test_a_test_of_several_models_shows_that_of_the_nearest_marker(pytester: pytest.Pytester) -> None:
    test = """
        import pytest
        @pytest.mark.bert_budget("plain")
        class TestMarked:
            @pytest.mark.bert_budget("layered")
            def test_twice(self): pass
    """
    lay("passes", test_it=test)
    inside(pytester, *NO_BUILD, *HTML)
    (shown,) = Data().extras("test_it.py::TestMarked::test_twice")
    assert "layered" in text_of(shown)
    assert "plain" not in text_of(shown)


def test_what_was_built_is_the_number_alone(project: Project) -> None:
    table = '[tool.bertsize.models.tiny]\nconfig = "config.json"\nbudget.total = "60K"\n'
    source = 'import pytest\n@pytest.mark.bert_budget("tiny")\ndef test_marked(): pass\n'
    project(table, test_it=source).runpytest("--html=page.html")
    data = Data()
    assert data.cells("test_it.py::test_marked") == ["59,549"]
    assert ["total", "59,549", "=", "60K", "+451"] in Table(data.extras("test_it.py::test_marked")[0]).rows
    assert Path("assets/style.css").is_file()


def test_a_marked_test_that_is_wrong_by_itself_says_so(pytester: pytest.Pytester) -> None:
    """Its model is within the budget, and has no part in the failure."""
    lay("passes", test_it=MARKED)
    told = inside(pytester, *NO_BUILD, *HTML)
    data = Data()
    wrong = data.tests["test_it.py::test_marked_and_wrong_by_itself"][0]
    assert "AssertionError" in wrong["log"]
    assert "test_marked_and_wrong_by_itself - AssertionError" in told.text
    assert data.cells("test_it.py::test_marked_and_wrong_by_itself") == ["59,549 by the closed form"]


def test_a_test_that_could_not_be_collected_has_an_empty_cell(pytester: pytest.Pytester) -> None:
    lay("fails", test_broken="import missing_entirely")
    told = inside(pytester, *NO_BUILD, *HTML, "--continue-on-collection-errors")
    data = Data()
    assert "INTERNALERROR" not in told.text
    assert data.cells("test_broken.py") == [""]
    assert data.cells("pyproject.toml::layered") == ["76,181 by the closed form"]


def test_a_model_that_cannot_be_counted_has_an_empty_cell_and_its_findings(pytester: pytest.Pytester) -> None:
    lay("passes")
    Path("config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"], "hidden_size": "wide"}')
    inside(pytester, *NO_BUILD, *HTML)
    data = Data()
    assert data.cells("pyproject.toml::layered") == [""]
    assert "hidden_size" in data.extras("pyproject.toml::layered")[0]


def test_a_model_that_could_not_be_built_has_an_empty_cell_and_its_findings(
    project: Project, tiny: dict[str, Any]
) -> None:
    """Its closed form's count would stand there as if it had been built."""
    table = '[tool.bertsize.models.tiny]\nconfig = "config.json"\nbudget.total = "60K"\n'
    project(table, {**tiny, "pad_token_id": 500}).runpytest("--bert-budget", "--html=page.html")
    data = Data()
    assert data.cells("pyproject.toml::tiny") == [""]
    assert "could not be built" in text_of(data.extras("pyproject.toml::tiny")[0])


def test_each_attempt_has_its_cell_and_the_row_one_table(pytester: pytest.Pytester) -> None:
    lay("fails")
    inside(pytester, *NO_BUILD, *HTML, "--reruns=2")
    data = Data()
    assert set(data.cells("pyproject.toml::layered")) == {"76,181 by the closed form"}
    assert {row["resultsTableRow"][0] for row in data.tests["pyproject.toml::layered"]} == {
        '<td class="col-result">Rerun</td>',
        '<td class="col-result">Failed</td>',
    }
    assert len(data.extras("pyproject.toml::layered")) == 1


def test_plugins_that_take_rows_and_columns_away_get_what_they_ask_for(pytester: pytest.Pytester) -> None:
    conftest = """
        import pytest
        def pytest_html_results_table_header(cells):
            cells.pop()
        @pytest.hookimpl(tryfirst=True)
        def pytest_html_results_table_row(report, cells):
            if report.passed:
                del cells[:]
            else:
                cells.pop()
    """
    lay("fails", conftest=conftest)
    inside(pytester, *NO_BUILD, *HTML)
    data = Data()
    assert data.head == HEAD[:-1]
    assert set(data.tests) == {"pyproject.toml::layered", "test_it.py::test_marked"}
    assert data.cells("pyproject.toml::layered") == ["76,181 by the closed form"]


# where it stays away


def test_junit_is_the_same_with_the_page_and_without(pytester: pytest.Pytester) -> None:
    lay("passes", test_it=MARKED)

    def properties(*arguments: str) -> dict[str, list[tuple[str, str]]]:
        inside(pytester, *NO_BUILD, "--junitxml=junit.xml", *arguments)
        cases = ET.parse("junit.xml").iter("testcase")  # noqa: S314  (pytest's own)
        return {
            case.attrib["name"]: [(each.attrib["name"], each.attrib["value"]) for each in case.iter("property")]
            for case in cases
        }

    without = properties()
    assert {name for name, found in without.items() if found} == {"layered", "plain", "test_marked_more_tightly"}
    assert properties(*HTML) == without


def test_a_project_that_declares_no_model_has_the_page_that_it_had(pytester: pytest.Pytester) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\ndependencies = ["pytest-bertsize"]\n')
    Path("test_it.py").write_text("def test_it(): pass")
    inside(pytester, *HTML)
    data = Data()
    assert data.head == [name for name in HEAD if name != "Parameters"]
    assert len(data.tests["test_it.py::test_it"][0]["resultsTableRow"]) == len(HEAD) - 1


def test_without_a_page_and_without_a_table_nothing_is_loaded_for_it(pytester: pytest.Pytester) -> None:
    Path("test_it.py").write_text("def test_it(): pass")
    idle = {"pytest_bertsize", "pytest_bertsize.plugin", "pytest_bertsize.plugin.hookspecs"}
    assert ours(modules_of_pytest(pytester)) == idle
    assert ours(modules_of_pytest(pytester, "--html=page.html")) == {*idle, "pytest_bertsize.plugin.pytest_html"}


@pytest.mark.parametrize("name", ["no:html", "no:pytest_html"])
def test_where_pytest_html_is_kept_out_the_gate_is_as_it_was(pytester: pytest.Pytester, name: str) -> None:
    lay("fails")
    told = inside(pytester, *NO_BUILD, "-p", name)
    assert told.status == pytest.ExitCode.TESTS_FAILED
    assert told.models == {"layered": "failed", "plain": "passed"}


# the table in the row


def test_the_table_has_each_component_with_what_the_gate_holds_it_to() -> None:
    model = reported(bert(12, 512, tied=True), total=100_000_000)
    found = rows(model)
    assert found[0] == ["component", "actual", "off formula", "budget", "left"]
    assert [row[0].strip(" ✗").split(" ×")[0] for row in found[1:]] == [row["name"] for row in model["components"]]
    assert found[-1] == ["✗ total", "109,514,298", "=", "100,000,000", "-9,514,298"]
    assert [row[1] for row in found[1:]] == [f"{row['actual']:,}" for row in model["components"]]


def test_a_base_has_a_column() -> None:
    model = failing()
    head, *body = rows(model)
    assert head[2] == "against main"
    assert next(row for row in body if row[0].endswith("total"))[2] == "+38,041,146"


def test_what_is_not_compared_or_not_built_is_said() -> None:
    unbuilt = passing()
    unbuilt["built"] = False
    for row in unbuilt["components"]:
        row["actual"] = None
    assert rows(unbuilt)[0][1] == "closed form"
    assert "not built: counts are the closed form's" in text_of(html_row.row(unbuilt))
    assert not_built()["findings"][0]["message"] in text_of(html_row.row(not_built()))
    assert "off formula" not in rows(without_closed_form())[0]
    assert "held to its budget alone: not compared with a closed form" in text_of(html_row.row(without_closed_form()))
    held_to_nothing = passing() | {"report_only": True}
    assert "report-only: held to no limit" in text_of(html_row.row(held_to_nothing))


def test_what_was_not_counted_has_findings_and_no_table() -> None:
    assert rows(refused()) == []
    assert refused()["findings"][0]["message"] in text_of(html_row.row(refused()))


def test_a_large_table_is_cut_and_says_so() -> None:
    model = large()
    hidden = len(model["components"]) - html_row.MOST_ROWS
    assert hidden > 0
    assert len(rows(model)) == html_row.MOST_ROWS + 1
    assert rows(model)[-1][0].endswith("total")
    assert f"{hidden:,} more components are in the JSON report" in text_of(html_row.row(model))


@pytest.mark.parametrize(
    "write",
    [html_row.row, lambda model: html.page(run(model)), lambda model: markdown.page(run(model))],
    ids=["pytest-html's row", "HTML", "Markdown"],
)
@pytest.mark.parametrize("side", ["expected", "base"])
def test_a_component_that_differs_or_changed_is_in_every_table_that_is_cut(
    write: Callable[[ModelReport], str], side: Literal["expected", "base"]
) -> None:
    model = passing()
    head, *rest = model["components"]
    alike = head | {"limit": None, "min": None, "max": None, "failed": False, "formula": None}
    others = [alike | {"name": f"same{n:03}"} for n in range(300)]
    one_off: Component = {**alike, "name": "late.odd"}
    one_off[side] = (alike["actual"] or 0) - 768
    model["components"] = [head, *others, one_off, *rest]
    written = text_of(write(model))
    assert "same001" in written
    assert "same299" not in written
    assert "late.odd" in written
    assert "+768" in written


def test_all_that_comes_from_files_is_text() -> None:
    model = failing()
    hostile = in_browser.HOSTILE
    model["components"][1]["name"] = f"embeddings.{hostile}"
    model["headline"] = model["config"] = model["components"][0]["limit"] = hostile
    model["findings"][0] |= {"message": hostile, "fix": hostile, "file": hostile}
    assert model["base"]
    model["base"]["revision"] = hostile
    markup = html_row.row(model)
    assert not re.search(r"<(script|img)", markup)
    assert text_of(markup).count(hostile) == 8


# in a browser


@pytest.fixture
def shown(browser: webdriver.Chrome, pytester: pytest.Pytester) -> Iterator[webdriver.Chrome]:
    lay("fails", test_it=MARKED)
    table = """
[tool.bertsize.models.small]
config = "config.json"
overrides = { vocab_size = 7, hidden_size = 8, intermediate_size = 8, num_hidden_layers = 1 }
budget.total = 1
"""
    with Path("pyproject.toml").open("a") as file:
        file.write(table)
    inside(pytester, *NO_BUILD, *HTML)
    browser.get(PAGE.absolute().as_uri())
    yield browser
    browser.get("about:blank")


def test_the_column_is_sorted_by_number(shown: webdriver.Chrome) -> None:
    column = "return [...document.querySelectorAll('td.col-parameters')].map(cell => cell.innerText)"
    found = []
    for _ in range(2):
        shown.execute_script("document.querySelector('th[data-column-type=parameters]').click()")
        texts = [text for text in shown.execute_script(column) if text]
        found.append([int(text.split()[0].replace(",", "")) for text in texts])
    counts = [991, 59_352, 76_181, 76_181, 76_181, 76_181]
    assert sorted(found) == [counts, counts[::-1]]


def test_the_table_of_what_failed_can_be_read_at_once(shown: webdriver.Chrome) -> None:
    table = "return [...document.querySelectorAll('.extraHTML table')].filter(it => it.checkVisibility()).length"
    assert shown.execute_script(table) == 5
    script = in_browser.UNREADABLE.replace(
        "(document.body, NodeF", "(document.querySelector('tbody.failed .extraHTML'), NodeF"
    )
    looked, wrong, _ = shown.execute_script(script, in_browser.READABLE)
    assert looked >= 40
    assert wrong == []
