"""Find the table for a class of the project from the model that its factory builds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.commands.init.project import write_table
from pytest_bertsize.commands.init.proposal import list_limits, write_limit_above
from pytest_bertsize.commands.init.rows import MOST_ROWS, Row, propose_rows
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, common
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.extra import KEY, MODULE_PATH
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.table.toml import inline, quoted
from pytest_bertsize.wording import listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, Finished, Request
    from pytest_bertsize.closed_forms.family import Architecture, Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.inventory import Tensor
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

LARGE = 5
"""The divisor of the total: a nested component with at least a fifth of it gets a limit of its own."""
ROWS_OF_MODULES = 20
"""The divisor without a closed form: a module with at least a twentieth of the total gets a limit of its own."""
PEFT_HAS_ADAPTED = (
    'PEFT has adapted it; declare its base by config, with adapter = "path/to/adapter_config.json", for a closed form'
)
_INDEX = re.compile(r"0|[1-9][0-9]*")


class Draft(Struct, frozen=True):
    """The table of a model, so far as it is known."""

    name: str
    factory: str
    kwargs: Mapping[str, Any]
    config: str = ""
    family: str = ""
    """The family, for a config without a model_type."""
    build: Mapping[str, str] = {}
    """The device or the memory of the build, if the model needs another than is usual."""
    backbones: Mapping[str, str] = {}
    """The class of each backbone by its attribute (``""`` for the model itself); empty without a closed form."""
    options: Mapping[str, bool] = {}
    without: tuple[str, ...] = ()
    tied: Mapping[str, str] = {}
    frozen: tuple[str, ...] = ()
    extra: tuple[Row, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    why: str = ""
    """The reason why the model has no closed form."""
    kept: Mapping[str, str] = {}
    """The keys that stay as the present table has them, as TOML."""

    @property
    def numbers(self) -> dict[str, int]:
        """The keyword arguments that are whole numbers; in ``extra``, their names win over keys of the config."""
        return {name: value for name, value in self.kwargs.items() if type(value) is int}

    def __str__(self) -> str:
        return write_table(self.name, (f"{name} = {written}" for name, written in self.keys.items()), self.limits)

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the table without its limits, with their values as TOML."""
        return dict(self._list_keys())

    def _list_keys(self) -> Iterator[tuple[str, str]]:
        for name in ("factory", "kwargs", "config", "family"):
            if value := getattr(self, name):
                yield name, inline(value)
        yield from self.kept.items()
        paths, classes = [*self.backbones], {*self.backbones.values()}
        if not paths:
            yield "closed_form", f"false{self.why and f'  # {self.why}'}"
        else:
            yield "architecture", quoted(classes.pop()) if len(classes) == 1 else inline(self.backbones)
        if paths not in ([], [""]):
            yield "backbone", inline(paths if len(paths) > 1 else paths[0])
        for name in ("options", "tied", "without", "frozen"):
            if value := getattr(self, name):
                yield name, inline(list(value) if isinstance(value, tuple) else value)
        if self.extra:
            yield "extra", "".join(("[\n", *(f"    {row},\n" for row in self.extra), "]"))
        if self.build:
            yield "build", inline(self.build)
        if self.limits:
            yield "lock", '"strict"'


class Backbone(NamedTuple):
    """A model of the library inside the built model, and its closed form."""

    finished: Finished
    family: Family
    architecture: Architecture


