"""``budget``, beyond counts: limits of bytes, FLOPs, training and growth, and what a budget says of overruns."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.table.limits import AsBytes, Flops, Growth, Limit, Measure, Training
from pytest_bertsize.table.settings import load

BUDGET = ("tool", "bertsize", "models", "encoder", "budget")
MIN_AND_MAX, EXACT = "{{ min = {0}, max = {1}{2} }}", "{{ exact = {0}{2} }}"


def limits(folder: Path, *lines: str) -> tuple[Limit, ...]:
    """Return the limits of a model with a budget of these lines."""
    path = folder / "pyproject.toml"
    path.write_text("\n".join(["[tool.bertsize.models.encoder]", 'config = "c.json"', *lines]), encoding="utf-8")
    return load(path).models["encoder"].limits


@pytest.mark.parametrize(
    ("key", "least", "most", "beside", "measure", "bounds"),
    [
        ("bytes", '"400MB"', '"420MiB"', "", AsBytes(None, "unique"), (400_000_000, 440_401_920)),
        ("bytes", "1", "2", ', dtype = "int8", count = "stored"', AsBytes("int8", "stored"), (1, 2)),
        ("bytes", "0", '"github-file"', "", AsBytes(None, "unique"), (0, 104_857_600)),
        ("flops", '"20G"', '"22.4G"', ", seq_len = 128", Flops(128), (20_000_000_000, 22_400_000_000)),
        ("training_bytes", '"1.7GB"', '"1.8GB"', "", Training(None, None), (1_700_000_000, 1_800_000_000)),
        ("training_bytes", "1", "2", ', dtype = "bfloat16"', Training("bfloat16", None), (1, 2)),
        ("training_bytes", "1", "2", ', frozen = "int8"', Training(None, "int8"), (1, 2)),
        ("total", '"28M"', '"29M"', "", None, (28_000_000, 29_000_000)),
    ],
)
def test_a_limit_has_bounds_and_says_what_it_measures(
    tmp_path: Path, key: str, least: str, most: str, beside: str, measure: Measure | None, bounds: tuple[int, int]
) -> None:
    for written, expected in ((MIN_AND_MAX, bounds), (EXACT, (bounds[0], bounds[0]))):
        (found,) = limits(tmp_path, f"budget.{key} = {written.format(least, most, beside)}")
        assert (found.minimum, found.maximum) == expected
        assert (found.component, found.measure, found.table_key) == (key, measure, (*BUDGET, key))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('"29M"', "29M"),
        ("29_000_000", "29,000,000"),
        ("{ exact = 29_000_000 }", "=29,000,000"),
        ('{ min = "28M" }', "≥28M"),
        ('{ min = "28M", max = "29M" }', "28M-29M"),
        ('{ min = "28M", max = "28M" }', "=28M"),
    ],
)
def test_a_limit_is_shown_as_its_author_wrote_it(tmp_path: Path, written: str, shown: str) -> None:
    (found,) = limits(tmp_path, f"budget.total = {written}")
    assert str(found) == shown


def test_growth_is_held_for_the_total_or_by_component_and_knows_no_maximum_yet(tmp_path: Path) -> None:
    (whole,) = limits(tmp_path, 'budget.growth = "1%"')
    assert (whole.component, whole.written, whole.measure) == ("growth", "1%", Growth("total"))
    assert (whole.minimum, whole.maximum, whole.table_key) == (None, None, (*BUDGET, "growth"))
    total, head = limits(tmp_path, 'budget.growth = { total = "500K", head = 0 }')
    assert (total.component, total.written, total.measure) == ("growth", "500K", Growth("total"))
    assert (head.component, head.written, head.measure) == ("growth.head", 0, Growth("head"))
    assert {each.file for each in (whole, total, head)} == {"pyproject.toml"}
    assert [each.table_key for each in (total, head)] == [(*BUDGET, "growth", "total"), (*BUDGET, "growth", "head")]
