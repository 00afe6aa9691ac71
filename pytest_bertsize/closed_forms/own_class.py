"""A project's own class as one architecture: its backbone at an attribute, and the modules beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import STAR, Copies, Term, module
from pytest_bertsize.closed_forms.changes import find_modules, name_tensors, put_below, remove_modules, tie_modules
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.several import NUM_LABELS, Several, with_sizes
from pytest_bertsize.config.keys import LABELS, ConfigKeys
from pytest_bertsize.config.values import MOST_LAYERS
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import find_nearest, group_by_module
from pytest_bertsize.table.extra import summands
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count
    from pytest_bertsize.config.values import Dims
    from pytest_bertsize.table.extra import Extra
    from pytest_bertsize.table.model import Model

NO_FAMILY = Family("", ConfigKeys(()), ())
"""The family of a class without a config."""
RANK = "r"
"""The symbol of an adapter's rank."""


def own_class(
    model: Model, family: Family, backbone: Architecture | None, written: Mapping[str, object]
) -> tuple[Family, Architecture]:
    """Return the architecture of the factory's class, and the family with the config keys that it reads.

    :param backbone: ``None`` if the class consists only of its ``extra``.
    :param written: the values of config and overrides.
    :raises Unusable: for an ``extra`` whose size is a key that the config does not have.
    """
    asked = {key for extra in model.extra for size in extra.written for key in _list_keys(size)}
    family, symbols = _with_keys(family, asked, model, written)
    if isinstance(family, Several) and backbone:
        backbone = replace(backbone, terms=family.list_terms)

    def list_all(dims: Dims) -> list[Term]:
        held: Sequence[Term] = put_below(model.backbone, backbone.terms(dims)) if backbone else []
        held = tie_modules(remove_modules(held, model.without), model.tied) if backbone else held
        beside = [(extra.name, _list_beside(extra, dims, symbols, held)) for extra in model.extra]
        if not dims.is_symbolic:
            _refuse_doubled(held, beside)
        return [*held, *(term for _, terms in beside for term in terms)]

    base = backbone or Architecture(model.factory or "", list_all)
    labels = base.labels or NUM_LABELS in asked
    said: dict[str, Sequence[str]] = {  # in words, for a comparison with the base
        "backbone": [model.backbone] if model.backbone else [],
        "without": model.without,
        "tied": [f"{one} is {other}" for one, other in model.tied.items()],
        "extra": [str(each) for each in model.extra],
    }
    added = {**base.added, **{key: each for key, each in said.items() if each}}
    written_sizes = " ".join(str(size) for extra in model.extra for size in extra.sizes)
    literals = frozenset(map(int, re.findall(r"(?<![\w.])\d+", written_sizes)))
    return family, replace(base, terms=list_all, labels=labels, added=added, literals=literals)


def _with_keys(
    family: Family, asked: set[str], model: Model, written: Mapping[str, object]
) -> tuple[Family, dict[str, str]]:
    """Return the family with the keys that set the sizes of an ``extra``, and the symbol of every key.

    :raises Unusable: for a key that the config does not have.
    """
    known = {size.key: size.symbol for size in family.keys.sizes} | {NUM_LABELS: LABELS}
    several = isinstance(family, Several)
    own = sorted(asked - known.keys())
    missing = [key for key in own if key not in written and not (several and key.endswith(f".{NUM_LABELS}"))]
    if missing:
        raise Unusable(*(_report_missing(key, model, [*known, *written]) for key in missing))
    if isinstance(family, Several):
        family = family.with_keys(own)
    else:
        family = replace(family, keys=with_sizes(family.keys, own, RANK))
    return family, known | {size.key: size.symbol for size in family.keys.sizes}


def _refuse_doubled(held: Sequence[Term], beside: Sequence[tuple[str, Sequence[Term]]]) -> None:
    """:raises Unusable: for an ``extra`` with a tensor that the backbone, or another ``extra``, has already."""
    owners = {name: "the backbone" for name, _ in name_tensors(held)}
    for extra, terms in beside:
        for name, _ in name_tensors(terms):
            if owner := owners.get(name):
                message = f"the extra {shown(extra)} has {name}, and so has {owner}"
                raise Unusable(Finding("config-invalid", message, "remove one of them", table_key=("extra",)))
            owners[name] = "another extra"


def _list_keys(size: str) -> Iterator[str]:
    return (key for _, key in summands(size) if key)


def _report_missing(key: str, model: Model, known: list[str]) -> Finding:
    who = next(each.name for each in model.extra for size in each.written if key in _list_keys(size))
    fix = did_you_mean(key, known, f"write {shown(key)} in the config, or a number in its place")
    message = f"the extra {shown(who)} is sized by {shown(key)}, a key that the config does not have"
    return Finding("config-invalid", message, fix, table_key=("extra",))


def _list_beside(extra: Extra, dims: Dims, symbols: Mapping[str, str], held: Sequence[Term]) -> list[Term]:
    """Return the terms of one ``extra``, once for each layer that its name means.

    :raises Unusable: for more than :data:`MOST_LAYERS` copies.
    """
    sizes = [_make_size(size, dims, symbols) for size in extra.sizes]
    copies: tuple[Copies, ...] = ()
    if extra.count is not None:
        count = _make_size(extra.count, dims, symbols)
        if count > MOST_LAYERS:
            message = f"the extra {shown(extra.name)} is {count:,} modules, more than {MOST_LAYERS:,}"
            raise Unusable(Finding("config-refused", message, "write as many as there are", table_key=("extra",)))
        copies = (Copies(count),)
    found: list[Term] = []
    modules = group_by_module((term.name, term.component) for term in held)
    for name in _list_names(extra, held):
        component = extra.component or find_nearest(name, modules, f"head.{name.partition('.')[0]}")
        path = f"{name}.{STAR}" if copies and STAR not in name else name
        if extra.block == "parameter":
            found.append(Term(path, tuple(sizes), component, copies=copies))
            continue
        placed = partial(module, extra.block, path, component=component, tied=extra.tied, copies=copies)
        found += placed(*sizes, **extra.arguments)
    return found


def _list_names(extra: Extra, held: Sequence[Term]) -> list[str]:
    """:raises Unusable: for a range, such as ``layer[:6]``, of a module that is not a list of the backbone."""
    layers, _, rest = extra.name.rpartition("]")
    if not layers:
        return [extra.name]
    names = [name for name, _ in name_tensors(held)]
    try:
        return [f"{path}{rest}" for path in find_modules("extra", f"{layers}]", names)]
    except Unusable as unusable:
        fix = 'for a list of the class\'s own, write count, as in name = "classifiers", count = 6'
        raise Unusable(unusable.findings[0]._replace(fix=fix)) from None


def _make_size(size: int | str, dims: Dims, symbols: Mapping[str, str]) -> Count:
    """Return the value of a size: a number, or the sum in a text, as in ``"2*hidden_size + 16"`` → 2·D + 16."""
    if isinstance(size, int):
        return size
    found: Count = 0
    for times, key in summands(size):
        value: Count | None = dims.sizes[symbols[key]] if key else 1
        if value is None:
            message = f"an extra is sized by {shown(key)}, which is null in the config or missing"
            raise Unusable(Finding("config-invalid", message, "write a number in its place", table_key=("extra",)))
        found += times * value
    return found
