"""Paths into a model as a table writes them: ``"bert.encoder.layer[:6]"`` → the modules that it means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pytest_bertsize.wording import nearest_to, printable, shown

_SLICE = re.compile(r"\[(-?\d{1,9})?(:)?(-?\d{1,9})?\]", re.ASCII)
_PATH = re.compile(r"[\w-]+(?:\.[\w-]+|\[[^\[\]]*\])*")
_PART = re.compile(r"[^.\[]+|\[[^\]]*\]")
MOST_SHOWN = 6


def is_under(name: str, paths: Collection[str]) -> bool:
    """Whether a tensor is one of these, or in a module that is."""
    parts = name.split(".")
    return any(".".join(parts[:depth]) in paths for depth in range(1, len(parts) + 1))


def concrete(key: str, written: str, names: Collection[str]) -> Iterator[str]:
    """The modules that a path means: ``layer[:2]`` → ``layer.0``, ``layer.1``.

    :param key: of the table, that has the path.
    :param names: of the model's tensors.
    :raises ValueError: in words, for a path that leads nowhere.
    """
    if not _PATH.fullmatch(written):
        meant = re.sub(r"\.\*(?=\.)", "[:]", written.removesuffix(".*"))
        fix = shown(meant) if _PATH.fullmatch(meant) else 'one, as in "bert.encoder.layer[:6]"'
        raise ValueError(f"{key}: {shown(written)} is no path; write {fix}")
    found = [""]
    for part in _PART.finditer(written):
        if part[0].startswith("["):
            found = [f"{path}.{index}" for path in found for index in _chosen(key, part[0], path, names, written)]
        else:
            found = [f"{path}.{part[0]}".removeprefix(".") for path in found]
            if not any(f"{name}.".startswith(f"{path}.") for name in names for path in found):
                raise ValueError(f"{key}: the model has no {printable(found[0])}; {_instead(found[0], part, names)}")
    yield from found


def _instead(path: str, part: re.Match[str], names: Collection[str]) -> str:
    """What to write in place of a path of which ``part`` is not there."""
    end = part.string[part.end() :]
    outer = path.removesuffix(part[0])
    there = list(dict.fromkeys(name.removeprefix(outer).split(".")[0] for name in names if name.startswith(outer)))
    if nearest := nearest_to(part[0], there):
        return f"did you mean {shown(f'{outer}{nearest}{end}')}?"
    if elsewhere := _elsewhere(part[0], names):
        return f"did you mean {shown(f'{elsewhere}{end}')}?"
    return f"there is {printable(', '.join(f'{outer}{each}' for each in there[:MOST_SHOWN]))}"


def _elsewhere(part: str, names: Collection[str]) -> str:
    """The whole path of a module that was named without what it is in."""
    for name in names:
        parts = name.split(".")
        if part in parts:
            return ".".join(parts[: parts.index(part) + 1])
    return ""


def _chosen(key: str, part: str, path: str, names: Collection[str], written: str) -> list[int]:
    """The indices that ``[:6]`` or ``[0]`` means among those that a list has."""
    matched = _SLICE.fullmatch(part)
    if matched is None or not any(matched.groups()):
        raise ValueError(f"{key}: {shown(part)} in {shown(written)} is no slice; write [:6], [6:], [2:4], [0] or [-2:]")
    inside = f"{path}."
    heads = {name.removeprefix(inside).split(".")[0] for name in names if name.startswith(inside)}
    there = sorted(int(head) for head in heads if head.isdecimal())
    if not there:
        raise ValueError(f"{key}: {printable(path)} in {shown(written)} is no list of layers; leave {part} out")
    first, colon, last = matched.groups()
    if colon:
        taken = there[int(first) if first else None : int(last) if last else None]
    else:
        at = int(first)
        taken = there[at : at + 1 or None]
    if not taken:
        raise ValueError(f"{key}: {shown(written)} names no layer: {printable(path)} has {there[0]} to {there[-1]}")
    return taken
