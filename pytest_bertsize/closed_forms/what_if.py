"""Count a model with other values by its closed form: the cost of usual changes, and a layer that no limit notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.config.keys import LABELS, Size
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.table.limits import Flops
from pytest_bertsize.wording import exact, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.table.limits import Limit

MULTIPLE = 64  # the number that widths and vocabularies are multiples of, for the matrix units of a GPU
NO_WIDTHS = ("A", "Ad", "Q", "T", LABELS)  # symbols of numbers of heads, of token types and of labels
TOKENS = 1_000
POSITIONS = 512


class Cost(NamedTuple):
    """The cost of one usual change."""

    what: str
    change: str
    total: int


class Variants(Struct, frozen=True, dict=True):
    """A model with other values of its keys."""

    derivation: Derivation

    @property
    def form(self) -> ClosedForm:
        return self.derivation.form

    @cached_property
    def sizes(self) -> dict[str, Size]:
        """The sizes by key, without those that neither the config nor the library sets."""
        sizes = self.form.dims.sizes
        return {size.key: size for size in self.derivation.sizes.values() if sizes.get(size.symbol) is not None}

    @cached_property
    def unsure(self) -> dict[str, int]:
        """Widths and numbers of rows that an ``extra`` may depend on, because the ``extra`` has the same number."""
        literals = self.form.architecture.literals
        widths = (key for key, size in self.sizes.items() if not size.repeats and size.symbol not in NO_WIDTHS)
        return {key: self.now(key) for key in widths if self.now(key) in literals}

    @property
    def why_unsure(self) -> str:
        """A sentence about the sizes in :attr:`unsure`; ``""`` if there are none."""
        named = ", ".join(f"{key} {exact(value)}" for key, value in self.unsure.items())
        return f"{named}: a row of extra has the same number; write the key there if it is meant" if named else ""

    def now(self, key: str) -> int:
        return int(self.form.dims.sizes[self.sizes[key].symbol])

    def together(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes, with the same change for each size that must be equal to a changed one."""
        along = dict(changes)
        for one, other in self.derivation.family.keys.equal:
            if one in along or other in along:
                along |= {one: along.get(one, along.get(other)), other: along.get(other, along.get(one))}
        return along

    def unchecked(self, **changes: Any) -> ClosedForm:
        """Return the model with other values, even if its class refuses them; sizes that must be equal stay equal."""
        sizes, switches = dict(self.form.dims.sizes), dict(self.form.dims.switches)
        for key, value in self.together(changes).items():
            if size := self.sizes.get(key):
                sizes[size.symbol] = value
            else:
                switches[key] = value
        return self.form.with_dims(sizes=sizes, switches=switches)

    def varied(self, **changes: Any) -> ClosedForm | None:
        """Return the model with other values; ``None`` if its class would refuse them."""
        form = self.unchecked(**changes)
        sizes = {size.key: form.dims.sizes.get(size.symbol) for size in self.derivation.sizes.values()}
        values = {**self.derivation.values.assumed, **sizes, **form.dims.switches}
        rules = (rule for rule in self.derivation.rules if {*rule.keys} <= values.keys())
        try:
            return form if form.total >= 0 and all(rule.holds(values) for rule in rules) else None
        except Exception:  # noqa: BLE001  (a block or a rule that cannot use these values)
            return None

    def deepened(self) -> Iterator[tuple[str, ClosedForm]]:
        """Yield each number of layers, and the model with one more of them, unless its class refuses it."""
        for key, size in self.sizes.items():
            if size.repeats and (deeper := self.varied(**{key: self.now(key) + 1})):
                yield key, deeper


# the cost of the next change


def list_costs(derivation: Derivation) -> tuple[Cost, ...]:
    """Return the costs of usual changes, such as one more layer or 1,000 more tokens, without free ones."""
    variants = Variants(derivation)
    found = []
    for what, changes in _list_usual_changes(variants):
        form = None if changes.keys() & variants.unsure.keys() else variants.varied(**changes)
        if form is not None and form.total != variants.form.total:
            found.append(Cost(what, describe_changes(variants, changes), form.total - variants.form.total))
    return tuple(found)


def _list_usual_changes(variants: Variants) -> Iterator[tuple[str, dict[str, Any]]]:
    deep = [key for key, size in variants.sizes.items() if size.repeats]
    for key in deep:
        yield f"one more layer{'' if len(deep) == 1 else f' ({key})'}", {key: variants.now(key) + 1}
    by_symbol = {size.symbol: key for key, size in variants.sizes.items()}
    # a width with as many more heads, and with feed-forward layers as many times as wide
    width = [by_symbol[each] for each in ("D", "A", "I") if each in by_symbol] if "D" in by_symbol else []
    along = {key: variants.now(key) * (1 + Fraction(MULTIPLE, variants.now(width[0]))) for key in width}
    if along and all(size.denominator == 1 for size in along.values()):
        yield f"{MULTIPLE} more hidden units", {key: int(size) for key, size in along.items()}
    for symbol, more, what in (("V", TOKENS, "tokens"), ("P", POSITIONS, "positions")):
        if symbol in by_symbol:
            key = by_symbol[symbol]
            yield f"{exact(more)} more {what}", {key: variants.now(key) + more}
    switches = variants.form.dims.switches
    if "tie_word_embeddings" in switches:
        tied = switches["tie_word_embeddings"]
        yield f"{'untie' if tied else 'tie'} the decoder", {"tie_word_embeddings": not tied}
    if switches.get("add_pooling_layer") and "add_pooling_layer" in variants.form.architecture.options:
        yield "without the pooler", {"add_pooling_layer": False}


def describe_changes(variants: Variants, changes: Mapping[str, Any]) -> str:
    """Write changes: ``num_hidden_layers 12 → 13``."""

    def said(key: str, value: Any) -> str:
        if key in variants.sizes:
            return f"{key} {exact(variants.now(key))} → {exact(value)}"
        name = f"options.{key}" if key in variants.form.architecture.options else key
        return f"{name} {shown(variants.form.dims.switches[key])} → {shown(value)}"

    return ", ".join(said(key, value) for key, value in variants.together(changes).items())


# a closed form under a budget


def is_allowed(limit: Limit, count: int) -> bool:
    """Return whether a count is within a limit."""
    return (limit.minimum or 0) <= count and (limit.maximum is None or count <= limit.maximum)


def measure(limit: Limit, form: ClosedForm) -> int:
    """Return the count that a limit holds, or the FLOPs, which are 0 without a closed form of them."""
    if isinstance(limit.measure, Flops):
        return flops.count_flops(form, limit.measure.seq_len) or 0
    return form.count_of(limit.component)


# a budget that would not notice a layer


def find_insensitive_budget(derivation: Derivation, budget: tuple[Limit, ...]) -> list[Finding]:
    """Return a note if one more layer would pass every limit; no note if there are limits of bytes or FLOPs."""
    variants = Variants(derivation)
    total = variants.form.total
    for key, deeper in variants.deepened() if all(limit.measure is None for limit in budget) else ():
        if deeper.total != total and all(is_allowed(each, measure(each, deeper)) for each in budget):
            layer = f"{key} {exact(variants.now(key))} → {exact(variants.now(key) + 1)}"
            message = f"one more layer ({layer}, {signed(deeper.total - total)}) would pass every limit"
            fix = f"write budget.total = {total:_}, which the next layer exceeds"
            limit = min(budget, key=lambda each: each.component != TOTAL, default=None)
            make = limit.make_finding if limit else Finding
            return [make("insensitive-budget", message, fix, "note")]
    return []
