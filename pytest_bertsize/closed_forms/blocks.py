"""The few blocks that closed forms are written in.

A closed form is a tree of blocks that reads like the model's own printout. Its dimensions are integers when parameters
are counted and symbols when a formula is shown: the same function, called twice. A repeated block counts as
``times × block``, so depth costs nothing until its tensors are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_bertsize.inventory import Tensor

Count: TypeAlias = Any
"""An ``int``, or an expression of the config's symbols (:mod:`pytest_bertsize.closed_forms.symbols`)."""


Kind: TypeAlias = Literal[
    "", "linear", "transposed-linear", "quantised-linear", "in-projection", "embedding", "quantised-embedding", "norm"
]
"""What class a block is the parameters of: torch's own, GPT-2's or I-BERT's; ``""`` for every other module."""

Reads: TypeAlias = Literal["", "text", "token"]
"""What has one vector for the linear layers of a block: each token, or the text; ``""`` where its component says."""


class Parameter(NamedTuple):
    """A leaf: one tensor. ``component`` is inherited from the enclosing block unless given."""

    name: str
    shape: tuple[Count, ...]
    component: str | None = None
    trainable: bool = True
    tied_to: str | None = None


class Block(NamedTuple):
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
    attends: Count | None = None
    """How many numbers of each vector meet those of every token of the text: queries, and what is made of values."""
    reads: Reads = ""
    """What has one vector for its linear layers: each token, or the text; ``""`` where its component says which."""


Node: TypeAlias = Parameter | Block


def parameter(name: str, *shape: Count, component: str | None = None) -> Parameter:
    """A tensor of its own, ``shape`` rows first."""
    return Parameter(name, shape, component)


def block(name: str, *children: Node | None, component: str | None = None) -> Block:
    """A module; a child that the config leaves out is ``None``. Without a name, a group for a component's sake."""
    return Block(name, tuple(child for child in children if child is not None), component)


def repeat(
    name: str,
    times: Count | Sequence[int],
    *children: Node | None,
    start: int = 0,
    passes: Count | None = None,
    component: str | None = None,
) -> Block:
    """``times`` identical modules under ``name.0``, ``name.1``, …

    What only some layers have is a repeat of its own beside the first: ``repeat("layers", L - 1, …, start=1)``, or
    ``repeat("layers", [1, 3, 5], …)`` for experts in every other one.

    :param times: how many there are, or the indices of those that there are.
    :param start: index of the first one; a list has its own.
    :param passes: how often a forward pass goes through them, all told, where layers share their weights (ALBERT).
    """
    if isinstance(times, list | tuple | range):
        return each(name, tuple(map(str, times)), *children, component=component)._replace(passes=passes)
    return block(name, *children, component=component)._replace(times=times, start=start, passes=passes)


def each(name: str, keys: tuple[str, ...], *children: Node | None, component: str | None = None) -> Block:
    """Identical modules under ``name.KEY`` for every key (``torch.nn.ModuleDict``)."""
    return block(name, *children, component=component)._replace(times=len(keys), keys=keys)


def linear(name: str, inputs: Count, outputs: Count, *, bias: bool = True, component: str | None = None) -> Block:
    """``outputs·inputs`` weights and, with a bias, ``outputs`` more (``torch.nn.Linear``)."""
    weight = parameter("weight", outputs, inputs)
    return Block(name, (weight, parameter("bias", outputs)) if bias else (weight,), component, kind="linear")


def transposed_linear(name: str, inputs: Count, outputs: Count, *, component: str | None = None) -> Block:
    """``inputs·outputs`` weights, inputs first, and ``outputs`` biases (transformers' ``Conv1D``)."""
    leaves = (parameter("weight", inputs, outputs), parameter("bias", outputs))
    return Block(name, leaves, component, kind="transposed-linear")


def of_kind(kind: Kind, make: Callable[..., Block], *arguments: Any, **named: Any) -> Block:
    """Return a module with the parameters of another kind: I-BERT's quantised layers have those of torch's."""
    return make(*arguments, **named)._replace(kind=kind)


def embedding(name: str, rows: Count, width: Count, *, component: str | None = None) -> Block:
    """``rows·width`` weights (``torch.nn.Embedding``)."""
    return Block(name, (parameter("weight", rows, width),), component, kind="embedding")


def layer_norm(
    name: str, width: Count, *, elementwise_affine: bool = True, bias: bool = True, component: str | None = None
) -> Block:
    """``width`` weights and ``width`` biases (``torch.nn.LayerNorm``); without ``elementwise_affine`` neither."""
    leaves = (parameter("weight", width), parameter("bias", width))[: elementwise_affine * (1 + bias)]
    return Block(name, leaves, component, kind="norm")


def rms_norm(name: str, width: Count, *, elementwise_affine: bool = True, component: str | None = None) -> Block:
    """``width`` weights, and no bias (``torch.nn.RMSNorm``)."""
    return layer_norm(name, width, elementwise_affine=elementwise_affine, bias=False, component=component)


