"""``budget``, beyond counts: limits of bytes, FLOPs, training and growth, and dtypes by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.dtypes import BITS, bits_of, bytes_of
from pytest_bertsize.review.limits import dtype_of
from pytest_bertsize.table.limits import (
    AsBytes,
    Flops,
    Growth,
    Limit,
    Measure,
    Training,
    growth_that_passes,
    most_growth,
)
from pytest_bertsize.table.settings import load

BUDGET = ("tool", "bertsize", "models", "encoder", "budget")


def limits(folder: Path, *lines: str) -> tuple[Limit, ...]:
    path = folder / "pyproject.toml"
    path.write_text("\n".join(["[tool.bertsize.models.encoder]", 'config = "c.json"', *lines]), encoding="utf-8")
    return load(path).models["encoder"].limits


@pytest.mark.parametrize(
    ("key", "least", "most", "beside", "measure", "bounds"),
    [
        ("bytes", '"400MB"', '"420MiB"', "", AsBytes(None, "unique"), (400_000_000, 440_401_920)),
        ("bytes", "1", "2", ', dtype = "int8", count = "stored"', AsBytes("int8", "stored"), (1, 2)),
        ("bytes", "0", '"github-file"', "", AsBytes(None, "unique"), (0, 104_857_600)),
        ("bytes", "0", '"pypi-file"', "", AsBytes(None, "unique"), (0, 104_857_600)),
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
    for written, expected in ((f"min = {least}, max = {most}", bounds), (f"exact = {least}", (bounds[0], bounds[0]))):
        (found,) = limits(tmp_path, f"budget.{key} = {{ {written}{beside} }}")
        assert (found.minimum, found.maximum) == expected
        assert (found.component, found.measure, found.table_key) == (key, measure, (*BUDGET, key))


@pytest.mark.parametrize(
    ("written", "minimum", "maximum", "bounds", "shown"),
    [
        ('"103M"', None, 103_000_000, (None, "103M"), "103M"),
        ("102_290_312", None, 102_290_312, (None, 102_290_312), "102,290,312"),
        ('{ min = "1M" }', 1_000_000, None, ("1M", None), "≥1M"),
        ('{ min = "28M", max = "29M" }', 28_000_000, 29_000_000, ("28M", "29M"), "28M-29M"),
        ('{ min = "1K", max = 1000 }', 1_000, 1_000, ("1K", 1_000), "=1,000"),
        ("{ exact = 0 }", 0, 0, (0, 0), "=0"),
    ],
)
def test_a_limit_is_the_most_that_passes_or_a_range_or_exact_and_shown_as_its_author_wrote_it(
    tmp_path: Path, written: str, minimum: int | None, maximum: int | None, bounds: tuple[object, object], shown: str
) -> None:
    (found,) = limits(tmp_path, f'budget."encoder.attention" = {written}')
    assert (found.component, found.minimum, found.maximum) == ("encoder.attention", minimum, maximum)
    assert (str(found), found.is_exact) == (shown, shown.startswith("="))
    assert (found.written_at("min"), found.written_at("max")) == bounds
    assert found.table_key == (*BUDGET, "encoder.attention")


def test_growth_is_held_for_the_total_or_by_component_and_knows_no_maximum_yet(tmp_path: Path) -> None:
    (whole,) = limits(tmp_path, 'budget.growth = "1%"')
    assert (whole.component, whole.written, whole.measure) == ("growth", "1%", Growth("total"))
    assert (whole.minimum, whole.maximum, whole.table_key) == (None, None, (*BUDGET, "growth"))
    total, head = limits(tmp_path, 'budget.growth = { total = "500K", head = 0 }')
    assert (total.component, total.written, total.measure) == ("growth", "500K", Growth("total"))
    assert (head.component, head.written, head.measure) == ("growth.head", 0, Growth("head"))
    assert {each.file for each in (whole, total, head)} == {"pyproject.toml"}
    assert [each.table_key for each in (total, head)] == [(*BUDGET, "growth", "total"), (*BUDGET, "growth", "head")]


# a share or a count of growth, exactly

PARTS = 10**6
SHARES = st.integers(0, 300 * PARTS).map(lambda millionths: f"{millionths // PARTS}.{millionths % PARTS:06d}%")


@given(SHARES, st.integers(0, 10**15))
def test_a_share_is_exact_at_any_size(written: str, before: int) -> None:
    digits, _, decimals = written.removesuffix("%").partition(".")
    millionths = int(digits) * PARTS + int(decimals)
    assert most_growth(written, before) == millionths * before // (100 * PARTS)


@pytest.mark.parametrize(
    ("added", "before", "like", "written"),
    [
        (1, 300, "1%", '"1%"'),  # 0.33 %
        (1, 300, "1.00%", '"0.34%"'),
        (16_632, 59_549, "500K", '"17K"'),
        (16_632, 59_549, 500, "16_632"),
        (16_632, 0, "1%", "16_632"),  # no share of nothing is anything
        (10**10, 1, "1%", "10_000_000_000"),  # more digits than a share has
    ],
)
def test_growth_is_proposed_as_finely_as_its_author_wrote_it(
    added: int, before: int, like: object, written: str
) -> None:
    assert growth_that_passes(added, before, like) == written


def refusal(ask: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the message is compared)
        ask(*arguments)
    return str(error.value)


def test_a_dtype_is_as_wide_as_torch_has_it() -> None:
    widths = {name: 8 * getattr(torch, name).itemsize for name in BITS if name != "int4"}
    assert {name: bits_of(name) for name in BITS} == {**widths, "int4": 4}
    assert bytes_of(109_514_298, "bfloat16") == 219_028_596  # BERT-base, as it was measured
    assert bytes_of(3, "int4") == 2
    for written, meant in (("f16", "float16"), ("torch.float16", "float16"), ("Int8", "int8")):
        assert refusal(bits_of, written).endswith(f', int4; did you mean "{meant}"?')


def test_a_config_names_the_one_dtype_of_its_weights() -> None:
    for config, dtype in (
        ({}, "float32"),
        ({"dtype": None, "torch_dtype": None}, "float32"),
        ({"torch_dtype": "torch.bfloat16"}, "bfloat16"),
        ({"dtype": "float16", "torch_dtype": "torch.float16", "quantization_config": None}, "float16"),
    ):
        assert dtype_of(config) == dtype
    assert refusal(dtype_of, {"dtype": "auto"}).startswith('dtype: "auto" is not a dtype: write one of ')
    assert refusal(dtype_of, {"torch_dtype": 16}).startswith('torch_dtype: "16" is not a dtype: write one of ')
    said = 'the config has dtype "float16" and torch_dtype "float32": keep one'
    assert refusal(dtype_of, {"dtype": "float16", "torch_dtype": "float32"}) == said
