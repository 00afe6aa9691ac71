"""An argument of a call, as a function of our own can write it: followed back to options, dataclasses and literals."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.plan import Undecided
from pytest_bertsize.config.in_python import OPTIONS
from pytest_bertsize.config.python_nodes import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.code import Code, Module
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.plan import Plan

_THING = r"(labels?|class(es)?|tags?|rel(ation)?s?)"
LABELS = re.compile(rf"(num|n)_?(\w+_)?{_THING}|{_THING}_?(num|size|count)|tagset_size|(\w+_)?{_THING}_(lst|list)")
WORDS = re.compile(r"(n_?|num_?)?(\w+_)?(vocab|tokens?|words?|items?)(_?(size|num|count|len))?")
FEW, MANY = 2, 30_000
"""What stands in for numbers of labels, and of words, that only the data tells."""
MOST_STEPS = 120


class Values:
    """Of one call."""

    def __init__(self, code: Code, plan: Plan) -> None:
        self.code = code
        self.plan = plan
        self.made: Made = plan.made
        self.options: Module | None = None
        """The script whose options are the config that the function is given."""
        self._steps = 0

    def of(self, node: ast.expr, name: str) -> str:
        """:param name: of the argument.

        :raises Undecided: for what nobody can tell.
        """
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Undecided("its arguments lead too far")
        for written in self._ways(node, name):
            if written:
                return written
        said = ast.unparse(node)[:60].replace("\n", " ")
        where = f"{self.made.module.file}:{node.lineno}"
        is_counted = isinstance(node, ast.Call) and dotted(node.func) == "len"
        if LABELS.fullmatch(name) or (is_counted and WORDS.fullmatch(name)):
            stands_in = str([*"OB"]) if name.endswith(("lst", "list")) else str(FEW if LABELS.fullmatch(name) else MANY)
            self.plan.notes.append(f"{name} is known only to a run ({where}: {said}): {stands_in} stands in")
            return stands_in
        raise Undecided(f"{said} is known only to a run ({where})")

    def _ways(self, node: ast.expr, name: str) -> Iterator[str]:
        path = dotted(node)
        elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
        if isinstance(node, ast.Constant) or (elements and all(isinstance(each, ast.Constant) for each in elements)):
            yield ast.unparse(node)
        if path and (OPTIONS.fullmatch(path) or self._is_parsed(path)):
            yield self._namespace(path)
        if name == "device" or path.endswith("device"):
            yield "'cpu'"
        if option := self._option(node):
            yield f"{self._args(option)}.{option}"
        if isinstance(node, ast.Name):
            yield self._of_dataclasses(node.id)
            if (found := self.local(node.id)) is not None:
                yield self.of(found, name)
        if isinstance(node, ast.Call):
            yield self._of_project(node)
            yield self._of_library(node)

    def local(self, name: str) -> ast.expr | None:
        """What a name is set to, where that is one thing."""
        source = self.made.module.source
        parts = [getattr(each, "name", "") for each in self.made.scope]
        for depth in range(len(parts), -1, -1):
            found = [each for each in source.places.get(".".join((*parts[:depth], name)), []) if not each.is_option]
            if len(found) == 1 and found[0].node is not None:
                return found[0].node
        return None

    # options of a command line

    def _namespace(self, path: str) -> str:
        """All options: as they are parsed, or as the dict that a script makes of them."""
        self._args()
        found = self.local(path)
        is_dict = found is not None and re.search(r"__dict__$|^vars\(", ast.unparse(found)) is not None
        return "config" if is_dict else "args"

    def _args(self, option: str = "") -> str:
        self.options = self.options or self._script(option)
        return "args"

    def _option(self, node: ast.expr) -> str:
        """``args.width`` or ``params["width"]`` → ``width``."""
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        outer = dotted(node.value) if isinstance(node, ast.Attribute | ast.Subscript) else ""
        if not name or not (OPTIONS.fullmatch(outer) or self._is_parsed(outer)):
            return ""
        try:
            script = self.options or self._script(name)
        except Undecided:
            return ""
        return name if name in script.source.of_options else ""

    def _script(self, option: str) -> Module:
        """The script whose options are meant: this file, or the one that imports it and has the most."""
        here = self.made.module
        if here.source.of_options:
            return here
        others = [each for each in self.code.modules.values() if each.source.of_options and not each.comes_last]
        if not others:
            raise Undecided("the project has no options of a command line")

        def distance(each: Module) -> tuple[object, ...]:
            lacks = bool(option) and option not in each.source.of_options
            usual = re.search("train|main|run", each.file) is not None
            return lacks, not self.code.imports(each, here), -shared(each.file, here.file), not usual, each.file

        return min(others, key=distance)

    def _is_parsed(self, path: str) -> bool:
        found = self.local(path) if path else None
        return isinstance(found, ast.Call) and dotted(found.func).endswith(("parse_args", "parse_known_args"))

    # objects that are made

    def _of_dataclasses(self, name: str) -> str:
        """``name, … = HfArgumentParser((Arguments, …)).parse_args_into_dataclasses()`` → ``Arguments()``."""
        nodes = [node for outer in reversed(self.made.scope) for node in ast.walk(outer)]
        calls = [each for each in nodes if isinstance(each, ast.Call) and dotted(each.func).endswith("ArgumentParser")]
        tuples = [each.args[0].elts for each in calls if each.args and isinstance(each.args[0], ast.Tuple)]
        for node in nodes:
            targets = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(targets, ast.Tuple) and "into_dataclasses" in ast.unparse(node) and tuples:
                pairs = zip(targets.elts, tuples[0], strict=False)
                if made := next((each for target, each in pairs if dotted(target) == name), None):
                    return self._of_project(ast.copy_location(ast.Call(made, [], []), node))
        return ""

    def _of_project(self, call: ast.Call) -> str:
        """``Config()``: of a class of the project, by arguments that can be told."""
        origin = self.code.origin(self.made.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or origin.module is None or origin.name not in origin.module.classes:
            return ""
        return f"{self.plan.needs_own(origin)}({self._given(call)})"

    def _of_library(self, call: ast.Call) -> str:
        """``BertConfig(hidden_size=args.width)``, as it is written."""
        origin = self.code.origin(self.made.module, dotted(call.func)) if dotted(call.func) else None
        if origin is None or not origin.of_library.endswith("Config") or call.args:
            return ""
        return f"{self.plan.needs('transformers', origin.of_library)}({self._given(call)})"

    def _given(self, call: ast.Call) -> str:
        given = [self.of(each, "") for each in call.args]
        given += [f"{each.arg}={self.of(each.value, each.arg)}" for each in call.keywords if each.arg]
        return ", ".join(given)


def shared(one: str, other: str) -> int:
    """How many folders two files have in common."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return next((depth for depth, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")))
