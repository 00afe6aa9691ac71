"""Parameters as bytes: dtypes by name, named limits, and the dtype that a config says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pytest_bertsize.dtypes import BITS, bits_of, bytes_of
from pytest_bertsize.review.measures import dtype_of


def refusal(ask: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the message is compared)
        ask(*arguments)
    return str(error.value)


def test_a_dtype_is_as_wide_as_torch_has_it() -> None:
    widths = {name: 8 * getattr(torch, name).itemsize for name in BITS if name != "int4"}
    assert {name: bits_of(name) for name in BITS} == {**widths, "int4": 4}
    assert bytes_of(109_514_298, "bfloat16") == 219_028_596  # BERT-base, as it was measured
    assert bytes_of(3, "int4") == 2


@pytest.mark.parametrize(
    ("meant", "written"),
    [
        ("float16", ("fp16", "half", "torch.float16")),
        ("bfloat16", ("bf16",)),
        ("float8_e4m3fn", ("fp8",)),
        ("int4", ("nf4", "4-bit")),
    ],
)
def test_an_alias_is_refused_by_its_full_name(meant: str, written: tuple[str, ...]) -> None:
    for alias in written:
        assert refusal(bits_of, alias) == f'"{alias}" is not the full name of a dtype: write "{meant}"'


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({}, "float32"),
        ({"dtype": None, "torch_dtype": None}, "float32"),
        ({"torch_dtype": "torch.bfloat16"}, "bfloat16"),
        ({"dtype": "float16", "torch_dtype": "torch.float16"}, "float16"),
        ({"dtype": "float16", "torch_dtype": None, "quantization_config": None}, "float16"),
    ],
)
def test_a_config_names_the_dtype_of_its_weights(config: dict[str, object], dtype: str) -> None:
    assert dtype_of(config) == dtype


FOR_EXAMPLE = 'write, for example, "float16"'


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"dtype": "auto"}, f'dtype is "auto", which does not name the dtype of the weights: {FOR_EXAMPLE}'),
        ({"torch_dtype": 16}, f"torch_dtype is 16, not the name of a dtype: {FOR_EXAMPLE}"),
        ({"torch_dtype": "fp16"}, 'torch_dtype: "fp16" is not the full name of a dtype: write "float16"'),
        (
            {"dtype": "float16", "torch_dtype": "float32"},
            'the config has dtype "float16" and torch_dtype "float32": keep one',
        ),
    ],
)
def test_a_config_that_does_not_say_one_dtype_is_refused(config: dict[str, object], message: str) -> None:
    assert refusal(dtype_of, config) == message
