"""Values that a Python file writes down: what an expression comes to without a run, and the defaults of options."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST = 20
"""Names that stand for names, and expressions in expressions."""
LARGEST = 10**15
MOST_NODES = 100_000
"""Expressions that one value leads to, each time that it does."""
LONGEST = 4096
"""Characters of texts that are put together."""
NAMESPACES = frozenset({"dict", "SimpleNamespace", "Namespace"})
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_CONVERSIONS: dict[str, Callable[[str], int | float | str]] = {"int": int, "float": float, "str": str, "Path": str}


class Unreadable(Exception):
    """What only a run can tell."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__()
        self.node = node


class Option(NamedTuple):
    """An option of a command line."""

    name: str
    """As the program finds it: ``model_name_or_path``."""
    node: ast.expr
    """Its default."""
    line: int


class Values:
    """What expressions come to: a literal, a name that stands for one, a sum or product of numbers."""

    def __init__(self, named: Callable[[str], ast.expr | None]) -> None:
        """:param named: what a name stands for, ``None`` where that is not one thing."""
        self._named = named
        self._left = MOST_NODES

    def of(self, node: ast.expr, depth: int = 0) -> object:
        """:raises Unreadable: for what only a run can tell, and for more than a config says."""
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            raise Unreadable(node)

        def inner(each: ast.expr) -> object:
            return self.of(each, depth + 1)

        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            meant = self._named(ast.unparse(node))
            if meant is None or meant is node:
                raise Unreadable(node)
            return inner(meant)
        if isinstance(node, ast.List | ast.Tuple):
            return [inner(each) for each in node.elts]
        if (pairs := _pairs(node)) is not None:
            return {name: inner(each) for name, each in pairs}
        if isinstance(node, ast.Dict | ast.Subscript | ast.JoinedStr | ast.Call):
            try:
                return _put_together(node, inner)
            except Unreadable:
                raise Unreadable(node) from None
        return _number(node, inner)


def _pairs(node: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """What a dict says, or a call of ``dict`` or of a namespace; ``None`` for what is no such thing."""
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = (str(key.value) for key in node.keys if isinstance(key, ast.Constant))
        return list(zip(keys, node.values, strict=True))
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMESPACES):
        return None
    if node.args or not all(each.arg for each in node.keywords):
        return None
    return [(str(each.arg), each.value) for each in node.keywords]


def _put_together(
    node: ast.Dict | ast.Subscript | ast.JoinedStr | ast.Call, inner: Callable[[ast.expr], object]
) -> object:
    """``{**BASE, "layers": 4}``, ``SIZES["small"]``, ``f"bert-{SIZE}-uncased"``, ``len(LABELS)``."""
    if isinstance(node, ast.Call):
        return _of_call(node, [inner(each) for each in node.args])
    if isinstance(node, ast.Subscript):
        of, key = inner(node.value), inner(node.slice)
        if isinstance(of, dict) and isinstance(key, str) and key in of:
            return of[key]
        if isinstance(of, list) and isinstance(key, int) and -len(of) <= key < len(of):
            return of[key]
        raise Unreadable(node)
    if isinstance(node, ast.JoinedStr):
        return _joined(node, inner)
    found: dict[str, object] = {}
    for name, each in zip(node.keys, node.values, strict=True):
        value = inner(each)
        if name is None and isinstance(value, dict):
            found |= value
        elif isinstance(name, ast.Constant):
            found[str(name.value)] = value
        else:
            raise Unreadable(node)
    return found


def _joined(node: ast.JoinedStr, inner: Callable[[ast.expr], object]) -> str:
    formatted = [each for each in node.values if isinstance(each, ast.FormattedValue)]
    is_plain = all(each.format_spec is None and each.conversion == -1 for each in formatted)
    texts = [inner(each.value if isinstance(each, ast.FormattedValue) else each) for each in node.values]
    if not is_plain or not all(type(each) in {str, int} for each in texts):
        raise Unreadable(node)
    joined = "".join(map(str, texts))
    if len(joined) > LONGEST:
        raise Unreadable(node)
    return joined


def _number(node: ast.expr, inner: Callable[[ast.expr], object]) -> object:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _negative(node, inner(node.operand))
    if isinstance(node, ast.BinOp):
        return _calculated(node, inner(node.left), inner(node.right))
    raise Unreadable(node)


def _of_call(node: ast.Call, arguments: list[object]) -> object:
    """``len(LABELS)``, ``int(768 / 2)``."""
    name = node.func.id if isinstance(node.func, ast.Name) and len(arguments) == 1 and not node.keywords else ""
    value = arguments[0] if arguments else None
    if name == "len" and isinstance(value, str | list | dict):
        return len(value)
    if name == "int" and isinstance(value, int | float) and abs(value) < LARGEST:
        return int(value)
    raise Unreadable(node)


def _negative(node: ast.UnaryOp, value: object) -> object:
    if not isinstance(value, int | float):
        raise Unreadable(node)
    return -value


def _calculated(node: ast.BinOp, left: object, right: object) -> object:
    """Of numbers, and of texts that are put together."""
    numbers = all(isinstance(each, int | float) and abs(each) < LARGEST for each in (left, right))
    texts = isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add)
    if texts and len(f"{left}{right}") > LONGEST:
        raise Unreadable(node)
    if not (texts or numbers) or type(node.op) not in _OPERATORS:
        raise Unreadable(node)
    try:
        return _OPERATORS[type(node.op)](left, right)
    except ArithmeticError:
        raise Unreadable(node) from None


def options(tree: ast.AST) -> Iterator[Option]:
    """Every option of argparse, click and absl, in the order in which the file has them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in {"add_argument", "add_arg", "option"}:
            yield from _argument(node)
        elif name.startswith("DEFINE_"):
            yield from _flag(node)
        elif name == "set_defaults":
            yield from (Option(each.arg, each.value, each.value.lineno) for each in node.keywords if each.arg)


def _flag(call: ast.Call) -> Iterator[Option]:
    """``DEFINE_integer("depth", 3, "layers")`` of absl, which may name its arguments."""
    said = {each.arg: each.value for each in call.keywords if each.arg}
    given = dict(zip(("name", "default"), call.args, strict=False)) | said
    if (name := _text(given.get("name"))) and "default" in given:
        yield Option(name, given["default"], call.lineno)


def _argument(call: ast.Call) -> Iterator[Option]:
    """``add_argument("--model-name", default="bert")`` → ``model_name``."""
    said = {each.arg: each.value for each in call.keywords if each.arg}
    flags = [text for each in call.args if (text := _text(each))]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    name = _text(said.get("dest")) or (long[0].split("/")[0].lstrip("-").replace("-", "_") if long else "")
    action = _text(said.get("action"))
    if not name or not name.isidentifier() or action in {"version", "help"}:
        return
    unsaid = {"store_true": False, "store_false": True}.get(action)
    if "default" not in said and _true(said.get("required")):
        return
    if "default" not in said and any(each.arg is None for each in call.keywords):
        return  # it may be among what ** gives
    yield Option(name, _converted(said.get("default") or ast.Constant(unsaid), said.get("type"), call), call.lineno)


def _converted(node: ast.expr, kind: ast.expr | None, call: ast.Call) -> ast.expr:
    """What argparse makes of it: it hands a default that is a text to the option's type, as it does what is written."""
    if kind is None or not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return node
    convert = _CONVERSIONS.get(ast.unparse(kind).rpartition(".")[2])
    if convert is None:
        return call  # a function's work, which only a run tells
    try:
        return ast.copy_location(ast.Constant(convert(node.value)), node)
    except ValueError:
        return node


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
