"""Names of tensors with their layers folded: ``encoder.layer[0:12].output.weight`` stands for twelve tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Indices = tuple[int, ...]
    Box = tuple[range, ...]

_INDEX = re.compile(r"(?<![^.])(?:0|[1-9][0-9]{0,5})(?![^.])")  # an index in a name: the 3 in layer.3.weight
_HOLE = "\0"
STAR = "[*]"  # the sign for a tied tensor's own layer in the name of its owner: layer[*].query
_RANGE = re.compile(r"\[([0-9]{1,6}):([0-9]{1,6})\]")
_ESCAPED = {"%": "%25", "[": "%5B", "]": "%5D"}
MOST_NAMES = 200_000  # the most names that one folded name may stand for


def split_indices(name: str) -> tuple[str, Indices]:
    """Split ``layer.3.weight`` into ``layer.*.weight`` and ``(3,)``; a NUL is in the place of the ``*``."""
    return _INDEX.sub(_HOLE, name), tuple(int(found[0]) for found in _INDEX.finditer(name))


def join_indices(template: str, indices: Iterable[int]) -> str:
    """Put indices back where :func:`split_indices` has taken them out."""
    left = iter(indices)
    return "".join(str(next(left)) if part == _HOLE else part for part in re.split(f"({_HOLE})", template))


def group_indices(places: Iterable[Indices]) -> list[Box]:
    """Group tuples of indices into few blocks, each a range on every axis; every tuple is in exactly one block."""
    rest: dict[int, list[Indices]] = {}
    for place in sorted(set(places)):
        if not place:
            return [()]
        rest.setdefault(place[0], []).append(place[1:])
    runs: list[tuple[range, list[Box]]] = []
    for index, below in rest.items():
        inner = group_indices(below)
        if runs and runs[-1][0].stop == index and runs[-1][1] == inner:
            runs[-1] = (range(runs[-1][0].start, index + 1), inner)
        else:
            runs.append((range(index, index + 1), inner))
    return [(run, *box) for run, inner in runs for box in inner]


def write_folded(template: str, box: Sequence[range], several: str = "") -> str:
    """Write ``layer[0:12].weight`` for ``layer.*.weight`` with the indices 0 to 11, or ``several`` for the range."""
    left, text = iter(box), ""
    for part in template.split("."):
        if part == _HOLE:
            run = next(left)
            said = several or f"[{run.start}:{run.stop}]"
            said = said if len(run) > 1 else str(run.start)
            text += said if said.startswith("[") or not text else f".{said}"
        else:
            text += f".{part}" if text else part
    return text


def fold_names(names: Iterable[str]) -> list[str]:
    """Return names with their layers folded."""
    return [name for name, _ in fold_alike(names, lambda _: None)]


def fold_alike(names: Iterable[str], alike: Callable[[str], Hashable]) -> Iterator[tuple[str, list[str]]]:
    """Fold names that differ only in their layer, and for which ``alike`` returns the same.

    Yield each folded name, and the names that it stands for.
    """
    groups: dict[tuple[str, Hashable], list[Indices]] = {}
    for name in names:
        template, place = split_indices(name)
        groups.setdefault((template, alike(name)), []).append(place)
    for (template, _), places in groups.items():
        for box in group_indices(places):
            yield write_folded(template, box), [join_indices(template, place) for place in product(*box)]


def escape_name(name: str) -> str:
    """Escape the brackets in a name, so that none is read as a range."""
    return re.sub(r"[%\[\]]", lambda found: _ESCAPED[found[0]], name)


def unfold_name(text: str) -> Iterator[tuple[str, Indices]]:
    """Yield the names that a folded name stands for, with their indices; raise ValueError for other brackets."""
    parts = _RANGE.split(text)
    runs = [range(int(low), int(high)) for low, high in zip(parts[1::3], parts[2::3], strict=True)]
    plain = parts[::3]
    if any("[" in part or "]" in part for part in plain):
        raise ValueError("a range is written [0:12]")
    if not all(len(run) for run in runs) or prod(map(len, runs)) > MOST_NAMES:
        raise ValueError(f"a range goes up, as in [0:12], and stands for at most {MOST_NAMES:,} tensors")
    for place in product(*runs):
        yield put_indices(plain, place), place


def put_indices(parts: Sequence[str], place: Indices) -> str:
    """Return the name with an index before each part but the first, and with its brackets: ``layer``, ``.w`` and 2."""
    name, *rest = parts
    for index, part in zip(place, rest, strict=False):
        name += f"{'.' if name else ''}{index}{part}"
    for sign, code in reversed(_ESCAPED.items()):
        name = name.replace(code, sign)
    return name
