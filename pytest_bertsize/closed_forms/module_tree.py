"""A closed form's blocks as the tree of modules that they stand for: by their full names, copy by copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms.blocks import Block, Parameter, with_leaves
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_bertsize.closed_forms.blocks import Node

Names: TypeAlias = tuple[str, ...]
"""The full names of one module, once for each of its copies."""

OUTERMOST: Names = ("",)


def one_name_each(root: Block) -> Block:
    """The same tree with a block for each module: ``output.dense`` is a ``dense`` in an ``output``."""
    children = tuple(_nested(child) for child in root.children)
    outer, _, inner = root.name.partition(".")
    if not inner:
        return replace(root, children=children)
    return Block(outer, (one_name_each(replace(root, name=inner, component=None)),), root.component)


def _nested(node: Node) -> Node:
    if isinstance(node, Block):
        return one_name_each(node)
    *outer, name = node.name.split(".")
    inside: Node = replace(node, name=name)
    for each in reversed(outer):
        inside = Block(each, (inside,))
    return inside


def copies(node: Block) -> Sequence[str | int]:
    """What the copies are called; of a symbolic number of them, the first."""
    if node.keys:
        return node.keys
    known = isinstance(node.times, int) and isinstance(node.start, int)
    return range(node.start, node.start + node.times) if known else (node.start,)  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Module:
    """One block of a tree in which each has one name."""

    block: Block
    inside: Names
    """Of the modules that it is in, with a dot behind."""
    component: str = ""

    @property
    def lists(self) -> Names:
        """The names of the list that it is repeated in; none where it is no list's."""
        return tuple(f"{outer}{self.block.name}" for outer in self.inside) if self.block.times is not None else ()

    @property
    def names(self) -> Names:
        """Empty for a group that is no module."""
        if self.block.times is not None:
            return tuple(f"{name}.{copy}" for name in self.lists for copy in copies(self.block))
        return tuple(f"{outer}{self.block.name}" for outer in self.inside) if self.block.name else ()

    @property
    def is_list(self) -> bool:
        """Whether it is a ``torch.nn.ModuleList`` that is written out."""
        inner = self.block.children
        return bool(self.block.name) and all(isinstance(each, Block) and _is_of_list(each) for each in inner)

    @property
    def prefixes(self) -> Names:
        """What the names of all in it begin with."""
        return tuple(f"{name}." for name in self.names) or self.inside

    @property
    def children(self) -> Iterator[Module]:
        for child in self.block.children:
            if isinstance(child, Block):
                yield Module(child, self.prefixes, child.component or self.component)

    @property
    def all_in_it(self) -> Iterator[Module]:
        """Itself and every module below it."""
        yield self
        for child in self.children:
            yield from child.all_in_it

    @property
    def leaves(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters of its first copy and of all below it, by their full names."""
        for module in self.all_in_it:
            for child in module.block.children:
                if isinstance(child, Parameter):
                    yield f"{module.prefixes[0]}{child.name}", child


def _is_of_list(node: Block) -> bool:
    return node.name.isdigit() and node.times is None


def tree(root: Block) -> Module:
    """The outermost module of a tree in which each has one name."""
    return Module(root, OUTERMOST, root.component or "")


def agreed(names: Iterable[str], matches: Callable[[str], object], what: str) -> bool:
    """Whether all copies of a module match.

    :raises ValueError: when only some do: what a layer consists of is written once for all copies of it.
    """
    found = {name: bool(matches(name)) for name in names}
    if len(set(found.values())) > 1:
        first = next(name for name, matched in found.items() if matched)
        some = f"{printable(first)}, one of {sum(found.values())} among {len(found)} copies"
        raise ValueError(f"{what} matches {some}: there is a closed form only where layers are alike")
    return any(found.values())


# ties


def shared_flags(root: Block, agree: Callable[[Iterable[bool]], bool]) -> Block:
    """The same tree where parameters that share their storage train together.

    :param agree: ``any`` or ``all``: what makes them train.
    """
    groups: dict[str, list[bool]] = {}
    for name, leaf in tree(root).leaves:
        groups.setdefault(leaf.tied_to or name, []).append(leaf.trainable)
    alone = {name for name, flags in groups.items() if len(flags) == 1}

    def walked(module: Module) -> Block:
        children: list[Node] = []
        inner = module.children
        for child in module.block.children:
            if isinstance(child, Block):
                children.append(walked(next(inner)))
                continue
            source = child.tied_to or f"{module.prefixes[0]}{child.name}"
            children.append(child if source in alone else replace(child, trainable=agree(groups[source])))
        return replace(module.block, children=tuple(children))

    return walked(tree(root))


def retied(root: Block, inner: tuple[str, ...]) -> Block:
    """The same tree with ties to where their sources are now.

    :param inner: names of blocks that have been put around what was there before.
    """
    now: dict[str, str] = {}

    def moved(leaf: Parameter) -> Parameter:
        if leaf.tied_to is None:
            return leaf
        if leaf.tied_to not in now:
            now[leaf.tied_to] = ".".join(_path((root,), leaf.tied_to.split("."), inner) or [leaf.tied_to])
        return replace(leaf, tied_to=now[leaf.tied_to])

    return with_leaves(root, moved)


def _path(children: tuple[Node, ...], parts: list[str], inner: tuple[str, ...]) -> list[str] | None:
    for child in children:
        found = _path_in(child, parts, inner)
        if found is not None:
            return found
    return None


def _path_in(node: Node, parts: list[str], inner: tuple[str, ...]) -> list[str] | None:
    if isinstance(node, Parameter):
        return parts if parts == [node.name] else None
    if not node.name:
        return _path(node.children, parts, inner)
    if node.name != parts[0]:
        below = _path(node.children, parts, inner) if node.name in inner else None
        return [node.name, *below] if below else None
    taken = 1 if node.times is None else 2
    if node.times is not None and parts[1] not in map(str, copies(node)):
        return None
    below = _path(node.children, parts[taken:], inner) if parts[taken:] else None
    return [*parts[:taken], *below] if below else None
