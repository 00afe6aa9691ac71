"""Formulas as text. The only importer of sympy, loaded when a formula is shown."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sympy import Expr, Integer, Symbol, expand, floor, sympify
from sympy.printing.precedence import precedence
from sympy.printing.str import StrPrinter

from pytest_bertsize.inventory import TOTAL, levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_bertsize.closed_forms.blocks import Term

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Formulas:
    """The terms of a closed form, gathered by component; what is repeated stays a factor."""

    def __init__(self, terms: Iterable[Term], numbers: Mapping[Symbol, int]) -> None:
        """Gather terms.

        :param numbers: what stands behind the symbols: a quotient that comes out even is written without its floor.
        """
        self._numbers = numbers
        self._sums: dict[str, dict[Any, Expr]] = defaultdict(lambda: defaultdict(lambda: Integer(0)))
        for term in terms:
            for level in (*levels(term.component), TOTAL):
                self._sums[level][term.times] += term.own

    def by_component(self) -> dict[str, str]:
        return {component: as_text(self._expression(component)) for component in self._sums}

    def _expression(self, component: str) -> Expr:
        terms = self._sums[component].items()
        return sum((self._even(times) * expand(self._even(own)) for times, own in terms), Integer(0))

    def _even(self, count: Expr) -> Expr:
        """``A*floor(D/A)`` → ``D`` where A divides D."""
        return sympify(count).replace(floor, self._quotient)

    def _quotient(self, quotient: Expr) -> Expr:
        return quotient if quotient.subs(self._numbers).is_Integer else floor(quotient)


def as_text(expression: Expr) -> str:
    """``4*D**2*L`` → ``4·D²·L``: what a table cell can hold."""
    return str(_Printer().doprint(expression))


class _Printer(StrPrinter):  # type: ignore[misc]  # sympy is not typed
    def _print_Pow(self, expression: Expr, rational: bool = False) -> str:  # noqa: FBT001, FBT002
        base, exponent = expression.as_base_exp()
        if not (exponent.is_Integer and exponent > 1):
            return str(super()._print_Pow(expression, rational))
        return str(self.parenthesize(base, precedence(expression))) + str(exponent).translate(_SUPERSCRIPT)

    def _print_Mul(self, expression: Expr) -> str:
        return str(super()._print_Mul(expression)).replace("*", "·")
