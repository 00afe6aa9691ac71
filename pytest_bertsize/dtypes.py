"""The dtypes of tensors: what torch calls them, what safetensors calls them, and how many bits one element takes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Dtype(NamedTuple):
    """One kind of number."""

    stored: str
    """As safetensors writes it."""
    bits: int


OF_PARAMETERS: Mapping[str, Dtype] = MappingProxyType(
    {
        "float64": Dtype("F64", 64),
        "float32": Dtype("F32", 32),
        "float16": Dtype("F16", 16),
        "bfloat16": Dtype("BF16", 16),
        "float8_e4m3fn": Dtype("F8_E4M3", 8),
        "float8_e4m3fnuz": Dtype("F8_E4M3FNUZ", 8),
        "float8_e5m2": Dtype("F8_E5M2", 8),
        "float8_e5m2fnuz": Dtype("F8_E5M2FNUZ", 8),
        "int8": Dtype("I8", 8),
        "uint8": Dtype("U8", 8),
    }
)
"""What weights are kept in, by the name that torch has for it."""


def whole_bytes(elements: int, bits: int) -> int:
    """What so many elements take, a byte that is begun counted as a whole."""
    return -(-elements * bits // 8)
