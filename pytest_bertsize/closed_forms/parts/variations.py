"""Blocks that another model holds at a path of its own."""

from __future__ import annotations

from pytest_bertsize.closed_forms.blocks import Block, with_leaves


def held_at(path: str, module: Block) -> Block:
    """The module as it is when another holds it at ``path``: what is tied in it, is tied to where it is now."""
    if not path:
        return module
    return tied_below(path, module)._replace(name=f"{path}.{module.name}" if module.name else path)


def tied_below(path: str, module: Block) -> Block:
    """The module with what is tied in it tied to names under ``path``."""
    return with_leaves(module, lambda leaf: leaf._replace(tied_to=leaf.tied_to and f"{path}.{leaf.tied_to}"))
