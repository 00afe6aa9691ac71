"""A project's own class as one architecture: its backbone at an attribute, and what it has beside that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms import blocks
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts.variations import held_at
from pytest_bertsize.config.keys import LABELS, ConfigKeys, Size
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.extra import summands
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_bertsize.closed_forms.blocks import Block, Count, Node
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.table.model import Extra, Model

NO_FAMILY = Family("", ConfigKeys(()), ())
"""Of a class that is made without a config."""
_NUM_LABELS = "num_labels"
RANK = "r"
"""The symbol that an adapter takes."""


def own_class(
    model: Model, family: Family, backbone: Architecture | None, written: Mapping[str, object]
) -> tuple[Family, Architecture]:
    """The architecture of what the model's factory builds, and the family with the config keys that it reads.

    :param backbone: ``None`` where the class consists of nothing but its ``extra``.
    :param written: what config and overrides say.
    :raises Unusable: for an ``extra`` whose size is a key that the config does not have.
    """
    asked = {key for extra in model.extra for size in extra.sizes if isinstance(size, str) for key in _keys(size)}
    symbols = {size.key: size.symbol for size in family.keys.sizes} | {_NUM_LABELS: LABELS}
    taken = {*symbols.values(), RANK}
    own = tuple(Size(key, f"{key}_" if key in taken else key, default=None) for key in sorted(asked - symbols.keys()))
    missing = [size.key for size in own if size.key not in written]
    if missing:
        raise Unusable(*(_missing(key, model, [*symbols, *written]) for key in missing))
    symbols |= {size.key: size.symbol for size in own}

    def all_blocks(dims: Dims) -> Block:
        held = held_at(model.backbone, backbone.blocks(dims)) if backbone else None
        beside = [_block(extra, dims, symbols) for extra in model.extra]
        _refuse_doubled(held, beside)
        return blocks.block("", held, *beside)

    base = backbone or Architecture(model.factory or "", all_blocks)
    labels = base.labels or _NUM_LABELS in asked
    keys = replace(family.keys, sizes=(*family.keys.sizes, *own), open=True)
    return replace(family, keys=keys), replace(base, blocks=all_blocks, labels=labels, added=_added(model))


def _refuse_doubled(held: Block | None, beside: list[Node]) -> None:
    """:raises Unusable: for an ``extra`` with a tensor that the backbone, or another ``extra``, has already."""
    if held and not all(isinstance(term.times, int) for term in blocks.terms(held)):
        return
    owners = dict.fromkeys((tensor.name for tensor in blocks.tensors(held)) if held else (), "the backbone")
    for node in beside:
        for tensor in blocks.tensors(node):
            if owner := owners.get(tensor.name):
                message = f"the extra {shown(node.name)} has {tensor.name}, and so has {owner}"
                raise Unusable(Finding("config-invalid", message, "remove one of them", table_key=("extra",)))
            owners[tensor.name] = "another extra"


def _added(model: Model) -> dict[str, str]:
    """What a comparison with the base says of it."""
    extra = ", ".join(f"{each.name} {each.block}{list(each.sizes)}" for each in model.extra)
    return {key: text for key, text in {"backbone": model.backbone, "extra": extra}.items() if text}


def _keys(size: str) -> Iterator[str]:
    return (key for _, key in summands(size) if key)


def _missing(key: str, model: Model, known: list[str]) -> Finding:
    who = next(each.name for each in model.extra for size in each.sizes if isinstance(size, str) and key in _keys(size))
    fix = did_you_mean(key, known, f"write {shown(key)} in the config, or a number in its place")
    message = f"the extra {shown(who)} is sized by {shown(key)}, a key that the config does not have"
    return Finding("config-invalid", message, fix, table_key=("extra",))


def _block(extra: Extra, dims: Dims, symbols: Mapping[str, str]) -> Node:
    sizes = [_size(size, dims, symbols) for size in extra.sizes]
    if extra.block == "parameter":
        return blocks.parameter(extra.name, *sizes, component=extra.component)
    make: Callable[..., Block] = _MAKERS[extra.block]
    return blocks.tied(make(extra.name, *sizes, component=extra.component, **extra.arguments), **extra.tied)


_MAKERS: dict[str, Any] = {
    "linear": blocks.linear,
    "embedding": blocks.embedding,
    "layer_norm": blocks.layer_norm,
    "conv1d": blocks.conv1d,
    "lstm": blocks.lstm,
}


def _size(size: int | str, dims: Dims, symbols: Mapping[str, str]) -> Count:
    """A number, or the sum that a text stands for: ``"2*hidden_size + 16"`` → 2·D + 16."""
    if isinstance(size, int):
        return size
    return sum(times * (_value(key, dims, symbols) if key else 1) for times, key in summands(size))


def _value(key: str, dims: Dims, symbols: Mapping[str, str]) -> Count:
    value: Count | None = dims.sizes[symbols[key]]
    if value is None:
        message = f"an extra is sized by {shown(key)}, which is null in the config, or left out"
        raise Unusable(Finding("config-invalid", message, "write a number in its place", table_key=("extra",)))
    return value
