"""A closed form's blocks as the tree of modules that they stand for: by their full names, copy by copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms.blocks import Block, Parameter, with_leaves

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Node

Names: TypeAlias = tuple[str, ...]
"""The full names of one module, once for each of its copies."""

OUTERMOST: Names = ("",)


def one_name_each(root: Block) -> Block:
    """The same tree with a block for each module: ``output.dense`` is a ``dense`` in an ``output``."""
    children = tuple(_nested(child) for child in root.children)
    outer, _, inner = root.name.partition(".")
    if not inner:
        return root._replace(children=children)
    return Block(outer, (one_name_each(root._replace(name=inner, component=None)),), root.component)


def _nested(node: Node) -> Node:
    if isinstance(node, Block):
        return one_name_each(node)
    *outer, name = node.name.split(".")
    inside: Node = node._replace(name=name)
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
        is_list = self.block.times is not None and self.block.name
        return tuple(f"{outer}{self.block.name}" for outer in self.inside) if is_list else ()

    @property
    def names(self) -> Names:
        """Empty for a group that is no module."""
        if self.block.times is not None:
            outers = tuple(f"{name}." for name in self.lists) or self.inside
            return tuple(f"{outer}{copy}" for outer in outers for copy in copies(self.block))
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


def split(node: Block, runs: Sequence[tuple[tuple[Node, ...], list[str | int]]]) -> Iterator[Block]:
    """A repeat as several, one for each run of its copies.

    :param runs: what is in each copy of a run, and what these copies are called.
    """
    times: Count = node.times
    passes: list[Count] = [None if node.passes is None else node.passes * len(run) // times for _, run in runs]
    if node.passes is not None:
        passes[-1] += node.passes - sum(passes)  # what does not divide evenly is in the last
    for (children, run), share in zip(runs, passes, strict=True):
        keys = tuple(str(copy) for copy in run) if node.keys else ()
        start = node.start if node.keys else int(run[0])
        yield node._replace(children=children, times=len(run), start=start, keys=keys, passes=share)


def numbered(root: Block, number: Callable[[Count], int]) -> Block:
    """The same tree with a number of copies where there was a symbol for one."""
    children = tuple(numbered(each, number) if isinstance(each, Block) else each for each in root.children)
    return root._replace(children=children, times=None if root.times is None else number(root.times))


def in_runs(root: Block, decided: Callable[[str], object], number: Callable[[Count], int]) -> Block:
    """The same tree with a repeat as the runs of its copies of which the same is decided, module by module.

    :param root: a tree in which each block has one name.
    :param decided: of a module's full name.
    :param number: what a count is that may be a symbol; it stays one where all copies are alike.
    """

    def within(nodes: Iterable[Node], inside: str) -> tuple[Node, ...]:
        return tuple(part for node in nodes for part in (parts(node, inside) if isinstance(node, Block) else [node]))

    def parts(node: Block, inside: str) -> list[Block]:
        name = f"{inside}{node.name}." if node.name else inside
        if node.times is None:
            return [node._replace(children=within(node.children, name))]
        known = numbered(node, number)
        alike = groupby(copies(known), key=lambda copy: _all_decided(known, f"{name}{copy}", decided))
        runs = [list(run) for _, run in alike]
        each = [within(node.children, f"{name}{run[0]}.") for run in runs]
        if len(runs) == 1:
            return [node._replace(children=each[0])]
        return list(split(node._replace(times=known.times), [*zip(each, runs, strict=True)]))

    return root._replace(children=within(root.children, f"{root.name}." if root.name else ""))


def _all_decided(node: Block, name: str, decided: Callable[[str], object]) -> list[object]:
    """What is decided of one copy of a repeat, and of every module in it."""
    copy = Module(node._replace(name=name, times=None, keys=()), OUTERMOST)
    return [decided(each) for module in copy.all_in_it for each in (*module.lists[:1], *module.names)]


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
            children.append(child if source in alone else child._replace(trainable=agree(groups[source])))
        return module.block._replace(children=tuple(children))

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
        return leaf._replace(tied_to=now[leaf.tied_to])

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
    if node.times is not None and parts[1] not in {"*", *map(str, copies(node))}:
        return None
    below = _path(node.children, parts[taken:], inner) if parts[taken:] else None
    return [*parts[:taken], *below] if below else None
