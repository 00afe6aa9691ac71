"""What stands in a file in place of JSON, and what to do about it."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from json import JSONDecodeError
from typing import NamedTuple

import tomli

from pytest_bertsize.files import LFS_POINTER, PICKLE, ZIP


class Mistaken(NamedTuple):
    """What a file is, and the way out."""

    message: str
    fix: str


PYTHON = Mistaken("this is a Python dict, not JSON", "write it with json.dump")
PYTHON_FILE = Mistaken(
    "this is a Python file, not JSON", 'name what is in it: a dict, a class or a function, as in config = "module:NAME"'
)
TOML = Mistaken("this is TOML, not JSON", "give it a name that ends with .toml")
JSONNET = Mistaken(
    "this is jsonnet, not JSON",
    "write what it evaluates to into a file (jsonnet x.jsonnet > x.json), or name a function that evaluates it, as in "
    'config = "module:function"',
)

_BYTES = {
    LFS_POINTER: Mistaken("this is a git-LFS pointer, not the config", "run git lfs pull"),
    BOM_UTF8: Mistaken(
        "the file starts with a byte order mark, which transformers refuses", "save it as UTF-8 without BOM"
    ),
    BOM_UTF16_LE: Mistaken("the file is UTF-16", "save it as UTF-8"),
    BOM_UTF16_BE: Mistaken("the file is UTF-16", "save it as UTF-8"),
    ZIP: Mistaken("this is a zip archive, as torch.save writes it", "name the model's config.json"),
    PICKLE: Mistaken("this is a pickle, which is never loaded", "name the model's config.json"),
}

_ENTRY = r"[\w.-]++"
_COMMENTS = r"(?:\s|[;#].*+\n)*+"  # possessive, here and below: a megabyte of spaces is read once
_TEXTS = {
    r"(?:\s|//.*+\n|\#.*+\n|/\*(?s:.*?)\*/)*+local\s++\w++\s*+[=(]": JSONNET,
    r"(?:\s|\#.*+\n)*+(?:(?:import|from|def|class)\s++\w|@\w|\"{3}(?!\")|'{3}(?!'))": PYTHON_FILE,
    rf"{_COMMENTS}\[[^\]\n\"{{}}]++\][^\S\n]*+\n{_COMMENTS}{_ENTRY}\s*+=": Mistaken(
        "this is an INI file, not JSON", "write the model's sizes as a JSON object"
    ),
    r"(?i)\s*+(?:<\?xml|<!doctype|<html)": Mistaken("this is a web page, not the config", "download the file itself"),
    r"\s*+(?:\w++\s*+=\s*+)?+(?:dict\(|\{\s*+')": PYTHON,
    rf"{_COMMENTS}(?:---\s*+)?+{_ENTRY}:\s": Mistaken("this is YAML, not JSON", "give it a name that ends with .yaml"),
}
_TOML_ALONE = re.compile(
    r"^[^\S\n]*+[\w.\"-]++[^\S\n]*+=[^\S\n]*+(?:[\"\[{']|true\b|false\b|\d+_)|^\[[\w-]++\.[\w.-]++\]", re.MULTILINE
)
"""What an INI file has not, or means otherwise."""
_JSONNET_WORD = re.compile(r"(?<![\w.\"'])(?:std\.\w|import(?:str)?\s+[\"'])")
_PYTHON_WORD = re.compile(r"True|False|None|'")


def by_bytes(content: bytes) -> Mistaken | None:
    """Told by how the file begins, before it is decoded."""
    return next((mistaken for start, mistaken in _BYTES.items() if content.startswith(start)), None)


def by_text(text: str, error: JSONDecodeError) -> Mistaken:
    """Told by what the text looks like, else by where the parser stopped."""
    if _TOML_ALONE.search(text) and _is_toml(text):
        return TOML
    for pattern, mistaken in _TEXTS.items():
        if re.match(pattern, text):
            return mistaken
    if _PYTHON_WORD.match(text, error.pos):
        return PYTHON
    if _JSONNET_WORD.match(text, error.pos):
        return JSONNET
    if text.startswith(("//", "/*", "#"), error.pos):
        return Mistaken("not JSON: it has a comment", "remove it")
    return Mistaken(f"not JSON: {error.msg} at column {error.colno}", "correct the file")


def _is_toml(text: str) -> bool:
    try:
        return bool(tomli.loads(text))
    except (ValueError, RecursionError):
        return False
