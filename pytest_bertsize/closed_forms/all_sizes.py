"""The closed form of one model for all values of its sizes at once: what it counts, and what its class refuses.

Its switches, words and lists stay as they are: they say which parts there are. So does a size that is asked for itself,
as where layers are picked by their number. All others are free, and every way that the blocks and the rules can go for
them is a branch, with what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.closed_forms.symbols import Count, symbols_of
from pytest_bertsize.closed_forms.tracing import (
    End,
    NeedsNumber,
    Ways,
    end_at,
    follow_every_way,
    list_ends,
    symbols_asked,
    untraced,
)
from pytest_bertsize.config.keys import LABELS, ConfigKeys, Rule, Size
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import roll_up
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation

NOT_WRITTEN = "not written: the library takes another size in its place"
ONE_BY_ONE = "which parts there are depends on the number itself"
OF_AN_ADAPTER = "the adapter's own file says it"


class Counts(NamedTuple):
    """The counts of one way."""

    own: Mapping[str, Count]
    """Parameters of each component itself, without those of the components below it."""
    tensors: Count
    """How many there are."""
    unrolled: Count
    """Parameters with ties written out and a copy of a shared layer for each pass."""

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*map(symbols_of, (*self.own.values(), self.tensors, self.unrolled)))


class Ruled(NamedTuple):
    """A rule of the class on its sizes, and when it holds: ``None`` where the rule makes no sense of them."""

    rule: Rule
    holds: Ways[bool | None]


@dataclass(frozen=True, slots=True)
class AllSizes:
    """All that one model can count."""

    free: Mapping[str, Size]
    """The keys that may have any value, by symbol."""
    fixed: Mapping[str, str]
    """Keys of sizes that keep theirs, and why."""
    counts: Ways[Counts | str]
    """A sentence in place of a count where there is none."""
    rules: tuple[Ruled, ...]

    @property
    def counted(self) -> frozenset[str]:
        """The symbols that a count depends on."""
        counts = (each.symbols for each in list_ends(self.counts) if isinstance(each, Counts))
        return symbols_asked(self.counts).union(*counts)

    @property
    def asked(self) -> frozenset[str]:
        """The symbols that a rule depends on."""
        return frozenset().union(*(symbols_asked(ruled.holds) for ruled in self.rules))

    def components_at(self, sizes: Mapping[str, int]) -> dict[str, int] | str:
        """Return the parameters of every component at every level; why there are none where there are none."""
        found = end_at(self.counts, sizes)
        if isinstance(found, str):
            return found
        return roll_up({name: int(n if isinstance(n, int) else n.at(sizes)) for name, n in found.own.items()})


def follow_all_sizes(derivation: Derivation) -> AllSizes:
    """Follow the closed form of one model, and the rules of its class.

    :raises Unusable: where what was followed does not come to what the closed form counts.
    """
    dims = derivation.form.dims
    keys = derivation.family.keys_of(dims)
    if LABELS in dims.sizes and not any(size.symbol == LABELS for size in keys.sizes):
        keys = replace(keys, sizes=(*keys.sizes, Size("num_labels", LABELS, keys.labels)))
    there = {size.symbol: size for size in keys.sizes if dims.sizes.get(size.symbol) is not None}
    fixed = {size.key: NOT_WRITTEN for size in keys.sizes if dims.sizes.get(size.symbol) is None}
    fixed |= {name: OF_AN_ADAPTER for name, size in dims.sizes.items() if size is not None and name not in there}
    pinned: set[str] = set()
    while True:
        free = {name: size for name, size in there.items() if name not in pinned}
        try:
            counts = follow_every_way(lambda sizes: _count_way(derivation, sizes), free)
            rules = tuple(_list_rules(derivation, keys, free))
            break
        except NeedsNumber as needs:
            if not needs.symbols - pinned:
                raise
            pinned |= needs.symbols
    fixed |= {there[name].key: ONE_BY_ONE for name in there if name in pinned}
    found = AllSizes(free, fixed, counts, rules)
    _check_count(found, derivation)
    return found


def _count_way(derivation: Derivation, sizes: Mapping[str, Any]) -> Counts | str:
    """Return what one way comes to with free sizes."""
    form = derivation.form
    mixed = {**form.dims.sizes, **sizes}
    varied = form.with_dims(sizes=mixed, numbers=mixed)
    try:
        own = {name: untraced(count) for name, count in varied.own.items()}
        return Counts(own, untraced(varied.tensor_count), untraced(varied.unrolled))
    except NeedsNumber:
        raise
    except Unusable as unusable:
        return unusable.findings[0].sentence
    except Exception as error:  # noqa: BLE001  (whatever blocks do with sizes that make no sense to them)
        return printable(
            f"the closed form for {form.architecture.name} gives no count: {type(error).__name__}: {error}"
        )


def _list_rules(derivation: Derivation, keys: ConfigKeys, free: Mapping[str, Size]) -> Iterator[Ruled]:
    """Yield the rules that depend on a free size; what depends on none held when the config was read."""
    values = {**dict.fromkeys(keys.own), **derivation.values.assumed}
    known: list[tuple[tuple[str, ...], Ways[bool | None]]] = []  # a model of several parts has some of theirs twice
    for rule in (*keys.all_rules, *derivation.form.architecture.rules):

        def ask_rule(sizes: Mapping[str, Any], rule: Rule = rule) -> bool | None:
            try:
                return bool(rule.holds({**values, **{free[name].key: size for name, size in sizes.items()}}))
            except NeedsNumber:
                raise
            except Exception:  # noqa: BLE001  (whatever a rule does with values that make no sense to it)
                return None

        ways = follow_every_way(ask_rule, free)
        if ways != End(value=True) and (rule.keys, ways) not in known:
            known.append((rule.keys, ways))
            yield Ruled(rule, ways)


def _check_count(found: AllSizes, derivation: Derivation) -> None:
    """:raises Unusable: where it does not come to the model's own count at the model's own sizes."""
    form = derivation.form
    counts = found.components_at(form.dims.sizes)
    refused = [each.rule.message for each in found.rules if not end_at(each.holds, form.dims.sizes)]
    if counts != form.components or refused:
        what = counts if isinstance(counts, str) else "; ".join(refused) or "the formulas come to another count"
        message = f"the closed form of {form.architecture.name} holds for this config alone: {what}"
        raise Unusable(Finding("unknown-closed-form", printable(message), "show it without --page"))
