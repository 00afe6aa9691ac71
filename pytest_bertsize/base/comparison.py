"""A model held against what it was at the base: in words, component by component, and key by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from posixpath import normpath
from typing import TYPE_CHECKING, Literal

from pytest_bertsize.builder import structure
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.config.vocabulary import IMPLEMENTATIONS
from pytest_bertsize.differences import Difference, compare_inventories
from pytest_bertsize.wording import listed, plural, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.builder.messages import NotBuilt, Request
    from pytest_bertsize.closed_forms.attribution import Counts, Moved
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Model

WRITTEN = 'lock = "bertsize.lock" in [tool.bertsize], written by pytest --bert-budget --bert-budget-update'
MAKE_ONE = f"a lock would say what changed: {WRITTEN}, and committed"
MOST_NAMED = 6
"""Keys without effect that a sentence names before it counts the rest."""
CODE = "code"
"""The row of what no key explains."""
_IDENTITY = {"architectures", "model_type", "id2label", "label2id", "num_labels", *IMPLEMENTATIONS}


@dataclass(frozen=True, slots=True)
class PutBack:
    """The keys that changed, and what is built to know what each of them moved."""

    keys: tuple[tuple[str, str, str], ...] = ()
    """Name, and both values as a report shows them."""
    requests: Mapping[int | None, Request] = field(default_factory=dict)
    """By the one key that has today's value; all others are put back. Of ``None``, all of them are."""
    problem: str = ""
    """Why nothing is built again."""
    result: Callable[[str], Built | NotBuilt] | None = None

    @property
    def named(self) -> str:
        return listed([printable(key) for key, *_ in self.keys], MOST_NAMED)


@dataclass(frozen=True, slots=True)
class Shared:
    """What keys and code moved."""

    moved: tuple[Moved, ...] = ()
    method: str = ""
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What a model was at the base, and what became of it."""

    revision: str
    commit: str
    config: str | None
    """The base's own; ``None``: the model is new."""
    inventory: Inventory | None
    """By the closed form or the lock; ``None``: new, or it cannot be counted there."""
    said: tuple[str, ...]
    """What a count does not show: a new model, a renamed file."""
    moved: tuple[Moved, ...] = ()
    method: str = ""
    now: Inventory | None = None
    tensors: tuple[Difference, ...] = ()
    """What became of its tensors; empty where both have a closed form, whose keys say it."""
    by: Literal["", "closed form", "lock"] = "closed form"
    """What the base's count is of; ``""`` where it has none."""
    is_new: bool = False
    """Whether the base declares no such model."""
    former_name: str = ""
    """What the base calls the model, where that is another name."""

    @cached_property
    def _gross(self) -> tuple[int, int]:
        from pytest_bertsize.closed_forms.attribution import came_and_went

        return came_and_went(self.now.own, self.inventory.own) if self.now and self.inventory else (0, 0)

    @property
    def grown(self) -> int:
        """Parameters that came, over all components; net is ``grown - shrunk``."""
        return self._gross[0]

    @property
    def shrunk(self) -> int:
        """Parameters that went."""
        return self._gross[1]


@dataclass(frozen=True, slots=True)
class Today:
    """A model as it is now."""

    model: Model
    config: ModelConfig | None
    derivation: Derivation | None
    actual: Inventory | None
    components: Mapping[str, str] | None = None
    """Of each tensor, of the base's as well, where no closed form says it."""
    put_back: PutBack | None = None
    """Which keys changed, where no closed form compares them."""


def compared(today: Today, baseline: Baseline | None) -> Comparison | None:
    """Hold a model against the base; ``None`` where the run has none."""
    if baseline is None or baseline.commit is None:
        return None
    former = baseline.find_former(today.model.name)
    if former is None:
        mistake = baseline.find_mistake(today.model)
        said = f"new: {baseline.revision} declares no such model"
        if mistake:
            said = f"its table at {baseline.revision} cannot be read"
        return Comparison(baseline.revision, baseline.commit, None, None, (said,), is_new=mistake is None)
    locked = _of_lock(former, today)
    tensors = (*compare_inventories(locked, today.actual),) if locked and today.actual else ()
    found = _by_lock(today, locked, tensors) if locked else _moved(former, today)
    expected = today.derivation.form.inventory if today.derivation else None
    form = former.form.inventory if former.form else None
    return Comparison(
        baseline.revision,
        baseline.commit,
        former.model.config,
        locked or form,
        (*_in_words(former, today, baseline, {row.key for row in found.moved}, locked), *found.said),
        found.moved,
        found.method,
        today.actual or expected,
        tensors,
        "lock" if locked else "closed form" if form else "",
        former_name="" if former.model.name == today.model.name else former.model.name,
    )


def _of_lock(former: ModelAtCommit, today: Today) -> Inventory | None:
    """What the base's lock has of a model, unless closed forms compare it."""
    if former.locked is None or (former.derivation and today.derivation):
        return None
    if today.derivation is None and today.components is None:
        return None  # it was not built, and what its modules are called nobody knows
    return _components(today)(Built(former.locked.tensors, {}))


def _components(today: Today) -> Callable[[Built], Inventory]:
    """Today's components, for what was built of it otherwise: what today does not have is where it would be."""
    if today.derivation:
        return partial(structure.inventory_of, expected=today.derivation.form.inventory)

    def named(built: Built) -> Inventory:
        known = today.components or {}
        missing = structure.find_components(each for each in built.tensors if each.name not in known)
        return structure.inventory_of(built, components={**missing, **known})

    return named


