"""The terms of a closed form, each of which is one tensor in all of its layers, and the kinds of modules.

The same terms are made twice: with integers as dimensions to count parameters, and with symbols to show a formula. In
a term's name a star stands for the index of a layer, so that depth costs nothing until tensors are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from pytest_bertsize.inventory import Tensor

Count: TypeAlias = Any  # an int, or an expression of the config's symbols (pytest_bertsize.closed_forms.symbols)

STAR = "*"  # the sign for the index of a layer in the name of a term
RANK = "r"  # the symbol of an adapter's rank (Hu et al. 2021, arXiv 2106.09685)


class Copies(NamedTuple):
    """The copies of a module, ``name.0``, ``name.1``, …, whose index is a star in the name of a term."""

    times: Count
    start: int = 0
    keys: tuple[str, ...] = ()  # the names of the copies if they are not called by index (torch.nn.ModuleDict)
    passes: Count | None = None  # the passes through all copies in one forward pass; None for one through each

    def indices(self) -> range:
        """Return the index of each copy; indices count up from ``start``, even if the copies have keys as names."""
        return range(self.start, self.start + (len(self.keys) or int(self.times)))

    def only(self, run: range) -> Copies:
        """Return the copies with the indices in ``run``; if these are all copies, their number may stay a symbol."""
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
    """One tensor with all of its copies."""

    name: str  # the full name with a star for the index of each list: encoder.layer.*.output.dense.weight
    shape: tuple[Count, ...]
    component: str = ""
    trainable: bool = True
    tied_to: str | None = None  # the tensor that owns the storage; a star is the index at the same place in name
    copies: tuple[Copies, ...] = ()
    kind: str = ""  # the kind of the module that has the tensor, one of KINDS; "" for none of them

    @property
    def times(self) -> Count:
        """The number of copies."""
        return prod(each.times for each in self.copies)

    @property
    def passes(self) -> Count:
        """The number of times that one forward pass uses the tensor, summed over all copies."""
        return prod(each.times if each.passes is None else each.passes for each in self.copies)

    @property
    def size(self) -> Count:
        """The number of elements of a single copy."""
        return prod(self.shape)

    @property
    def owned(self) -> Count:
        """The parameters that all copies add to the count; a tied tensor adds none."""
        return 0 if self.tied_to else self.times * self.size

    @property
    def lists(self) -> list[str]:
        """The name of the list before each star in the term's name."""
        return [self.name[:end] for end, sign in enumerate(self.name) if sign == STAR]

    def name_at(self, place: Sequence[int]) -> str:
        """Return the full name of one copy; ``place`` has its index in each list."""
        copies = zip(self.copies, place, strict=True)
        parts = iter([each.keys[at - each.start] if each.keys else str(at) for each, at in copies])
        return ".".join(next(parts) if part == STAR else part for part in self.name.split("."))

    def owner_of(self, name: str) -> str | None:
        """Return the owner of one copy: ``up.3.weight`` for ``down.3.weight``, which is tied to ``up.*.weight``."""
        if self.tied_to is None or STAR not in self.tied_to:
            return self.tied_to
        own = dict(enumerate(name.split(".")))
        parts = enumerate(self.tied_to.split("."))
        return ".".join(own.get(at, part) if part == STAR else part for at, part in parts)


# kinds of modules

# the shape of each parameter by its name; of a module inside the module, its kind and its sizes
Shapes: TypeAlias = Mapping[str, tuple[Count, ...]]


def _recurrent(gates: int) -> Callable[..., Shapes]:
    def list_shapes(inputs: Count, hidden: Count, *, layers: int = 1, bidirectional: bool = False) -> Shapes:
        """List the parameters of all layers; a layer after the first reads the outputs of the layer before."""
        directions = ("", "_reverse") if bidirectional else ("",)
        found: dict[str, tuple[Count, ...]] = {}
        for layer in range(layers):
            width = inputs if layer == 0 else len(directions) * hidden
            for end in (f"l{layer}{direction}" for direction in directions):
                found |= {f"weight_ih_{end}": (gates * hidden, width), f"weight_hh_{end}": (gates * hidden, hidden)}
                found |= {f"bias_{side}_{end}": (gates * hidden,) for side in ("ih", "hh")}
        return found

    return list_shapes


