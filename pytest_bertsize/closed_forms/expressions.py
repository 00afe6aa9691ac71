"""Arithmetic and conditions of a closed form's text, walked against a list of what is allowed and never evaluated.

``3*E if trigram_input else E`` is a size, ``T > 0 and not before(5)`` a condition. What is decided is decided by
integers; what is counted may be symbols (:mod:`pytest_bertsize.closed_forms.symbols`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims

LONGEST = 200
"""Characters of one expression."""
MOST_ITEMS = 10_000
"""Items of a list that an expression makes."""
MOST_WORK = 100_000
"""Of a product: the bits or terms of one factor times those of the other."""
HIGHEST_POWER = 16


class BadExpression(ValueError):
    """An expression that is not arithmetic of a config's sizes; its text says why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything that an expression can name."""

    dims: Dims
    formulas: Mapping[str, Evaluate]
    """Names that the text itself defines: ``W := H // A * A``."""
    arguments: Mapping[str, Any]
    """What the class gives its body, and variables of ``for``."""
    counted: dict[str, Any] = field(default_factory=dict, compare=False)
    """Values of :attr:`formulas`, each counted once."""

    def __getitem__(self, name: str) -> Any:
        """:raises BadExpression: where nothing has the name."""
        if name in self.arguments:
            return self.arguments[name]
        if name in self.formulas:
            if name not in self.counted:
                self.counted[name] = self.formulas[name](self)
            return self.counted[name]
        for known in (self.dims.sizes, self.dims.switches):
            if name in known:
                return known[name]
        raise BadExpression(
            f"there is no size or switch {name}; there are {', '.join([*self.dims.sizes, *self.formulas])}"
        )

    def get(self, name: str) -> Any:
        """Return what has the name, or ``None``."""
        try:
            return self[name]
        except BadExpression:
            return None

    @property
    def deciding(self) -> Scope:
        """The same with integers in place of symbols."""
        return self if self.dims.numbers is None else Scope(self.dims.known, self.formulas, self.arguments)

    def with_arguments(self, arguments: Mapping[str, Any]) -> Scope:
        """Return the scope with more names."""
        return Scope(self.dims, self.formulas, {**self.arguments, **arguments})


Evaluate: TypeAlias = Callable[[Scope], Any]


def _size_of(value: Any) -> int:
    """Return how large a count is: the bits of an integer, the terms of a sum of symbols."""
    return value.bit_length() if isinstance(value, int) else len(getattr(value, "terms", ()))


def _multiply(left: Any, right: Any) -> Any:
    if _size_of(left) * _size_of(right) > MOST_WORK:
        raise BadExpression(f"a product is larger than {MOST_WORK:,} bits or terms")
    return left * right


def _power(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, int) or not 0 <= exponent <= HIGHEST_POWER:
        raise BadExpression(f"a power is {exponent}, and must be from 0 to {HIGHEST_POWER}")
    found: Any = 1
    for _ in range(exponent):
        found = _multiply(found, base)
    return found


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Pow: _power,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, among: value in among,
    ast.NotIn: lambda value, among: value not in among,
}


@cache
def compile_size(text: str) -> Evaluate:
    """Return a function that counts an expression in a scope.

    :raises BadExpression: for anything but arithmetic.
    """
    try:
        tree = ast.parse(text[: LONGEST + 1].strip(), mode="eval") if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        raise BadExpression(f"{text[:80]!r} is no arithmetic")
    return _compiled(tree.body)


@cache
def compile_condition(text: str) -> Evaluate:
    """Return a function that decides an expression, by integers."""
    decide = compile_size(text)
    return lambda scope: decide(scope.deciding)


def _compiled(node: ast.expr) -> Evaluate:
    compile_node = _NODES.get(type(node))
    if compile_node is None:
        raise BadExpression(f"{ast.unparse(node)[:80]!r} is no arithmetic of a config's sizes")
    return compile_node(node)


def _constant(node: ast.Constant) -> Evaluate:
    value = node.value
    if not isinstance(value, int | str | None):
        raise BadExpression(f"{value!r} is no whole number")
    return lambda _: value


def _name(node: ast.Name) -> Evaluate:
    name = node.id
    return lambda scope: scope[name]


def _binary(node: ast.BinOp) -> Evaluate:
    apply = _ARITHMETIC.get(type(node.op))
    if apply is None:
        raise BadExpression(f"{ast.unparse(node)[:80]!r} has an operator that sizes do not have")
    left, right = _compiled(node.left), _compiled(node.right)
    return lambda scope: apply(left(scope), right(scope))


def _unary(node: ast.UnaryOp) -> Evaluate:
    operand = _compiled(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda scope: not operand(scope)
    if isinstance(node.op, ast.USub):
        return lambda scope: -operand(scope)
    raise BadExpression(f"{ast.unparse(node)[:80]!r} has an operator that sizes do not have")


def _compare(node: ast.Compare) -> Evaluate:
    if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
        raise BadExpression(f"{ast.unparse(node)[:80]!r} is no comparison of two sizes")
    apply = _COMPARISONS[type(node.ops[0])]
    left, right = _compiled(node.left), _compiled(node.comparators[0])
    return lambda scope: apply(left(scope), right(scope))


def _boolean(node: ast.BoolOp) -> Evaluate:
    values = [_compiled(each) for each in node.values]
    if isinstance(node.op, ast.And):
        return lambda scope: all(each(scope) for each in values)
    return lambda scope: any(each(scope) for each in values)


def _choice(node: ast.IfExp) -> Evaluate:
    test, then, otherwise = _compiled(node.test), _compiled(node.body), _compiled(node.orelse)
    return lambda scope: then(scope) if test(scope.deciding) else otherwise(scope)


def _items(node: ast.Tuple | ast.List) -> Evaluate:
    items = [_compiled(each) for each in node.elts]
    return lambda scope: tuple(each(scope) for each in items)


def _item(node: ast.Subscript) -> Evaluate:
    of, at = _compiled(node.value), _compiled(node.slice)
    return lambda scope: of(scope)[at(scope)]


def _call(node: ast.Call) -> Evaluate:
    name = node.func.id if isinstance(node.func, ast.Name) and not node.keywords else ""
    if name == "get" and len(node.args) == 2 and isinstance(node.args[0], ast.Name):  # noqa: PLR2004
        wanted, otherwise = node.args[0].id, _compiled(node.args[1])
        return lambda scope: otherwise(scope) if (found := scope.get(wanted)) is None else found
    arguments = [_compiled(each) for each in node.args]
    if name == "before":
        return lambda scope: scope.dims.release < tuple(each(scope) for each in arguments)
    if name not in _FUNCTIONS:
        raise BadExpression(f"{ast.unparse(node)[:80]!r} calls what closed forms do not have")
    function = _FUNCTIONS[name]
    return lambda scope: function(*(each(scope) for each in arguments))


def count_up(*bounds: int) -> range:
    """Return the integers that a line is repeated for.

    :raises BadExpression: for more than :data:`MOST_ITEMS`.
    """
    found = range(*bounds)
    if len(found) > MOST_ITEMS:
        raise BadExpression(f"a list of {len(found):,} items is longer than {MOST_ITEMS:,}")
    return found


def _numbered(items: tuple[Any, ...]) -> Iterator[tuple[int, Any]]:
    return enumerate(items)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"len": len, "range": count_up, "enumerate": _numbered}
_NODES: Mapping[type[ast.expr], Callable[[Any], Evaluate]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Subscript: _item,
    ast.Call: _call,
}
