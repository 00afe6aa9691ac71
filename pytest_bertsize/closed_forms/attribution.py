"""Attribute a change of the closed form to keys: first to each alone, then the rest to all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from pytest_bertsize.inventory import roll_up
from pytest_bertsize.wording import listed, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm

MOST_SAID = 3  # the most entries of a list in the table that one row of the attribution names
NO_ENTRY = "nothing"
TOGETHER = "together"  # the key of the row for parameters that no single key explains, as if two grow
INSEPARABLE = "these keys go together: the closed form has no count for one without the others"

Counts: TypeAlias = Mapping[str, int]  # parameters by component, without those of the components below it


class Moved(Struct, frozen=True):
    """The parameters that one changed key added or removed, by component."""

    key: str
    before: str
    after: str
    own: Counts  # the parameters that the key added to each component; a negative number if it removed some

    @property
    def total(self) -> int:
        return sum(self.own.values())

    @property
    def components(self) -> dict[str, int]:
        """The parameters that the key added or removed, for every component at every level."""
        return {name: count for name, count in roll_up(dict(self.own)).items() if count}


class Attribution(Struct, frozen=True):
    """The rows of the changed keys, the largest effect first; their totals sum to the change of the closed form."""

    moved: tuple[Moved, ...]
    method: str = ""  # the reason why several keys share one row, if they do


def attribute(before: Derivation, after: Derivation) -> Attribution:
    """Measure the effect of each changed key alone, and the rest that only several keys :data:`TOGETHER` explain."""
    if before.family.name != after.family.name:
        names = shown(before.family.name), shown(after.family.name)
        return Attribution((Moved("model_type", *names, difference(after.form.own, before.form.own)),))
    start, end = _complete(before.form, after.form), _complete(after.form, before.form)
    changes = list(_list_changes(start, end, after))
    said = [(key, shown(was), shown(became)) for key, was, became, _ in changes]
    try:
        counts = [end.own] if len(changes) == 1 else [form.own for *_, form in changes]
    except Exception:  # noqa: BLE001  (a mixture of two configs may be one that no closed form counts)
        key, before_it, after_it = (", ".join(parts) for parts in zip(*said, strict=True))
        return Attribution((Moved(key, before_it, after_it, difference(end.own, start.own)),), INSEPARABLE)
    return Attribution(alone_and_together(said, start.own, counts, end.own))


def alone_and_together(
    said: Sequence[tuple[str, str, str]], start: Counts, counts: Sequence[Counts], end: Counts
) -> tuple[Moved, ...]:
    """Return a row for each key, the largest effect first, and a row for the change that no key explains alone.

    :param said: each key with both of its values.
    :param counts: for each key, the counts if that key alone changes.
    """
    rows = [Moved(*key, difference(own, start)) for key, own in zip(said, counts, strict=True)]
    rows.sort(key=lambda row: -abs(row.total))
    alone: Counter[str] = Counter()
    for row in rows:
        alone.update(row.own)
    rest = difference(difference(end, start), alone)
    return (*rows, Moved(TOGETHER, "", "", rest)) if rest else tuple(rows)


def difference(new: Counts, old: Counts) -> dict[str, int]:
    """Return the change in the count of each component, without components that do not change."""
    deltas = {name: new.get(name, 0) - old.get(name, 0) for name in {**old, **new}}
    return {name: delta for name, delta in deltas.items() if delta}


def came_and_went(new: Counts, old: Counts) -> tuple[int, int]:
    """Return the gain of the growing components and the loss of the shrinking ones; neither is negative."""
    deltas = difference(new, old).values()
    return sum(delta for delta in deltas if delta > 0), -sum(delta for delta in deltas if delta < 0)


def _complete(form: ClosedForm, other: ClosedForm) -> ClosedForm:
    """Return ``form`` with the sizes and switches that only ``other`` has, so that these do not count as changes."""
    sizes, switches = {**other.dims.sizes, **form.dims.sizes}, {**other.dims.switches, **form.dims.switches}
    return form.with_dims(sizes=sizes, switches=switches)


def _list_changes(
    start: ClosedForm, end: ClosedForm, after: Derivation
) -> Iterator[tuple[str, object, object, ClosedForm]]:
    """Yield each changed key, its values before and after, and the closed form ``start`` with that change alone."""
    before, now = ({"architecture": [form.architecture.name], **form.architecture.added} for form in (start, end))
    if changed := [key for key in {**before, **now} if before.get(key, ()) != now.get(key, ())]:
        pairs = [(before.get(key, ()), now.get(key, ())) for key in changed]
        was = ", ".join(_say_beside(one, other) for one, other in pairs)
        became = ", ".join(_say_beside(other, one) for one, other in pairs)
        yield ", ".join(changed), was, became, type(start)(end.architecture, start.dims)
    keys, options = after.family.keys.key_of_symbol, {*start.architecture.options, *end.architecture.options}
    for field in ("sizes", "switches"):
        old = getattr(start.dims, field)
        for name, value in getattr(end.dims, field).items():
            if old[name] != value:
                key = keys.get(name, name) if field == "sizes" else f"options.{name}" if name in options else name
                yield key, old[name], value, start.with_dims(**{field: {**old, name: value}})


def _say_beside(said: Sequence[str], other: Sequence[str]) -> str:
    """Write the values of ``said`` that ``other`` lacks; write all of them if only the order differs."""
    here = [each for each in said if each not in other] if {*said} != {*other} else [*said]
    return listed(here, MOST_SAID) or NO_ENTRY
