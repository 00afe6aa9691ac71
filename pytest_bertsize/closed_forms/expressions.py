"""Arithmetic and conditions in the text of a closed form: parsed with a list of allowed operations, never run as code.

``3*E if trigram_input else E`` is a size, ``T > 0 and not before(5)`` a condition. Sizes are integers or symbols
(:mod:`pytest_bertsize.closed_forms.symbols`).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pytest_bertsize.release import Release

LONGEST = 200  # the most characters of one expression
MOST_ITEMS = 10_000  # the most items of a list that an expression makes
MOST_WORK = 100_000  # the most work for one product: the bits or terms of one factor, multiplied by those of the other
HIGHEST_POWER = 16


class BadExpression(ValueError):
    """An expression that is not arithmetic of a config's sizes; the message says why."""


class Scope(dict[str, Any]):
    """The values of all names that an expression can use; that of a formula is added when it is first used.

    :param known: sizes, switches, the arguments that a class gives to the tree, and the variables of ``for``.
    :param formulas: names that the text of a tree defines: ``W := H // A * A``.
    """

    def __init__(self, known: Mapping[str, Any], formulas: Mapping[str, Evaluate], release: Release) -> None:
        super().__init__(known)
        self.known, self.formulas, self.release = known, formulas, release

    def __missing__(self, name: str) -> Any:
        """:raises BadExpression: if nothing has the name."""
        if name not in self.formulas:
            names = ", ".join([*self.known, *self.formulas])
            raise BadExpression(f"there is no size or switch {name}; the names are {names}")
        self[name] = self.formulas[name](self)
        return self[name]

    def find(self, name: str) -> Any:
        """Return the value of a name; ``None`` if nothing has the name."""
        return self[name] if name in self or name in self.formulas else None


Evaluate: TypeAlias = Callable[[Scope], Any]


def _multiply(left: Any, right: Any) -> Any:
    sizes = (each.bit_length() if isinstance(each, int) else len(getattr(each, "terms", ())) for each in (left, right))
    if math.prod(sizes) > MOST_WORK:
        raise BadExpression(f"a product is larger than {MOST_WORK:,} bits or terms")
    return left * right


def _power(base: Any, exponent: Any) -> Any:
    exponent = operator.index(exponent)
    if not 0 <= exponent <= HIGHEST_POWER:
        raise BadExpression(f"a power is {exponent}, and must be from 0 to {HIGHEST_POWER}")
    return reduce(_multiply, [base] * exponent, 1)


_OPERATIONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Pow: _power,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, among: value in among,
    ast.NotIn: lambda value, among: value not in among,
}


def count_up(*bounds: int) -> range:
    """Return the integers for which a line is repeated; raise BadExpression for more than :data:`MOST_ITEMS`."""
    found = range(*bounds)
    if len(found) > MOST_ITEMS:
        raise BadExpression(f"a list of {len(found):,} items is longer than {MOST_ITEMS:,}")
    return found


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"len": len, "range": count_up, "enumerate": enumerate}


@cache
def compile_size(text: str) -> Evaluate:
    """Return a function of a scope that evaluates a text; raise BadExpression if it is not arithmetic."""
    try:
        tree = ast.parse(text[: LONGEST + 1].strip(), mode="eval") if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        raise BadExpression(f"{text[:80]!r} is not arithmetic")
    return _compile_node(tree.body)


def _compile_node(node: ast.expr) -> Evaluate:  # noqa: C901, PLR0911  (one case for each kind of node)
    match node:
        case ast.Constant(value=int() | str() | None as value):
            return lambda _: value
        case ast.Name(id=name):
            return lambda scope: scope[name]
        case (
            ast.BinOp(left=one, op=operation, right=other) | ast.Compare(left=one, ops=[operation], comparators=[other])
        ) if type(operation) in _OPERATIONS:
            return _compile_call(_OPERATIONS[type(operation)], [one, other])
        case ast.UnaryOp(op=ast.Not() | ast.USub() as operation):
            return _compile_call(_OPERATIONS[type(operation)], [node.operand])
        case ast.BoolOp():
            decide = all if isinstance(node.op, ast.And) else any
            values = [_compile_node(each) for each in node.values]
            return lambda scope: decide(each(scope) for each in values)
        case ast.IfExp():
            test, then, otherwise = _compile_node(node.test), _compile_node(node.body), _compile_node(node.orelse)
            return lambda scope: then(scope) if test(scope) else otherwise(scope)
        case ast.Tuple() | ast.List():
            return _compile_call(lambda *items: items, node.elts)
        case ast.Subscript():
            return _compile_call(operator.getitem, [node.value, node.slice])
        case ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=wanted), default], keywords=[]):
            instead = _compile_node(default)
            return lambda scope: instead(scope) if (found := scope.find(wanted)) is None else found
        case ast.Call(func=ast.Name(id="before"), keywords=[]):
            release = _compile_call(lambda *parts: parts, node.args)
            return lambda scope: scope.release < release(scope)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _compile_call(_FUNCTIONS[name], node.args)
    raise BadExpression(f"{ast.unparse(node)[:80]!r} is not arithmetic with a config's sizes")


def _compile_call(function: Callable[..., Any], nodes: Sequence[ast.expr]) -> Evaluate:
    arguments = [_compile_node(each) for each in nodes]
    return lambda scope: function(*(each(scope) for each in arguments))
