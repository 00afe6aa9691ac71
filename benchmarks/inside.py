"""What is measured within a process: idle cost, modules that are loaded, helpers, reviews and closed forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Bound, Line, Samples, Table, is_installed, run, seconds_of, times
from projects import alike, write_project

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Family
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import load

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

OURS = "pytest_bertsize.plugin"
PLUGINS = {OURS: "pytest_bertsize", "pytest_cov.plugin": "pytest_cov", "xdist.plugin": "xdist"}
"""What pytest imports at every start where it is installed, and the package that it comes with."""
IMPORTS = 3
"""Imports of each plugin in a round, each in a process of its own."""
ALIKE = 3
"""Models of one config."""

IMPORT_PLUGIN = """
import sys, pytest
from time import process_time
before, start = set(sys.modules), process_time()
import {module}
print(process_time() - start, len(set(sys.modules) - before))
"""
LOADED = """
import sys
from pytest_bertsize.__main__ import main
try:
    main(["check", *sys.argv[1:]])
finally:
    heavy = [name for name in sys.modules if name.partition(".")[0] in ("torch", "transformers", "numpy", "sympy")]
    print(len(sys.modules), len(heavy))
"""

# idle cost


def import_plugins(samples: Samples) -> None:
    for module, package in PLUGINS.items():
        for _ in range(IMPORTS if is_installed(package) else 0):
            taken, new = run("-c", IMPORT_PLUGIN.format(module=module)).output.split()
            samples.note(f"{module} import", float(taken))
            samples.note(f"{module} modules", int(new))


def idle_table(samples: Samples) -> Table:
    columns = ("CPU time", "ours ÷ it", "new modules")
    return Table("import of a plugin, pytest being loaded", columns, [_idle(samples, each) for each in PLUGINS])


def _idle(samples: Samples, module: str) -> Line:
    what = f"`import {module}`"
    if not samples.has(f"{module} import"):
        return Line(what, ("not installed", "", ""))
    ratio, new = samples.ratio(f"{OURS} import", f"{module} import"), samples.median(f"{module} modules")
    taken = f"{samples.median(f'{module} import') * 1e3:.2f} ms"
    bound = Bound(new, 2, is_count=True) if module == OURS else Bound(ratio, 1.0)
    return Line(what, (taken, times(ratio), f"{new:,.0f}"), bound)


# modules


def count_modules(samples: Samples, project: Path) -> None:
    loaded, heavy = run("-I", "-c", LOADED, "--no-build", folder=project).output.split()[-2:]
    samples.note("modules", int(loaded))
    samples.note("heavy modules", int(heavy))


# helper processes


def count_builds(samples: Samples, folder: Path) -> None:
    """Models of one config share one answer, so that answers are counted."""
    settings = load(write_project(folder, alike(ALIKE)) / "pyproject.toml")
    examined = (examine(model, settings, Registry()) for model in settings.models.values())
    requests = [subject.request for subject in examined if subject.request]
    helper = Helper()
    try:
        helper.ask(requests)
        samples.note("builds", len({id(helper.result(request.name)) for request in requests}))
    finally:
        helper.stop()


# closed forms


def closed_forms(samples: Samples) -> None:
    """Every architecture of every family, a thousand layers deep and twelve: the slowest, each the least of three."""
    for what, layers in (("a thousand layers", 1_000), ("twelve layers", 12)):
        samples.note(what, max(min(seconds_of(partial(_count, form)) for _ in range(3)) for form in _forms(layers)))


def _count(form: ClosedForm) -> int:
    return ClosedForm(form.architecture, form.dims).total


@cache
def _forms(layers: int) -> list[ClosedForm]:
    return [
        ClosedForm(architecture, Dims(values.sizes, {**values.switches, **architecture.options}))
        for family in FAMILIES.values()
        for each in family.architectures
        for found, architecture in [family.of_config(_of_depth(layers, family), each, Registry().families)]
        for values in [found.resolve(_of_depth(layers, family), {}, architecture)]
    ]


def _of_depth(layers: int, family: Family) -> ModelConfig:
    """The library's defaults, but for the depth; what has no default is BERT's."""
    depth = {size.key: layers for size in family.keys.sizes if size.repeats and size.default is not None}
    sides = {side: {"model_type": "bert", "num_hidden_layers": layers} for side in ("encoder", "decoder")}
    words = {"vocab_size": 30522} if family.name == "esm" else {}
    data = {"model_type": family.name, **words, **(sides if family.name == "encoder-decoder" else depth)}
    return parse_json(json.dumps(data).encode(), "config.json")


# the table


def inside_table(samples: Samples) -> Table:
    return Table("inside", ("figure", "ratio"), [*_counts(samples), _time(samples)])


def _counts(samples: Samples) -> Iterator[Line]:
    loaded, heavy, builds = (samples.median(what) for what in ("modules", "heavy modules", "builds"))
    yield Line("modules that `check --no-build` loads", (f"{loaded:,.0f}", ""), Bound(loaded, 360, is_count=True))
    what = "of torch, transformers, numpy and sympy among them"
    yield Line(what, (f"{heavy:,.0f}", ""), Bound(heavy, 0, is_count=True))
    what = f"builds for {ALIKE} models of one config"
    yield Line(what, (f"{builds:,.0f}", ""), Bound(builds, 1, is_count=True))


def _time(samples: Samples) -> Line:
    deep = samples.median("a thousand layers")
    ratio = samples.ratio("a thousand layers", "twelve layers")
    what = f"the slowest of all {len(_forms(12))} closed forms, counted a thousand layers deep"
    return Line(what, (f"{deep * 1e3:.2f} ms", f"÷ twelve layers {ratio:.2f} ×"), Bound(ratio, 3.0))
