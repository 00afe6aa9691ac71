"""What is measured within a process: idle cost, modules that are loaded, helpers, reviews and closed forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Bound, Line, Samples, Table, is_installed, run, seconds, seconds_of, times
from projects import alike, write_project

from pytest_bertsize.builder.helper import CORES, Helper
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Family
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.text_files import parse_json
from pytest_bertsize.config.values import Dims
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import load

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Request
    from pytest_bertsize.config.model_config import ModelConfig

OURS = "pytest_bertsize.plugin"
PLUGINS = {OURS: "pytest_bertsize", "pytest_cov.plugin": "pytest_cov", "xdist.plugin": "xdist"}
"""What pytest imports at every start where it is installed, and the package that it comes with."""
IMPORTS = 3
"""Imports of each plugin in a round, each in a process of its own."""

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


def one_process_or_every_core(samples: Samples, folder: Path) -> None:
    """The helper forks for one model after the other, or side by side."""
    requests = _requests(folder)
    for what, at_once in (("one process", 1), ("every core", CORES)):
        samples.note(what, seconds_of(partial(_count_answers, requests, at_once)))


def count_builds(samples: Samples, folder: Path, count: int) -> None:
    """Models of one config share one answer, so that answers are counted."""
    samples.note("builds", _count_answers(_requests(write_project(folder, alike(count))), CORES))


def _requests(folder: Path) -> list[Request]:
    settings = load(folder / "pyproject.toml")
    examined = (examine(model, settings, Registry()) for model in settings.models.values())
    return [subject.request for subject in examined if subject.request]


def _count_answers(requests: Sequence[Request], at_once: int) -> int:
    helper = Helper(_at_once=at_once)
    try:
        helper.ask(requests)
        return len({id(helper.result(request.name)) for request in requests})
    finally:
        helper.stop()


# closed forms


def closed_forms(samples: Samples) -> None:
    """Every architecture of every family, a thousand layers deep and twelve: the slowest."""
    for what, layers in (("a thousand layers", 1_000), ("twelve layers", 12)):
        samples.note(what, max(seconds_of(partial(_count, form)) for form in _forms(layers)))


def _count(form: ClosedForm) -> int:
    return ClosedForm(form.architecture, form.dims).total


@cache
def _forms(layers: int) -> list[ClosedForm]:
    return [
        ClosedForm(architecture, Dims(values.sizes, {**values.switches, **architecture.options}))
        for family in FAMILIES.values()
        for each in family.architectures
        for found, architecture in [family.of_config(_of_depth(layers, family), each)]
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


def inside_table(samples: Samples, count: int) -> Table:
    return Table("inside", ("figure", "ratio"), [*_counts(samples, count), *_times(samples, count)])


def _counts(samples: Samples, count: int) -> Iterator[Line]:
    loaded, heavy, builds = (samples.median(what) for what in ("modules", "heavy modules", "builds"))
    yield Line("modules that `check --no-build` loads", (f"{loaded:,.0f}", ""), Bound(loaded, 360, is_count=True))
    what = "of torch, transformers, numpy and sympy among them"
    yield Line(what, (f"{heavy:,.0f}", ""), Bound(heavy, 0, is_count=True))
    what = f"builds for {count:,} models of one config"
    yield Line(what, (f"{builds:,.0f}", ""), Bound(builds, 1, is_count=True))


def _times(samples: Samples, count: int) -> Iterator[Line]:
    cores = samples.ratio("every core", "one process")
    both = f"{seconds(samples.median('one process'))}, {seconds(samples.median('every core'))}"
    what = f"one process that builds {count:,} models, and one for each core"
    yield Line(what, (both, f"cores ÷ one {cores:.2f} ×"))
    deep = samples.median("a thousand layers")
    ratio = samples.ratio("a thousand layers", "twelve layers")
    what = f"the slowest of all {len(_forms(12))} closed forms, counted a thousand layers deep"
    yield Line(what, (f"{deep * 1e3:.2f} ms", f"÷ twelve layers {ratio:.2f} ×"), Bound(ratio, 3.0))
