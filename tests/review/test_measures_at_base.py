"""Bytes and FLOPs beside parameters, since a base: those of the budget, and both where a change has changed them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.commands.check import check
from tests.support.git_projects import FITS, LAYER, GitProject, committed

TINY = 59_549


def layer_of_a_pass(tokens: int) -> int:
    """FLOPs of a layer of the tiny model: 2·S·(4·D² + 2·I·D) + 4·S²·D (Kaplan et al. 2020, arXiv 2001.08361, table 1)."""
    return 2 * tokens * (4 * 48 * 48 + 2 * 72 * 48) + 4 * tokens * tokens * 48


@pytest.fixture
def change(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    return committed(tmp_path / "change", tiny)


def told(change: GitProject) -> tuple[dict[str, Any], str]:
    """What the report has of each measure, by its name, and what the terminal says; nothing is built."""
    out = io.StringIO()
    check(change.folder, None, [str(change.folder / "r.json")], base="main", out=out)
    (model,) = json.loads((change.folder / "r.json").read_text("utf-8"))["models"]
    return {row["name"]: row for row in model["measures"]}, " ".join(out.getvalue().split())


def test_what_a_layer_takes_is_told_beside_its_parameters(change: GitProject, tiny: dict[str, Any]) -> None:
    change.write("config.json", {**tiny, "num_hidden_layers": 4})
    rows, said = told(change)
    assert (rows["bytes"]["base"], rows["bytes"]["expected"]) == (4 * TINY, 4 * (TINY + LAYER))
    assert rows["flops"]["expected"] - rows["flops"]["base"] == layer_of_a_pass(40)  # its positions are 40
    assert rows["flops"]["what"].startswith("40 tokens, ")
    assert (
        f"59,549 → 76,181 (+16,632); bytes +{4 * LAYER:,} (float32), FLOPs +{layer_of_a_pass(40):,} (40 tokens)" in said
    )


def test_a_limit_says_in_what_they_are_counted(change: GitProject, tiny: dict[str, Any]) -> None:
    limits = 'budget.bytes = { max = "1MB", dtype = "float16" }\nbudget.flops = { max = "1G", seq_len = 16 }\n'
    change.declare(FITS + limits)
    change.write("config.json", {**tiny, "num_hidden_layers": 4})
    rows, said = told(change)
    assert (rows["bytes"]["base"], rows["bytes"]["expected"]) == (2 * TINY, 2 * (TINY + LAYER))
    assert f"bytes +{2 * LAYER:,} (float16), FLOPs +{layer_of_a_pass(16):,} (16 tokens)" in said


def test_of_all_that_is_as_it_was_only_what_is_limited_is_measured(change: GitProject) -> None:
    assert told(change)[0] == {}
    change.declare(FITS + 'budget.bytes = { max = "1MB", count = "stored" }\n')
    rows, said = told(change)
    stored = 4 * (TINY + 101 * 48 + 101)  # the decoder's matrix and its bias, which are tied
    assert (rows["bytes"]["base"], rows["bytes"]["expected"]) == (stored, stored)
    assert "bytes +" not in said


def test_a_wider_dtype_alone_is_a_change(change: GitProject, tiny: dict[str, Any]) -> None:
    change.write("config.json", {**tiny, "dtype": "float64"})
    rows, said = told(change)
    assert [*rows] == ["bytes"]
    assert (rows["bytes"]["base"], rows["bytes"]["expected"]) == (4 * TINY, 8 * TINY)
    assert f"no count changed; bytes +{4 * TINY:,} (float64)" in said


@pytest.mark.parametrize("said", [{"dtype": "auto"}, {"quantization_config": {"load_in_4bit": True}}])
def test_of_weights_that_are_of_no_one_dtype_no_bytes_are_told(
    change: GitProject, tiny: dict[str, Any], said: dict[str, Any]
) -> None:
    change.write("config.json", {**tiny, **said, "num_hidden_layers": 4})
    assert [*told(change)[0]] == ["flops"]


def test_a_new_model_has_no_measure_at_the_base(change: GitProject, tiny: dict[str, Any]) -> None:
    change.write("other.json", {**tiny, "vocab_size": 50})
    change.declare(FITS + FITS.replace("fits", "other").replace("config.json", "other.json"))
    check(change.folder, None, [str(change.folder / "r.json")], base="main", out=io.StringIO())
    _, new = json.loads((change.folder / "r.json").read_text("utf-8"))["models"]
    assert new["measures"] == []
