"""The sentences for what became of tensors, as a good reviewer would write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_bertsize.base.ranges import folded
from pytest_bertsize.wording import exact, listed, plural, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.module_paths import Side
    from pytest_bertsize.inventory import Tensor

Steps: TypeAlias = tuple[tuple[int, ...], ...] | tuple[tuple[int, int], ...]

MOST_SHAPES = 2
"""Tensors of a module that are shown with their shapes."""
MOST_NAMED = 3
_FOLDED = re.compile(r"\[[0-9]+:[0-9]+\]")
"""A range of layers, which stands behind their list without a dot."""
AXES = {1: ("length",), 2: ("rows", "columns")}


class Like(NamedTuple):
    """What else is built as a new module is."""

    others: int = 0
    """Modules of the same list that were there before."""
    same: int = 0
    """Those of them that are built alike."""
    unlike: int = 0
    """Parameters of one that is not."""
    twin: str = ""
    """A module elsewhere that is built alike."""
    is_backbone: bool = False
    """Whether that one has layers of its own."""


def change(count: int) -> str:
    return signed(count) if count else "no count changed"


def _is(paths: Sequence[str], name: str) -> str:
    """``layer.12 is``, ``layer[12:14] are``; of what is in each layer, ``layer[0:12].norm is``."""
    return f"{printable(name)} {_be(paths)}"


def _be(paths: Sequence[str]) -> str:
    """Of one name; of none, that of the model."""
    return "are" if len(paths) > 1 and paths[0].rpartition(".")[2].isdigit() else "is"


def _counted(each: int, times: int) -> str:
    return exact(each) if times == 1 else f"{times:,} × {exact(each)} = {exact(each * times)}"


def _shapes(path: str, side: Side) -> str:
    """``(weight 768×9, bias 9)`` of what is small; ``""`` of a tensor itself, and of more than a few."""
    inside = side.paths[path]
    if len(inside) > MOST_SHAPES:
        rows = folded(each.name.removeprefix(f"{path}.") for each in inside)
        heads = {name.split("[")[0] for name, times in rows if "[" in name and times > 1}
        return f" ({plural(len(inside), 'tensor')}{f' in {_lists(heads)}' if len(heads) == 1 else ''})"
    shown = (
        f"{printable(each.name.removeprefix(path).removeprefix('.'))} {dimensions(each.shape)}".strip()
        for each in inside
    )
    return f" ({', '.join(shown)})"


def _lists(heads: set[str]) -> str:
    return printable(next(iter(heads))) or "a list"


def dimensions(shape: tuple[int, ...]) -> str:
    """``768×3,072``."""
    return "×".join(map(exact, shape)) or "one number"


def new(name: str, paths: Sequence[str], each: int, like: Like, after: Side) -> str:
    path = paths[0]
    shared = next((tensor.tied_to for tensor in after.paths[path] if tensor.tied_to), "")
    if shared and not each:
        owner = printable(_module_of(path, after))
        return f"{_is(paths, name)} new by name alone: what it holds is {owner}, and nothing is added"
    said = f"{_is(paths, name)} new: {_counted(each, len(paths))}{'' if like.others else _shapes(path, after)}"
    return f"{said}{f', beside what it shares with {printable(shared)}' if shared else ''}{_alike(like)}"


def _alike(like: Like) -> str:
    if like.others and like.same == like.others:
        return f", like the other{f' {exact(like.others)}' if like.others > 1 else ''}"
    if like.same:
        return f", like {exact(like.same)} of the {exact(like.others)} others"
    if like.others:
        return f", unlike the others, which have {exact(like.unlike)}"
    if like.is_backbone:
        return f", built like {printable(like.twin)}: a second backbone"
    return f", built like {printable(like.twin)}" if like.twin else ""


def _module_of(path: str, side: Side) -> str:
    """The module that a shared one is, or its first tensor's owner."""
    first = side.paths[path][0]
    assert first.tied_to
    owner = first.tied_to.removesuffix(first.name.removeprefix(path))
    return owner if owner in side.paths else first.tied_to


