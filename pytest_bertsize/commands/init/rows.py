"""Propose rows of ``extra`` for the modules of a project's class that its table does not declare."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import module
from pytest_bertsize.table.extra import LARGEST, LONGEST_SHAPE, MODULE_PATH, TIED

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Tensor

    Shapes = Mapping[str, tuple[int, ...]]

_INDEX = re.compile(r"\.\d+(?![^.])")
MOST_ROWS = 40
"""The most rows to propose; a class that needs more probably has a backbone at another attribute."""


def propose_rows(undeclared: Sequence[Tensor], kinds: Mapping[str, str]) -> list[Row]:
    """Return rows such as ``{ name = "classifier", linear = [768, 9] }``; ``[]`` if too many are needed.

    :param undeclared: the built tensors that the table does not declare.
    :param kinds: the names of torch's own classes, by the paths of their modules.
    """
    rows = _join_lists(list(_list_rows(undeclared, kinds)))
    return rows if len(rows) <= MOST_ROWS and all(map(_can_be_said, rows)) else []


class Row(Struct, frozen=True):
    """One row of ``extra``."""

    name: str
    block: str
    sizes: tuple[int | str, ...]
    """The sizes: numbers, names of keys of the config or of arguments, or sums of these."""
    arguments: Mapping[str, Any] = {}
    tied: Mapping[str, str] = {}
    count: int | str = 0
    """The number of equal modules in a list; 0 for a module outside a list."""

    @property
    def first(self) -> str:
        """The name with the index 0 in place of ``*``."""
        return self.name.replace("*", "0")

    @property
    def numbers(self) -> tuple[int | str, ...]:
        """The sizes, then the count."""
        return (*self.sizes, self.count)

    def __str__(self) -> str:
        also = {**self.arguments, **({"count": self.count} if self.count else {})}
        sizes = self.sizes[0] if len(self.sizes) == 1 else self.sizes
        said = [f"name = {json.dumps(self.name)}", f"{self.block} = {json.dumps(sizes)}"]
        said += [f"{key} = {json.dumps(value)}" for key, value in also.items()]
        ties = ", ".join(f"{key} = {json.dumps(source)}" for key, source in self.tied.items())
        return f"{{ {', '.join((*said, *([f'tied = {{ {ties} }}'] if ties else [])))} }}"


def _can_be_said(row: Row) -> bool:
    fits = len(row.sizes) <= LONGEST_SHAPE and all(isinstance(size, int) and 0 < size <= LARGEST for size in row.sizes)
    return fits and MODULE_PATH.fullmatch(row.first) is not None


def _list_rows(undeclared: Sequence[Tensor], kinds: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each module of torch's own classes, the outer ones first, and for each other parameter."""
    waiting = {tensor.name: tensor for tensor in undeclared}
    while waiting:
        name = next(iter(waiting))
        parts = name.split(".")
        paths = (".".join(parts[:depth]) for depth in range(1, len(parts)))
        for path in (each for each in paths if kinds.get(each) in _GUESSES):
            inside = {each: waiting[each] for each in waiting if each.startswith(f"{path}.")}
            if row := _describe_module(path, kinds[path], inside):
                yield row
                waiting = {each: tensor for each, tensor in waiting.items() if each not in inside}
                break
        else:
            tensor = waiting.pop(name)
            if tensor.tied_to is None:
                yield Row(name, "parameter", tensor.shape)


def _describe_module(path: str, kind: str, inside: Mapping[str, Tensor]) -> Row | None:
    """Return the row whose block has exactly the tensors ``inside``; ``None`` if there is no such block."""
    shapes = {name.removeprefix(f"{path}."): tensor.shape for name, tensor in inside.items()}
    block, guess = _GUESSES[kind]
    ties = {name.removeprefix(f"{path}."): each.tied_to for name, each in inside.items() if each.tied_to}
    try:
        sizes, arguments = guess(shapes)
        made = module(block, "x", *sizes, **arguments)
    except (KeyError, IndexError, ValueError, TypeError):
        return None
    if {each.name.removeprefix("x."): each.shape for each in made} != shapes or ties.keys() - {*TIED.get(block, ())}:
        return None
    return Row(path, block, sizes, arguments, ties)


def _join_lists(rows: list[Row]) -> list[Row]:
    """Join equal modules of a list into one row with a count; in its name, ``*`` replaces an index before a dot."""
    alike: dict[tuple[str, str, tuple[int | str, ...], str], list[Row]] = {}
    for row in rows:
        name = row.name if row.tied else _INDEX.sub(".*", row.name, count=1)
        alike.setdefault((name, row.block, row.sizes, json.dumps(row.arguments)), []).append(row)
    found: list[Row] = []
    for (name, *_), members in alike.items():
        every = {name.replace("*", str(index), 1) for index in range(len(members))}
        if len(members) > 1 and {row.name for row in members} == every:
            found.append(replace(members[0], name=name.removesuffix(".*"), count=len(members)))
        else:
            found += members
    return found


# the arguments of a module, from the shapes of its tensors


Guess = tuple[tuple[int, ...], dict[str, Any]]


def _read_bias(shapes: Shapes, name: str = "bias") -> dict[str, Any]:
    return {} if name in shapes else {"bias": False}


def _guess_linear(shapes: Shapes) -> Guess:
    """Return the sizes of a Linear, or of a convolution, which has a kernel as well."""
    outputs, inputs, *kernel = shapes["weight"]
    square = kernel[:1] if len(set(kernel)) == 1 else kernel
    return (inputs, outputs, *square), _read_bias(shapes)


def _guess_recurrent(shapes: Shapes) -> Guess:
    layers = sum(name.startswith("weight_ih_l") and not name.endswith("_reverse") for name in shapes)
    said: dict[str, Any] = _read_bias(shapes, "bias_ih_l0")
    said |= {"layers": layers} if layers > 1 else {}
    said |= {"bidirectional": True} if "weight_ih_l0_reverse" in shapes else {}
    return (shapes["weight_ih_l0"][1], shapes["weight_hh_l0"][1]), said


def _guess_layer(shapes: Shapes) -> Guess:
    feed_forward, width = shapes["linear1.weight"]
    return (width, feed_forward), _read_bias(shapes, "linear1.bias")


_GUESSES: Mapping[str, tuple[str, Callable[[Shapes], Guess]]] = {
    "Linear": ("linear", _guess_linear),
    "Embedding": ("embedding", lambda shapes: (shapes["weight"], {})),
    "EmbeddingBag": ("embedding", lambda shapes: (shapes["weight"], {})),
    "LayerNorm": ("layer_norm", lambda shapes: (shapes["weight"], _read_bias(shapes))),
    "RMSNorm": ("rms_norm", lambda shapes: (shapes["weight"], {})),
    "Conv1d": ("conv1d", _guess_linear),
    "Conv2d": ("conv2d", _guess_linear),
    "LSTM": ("lstm", _guess_recurrent),
    "GRU": ("gru", _guess_recurrent),
    "MultiheadAttention": (
        "multihead_attention",
        lambda shapes: (shapes["in_proj_weight"][1:], _read_bias(shapes, "in_proj_bias")),
    ),
    "TransformerEncoderLayer": ("transformer_encoder_layer", _guess_layer),
    "TransformerDecoderLayer": ("transformer_decoder_layer", _guess_layer),
}
"""The block of ``extra`` for each class of torch, and the function that finds its sizes and arguments by shapes."""
