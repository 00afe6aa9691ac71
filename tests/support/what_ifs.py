"""Models of every family at other sizes than their config has, by the what-if page and by the gate's own reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_bertsize.closed_forms.derive import Derivation, choose, derive
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.all_sizes import AllSizes
    from pytest_bertsize.config.keys import Size

ODD = (-1, 0, 1, 2, 3, 5, 7, 9, 10, 12, 64, 100, 768, 1_000, 1_001, 100_001, 10**9, 10**9 + 1, 2**63)
"""Values at which something changes, and values that are refused."""
TOO_LARGE = re.compile(r"^\w+(\.\w+)* is [\d,]+: (?=by the closed form this is)")
"""The key that makes a model too large, which the gate names; on the page it is the one that was just moved."""
Config: TypeAlias = Mapping[str, Any]
Options: TypeAlias = Mapping[str, bool]


def model_of(architecture: str, options: Options | None = None, **overrides: Any) -> Model:
    named: dict[str, Any] = {"config": "config.json", "architecture": architecture, "budget": Budget()}
    return Model(**named, overrides=overrides, options=dict(options or {}))


def derived(
    family: str, architecture: str, config: Config, options: Options | None = None, **overrides: Any
) -> Derivation:
    file = parse_json(json.dumps({"model_type": family, **config}).encode(), "config.json")
    model = model_of(architecture, options, **overrides)
    return derive(model, file, choose(model, file, Registry()))


def overriding(free: Mapping[str, Size], values: Mapping[str, int]) -> dict[str, Any]:
    """Sizes by symbol as a table's overrides: ``encoder.hidden_size`` is in a table of its own."""
    found: dict[str, Any] = {}
    for symbol, value in values.items():
        *place, key = free[symbol].key.split(".")
        inside = found.setdefault(place[0], {}) if place else found
        inside[key] = value
    return found


def by_python(
    family: str, architecture: str, config: Config, options: Options, overrides: Config
) -> dict[str, int] | list[tuple[str, str]]:
    """Return what the gate counts, or, where it refuses, what is wrong and what to write."""
    try:
        form = derived(family, architecture, config, options, **overrides).form
    except Unusable as unusable:
        errors = (each for each in unusable.findings if each.severity == "error")
        return sorted((TOO_LARGE.sub("", each.message), each.fix) for each in errors)
    return {**form.components, "total": form.total}


def odd_values(found: AllSizes, start: Mapping[str, int], rng: Random) -> dict[str, int]:
    """A few sizes at which something may change, the others as they are."""
    values = {symbol: start[symbol] for symbol in found.free}
    for symbol in rng.sample([*values], min(len(values), rng.randint(1, 3))):
        values[symbol] = rng.choice([*ODD, *values.values()])
    return values


def fitting_values(
    found: AllSizes, start: Mapping[str, int], other: Mapping[str, int | None], rng: Random
) -> dict[str, int]:
    """The sizes of another model of the class, as they are or all of its widths so many times as large."""
    scale = rng.choice((1, 1, 64, 1_000, 10**6))
    known = {symbol: value for symbol, value in other.items() if value is not None}
    values = {symbol: known.get(symbol, start[symbol]) for symbol in found.free}
    unscaled = {symbol for symbol, size in found.free.items() if size.repeats or values[symbol] < 1}
    return {symbol: value if symbol in unscaled else value * scale for symbol, value in values.items()}