def gone(name: str, paths: Sequence[str], each: int, left: int, before: Side) -> str:
    if not each and (owner := next((tensor.tied_to for tensor in before.paths[paths[0]] if tensor.tied_to), None)):
        return f"{_is(paths, name)} gone by name alone: it shared {printable(owner)}, and nothing is taken"
    rest = f", and {exact(left)} {'is' if left == 1 else 'are'} left" if left else ""
    return f"{_is(paths, name)} gone: {_counted(each, len(paths))}{'' if left else _shapes(paths[0], before)}{rest}"


def renamed(former: str, name: str, paths: Sequence[str], after: Side) -> str:
    count = sum(map(after.count, paths))
    return f"{_is(paths, former)} {printable(name)} now, of the same shapes: {exact(count)}"


def all_renamed(names: Sequence[tuple[str, str]], paths: Sequence[str], after: Side) -> tuple[str, str]:
    """Where, and the sentence, of one other name in several modules, or of several in one.

    :param names: former and present, with layers folded.
    """
    count = exact(sum(map(after.count, paths)))
    former, now = ([path.rpartition(".")[2] for path in side] for side in zip(*names, strict=True))
    places = [name.rpartition(".")[0] for _, name in names]
    where = _common(places)
    whole = f"{printable(where) or 'the model'}: "
    if len(set(places)) == 1:
        several, others = (_several([printable(name) for name in side]) for side in (former, now))
        return where, f"{whole}{several} are {others} now, of the same shapes: {count}"
    inside = _several(["itself" if place == where else _inside(where, [place])[0] for place in places])
    return where, f"{whole}{printable(former[0])} is {printable(now[0])} now in {inside}, of the same shapes: {count}"


def merged(how: Literal["joined", "parted"], one: str, parts: Sequence[str]) -> str:
    where = _common([one, *parts])
    several, (single,) = _and(_inside(where, parts)), _inside(where, [one])
    which = f"{printable(where)}: " if where else ""
    if how == "joined":
        return f"{which}{several} are one layer now, {single}"
    return f"{which}{single} is {plural(len(parts), 'layer')} now, {several}"


def _several(names: Sequence[str]) -> str:
    return _and(names) if len(names) <= MOST_NAMED else listed(names, MOST_NAMED)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def rebuilt(name: str, paths: Sequence[str], before: Side, after: Side) -> str:
    path = paths[0]
    was, now = (f"{_counted(side.count(path), len(paths))}{_shapes(path, side)}" for side in (before, after))
    return f"{_is(paths, name)} built otherwise: {was} became {now}"


def several(
    kind: Literal["new", "gone", "frozen", "trained"], names: Sequence[str], paths: Sequence[str], side: Side
) -> tuple[str, str]:
    """Where, and the sentence, of what has one name in several modules.

    :param names: with layers folded.
    """
    where, leaf = _common(names), printable(paths[0].rpartition(".")[2])
    counts = [*map(side.count, paths)]
    alike = len(set(counts)) == 1
    what = "tensor" if paths[0] in side.tensors else "module"
    count = _counted(counts[0], len(counts)) if alike else f"{exact(sum(counts))} in {plural(len(counts), what)}"
    how = f"{kind}{'' if kind in {'new', 'gone'} else ' now'}: {count}"
    whole = printable(where) or "the model"
    if kind != "new" and set(paths) == {*_called(paths[0].rpartition(".")[2], where, paths, side)}:
        return where, f"every {leaf} in {whole} is {how}"
    return where, f"{whole}: {_several(_inside(where, names))} are {how}"


def _called(leaf: str, where: str, paths: Sequence[str], side: Side) -> Iterator[str]:
    """All of that name in the same modules: of the layers that a folded name stands for, in those that are meant."""
    depth = len([*filter(None, where.split("."))]) + len(_FOLDED.findall(where))
    meant = {tuple(path.split(".")[:depth]) for path in paths}
    return (
        path
        for path in side.paths
        if path.rpartition(".")[2] == leaf and tuple(path.split(".")[:depth]) in meant and side.count(path)
    )


