"""Formulas in the order in which a hand would write them: ``V·D + P·D``, as the tensors come, squares first."""

from __future__ import annotations

import re
from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING

from sympy import Add, Expr, Mul, expand, fraction, sympify

from pytest_bertsize.closed_forms.formula import Formulas, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_bertsize.closed_forms.blocks import Count
    from pytest_bertsize.commands.explain.leaves import Leaf
    from pytest_bertsize.config.dims import Dims

_SYMBOL = re.compile(r"[A-Za-z]\w*", re.ASCII)
"""Without the exponent: a superscript is a word character too, outside ASCII."""


class Writer(Formulas):
    """Writes what some tensors sum to."""

    def __init__(self, dims: Dims) -> None:
        symbolic = dims.symbolic()
        behind = {symbol: dims.sizes[name] for name, symbol in symbolic.sizes.items() if symbol is not None}
        super().__init__((), behind)
        self._known: dict[tuple[Count, ...], list[tuple[int, Expr, str]]] = {}
        self._sizes: Mapping[str, int] = {str(symbol): size for symbol, size in behind.items()}

    def one(self, leaves: Iterable[Leaf]) -> str:
        """The tensors of a single layer: ``4·D² + 4·D``; ``"0"`` where they own nothing."""
        factors: dict[Expr, int] = defaultdict(int)
        texts: dict[Expr, str] = {}
        for leaf in leaves:
            if leaf.tied_to is None:
                for factor, rest, text in self._monomials(leaf.symbols):
                    factors[rest] += factor
                    texts.setdefault(rest, text)
        terms = sorted((rest for rest, factor in factors.items() if factor), key=_degree, reverse=True)
        written = [_times(factors[rest], texts[rest]) for rest in terms]
        return " + ".join(written).replace("+ -", "- ") or "0"

    def all(self, leaves: Sequence[Leaf]) -> str:
        """The tensors of all layers, what is repeated kept as a factor: ``L·(4·D² + 4·D) + D``."""
        return (
            " + ".join(text for times, members in by_repeat(leaves) if (text := self._repeated(times, members))) or "0"
        )

    def repeats(self, times: Count) -> str:
        """How often: ``L``, ``G·N`` or ``L - 1``."""
        return as_text(self._even(times))

    def numbers(self, formula: str) -> str:
        """A formula with the config's sizes in place of their symbols: ``4·768² + 4·768``."""
        return _SYMBOL.sub(lambda found: str(self._sizes.get(found[0], found[0])), formula)

    def _repeated(self, times: Count, members: Iterable[Leaf]) -> str:
        text = self.one(members)
        if times == 1 or text == "0":
            return "" if text == "0" else text
        factor = self.repeats(times)
        factor = f"({factor})" if " " in factor else factor
        return f"{factor}·({text})" if not text.isalpha() else f"{factor}·{text}"

    def _monomials(self, shape: tuple[Count, ...]) -> list[tuple[int, Expr, str]]:
        if shape not in self._known:
            product = expand(self._even(prod(shape)))
            self._known[shape] = [_split(term, shape) for term in Add.make_args(product)]
        return self._known[shape]


def symbols_in(formula: str) -> set[str]:
    return set(_SYMBOL.findall(formula))


def by_repeat(leaves: Iterable[Leaf]) -> list[tuple[Count, list[Leaf]]]:
    """The tensors by how often they are repeated, in order of appearance."""
    groups: dict[Count, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.repeats, []).append(leaf)
    return list(groups.items())


def _times(factor: int, text: str) -> str:
    """``4·D²``; a number alone has no symbol behind it."""
    if text == "1":
        return str(factor)
    return text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}·{text}"


def _split(term: Expr, shape: Sequence[Count]) -> tuple[int, Expr, str]:
    """A term's factor, the rest of it, and that as text; a quotient stays whole."""
    factor, rest = term.as_coeff_Mul()
    if not factor.is_Integer or fraction(rest)[1] != 1:
        return 1, term, as_text(term)
    return int(factor), rest, _in_order(rest, shape)


def _in_order(product: Expr, shape: Sequence[Count]) -> str:
    """The factors as the shape has them: rows before columns."""
    place = {symbol: index for index, size in reversed(list(enumerate(shape))) for symbol in sympify(size).free_symbols}
    factors = sorted(
        Mul.make_args(product), key=lambda factor: min((place[each] for each in factor.free_symbols), default=-1)
    )
    return "·".join(as_text(factor) for factor in factors)


def _degree(product: Expr) -> int:
    powers = product.as_powers_dict().items()
    return sum(int(power) for base, power in powers if power.is_Integer and not base.is_Integer)
