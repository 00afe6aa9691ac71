"""What a family changes about another: more parts, parts by other names, and parts that it does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import Block, with_leaves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.blocks import Node


def extended(module: Block, *more: Node | None) -> Block:
    """The module with more in it; what the config leaves out is ``None``."""
    return module._replace(children=(*module.children, *(child for child in more if child is not None)))


def changed(module: Block, changes: Mapping[str, str | None], inside: str = "") -> Block:
    """The module with other names for parts of it, and without those that become ``None``.

    :param changes: by its path, what a part is called in the block that has it:
        ``{"encoder.layer.attention.output.LayerNorm": "ln", "embeddings.LayerNorm": None}``.
    :param inside: the path of ``module`` itself, with a dot.
    """
    parts: list[Node] = []
    for child in module.children:
        path = f"{inside}{child.name}"
        name = changes.get(path, child.name)
        part = changed(child, changes, f"{path}.") if isinstance(child, Block) else child
        parts += [] if name is None else [part._replace(name=name)]
    return module._replace(children=tuple(parts))


def in_stack(stack: str, module: Block) -> Block:
    """The module as a part of another stack: what counts for ``encoder`` counts for ``stack``."""

    def moved(node: Node) -> Node:
        component = node.component
        if component and component.partition(".")[0] == "encoder":
            component = f"{stack}{component.removeprefix('encoder')}"
        if isinstance(node, Block):
            return node._replace(component=component, children=tuple(moved(child) for child in node.children))
        return node._replace(component=component)

    found = moved(module)
    assert isinstance(found, Block)
    return found


def held_at(path: str, module: Block) -> Block:
    """The module as it is when another holds it at ``path``: what is tied in it, is tied to where it is now."""
    if not path:
        return module
    return tied_below(path, module)._replace(name=f"{path}.{module.name}" if module.name else path)


def tied_below(path: str, module: Block) -> Block:
    """The module with what is tied in it tied to names under ``path``."""
    return with_leaves(module, lambda leaf: leaf._replace(tied_to=leaf.tied_to and f"{path}.{leaf.tied_to}"))
