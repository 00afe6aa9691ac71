"""``--bert-budget-report=PATH.json``: schema 1, which other tools read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli

from pytest_bertsize.reports.files import render_report
from tests.conftest import BOUNDED
from tests.support.run_reports import failing, run

if TYPE_CHECKING:
    from tests.conftest import Project


def of(row: dict[str, Any], keys: str) -> list[Any]:
    return [row[key] for key in keys.split()]


def test_the_report_of_a_run(project: Project) -> None:
    project(BOUNDED).runpytest("--bert-budget", "--bert-budget-report=size.json")
    report: dict[str, Any] = json.loads(Path("size.json").read_text("utf-8"))
    assert list(report)[-1] == "complete"
    assert set(report["versions"]) == {"pytest_bertsize", "transformers", "torch", "python"}
    assert of(report, "schema mode base commit") == [1, "full", None, None]
    assert of(report, "headline news changed") == ["1 of 2 models failed: bursts (head 1 over 2,548)", "", True]
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