def _by_lock(today: Today, locked: Inventory, tensors: Sequence[Difference]) -> Shared:
    if today.actual is None or today.put_back is None:
        return Shared()
    found = divide_change(today.put_back, locked.own, today.actual, _components(today))
    if any(each.count for each in tensors):
        return found
    return replace(found, moved=tuple(row for row in found.moved if row.key != CODE))  # other names, and no count


def _moved(former: ModelAtCommit, today: Today) -> Shared:
    """The keys' rows, and behind them the code's."""
    if former.derivation is None or today.derivation is None:
        return Shared()
    from pytest_bertsize.closed_forms.attribution import Moved, Side, attribute, difference

    found = attribute(Side.of(former.derivation), Side.of(today.derivation))
    code = difference(today.actual.own, today.derivation.form.inventory.own) if today.actual else {}
    return Shared((*found.moved, *([Moved(CODE, "", "", code)] if code else [])), found.method)


def _in_words(
    former: ModelAtCommit, today: Today, baseline: Baseline, moved: set[str], locked: Inventory | None
) -> Iterator[str]:
    """What is no number, and what is none that counts."""
    before, after = former.model, today.model
    if before.name != after.name:
        yield f"renamed: the table at {baseline.revision} calls it {before.name}"
    if normpath(before.config) != normpath(after.config):
        yield _config_moved(before.config, after.config, baseline.revision)
    if locked is None:
        if former.problem and not former.locked:
            yield f"at {baseline.revision} it cannot be counted: {former.problem}"
        if former.derivation is None or today.derivation is None:
            yield from _without_lock(former, today, baseline)
    if former.config and today.config and locked is None:
        yield from _other_keys(former, today, moved)


def _without_lock(former: ModelAtCommit, today: Today, baseline: Baseline) -> Iterator[str]:
    """Where only a lock would say what changed: that there is none, and how to make one."""
    uncounted = not former.model.closed_form or not today.model.closed_form or former.model.is_made_by_code
    if uncounted and former.derivation is None and former.locked is None:
        yield f"at {baseline.revision} {baseline.project.why_not_locked}; {MAKE_ONE}"
    if today.derivation is None and not today.model.closed_form and former.derivation:
        yield "closed_form = false: no key has a share in what changed"


def _config_moved(before: str, after: str, revision: str) -> str:
    file, _, inner = after.partition("#")
    now = f"the object {inner} of {file}" if inner else file
    return printable(f"its config was {before} at {revision}, and is {now} now")


def _written(config: ModelConfig, model: Model) -> dict[str, object]:
    return {**config.flat, **model.overrides}


def _other_keys(former: ModelAtCommit, today: Today, moved: set[str]) -> Iterator[str]:
    """Keys that changed beside those with a row: a reviewer sees that they were looked at.

    That they moved nothing is known where closed forms of both sides leave nothing to explain.
    """
    assert former.config
    assert today.config
    before, after = _written(former.config, former.model), _written(today.config, today.model)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    rest = sorted(key for key in changed if key not in {*moved, *_IDENTITY})
    if not rest:
        return
    named = listed([*map(printable, rest)], MOST_NAMED)
    if former.derivation and today.derivation and CODE not in moved:
        yield f"also changed, and moved nothing: {named}"
    elif former.derivation and today.derivation:
        yield f"also changed: {named}"
    else:
        yield f"these keys changed: {named}; what each of them moved is not known"


# which changed key moved what, where no closed form says it: by what is built with keys put back


def divide_change(
    put_back: PutBack, before: Counts, now: Inventory, components: Callable[[Built], Inventory]
) -> Shared:
    """Tell what each key moved alone, what they moved together, and what the code moved.

    :param before: of the base, by component.
    :param components: gives what was built its components.
    """
    from pytest_bertsize.closed_forms.attribution import Moved, alone_and_together, difference, in_one_row

    if put_back.problem:
        named = f"these keys changed: {put_back.named}; " if put_back.keys else ""
        return Shared(said=(f"{named}which of them or of the code moved what is not known: {put_back.problem}",))
    counts: dict[int | None, Counts] = {} if put_back.keys else {None: now.own}
    for key, request in put_back.requests.items():
        built = put_back.result(request.name) if put_back.result else None
        if isinstance(built, Built):
            counts[key] = components(built).own
        elif key is None:
            return Shared(said=(_not_built(put_back, built),))
    code = difference(counts[None], before)
    last = (Moved(CODE, "", "", code),) if code else ()
    builds = len(put_back.requests)
    if len(counts) <= builds - 1:
        row = in_one_row(put_back.keys, difference(now.own, counts[None]))
        return Shared((row, *last), "these keys go together: alone one of them is not built, with all of them it is")
    alone = [now.own] if len(put_back.keys) == 1 else [counts[index] for index in range(len(put_back.keys))]
    rows = alone_and_together(put_back.keys, counts[None], alone, now.own)
    back = "the key put back to what it was" if builds == 1 else "keys put back to what they were"
    method = f"by {plural(builds, 'build')} of today's code with {back}" if builds else ""
    return Shared((*rows, *last), method)


def _not_built(put_back: PutBack, result: NotBuilt | None) -> str:
    why = result.reason if result else "nothing was"
    unknown = f"these keys changed: {put_back.named}; what each of them moved is not known"
    back = ", ".join(printable(key) for key, *_ in put_back.keys)
    return f"{unknown}: with {back} put back it is not built: {why}"
