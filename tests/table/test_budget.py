"""``budget``, beyond counts: limits of bytes, FLOPs, training and growth, and what a budget says of overruns."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.table.model import AsBytes, Flops, Growth, Limit, Measure, Training
from pytest_bertsize.table.settings import SettingsError, load

BUDGET = ("tool", "bertsize", "models", "encoder", "budget")
MIN_AND_MAX, EXACT = "{{ min = {0}, max = {1}{2} }}", "{{ exact = {0}{2} }}"
TRAINED = ("float64", "float32", "bfloat16", "float16")
"""What torch's AdamW steps with; it has no moments of integers."""
GROWN = 'a share such as "1%", a count of parameters such as "500K", or 0'


def limits(folder: Path, *lines: str) -> tuple[Limit, ...]:
    """Of a model with a budget of these lines."""
    path = folder / "pyproject.toml"
    path.write_text("\n".join(["[tool.bertsize.models.encoder]", 'config = "c.json"', *lines]), encoding="utf-8")
    return load(path).models["encoder"].limits


def mistake(folder: Path, line: str) -> str:
    """What is said of a budget of one line, without where."""
    with pytest.raises(SettingsError) as error:
        limits(folder, line)
    place, sentence = str(error.value).split(": tool.bertsize.models.encoder.budget", 1)
    assert place == "pyproject.toml:3"
    return sentence


# what is limited


@pytest.mark.parametrize(
    ("key", "least", "most", "beside", "measure", "bounds"),
    [
        ("bytes", '"400MB"', '"420MiB"', "", AsBytes(None, "unique"), (400_000_000, 440_401_920)),
        ("bytes", "1", "2", ', dtype = "int8", count = "stored"', AsBytes("int8", "stored"), (1, 2)),
        ("bytes", "1", "2", ', count = "unrolled"', AsBytes(None, "unrolled"), (1, 2)),
        ("bytes", "0", '"github-file"', "", AsBytes(None, "unique"), (0, 104_857_600)),
        ("flops", '"20G"', '"22.4G"', ", seq_len = 128", Flops(128), (20_000_000_000, 22_400_000_000)),
        ("flops", "1", "2", ", seq_len = 1", Flops(1), (1, 2)),
        ("flops", "1", "2", ", seq_len = 1000000", Flops(1_000_000), (1, 2)),
        ("training_bytes", '"1.7GB"', '"1.8GB"', "", Training(None, None), (1_700_000_000, 1_800_000_000)),
        ("training_bytes", "1", "2", ', dtype = "bfloat16"', Training("bfloat16", None), (1, 2)),
        ("training_bytes", "1", "2", ', frozen = "int8"', Training(None, "int8"), (1, 2)),
        ("total", '"28M"', '"29M"', "", None, (28_000_000, 29_000_000)),
    ],
)
def test_a_limit_has_bounds_and_says_what_it_measures(
    tmp_path: Path,
    key: str,
    least: str,
    most: str,
    beside: str,
    measure: Measure | None,
    bounds: tuple[int, int],
) -> None:
    for written, expected in ((MIN_AND_MAX, bounds), (EXACT, (bounds[0], bounds[0]))):
        (found,) = limits(tmp_path, f"budget.{key} = {written.format(least, most, beside)}")
        assert (found.minimum, found.maximum) == expected
        assert (found.component, found.measure, found.table_key) == (key, measure, (*BUDGET, key))


@pytest.mark.parametrize(
    ("key", "written", "most", "measure"),
    [
        ("bytes", '"440MB"', 440_000_000, AsBytes(None, "unique")),
        ("training_bytes", '"1.5GiB"', 1_610_612_736, Training(None, None)),
        ("total", '"110M"', 110_000_000, None),
    ],
)
def test_a_size_alone_is_the_most_that_passes(
    tmp_path: Path, key: str, written: str, most: int, measure: Measure | None
) -> None:
    (found,) = limits(tmp_path, f"budget.{key} = {written}")
    assert (found.minimum, found.maximum, found.measure) == (None, most, measure)


