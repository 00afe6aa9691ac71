"""What a Python file does to a name beside ``NAME = value``: what stands there is then known only to a run."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.config.flows import FUNCTIONS, After, At, Flows, Function, Statement
from pytest_bertsize.config.python_nodes import namespace, text, updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MUTATING = frozenset(
    {
        *("update", "pop", "popitem", "setdefault", "clear", "append", "extend", "insert", "remove", "sort", "reverse"),
        *("__setitem__", "__setattr__", "merge_from_file", "merge_from_list"),
    }
)
"""Methods by which a dict, a list or a namespace becomes another."""

_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions whose parts a run may come to once, often or never."""


@dataclass
class Rebound:
    """Of one file: the names that change, each with the node that does it."""

    places: Mapping[str, object]
    """The names that are set plainly."""
    is_of_options: Callable[[str], bool]
    """Whether a dotted name is what the options of a command line are called."""
    names: dict[str, ast.AST] = field(default_factory=dict)
    options: dict[str, ast.AST] = field(default_factory=dict)
    any_option: ast.AST | None = None
    """What may give any option another value."""
    calls: dict[int, After] = field(default_factory=dict)
    """By the ``id`` of a call: what becomes of what it makes, as by ``config.num_hidden_layers = 24``."""
    _flows: Flows = field(default_factory=Flows)
    _functions: dict[str, tuple[Function, bool]] = field(default_factory=dict)
    _calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    """By the last part of what is called; by ``cls@Tagger`` and ``super@Tagger`` in a class."""
    _bases: dict[str, list[str]] = field(default_factory=dict)

    def look_through(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, At]] = [(tree, At())]
        while waiting:
            node, at = waiting.pop()
            self._note(node, at)
            self._flows.note(node, at)
            inner = self._inside(node, at)
            waiting += [(child, inner) for child in ast.iter_child_nodes(node)]
        self.calls = self._flows.after()

    def after(self, call: ast.Call | None) -> After:
        """What becomes of what a call makes."""
        return self.calls.get(id(call), After())

    def change_of(self, call: ast.Call) -> Statement | None:
        """The first statement that changes what a call makes."""
        after = self.after(call)
        return after.changed or next((each.statement for each in after.given.values()), None)

    def is_passed(self, function: str, parameter: str) -> bool:
        """Whether some call in the file gives a parameter another value than its default."""
        node, is_method = self._functions.get(function, (None, False))
        if node is None:
            return False
        *outer, name = function.split(".")
        called = outer[-1] if name == "__init__" and outer else name
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][is_method:]
        place = names.index(parameter) if parameter in names else len(names)
        keys = [called]
        if name == "__init__" and outer:
            heirs = self._heirs(called)
            keys += [f"cls@{called}", *heirs, *(f"{by}@{heir}" for heir in heirs for by in ("cls", "super"))]
        return any(_passes(call, parameter, place) for key in keys for call in self._calls.get(key, ()))

    def is_filled(self, of_class: str, key: str) -> ast.AST | None:
        """A call in the file that gives a field of a class another value: ``Arguments(num_hidden_layers=4)``."""
        calls = self._calls.get(of_class.rpartition(".")[2], ())
        return next((call for call in calls if _passes(call, key, 0)), None)

    def _heirs(self, of: str) -> list[str]:
        """The classes of the file that derive from one."""
        found = [of]
        for each in found:
            found += [name for name, bases in self._bases.items() if each in bases and name not in found]
        return found[1:]

    def option(self, name: str) -> ast.AST | None:
        """What may give an option another value than its default."""
        return self.options.get(name) or self.any_option

    def _inside(self, node: ast.AST, at: At) -> At:
        name = f"{at.scope}.{node.name}" if at.scope and hasattr(node, "name") else getattr(node, "name", "")
        if isinstance(node, ast.ClassDef):
            return At(name, is_class=True, of_class=name)
        if isinstance(node, FUNCTIONS):
            self._functions[name] = node, at.is_class
            sets_fields = at.is_class and node.name in {"__init__", "__post_init__"}
            of_self = at.scope if sets_fields else ""
            return At(name, is_below=node.name == "__post_init__", of_self=of_self, of_class=at.of_class)
        is_compound = isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and hasattr(node, "body")
        return at._replace(is_below=True) if is_compound or isinstance(node, _PERHAPS) else at

    def _note(self, node: ast.AST, at: At) -> None:  # noqa: C901  (a line for each kind)
        for name in (*_bound(node), *_of_lambda(node)):
            self._change(name, at.scope, node)
        for name in _mutated(node):
            self._change(name, self._owner(name, at.scope), node)
        if isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                self._change(name, "" if isinstance(node, ast.Global) else at.scope.rpartition(".")[0], node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and at.is_class and at.is_below:
            self._change(node.id, at.scope, node)
        elif isinstance(node, ast.AugAssign | ast.Assign | ast.AnnAssign):
            self._note_fields(node, at)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            for name, found in self.places.items():
                if "." not in name and all(getattr(each, "line", 0) < node.lineno for each in _listed(found)):
                    self._change(name, "", node)
        elif isinstance(node, ast.ClassDef):
            self._bases[node.name] = [_dotted(each).rpartition(".")[2] for each in node.bases]
        elif isinstance(node, ast.Call):
            self._note_call(node, at)

    def _note_call(self, node: ast.Call, at: At) -> None:
        called = _dotted(node.func).rpartition(".")[2]
        inside = at.of_class.rpartition(".")[2]
        if called == "cls":
            called = f"cls@{inside}"
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "__init__" and inside:
            called = f"super@{inside}"
        elif called == "partial" and node.args:
            called = _dotted(node.args[0]).rpartition(".")[2]
            node = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
        if called:
            self._calls.setdefault(called, []).append(node)
        for key in _options_changed(node, self.is_of_options):
            if key is None:
                self.any_option = self.any_option or node
            else:
                self.options.setdefault(key, node)

    def _note_fields(self, node: ast.AugAssign | ast.Assign | ast.AnnAssign, at: At) -> None:
        """``self.width *= 2``, ``args.width = 64``, and a field that has no value of its own."""
        if isinstance(node, ast.AnnAssign) and node.value is None and at.is_class and isinstance(node.target, ast.Name):
            self._change(node.target.id, at.scope, node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in (each for outer in targets for each in ast.walk(outer)):
            if not (isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)):
                continue
            base = _dotted(target.value)
            if self.is_of_options(base):
                self.options.setdefault(target.attr, node)
            if at.of_self and base == "self" and (at.is_below or isinstance(node, ast.AugAssign)):
                self._change(target.attr, at.of_self, node)

    def _change(self, name: str, scope: str, node: ast.AST) -> None:
        self.names.setdefault(f"{scope}.{name}" if scope else name, node)

    def _owner(self, name: str, scope: str) -> str:
        """The innermost scope that sets a name."""
        while scope and f"{scope}.{name}" not in self.places:
            scope = scope.rpartition(".")[0]
        return scope


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a node sets, in another way than by a plain assignment."""
    targets: list[ast.expr | None] = []
    if isinstance(node, ast.Assign):
        targets = [each for each in node.targets if isinstance(each, ast.Tuple | ast.List)]
    elif isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor | ast.NamedExpr | ast.comprehension):
        targets = [node.target]
    elif isinstance(node, ast.withitem):
        targets = [node.optional_vars]
    elif isinstance(node, ast.Delete):
        targets = [*node.targets]
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (each.asname or each.name.partition(".")[0] for each in node.names)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield from filter(None, [node.name])
    elif isinstance(node, ast.MatchMapping):
        yield from filter(None, [node.rest])
    elif isinstance(node, ast.arguments):
        defaults = [*[None] * (len(node.posonlyargs) + len(node.args) - len(node.defaults)), *node.defaults]
        pairs = zip((*node.posonlyargs, *node.args, *node.kwonlyargs), (*defaults, *node.kw_defaults), strict=True)
        yield from (each.arg for each, default in pairs if default is None)
        yield from (each.arg for each in (node.vararg, node.kwarg) if each)
    for target in filter(None, targets):
        stored = (each for each in ast.walk(target) if isinstance(each, ast.Name))
        yield from (each.id for each in stored if isinstance(each.ctx, ast.Store | ast.Del))


def _of_lambda(node: ast.AST) -> list[str]:
    """Its parameters, which stand in no scope of their own here."""
    if not isinstance(node, ast.Lambda):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _mutated(node: ast.AST) -> Iterator[str]:
    """Names of what stays itself and becomes another: ``SIZES["width"] = 64``, ``SIZES.update(…)``."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        parts = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATING:
        parts = [node.func.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        parts = [*node.args[:1]]
    for part in parts:
        root = part
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name):
            yield root.id


def _options_changed(call: ast.Call, is_of_options: Callable[[str], bool]) -> Iterator[str | None]:
    """Options that a call gives a value by the code and not by the command line; ``None`` for any of them."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else _dotted(call.func)
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name == "setattr" and len(call.args) > 1 and is_of_options(_dotted(call.args[0])):
        yield text(call.args[1])
    elif name == "update" and of is not None and namespace(of) is not of and is_of_options(_dotted(namespace(of))):
        yield from updates(call)
    elif name == "parse_args":
        yield from (None for each in call.args[:1] if isinstance(each, ast.List) and each.elts)
    elif name == "set_defaults":
        yield from (None for each in call.keywords if each.arg is None)


def _passes(call: ast.Call, parameter: str, place: int) -> bool:
    is_open = any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords)
    return is_open or len(call.args) > place or any(each.arg == parameter for each in call.keywords)


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _dotted(node: ast.AST) -> str:
    try:
        return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    except RecursionError:
        return ""
