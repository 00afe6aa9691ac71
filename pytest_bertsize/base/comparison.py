"""Compare a model with the base: in words, by component and by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from posixpath import normpath
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from pytest_bertsize.builder import structure
from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.config.vocabulary import IMPLEMENTATIONS
from pytest_bertsize.differences import Difference, compare_inventories
from pytest_bertsize.wording import listed, plural, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.closed_forms.attribution import Counts, Moved
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Model

WRITTEN = 'lock = "bertsize.lock" in [tool.bertsize], written by bertsize accept --reason "…"'
MAKE_ONE = f"only a lock can show what changed; commit one: {WRITTEN}"
MOST_NAMED = 6
"""The most keys that a sentence names; it gives the number of the others."""
CODE = "code"
"""The name of the row for changes that no key explains."""
_IDENTITY = {"architectures", "model_type", "id2label", "label2id", "num_labels", *IMPLEMENTATIONS}


class PutBack(Struct, frozen=True):
    """The changed keys of a config, and the builds with old values that measure the effect of each key."""

    keys: tuple[tuple[str, str, str], ...] = ()
    """The name of each key, its old value and its new value, as a report shows them."""
    requests: Mapping[int | None, Request] = {}
    """The builds with old values: the build under a key's index has the new value of this key alone; the build under
    ``None`` has no new value."""
    problem: str = ""
    """The reason why nothing is built with old values; ``""`` if there is none."""
    result: Callable[[str], Built | NotBuilt] | None = None

    @property
    def named(self) -> str:
        return listed([printable(key) for key, *_ in self.keys], MOST_NAMED)


class Shares(NamedTuple):
    """The parameters that keys and code added or removed, and sentences on effects that are not known."""

    moved: tuple[Moved, ...] = ()
    method: str = ""
    said: tuple[str, ...] = ()


class Comparison(Struct, frozen=True, dict=True):
    """A model as it was at the base, and the changes since."""

    revision: str
    commit: str
    config: str | None = None
    """The base's config; ``None`` if the model is new."""
    inventory: Inventory | None = None
    """The base's tensors, by closed form or lock; ``None`` if the model is new, or cannot be counted there."""
    said: tuple[str, ...] = ()
    """Sentences on changes that a count does not show: a new model, a renamed file."""
    moved: tuple[Moved, ...] = ()
    method: str = ""
    now: Inventory | None = None
    tensors: tuple[Difference, ...] = ()
    """Changes of the model's tensors; empty if both sides have a closed form, because then keys explain the change."""
    by: Literal["", "closed form", "lock"] = "closed form"
    """The source of the base's count; ``""`` if it has none."""
    is_new: bool = False
    """True if the base declares no such model."""
    former_name: str = ""
    """The model's name at the base; ``""`` if that is today's name."""

    @cached_property
    def _gross(self) -> tuple[int, int]:
        from pytest_bertsize.closed_forms.attribution import came_and_went

        return came_and_went(self.now.own, self.inventory.own) if self.now and self.inventory else (0, 0)

    @property
    def grown(self) -> int:
        """Added parameters, over all components; the net change is ``grown - shrunk``."""
        return self._gross[0]

    @property
    def shrunk(self) -> int:
        """Removed parameters, over all components."""
        return self._gross[1]


class Today(NamedTuple):
    """A model as it is now."""

    model: Model
    config: ModelConfig | None
    derivation: Derivation | None
    actual: Inventory | None
    components: Mapping[str, str] | None = None
    """The component of each tensor of today or of the base's lock, if the model has no closed form."""
    put_back: PutBack | None = None
    """The keys that changed and the builds that measure their effects, if closed forms cannot."""


def compare_with_base(today: Today, baseline: Baseline | None) -> Comparison | None:
    """Compare a model with the base; ``None`` if the run has none."""
    if baseline is None or baseline.commit is None:
        return None
    former = baseline.find_former(today.model.name)
    if former is None:
        is_new = baseline.find_mistake(today.model) is None
        unread = f"its table at {baseline.revision} cannot be read"
        said = f"new: {baseline.revision} declares no such model" if is_new else unread
        return Comparison(baseline.revision, baseline.commit, said=(said,), is_new=is_new)
    locked = _find_locked(former, today)
    tensors = (*compare_inventories(locked, today.actual),) if locked and today.actual else ()
    if locked is None:
        shares = _attribute_change(former, today)
    elif today.actual and today.put_back:
        shares = divide_change(today.put_back, locked.own, today.actual, _find_components(today))
        if not any(each.count for each in tensors):  # other names, and no count
            shares = shares._replace(moved=tuple(row for row in shares.moved if row.key != CODE), said=())
    else:
        shares = Shares()
    notes = [*_list_moves(former.model, today.model, baseline.revision)]
    if locked is None:
        notes += _explain_lack(former, today, baseline)
        notes += _list_other_keys(former, today, {row.key for row in shares.moved})
    return Comparison(
        baseline.revision,
        baseline.commit,
        former.model.config,
        locked or former.form,
        (*notes, *shares.said),
        shares.moved,
        shares.method,
        today.actual or (today.derivation.form if today.derivation else None),
        tensors,
        "lock" if locked else "closed form" if former.form else "",
        former_name="" if former.model.name == today.model.name else former.model.name,
    )