class Discovery:
    """A search for the table of a built model, in steps that keep the results of earlier steps."""

    def __init__(self, project: Project, registry: Registry, built: Built, bare: Draft) -> None:
        """:param bare: the part of the table that is known before the build."""
        self.project, self.registry, self.built = project, registry, built
        self.problem = ""
        self.backbones = [*self._find_backbones()]
        self._bare = self._draft = bare
        self._subjects: dict[str, Subject] = {}

    def _find_backbones(self) -> Iterator[Backbone]:
        """Yield the outermost models of the library that have a closed form."""
        found: list[str] = []
        for each in self.built.finished:
            is_inside = any(_is_in(each.path, path) for path in found)
            if not is_inside and (known := self.registry.find(each.family, each.architecture)):
                found.append(each.path)
                yield Backbone(each, *known)

    def _describe_unknown(self) -> str:
        """Name the library's models that have no closed form, except those around or inside a backbone."""
        known = [each.finished.path for each in self.backbones]
        unknown = [
            f"{printable(each.path)} ({each.architecture})" if each.path else each.architecture
            for each in self.built.finished
            if not each.architecture.endswith("PreTrainedModel")  # all its modules are the project's
            and not any(_is_in(each.path, path) or _is_in(path, each.path) for path in known)
        ]
        return f"there is no closed form for {listed(unknown, 4)}" if unknown else ""

    @cached_property
    def _actual(self) -> dict[str, Tensor]:
        return {each.name: each for each in self.built.tensors}

    def run(self) -> Draft:
        """Return a draft with which the built model passes the gate, by its closed form, else by its lock and budget.

        :raises SettingsError: if the model passes neither, as when its class declares a tie that it does not make.
        """
        self.problem = self._describe_unknown()
        why = self.problem or "no class of a known family is in it"
        paths = [each.finished.path for each in self.backbones]
        if unnamed := next((path for path in paths if path and not MODULE_PATH.fullmatch(path)), ""):
            why = f"no table can name the path {printable(shown(unnamed))}"
            self.problem = f"{why}: rename it with letters, digits and _"
        elif self.backbones:
            self._find_closed_form()
            error = self.find_error(self._draft)
            adapted = any(".base_layer." in name for name in self._actual) and PEFT_HAS_ADAPTED
            self.problem = error and (adapted or self._find_nested() or self._describe_unsaid() or error)
            if not error:
                return replace(self._draft, limits=tuple(list_limits_of_parts(self.examine(self._draft))))
            classes = ", ".join(dict.fromkeys(self._draft.backbones.values()))
            why = f"{classes} and extra do not describe it"
        if errors := self.review(self.examine(self._bare)).errors:
            raise SettingsError(f"{self._bare.factory} is built, and would fail: {errors[0].sentence}")
        return replace(self._bare, why=why, limits=tuple(self._limit_modules()))

    def _find_closed_form(self) -> None:
        self._keep(backbones={each.finished.path: each.finished.architecture for each in self.backbones})
        with_family = replace(self._draft, family=self.backbones[0].finished.family)
        if self._draft.config and not self._expect().tensors and self.examine(with_family).expected:
            self._draft = with_family
        usual = {name: value for each in self.backbones for name, value in each.architecture.options.items()}
        flips = product((False, True), repeat=len(usual))  # an argument with its default is left out
        options = [{name: not usual[name] for name, other in zip(usual, each, strict=True) if other} for each in flips]
        self._keep(options=min(options, key=self._count_differences))
        before = self._expect()
        known = before.by_name
        self._keep(without=tuple(name_modules({name for name, each in known.items() if self._is_other(each)}, known)))
        self._keep(tied=dict(self._find_ties()))
        self._keep(extra=tuple(self._find_extra(before)))
        self._keep(frozen=tuple(self._find_frozen()))

    def _keep(self, **found: Any) -> None:
        self._draft = replace(self._draft, **found)

    def examine(self, draft: Draft) -> Subject:
        """Return the subject of a review: the model with the table ``draft``, but without limits."""
        table = str(replace(draft, limits=()))
        if table not in self._subjects:
            settings = self.project.parse_beside(table)
            model = settings.models[draft.name]
            built = self.built if model.has_config_of_build else None
            self._subjects[table] = examine(model, settings, self.registry, built=built)
        return self._subjects[table]

    def find_error(self, draft: Draft) -> str:
        """Return the gate's error for a draft; ``""`` if the built model passes."""
        return next((each.message for each in self.review(self.examine(draft)).errors), "")

    def review(self, subject: Subject) -> Review:
        """Review the built model with the parameters that torch does not see, which its lock will have."""
        return conclude(subject, self.built._replace(hidden=()))

    def _find_nested(self) -> str:
        """Name a model of the library that is inside a backbone, but not in its closed form; ``""`` for none."""
        known = self._expect().by_name
        for each in self.built.finished if known else ():
            is_part = any(f"{name}.".startswith(f"{each.path}.") for name in known)
            if each.path and not is_part and self.registry.find(each.family, each.architecture):
                kinds = f"{each.path} is a {each.architecture} in a class that is a model of the library itself"
                return f"{kinds}; if a class has both as attributes, each of them has a closed form"
        return ""

    def _describe_unsaid(self) -> str:
        """Name the modules outside the backbones that no row of ``extra`` describes; ``""`` if there are none."""
        if self._draft.extra or not self._expect().tensors or not (beside := self._list_beside()):
            return ""
        modules = dict.fromkeys(each.name.rpartition(".")[0] or each.name for each in beside)
        rows = f"{MOST_ROWS} rows of extra do not cover the modules beside its backbone: {listed([*modules], 4)}"
        return self._describe_unknown() or rows

    def _expect(self) -> Inventory:
        """Return the tensors that the draft expects; none if the draft is unusable."""
        return self.examine(self._draft).expected or Inventory(())

    def _count_differences(self, options: Mapping[str, bool]) -> int:
        expected = self.examine(replace(self._draft, options=options)).expected
        return sum(map(self._is_other, expected.tensors)) if expected else len(self._actual) + 1

    def _is_other(self, expected: Tensor) -> bool:
        return expected.name not in self._actual or self._actual[expected.name].shape != expected.shape

    def _find_ties(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of paths: a module of a backbone, and the other module whose tensors it shares."""
        known = self._expect().by_name
        tied = {
            name: each.tied_to
            for name, each in self._actual.items()
            if each.tied_to in known and name in known and known[name].tied_to is None
        }
        for path in name_modules(set(tied), known):
            ends = {str(tied[name])[: -len(name) + len(path)] for name in tied if f"{name}.".startswith(f"{path}.")}
            if len(ends) == 1:
                yield path, ends.pop()

    def _find_extra(self, before: Inventory) -> Iterator[Row]:
        """Yield a row for each module outside the backbones; if it replaces a backbone's module, with that component.

        :param before: the backbones' tensors before the class deleted or replaced modules.
        """
        for row in propose_rows(self._list_beside(), self.built.kinds):
            parts = {each.component for each in before.tensors if f"{each.name}.".startswith(f"{row.first}.")}
            component = common(parts, "") if parts else ""
            yield replace(row, arguments={**row.arguments, "component": component}) if component else row

    def _list_beside(self) -> list[Tensor]:
        """List the built tensors outside the backbones."""
        expected = self._expect()
        known = expected.by_name
        actual = inventory_of(self.built, expected).tensors
        return [each for each in actual if each.name not in known and each.tied_to not in known]

    def _find_frozen(self) -> list[str]:
        expected = self._expect()
        usual = {each.name for each in expected.tensors if not each.trainable}
        own = {each.name: each for each in inventory_of(self.built, expected).tensors if each.tied_to is None}
        return name_modules({name for name, each in own.items() if not each.trainable and name not in usual}, own)

    def _limit_modules(self) -> Iterator[tuple[str, str]]:
        actual = inventory_of(self.built)
        yield TOTAL, write_limit_above(actual.unique)
        if actual.trainable < actual.unique:
            yield TRAINABLE, write_limit_above(actual.trainable)
        large = {name: count for name, count in actual.components.items() if count * ROWS_OF_MODULES >= actual.unique}
        yield from ((name, write_limit_above(count)) for name, count in large.items())


def _is_in(path: str, outer: str) -> bool:
    return not outer or f"{path}.".startswith(f"{outer}.")


def list_limits_of_parts(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield limits for a model's components; a nested one only if it is large, or directly inside a backbone."""
    derivation = subject.derivation
    assert derivation
    yield from list_limits(derivation)
    form = derivation.form
    if form.trainable < form.total and "adapters" not in form.components:
        yield TRAINABLE, write_limit_above(form.trainable)
    for component, count in form.components.items():
        outer = component.rpartition(".")[0]
        is_large = count * LARGE >= form.total or outer in subject.model.backbones
        if outer and count and is_large and count != form.components[outer]:  # else both limits are the same
            yield component, write_limit_above(count)


def name_modules(chosen: Collection[str], names: Collection[str]) -> list[str]:
    """Return paths of modules that together have exactly the tensors ``chosen``; layers are a range: ``layer[6:]``."""

    def walk(path: str, inside: Collection[str]) -> Iterator[str]:
        if path and all(name in chosen for name in inside):
            yield path
            return
        below: dict[str, list[str]] = {}
        for name in inside:
            below.setdefault(name.removeprefix(f"{path}.").split(".")[0], []).append(name)
        layers = sorted(int(part) for part in below if path and _INDEX.fullmatch(part))
        whole = [index for index in layers if all(name in chosen for name in below[str(index)])]
        is_range = len(whole) > 1 and whole == [*range(whole[0], whole[-1] + 1)]
        if is_range:
            yield f"{path}[{whole[0] or ''}:{'' if whole[-1] == layers[-1] else whole[-1] + 1}]"
        for part, held in below.items():
            is_named = is_range and part in map(str, whole)
            if not is_named and any(name in chosen for name in held):
                yield from walk(f"{path}.{part}" if path else part, held)

    return [*walk("", names)]


# sizes as keys: the change of a row when a size changes


class Variation(Struct, frozen=True):
    """A size with another value, and the request that builds the model with that value."""

    key: str
    """The size's name in ``extra``: an argument or a key; with several backbones, a key is ``question.hidden_size``."""
    was: int
    value: int
    request: Request


def plan_variations(backbones: Sequence[Backbone], draft: Draft, request: Request) -> list[Variation]:
    """Return a variation for each size of the backbones, and for each whole number among the arguments.

    A size that exceeds every number in the rows of ``extra`` cannot be a summand of one, so it gets no variation.
    """
    most = max(int(size) for row in draft.extra for size in row.numbers)
    found: dict[tuple[str, int], Variation] = {}
    for each in backbones:
        place = f"{each.finished.path}." if len(backbones) > 1 else ""
        for name in (*(size.key for size in each.family.keys.sizes), "num_labels"):
            was, key = each.finished.config.get(name), f"{place}{name}"
            is_readable = key not in draft.numbers and re.fullmatch(KEY, key, re.ASCII)
            if is_readable and type(was) is int and 1 < was <= most and (name, was) not in found:
                value = 2 * was if "hidden" in name or "dim" in name or "d_model" in name else was + 1
                varied = request._replace(name=f"{request.name} {key}", varied=((name, was, value),))
                found[name, was] = Variation(key, was, value, varied)
    for name, was in draft.numbers.items():
        if was <= most:
            varied = request._replace(name=f"{request.name} {name}", kwargs={**draft.kwargs, name: was + 1})
            found[f"--kwargs {name}", was] = Variation(name, was, was + 1, varied)
    return [*found.values()]


def write_in_keys(rows: Collection[Row], varied: Iterable[tuple[Variation, Built]]) -> list[Row]:
    """Return the rows with sums of keys in place of the numbers that depend on keys; other numbers stay."""
    places, changed, written = tuple(f"{row.name}." for row in rows), [], []
    for each, built in varied:
        inside = [tensor for tensor in built.tensors if f"{tensor.name}.".startswith(places)]
        changed.append((each, {row.name: row for row in propose_rows(inside, built.kinds)}))
    for row in rows:
        others = [(each, found[row.name]) for each, found in changed if row.name in found]
        alike = [pair for pair in others if (pair[1].block, len(pair[1].sizes)) == (row.block, len(row.sizes))]
        *sizes, count = (
            _write_size(size, [(each, other.numbers[at]) for each, other in alike])
            for at, size in enumerate(row.numbers)
        )
        written.append(replace(row, sizes=tuple(sizes), count=count))
    return written


def _write_size(size: int | str, others: list[tuple[Variation, int | str]]) -> int | str:
    """Return ``"hidden_size"`` for ``768`` if the size doubles with ``hidden_size``.

    If the keys and arguments that change the size exceed it together, an argument sets a key: only keys are used.
    """
    assert isinstance(size, int)
    of_configs = [pair for pair in others if pair[0].request.varied]
    for chosen in (others, of_configs):
        summands, rest = [], size
        for each, other in chosen:
            times, remainder = divmod(int(other) - size, each.value - each.was)
            if times and (remainder or times < 0):
                return size
            if times:
                summands.append(each.key if times == 1 else f"{times}*{each.key}")
                rest -= times * each.was
        if summands and rest >= 0:
            return " + ".join((*summands, *([str(rest)] if rest else [])))
    return size