def conv1d(
    name: str, inputs: Count, outputs: Count, kernel: Count, *, bias: bool = True, component: str | None = None
) -> Block:
    """``outputs·inputs·kernel`` weights and, with a bias, ``outputs`` more (``torch.nn.Conv1d``)."""
    offset = parameter("bias", outputs) if bias else None
    return block(name, parameter("weight", outputs, inputs, kernel), offset, component=component)


def conv2d(
    name: str,
    inputs: Count,
    outputs: Count,
    height: Count,
    width: Count | None = None,
    *,
    bias: bool = True,
    component: str | None = None,
) -> Block:
    """``outputs·inputs·height·width`` weights and, with a bias, ``outputs`` more (``torch.nn.Conv2d``).

    :param width: of the kernel; ``None`` for a square one.
    """
    offset = parameter("bias", outputs) if bias else None
    weight = parameter("weight", outputs, inputs, height, height if width is None else width)
    return block(name, weight, offset, component=component)


def lstm(name: str, inputs: Count, hidden: Count, **named: Any) -> Block:
    """``4·hidden·(inputs + hidden + 2)`` in the first layer of each direction (``torch.nn.LSTM``).

    :param named: ``layers``, ``bidirectional``, ``bias`` and ``component``, as :func:`gru` has them.
    """
    return _recurrent(name, (4 * hidden, hidden), inputs, **named)


def gru(name: str, inputs: Count, hidden: Count, **named: Any) -> Block:
    """``3·hidden·(inputs + hidden + 2)`` in the first layer of each direction (``torch.nn.GRU``).

    :param named: ``layers`` (1), ``bidirectional`` (``False``), ``bias`` (``True``) and ``component``.
    """
    return _recurrent(name, (3 * hidden, hidden), inputs, **named)


def _recurrent(
    name: str,
    state: tuple[Count, Count],
    inputs: Count,
    *,
    layers: int = 1,
    bidirectional: bool = False,
    bias: bool = True,
    component: str | None = None,
) -> Block:
    """A further layer reads the hidden numbers of each direction of the one below it.

    :param state: the numbers of all its gates together, and the hidden ones.
    """
    gates, hidden = state
    directions = ("", "_reverse") if bidirectional else ("",)
    parts = []
    for layer in range(layers):
        width = inputs if layer == 0 else len(directions) * hidden
        for end in (f"l{layer}{direction}" for direction in directions):
            parts += [
                parameter(f"weight_ih_{end}", gates, width),
                parameter(f"weight_hh_{end}", gates, hidden),
            ]
            parts += [parameter(f"bias_{side}_{end}", gates) for side in ("ih", "hh")] if bias else []
    return block(name, *parts, component=component)


def multihead_attention(name: str, width: Count, *, bias: bool = True, component: str | None = None) -> Block:
    """``4·width² + 4·width``, whatever the number of heads: query, key and value in one matrix, and an output
    (``torch.nn.MultiheadAttention``).
    """
    offset = parameter("in_proj_bias", 3 * width) if bias else None
    out = linear("out_proj", width, width, bias=bias)
    module = block(name, parameter("in_proj_weight", 3 * width, width), offset, out, component=component)
    return attending(module, 2 * width)._replace(kind="in-projection")


def transformer_encoder_layer(
    name: str, width: Count, feed_forward: Count, *, bias: bool = True, component: str | None = None
) -> Block:
    """Self-attention, two dense layers and a norm behind each (``torch.nn.TransformerEncoderLayer``)."""
    return _torch_layer(name, width, feed_forward, ("self_attn",), bias=bias, component=component)


def transformer_decoder_layer(
    name: str, width: Count, feed_forward: Count, *, bias: bool = True, component: str | None = None
) -> Block:
    """That of an encoder with attention to what it reads, and a norm behind (``torch.nn.TransformerDecoderLayer``)."""
    return _torch_layer(name, width, feed_forward, ("self_attn", "multihead_attn"), bias=bias, component=component)


def _torch_layer(
    name: str, width: Count, feed_forward: Count, attentions: tuple[str, ...], *, bias: bool, component: str | None
) -> Block:
    return block(
        name,
        *(multihead_attention(each, width, bias=bias) for each in attentions),
        linear("linear1", width, feed_forward, bias=bias),
        linear("linear2", feed_forward, width, bias=bias),
        *(layer_norm(f"norm{index}", width, bias=bias) for index in range(1, len(attentions) + 2)),
        component=component,
    )


def activation(name: str, function: str, *, component: str | None = None) -> Block | None:
    """The learned parameters of an activation function: one for PReLU, two for xIELU (arXiv 2411.13010), else none."""
    learned = {"prelu": ("weight",), "xielu": ("alpha_p", "alpha_n")}.get(function)
    return block(name, *(parameter(each, 1) for each in learned), component=component) if learned else None


