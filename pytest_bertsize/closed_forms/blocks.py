"""The few blocks that closed forms are written in.

A closed form is a tree of blocks that reads like the model's own printout. Its dimensions are integers when parameters
are counted and sympy symbols when a formula is shown: the same function, called twice. A repeated block counts as
``times × block``, so depth costs nothing until its tensors are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_bertsize.inventory import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

Count: TypeAlias = Any
"""An ``int``, or a sympy expression of the config's symbols."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A leaf: one tensor. ``component`` is inherited from the enclosing block unless given."""

    name: str
    shape: tuple[Count, ...]
    component: str | None = None
    trainable: bool = True
    tied_to: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A named module. With ``times``, that many copies of it under ``name.0``, ``name.1``, …"""

    name: str
    children: tuple[Node, ...]
    component: str | None = None
    times: Count | None = None


Node: TypeAlias = Parameter | Block


def parameter(name: str, *shape: Count, component: str | None = None, trainable: bool = True) -> Parameter:
    """A tensor of its own, ``shape`` rows first."""
    return Parameter(name, shape, component, trainable)


def block(name: str, *children: Node | None, component: str | None = None) -> Block:
    """A module; a child that the config leaves out is ``None``."""
    return Block(name, tuple(child for child in children if child is not None), component)


def repeat(name: str, times: Count, *children: Node | None, component: str | None = None) -> Block:
    """``times`` identical modules under ``name.0``, ``name.1``, …"""
    return replace(block(name, *children, component=component), times=times)


def linear(name: str, inputs: Count, outputs: Count, *, bias: bool = True, component: str | None = None) -> Block:
    """``outputs·inputs`` weights and, with a bias, ``outputs`` more (``torch.nn.Linear``)."""
    return block(
        name,
        parameter("weight", outputs, inputs),
        parameter("bias", outputs) if bias else None,
        component=component,
    )


def embedding(name: str, rows: Count, width: Count, *, component: str | None = None) -> Block:
    """``rows·width`` weights (``torch.nn.Embedding``)."""
    return block(name, parameter("weight", rows, width), component=component)


def layer_norm(name: str, width: Count, *, component: str | None = None) -> Block:
    """``width`` weights and ``width`` biases (``torch.nn.LayerNorm``)."""
    return block(name, parameter("weight", width), parameter("bias", width), component=component)


def activation(name: str, function: str, *, component: str | None = None) -> Block | None:
    """The learned parameters of an activation function: one for PReLU, two for xIELU (arXiv 2411.13010), else none."""
    learned = {"prelu": ("weight",), "xielu": ("alpha_p", "alpha_n")}.get(function)
    return block(name, *(parameter(each, 1) for each in learned), component=component) if learned else None


def tied(module: Block, **sources: str) -> Block:
    """Tie parameters of ``module`` to others: ``tied(linear("decoder", D, V), weight="….word_embeddings.weight")``.

    :param sources: for each tied parameter of the module, the full name of the tensor that owns the storage.
    :raises ValueError: when the module has no such parameter.
    """
    unknown = sources.keys() - {child.name for child in module.children}
    if unknown:
        raise ValueError(f"{module.name} has no parameter {', '.join(sorted(unknown))} to tie")
    children = tuple(
        replace(child, tied_to=sources[child.name]) if isinstance(child, Parameter) and child.name in sources else child
        for child in module.children
    )
    return replace(module, children=children)


@dataclass(frozen=True, slots=True)
class Term:
    """One parameter of the tree: how many a single copy has, and through which repeats it is multiplied."""

    component: str
    own: Count
    times: Count

    @property
    def total(self) -> Count:
        return self.times * self.own


def terms(node: Node, component: str = "", times: Count = 1) -> Iterator[Term]:
    """Every parameter with what it owns, without unrolling a single repeat; a tied one owns nothing."""
    component = node.component or component
    if isinstance(node, Parameter):
        yield Term(component, 0 if node.tied_to else prod(node.shape), times)
        return
    inner = times if node.times is None else times * node.times
    for child in node.children:
        yield from terms(child, component, inner)


def tensors(node: Node, prefix: str = "", component: str = "") -> Iterator[Tensor]:
    """Every tensor by its full name, repeats unrolled. Dimensions must be integers."""
    component = node.component or component
    name = f"{prefix}{node.name}"
    if isinstance(node, Parameter):
        yield Tensor(name, node.shape, component, node.trainable, node.tied_to)
        return
    prefixes = [f"{name}." if name else ""] if node.times is None else [f"{name}.{i}." for i in range(node.times)]
    for each in prefixes:
        for child in node.children:
            yield from tensors(child, each, component)
