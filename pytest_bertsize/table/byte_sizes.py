"""Parameters as bytes: how wide a dtype is, which one a config names, and the limits on files that people meet."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_bertsize.quantity import HOW_TO_WRITE_BYTES, parse_bytes
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

MB, GB = 10**6, 10**9
MIB, GIB = 2**20, 2**30


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """A limit that a service sets to a file or a folder, under a name that a budget may use."""

    name: str
    bytes: int
    what: str
    source_url: str


_GITHUB = "https://docs.github.com/en/repositories/working-with-files/managing-large-files"

NAMED: Mapping[str, NamedLimit] = MappingProxyType(
    {
        limit.name: limit
        for limit in (
            NamedLimit(
                "github-file",
                100 * MIB,
                "a push to GitHub with a larger file is refused",
                f"{_GITHUB}/about-large-files-on-github",
            ),
            NamedLimit(
                "github-warning",
                50 * MIB,
                "git warns of a larger file when it is pushed to GitHub",
                f"{_GITHUB}/about-large-files-on-github",
            ),
            NamedLimit(
                "github-lfs-file",
                2 * GB,
                "the largest file in Git LFS on GitHub Free and Pro",
                f"{_GITHUB}/about-git-large-file-storage",
            ),
            NamedLimit(
                "huggingface-file",
                20 * GB,
                "the largest file that the Hugging Face Hub recommends, before weights are split",
                "https://huggingface.co/docs/hub/storage-limits",
            ),
            NamedLimit(
                "lambda-unzipped",
                250 * MIB,
                "an AWS Lambda function and its layers, unzipped; AWS writes 250 MB and enforces 262,144,000 bytes",
                "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html",
            ),
            NamedLimit(
                "vercel-function",
                250 * MB,
                "a function on Vercel, unzipped, on its standard path and not in Python",
                "https://vercel.com/docs/functions/limitations",
            ),
            NamedLimit(
                "cloudflare-asset",
                25 * MIB,
                "a static asset of Cloudflare Workers or Pages, such as weights that a browser loads",
                "https://developers.cloudflare.com/workers/static-assets/",
            ),
            NamedLimit(
                "onnx-file",
                2 * GIB,
                "an ONNX file without external data: no protobuf may be larger",
                "https://onnxruntime.ai/docs/tutorials/web/large-models.html",
            ),
            NamedLimit(
                "google-play-module",
                200 * MB,
                "the base module or a feature module of an app on Google Play, as it is downloaded",
                "https://support.google.com/googleplay/android-developer/answer/9859372",
            ),
            NamedLimit(
                "ios-app",
                4 * GB,
                "an app in the App Store, uncompressed",
                "https://developer.apple.com/help/app-store-connect/reference/maximum-build-file-sizes",
            ),
        )
    }
)
"""Where a source says MB or GB and not how many bytes, these are powers of 1,000: the smaller of the two readings."""

BITS: Mapping[str, int] = MappingProxyType(
    {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
    | dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int8", "uint8"), 8)
    | {"int4": 4}
)
"""Bits of one parameter, by the name that torch has for its dtype."""


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
    near = did_you_mean(bare, BITS)
    hint = f'; did you mean "{near}"?' if near else ""
    raise ValueError(f"{shown(dtype)} is not a dtype: write one of {', '.join(BITS)}{hint}")


def bytes_of(parameters: int, dtype: str) -> int:
    """The bytes of that many parameters, one that is begun counted as a whole.

    Parameters and nothing else: what a quantised format keeps beside them (scales, zero points) is not in it, nor are
    buffers and the header of a file.

    :raises ValueError: for an unknown dtype.
    """
    return -(-parameters * bits_of(dtype) // 8)


def parse_limit(value: object) -> int:
    """The bytes of a limit: by one of the names in :data:`NAMED`, or as a number with a unit.

    :raises ValueError: for anything else, saying what to write.
    """
    if isinstance(value, str) and value in NAMED:
        return NAMED[value].bytes
    if isinstance(value, str) and value[:1].isalpha():
        near = did_you_mean(value, NAMED)
        hint = f'; did you mean "{near}"?' if near else ""
        raise ValueError(
            f"{shown(value)} is not the name of a limit: {HOW_TO_WRITE_BYTES}, or one of {', '.join(NAMED)}{hint}"
        )
    return parse_bytes(value)