def tied(module: Block, /, **sources: str) -> Block:
    """Tie parameters of ``module`` to others: ``tied(linear("decoder", D, V), weight="….word_embeddings.weight")``.

    :param sources: for each tied parameter of the module, the full name of the tensor that owns the storage; a ``*`` in
        it is the index of the layer that the module is in: ``"layer.*.up.weight"``.
    :raises ValueError: when the module has no such parameter.
    """
    unknown = sources.keys() - {child.name for child in module.children}
    if unknown:
        raise ValueError(f"{module.name} has no parameter {', '.join(sorted(unknown))} to tie")
    children = tuple(
        child._replace(tied_to=sources[child.name]) if isinstance(child, Parameter) and child.name in sources else child
        for child in module.children
    )
    return module._replace(children=children)


def attending(module: Block, width: Count) -> Block:
    """The module, as one that makes scores of its vectors and mixes values by them, which is counted in FLOPs alone.

    :param width: of all queries together, and of all values that are mixed, shared ones as often as they are.
    """
    return module._replace(attends=width)


def of_each_token(module: Block) -> Block:
    """The module, whose linear layers see each token whatever it counts for, which is counted in FLOPs alone."""
    return module._replace(reads="token")


def of_the_text(module: Block) -> Block:
    """The module, whose linear layers see one vector for a text, which is counted in FLOPs alone."""
    return module._replace(reads="text")


def frozen(module: Block) -> Block:
    """The module with parameters that are not trained: sinusoidal positions that a class keeps as parameters."""
    return with_leaves(module, lambda leaf: leaf._replace(trainable=False))


def with_leaves(module: Block, change: Callable[[Parameter], Parameter]) -> Block:
    """The same blocks with other parameters."""
    children = tuple(
        change(each) if isinstance(each, Parameter) else with_leaves(each, change) for each in module.children
    )
    return module._replace(children=children)


class Term(NamedTuple):
    """One parameter of the tree: where it stands, and through which repeats it is multiplied."""

    parameter: Parameter
    prefix: str
    """Of its name: ``encoder.layer.*.output.dense.``, a star for the index of a layer that is not unrolled."""
    component: str
    times: Count
    """How many copies there are."""
    passes: Count
    """How often a forward pass uses it, all copies together."""

    @property
    def name(self) -> str:
        return f"{self.prefix}{self.parameter.name}"

    @property
    def size(self) -> Count:
        """Of a single copy."""
        return prod(self.parameter.shape)

    @property
    def trainable(self) -> bool:
        return self.parameter.trainable

    @property
    def total(self) -> Count:
        """What all copies add to the count; a tied one owns nothing."""
        return 0 if self.parameter.tied_to else self.times * self.size


def terms(node: Node) -> Iterator[Term]:
    """Every parameter, without unrolling a single repeat."""
    return _walk(_block_of(node), lambda block, name: (name if block.times is None else f"{name}*.",), "", "", 1, 1)


def tensors(node: Node) -> Iterator[Tensor]:
    """Every tensor by its full name, repeats unrolled. Dimensions must be integers."""
    for term in _walk(_block_of(node), _copies, "", "", 1, 1):
        leaf = term.parameter
        owner = leaf.tied_to and _owner(leaf.tied_to, term.name)
        yield Tensor(term.name, leaf.shape, term.component, leaf.trainable, owner)


def _owner(source: str, name: str) -> str:
    """``layer.*.up.weight`` of ``layer.3.down.weight`` → ``layer.3.up.weight``."""
    if "*" not in source:
        return source
    parts, own = source.split("."), name.split(".")
    there = [here if part == "*" and here.isdecimal() else part for part, here in zip(parts, own, strict=False)]
    return ".".join([*there, *parts[len(own) :]])


def _block_of(node: Node) -> Block:
    return node if isinstance(node, Block) else Block("", (node,))


def _copies(block: Block, name: str) -> Iterable[str]:
    """``encoder.layer.`` → ``encoder.layer.0.``, ``encoder.layer.1.``, …"""
    if block.times is None:
        return (name,)
    return (f"{name}{copy}." for copy in block.keys or range(block.start, block.start + block.times))


def _walk(
    node: Block,
    inside: Callable[[Block, str], Iterable[str]],
    prefix: str,
    component: str,
    times: Count,
    passes: Count,
) -> Iterator[Term]:
    """Every parameter below a block.

    :param inside: the prefixes of a block's children.
    """
    component = node.component or component
    if node.times is not None:
        times, passes = times * node.times, passes * (node.times if node.passes is None else node.passes)
    for within in inside(node, f"{prefix}{node.name}." if node.name else prefix):
        for child in node.children:
            if isinstance(child, Parameter):
                yield Term(child, within, child.component or component, times, passes)
            else:
                yield from _walk(child, inside, within, component, times, passes)
