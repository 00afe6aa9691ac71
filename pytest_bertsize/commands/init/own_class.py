"""What the table of a class of the project says: found in the model that its factory builds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.commands.init.proposal import list_limits, write_heading, write_limit_above
from pytest_bertsize.commands.init.rows import Row, propose_rows
from pytest_bertsize.inventory import TOTAL, TRAINABLE, common
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.extra import KEY, MODULE_PATH
from pytest_bertsize.table.toml import inline, key, quoted
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, Finished, Request
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.inventory import Inventory, Tensor
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

LARGE = 5
"""A component below another has a limit of its own from a fifth of the total on."""
ROWS_OF_MODULES = 20
"""A module of a class without a closed form has one from a twentieth on."""
_LISTED = re.compile(r"(.+)\.(\d+)")


@dataclass(frozen=True)
class Draft:
    """The table of a model, as it is being found."""

    name: str
    factory: str
    kwargs: Mapping[str, Any]
    config: str = ""
    family: str = ""
    """That of a config without a model_type."""
    device: str = ""
    """Where it is built, if that is not the meta device."""
    backbones: Mapping[str, str] = field(default_factory=dict)
    """The class at each attribute; ``""`` for what the factory returns itself; empty where there is no closed form."""
    options: Mapping[str, bool] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    tied: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    extra: tuple[Row, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    """Comments behind keys."""

    @property
    def numbers(self) -> dict[str, int]:
        """The keyword arguments that ``extra`` may name: it reads them before keys of the config."""
        return {name: value for name, value in self.kwargs.items() if type(value) is int}

    def __str__(self) -> str:
        lines = [write_heading(self.name), *(self._write_key(*pair) for pair in self._list_keys())]
        lines += [f"budget.{key(component)} = {limit}" for component, limit in self.limits]
        return "".join(f"{line}\n" for line in (*lines, *([] if self.limits else ['budget = "report-only"'])))

    def _write_key(self, name: str, written: str) -> str:
        note = self.notes.get(name)
        return f"{name} = {written}{f'  # {note}' if note else ''}"

    def _list_keys(self) -> Iterator[tuple[str, str]]:
        for name in ("factory", "kwargs", "config", "family"):
            if value := getattr(self, name):
                yield name, inline(value)
        yield from self._list_backbones() if self.backbones else [("closed_form", "false")]
        for name in ("options", "tied", "without", "frozen"):
            if value := getattr(self, name):
                yield name, inline(list(value) if isinstance(value, tuple) else value)
        if self.extra:
            yield "extra", "".join(("[\n", *(f"    {row},\n" for row in self.extra), "]"))
        if self.device:
            yield "build", inline({"device": self.device})
        if self.limits:
            yield "lock", '"strict"'

    def _list_backbones(self) -> Iterator[tuple[str, str]]:
        paths, classes = [*self.backbones], {*self.backbones.values()}
        yield "architecture", quoted(classes.pop()) if len(classes) == 1 else inline(self.backbones)
        if len(paths) > 1:
            yield "backbone", inline(paths)
        elif paths != [""]:
            yield "backbone", quoted(paths[0])


class Discovery:
    """Finds what the table of a built model says; each step keeps what the ones before it have found."""

    def __init__(self, project: Project, registry: Registry, built: Built, draft: Draft) -> None:
        self.project, self.registry, self.built = project, registry, built
        self.problem = ""
        backbones = dict(self._find_backbones())
        self._unnamed = next((path for path in backbones if path and not MODULE_PATH.fullmatch(path)), "")
        self.draft = replace(draft, backbones={} if self._unnamed else backbones)
        names = {each.path: str(each.config.get("_name_or_path") or "") for each in built.finished}
        if named := ", ".join(dict.fromkeys(filter(None, map(names.get, self.draft.backbones)))):
            self.draft = replace(self.draft, notes={"architecture": f"of the config {printable(named)}"})

    def _find_backbones(self) -> Iterator[tuple[str, str]]:
        """Yield the outermost models of the library that have a closed form."""
        found: list[str] = []
        for each in self.built.finished:
            is_inside = any(not path or f"{each.path}.".startswith(f"{path}.") for path in found)
            if not is_inside and self.registry.find(each.family, each.architecture):
                found.append(each.path)
                yield each.path, each.architecture

    @cached_property
    def actual(self) -> dict[str, Tensor]:
        return {each.name: each for each in self.built.tensors}

    def run(self) -> Draft:
        """Return the draft that the built model passes: by its closed form, else by its lock and its budget."""
        if self.draft.backbones:
            if self.draft.config and self._expect() is None:
                families = {each.path: each.family for each in self.built.finished}
                self.draft = replace(self.draft, family=families[next(iter(self.draft.backbones))])
            self.draft = min(self._list_options(), key=self._count_differences)
            before = self._expect()
            self.draft = replace(self.draft, without=tuple(self._find_missing()))
            self.draft = replace(self.draft, tied=dict(self._find_ties()))
            self.draft = replace(self.draft, extra=tuple(self._find_extra(before)))
            self.draft = replace(self.draft, frozen=tuple(self._find_frozen()))
            subject = self.examine(self.draft)
            if subject.derivation and not self.review(subject).errors:
                return replace(self.draft, limits=tuple(list_limits_of_parts(subject)))
        why = "no class of a known family is in it"
        if self.draft.backbones:
            classes = ", ".join(dict.fromkeys(self.draft.backbones.values()))
            why = f"{classes} and extra do not describe it"
            self.problem = self._find_nested() or self.review(self.examine(self.draft)).errors[0].message
        elif self._unnamed:
            why = f"no table can name the path {printable(shown(self._unnamed))}"
            self.problem = f"{why}: give it letters, digits and _"
        alone = replace(
            self.draft,
            backbones={},
            family="",
            options={},
            without=(),
            tied={},
            extra=(),
            frozen=(),
            notes={"closed_form": why},
        )
        return replace(alone, limits=tuple(self._limit_modules()))

    def _find_nested(self) -> str:
        """Say which model of the library is in a class that is one itself, and no part of that; ``""`` if none is."""
        expected = self._expect()
        for each in self.built.finished if expected else ():
            is_part = expected and any(f"{name}.".startswith(f"{each.path}.") for name in expected.by_name)
            if each.path and not is_part and self.registry.find(each.family, each.architecture):
                kinds = f"{each.path} is a {each.architecture} in a class that is a model of the library itself"
                return f"{kinds}; with a class that holds both as attributes, each has its closed form"
        return ""

    def examine(self, draft: Draft) -> Subject:
        settings = self.project.parse_beside(str(replace(draft, limits=())))
        model = settings.models[draft.name]
        return examine(model, settings, self.registry, built=self.built if model.has_config_of_build else None)

    def review(self, subject: Subject) -> Review:
        return conclude(subject, self.built)

    def _expect(self) -> Inventory | None:
        return self.examine(self.draft).expected

    def _list_options(self) -> Iterator[Draft]:
        """Yield the draft with each choice of the constructors' arguments."""
        arguments: dict[str, bool] = {}
        for each in self.built.finished:
            if self.draft.backbones.get(each.path) == each.architecture:
                found = self.registry.find(each.family, each.architecture)
                arguments |= dict(found[1].options) if found else {}
        for values in product((False, True), repeat=len(arguments)):
            flipped = {name: not usual for (name, usual), flips in zip(arguments.items(), values, strict=True) if flips}
            yield replace(self.draft, options=flipped)

    def _count_differences(self, draft: Draft) -> int:
        expected = self.examine(draft).expected
        if expected is None:
            return len(self.actual) + 1
        mine = {each.name: each.shape for each in expected.tensors}
        return sum(name not in self.actual or self.actual[name].shape != shape for name, shape in mine.items())

    def _find_missing(self) -> Iterator[str]:
        expected = self._expect()
        if expected is not None:
            there = expected.by_name
            missing = {name for name, each in there.items() if self._is_other(each)}
            yield from name_modules(missing, there)

    def _is_other(self, expected: Tensor) -> bool:
        return expected.name not in self.actual or self.actual[expected.name].shape != expected.shape

    def _find_ties(self) -> Iterator[tuple[str, str]]:
        """Yield the modules of backbones that are others of them."""
        expected = self._expect()
        if expected is None:
            return
        known = expected.by_name
        tied = {
            name: each.tied_to
            for name, each in self.actual.items()
            if each.tied_to in known and name in known and known[name].tied_to is None
        }
        for path in name_modules(set(tied), known):
            ends = {str(tied[name])[: -len(name) + len(path)] for name in tied if f"{name}.".startswith(f"{path}.")}
            if len(ends) == 1:
                yield path, ends.pop()

    def _find_extra(self, before: Inventory | None) -> Iterator[Row]:
        """Yield what there is beside the backbones; what stands in the place of a part of them counts as that part.

        :param before: the backbones with what the class has deleted or replaced.
        """
        expected = self._expect()
        for row in self._propose_rows(expected) if expected else ():
            former = before.tensors if before else ()
            parts = {each.component for each in former if f"{each.name}.".startswith(f"{row.name}.")}
            component = common(parts, "") if parts else ""
            yield replace(row, arguments={**row.arguments, "component": component}) if component else row

    def _propose_rows(self, expected: Inventory) -> list[Row]:
        known = expected.by_name
        actual = inventory_of(self.built, expected).tensors
        beside = [each for each in actual if each.name not in known and each.tied_to not in known]
        return propose_rows(beside, self.built.kinds)

    def _find_frozen(self) -> Iterator[str]:
        expected = self._expect()
        usual = {each.name for each in expected.tensors if not each.trainable} if expected else set()
        frozen = {name for name, each in self.actual.items() if not each.trainable and name not in usual}
        yield from name_modules(frozen, self.actual)

    def _limit_modules(self) -> Iterator[tuple[str, str]]:
        actual = inventory_of(self.built)
        yield TOTAL, write_limit_above(actual.unique)
        for component, count in actual.components.items():
            if count * ROWS_OF_MODULES >= actual.unique:
                yield component, write_limit_above(count)


