"""The body of a model and the heads that its classes put on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from pytest_bertsize.closed_forms.blocks import block, linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

Head: TypeAlias = "Callable[[Dims], Block]"

POOLER = {"add_pooling_layer": True}
"""The constructor argument of most models without a head, with its default."""


class Blocks(Protocol):
    """``bert(dims, pooler=True, name="bert")``: a body's blocks under a name; ``""`` where it is the whole model."""

    def __call__(self, dims: Dims, /, *, pooler: bool, name: str) -> Block: ...


class Body(NamedTuple):
    """Embeddings, encoder and perhaps a pooler: what all classes of a family have in common."""

    name: str
    """The attribute under which a class with a head keeps it, its ``base_model_prefix``: ``"bert"``."""
    blocks: Blocks

    def alone(self, dims: Dims) -> Block:
        """The class without a head, which is asked whether it pools."""
        return self.blocks(dims, pooler=dims.add_pooling_layer, name="")

    def under(self, *heads: Head, pooler: bool = False) -> Callable[[Dims], Block]:
        """The class that puts ``heads`` on the body.

        :param pooler: whether the class asks the body for its pooler.
        """
        return lambda dims: block("", self.blocks(dims, pooler=pooler, name=self.name), *(head(dims) for head in heads))


def pooled(dims: Dims, *parts: Block, pooler: bool, name: str) -> Block:
    """A body's parts and, with a pooler, D² + D more."""
    return block(name, *parts, linear("pooler.dense", dims.D, dims.D, component="pooler") if pooler else None)
