"""Parameters as bytes: dtypes by name, named limits, and the dtype that a config says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.dtypes import BITS, bits_of, bytes_of
from pytest_bertsize.review.measures import dtype_of
from pytest_bertsize.table.model import NAMED, parse_byte_limit

ALL_DTYPES = "float64, float32, float16, bfloat16, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, int8, uint8, int4"
BERT_BASE_MLM = 109_514_298


def refused(ask: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the whole message is compared)
        ask(*arguments)
    return str(error.value)


# dtypes


@pytest.mark.parametrize("dtype", [name for name in BITS if name != "int4"])
def test_a_dtype_is_as_wide_as_torch_has_it(dtype: str) -> None:
    assert bits_of(dtype) == 8 * getattr(torch, dtype).itemsize


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float32", 438_057_192), ("float16", 219_028_596), ("bfloat16", 219_028_596), ("int8", 109_514_298)],
)
def test_bert_base_takes_the_bytes_that_were_measured(dtype: str, size: int) -> None:
    assert bytes_of(BERT_BASE_MLM, dtype) == size


@pytest.mark.parametrize(("parameters", "size"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)])
def test_two_parameters_of_four_bits_share_a_byte(parameters: int, size: int) -> None:
    assert bytes_of(parameters, "int4") == size


@given(st.integers(0, 10**15), st.sampled_from(list(BITS)))
def test_bytes_hold_every_bit_and_no_byte_more(parameters: int, dtype: str) -> None:
    assert 0 <= 8 * bytes_of(parameters, dtype) - parameters * bits_of(dtype) < 8


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("fp16", "float16"),
        ("half", "float16"),
        ("torch.float16", "float16"),
        ("Float32", "float32"),
        ("bf16", "bfloat16"),
        ("FP32", "float32"),
        ("double", "float64"),
        ("fp8", "float8_e4m3fn"),
        ("8bit", "int8"),
        ("nf4", "int4"),
        ("4-bit", "int4"),
    ],
)
def test_an_alias_is_refused_by_its_full_name(written: str, meant: str) -> None:
    assert refused(bits_of, written) == f'"{written}" is not a dtype by its full name: write "{meant}"'


def test_a_misspelt_dtype_is_refused_with_the_nearest() -> None:
    assert (
        refused(bits_of, "flaot16") == f'"flaot16" is not a dtype: write one of {ALL_DTYPES}; did you mean "float16"?'
    )
    assert refused(bytes_of, 1, "q") == f'"q" is not a dtype: write one of {ALL_DTYPES}'


# limits


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("github-file", 104_857_600),  # docs.github.com, "About large files on GitHub": 100 MiB
        ("pypi-file", 104_857_600),  # MAX_FILESIZE in PyPI's warehouse/constants.py: 100 MiB
    ],
)
def test_a_limit_that_people_meet_has_a_name(name: str, size: int) -> None:
    assert parse_byte_limit(name) == NAMED[name] == size


@pytest.mark.parametrize(("value", "size"), [("440MB", 440_000_000), ("420MiB", 440_401_920), (512, 512)], ids=repr)
def test_a_limit_is_also_a_number_of_bytes(value: object, size: int) -> None:
    assert parse_byte_limit(value) == size


HOW = (
    "write a whole number, or a string such as '440MB' or '420MiB' (kB, MB, GB, TB are powers of 1,000; KiB, MiB, GiB, "
    "TiB powers of 1,024)"
)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert refused(parse_byte_limit, "github-flie") == (
        f'"github-flie" is not the name of a limit: {HOW}, or one of {", ".join(NAMED)}; did you mean "github-file"?'
    )
    assert refused(parse_byte_limit, "MB") == f'"MB" is not the name of a limit: {HOW}, or one of {", ".join(NAMED)}'


def test_a_number_without_a_unit_that_says_which_is_refused() -> None:
    assert (
        refused(parse_byte_limit, "440M")
        == f"'440M' is not a number of bytes: {HOW}; did you mean '440MB' or '440MiB'?"
    )
    assert refused(parse_byte_limit, None) == f"None is not a number of bytes: {HOW}"


# the dtype of a config


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({}, "float32"),
        ({"dtype": None, "torch_dtype": None}, "float32"),
        ({"torch_dtype": "float16"}, "float16"),
        ({"torch_dtype": "torch.bfloat16"}, "bfloat16"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "float16", "torch_dtype": "torch.float16"}, "float16"),
        ({"dtype": "float16", "torch_dtype": None, "quantization_config": None}, "float16"),
    ],
)
def test_a_config_names_the_dtype_of_its_weights(config: dict[str, object], dtype: str) -> None:
    assert dtype_of(config) == dtype


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"dtype": "auto"},
            'dtype is "auto", which is that of the weights, whatever it is: write, for example, "float16"',
        ),
        ({"torch_dtype": 16}, 'torch_dtype is 16, not the name of a dtype: write, for example, "float16"'),
        (
            {"dtype": {"text": "float16"}},
            'dtype is {"text": "float16"}, not the name of a dtype: write, for example, "float16"',
        ),
        ({"torch_dtype": "fp16"}, 'torch_dtype: "fp16" is not a dtype by its full name: write "float16"'),
        (
            {"dtype": "float16", "torch_dtype": "float32"},
            'the config says dtype "float16" and torch_dtype "float32": keep one',
        ),
    ],
)
def test_a_config_that_does_not_say_one_dtype_is_refused(config: dict[str, object], message: str) -> None:
    assert refused(dtype_of, config) == message