def _find_locked(former: ModelAtCommit, today: Today) -> Inventory | None:
    """Return the tensors of the base's lock; ``None`` if both sides have a closed form, or if one lacks tensors."""
    if former.locked is None or (former.derivation and today.derivation):
        return None
    if today.derivation is None and today.components is None:
        return None  # it was not built: the names of its modules are unknown
    return _find_components(today)(Built(former.locked.tensors, {}))


def _find_components(today: Today) -> Callable[[Built], Inventory]:
    """Return a function that assigns today's components to the tensors of another build of the model."""
    if today.derivation:
        return partial(structure.inventory_of, expected=today.derivation.form)

    def with_components(built: Built) -> Inventory:
        known = today.components or {}
        missing = structure.find_components(each for each in built.tensors if each.name not in known)
        return structure.inventory_of(built, components={**missing, **known})

    return with_components


def _attribute_change(former: ModelAtCommit, today: Today) -> Shares:
    """Return rows for the changed keys that the closed forms read, and last a row for a change by code."""
    if former.derivation is None or today.derivation is None:
        return Shares()
    from pytest_bertsize.closed_forms.attribution import Moved, attribute, difference

    found = attribute(former.derivation, today.derivation)
    code = difference(today.actual.own, today.derivation.form.own) if today.actual else {}
    return Shares((*found.moved, *([Moved(CODE, "", "", code)] if code else [])), found.method)


def _list_moves(before: Model, after: Model, revision: str) -> Iterator[str]:
    if before.name != after.name:
        yield f"renamed: the table at {revision} calls it {before.name}"
    if normpath(before.config) != normpath(after.config):
        file, _, inner = after.config.partition("#")
        now = f"the object {inner} of {file}" if inner else file
        yield printable(f"its config was {before.config} at {revision}, and is {now} now")


def _explain_lack(former: ModelAtCommit, today: Today, baseline: Baseline) -> Iterator[str]:
    """Say why counts are not compared, and how to make a lock if only a lock can show what changed."""
    if former.problem and not former.locked:
        yield f"at {baseline.revision} it cannot be counted: {former.problem}"
    uncounted = not former.model.closed_form or not today.model.closed_form or former.model.is_made_by_code
    if uncounted and former.derivation is None and former.locked is None:
        yield f"at {baseline.revision} {former.why_not_locked}; {MAKE_ONE}"
    if today.derivation is None and not today.model.closed_form and former.derivation:
        yield "closed_form = false: the change is not attributed to keys"


def _list_other_keys(former: ModelAtCommit, today: Today, moved: set[str]) -> Iterator[str]:
    """Name the changed keys that have no row, so that a reviewer sees every change.

    These keys moved nothing if the closed forms of both sides explain the whole change.
    """
    if former.config is None or today.config is None or today.model.has_config_of_build:
        return
    before, after = former.written_keys, {**today.config.flat, **today.model.overrides}
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    rest = sorted(key for key in changed if key not in {*moved, *_IDENTITY})
    if not rest:
        return
    named = listed([*map(printable, rest)], MOST_NAMED)
    if former.derivation and today.derivation:
        yield f"also changed{'' if CODE in moved else ', and moved nothing'}: {named}"
    else:
        yield f"these keys changed: {named}; the effect of each is not known"


# the effect of each key without a closed form, by builds with keys put back


def divide_change(
    put_back: PutBack, before: Counts, now: Inventory, components: Callable[[Built], Inventory]
) -> Shares:
    """Measure three effects on the parameters: of each key alone, of the keys together, and of the code.

    :param before: the base's counts by component.
    :param components: assigns components to the tensors of a build.
    """
    from pytest_bertsize.closed_forms.attribution import Moved, alone_and_together, difference, in_one_row

    if put_back.problem:
        named = f"these keys changed: {put_back.named}; " if put_back.keys else ""
        return Shares(said=(f"{named}the effects of keys and code are not known: {put_back.problem}",))
    counts: dict[int | None, Counts] = {} if put_back.keys else {None: now.own}
    for key, request in put_back.requests.items():
        built = put_back.result(request.name) if put_back.result else None
        if isinstance(built, Built):
            counts[key] = components(built).own
        elif key is None:
            why = built.reason if built else "nothing is built"
            back = ", ".join(printable(name) for name, *_ in put_back.keys)
            unknown = f"these keys changed: {put_back.named}; the effect of each is not known"
            return Shares(said=(f"{unknown}, because the model cannot be built with {back} put back: {why}",))
    code = difference(counts[None], before)
    last = (Moved(CODE, "", "", code),) if code else ()
    builds = len(put_back.requests)
    if len(counts) <= builds - 1:
        row = in_one_row(put_back.keys, difference(now.own, counts[None]))
        return Shares((row, *last), "these keys go together: the model cannot be built with one of them changed alone")
    alone = [now.own] if len(put_back.keys) == 1 else [counts[index] for index in range(len(put_back.keys))]
    rows = alone_and_together(put_back.keys, counts[None], alone, now.own)
    back = "the key put back to its old value" if builds == 1 else "keys put back to their old values"
    method = f"by {plural(builds, 'build')} of today's code with {back}" if builds else ""
    return Shares((*rows, *last), method)
