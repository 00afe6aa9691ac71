"""What a closed form consists of: a flat list of terms, one for each parameter, and the kinds of modules they are of.

Dimensions are integers when parameters are counted and symbols when a formula is shown: the same terms, made twice. In
their names a star stands for the index of a layer, so that depth costs nothing until tensors are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from pytest_bertsize.inventory import Tensor

Count: TypeAlias = Any
"""An ``int``, or an expression of the config's symbols (:mod:`pytest_bertsize.closed_forms.symbols`)."""

STAR = "*"
"""In the name of a term: the index of a layer."""


class Copies(NamedTuple):
    """The copies of a module, ``name.0``, ``name.1``, …: what a star stands for."""

    times: Count
    start: int = 0
    """The index of the first copy."""
    keys: tuple[str, ...] = ()
    """The names of the copies where they are not called by index (``torch.nn.ModuleDict``)."""
    passes: Count | None = None
    """How often a forward pass goes through the copies, all told, where that is not once through each."""

    def indices(self) -> range:
        """Return the index of each copy; one with a key has its place among the others."""
        return range(self.start, self.start + (len(self.keys) or int(self.times)))

    def name_of(self, index: int) -> str:
        return self.keys[index - self.start] if self.keys else str(index)

    def only(self, run: range) -> Copies:
        """Return some of the copies; all of them, and so a symbol for their number, stay as they are."""
        every = self.indices()
        if run == every:
            return self
        passes = self.passes
        if passes is not None:
            low, high = (passes * (end - every.start) // len(every) for end in (run.start, run.stop))
            passes = high - low
        keys = self.keys[run.start - self.start : run.stop - self.start]
        return Copies(len(run), run.start, keys, passes)


class Term(NamedTuple):
    """One parameter of each of its copies."""

    name: str
    """Its full name with a star for the index of each list: ``encoder.layer.*.output.dense.weight``."""
    shape: tuple[Count, ...]
    component: str = ""
    trainable: bool = True
    tied_to: str | None = None
    """The full name of the tensor whose storage it shares; a star is its own index at that place of the name."""
    copies: tuple[Copies, ...] = ()
    """For each star."""
    kind: str = ""
    """Of the module that has it: one of :data:`KINDS`."""

    @property
    def times(self) -> Count:
        """The number of copies."""
        return prod(each.times for each in self.copies)

    @property
    def passes(self) -> Count:
        """The number of times that a forward pass uses it, all copies together."""
        return prod(each.times if each.passes is None else each.passes for each in self.copies)

    @property
    def size(self) -> Count:
        """The number of elements of a single copy."""
        return prod(self.shape)

    @property
    def total(self) -> Count:
        """The parameters that all copies add to the count; a tied one owns nothing."""
        return 0 if self.tied_to else self.times * self.size

    @property
    def lists(self) -> list[str]:
        """The names of the lists that its stars are indices of."""
        return [self.name[:end] for end, sign in enumerate(self.name) if sign == STAR]

    def name_at(self, place: Sequence[int]) -> str:
        """Return the full name of one copy by its index in each list."""
        parts = iter([each.name_of(index) for each, index in zip(self.copies, place, strict=True)])
        return ".".join(next(parts) if part == STAR else part for part in self.name.split("."))

    def owner_of(self, name: str) -> str | None:
        """Return the owner's full name for one copy: ``layer.*.up.weight`` of ``layer.3.down.weight`` → layer 3's."""
        if self.tied_to is None or STAR not in self.tied_to:
            return self.tied_to
        own = dict(enumerate(name.split(".")))
        parts = enumerate(self.tied_to.split("."))
        return ".".join(own.get(at, part) if part == STAR else part for at, part in parts)


# kinds of modules


def _make_leaves(**shapes: tuple[Count, ...] | None) -> tuple[Term, ...]:
    return tuple(Term(name, shape) for name, shape in shapes.items() if shape is not None)


def _make_linear(inputs: Count, outputs: Count, *, bias: bool = True) -> tuple[Term, ...]:
    """``outputs·inputs`` weights and, with a bias, ``outputs`` more (``torch.nn.Linear``)."""
    return _make_leaves(weight=(outputs, inputs), bias=(outputs,) if bias else None)


def _make_transposed_linear(inputs: Count, outputs: Count) -> tuple[Term, ...]:
    """``inputs·outputs`` weights, inputs first, and ``outputs`` biases (transformers' ``Conv1D``)."""
    return _make_leaves(weight=(inputs, outputs), bias=(outputs,))


def _make_embedding(rows: Count, width: Count) -> tuple[Term, ...]:
    """``rows·width`` weights (``torch.nn.Embedding``)."""
    return _make_leaves(weight=(rows, width))


def _make_layer_norm(width: Count, *, elementwise_affine: bool = True, bias: bool = True) -> tuple[Term, ...]:
    """``width`` weights and ``width`` biases (``torch.nn.LayerNorm``); without ``elementwise_affine`` neither."""
    return _make_leaves(weight=(width,), bias=(width,) if bias else None) if elementwise_affine else ()


def _make_rms_norm(width: Count, *, elementwise_affine: bool = True) -> tuple[Term, ...]:
    """``width`` weights, and no bias (``torch.nn.RMSNorm``)."""
    return _make_layer_norm(width, elementwise_affine=elementwise_affine, bias=False)


def _make_activation(function: str) -> tuple[Term, ...]:
    """The learned parameters of an activation function: one for PReLU, two for xIELU (arXiv 2411.13010), else none."""
    learned = {"prelu": ("weight",), "xielu": ("alpha_p", "alpha_n")}.get(function, ())
    return tuple(Term(name, (1,)) for name in learned)


def _make_conv1d(inputs: Count, outputs: Count, kernel: Count, *, bias: bool = True) -> tuple[Term, ...]:
    """``outputs·inputs·kernel`` weights and, with a bias, ``outputs`` more (``torch.nn.Conv1d``)."""
    return _make_leaves(weight=(outputs, inputs, kernel), bias=(outputs,) if bias else None)


def _make_conv2d(
    inputs: Count, outputs: Count, height: Count, width: Count | None = None, *, bias: bool = True
) -> tuple[Term, ...]:
    """``outputs·inputs·height·width`` weights and, with a bias, ``outputs`` more (``torch.nn.Conv2d``).

    :param width: of the kernel; ``None`` for a square one.
    """
    kernel = (height, height if width is None else width)
    return _make_leaves(weight=(outputs, inputs, *kernel), bias=(outputs,) if bias else None)


def _make_lstm(inputs: Count, hidden: Count, **named: Any) -> tuple[Term, ...]:
    """``4·hidden·(inputs + hidden + 2)`` in the first layer of each direction (``torch.nn.LSTM``).

    :param named: ``layers`` (1), ``bidirectional`` (``False``) and ``bias`` (``True``).
    """
    return _make_recurrent(4 * hidden, hidden, inputs, **named)


def _make_gru(inputs: Count, hidden: Count, **named: Any) -> tuple[Term, ...]:
    """``3·hidden·(inputs + hidden + 2)`` in the first layer of each direction (``torch.nn.GRU``)."""
    return _make_recurrent(3 * hidden, hidden, inputs, **named)


def _make_recurrent(
    gates: Count, hidden: Count, inputs: Count, *, layers: int = 1, bidirectional: bool = False, bias: bool = True
) -> tuple[Term, ...]:
    """Return the parameters of all layers; one above the first reads the hidden numbers of each direction below it."""
    directions = ("", "_reverse") if bidirectional else ("",)
    found: dict[str, tuple[Count, ...]] = {}
    for layer in range(layers):
        width = inputs if layer == 0 else len(directions) * hidden
        for end in (f"l{layer}{direction}" for direction in directions):
            found |= {f"weight_ih_{end}": (gates, width), f"weight_hh_{end}": (gates, hidden)}
            found |= {f"bias_{side}_{end}": (gates,) for side in ("ih", "hh")} if bias else {}
    return _make_leaves(**found)


def _make_multihead_attention(width: Count, *, bias: bool = True) -> tuple[Term, ...]:
    """``4·width² + 4·width``, whatever the number of heads: query, key and value in one matrix, and an output
    (``torch.nn.MultiheadAttention``).
    """
    joined = _make_leaves(in_proj_weight=(3 * width, width), in_proj_bias=(3 * width,) if bias else None)
    return (*joined, *module("linear", "out_proj", width, width, bias=bias))


def _make_transformer_encoder_layer(width: Count, feed_forward: Count, *, bias: bool = True) -> tuple[Term, ...]:
    """Self-attention, two dense layers and a norm behind each (``torch.nn.TransformerEncoderLayer``)."""
    return _make_torch_layer(width, feed_forward, ("self_attn",), bias=bias)


def _make_transformer_decoder_layer(width: Count, feed_forward: Count, *, bias: bool = True) -> tuple[Term, ...]:
    """An encoder's layer with attention to what it reads, and a norm behind (``torch.nn.TransformerDecoderLayer``)."""
    return _make_torch_layer(width, feed_forward, ("self_attn", "multihead_attn"), bias=bias)


def _make_torch_layer(width: Count, feed_forward: Count, attentions: Sequence[str], *, bias: bool) -> tuple[Term, ...]:
    modules = (
        *(module("multihead_attention", name, width, bias=bias) for name in attentions),
        module("linear", "linear1", width, feed_forward, bias=bias),
        module("linear", "linear2", feed_forward, width, bias=bias),
        *(module("layer_norm", f"norm{number}", width, bias=bias) for number in range(1, len(attentions) + 2)),
    )
    return tuple(term for terms in modules for term in terms)


KINDS: Mapping[str, Callable[..., tuple[Term, ...]]] = {
    "linear": _make_linear,
    "embedding": _make_embedding,
    "layer_norm": _make_layer_norm,
    "rms_norm": _make_rms_norm,
    "activation": _make_activation,
    "conv1d": _make_conv1d,
    "conv2d": _make_conv2d,
    "lstm": _make_lstm,
    "gru": _make_gru,
    "multihead_attention": _make_multihead_attention,
    "transformer_encoder_layer": _make_transformer_encoder_layer,
    "transformer_decoder_layer": _make_transformer_decoder_layer,
    "transposed_linear": _make_transposed_linear,
    "quantised_linear": _make_linear,
    "quantised_embedding": _make_embedding,
}
"""The parameters of each kind of module by its sizes: torch's own kinds, GPT-2's and I-BERT's. A closed form's text
names them, and a row of ``extra`` in a table those that are torch's.
"""


def module(
    kind: str,
    name: str,
    *sizes: Count,
    component: str = "",
    tied: Mapping[str, str] = MappingProxyType({}),
    copies: tuple[Copies, ...] = (),
    **named: Any,
) -> tuple[Term, ...]:
    """Return the parameters of a module of one of :data:`KINDS`.

    :param name: its full name, with a star for the index of each list.
    :param tied: for parameters that are tied, the full name of the tensor that owns the storage; a star in it is the
        index of the layer that the module is in: ``"layer.*.up.weight"``.
    :param copies: for each star.
    :param named: further arguments of its kind, such as ``bias``.
    :raises ValueError: when the module has no such parameter.
    """
    made = KINDS[kind](*sizes, **named)
    if tied and (unknown := tied.keys() - {each.name for each in made}):
        raise ValueError(f"{name} has no parameter {', '.join(sorted(unknown))} to tie")
    inside = f"{name}." if name else ""
    return tuple(
        Term(f"{inside}{leaf}", shape, component, tied_to=tied.get(leaf), copies=copies, kind=inner or kind)
        for leaf, shape, *_, inner in made
    )


def list_tensors(terms: Iterable[Term]) -> list[Tensor]:
    """Return every tensor by its full name, layer by layer as the model has them. Dimensions must be integers."""
    first: dict[str, int] = {}
    found: list[tuple[tuple[int, ...], Tensor]] = []
    for at, term in enumerate(terms):
        firsts = [first.setdefault(each, at) for each in term.lists]
        for place in product(*(each.indices() for each in term.copies)):
            name = term.name_at(place)
            tensor = Tensor(name, term.shape, term.component, term.trainable, term.owner_of(name))
            found.append(((*(each for pair in zip(firsts, place, strict=True) for each in pair), at), tensor))
    return [tensor for _, tensor in sorted(found, key=lambda row: row[0])]
