"""Every tensor of a closed form twice over: its integers and the symbols behind them, repeats left folded."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms.blocks import Parameter
from pytest_bertsize.inventory import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.closed_forms import ClosedForm
    from pytest_bertsize.closed_forms.blocks import Count, Node


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor of one layer; alike in all layers."""

    name: str
    """With ``*`` for the index of a layer."""
    component: str
    shape: tuple[int, ...]
    symbols: tuple[Count, ...]
    """The shape's expressions."""
    times: int
    """In how many layers it stands."""
    repeats: Count
    """The expression of :attr:`times`; 1 where nothing repeats it."""
    passes: int
    """How often a forward pass uses it, all copies together."""
    tied_to: str | None
    """Name of the tensor whose storage it shares, with ``*`` for indices."""
    trainable: bool

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def owned(self) -> int:
        return 0 if self.tied_to else self.size

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]


def leaves(form: ClosedForm) -> list[Leaf]:
    """The tensors of a closed form in the order of its blocks."""
    integers = _walk(form.root, _Place("", "", 1, 1))
    symbols = _walk(form.architecture.blocks(form.dims.symbolic()), _Place("", "", 1, 1))
    return [
        Leaf(
            name=f"{place.prefix}{found.name}",
            component=place.component,
            shape=found.shape,
            symbols=symbolic.shape,
            times=place.times,
            repeats=factor.times,
            passes=place.passes,
            tied_to=found.tied_to and pattern(found.tied_to),
            trainable=found.trainable,
        )
        for (found, place), (symbolic, factor) in zip(integers, symbols, strict=True)
    ]


class _Place(NamedTuple):
    """Where in the tree a node stands."""

    prefix: str
    component: str
    times: Count
    passes: Count


def _walk(node: Node, place: _Place) -> Iterator[tuple[Parameter, _Place]]:
    component = node.component or place.component
    if isinstance(node, Parameter):
        yield node, place._replace(component=component)
        return
    name = f"{place.prefix}{node.name}." if node.name else place.prefix
    inside = _Place(name, component, place.times, place.passes)
    if node.times is not None:
        used = node.times if node.passes is None else node.passes
        inside = _Place(f"{name}*.", component, place.times * node.times, place.passes * used)
    for child in node.children:
        yield from _walk(child, inside)
