"""``--bert-budget-report=PATH.json``: schema 1, which other tools read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli

from pytest_bertsize.files import replace_file
from pytest_bertsize.reports.files import render_json
from tests.conftest import BOUNDED
from tests.support.run_reports import failing, passing, run

if TYPE_CHECKING:
    from tests.conftest import Project


@pytest.fixture
def report(project: Project) -> dict[str, Any]:
    project(BOUNDED).runpytest("--bert-budget", "--bert-budget-report=size.json")
    found: dict[str, Any] = json.loads(Path("size.json").read_text("utf-8"))
    return found


def test_the_ledger_is_at_the_top(report: dict[str, Any]) -> None:
    top = {key: value for key, value in report.items() if key not in {"models", "versions"}}
    table = tomli.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["bertsize"]
    assert top == {
        "schema": 1,
        "headline": "1 of 2 models failed: bursts (head 1 over 2,548)",
        "news": "",
        "changed": True,
        "complete": True,
        "mode": "full",
        "base": None,
        "commit": None,
        "configured": 2,
        "checked": 2,
        "failed": 1,
        "not_checked": [],
        "table_sha256": hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest(),
    }
    assert set(report["versions"]) == {"pytest_bertsize", "transformers", "torch", "python"}
    assert list(report)[-1] == "complete"


def test_a_model_is_identified_and_totalled(report: dict[str, Any]) -> None:
    fits, bursts = report["models"]
    assert (fits["name"], fits["verdict"], bursts["name"], bursts["verdict"]) == ("fits", "passed", "bursts", "failed")
    assert (fits["family"], fits["architecture"], fits["config"]) == ("bert", "BertForMaskedLM", "config.json")
    assert fits["config_sha256"] == hashlib.sha256(Path("config.json").read_bytes()).hexdigest()
    stored = 59_549 + 101 * 48 + 101  # the decoder's matrix and bias
    totals = {"expected": 59_549, "actual": 59_549, "trainable": 59_549, "stored": stored, "unrolled": stored}
    assert (fits["totals"], fits["closed_form"]) == (totals, True)
    assert fits["symbols"] == {"V": 101, "D": 48, "L": 3, "A": 4, "I": 72, "P": 40, "T": 5}


def test_components_of_every_level_have_formula_counts_and_limits(report: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in report["models"][0]["components"]}
    assert rows["encoder.attention"] == {
        "name": "encoder.attention",
        "formula": "L·(4·D² + 4·D)",
        "latex": r"L \cdot (4 \cdot D^{2} + 4 \cdot D)",
        "expected": 28_224,
        "actual": 28_224,
        "base": None,
        "min": None,
        "max": None,
        "limit": None,
        "layers": 3,
        "failed": False,
    }
    total = rows.pop("total")
    assert (total["min"], total["max"], total["limit"]) == (59_000, 60_000, "59,000-60K")
    leaves = [row for name, row in rows.items() if not any(other.startswith(f"{name}.") for other in rows)]
    assert sum(row["actual"] for row in leaves) == total["actual"]


def test_tensors_are_folded_and_sum_to_the_total(report: dict[str, Any]) -> None:
    tensors = {row["name"]: row for row in report["models"][0]["tensors"]}
    assert sum(row["actual"] for row in tensors.values()) == 59_549
    query = tensors["bert.encoder.layer.*.attention.self.query.weight"]
    assert (query["layers"], query["shape"], query["actual"]) == (3, [48, 48], 3 * 48 * 48)
    assert tensors["cls.predictions.decoder.bias"]["tied_to"] == "cls.predictions.bias"


def test_a_finding_has_kind_place_and_way_out(report: dict[str, Any]) -> None:
    assert report["models"][1]["findings"] == [
        {
            "kind": "over-budget",
            "severity": "error",
            "component": "head",
            "message": "head is 2,549, 1 over its limit of 2,548",
            "fix": "to accept it, write 2_549",
            "expected": None,
            "actual": 2_549,
            "limit": 2_548,
            "base": None,
            "file": "pyproject.toml",
            "line": 8,
            "in_headline": True,
        }
    ]


def test_an_earlier_report_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    replace_file(path, render_json(run(failing())).encode())
    before = path.read_bytes()
    with pytest.raises(TypeError):
        replace_file(path, object())  # type: ignore[arg-type]
    assert path.read_bytes() == before
    replace_file(path, render_json(run(passing())).encode())
    assert json.loads(path.read_text())["failed"] == 0
    with pytest.raises(OSError, match="No such file or directory"):
        replace_file(tmp_path / "gone" / "size.json", b"")
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_may_take_a_report_in_as_it_is_and_counts_of_any_size_are_written_whole() -> None:
    model = failing()
    model.headline, model.totals.expected = "</script><script>alert('1 & 2')</script>", 10**40
    text = render_json(run(model))
    assert not {"<", ">", "&"} & set(text)
    (found,) = json.loads(text)["models"]
    assert (found["headline"], found["totals"]["expected"]) == (model.headline, 10**40)
