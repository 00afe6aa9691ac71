"""Find the table for a class of the project from the model that its factory builds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress, product
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.commands.init.configs import list_limits, write_limit_above
from pytest_bertsize.commands.init.project import write_table
from pytest_bertsize.commands.init.rows import Row, propose_rows
from pytest_bertsize.differences import fold_modules
from pytest_bertsize.folding import unfold_name
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, common
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.extra import KEY
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.table.toml import inline

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, Finished, Request
    from pytest_bertsize.closed_forms.family import Architecture, Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

LARGE = 5  # the divisor of the total: a nested component with at least a fifth of it gets a limit of its own
ROWS_OF_MODULES = 20  # without a closed form a module with a twentieth of the total gets a limit of its own
_DIVIDED = re.compile("hidden|dim|d_model|head")  # a trial doubles these sizes, because one has to divide another


class Draft(Struct, frozen=True):
    """The table of a model, so far as it is known."""

    name: str
    factory: str
    kwargs: Mapping[str, Any]
    config: str = ""
    family: str = ""  # the family, for a config without a model_type
    build: Mapping[str, str | int] = {}  # device, memory or seconds, if the build needs others than are usual
    backbones: Mapping[str, str] = {}  # the class of each backbone by its path; empty without a closed form
    options: Mapping[str, bool] = {}
    tied: Mapping[str, str] = {}
    without: Sequence[str] = ()
    frozen: Sequence[str] = ()
    extra: Sequence[Row] = ()
    limits: Sequence[tuple[str, str]] = ()
    why: str = ""  # the reason why the model has no closed form
    kept: Mapping[str, str] = {}  # the keys that stay as the present table has them, as TOML

    def __str__(self) -> str:
        return write_table(self.name, (f"{name} = {written}" for name, written in self.keys.items()), self.limits)

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the table without its limits, with their values as TOML."""

        def write(*names: str) -> dict[str, str]:
            return {name: inline(value) for name in names if (value := getattr(self, name))}

        found = {**write("factory", "kwargs", "config", "family"), **self.kept}
        paths, classes = [*self.backbones], {*self.backbones.values()}
        if paths:
            found["architecture"] = inline(*classes) if len(classes) == 1 else inline(self.backbones)
        else:
            found["closed_form"] = f"false{self.why and f'  # {self.why}'}"
        if any(paths):
            found["backbone"] = inline(paths if len(paths) > 1 else paths[0])
        found |= write("options", "tied", "without", "frozen")
        if self.extra:
            found["extra"] = "".join(("[\n", *(f"    {row},\n" for row in self.extra), "]"))
        return {**found, **write("build"), **({"lock": '"strict"'} if self.limits else {})}


class Backbone(NamedTuple):
    """A model of the library inside the built model, and its closed form."""

    finished: Finished
    family: Family
    architecture: Architecture


class Discovery:
    """The search for the table of a built model."""

    def __init__(self, project: Project, registry: Registry, built: Built, bare: Draft) -> None:
        """:param bare: the part of the table that is known before the build."""
        self.project, self.registry, self.built, self._bare = project, registry, built, bare
        self.problem = ""  # the reason why a model with a backbone has no closed form
        self.backbones: list[Backbone] = []  # the outermost models of the library that have a closed form
        for each in built.finished:
            is_inside = any(_is_in(each.path, outer.finished.path) for outer in self.backbones)
            if not is_inside and (known := registry.find(each.family, each.architecture)):
                self.backbones.append(Backbone(each, *known))

    def run(self) -> Draft:
        """Return a draft with which the built model passes the gate; raise SettingsError if there is none."""
        why = "no class of a known family is in it"
        if self.backbones:
            try:
                found = self._describe_modules()
                self.problem = self.find_error(found)
            except SettingsError:
                self.problem = "no table can name its modules"
            else:
                if not self.problem:
                    return replace(found, limits=[*list_limits_of_parts(self.examine(found))])
            classes = ", ".join(dict.fromkeys(each.architecture.name for each in self.backbones))
            why = f"{classes} and extra do not describe it"
        if errors := self.review(self.examine(self._bare)).errors:
            raise SettingsError(f"{self._bare.factory} is built, and would fail: {errors[0].sentence}")
        actual = inventory_of(self.built)
        large = {name: count for name, count in actual.components.items() if count * ROWS_OF_MODULES >= actual.unique}
        trained = {TRAINABLE: actual.trainable} if actual.trainable < actual.unique else {}
        counts = {TOTAL: actual.unique, **trained, **large}
        return replace(self._bare, why=why, limits=[(name, write_limit_above(count)) for name, count in counts.items()])

    def examine(self, draft: Draft) -> Subject:
        """Return the subject of a review: the model with the table ``draft``, but without limits."""
        settings = self.project.parse_beside(str(replace(draft, limits=())))
        model = settings.models[draft.name]
        return examine(model, settings, self.registry, built=self.built if model.has_config_of_build else None)

    def find_error(self, draft: Draft) -> str:
        """Return the gate's error for a draft; ``""`` if the built model passes."""
        return next((each.message for each in self.review(self.examine(draft)).errors), "")

    def review(self, subject: Subject) -> Review:
        """Review the built model with the parameters that torch does not see, which its lock will have."""
        return conclude(subject, self.built._replace(hidden=()))

    def _expect(self, draft: Draft) -> Inventory:
        return self.examine(draft).form or Inventory(())

    def _describe_modules(self) -> Draft:
        """Return the draft with the backbones, what the class has changed in them, and what it has beside them."""
        actual = {each.name: each.shape for each in self.built.tensors}
        draft = replace(self._bare, backbones={each.finished.path: each.architecture.name for each in self.backbones})
        if draft.config and not self._expect(draft).tensors:
            with_family = replace(draft, family=self.backbones[0].finished.family)
            draft = with_family if self._expect(with_family).tensors else draft
        usual = {name: value for each in self.backbones for name, value in each.architecture.options.items()}

        def list_others(expected: Inventory) -> list[str]:
            """List the tensors of the backbones that were not built so."""
            return [name for name, each in expected.by_name.items() if actual.get(name) != each.shape]

        chosen = (compress(usual, flips) for flips in product((False, True), repeat=len(usual)))
        tried = (replace(draft, options={name: not usual[name] for name in names}) for names in chosen)
        forms = ((each, self._expect(each)) for each in tried)  # an argument with its default is left out
        draft, before = min(forms, key=lambda pair: (not pair[1].tensors, len(list_others(pair[1]))))
        draft = replace(draft, without=name_modules(list_others(before), before))
        draft = replace(draft, tied=self._find_ties(self._expect(draft)))
        known = self._expect(draft)
        tensors = inventory_of(self.built, known).tensors
        beside = [each for each in tensors if not {each.name, each.tied_to} & known.by_name.keys()]
        draft = replace(draft, extra=[_add_component(row, before) for row in propose_rows(beside, self.built.kinds)])
        known = self._expect(draft)
        own = Inventory(tuple(each for each in inventory_of(self.built, known).tensors if each.tied_to is None))
        as_usual = {each.name for each in known.tensors if not each.trainable}
        frozen = [each.name for each in own.tensors if not each.trainable and each.name not in as_usual]
        return replace(draft, frozen=name_modules(frozen, own))

    def _find_ties(self, known: Inventory) -> dict[str, str]:
        """Return the modules of a backbone whose tensors are those of another module, with that module."""
        free = {each.name for each in known.tensors if each.tied_to is None}
        pairs = ((each.name, each.tied_to) for each in self.built.tensors)
        tied = {name: owner for name, owner in pairs if name in free and owner in known.by_name}
        found: dict[str, str] = {}
        for path in (path for folded in fold_modules(known, tied) for path, _ in unfold_name(folded)):
            ends = {str(tied[name])[: -len(name) + len(path)] for name in tied if _is_in(name, path)}
            found |= {path: ends.pop()} if len(ends) == 1 else {}
        return found