def list_limits_of_parts(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the limits of a closed form, down to the components that hold the most."""
    derivation = subject.derivation
    assert derivation
    yield from list_limits(derivation)
    form = derivation.form
    if form.trainable < form.total and "adapters" not in form.components:
        yield TRAINABLE, write_limit_above(form.trainable)
    for component, count in form.components.items():
        if "." in component and count * LARGE >= form.total:
            yield component, write_limit_above(count)


def name_modules(chosen: Collection[str], names: Iterable[str]) -> list[str]:
    """Return paths that hold these tensors and no others, layers of a list as a range: ``encoder.layer[6:]``."""
    everything = [*names]

    def walk(path: str) -> Iterator[str]:
        inside = [name for name in everything if f"{name}.".startswith(f"{path}.") or not path]
        held = [name for name in inside if name in chosen]
        if path and len(held) == len(inside):
            yield path
        elif held:
            depth = path.count(".") + 1 if path else 0
            parts = dict.fromkeys(name.split(".")[depth] for name in held)
            for part in parts:
                yield from walk(f"{path}.{part}" if path else part)

    return [*_fold_layers([*walk("")], everything)]


def _fold_layers(paths: list[str], names: list[str]) -> Iterator[str]:
    lists: dict[str, list[int]] = {}
    for path in paths:
        if layer := _LISTED.fullmatch(path):
            lists.setdefault(layer[1], []).append(int(layer[2]))
    for path in paths:
        layer = _LISTED.fullmatch(path)
        if layer is None:
            yield path
        elif (indices := lists.pop(layer[1], None)) is not None:
            outer = f"{layer[1]}."
            last = max(int(name.removeprefix(outer).split(".")[0]) for name in names if name.startswith(outer))
            first, end = min(indices), max(indices)
            if len(indices) == end - first + 1 > 1:
                yield f"{layer[1]}[{first or ''}:{'' if end == last else end + 1}]"
            else:
                yield from (f"{outer}{index}" for index in indices)


# sizes as keys: what becomes of a row where one size is another


@dataclass(frozen=True)
class Variation:
    """One size with another value, and the request that builds the model with it."""

    key: str
    """As ``extra`` names it: ``hidden_size``, ``question.hidden_size`` of one of several backbones, or an argument."""
    was: int
    value: int
    request: Request


def plan_variations(discovery: Discovery, request: Request) -> list[Variation]:
    """Return a variation for each size of the backbones, and for each whole number among the arguments."""
    draft, taken = discovery.draft, set[tuple[str, int]]()
    found: list[Variation] = []
    for each in discovery.built.finished:
        if each.path not in draft.backbones:
            continue
        place = f"{each.path}." if len(draft.backbones) > 1 else ""
        for name, was in _list_sizes(each, discovery.registry):
            key = f"{place}{name}"
            is_readable = key not in draft.numbers and re.fullmatch(KEY, key, re.ASCII)
            if is_readable and (name, was) not in taken:
                taken.add((name, was))
                value = 2 * was if "hidden" in name or "dim" in name or "d_model" in name else was + 1
                varied = request._replace(name=f"{request.name} {key}", varied=((name, was, value),))
                found.append(Variation(key, was, value, varied))
    for name, was in draft.numbers.items():
        kwargs = {**draft.kwargs, name: was + 1}
        found.append(Variation(name, was, was + 1, request._replace(name=f"{request.name} {name}", kwargs=kwargs)))
    return found


def _list_sizes(finished: Finished, registry: Registry) -> Iterator[tuple[str, int]]:
    found = registry.find(finished.family, finished.architecture)
    keys = [size.key for size in found[0].keys.sizes] if found else []
    for name in (*keys, "num_labels"):
        was = finished.config.get(name)
        if type(was) is int and was > 1:
            yield name, was


def write_in_keys(rows: Collection[Row], varied: Iterable[tuple[Variation, Built]]) -> list[Row]:
    """Return the rows with sums of keys for the numbers that follow them; others stay numbers."""
    changed = [(each, {row.name: row for row in _find_rows(rows, built)}) for each, built in varied]
    return [_write_row(row, [(each, found[row.name]) for each, found in changed if row.name in found]) for row in rows]


def _find_rows(rows: Iterable[Row], built: Built) -> list[Row]:
    """Return what another build has in the places of these rows."""
    places = tuple(f"{row.name}." for row in rows)
    return propose_rows([each for each in built.tensors if f"{each.name}.".startswith(places)], built.kinds)


def _write_row(row: Row, varied: list[tuple[Variation, Row]]) -> Row:
    alike = [(each, other) for each, other in varied if (other.block, len(other.sizes)) == (row.block, len(row.sizes))]
    sizes = [_write_size(size, [(each, other.sizes[at]) for each, other in alike]) for at, size in enumerate(row.sizes)]
    count = _write_size(row.count, [(each, other.count) for each, other in alike]) if row.count else 0
    return replace(row, sizes=tuple(sizes), count=count)


def _write_size(size: int | str, others: list[tuple[Variation, int | str]]) -> int | str:
    """``768``, which doubles with ``hidden_size`` → ``"hidden_size"``."""
    assert isinstance(size, int)
    summands, rest = [], size
    for each, other in others:
        times, remainder = divmod(int(other) - size, each.value - each.was)
        if times and (remainder or times < 0):
            return size
        if times:
            summands.append(each.key if times == 1 else f"{times}*{each.key}")
            rest -= times * each.was
    if not summands or rest < 0:
        return size
    return " + ".join((*summands, *([str(rest)] if rest else [])))
