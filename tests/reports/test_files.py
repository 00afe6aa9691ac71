"""Which name makes which report, over what a report may be written, and what JSON and JUnit have."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

import pytest
import tomli
from msgspec.structs import replace

from pytest_bertsize.reports import markdown
from pytest_bertsize.reports.files import ReportFiles, render_report, report_files
from pytest_bertsize.reports.html import page as html
from pytest_bertsize.table.settings import SettingsError
from tests.conftest import BOUNDED
from tests.support.ledger_alone import declared
from tests.support.parsed_page import Page
from tests.support.run_reports import failing, passing, run

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import RunReport
    from tests.conftest import Project

NAMES = ("size.json", "size.md", "size.html")


def may_be_replaced(path: Path) -> bool:
    """Tell whether a run that is asked to write there takes what stands there for a report of its own."""
    try:
        report_files([path.name], path.parent, declared("a", root=path.parent), "--report")
    except SettingsError as error:
        assert "this file is not a report of pytest-bertsize, and is not overwritten" in str(error)  # noqa: PT017
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_what_a_format_writes_is_its_own_and_no_other_format_s(name: str, tmp_path: Path) -> None:
    report = run(passing(), failing(), complete=False, not_checked=["lost"])
    path = tmp_path / name
    for other in NAMES:
        path.write_text(render_report(report, Path(other).suffix), "utf-8")
        assert may_be_replaced(path) is (name == other)


@pytest.mark.parametrize(
    ("name", "content", "is_ours"),
    [
        *((name, b"", True) for name in NAMES),
        *((name, b"[]\xff", False) for name in NAMES),
        ("size.json", b'{"schema":1,"headline":"","mode":"full","versions":{"pytest_bertsize":"1"}}', True),
        ("size.json", b'{"schema": 1, "versions": {"pytest": "9"}}', False),
        ("size.md", b"# Size\n<!-- pytest-bertsize report -->\n", False),
        ("size.html", b'<!doctype html>\n<meta name="generator" content="bertsize explain 0.1">', False),
    ],
)
def test_an_empty_file_and_an_earlier_report_may_be_replaced_and_nothing_else(
    name: str, content: bytes, *, is_ours: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert may_be_replaced(tmp_path / name) is is_ours


def test_what_is_no_regular_file_is_not_even_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "size.md")
    with pytest.raises(SettingsError, match="must be a regular file in an existing folder"):
        report_files(["size.md"], tmp_path, declared("a", root=tmp_path), "--report")


def test_every_format_is_written_incomplete_before_the_run_and_whole_after_it(tmp_path: Path) -> None:
    reports = ReportFiles(tuple(tmp_path / name for name in NAMES), declared("encoder"))
    reports.write(reports.report_run([], {}))
    begun = {name: (tmp_path / name).read_text("utf-8") for name in NAMES}
    reports.write(reports.report_run([passing()], {}), is_final=True)
    ended = {name: (tmp_path / name).read_text("utf-8") for name in NAMES}
    said = re.compile('INCOMPLETE|incomplete: NOT CHECKED|"complete": false')
    assert [name for name in NAMES if said.search(begun[name])] == [*NAMES]
    assert [name for name in NAMES if said.search(ended[name])] == []
    assert reports.problems == []
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)  # noqa: PTH208  (hidden files too)


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone/size.md"
    reports = ReportFiles((gone, tmp_path / "size.md"), declared("encoder"))
    reports.write(reports.report_run([passing()], {}), is_final=True)
    assert reports.problems == [f"the report {gone} could not be written: No such file or directory"]
    assert (tmp_path / "size.md").read_text("utf-8").startswith("<!-- pytest-bertsize report -->")


def test_a_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    paths = tuple(tmp_path / name for name in NAMES)
    reports = ReportFiles(paths, declared("encoder"))
    reports.write(reports.report_run([replace(passing(), headline="encoder: \ud800")], {}), is_final=True)
    assert reports.problems == []
    assert json.loads(paths[0].read_text("utf-8"))["models"][0]["headline"] == "encoder: \ud800"
    assert [path.exists() for path in paths] == [True] * len(paths)


@pytest.mark.parametrize("write", [html.render_page, markdown.render_page], ids=["HTML", "Markdown"])
@pytest.mark.parametrize("side", ["expected", "base"])
def test_a_component_that_differs_or_changed_is_in_every_table_that_is_cut(
    write: Callable[[RunReport], str], side: Literal["expected", "base"]
) -> None:
    model = passing()
    head, *rest = model.components
    alike = replace(head, limit=None, min=None, max=None, failed=False, formula=None)
    one_off = replace(alike, name="late.odd", **{side: (alike.actual or 0) - 768})
    model.components = [head, *(replace(alike, name=f"same{n:03}") for n in range(300)), one_off, *rest]
    text = Page(write(run(model))).text
    assert text.count("same001") == text.count("same299") + 1  # the page draws a cell for each
    assert "late.odd" in text
    assert "+768" in text


# schema 1 of JSON, which other tools read


def of(row: dict[str, Any], keys: str) -> list[Any]:
    return [row[key] for key in keys.split()]


def test_the_report_of_a_run(project: Project) -> None:
    project(BOUNDED).runpytest("--bert-budget", "--bert-budget-report=size.json")
    report: dict[str, Any] = json.loads(Path("size.json").read_text("utf-8"))
    assert list(report)[-1] == "complete"
    assert set(report["versions"]) == {"pytest_bertsize", "transformers", "torch", "python"}
    assert of(report, "schema mode base commit") == [1, "full", None, None]
    assert of(report, "headline news changed") == [
        "1 of 2 models failed: bursts; head 2,549, limit 2,548 (+1)",
        "",
        True,
    ]
    assert of(report, "configured checked failed not_checked complete") == [2, 2, 1, [], True]
    table = tomli.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["bertsize"]
    assert report["table_sha256"] == hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
    fits, bursts = report["models"]
    assert (fits["name"], fits["verdict"], bursts["name"], bursts["verdict"]) == ("fits", "passed", "bursts", "failed")
    assert (fits["family"], fits["architecture"], fits["config"]) == ("bert", "BertForMaskedLM", "config.json")
    assert fits["config_sha256"] == hashlib.sha256(Path("config.json").read_bytes()).hexdigest()
    stored = 59_549 + 101 * 48 + 101  # the decoder's matrix and bias
    totals = {"expected": 59_549, "actual": 59_549, "trainable": 59_549, "stored": stored, "unrolled": stored}
    assert (fits["totals"], fits["closed_form"]) == (totals, True)
    assert fits["symbols"] == {"V": 101, "D": 48, "L": 3, "A": 4, "I": 72, "P": 40, "T": 5}
    (finding,) = bursts["findings"]
    assert of(finding, "kind severity component in_headline") == ["over-budget", "error", "head", True]
    assert of(finding, "message fix") == ["head is 2,549, 1 over its limit of 2,548", "to accept it, write 2_549"]
    assert of(finding, "expected actual limit base file line") == [None, 2_549, 2_548, None, "pyproject.toml", 8]
    rows = {row["name"]: row for row in fits["components"]}
    attention = rows["encoder.attention"]
    assert of(attention, "expected actual base layers failed") == [28_224, 28_224, None, 3, False]
    assert of(attention, "formula latex") == ["L·(4·D² + 4·D)", r"L \cdot (4 \cdot D^{2} + 4 \cdot D)"]
    assert of(attention, "min max limit") == [None, None, None]
    total = rows.pop("total")
    assert (total["min"], total["max"], total["limit"]) == (59_000, 60_000, "59,000-60K")
    leaves = [row for name, row in rows.items() if not any(other.startswith(f"{name}.") for other in rows)]
    tensors = {row["name"]: row for row in fits["tensors"]}
    assert sum(row["actual"] for row in leaves) == sum(row["actual"] for row in tensors.values()) == total["actual"]
    query = tensors["bert.encoder.layer.*.attention.self.query.weight"]
    assert (query["layers"], query["shape"], query["actual"]) == (3, [48, 48], 3 * 48 * 48)
    assert tensors["cls.predictions.decoder.bias"]["tied_to"] == "cls.predictions.bias"


def test_a_page_may_take_a_report_in_as_it_is_and_counts_of_any_size_are_written_whole() -> None:
    model = failing()
    model.headline, model.totals.expected = "</script><script>alert('1 & 2')</script>", 10**40
    text = render_report(run(model), ".json")
    assert not {"<", ">", "&"} & set(text)
    (found,) = json.loads(text)["models"]
    assert (found["headline"], found["totals"]["expected"]) == (model.headline, 10**40)


# JUnit's file, which pytest writes


def properties(pytester: pytest.Pytester, *arguments: str) -> dict[str, dict[str, str]]:
    """Properties of each test, by its name; a property that stands twice is a mistake."""
    pytester.runpytest("--junitxml=junit.xml", *arguments)
    found = {}
    for case in ET.parse("junit.xml").iter("testcase"):  # noqa: S314  (pytest's own)
        pairs = [(each.attrib["name"], each.attrib["value"]) for each in case.iter("property")]
        assert len(dict(pairs)) == len(pairs)
        found[case.attrib["name"]] = dict(pairs)
    return found


def test_junit_has_what_is_known_of_each_model(project: Project) -> None:
    found = properties(project(BOUNDED), "--bert-budget")
    components = {"embeddings": "7104", "encoder": "49896", "head": "2549"}
    counts = {"total": "59549", "trainable": "59549", "expected": "59549"}
    by_component = {f"component.{name}": count for name, count in components.items()}
    fits = {"verdict": "passed", "mode": "full", **counts, "limit": "59,000-60K", **by_component}
    bursts = {"verdict": "failed", "mode": "full", **counts, **by_component}
    assert found["fits"] == {f"bertsize.{name}": value for name, value in fits.items()}
    assert found["bursts"] == {f"bertsize.{name}": value for name, value in bursts.items()}


def test_junit_has_what_is_known_of_a_model_that_was_not_built_or_not_read(
    project: Project, tiny: dict[str, Any]
) -> None:
    found = {"bertsize.verdict": "failed", "bertsize.mode": "full"}
    counted = {**found, "bertsize.expected": "59549", "bertsize.limit": "59,000-60K"}
    assert properties(project(BOUNDED, {**tiny, "pad_token_id": 500}), "--bert-budget")["fits"] == counted
    assert properties(project(BOUNDED, "not JSON"), "--bert-budget")["bursts"] == found


def test_junit_has_a_marked_test_that_failed_once_however_often_it_was_looked_at(project: Project) -> None:
    test = """
    import pytest
    @pytest.fixture
    def mine(request):
        request.node.user_properties.append(("mine", 1))
    @pytest.mark.bert_budget("bursts")
    def test_marked(mine, bert_budget):
        assert True
    """
    found = properties(project(BOUNDED, None, test_marked=test))["test_marked"]
    assert (found["mine"], found["bertsize.verdict"], found["bertsize.total"]) == ("1", "failed", "59549")
    assert 'message="bursts: head 2,549, limit 2,548 (+1)' in Path("junit.xml").read_text("utf-8")


def test_junit_has_nothing_of_a_marked_test_whose_model_is_within_its_budget(project: Project) -> None:
    test = "import pytest\n@pytest.mark.bert_budget('fits')\ndef test_marked(): pass\n"
    found = properties(project(BOUNDED, None, test_marked=test), "--bert-budget", "--bert-budget-no-build")
    assert found["test_marked"] == {}
    assert (found["fits"]["bertsize.mode"], found["fits"]["bertsize.expected"]) == ("no-build", "59549")
    assert "bertsize.total" not in found["fits"]
