"""What a model does not train: written as paths into it, and said in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import Block, Parameter, tensors, terms
from pytest_bertsize.closed_forms.module_tree import copies, one_name_each, split
from pytest_bertsize.closed_forms.paths import concrete, is_under

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Node

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
    paths = {path for module in modules for path in concrete("frozen", module, named)}
    chosen = {named[name] for name in named if is_under(name, paths)}
    frozen = {name for name, source in named.items() if source in chosen}  # what shares a tensor shares its fate
    return _without(one_name_each(root), "", frozen)


def _without(node: Block, inside: str, frozen: set[str]) -> Block:
    """A block whose tensors are frozen where their names say so, all its copies in one block."""
    parts = _parts(node, inside, frozen)
    return parts[0] if len(parts) == 1 else Block("", tuple(parts))


def _parts(node: Block, inside: str, frozen: set[str]) -> list[Block]:
    """A repeat as the runs of its copies that train alike; any other block as it is."""
    name = f"{inside}{node.name}." if node.name else inside
    if node.times is None:
        return [node._replace(children=_children(node.children, name, frozen))]
    if node.times == 0 or not any(each.startswith(name) for each in frozen):
        return [node]
    each = [(copy, _children(node.children, f"{name}{copy}.", frozen)) for copy in copies(node)]
    runs = [(children, [copy for copy, _ in run]) for children, run in groupby(each, key=lambda pair: pair[1])]
    return [node._replace(children=runs[0][0])] if len(runs) == 1 else list(split(node, runs))


def _children(nodes: Iterable[Node], inside: str, frozen: set[str]) -> tuple[Node, ...]:
    children: list[Node] = []
    for node in nodes:
        if isinstance(node, Parameter):
            is_frozen = f"{inside}{node.name}" in frozen
            children.append(node._replace(trainable=False) if is_frozen else node)
        else:
            children += _parts(node, inside, frozen)
    return tuple(children)


# in words
