"""The few blocks that closed forms are written in.

A closed form is a tree of blocks that reads like the model's own printout. Its dimensions are integers when parameters
are counted and sympy symbols when a formula is shown: the same function, called twice. A repeated block counts as
``times × block``, so depth costs nothing until its tensors are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_bertsize.inventory import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Count: TypeAlias = Any
"""An ``int``, or a sympy expression of the config's symbols."""


Kind: TypeAlias = Literal[
    "", "linear", "transposed-linear", "quantised-linear", "embedding", "quantised-embedding", "norm"
]
"""What class a block is the parameters of: torch's own, GPT-2's or I-BERT's; ``""`` for every other module."""


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
    start: int = 0
    """Index of the first copy."""
    keys: tuple[str, ...] = ()
    """What the copies are called where it is not by index (``torch.nn.ModuleDict``)."""
    passes: Count | None = None
    """How often a forward pass goes through the copies, all told, where that is not once through each."""
    kind: Kind = ""


Node: TypeAlias = Parameter | Block


def parameter(name: str, *shape: Count, component: str | None = None) -> Parameter:
    """A tensor of its own, ``shape`` rows first."""
    return Parameter(name, shape, component)


def block(name: str, *children: Node | None, component: str | None = None) -> Block:
    """A module; a child that the config leaves out is ``None``. Without a name, a group for a component's sake."""
    return Block(name, tuple(child for child in children if child is not None), component)


def repeat(
    name: str,
    times: Count,
    *children: Node | None,
    start: int = 0,
    passes: Count | None = None,
    component: str | None = None,
) -> Block:
    """``times`` identical modules under ``name.0``, ``name.1``, …

    What only some layers have is a repeat of its own beside the first: ``repeat("layers", L - 1, …, start=1)``.

    :param start: index of the first one.
    :param passes: how often a forward pass goes through them, all told, where layers share their weights (ALBERT).
    """
    return replace(block(name, *children, component=component), times=times, start=start, passes=passes)


def each(name: str, keys: tuple[str, ...], *children: Node | None, component: str | None = None) -> Block:
    """Identical modules under ``name.KEY`` for every key (``torch.nn.ModuleDict``)."""
    return replace(block(name, *children, component=component), times=len(keys), keys=keys)


def linear(name: str, inputs: Count, outputs: Count, *, bias: bool = True, component: str | None = None) -> Block:
    """``outputs·inputs`` weights and, with a bias, ``outputs`` more (``torch.nn.Linear``)."""
    weight = parameter("weight", outputs, inputs)
    return Block(name, (weight, parameter("bias", outputs)) if bias else (weight,), component, kind="linear")


def embedding(name: str, rows: Count, width: Count, *, component: str | None = None) -> Block:
    """``rows·width`` weights (``torch.nn.Embedding``)."""
    return Block(name, (parameter("weight", rows, width),), component, kind="embedding")


def layer_norm(name: str, width: Count, *, component: str | None = None) -> Block:
    """``width`` weights and ``width`` biases (``torch.nn.LayerNorm``)."""
    return Block(name, (parameter("weight", width), parameter("bias", width)), component, kind="norm")


def conv1d(
    name: str, inputs: Count, outputs: Count, kernel: Count, *, bias: bool = True, component: str | None = None
) -> Block:
    """``outputs·inputs·kernel`` weights and, with a bias, ``outputs`` more (``torch.nn.Conv1d``)."""
    offset = parameter("bias", outputs) if bias else None
    return block(name, parameter("weight", outputs, inputs, kernel), offset, component=component)


def lstm(
    name: str,
    inputs: Count,
    hidden: Count,
    *,
    layers: int = 1,
    bidirectional: bool = False,
    bias: bool = True,
    component: str | None = None,
) -> Block:
    """``4·hidden·(inputs + hidden + 2)`` in the first layer of each direction (``torch.nn.LSTM``).

    A further layer reads the ``hidden`` numbers of each direction of the one below it.
    """
    directions = ("", "_reverse") if bidirectional else ("",)
    parts = []
    for layer in range(layers):
        width = inputs if layer == 0 else len(directions) * hidden
        for end in (f"l{layer}{direction}" for direction in directions):
            parts += [
                parameter(f"weight_ih_{end}", 4 * hidden, width),
                parameter(f"weight_hh_{end}", 4 * hidden, hidden),
            ]
            parts += [parameter(f"bias_{side}_{end}", 4 * hidden) for side in ("ih", "hh")] if bias else []
    return block(name, *parts, component=component)


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


def frozen(module: Block) -> Block:
    """The module with parameters that are not trained: sinusoidal positions that a class keeps as parameters."""
    return with_leaves(module, lambda leaf: replace(leaf, trainable=False))


def with_leaves(module: Block, change: Callable[[Parameter], Parameter]) -> Block:
    """The same blocks with other parameters."""
    children = tuple(
        change(each) if isinstance(each, Parameter) else with_leaves(each, change) for each in module.children
    )
    return replace(module, children=children)


@dataclass(frozen=True, slots=True)
class Term:
    """One parameter of the tree: the size of a single copy, and through which repeats it is multiplied."""

    component: str
    size: Count
    times: Count
    passes: Count
    """How often a forward pass uses it, all copies together."""
    tied: bool = False
    trainable: bool = True

    @property
    def own(self) -> Count:
        """What a single copy adds to the count; a tied one owns nothing."""
        return 0 if self.tied else self.size

    @property
    def total(self) -> Count:
        return self.times * self.own


def terms(node: Node, component: str = "", times: Count = 1, passes: Count = 1) -> Iterator[Term]:
    """Every parameter with what it owns, without unrolling a single repeat."""
    component = node.component or component
    if isinstance(node, Parameter):
        tied = node.tied_to is not None
        yield Term(component, prod(node.shape), times, passes, tied=tied, trainable=node.trainable)
        return
    copies = 1 if node.times is None else node.times
    used = copies if node.passes is None else node.passes
    for child in node.children:
        yield from terms(child, component, times * copies, passes * used)


def tensors(node: Node, prefix: str = "", component: str = "") -> Iterator[Tensor]:
    """Every tensor by its full name, repeats unrolled. Dimensions must be integers."""
    component = node.component or component
    if isinstance(node, Parameter):
        yield Tensor(f"{prefix}{node.name}", node.shape, component, node.trainable, node.tied_to)
        return
    for inside in _prefixes(node, prefix):
        for child in node.children:
            yield from tensors(child, inside, component)


def _prefixes(node: Block, prefix: str) -> list[str]:
    """``encoder.layer`` → ``encoder.layer.0.``, ``encoder.layer.1.``, …; a block without a name adds none."""
    name = f"{prefix}{node.name}." if node.name else prefix
    if node.times is None:
        return [name]
    return [f"{name}{copy}." for copy in node.keys or range(node.start, node.start + node.times)]
