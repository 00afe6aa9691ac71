"""Which published model an expression means: followed through names, options and constants of the project."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.code import shared
from pytest_bertsize.config.python_nodes import dotted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_bertsize.commands.init.python.code import Code, Module
    from pytest_bertsize.commands.init.python.names import Named


MOST_HOPS = 5
"""From a name to what it is set to."""


@dataclass
class Meanings:
    """All places that name a published model."""

    named: Sequence[Named]
    families: Mapping[str, str]
    """Of each of them, by its name."""
    configs: Sequence[Named] = ()
    """Files of the project, each by its path."""
    code: Code | None = None
    _by_last: dict[str, list[Named]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.named:
            if each.place:
                self._by_last.setdefault(each.place.rpartition(".")[2], []).append(each)

    def of(self, expression: ast.expr | None, module: Module, scope: str, hops: int = 0) -> Named | None:
        """The place that an argument gets its name from; the nearest where several may be meant."""
        if isinstance(expression, ast.Constant):
            here = [each for each in self.named if each.module is module and each.name == expression.value]
            return next((each for each in here if each.line == expression.lineno), None)
        found = self._by_last.get(_last(expression), []) if expression is not None else []
        if expression is not None and _has_no_default(module, _last(expression)):
            found = [each for each in found if each.module in {None, module}]
        if not found and isinstance(expression, ast.Name) and hops < MOST_HOPS:
            return self.of(_local(expression.id, module, scope), module, scope, hops + 1)
        if isinstance(expression, ast.Attribute):
            found = [each for each in found if each.module is module or not _is_parameter(each)]
        return min(found, key=lambda each: _distance(each, module, scope), default=None)

    def others_of(self, expression: ast.expr | None, meant: Named) -> list[Named]:
        """Settings, scripts and options that set the same, each of which is a model by itself."""
        those = [] if expression is None else self._by_last.get(_last(expression), [])
        is_set = (each for each in those if each.module is None or each.place in each.module.source.of_options)
        others = [each for each in is_set if each is not meant and not each.comes_last]
        return sorted(others, key=lambda each: each.file.count("/"))

    def of_any(self, asked: Sequence[ast.expr | None], module: Module, scope: str, kind: str) -> Named | None:
        """The first that means one of the family of a class; where none does, the nearest of that family."""
        if in_folder := [each for node in asked if (each := self._in_folder(node, module, scope))]:
            return in_folder[0]
        family = next((each for each in {*self.families.values()} if is_of(kind, each)), "")
        found = [each for node in asked if (each := self.of(node, module, scope))]
        if not family:
            found = [each for each in found if may_be_of(kind, self.families.get(each.name, ""))]
        if kept := [each for each in found if not family or self.families.get(each.name) == family]:
            return kept[0]
        those = [each for each in (*self.named, *self.configs) if self.families.get(each.name) == family]
        those = [each for each in those if module.comes_last or not each.comes_last]
        if any(node is not None and _has_no_default(module, _last(node)) for node in asked):
            those = [each for each in those if each.module in {None, module}]
        return min(those, key=lambda each: _distance(each, module, ""), default=None)

    def _in_folder(self, expression: ast.expr | None, module: Module, scope: str) -> Named | None:
        """The config in the folder that a path ends in: ``"pretrained/chinese-bert/"``, be it a constant elsewhere."""
        path = dotted(expression) if expression is not None else ""
        node = _local(path, module, scope) if path and "." not in path else None
        origin = self.code.origin(module, path) if self.code and path and node is None else None
        if origin is not None and origin.module is not None:
            node = next((said.node for said in origin.module.source.places.get(origin.name, [])), None)
        texts = [each.value for each in ast.walk(node or expression or ast.Pass()) if isinstance(each, ast.Constant)]
        folders = {PurePosixPath(each).name for each in texts if isinstance(each, str) and each}
        those = [each for each in self.configs if PurePosixPath(each.file).parent.name in folders - {""}]
        return min(those, key=lambda each: _distance(each, module, ""), default=None)


def _last(expression: ast.expr) -> str:
    """The name by which an expression is looked for: ``args.model`` → ``model``."""
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        return str(expression.slice.value)
    return dotted(expression).rpartition(".")[2]


def is_of(kind: str, family: str) -> bool:
    """``BertPreTrainedModel`` is of bert."""
    start = re.match(r"(.*?)(PreTrainedModel|Model|For[A-Z].*)$", kind)
    return start is not None and start[1].lower().replace("_", "") == family.replace("-", "").replace("_", "")


def may_be_of(kind: str, family: str) -> bool:
    """Whether a class may be made of a config: one of ALBERT's of no BERT's, one of RoBERTa's of XLM-RoBERTa's."""
    start = re.match(r"(?!Auto|Pre)(\w+?)PreTrainedModel$", kind)
    return start is None or start[1].lower() in family.replace("-", "").replace("_", "")


def _has_no_default(module: Module, option: str) -> bool:
    """Whether a script has an option that it must be given: what another has for its own of that name is none of it."""
    said = module.source.of_options.get(option)
    return said is not None and (said.node is None or getattr(said.node, "value", "") is None)


def _local(name: str, module: Module, scope: str) -> ast.expr | None:
    """What a name of a function is set to first."""
    parts = scope.split(".") if scope else []
    for depth in range(len(parts), -1, -1):
        for said in module.source.places.get(".".join((*parts[:depth], name)), []):
            if said.node is not None and not (isinstance(said.node, ast.Name) and said.node.id == name):
                return said.node
    return None


def _is_parameter(named: Named) -> bool:
    """Whether a name is the default of a function's parameter, which no ``config.teacher`` is of."""
    function = named.place.rpartition(".")[0]
    if named.module is None or not function or function.endswith("__init__"):
        return False
    return all(not each.place for each in named.module.source.places.get(function, []))


def _distance(named: Named, module: Module, scope: str) -> tuple[object, ...]:
    here = named.module is module
    in_python = named.module is not None
    in_scope = here and scope and named.place.startswith(f"{scope}.")
    near = shared(named.file, module.file)
    return not in_scope, not here, named.comes_last, not in_python, -near, named.file, named.line
