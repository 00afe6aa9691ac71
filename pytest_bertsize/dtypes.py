"""The dtypes of tensors: their names in torch and in safetensors, and the bits of one element."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bertsize.wording import BadValue, did_you_mean, shown

OF_PARAMETERS: Mapping[str, tuple[str, int]] = {
    "float64": ("F64", 64),
    "float32": ("F32", 32),
    "float16": ("F16", 16),
    "bfloat16": ("BF16", 16),
    "float8_e4m3fn": ("F8_E4M3", 8),
    "float8_e4m3fnuz": ("F8_E4M3FNUZ", 8),
    "float8_e5m2": ("F8_E5M2", 8),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 8),
    "int8": ("I8", 8),
    "uint8": ("U8", 8),
}
"""Dtypes of weights by torch's names: the name in safetensors, and the bits of one number."""
BITS: Mapping[str, int] = {**{name: bits for name, (_, bits) in OF_PARAMETERS.items()}, "int4": 4}
"""Bits of one parameter, by torch's name for its dtype."""
TRAINED = ("float64", "float32", "bfloat16", "float16")
"""Dtypes that an optimiser can train: torch has no gradients in an 8-bit dtype."""

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


def whole_bytes(elements: int, bits: int) -> int:
    """Return the bytes of a number of elements, rounded up."""
    return -(-elements * bits // 8)


def bits_of(dtype: str) -> int:
    """Return the bits of one parameter of a dtype; raise BadValue, with the name to write, for an unknown one."""
    if dtype in BITS:
        return BITS[dtype]
    bare = dtype.lower().removeprefix("torch.")
    if meant := bare if bare in BITS else _ALIASES.get(bare, ""):
        raise BadValue(f"{shown(dtype)} is not the full name of a dtype", f'write "{meant}"')
    hint = did_you_mean(bare, BITS, "", written=shown)
    raise BadValue(f"{shown(dtype)} is not a dtype", f"write one of {', '.join(BITS)}{hint and f'; {hint}'}")


def bytes_of(parameters: int, dtype: str) -> int:
    """Return the bytes of a number of parameters, rounded up.

    Only parameters count: no buffers, no header of a file, and no scales or zero points of a quantised format.

    :raises ValueError: for an unknown dtype.
    """
    return whole_bytes(parameters, bits_of(dtype))
