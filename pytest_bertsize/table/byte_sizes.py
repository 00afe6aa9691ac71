"""Parameters as bytes: how wide a dtype is, which one a config names, and the limits that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_bertsize.dtypes import OF_PARAMETERS, whole_bytes
from pytest_bertsize.quantity import BYTES, parse_bytes
from pytest_bertsize.wording import did_you_mean, shown

NAMED: Mapping[str, int] = MappingProxyType({"github-file": 100 * 2**20, "pypi-file": 100 * 2**20})
"""The largest file that GitHub takes in a push, and PyPI in an upload unless a project was granted more, in bytes.

Sources: "About large files on GitHub" in GitHub's documentation says 100 MiB. "Storage Limits" in PyPI's says 100.0 MB,
which PyPI enforces as ``100 * ONE_MIB`` (``MAX_FILESIZE`` in warehouse/constants.py).
"""

BITS: Mapping[str, int] = MappingProxyType({name: dtype.bits for name, dtype in OF_PARAMETERS.items()} | {"int4": 4})
"""Bits of one parameter, by the name that torch has for its dtype."""
TRAINED = ("float64", "float32", "bfloat16", "float16")
"""What an optimiser can step in: torch has gradients of no 8-bit dtype."""

_ALIASES = {
    **dict.fromkeys(("fp64", "f64", "double"), "float64"),
    **dict.fromkeys(("fp32", "f32", "float", "single"), "float32"),
    **dict.fromkeys(("fp16", "f16", "half"), "float16"),
    **dict.fromkeys(("bf16",), "bfloat16"),
    **dict.fromkeys(("fp8", "float8", "f8_e4m3", "e4m3"), "float8_e4m3fn"),
    **dict.fromkeys(("f8_e5m2", "e5m2"), "float8_e5m2"),
    **dict.fromkeys(("i8", "8bit", "8-bit"), "int8"),
    **dict.fromkeys(("u8",), "uint8"),
    **dict.fromkeys(("i4", "uint4", "fp4", "nf4", "4bit", "4-bit"), "int4"),
}


def bits_of(dtype: str) -> int:
    """How many bits one parameter of a dtype takes.

    :raises ValueError: for any other name than one of :data:`BITS`, saying which to write.
    """
    if dtype in BITS:
        return BITS[dtype]
    bare = dtype.lower().removeprefix("torch.")
    if meant := bare if bare in BITS else _ALIASES.get(bare, ""):
        raise ValueError(f'{shown(dtype)} is not a dtype by its full name: write "{meant}"')
    hint = did_you_mean(bare, BITS, "", written=shown)
    raise ValueError(f"{shown(dtype)} is not a dtype: write one of {', '.join(BITS)}{hint and f'; {hint}'}")


def bytes_of(parameters: int, dtype: str) -> int:
    """The bytes of that many parameters, one that is begun counted as a whole.

    Parameters and nothing else: what a quantised format keeps beside them (scales, zero points) is not in it, nor are
    buffers and the header of a file.

    :raises ValueError: for an unknown dtype.
    """
    return whole_bytes(parameters, bits_of(dtype))


def parse_limit(value: object) -> int:
    """The bytes of a limit: by one of the names in :data:`NAMED`, or as a number with a unit.

    :raises ValueError: for anything else, saying what to write.
    """
    if isinstance(value, str) and value in NAMED:
        return NAMED[value]
    if isinstance(value, str) and value[:1].isalpha():
        hint = did_you_mean(value, NAMED, "", written=shown)
        instead = f"{BYTES.how_to_write}, or one of {', '.join(NAMED)}{hint and f'; {hint}'}"
        raise ValueError(f"{shown(value)} is not the name of a limit: {instead}")
    return parse_bytes(value)
