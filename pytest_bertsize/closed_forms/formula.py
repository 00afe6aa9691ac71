"""Formulas as people write them: ``V·D``, as the tensors have it, squares first. The only importer of sympy.

A formula is a sum of products in that order, whose factors sympy prints: as text, for LaTeX or in MathML.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from sympy import Add, Expr, Mul, Symbol, expand, floor, fraction, sympify
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import precedence
from sympy.printing.str import StrPrinter

from pytest_bertsize.inventory import TOTAL, levels, parents_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.config.dims import Dims


@dataclass(frozen=True)
class Formula:
    """A sum: what it is of, and how it is written."""

    products: tuple[Product, ...]

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """``L·(4·D² + 4·D)``: what a table cell can hold; ``0`` for what owns nothing."""
        return _sum(self, _Text())

    @property
    def latex(self) -> str:
        r"""``L \cdot (4 \cdot D^{2} + 4 \cdot D)``."""
        return _sum(self, _Latex())

    @property
    def mathml(self) -> str:
        """An element for each summand, so that a long formula can wrap."""
        return f"<math>{_sum(self, _MathML())}</math>"

    @property
    def symbols(self) -> set[str]:
        """The names of those that it has."""
        found = (each.symbols if isinstance(each, Formula) else each.free_symbols for each in self._factors)
        return {str(symbol) for symbols in found for symbol in symbols}

    def in_numbers(self, sizes: Mapping[str, int]) -> str:
        """With sizes in place of their symbols: ``4·768² + 4·768``."""
        return _sum(self, _Numbers(sizes))

    @property
    def _factors(self) -> Iterable[Expr | Formula]:
        return (factor for product in self.products for factor in product.factors)


@dataclass(frozen=True, slots=True)
class Product:
    """A summand."""

    number: int
    factors: tuple[Expr | Formula, ...]
    """In order; a formula among them stands in brackets."""


class Formulas:
    """Writes what the parameters of a closed form sum to."""

    def __init__(self, dims: Dims) -> None:
        """Write the formulas of one config.

        :param dims: a quotient that comes out even is written without its floor.
        """
        symbols = dims.symbolic().sizes
        self._numbers: dict[Symbol, int] = {
            symbol: dims.sizes[name] for name, symbol in symbols.items() if symbol is not None
        }
        self._known: dict[tuple[Count, ...], list[_Monomial]] = {}

    def by_component(self, terms: Iterable[Term]) -> dict[str, Formula]:
        """For every component at every level, and their own in a row for the total."""
        members: dict[str, list[Term]] = {}
        for term in terms:
            for level in levels(term.component):
                members.setdefault(level, []).append(term)
        found = {component: self.all(members[component]) for component in members}
        tops = (found[name] for name in parents_first(found) if "." not in name)
        return {**found, TOTAL: Formula(tuple(product for top in tops for product in top.products))}

    def all(self, terms: Iterable[Term]) -> Formula:
        """All copies of some parameters, what is repeated kept as a factor: ``L·(4·D² + 4·D) + D``."""
        by_repeat: dict[Count, list[Term]] = {}
        for term in terms:
            by_repeat.setdefault(term.times, []).append(term)
        numbers: dict[tuple[Expr | Formula, ...], int] = {}
        for times, members in by_repeat.items():
            for product in self._repeated(times, members):
                numbers[product.factors] = numbers.get(product.factors, 0) + product.number
        return Formula(tuple(Product(number, factors) for factors, number in numbers.items() if number))

    def one(self, terms: Iterable[Term]) -> Formula:
        """A single copy of some parameters: ``4·D² + 4·D``, like terms together."""
        numbers: dict[Expr, int] = {}
        factors: dict[Expr, tuple[Expr, ...]] = {}
        for term in terms:
            if term.parameter.tied_to is None:
                for monomial in self._monomials(term.parameter.shape):
                    numbers[monomial.rest] = numbers.get(monomial.rest, 0) + monomial.number
                    factors.setdefault(monomial.rest, monomial.factors)
        rests = sorted((rest for rest, number in numbers.items() if number), key=_degree, reverse=True)
        return Formula(tuple(Product(numbers[rest], factors[rest]) for rest in rests))

    def _repeated(self, times: Count, members: Iterable[Term]) -> list[Product]:
        single = self.one(members)
        repeats = self._even(times)
        if repeats == 0 or not single.products:
            return []
        if repeats == 1:
            return list(single.products)
        if len(single.products) == 1:
            (product,) = single.products
            monomials = _split(repeats * Mul(*product.factors), (repeats, *product.factors))
            monomials.sort(key=lambda monomial: _degree(monomial.rest), reverse=True)
            return [Product(product.number * monomial.number, monomial.factors) for monomial in monomials]
        number, rest = repeats.as_coeff_Mul()
        whole = not number.is_Integer or fraction(rest)[1] != 1
        factors = (repeats,) if whole else () if rest == 1 else rest.as_ordered_factors()
        return [Product(1 if whole else int(number), (*factors, single))]

    def _monomials(self, shape: tuple[Count, ...]) -> list[_Monomial]:
        if shape not in self._known:
            self._known[shape] = _split(expand(self._even(prod(shape))), shape)
        return self._known[shape]

    def _even(self, count: Count) -> Expr:
        """``A*floor(D/A)`` → ``D`` where A divides D."""
        return sympify(count).replace(floor, self._quotient)

    def _quotient(self, quotient: Expr) -> Expr:
        return quotient if quotient.subs(self._numbers).is_Integer else floor(quotient)


def of_symbol(name: str) -> Formula:
    """A size alone, as a legend has it."""
    return Formula((Product(1, (Symbol(name),)),))


@dataclass(frozen=True, slots=True)
class _Monomial:
    number: int
    rest: Expr
    """What like terms have in common."""
    factors: tuple[Expr, ...]


def _split(total: Expr, shape: Sequence[Count]) -> list[_Monomial]:
    """The terms of a sum, each with its factors in the order of a shape: rows before columns."""
    place = {symbol: index for index, size in reversed(list(enumerate(shape))) for symbol in sympify(size).free_symbols}
    return [_monomial(term, place) for term in Add.make_args(total)]


def _monomial(term: Expr, place: Mapping[Expr, int]) -> _Monomial:
    """A quotient stays whole."""
    number, rest = term.as_coeff_Mul()
    if not number.is_Integer or fraction(rest)[1] != 1:
        sign = -1 if number < 0 else 1
        return _Monomial(sign, sign * term, (sign * term,))
    factors = sorted(
        Mul.make_args(rest), key=lambda factor: min((place[each] for each in factor.free_symbols), default=-1)
    )
    return _Monomial(int(number), rest, () if rest == 1 else tuple(factors))


def _degree(product: Expr) -> int:
    powers = product.as_powers_dict().items()
    return sum(int(power) for base, power in powers if power.is_Integer and not base.is_Integer)


# how it is written

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = re.compile(r"([^\W\d_])(?:_(\w+)|([a-z0-9]{1,2}))")
"""``d_kv``, ``De``, ``P2``."""


class _Printer(Protocol):
    """Prints a factor, and has the signs between factors."""

    times: str
    plus: str
    minus: str
    negative: str
    opening: str
    closing: str

    def doprint(self, expr: Expr) -> str: ...


def _sum(formula: Formula, printer: _Printer) -> str:
    """Products with their signs between them."""
    written = ""
    for product in formula.products:
        sign = (printer.minus if written else printer.negative) if product.number < 0 else printer.plus
        written += (sign if written or product.number < 0 else "") + _product(product, printer)
    return written or printer.doprint(sympify(0))


def _product(product: Product, printer: _Printer) -> str:
    number = abs(product.number)
    factors = [_factor(each, printer) for each in product.factors]
    return printer.times.join(factors if factors and number == 1 else [printer.doprint(sympify(number)), *factors])


def _factor(factor: Expr | Formula, printer: _Printer) -> str:
    if isinstance(factor, Formula):
        return f"{printer.opening}{_sum(factor, printer)}{printer.closing}"
    written = printer.doprint(factor)
    return f"{printer.opening}{written}{printer.closing}" if factor.is_Add else written


class _Text(StrPrinter):  # type: ignore[misc]  # sympy is not typed
    times, plus, minus, negative, opening, closing = "·", " + ", " - ", "-", "(", ")"

    def _print_Pow(self, expression: Expr, rational: bool = False) -> str:  # noqa: FBT001, FBT002
        base, exponent = expression.as_base_exp()
        if not (exponent.is_Integer and exponent > 1):
            return str(super()._print_Pow(expression, rational))
        return str(self.parenthesize(base, precedence(expression))) + str(exponent).translate(_SUPERSCRIPT)

    def _print_Mul(self, expression: Expr) -> str:
        return str(super()._print_Mul(expression)).replace("*", "·")


class _Numbers(_Text):
    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes

    def _print_Symbol(self, symbol: Symbol) -> str:
        return str(self._sizes.get(symbol.name, symbol.name))


class _Latex(LatexPrinter):  # type: ignore[misc]
    times, plus, minus, negative, opening, closing = r" \cdot ", " + ", " - ", "-", "(", ")"

    def __init__(self) -> None:
        super().__init__({"mul_symbol": "dot"})

    def _print_Symbol(self, symbol: Symbol, style: str = "plain") -> str:  # noqa: ARG002
        """What is more than a letter stands upright: in italics it would read as a product."""
        letter, below = _letter_and_subscript(symbol.name)
        if below:
            return f"{letter}_{{{below if below.isdecimal() else self._upright(below)}}}"
        return letter if len(letter) == 1 else self._upright(letter)

    def _upright(self, name: str) -> str:
        return rf"\mathrm{{{re.sub(r'[^A-Za-z0-9]', ' ', name)}}}".replace(" ", r"\_")


class _MathML(MathMLPresentationPrinter):  # type: ignore[misc]
    """Its signs end one element and begin the next. Without ``mfenced``, which browsers do not know any more."""

    times = "<mo>\u2062</mo>"
    """The invisible times, which a screen reader speaks."""
    opening, closing = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
    """Of one height, though one element may hold the opening bracket and another the closing one."""
    plus = '</math><wbr><math><mo form="infix">+</mo>'
    minus = '</math><wbr><math><mo form="infix">\N{MINUS SIGN}</mo>'
    negative = '<mo form="prefix">\N{MINUS SIGN}</mo>'

    def __init__(self) -> None:
        super().__init__({"mul_symbol": "\u2062"})

    def _print_Symbol(self, symbol: Symbol, style: str = "plain") -> Any:  # noqa: ARG002
        letter, below = _letter_and_subscript(symbol.name)
        if not below:
            return self._element("mi", letter)
        return self._element(
            "msub", self._element("mi", letter), self._element("mn" if below.isdecimal() else "mi", below)
        )

    def _print_floor(self, expression: Expr) -> Any:
        return self._between("⌊", expression.args[0], "⌋")

    def parenthesize(self, item: Expr, level: int, strict: bool = False) -> Any:  # noqa: FBT001, FBT002
        loose = precedence(item)
        return self._between("(", item, ")") if loose < level or (loose == level and not strict) else self._print(item)

    def _between(self, opening: str, inner: Expr, closing: str) -> Any:
        return self._element("mrow", self._element("mo", opening), self._print(inner), self._element("mo", closing))

    def _element(self, tag: str, *children: Any) -> Any:
        """Escaped by us: sympy writes a text as it is."""
        element = self.dom.createElement(tag)
        for child in children:
            element.appendChild(self.dom.createTextNode(escape(child)) if isinstance(child, str) else child)
        return element


def _letter_and_subscript(name: str) -> tuple[str, str]:
    """A symbol of several letters has a subscript, so that it is no product; another name is one word."""
    parts = _SUBSCRIPT.fullmatch(name)
    return (parts[1], parts[2] or parts[3]) if parts else (name, "")
