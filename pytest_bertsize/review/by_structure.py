"""A model without a closed form: its components by module, and limits too loose to notice a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.builder import structure
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, Tensor, is_within, levels, parents_first
from pytest_bertsize.table.limits import Growth, Limit
from pytest_bertsize.wording import exact

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Model

TIMES = 2
"""A limit at least this many times the count is too loose for a model without layers."""


def name_components(
    limits: Iterable[Limit], model: Model, tensors: Iterable[Tensor], former: Locked | None
) -> dict[str, str]:
    """Return the component of every tensor, both of today's model and of the model at the base.

    :raises Unusable: for a component of the table that matches nothing, shares a tensor, or has the name of a module.
    """
    asked = [
        limit.measure.part if isinstance(limit.measure, Growth) else limit.component
        for limit in limits
        if limit.measure is None or isinstance(limit.measure, Growth)
    ]
    try:
        return structure.find_components(tensors, asked, model.components, former.tensors if former else ())
    except structure.NoComponent as wrong:
        fix = f"correct components.{wrong.key}"
        raise Unusable(Finding("config-invalid", str(wrong), fix, table_key=("components", wrong.key))) from None


def count_by_components(
    components: Mapping[str, Collection[str]], actual: Inventory, asked: Collection[str]
) -> Inventory:
    """Return the built tensors with the components of the base's table; ignore components that match no tensor."""
    there = dict(components)
    while True:
        try:
            found = structure.find_components(actual.tensors, asked, there)
            return Inventory(tuple(each._replace(component=found[each.name]) for each in actual.tensors))
        except structure.NoComponent as nothing:
            del there[nothing.key]


def list_components(actual: Inventory) -> list[str]:
    """Return the names that a budget may limit: components, and modules that reports fold into components."""
    modules = structure.list_modules(each.name for each in actual.tensors)
    return parents_first(dict.fromkeys((*actual.components, *modules)))


def note_insensitive(review: Review) -> list[Finding]:
    """Note a budget that the model would pass with one more layer, or, without layers, with twice its parameters."""
    actual = review.actual
    counts = [limit for limit in review.budget if limit.measure is None and limit.maximum is not None]
    if actual is None or len(counts) < len(review.budget):
        return []
    name, layer, component = _find_largest_layer(actual)
    if name:
        growing = [limit for limit in counts if is_within(component, limit.component) or limit.component == TRAINABLE]
        passing = [limit for limit in growing if (limit.maximum or 0) - actual.count_of(limit.component) >= layer]
        message = f"one more layer ({name}, +{exact(layer)}) would pass every limit"
    else:
        growing, message = counts, "twice as many parameters would pass every limit"
        passing = [
            limit for limit in counts if (limit.maximum or 0) >= TIMES * max(actual.count_of(limit.component), 1)
        ]
    if not growing or len(passing) < len(growing):
        return []
    limit = next((each for each in growing if each.component == TOTAL), growing[0])
    count = actual.count_of(limit.component)
    is_many = limit.maximum and count and limit.maximum >= TIMES * count
    times = f", which is {(limit.maximum or 0) // count:,} times the count" if is_many else ""
    limited = f"{limit.component} is {exact(count)}, and its limit {limit}{times}"
    fix = f"{limited}; a limit below {exact(count + (layer or count))} would notice it"
    return [limit.make_finding("insensitive-budget", message, fix, "note")]


def _find_largest_layer(actual: Inventory) -> tuple[str, int, str]:
    """Return the list with the largest equal layers, the size of one, and their component; ``""`` without a list."""
    sizes: dict[str, dict[str, int]] = {}
    within: dict[str, str] = {}
    for tensor in actual.tensors:
        parts = tensor.name.split(".")
        index = next((at for at, part in enumerate(parts) if part.isdigit()), None)
        if index is None:
            continue
        place = ".".join(parts[:index])
        layers = sizes.setdefault(place, {})
        layers[parts[index]] = layers.get(parts[index], 0) + tensor.owned
        one, other = within.get(place, tensor.component), tensor.component
        within[place] = next((each for each in reversed([*levels(one)]) if is_within(other, each)), TOTAL)
    repeated = {place: layers for place, layers in sizes.items() if len(layers) > 1 and len(set(layers.values())) == 1}
    if not repeated:
        return "", 0, ""
    name = max(repeated, key=lambda place: max(repeated[place].values()))
    return name or "a list", max(repeated[name].values()), within[name]
