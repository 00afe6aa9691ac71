"""What a model does not train: written as paths into it, and said in words."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import Block, Parameter, tensors, terms
from pytest_bertsize.closed_forms.module_tree import copies, one_name_each, split
from pytest_bertsize.wording import nearest_to, printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_bertsize.closed_forms.blocks import Node

_SLICE = re.compile(r"\[(-?\d{1,9})?(:)?(-?\d{1,9})?\]", re.ASCII)
_PATH = re.compile(r"[\w-]+(?:\.[\w-]+|\[[^\[\]]*\])*")
_PART = re.compile(r"[^.\[]+|\[[^\]]*\]")
MOST_SHOWN = 6


# freezing


def freeze(root: Block, modules: Sequence[str]) -> Block:
    """The blocks of a model of which some modules do not train.

    :param root: with numbers; with symbols it comes back as it is, because no formula says what trains.
    :param modules: ``"bert.embeddings"``, a slice of layers ``"bert.encoder.layer[:6]"``, or a tensor's full name.
    :raises ValueError: in words, for a path that leads nowhere.
    """
    if not modules or not all(isinstance(term.times, int) for term in terms(root)):
        return root
    named = {tensor.name: tensor.tied_to or tensor.name for tensor in tensors(root)}
    paths = [path for module in modules for path in _concrete(module, named)]
    chosen = {named[name] for name in named if _is_under(name, set(paths))}
    frozen = {name for name, source in named.items() if source in chosen}  # what shares a tensor shares its fate
    return _without(one_name_each(root), "", frozen)


def _is_under(name: str, paths: set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:depth]) in paths for depth in range(1, len(parts) + 1))


def _concrete(written: str, names: Iterable[str]) -> Iterator[str]:
    """The modules that a path means: ``layer[:2]`` → ``layer.0``, ``layer.1``."""
    if not _PATH.fullmatch(written):
        raise ValueError(f'frozen: {shown(written)} is no path; write one, as in "bert.encoder.layer[:6]"')
    found = [""]
    for part in _PART.finditer(written):
        if part[0].startswith("["):
            found = [f"{path}.{index}" for path in found for index in _chosen(part[0], path, names, written)]
        else:
            found = [f"{path}.{part[0]}".removeprefix(".") for path in found]
            if not any(f"{name}.".startswith(f"{path}.") for name in names for path in found):
                raise ValueError(f"frozen: the model has no {printable(found[0])}; {_instead(found[0], part, names)}")
    yield from found


def _instead(path: str, part: re.Match[str], names: Iterable[str]) -> str:
    """What to write in place of a path of which ``part`` is not there."""
    end = part.string[part.end() :]
    outer = path.removesuffix(part[0])
    there = list(dict.fromkeys(name.removeprefix(outer).split(".")[0] for name in names if name.startswith(outer)))
    if nearest := nearest_to(part[0], there):
        return f"did you mean {shown(f'{outer}{nearest}{end}')}?"
    if elsewhere := _elsewhere(part[0], names):
        return f"did you mean {shown(f'{elsewhere}{end}')}?"
    return f"there is {printable(', '.join(f'{outer}{each}' for each in there[:MOST_SHOWN]))}"


def _elsewhere(part: str, names: Iterable[str]) -> str:
    """The whole path of a module that was named without what it is in."""
    for name in names:
        parts = name.split(".")
        if part in parts:
            return ".".join(parts[: parts.index(part) + 1])
    return ""


def _chosen(part: str, path: str, names: Iterable[str], written: str) -> list[int]:
    """The indices that ``[:6]`` or ``[0]`` means among those that a list has."""
    matched = _SLICE.fullmatch(part)
    if matched is None or not any(matched.groups()):
        raise ValueError(
            f"frozen: {shown(part)} in {shown(written)} is no slice; write [:6], [6:], [2:4], [0] or [-2:]"
        )
    inside = f"{path}."
    heads = {name.removeprefix(inside).split(".")[0] for name in names if name.startswith(inside)}
    there = sorted(int(head) for head in heads if head.isdigit())
    if not there:
        raise ValueError(f"frozen: {printable(path)} in {shown(written)} is no list of layers; leave {part} out")
    first, colon, last = matched.groups()
    if colon:
        taken = there[int(first) if first else None : int(last) if last else None]
    else:
        at = int(first)
        taken = there[at : at + 1 or None]
    if not taken:
        raise ValueError(f"frozen: {shown(written)} names no layer: {printable(path)} has {there[0]} to {there[-1]}")
    return taken


def _without(node: Block, inside: str, frozen: set[str]) -> Block:
    """A block whose tensors are frozen where their names say so, all its copies in one block."""
    parts = _parts(node, inside, frozen)
    return parts[0] if len(parts) == 1 else Block("", tuple(parts))


def _parts(node: Block, inside: str, frozen: set[str]) -> list[Block]:
    """A repeat as the runs of its copies that train alike; any other block as it is."""
    name = f"{inside}{node.name}." if node.name else inside
    if node.times is None:
        return [replace(node, children=_children(node.children, name, frozen))]
    if not any(each.startswith(name) for each in frozen):
        return [node]
    each = [(copy, _children(node.children, f"{name}{copy}.", frozen)) for copy in copies(node)]
    runs = [(children, [copy for copy, _ in run]) for children, run in groupby(each, key=lambda pair: pair[1])]
    return [replace(node, children=runs[0][0])] if len(runs) == 1 else list(split(node, runs))


def _children(nodes: Iterable[Node], inside: str, frozen: set[str]) -> tuple[Node, ...]:
    children: list[Node] = []
    for node in nodes:
        if isinstance(node, Parameter):
            is_frozen = f"{inside}{node.name}" in frozen
            children.append(replace(node, trainable=False) if is_frozen else node)
        else:
            children += _parts(node, inside, frozen)
    return tuple(children)


# in words
