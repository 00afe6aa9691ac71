"""The dtypes of tensors: their names in torch and in safetensors, and the bits of one element."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bertsize.wording import BadValue, nearest_to, shown

# Dtypes of weights by torch's names: the name in safetensors, and the bits of one number.
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
BITS: Mapping[str, int] = {**{name: bits for name, (_, bits) in OF_PARAMETERS.items()}, "int4": 4}  # of one number
TRAINED = ("float64", "float32", "bfloat16", "float16")  # torch has no gradients in an 8-bit dtype


def whole_bytes(elements: int, bits: int) -> int:
    """Return the bytes of a number of elements, rounded up."""
    return -(-elements * bits // 8)


def bits_of(dtype: str) -> int:
    """Return the bits of one parameter of a dtype; raise BadValue, with the name to write, for an unknown one."""
    if dtype in BITS:
        return BITS[dtype]
    meant = nearest_to(dtype.removeprefix("torch."), BITS)
    hint = f"; did you mean {shown(meant)}?" if meant else ""
    raise BadValue(f"{shown(dtype)} is not a dtype", f"write one of {', '.join(BITS)}{hint}")


def bytes_of(parameters: int, dtype: str) -> int:
    """Return the bytes of a number of parameters, rounded up.

    Only parameters count: no buffers, no header of a file, and no scales or zero points of a quantised format.

    :raises ValueError: for an unknown dtype.
    """
    return whole_bytes(parameters, bits_of(dtype))
