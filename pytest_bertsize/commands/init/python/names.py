"""The names of published models that a project's files write down, and where."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.config import in_shell, model_config
from pytest_bertsize.config.python_source import Said
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import YAML

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.commands.init.python.code import Code, Module

LIKELY = re.compile(
    r"[\w.-]+/[\w.-]*(bert|electra|mpnet|minilm|longformer|e5|bge|gte)[\w.-]*|(distil|al|ro)?bert[a-z]*-(base|large)-[\w-]+",
    re.IGNORECASE,
)
"""A name that is probably one of the hub's, be it known here or not."""
_NO_NAME = re.compile(
    r"\.(json|txt|bin|pt|pth|py|log|csv|tsv|ckpt|zip|gz|model|vocab)$|^[./~]|//|^(data|outputs?|models?|src|path\W?to|your\w*)/"
)
_MODEL = re.compile(r"(?i)^(?!.*(out|save|dir|log)).*(model|bert|encoder|backbone|pretrained)")
"""What an option is called that takes the name of a model, be it one that is known here or not."""
_WORTH_READING = re.compile(rb"(?i)bert|electra|mpnet|minilm|xlnet|/e5|/bge|/gte")
LARGEST = 128 * 1024
"""Bytes of a file of settings."""


@dataclass(frozen=True)
class Named:
    """A place that says one."""

    file: str
    place: str
    """``""`` where no reference can name it."""
    name: str
    line: int
    module: Module | None = None
    """Of a Python file."""
    is_last: bool = False
    """Of another file, whether it is of a test, an example or the like."""

    @property
    def reference(self) -> str:
        """What a table names; of a place that no reference can lead to, the name itself."""
        return f"{self.file}#{self.place}" if self.place else self.name

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.reference

    @property
    def comes_last(self) -> bool:
        return self.module.comes_last if self.module else self.is_last


def names(code: Code, is_known: Callable[[str], bool]) -> Iterator[Named]:
    """Every place in Python that says one: files that are run before those of tests, and in the order of a file."""
    for module in sorted(code.modules.values(), key=lambda each: (each.comes_last, each.file.count("/"), each.file)):
        for place, those in module.source.places.items():
            for said in those:
                yield from _at(module, place, said, is_known)


def _at(module: Module, place: str, said: Said, is_known: Callable[[str], bool]) -> Iterator[Named]:
    node = said.node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _is_name(node.value, is_known):
            yield Named(module.file, place, node.value, node.lineno, module)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and "." not in key.value:
                yield from _at(module, f"{place}.{key.value}", Said(value, value.lineno), is_known)


def _is_name(text: str, is_known: Callable[[str], bool]) -> bool:
    return is_known(text) or (LIKELY.fullmatch(text) is not None and not _NO_NAME.search(text))


def names_beside(files: Listed, is_known: Callable[[str], bool], is_last: Callable[[str], bool]) -> Iterator[Named]:
    """The same of settings in YAML and JSON, of shell scripts, and of what README tells to call."""
    for file, content in files.contents(files.files):
        if len(content) <= LARGEST and _WORTH_READING.search(content):
            yield from (replace(each, is_last=is_last(file)) for each in _in_settings(file, content, is_known))
    for file, content in files.contents(files.scripts):
        is_shell = file.lower().endswith(in_shell.SUFFIXES)
        for each in in_shell.given(content.decode("utf-8", "replace")):
            is_meant = is_known(each.value) or (_MODEL.search(each.name) and _is_name(each.value, is_known))
            if is_meant and not re.search("(?i)token", each.name):
                yield Named(file, each.name if is_shell else "", each.value, each.line, None, is_last(file))


def _in_settings(file: str, content: bytes, is_known: Callable[[str], bool]) -> Iterator[Named]:
    parse = model_config.parse
    if PurePosixPath(file).suffix.lower() in YAML:
        from pytest_bertsize.config import yaml

        parse = yaml.parse
    try:
        config = parse(content, file, "")
    except Unusable:
        return
    waiting: list[tuple[tuple[str, ...], Mapping[str, object]]] = [((), config.data)]
    while waiting:
        path, data = waiting.pop()
        for key, value in data.items():
            here = (*path, key)
            if (
                not key
                or "." in key
                or key in {"_name_or_path", "model_type"} & {key if "transformers_version" in data else ""}
            ):
                continue
            if isinstance(value, dict):
                waiting.append((here, value))
            elif isinstance(value, str) and _is_name(value, is_known) and "token" not in ".".join(here).lower():
                yield Named(file, ".".join(here), value, config.line(*here) or 0)