def test_growth_is_held_for_the_total_or_by_component_and_knows_no_maximum_yet(tmp_path: Path) -> None:
    (whole,) = limits(tmp_path, 'budget.growth = "1%"')
    assert (whole.component, whole.written, whole.measure) == ("growth", "1%", Growth("total"))
    assert (whole.minimum, whole.maximum, whole.table_key) == (None, None, (*BUDGET, "growth"))
    total, head = limits(tmp_path, 'budget.growth = { total = "500K", head = 0 }')
    assert (total.component, total.written, total.measure) == ("growth", "500K", Growth("total"))
    assert (head.component, head.written, head.measure) == ("growth.head", 0, Growth("head"))
    assert {each.file for each in (whole, total, head)} == {"pyproject.toml"}
    assert [each.table_key for each in (total, head)] == [(*BUDGET, "growth", "total"), (*BUDGET, "growth", "head")]


def test_a_budget_without_growth_holds_none(tmp_path: Path) -> None:
    found = limits(tmp_path, "budget = { bytes = 3, total = 2 }")
    assert [each.component for each in found] == ["bytes", "total"]


@pytest.mark.parametrize(
    "limit", ["total = 1", "bytes = 1", "flops = { max = 1, seq_len = 1 }", "training_bytes = 1", "pooler = 0"]
)
def test_what_becomes_of_an_overrun_can_be_said_beside_any_limit(tmp_path: Path, limit: str) -> None:
    for already_over in ("fail", "pass"):
        (found,) = limits(tmp_path, f"budget.{limit}", f'budget.already_over = "{already_over}"')
        assert found.component == limit.partition(" = ")[0]


# what is no budget


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "bytes = {}",
            """.bytes: an empty limit holds nothing: write a size, or { max = "440MB", dtype = "float16" }""",
        ),
        ("flops = { seq_len = 8 }", '.flops: an empty limit holds nothing: write { max = "22G", seq_len = 128 }'),
        (
            'training_bytes = { dtype = "float32" }',
            """.training_bytes: an empty limit holds nothing: write a size, or { max = "4GB", dtype = "bfloat16" }""",
        ),
        (
            'training_bytes = { max = 1, dtype = "int8" }',
            f'.training_bytes.dtype: "int8" is no dtype that AdamW trains: write one of {", ".join(TRAINED)}',
        ),
        ("already_over = 'pass'", ': already_over is about limits, and there is none: write budget.total = "110M"'),
        ("flops = { max = 1, seq_len = 0 }", ".flops.seq_len: 0 is not a number from 1 to 1,000,000"),
        ("flops = { max = 1, seq_len = 1000001 }", ".flops.seq_len: 1000001 is not a number from 1 to 1,000,000"),
        ('flops = { max = 1, seq_len = "128" }', '.flops.seq_len: "128" is not a whole number'),
        ("bytes = { max = 1, dtype = 3 }", ".bytes.dtype: 3 is not a string"),
        ("bytes = { min = 2, max = 1 }", ".bytes: min 2 is more than max 1: no model can pass"),
        ("flops = { exact = 2, max = 2, seq_len = 1 }", ".flops: exact stands alone: remove min and max"),
        ("flops = 3", ".flops: it says no length: write seq_len = 128, the tokens of one forward pass"),
        ("bytes = { mx = 1 }", ".bytes.mx: unknown key; did you mean 'max'?"),
        ('bytes = { max = 1, count = "all" }', '.bytes.count: "all" is not one of "unique", "stored", "unrolled"'),
        ('already_over = "warn"', '.already_over: "warn" is not one of "fail", "pass"'),
        (
            "growth = {}",
            f".growth: an empty table limits nothing: write {GROWN}",
        ),
    ],
)
def test_a_mistake_in_a_budget_is_told_with_what_to_write(tmp_path: Path, line: str, says: str) -> None:
    assert mistake(tmp_path, f"budget.{line}") == says


@pytest.mark.parametrize("key", ["bytes.dtype", "training_bytes.dtype", "training_bytes.frozen"])
def test_a_misspelt_dtype_is_refused_with_the_nearest(tmp_path: Path, key: str) -> None:
    table, name = key.split(".")
    said = mistake(tmp_path, f'budget.{table} = {{ max = 1, {name} = "float23" }}')
    assert said.startswith(f'.{key}: "float23" is not a dtype: write one of float64, float32, float16, bfloat16')
    assert said.endswith('; did you mean "float32"?')