def _is_in(path: str, outer: str) -> bool:
    return not outer or f"{path}.".startswith(f"{outer}.")


def _add_component(row: Row, before: Inventory) -> Row:
    """Give a row that replaces a backbone's module the component of that module; ``before`` has the whole backbones."""
    parts = {each.component for each in before.tensors if _is_in(each.name, row.name.replace("*", "0"))}
    component = common(parts, "") if parts else ""
    return replace(row, arguments={**row.arguments, "component": component}) if component else row


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


def name_modules(chosen: Collection[str], known: Inventory) -> list[str]:
    """Return paths of modules that together have exactly the tensors ``chosen``; layers are a range: ``layer[6:]``."""

    def open_range(found: re.Match[str]) -> str:
        path, first, end = found.groups()
        is_last = not any(name.startswith(f"{path}.{end}.") for name in known.by_name)
        return f"{path}[{first if int(first) else ''}:{'' if is_last else end}]"

    return [re.sub(r"^([^[]*)\[(\d+):(\d+)\]$", open_range, path) for path in fold_modules(known, chosen)]


# sizes as keys: the change of a row when a size changes


class Variation(Struct, frozen=True):
    """A size with another value, and the request that builds the model with that value."""

    key: str  # the size's name in extra: an argument or a key; with several backbones, a key is question.hidden_size
    was: int
    value: int
    request: Request


def plan_variations(backbones: Sequence[Backbone], draft: Draft, request: Request) -> list[Variation]:
    """Return a variation for each size of the backbones, and for each whole number among the arguments."""
    most = max(int(size) for row in draft.extra for size in row.numbers)  # a larger size is no summand of these
    found: dict[tuple[str, int], Variation] = {}
    for each in backbones:
        place = f"{each.finished.path}." if len(backbones) > 1 else ""
        for name in (*(size.key for size in each.family.keys.sizes), "num_labels"):
            was, key = each.finished.config.get(name), f"{place}{name}"
            is_readable = type(draft.kwargs.get(key)) is not int and re.fullmatch(KEY, key, re.ASCII)
            if is_readable and type(was) is int and 1 < was <= most and (name, was) not in found:
                value = 2 * was if _DIVIDED.search(name) else was + 1
                varied = request._replace(name=f"{request.name} {key}", varied=((name, was, value),))
                found[name, was] = Variation(key, was, value, varied)
    planned = [*found.values()]
    for name, was in draft.kwargs.items():
        if type(was) is int and was <= most:
            varied = request._replace(name=f"{request.name} {name}", kwargs={**draft.kwargs, name: was + 1})
            planned.append(Variation(name, was, was + 1, varied))
    return planned


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
    """Return ``"hidden_size"`` for ``768`` if the size doubles with ``hidden_size``; another size stays a number."""
    assert isinstance(size, int)
    for chosen in (others, [pair for pair in others if pair[0].request.varied]):  # an argument may set a key
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