def steps(old: tuple[int, ...], new: tuple[int, ...]) -> Steps:
    """What tells resized tensors from others: on which sizes, from what to what; else both shapes."""
    if len(old) != len(new) or sorted(old) == sorted(new):
        return old, new
    return tuple(sorted({(was, now) for was, now in zip(old, new, strict=True) if was != now}))


def resized(pairs: Sequence[tuple[Tensor, Tensor]], count: int, names: Sequence[str]) -> tuple[str, str]:
    """Where, and the sentence."""
    (old, new), *_ = pairs
    where = names[0] if len(names) == 1 else _common(names)
    many = plural(len(pairs), "tensor") if len(names) > MOST_NAMED else _and(_inside(where, names))
    tail = f" in {many}, {change(count)}" if len(names) > 1 else f", {change(count)}"
    if len(old.shape) != len(new.shape) or sorted(old.shape) == sorted(new.shape):
        how = "is turned" if old.shape == new.shape[::-1] else "has another shape"
        return (
            where,
            f"{printable(where) or 'the model'} {how}: {dimensions(old.shape)} → {dimensions(new.shape)}{tail}",
        )
    axes = {_axis(was, now) for was, now in pairs}
    axis = f"{next(iter(axes))} ".lstrip() if len(axes) == 1 else ""
    moved = dict.fromkeys((was, now) for was, now in zip(old.shape, new.shape, strict=True) if was != now)
    said = " and ".join(f"{exact(was)} → {exact(now)}" for was, now in moved)
    return where, f"{printable(where) or 'the model'}: {axis}{said}{tail}"


def _axis(old: Tensor, new: Tensor) -> str:
    differing = [axis for axis, (was, now) in enumerate(zip(old.shape, new.shape, strict=True)) if was != now]
    if len(differing) != 1:
        return ""
    known = AXES.get(len(old.shape))
    return known[differing[0]] if known else f"axis {differing[0]}"


def _common(names: Sequence[str]) -> str:
    """The module that all of them are in; ``""`` for none."""
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*(name.split(".") for name in names), strict=False))
    return ".".join(parts[0] for parts in shared)


def _inside(where: str, names: Sequence[str]) -> list[str]:
    """Names as they are in a module."""
    return [printable(name.removeprefix(f"{where}.")) for name in names]


def tie(kind: Literal["tied", "untied"], name: str, other: str, count: int, paths: Sequence[str]) -> str:
    if kind == "tied":
        return f"{_is(paths, name)} {printable(other)} now, and no tensor of {_own(paths)} own: {change(count)}"
    return f"{_is(paths, name)} of {_own(paths)} own now, and no longer {printable(other)}: {change(count)}"


def _own(paths: Sequence[str]) -> str:
    return "their" if _be(paths) == "are" else "its"


def trained(kind: Literal["frozen", "trained"], name: str, count: int, paths: Sequence[str]) -> str:
    what = "frozen" if kind == "frozen" else "trained"
    return f"{_is(paths, name)} {what} now: {exact(count)}"


def recast(was: str, now: str, names: Sequence[str], paths: Sequence[str], count: int) -> tuple[str, str]:
    """Where, and the sentence, of what is of another dtype.

    :param names: of ``paths`` with layers folded; none of the whole model.
    """
    where = names[0] if len(names) == 1 else _common(names)
    if len(names) > 1:
        is_one, what = False, f"{printable(where) or 'the model'}: {_several(_inside(where, names))}"
    else:
        is_one, what = _be(paths) == "is", printable(where) or "the model"
    is_now, was_then = ("is", "was") if is_one else ("are", "were")
    return where, f"{what} {is_now} of {printable(now)} now, and {was_then} of {printable(was)}: {exact(count)}"
