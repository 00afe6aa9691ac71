"""Which of several equal configs is declared: the one that its author writes, not what a trainer has copied of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Unusable, printable
from pytest_bertsize.starting.counted import counted_as

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.starting.counted import Counted
    from pytest_bertsize.starting.files import Listed
    from pytest_bertsize.starting.found import Found


@dataclass
class Copies:
    """What each config that stays stands for."""

    files: Listed
    of: dict[str, list[str]] = field(default_factory=dict)
    """References, by that of the config they are copies of."""

    def add(self, original: str, copy: str) -> None:
        self.of.setdefault(original, []).extend((copy, *self.of.pop(copy, ())))

    def said(self) -> Iterator[str]:
        """A line for the copies of each config in checkpoint folders, and for those elsewhere."""
        for original, copies in self.of.items():
            saved = [each for each in copies if self.files.is_of_a_checkpoint(each.partition("#")[0])]
            others = [each for each in copies if each not in saved]
            if len(saved) == 1:
                yield f"left out: {printable(saved[0])}, a copy of {printable(original)} in a checkpoint folder"
            elif saved:
                yield f"left out: {_first_of(saved)}, copies of {printable(original)} in checkpoint folders"
            if others:
                yield f"left out: {_first_of(others)}, the same as {printable(original)}"


def _first_of(references: list[str]) -> str:
    rest = len(references) - 1
    return f"{printable(references[0])}{f' and {rest} more' if rest else ''}"


def without_equal(found: list[Found], declared: Collection[str], copies: Copies) -> list[Found]:
    """One of those that say the same: a declared one, else one outside of checkpoints, near the root."""

    def rank(each: Found) -> tuple[bool, bool, int, str]:
        of_a_checkpoint = copies.files.is_of_a_checkpoint(each.file)
        return each.reference not in declared, of_a_checkpoint, each.file.count("/"), each.reference

    kept: dict[str, Found] = {}
    for each in sorted(found, key=rank):
        first = kept.setdefault(each.content, each)
        if first is not each and each.reference not in declared:
            copies.add(first.reference, each.reference)
    names = {each.reference for each in kept.values()}
    return [each for each in found if each.reference in names]


def without_saved(found: list[Counted], declared: Collection[str], copies: Copies, registry: Registry) -> list[Counted]:
    """Leave out what checkpoints hold of configs that stand outside, be it that a trainer has added the defaults.

    A config that names no class is counted as the one that all its copies name.
    """
    outside = [each for each in found if not copies.files.is_of_a_checkpoint(each.found.file)]
    settled = {*declared, *(each.found.reference for each in outside)}
    kept = {each.found.reference: each for each in found}
    saved: dict[str, list[Counted]] = {}
    for each in found:
        original = next((other for other in outside if _is_copy(each, other)), None)
        if each.found.reference not in settled and original is not None:
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
