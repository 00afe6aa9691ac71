"""The names of published models that a project's files write down, and where."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize.config.in_python import Said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_bertsize.commands.init.python.code import Code, Module

LIKELY = re.compile(r"[\w.-]+/[\w.-]*(bert|electra|mpnet|MiniLM|longformer|e5|bge|gte)[\w.-]*|[\w.-]*(bert|electra|mpnet|MiniLM)[\w.-]*-[\w.-]+", re.IGNORECASE)
"""A name that is probably one of the hub's, be it known here or not."""
_NO_NAME = re.compile(r"\.(json|txt|bin|pt|pth|py|log|csv|tsv|ckpt|zip|gz)$|^[./~]|//")


@dataclass(frozen=True)
class Named:
    """A place that says one."""

    module: Module
    place: str
    """``""`` where no reference can name it."""
    name: str
    line: int

    @property
    def reference(self) -> str:
        return f"{self.module.file}#{self.place}"


def names(code: Code, is_known: Callable[[str], bool]) -> Iterator[Named]:
    """Every place that says one: of files that are run before those of tests, and in the order of a file."""
    for module in sorted(code.modules.values(), key=lambda each: (each.comes_last, each.file.count("/"), each.file)):
        for place, those in module.source.places.items():
            for said in those:
                yield from _at(module, place, said, is_known)


def _at(module: Module, place: str, said: Said, is_known: Callable[[str], bool]) -> Iterator[Named]:
    node = said.node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if is_known(node.value) or (LIKELY.fullmatch(node.value) and not _NO_NAME.search(node.value)):
            yield Named(module, place, node.value, node.lineno)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and "." not in key.value:
                yield from _at(module, f"{place}.{key.value}", Said(value, value.lineno), is_known)
