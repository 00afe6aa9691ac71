"""The closed form of one model for all values of its sizes at once: its counts, and the sizes that its class refuses.

Values that are switches, words or lists stay as they are, since they decide which modules exist. A size becomes a
symbol, unless its number itself is needed, as for the end of a loop. If a closed form or a rule compares two sizes, the
result is computed for both answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

from msgspec import Struct

from pytest_bertsize.closed_forms.symbols import Sum, evaluate, subtract, symbol, symbols_of, terms_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import roll_up
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.keys import Rule, Size

T = TypeVar("T")
MOST_WAYS = 64  # the most paths through the comparisons of one function; a built-in family has at most a dozen
NOT_WRITTEN = "not written: the library uses another size in its place"
ONE_BY_ONE = "the number itself decides which parts exist"
OF_AN_ADAPTER = "the adapter's own file sets it"


# every way through a function of sizes


class NeedsNumber(BaseException):
    """The error if a function reads the number of a size, so that its result holds for that number alone.

    It is no Exception, so that no function takes it for an error of its own.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__()
        self.symbols = frozenset(symbols)


class End(Struct, Generic[T], frozen=True):
    """The result of a function after the last of its comparisons."""

    value: T


class Branch(Struct, Generic[T], frozen=True):
    """The question whether a sum is zero, or positive, with the results that follow each answer."""

    count: Sum
    is_zero: bool
    then: Ways[T]
    otherwise: Ways[T]


Ways: TypeAlias = Branch[T] | End[T]
Counts: TypeAlias = Mapping[str, Sum]  # parameters of each component itself, without those of the components below it


def end_at(ways: Ways[T], sizes: Mapping[str, int]) -> T:
    """Return the result that ``ways`` has for ``sizes``."""
    while isinstance(ways, Branch):
        value = evaluate(ways.count, sizes)
        ways = ways.then if (value == 0 if ways.is_zero else value > 0) else ways.otherwise
    return ways.value


def list_ends(ways: Ways[T]) -> list[T]:
    return [*list_ends(ways.then), *list_ends(ways.otherwise)] if isinstance(ways, Branch) else [ways.value]


class _Trail(Struct):
    """The questions that one run of a function asks, and their answers: first the given answers, then always yes."""

    given: tuple[bool, ...]
    answered: dict[tuple[Sum, bool], bool] = {}

    def decide(self, count: Sum, *, is_zero: bool) -> bool:
        """Decide whether ``count`` is zero if ``is_zero`` is set, else whether it is positive.

        A sum and its opposite are one question: ``D - A > 0`` is asked as not ``A - D + 1 > 0``.
        """
        is_opposite = count[0].number < 0
        question = subtract(() if is_zero else terms_of(1), count) if is_opposite else count
        at = len(self.answered)
        answer = self.answered.setdefault((question, is_zero), self.given[at] if at < len(self.given) else True)
        return answer != (is_opposite and not is_zero)

    def number(self, count: Sum) -> NoReturn:
        raise NeedsNumber(symbols_of(count))


def follow_every_way(function: Callable[[Mapping[str, Any]], T], symbols: Iterable[str]) -> Ways[T]:
    """Return the results of a function for both answers to each comparison of sizes that it makes.

    :param function: is called with a symbol in place of each size.
    :raises NeedsNumber: if the function reads the number of a size, or has more than :data:`MOST_WAYS` results.
    """
    names = tuple(symbols)
    met: list[frozenset[str]] = []

    def follow(answers: tuple[bool, ...]) -> Ways[T]:
        if len(met) >= MOST_WAYS:
            raise NeedsNumber(met[-1])
        trail = _Trail(answers)
        found: Ways[T] = End(function({name: symbol(name, trail) for name in names}))
        asked = list(trail.answered.items())
        met.append(symbols_of(asked[-1][0][0]) if asked else frozenset())
        for at in reversed(range(len(answers), len(asked))):
            other = tuple(answer for _, answer in asked[:at])
            found = Branch(*asked[at][0], found, follow((*other, False)))
        return found

    return follow(())


