"""What a project's class does without, and what it shares: the blocks of its backbone, changed tensor by tensor.

Each change is asked of the tree with numbers, which knows how many layers there are, and made in the one with symbols
as well, so that formulas follow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms.blocks import Block, Parameter, tensors
from pytest_bertsize.closed_forms.module_tree import copies, one_name_each, split
from pytest_bertsize.closed_forms.paths import concrete, is_under
from pytest_bertsize.inventory import is_within, levels
from pytest_bertsize.wording import nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Node


class Trees(NamedTuple):
    """One model, twice; the same tree where nobody asks for formulas."""

    written: Block
    """With symbols, or with numbers."""
    known: Block
    """With numbers."""


def without(trees: Trees, parts: Sequence[str]) -> Trees:
    """A model that lacks some of its modules.

    What is left of a list is numbered anew, as ``torch.nn.ModuleList`` does it. Of what shared a tensor whose owner is
    gone, the first owns it.

    :param parts: ``"bert.pooler"``, a slice of layers ``"bert.encoder.layer[6:]"``, a tensor's full name, or a
        component: ``"embeddings.position"``.
    :raises ValueError: in words, for one that is not there.
    """
    if not parts:
        return trees
    before = list(tensors(trees.known))
    owners = {each.name: each.tied_to or each.name for each in before}
    components = {each.name: each.component for each in before}
    paths = {path for part in parts for path in _meant(part, components)}
    gone = {name for name in owners if is_under(name, paths)}
    if len(gone) == len(owners):
        raise ValueError("without: nothing is left of the backbone")
    change = _Change(lambda name, leaf: None if name in gone else leaf, paths, _places(paths, owners))
    left = Trees(*(change.made(tree, trees.known) for tree in trees))
    stay = [name for name in owners if name not in gone]
    now = dict(zip(stay, (each.name for each in tensors(left.known)), strict=True))
    heirs: dict[str, str] = {}
    for name in stay:
        heirs.setdefault(owners[name], name)
    heirs |= {name: name for name in stay if owners[name] == name}
    return _tied(left, {now[name]: now[heirs[owners[name]]] for name in stay})


def _meant(part: str, components: Mapping[str, str]) -> list[str]:
    """The modules, else the tensors of a component."""
    try:
        return list(concrete("without", part, components))
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


def sharing(trees: Trees, tied: Mapping[str, str]) -> Trees:
    """A model in which one module is another, tensor by tensor.

    :param tied: modules or tensors, and those that they are.
    :raises ValueError: in words, for what is not there, or cannot be one.
    """
    if not tied:
        return trees
    shapes = {each.name: each.shape for each in tensors(trees.known)}
    owners = {each.name: each.tied_to or each.name for each in tensors(trees.known)}
    for shared, source in tied.items():
        one, other = (_one("tied", path, shapes) for path in (shared, source))
        for name in [name for name in shapes if is_under(name, (one,))]:
            twin = other + name.removeprefix(one)
            if twin not in shapes:
                raise ValueError(f"tied: {printable(one)} has {printable(name)}, and there is no {printable(twin)}")
            if shapes[twin] != shapes[name]:
                both = f"{printable(name)} is {shapes[name]} and {printable(twin)} {shapes[twin]}"
                raise ValueError(f"tied: {both}: they cannot be one")
            former, owner = owners[name], owners[twin]
            owners |= {each: owner for each, of in owners.items() if of == former}
    return _tied(trees, owners)


def _one(key: str, path: str, names: Collection[str]) -> str:
    found = list(concrete(key, path, names))
    if len(found) != 1:
        raise ValueError(f"{key}: {printable(path)} is {len(found)} modules; name one")
    return found[0]


def _tied(trees: Trees, owners: Mapping[str, str]) -> Trees:
    """With other owners of what is shared, by the names of all tensors."""

    def tie(name: str, leaf: Parameter) -> Parameter:
        return leaf._replace(tied_to=None if owners[name] == name else owners[name])

    is_so = all((each.tied_to or each.name) == owners[each.name] for each in tensors(trees.known))
    return trees if is_so else Trees(*(_Change(tie).made(tree, trees.known) for tree in trees))


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of every tensor of a tree."""

    of: Callable[[str, Parameter], Parameter | None]
    """By its full name; ``None``: it is gone."""
    gone: Collection[str] = ()
    """Modules that keep no place in a list."""
    places: Mapping[str, int] = field(default_factory=dict)
    """Of modules in a list that has lost one, where they are now."""

    def made(self, tree: Block, known: Block) -> Block:
        parts = self._parts(one_name_each(tree), one_name_each(known), "")
        return parts[0] if len(parts) == 1 else Block("", tuple(parts))

    def _parts(self, node: Block, known: Block, inside: str) -> list[Block]:
        """A repeat as the runs of its copies that are alike; any other block as it is, or not at all."""
        name = f"{inside}{known.name}." if known.name else inside
        if known.times is None:
            children = self._children(node, known, name)
            return [node._replace(children=children)] if children or not known.children else []
        all_copies = copies(known)
        stay = [copy for copy in all_copies if f"{name}{copy}" not in self.gone]
        each = [
            (self._children(node, known, f"{name}{copy}."), self.places.get(f"{name}{copy}", copy)) for copy in stay
        ]
        if not each:
            return []
        runs = [(children, [copy for _, copy in run]) for children, run in groupby(each, key=lambda pair: pair[0])]
        moved = [copy for _, copy in each] != list(all_copies)
        if len(runs) == 1 and not moved:
            return [node._replace(children=runs[0][0])] if runs[0][0] else []
        passes = None if node.passes is None else node.passes * len(stay) // len(all_copies)
        left = node._replace(times=len(stay), passes=passes)
        return [block for block in split(left, runs) if block.children]

    def _children(self, node: Block, known: Block, inside: str) -> tuple[Node, ...]:
        return tuple(self._each(node, known, inside))

    def _each(self, node: Block, known: Block, inside: str) -> Iterator[Node]:
        for child, twin in zip(node.children, known.children, strict=True):
            if isinstance(child, Block) and isinstance(twin, Block):
                place = str(self.places.get(f"{inside}{twin.name}", child.name))
                yield from (part._replace(name=place) for part in self._parts(child, twin, inside))
            elif isinstance(child, Parameter) and (leaf := self.of(f"{inside}{twin.name}", child)) is not None:
                yield leaf
