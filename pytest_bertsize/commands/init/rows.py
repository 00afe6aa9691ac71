"""Propose rows of ``extra`` for the modules of a project's class that its table does not declare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import module
from pytest_bertsize.table.extra import TIED
from pytest_bertsize.table.toml import inline

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Tensor

Shape = tuple[int, ...]
MOST_ROWS = 40  # the most rows to propose; a class that needs more probably has a backbone at another attribute
_INDEX = re.compile(r"\.\d+(?![^.])")


class Row(Struct, frozen=True):
    """One row of ``extra``."""

    name: str
    block: str
    sizes: tuple[int | str, ...]  # the sizes: numbers, names of keys of the config or of arguments, or sums of these
    arguments: Mapping[str, Any] = {}
    tied: Mapping[str, str] = {}
    count: int | str = 0  # the number of equal modules in a list; 0 for a module outside a list

    @property
    def numbers(self) -> tuple[int | str, ...]:
        """The sizes, then the count."""
        return (*self.sizes, self.count)

    def __str__(self) -> str:
        sizes = self.sizes[0] if len(self.sizes) == 1 else [*self.sizes]
        also = {"count": self.count, "tied": dict(self.tied)}
        written = {"name": self.name, self.block: sizes, **self.arguments}
        return inline({**written, **{key: value for key, value in also.items() if value}})


def propose_rows(undeclared: Sequence[Tensor], kinds: Mapping[str, str]) -> list[Row]:
    """Return rows such as ``{ name = "classifier", linear = [768, 9] }``; ``[]`` if too many are needed."""
    rows = _join_lists([*_list_rows(undeclared, kinds)])
    return rows if len(rows) <= MOST_ROWS else []


def _list_rows(undeclared: Sequence[Tensor], kinds: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each module of torch's own classes, the outer ones first, and for each other parameter."""
    waiting = {tensor.name: tensor for tensor in undeclared}
    while waiting:
        name = next(iter(waiting))
        parts = name.split(".")
        paths = (".".join(parts[:depth]) for depth in range(1, len(parts)))
        for path in (each for each in paths if kinds.get(each) in _BLOCKS):
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
    block, owner, read_sizes = _BLOCKS[kind]
    shapes = {name.removeprefix(f"{path}."): tensor.shape for name, tensor in inside.items()}
    ties = {name.removeprefix(f"{path}."): each.tied_to for name, each in inside.items() if each.tied_to}
    layers = sum(re.fullmatch(r"weight_hh_l\d+", name) is not None for name in shapes)
    also: dict[str, Any] = {"layers": layers} if layers > 1 else {}
    also |= {"bidirectional": True} if any(name.endswith("_reverse") for name in shapes) else {}
    for arguments in (also, {"bias": False, **also}):
        try:
            sizes = read_sizes(shapes[owner])
            made = module(block, "x", *sizes, **arguments)
        except (KeyError, IndexError, ValueError, TypeError):
            continue
        same = {each.name.removeprefix("x."): each.shape for each in made} == shapes
        if same and ties.keys() <= {*TIED.get(block, ())}:
            return Row(path, block, sizes, arguments, ties)
    return None


def _join_lists(rows: list[Row]) -> list[Row]:
    """Join equal modules of a list into one row with a count; in its name, ``*`` replaces an index before a dot."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        name = row.name if row.tied else _INDEX.sub(".*", row.name, count=1)
        alike.setdefault((name, str(replace(row, name=""))), []).append(row)
    found: list[Row] = []
    for (name, _), members in alike.items():
        every = {name.replace("*", str(index), 1) for index in range(len(members))}
        if len(members) > 1 and {row.name for row in members} == every:
            found.append(replace(members[0], name=name.removesuffix(".*"), count=len(members)))
        else:
            found += members
    return found


def _swap(shape: Shape) -> Shape:
    """Return the sizes of a Linear, or of a convolution, whose kernel is one number if it is a square."""
    outputs, inputs, *kernel = shape
    return (inputs, outputs, *(kernel[:1] if len({*kernel}) == 1 else kernel))


# The block of ``extra`` of each class of torch, the tensor that tells the block's sizes, and how its shape does.
_BLOCKS: Mapping[str, tuple[str, str, Callable[[Shape], Shape]]] = {
    "Linear": ("linear", "weight", _swap),
    "Embedding": ("embedding", "weight", tuple),
    "EmbeddingBag": ("embedding", "weight", tuple),
    "LayerNorm": ("layer_norm", "weight", tuple),
    "RMSNorm": ("rms_norm", "weight", tuple),
    "Conv1d": ("conv1d", "weight", _swap),
    "Conv2d": ("conv2d", "weight", _swap),
    "LSTM": ("lstm", "weight_ih_l0", lambda shape: (shape[1], shape[0] // 4)),
    "GRU": ("gru", "weight_ih_l0", lambda shape: (shape[1], shape[0] // 3)),
    "MultiheadAttention": ("multihead_attention", "in_proj_weight", lambda shape: shape[1:]),
    "TransformerEncoderLayer": ("transformer_encoder_layer", "linear1.weight", _swap),
    "TransformerDecoderLayer": ("transformer_decoder_layer", "linear1.weight", _swap),
}