# a model


class AllSizes(Struct, frozen=True):
    """The counts of one model for all sizes."""

    free: Mapping[str, Size]
    fixed: Mapping[str, str]  # the keys of sizes that keep their value, each with the reason
    counts: Ways[Counts | str]  # the counts, or a sentence that says why there are none
    rules: Mapping[Rule, Ways[bool]]  # whether each rule on the sizes holds; ``False`` also for sizes it cannot use

    def components_at(self, sizes: Mapping[str, int]) -> dict[str, int] | str:
        """Return the parameters of every component at every level, or a sentence that says why there are none."""
        found = end_at(self.counts, sizes)
        if isinstance(found, str):
            return found
        return roll_up({name: int(evaluate(count, sizes)) for name, count in found.items()})


def follow_all_sizes(derivation: Derivation) -> AllSizes:
    """Evaluate the closed form of one model and the rules of its class, with symbols in place of the sizes.

    :raises Unusable: if, for the model's own sizes, the result differs from the closed form's count, or a rule fails.
    """
    form, own = derivation.form, derivation.form.dims.sizes
    there = {symbol: size for symbol, size in derivation.sizes.items() if own.get(symbol) is not None}
    fixed = {size.key: NOT_WRITTEN for symbol, size in derivation.sizes.items() if symbol not in there}
    fixed |= {name: OF_AN_ADAPTER for name, size in own.items() if size is not None and name not in there}
    free, found = dict(there), None
    while found is None:
        try:
            counts = follow_every_way(lambda sizes: _count_way(derivation, sizes), free)
            found = AllSizes(free, fixed, counts, dict(_list_rules(derivation, free)))
        except NeedsNumber as needs:
            if needs.symbols.isdisjoint(free):
                raise
            free = {name: size for name, size in free.items() if name not in needs.symbols}
    fixed |= {size.key: ONE_BY_ONE for name, size in there.items() if name not in free}
    at_own_sizes = found.components_at(own)
    refused = "; ".join(rule.message for rule, holds in found.rules.items() if not end_at(holds, own))
    if at_own_sizes != form.components or refused:
        what = at_own_sizes if isinstance(at_own_sizes, str) else refused or "the formulas give another count"
        message = f"the closed form of {form.architecture.name} holds for this config alone: {what}"
        raise Unusable(Finding("unknown-closed-form", printable(message), "run explain without --page"))
    return found


def _count_way(derivation: Derivation, sizes: Mapping[str, Any]) -> Counts | str:
    """Return the counts, with the symbols in ``sizes``, or a sentence that says why there are no counts."""
    form = derivation.form
    try:
        varied = form.with_dims(sizes={**form.dims.sizes, **sizes}, is_symbolic=True)
        return {name: terms_of(count) for name, count in varied.own.items()}
    except Unusable as unusable:
        return unusable.findings[0].sentence
    except Exception as error:  # noqa: BLE001  (blocks raise anything for sizes that they cannot use)
        why = f"{type(error).__name__}: {error}"
        return printable(f"the closed form for {form.architecture.name} gives no count: {why}")


def _list_rules(derivation: Derivation, free: Mapping[str, Size]) -> Iterator[tuple[Rule, Ways[bool]]]:
    """Yield the rules that depend on a free size; the others were checked when the config was read."""
    values = {**dict.fromkeys(derivation.family.keys.own), **derivation.values.assumed}
    for rule in derivation.rules:

        def ask_rule(sizes: Mapping[str, Any], rule: Rule = rule) -> bool:
            try:
                return bool(rule.holds({**values, **{free[name].key: size for name, size in sizes.items()}}))
            except Exception:  # noqa: BLE001  (a rule raises anything for values that it cannot use)
                return False

        ways = follow_every_way(ask_rule, free)
        if ways != End(value=True):
            yield rule, ways