def _torch_layer(*attentions: str) -> Callable[..., Shapes]:
    return lambda width, feed_forward: {
        **dict.fromkeys(attentions, ("multihead_attention", width)),
        "linear1": ("linear", width, feed_forward),
        "linear2": ("linear", feed_forward, width),
        **{f"norm{number}": ("layer_norm", width) for number in range(1, len(attentions) + 2)},
    }


_ACTIVATIONS: Mapping[str, Shapes] = {"prelu": {"weight": (1,)}, "xielu": {"alpha_p": (1,), "alpha_n": (1,)}}
# The parameters of each kind of module by its sizes. A closed form may name every kind; ``docs/reference/python.md``
# describes them. A row of ``extra`` may name only those of torch.
KINDS: dict[str, Callable[..., Shapes]] = {
    "parameter": lambda *shape: {"": shape},  # a tensor itself, not a module
    "linear": lambda inputs, outputs: {"weight": (outputs, inputs), "bias": (outputs,)},
    "embedding": lambda rows, width: {"weight": (rows, width)},
    "layer_norm": lambda width, elementwise_affine=True: (
        {"weight": (width,), "bias": (width,)} if elementwise_affine else {}
    ),
    "rms_norm": lambda width, elementwise_affine=True: {"weight": (width,)} if elementwise_affine else {},
    "activation": lambda function: _ACTIVATIONS.get(function, {}),
    "conv1d": lambda inputs, outputs, kernel: {"weight": (outputs, inputs, kernel), "bias": (outputs,)},
    "conv2d": lambda inputs, outputs, height, width=None: {
        "weight": (outputs, inputs, height, height if width is None else width),
        "bias": (outputs,),
    },
    "lstm": _recurrent(4),
    "gru": _recurrent(3),
    "multihead_attention": lambda width: {
        "in_proj_weight": (3 * width, width),
        "in_proj_bias": (3 * width,),
        "out_proj": ("linear", width, width),
    },
    "transformer_encoder_layer": _torch_layer("self_attn"),
    "transformer_decoder_layer": _torch_layer("self_attn", "multihead_attn"),
    "transposed_linear": lambda inputs, outputs: {"weight": (inputs, outputs), "bias": (outputs,)},
}
KINDS |= {f"quantised_{kind}": KINDS[kind] for kind in ("linear", "embedding")}


def module(
    kind: str,
    name: str,
    *sizes: Count,
    component: str = "",
    tied: Mapping[str, str] = MappingProxyType({}),
    copies: tuple[Copies, ...] = (),
    bias: bool = True,
    **named: Any,
) -> list[Term]:
    """Return the terms of a module of one of :data:`KINDS`.

    :param name: its full name, with a star for the index of each list.
    :param tied: for each tied parameter, the full name of the tensor that owns its storage; a star in that name stands
        for the index of the module's own layer: ``"layer.*.up.weight"``.
    :param copies: the copies for each star in ``name``.
    :param bias: whether the module, and those in it, have a bias.
    :param named: further arguments of the kind, such as ``layers``.
    :raises ValueError: if ``tied`` has a parameter that the module does not have.
    """
    found: list[Term] = []
    for leaf, made in KINDS[kind](*sizes, **named).items():
        path = f"{name}.{leaf}".strip(".")
        if made and isinstance(made[0], str):
            found += module(made[0], path, *made[1:], component=component, copies=copies, bias=bias)
        elif bias or "bias" not in leaf:
            owner = tied.get(path.rpartition(".")[2])
            found.append(Term(path, made, component, tied_to=owner, copies=copies, kind=kind if leaf else ""))
    if tied and (unknown := tied.keys() - {each.name.rpartition(".")[2] for each in found if each.kind in {kind, ""}}):
        raise ValueError(f"{name} has no parameter {', '.join(sorted(unknown))} to tie")
    return found


def list_tensors(terms: Iterable[Term]) -> list[Tensor]:
    """Return every tensor by its full name, layer by layer in the order of the terms. Dimensions must be integers."""
    first: dict[str, int] = {}
    found: list[tuple[tuple[int, ...], Tensor]] = []
    for at, term in enumerate(terms):
        firsts = [first.setdefault(each, at) for each in term.lists]
        for place in product(*(each.indices() for each in term.copies)):
            name = term.name_at(place)
            tensor = Tensor(name, term.shape, term.component, term.trainable, term.owner_of(name))
            found.append(((*(each for pair in zip(firsts, place, strict=True) for each in pair), at), tensor))
    return [tensor for _, tensor in sorted(found, key=lambda row: row[0])]
