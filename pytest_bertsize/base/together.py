"""What happened alike is told once: to the layers of a list by one name, and to several modules in one sentence."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.base.ranges import boxes, folded, put_together, taken_apart, written

if TYPE_CHECKING:
    from pytest_bertsize.base.module_paths import Side

    Place = tuple[str, list[str]]
    """A name with layers folded, and the paths that it stands for."""
    Renamed = tuple[str, str, list[str]]
    """The name that it had, and those of a :data:`Place`."""


class One(NamedTuple):
    """What happened at one path, before layers are folded."""

    path: str
    like: Hashable
    """What another has to have in common to be told with it."""
    other: str = ""
    """The path that it was, or that it is now."""


def by_layer(ones: Sequence[One]) -> Iterator[Place]:
    """Those that are alike but for their layer, by one name."""
    groups: dict[Hashable, list[One]] = {}
    for one in ones:
        groups.setdefault((taken_apart(one.path)[0], one.like), []).append(one)
    for members in groups.values():
        template = taken_apart(members[0].path)[0]
        for box in boxes(taken_apart(one.path)[1] for one in members):
            places = _places(box)
            yield written(template, box), [put_together(template, place) for place in places]


def by_leaf(found: Iterable[Place], side: Side) -> Iterable[list[Place]]:
    """What has one name in several modules together: tensors, and modules of the same shapes; else one by one."""
    groups: dict[Hashable, list[Place]] = {}
    for name, paths in found:
        leaf, signature = paths[0].rpartition(".")[2], side.signature(paths[0])
        is_by_itself = leaf.isdigit() or any(each.tied_to for each in side.paths[paths[0]])
        like = "" if paths[0] in side.tensors else signature
        groups.setdefault((name, name) if is_by_itself else (leaf, like), []).append((name, paths))
    return groups.values()


def by_new_name(moved: Iterable[Renamed]) -> Iterator[list[Renamed]]:
    """What has one other name in several modules together, and what has other names in one module; else one by one."""
    by_name: dict[Hashable, list[Renamed]] = {}
    for each in moved:
        (old, _, former), (new, _, name) = (path.rpartition(".") for path in each[:2])
        stays = old == new and not former[-1:].isdigit() and not name[-1:].isdigit() and "[" not in former + name
        by_name.setdefault((former, name) if stays else each[1], []).append(each)
    by_place: dict[Hashable, list[Renamed]] = {}
    for key, places in by_name.items():
        if len(places) > 1:
            yield places
        else:
            place = (places[0][1].rpartition(".")[0],) if isinstance(key, tuple) else key
            by_place.setdefault(place, []).extend(places)
    yield from by_place.values()


def _places(box: Sequence[range]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for run in box:
        found = [(*place, index) for place in found for index in run]
    return found


def names_of(paths: Iterable[str]) -> str:
    """Several paths as one, where they differ in their layer alone."""
    return ", ".join(name for name, _ in folded(dict.fromkeys(paths)))
