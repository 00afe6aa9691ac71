"""A project's own class as one architecture: its backbone at an attribute, and what it has beside that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms import blocks
from pytest_bertsize.closed_forms.changes import Trees, find_modules, remove_modules, tie_modules
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts.variations import held_at
from pytest_bertsize.closed_forms.several import Several
from pytest_bertsize.config.keys import LABELS, ConfigKeys, Size
from pytest_bertsize.config.values import MOST_LAYERS
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.extra import summands
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
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
    asked = {key for extra in model.extra for size in extra.written for key in _keys(size)}
    family, symbols = _with_keys(family, asked, model, written)
    if isinstance(family, Several) and backbone:
        backbone = replace(backbone, blocks=family.blocks_of)

    def all_blocks(dims: Dims) -> Block:
        held = _backbone(model, backbone, dims) if backbone else None
        beside = [made for extra in model.extra for made in _blocks(extra, dims, symbols, held)]
        if dims.numbers is None:
            _refuse_doubled(held and held.known, beside)
        return blocks.block("", held and held.written, *beside)

    base = backbone or Architecture(model.factory or "", all_blocks)
    labels = base.labels or _NUM_LABELS in asked
    return family, replace(base, blocks=all_blocks, labels=labels, added={**base.added, **_added(model)})


def _with_keys(
    family: Family, asked: set[str], model: Model, written: Mapping[str, object]
) -> tuple[Family, dict[str, str]]:
    """The family with the keys that size an ``extra``, and the symbols of all.

    :raises Unusable: for one that the config does not have.
    """
    known = {size.key: size.symbol for size in family.keys.sizes} | {_NUM_LABELS: LABELS}
    several = isinstance(family, Several)
    own = sorted(asked - known.keys())
    missing = [key for key in own if key not in written and not (several and key.endswith(f".{_NUM_LABELS}"))]
    if missing:
        raise Unusable(*(_missing(key, model, [*known, *written]) for key in missing))
    if isinstance(family, Several):
        family = family.with_keys(own)
    else:
        taken = {*known.values(), RANK}
        sizes = (Size(key, f"{key}_" if key in taken else key, default=None) for key in own)
        family = replace(family, keys=replace(family.keys, sizes=(*family.keys.sizes, *sizes), open=True))
    return family, known | {size.key: size.symbol for size in family.keys.sizes}


def _backbone(model: Model, backbone: Architecture, dims: Dims) -> Trees:
    """What the class has of the library's.

    :raises Unusable: for a ``without`` or a tie that names nothing of it.
    """
    written = held_at(model.backbone, backbone.blocks(dims))
    known = written if dims.numbers is None else held_at(model.backbone, backbone.blocks(dims.known))
    key = "without"
    try:
        left = remove_modules(Trees(written, known), model.without)
        key = "tied"
        return tie_modules(left, model.tied)
    except ValueError as error:
        raise Unusable(Finding("config-invalid", str(error), f"correct {key}", table_key=(key,))) from None


def _refuse_doubled(held: Block | None, beside: list[Node]) -> None:
    """:raises Unusable: for an ``extra`` with a tensor that the backbone, or another ``extra``, has already."""
    owners = dict.fromkeys((tensor.name for tensor in blocks.tensors(held)) if held else (), "the backbone")
    for node in beside:
        for tensor in blocks.tensors(node):
            if owner := owners.get(tensor.name):
                message = f"the extra {shown(node.name)} has {tensor.name}, and so has {owner}"
                raise Unusable(Finding("config-invalid", message, "remove one of them", table_key=("extra",)))
            owners[tensor.name] = "another extra"


def _added(model: Model) -> dict[str, Sequence[str]]:
    """What a comparison with the base says of it."""
    said = {
        "backbone": [model.backbone] if model.backbone else [],
        "without": model.without,
        "tied": [f"{one} is {other}" for one, other in model.tied.items()],
        "extra": [str(each) for each in model.extra],
    }
    return {key: each for key, each in said.items() if each}


def _keys(size: str) -> Iterator[str]:
    return (key for _, key in summands(size) if key)


def _missing(key: str, model: Model, known: list[str]) -> Finding:
    who = next(each.name for each in model.extra for size in each.written if key in _keys(size))
    fix = did_you_mean(key, known, f"write {shown(key)} in the config, or a number in its place")
    message = f"the extra {shown(who)} is sized by {shown(key)}, a key that the config does not have"
    return Finding("config-invalid", message, fix, table_key=("extra",))


def _blocks(extra: Extra, dims: Dims, symbols: Mapping[str, str], held: Trees | None) -> Iterator[Node]:
    """One, or one for each layer that its name means."""
    sizes = [_size(size, dims, symbols) for size in extra.sizes]
    for name in _names(extra, held):
        if extra.block == "parameter":
            yield blocks.parameter(name, *sizes, component=extra.component)
            continue
        make: Callable[..., Block] = MAKERS[extra.block]
        made = blocks.tied(make(name, *sizes, component=extra.component, **extra.arguments), **extra.tied)
        yield made if extra.count is None else made._replace(times=_count(extra, dims, symbols))


def _names(extra: Extra, held: Trees | None) -> list[str]:
    """:raises Unusable: for a range of what is no list of the backbone's."""
    layers, _, rest = extra.name.rpartition("]")
    if not layers:
        return [extra.name]
    names = [tensor.name for tensor in blocks.tensors(held.known)] if held else []
    try:
        return [f"{path}{rest}" for path in find_modules("extra", f"{layers}]", names)]
    except ValueError as error:
        fix = 'for a list of the class\'s own, write count, as in name = "classifiers", count = 6'
        raise Unusable(Finding("config-invalid", str(error), fix, table_key=("extra",))) from None


def _count(extra: Extra, dims: Dims, symbols: Mapping[str, str]) -> Count:
    """:raises Unusable: for more than are built."""
    count = _size(extra.count or 1, dims, symbols)
    if dims.number(count) > MOST_LAYERS:
        message = f"the extra {shown(extra.name)} is {dims.number(count):,} modules, more than {MOST_LAYERS:,}"
        raise Unusable(Finding("config-refused", message, "write as many as there are", table_key=("extra",)))
    return count


MAKERS: dict[str, Any] = {
    "linear": blocks.linear,
    "embedding": blocks.embedding,
    "layer_norm": blocks.layer_norm,
    "rms_norm": blocks.rms_norm,
    "conv1d": blocks.conv1d,
    "conv2d": blocks.conv2d,
    "lstm": blocks.lstm,
    "gru": blocks.gru,
    "multihead_attention": blocks.multihead_attention,
    "transformer_encoder_layer": blocks.transformer_encoder_layer,
    "transformer_decoder_layer": blocks.transformer_decoder_layer,
}
"""Of the blocks that a table can say, but for a parameter."""


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
