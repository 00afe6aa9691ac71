"""Which configs are what a trainer has saved of another one: those alone are left out, not every one that is equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.counted import counted_as
from pytest_bertsize.findings import Unusable
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.counted import Counted
    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.commands.init.found import Found


@dataclass
class Copies:
    """What each config that stays stands for."""

    files: Listed
    of: dict[str, list[str]] = field(default_factory=dict)
    """References, by that of the config they are copies of."""

    def add(self, original: str, copy: str) -> None:
        self.of.setdefault(original, []).extend((copy, *self.of.pop(copy, ())))

    def said(self) -> Iterator[str]:
        """A line for the copies of each config."""
        for original, copies in self.of.items():
            first, rest = printable(copies[0]), len(copies) - 1
            if rest:
                yield f"left out: {first} and {rest} more, copies of {printable(original)} in checkpoint folders"
            else:
                yield f"left out: {first}, a copy of {printable(original)} in a checkpoint folder"


def without_equal(found: list[Found], declared: Collection[str], copies: Copies) -> list[Found]:
    """Leave out checkpoints that say what a config outside of them says, else all but one of a training run's.

    Two files that both may be changed by hand are two configs, though they say the same today.
    """
    files = copies.files
    by_itself: dict[str, Found] = {}
    with_weights: dict[str, Found] = {}
    steps: dict[tuple[str, str], Found] = {}
    for each in found:
        if each.reference in declared or not files.is_of_a_checkpoint(each.file):
            by_itself.setdefault(each.content, each)
        elif files.run_of(each.file) is None:
            with_weights.setdefault(each.content, each)
    kept = []
    for each in found:
        original = each
        if each.reference not in declared and files.is_of_a_checkpoint(each.file):
            original = by_itself.get(each.content, each)
            if original is each and (run := files.run_of(each.file)) is not None:
                original = with_weights.get(each.content) or steps.setdefault((each.content, run), each)
        if original is each:
            kept.append(each)
        else:
            copies.add(original.reference, each.reference)
    return kept


def without_saved(found: list[Counted], declared: Collection[str], copies: Copies, registry: Registry) -> list[Counted]:
    """Leave out what checkpoints hold of configs that stand outside, be it that a trainer has added the defaults.

    A config that names no class is counted as the one that all its copies name.
    """
    outside = [each for each in found if not copies.files.is_of_a_checkpoint(each.found.file)]
    settled = {*declared, *(each.found.reference for each in outside)}
    kept = {each.found.reference: each for each in found}
    saved: dict[str, list[Counted]] = {}
    for each in found:
        if each.found.reference in settled:
            continue
        if original := next((other for other in outside if _is_copy(each, other)), None):
            del kept[each.found.reference]
            copies.add(original.found.reference, each.found.reference)
            saved.setdefault(original.found.reference, []).append(each)
    for reference, those in saved.items():
        named = {each.class_name: each for each in those if each.architecture is None}
        if kept[reference].architecture is not None and len(named) == 1:
            (copy,) = named.values()
            kept[reference] = _counted_as(kept[reference], copy, registry)
    return list(kept.values())


def _is_copy(one: Counted, other: Counted) -> bool:
    if one.shape != other.shape:
        return False
    return one.class_name == other.class_name or not other.found.config.architectures


def _counted_as(one: Counted, other: Counted, registry: Registry) -> Counted:
    try:
        return counted_as(one, other, registry)
    except Unusable:
        return one
