"""Changes of a model's blocks, tensor by tensor: what does not train, what a class does without, and what it shares.

A table names modules by paths: ``"bert.encoder.layer[:6]"``. Each change is decided by the tensors' full names in the
tree with numbers, which knows how many layers there are, and made in the one with symbols as well, so that formulas
follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms.blocks import Block, Parameter, tensors, terms
from pytest_bertsize.closed_forms.module_tree import copies, one_name_each, split
from pytest_bertsize.inventory import is_within, levels
from pytest_bertsize.wording import nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Node

_SLICE = re.compile(r"\[(-?\d{1,9})?(:)?(-?\d{1,9})?\]", re.ASCII)
_PATH = re.compile(r"[\w-]+(?:\.[\w-]+|\[[^\[\]]*\])*")
_PART = re.compile(r"[^.\[]+|\[[^\]]*\]")
MOST_SHOWN = 6


def is_under(name: str, paths: Collection[str]) -> bool:
    """Whether a tensor is one of these, or in a module that is."""
    parts = name.split(".")
    return any(".".join(parts[:depth]) in paths for depth in range(1, len(parts) + 1))


def find_modules(key: str, written: str, names: Collection[str]) -> Iterator[str]:
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


class Trees(NamedTuple):
    """One model, twice; the same tree where nobody asks for formulas."""

    written: Block
    """With symbols, or with numbers."""
    known: Block
    """With numbers."""


def freeze_modules(root: Block, modules: Sequence[str]) -> Block:
    """Return the blocks of a model of which some modules do not train.

    :param root: with numbers; with symbols it comes back as it is, because no formula says what trains.
    :param modules: ``"bert.embeddings"``, a slice of layers ``"bert.encoder.layer[:6]"``, or a tensor's full name.
    :raises ValueError: in words, for a path that leads nowhere.
    """
    if not modules or not all(isinstance(term.times, int) for term in terms(root)):
        return root
    owners = _owners(root)
    paths = {path for module in modules for path in find_modules("frozen", module, owners)}
    frozen = {owner for name, owner in owners.items() if is_under(name, paths)}  # with all that share a tensor

    def freeze_leaf(name: str, leaf: Parameter) -> Parameter:
        return leaf._replace(trainable=False) if owners[name] in frozen else leaf

    return _Change(freeze_leaf).applied_to(root, root)


def remove_modules(trees: Trees, parts: Sequence[str]) -> Trees:
    """Return a model that lacks some of its modules.

    What is left of a list is numbered anew, as ``torch.nn.ModuleList`` does it. Of what shared a tensor whose owner is
    gone, the first owns it.

    :param parts: ``"bert.pooler"``, a slice of layers ``"bert.encoder.layer[6:]"``, a tensor's full name, or a
        component: ``"embeddings.position"``.
    :raises ValueError: in words, for one that is not there.
    """
    if not parts:
        return trees
    owners = _owners(trees.known)
    components = {each.name: each.component for each in tensors(trees.known)}
    paths = {path for part in parts for path in _find_part(part, components)}
    stay = [name for name in owners if not is_under(name, paths)]
    if not stay:
        raise ValueError("without: nothing is left of the backbone")
    change = _Change(lambda name, leaf: None if is_under(name, paths) else leaf, paths, _places(paths, owners))
    left = Trees(*(change.applied_to(tree, trees.known) for tree in trees))
    now = dict(zip(stay, (each.name for each in tensors(left.known)), strict=True))
    heirs: dict[str, str] = {}
    for name in sorted(stay, key=lambda name: owners[name] != name):  # an owner that stays, else the first
        heirs.setdefault(owners[name], name)
    return _with_owners(left, {now[name]: now[heirs[owners[name]]] for name in stay})


def _find_part(part: str, components: Mapping[str, str]) -> list[str]:
    try:
        return list(find_modules("without", part, components))
    except ValueError:
        levels_of_all = {level for component in components.values() for level in levels(component)}
        if part in levels_of_all:
            return [name for name, component in components.items() if is_within(component, part)]
        if meant := nearest_to(part, levels_of_all, cutoff=0.8):
            raise ValueError(f"without: the model has no {printable(part)}; did you mean {shown(meant)}?") from None
        raise


def _places(gone: Collection[str], names: Collection[str]) -> dict[str, int]:
    """Of lists that lose a module, each that stays by its path, and its place in what is left."""
    found: dict[str, int] = {}
    for path in {path.rpartition(".")[0] for path in gone if path.rpartition(".")[2].isdigit()}:
        heads = {name.removeprefix(f"{path}.").split(".")[0] for name in names if name.startswith(f"{path}.")}
        stay = [at for at in sorted(int(head) for head in heads if head.isdecimal()) if f"{path}.{at}" not in gone]
        found |= {f"{path}.{at}": place for place, at in enumerate(stay)}
    return found


def tie_modules(trees: Trees, tied: Mapping[str, str]) -> Trees:
    """Return a model in which one module is another, tensor by tensor.

    :param tied: modules or tensors, and those that they are.
    :raises ValueError: in words, for what is not there, or cannot be one.
    """
    if not tied:
        return trees
    shapes = {each.name: each.shape for each in tensors(trees.known)}
    owners = _owners(trees.known)
    for shared, source in tied.items():
        one, other = (_find_one(path, shapes) for path in (shared, source))
        for name in [name for name in shapes if is_under(name, (one,))]:
            twin = other + name.removeprefix(one)
            if twin not in shapes:
                raise ValueError(f"tied: {printable(one)} has {printable(name)}, and there is no {printable(twin)}")
            if shapes[twin] != shapes[name]:
                both = f"{printable(name)} is {shapes[name]} and {printable(twin)} {shapes[twin]}"
                raise ValueError(f"tied: {both}: they cannot be one")
            former, owner = owners[name], owners[twin]
            owners |= {each: owner for each, of in owners.items() if of == former}
    return _with_owners(trees, owners)


def _find_one(path: str, names: Collection[str]) -> str:
    found = list(find_modules("tied", path, names))
    if len(found) != 1:
        raise ValueError(f"tied: {printable(path)} is {len(found)} modules; name one")
    return found[0]


def _owners(known: Block) -> dict[str, str]:
    return {each.name: each.tied_to or each.name for each in tensors(known)}


def _with_owners(trees: Trees, owners: Mapping[str, str]) -> Trees:
    if _owners(trees.known) == owners:
        return trees

    def tie_leaf(name: str, leaf: Parameter) -> Parameter:
        return leaf._replace(tied_to=None if owners[name] == name else owners[name])

    return Trees(*(_Change(tie_leaf).applied_to(tree, trees.known) for tree in trees))


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of every tensor of a tree."""

    edit: Callable[[str, Parameter], Parameter | None]
    """By its full name; ``None``: it is gone."""
    gone: Collection[str] = ()
    """Modules that keep no place in a list."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Of modules in a list that has lost one, where they are now."""

    def applied_to(self, tree: Block, known: Block) -> Block:
        """Return a tree with the change; ``known`` is the same one with numbers."""
        parts = self._parts(one_name_each(tree), one_name_each(known), "")
        return parts[0] if len(parts) == 1 else Block("", tuple(parts))

    def _parts(self, node: Block, known: Block, inside: str) -> list[Block]:
        """Return a repeat as the runs of its copies that are alike; any other block as it is, or not at all."""
        name = f"{inside}{known.name}." if known.name else inside
        if known.times is None:
            children = tuple(self._children(node, known, name))
            return [node._replace(children=children)] if children or not known.children else []
        all_copies = copies(known)
        if not all_copies:
            return [node]  # of which there is none now, and which a formula counts
        each = [
            (tuple(self._children(node, known, f"{name}{copy}.")), self.places.get(f"{name}{copy}", copy))
            for copy in all_copies
            if f"{name}{copy}" not in self.gone
        ]
        runs = [(children, [copy for _, copy in run]) for children, run in groupby(each, key=lambda pair: pair[0])]
        if len(runs) == 1 and [copy for _, copy in each] == list(all_copies):
            return [node._replace(children=runs[0][0])] if runs[0][0] else []
        passes = None if node.passes is None else node.passes * len(each) // len(all_copies)
        left = node._replace(times=len(each), passes=passes)
        return [block for block in split(left, runs) if block.children] if runs else []

    def _children(self, node: Block, known: Block, inside: str) -> Iterator[Node]:
        for child, twin in zip(node.children, known.children, strict=True):
            if isinstance(child, Block) and isinstance(twin, Block):
                place = str(self.places.get(f"{inside}{twin.name}", child.name))
                yield from (part._replace(name=place) for part in self._parts(child, twin, inside))
            elif isinstance(child, Parameter) and (leaf := self.edit(f"{inside}{twin.name}", child)) is not None:
                yield leaf
