"""``check_model``: check a model that exists already, in a test or in the script that trains it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from pytest_bertsize.base.lock import read_lock
from pytest_bertsize.builder.child.in_hand import NoModule, list_in_hand, take_in_hand
from pytest_bertsize.builder.confined import CALLED, Refused
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.findings import Finding
from pytest_bertsize.release import Unsupported, read_version
from pytest_bertsize.review.examine import Subject, examine
from pytest_bertsize.review.in_hand import DECLARE, conclude_in_hand, name_run, note_unchecked, without_unchecked
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import MOST_MEMORY, Build, Model
from pytest_bertsize.table.settings import (
    NothingDeclared,
    Settings,
    SettingsError,
    find_declared,
    find_table,
    limits_from,
    load,
    tighten,
)
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from types import FrameType

    from pytest_bertsize.builder.child.in_hand import InHand
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.review.review import Review

TABLE = "pyproject.toml"
BY = "check_model"
EXAMPLE = 'check_model(model, "NAME")'
NO_TABLE = Settings(Path(), "", {})


def check_model(
    model: Any,
    /,
    name: str | None = None,
    *,
    table: str | os.PathLike[str] | None = None,
    options: Mapping[str, bool] | None = None,
    closed_form: bool = True,
    **limits: object,
) -> Review:
    """Compare a model with its closed form, its budget and its lock, without building anything.

    ``check_model(model, "tagger")`` reads the table of that name; ``check_model(model, total="110M", pooler=0)``
    derives the closed form from ``model.config``. A model in ``torch.compile``, DDP or DataParallel is unwrapped. If a
    factory calls this in a run, with the name of the model that it makes, the factory ends there, and the run checks
    the model; other calls in a factory never fail.

    :param model: a ``torch.nn.Module`` on any device.
    :param name: the name of a declared model.
    :param table: the ``pyproject.toml`` that declares it, or its folder; by default the nearest one with models, from
        the working folder upwards.
    :param options: constructor arguments of a model that no table declares: ``{"add_pooling_layer": False}``.
    :param closed_form: ``False``, for a model that no table declares: only its limits are checked.
    :param limits: limits by component, as in the marker: ``total="110M"``; with a table they tighten its budget.
    :returns: the review, which has passed.
    :raises AssertionError: if the model fails; the text is its report.
    :raises ValueError: for a name, a table or a limit that cannot be used, with what to write.
    :raises TypeError: if the model is not a module, with what to pass.
    """
    __tracebackhide__ = True
    try:
        held = take_in_hand(model)
        if CALLED and name is not None:
            CALLED[-1].take(name, held.module)
        if name is not None or table is not None:
            _refuse_beside_table(is_given=options is not None or not closed_form)
            found = _hold_to_table(held, name, table, _find_place(sys._getframe(1)), limits)  # noqa: SLF001
        else:
            alone = _declare(held, options or {}, closed_form=closed_form)
            found = _hold_alone(held, alone, _find_place(sys._getframe(1)), limits)  # noqa: SLF001
    except (SettingsError, Unsupported) as error:
        if not CALLED:
            raise ValueError(str(error)) from None
        unknown = Subject(_declare(held, {}, closed_form=True), NO_TABLE)  # for the run, which reports its own finding
        found = conclude_in_hand(unknown, Finding("config-invalid", str(error)), held, (), None)
    except NoModule as error:
        raise TypeError(str(error)) from None
    if found.verdict == "failed" and not CALLED:
        from pytest_bertsize.reports.drawing import Style
        from pytest_bertsize.reports.from_review import report_model
        from pytest_bertsize.reports.terminal import draw_failure

        raise AssertionError(draw_failure(report_model(found), Style()))
    return found


class Place(NamedTuple):
    """The line that calls ``check_model``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {BY}"


def _find_place(frame: FrameType) -> Place:
    file = frame.f_code.co_filename
    relative = os.path.relpath(file) if os.path.isabs(file) else file  # noqa: PTH117
    return Place(printable(file if relative.startswith("..") else relative), frame.f_lineno)


def _read_registry(settings: Settings) -> Registry:
    """Return the closed forms for the imported release of transformers; without an import, for the release in a run."""
    imported = getattr(sys.modules.get("transformers"), "__version__", None)
    return registry_of(settings, read_version(imported) if imported else asked_about(settings).release)


def _list_tensors(held: InHand, *, own: bool = False) -> Built | Finding:
    try:
        return list_in_hand(held, own=own)
    except Refused as refused:
        return Finding("build-failed", printable(str(refused)), refused.fix)


# a model that a table declares


def _refuse_beside_table(*, is_given: bool) -> None:
    if is_given:
        only = "options and closed_form are for a model that no table declares: write them in the table"
        raise SettingsError(f"{BY}: {only}, or name no table")


def _hold_to_table(
    held: InHand,
    name: str | None,
    table: str | os.PathLike[str] | None,
    place: Place,
    limits: Mapping[str, object],
) -> Review:
    settings = _find_table() if table is None else load(Path(table, TABLE) if Path(table).is_dir() else Path(table))
    settings = replace(settings, interpreter=None)  # this one has built the model
    model = settings.models[find_declared(name, settings, str(place), EXAMPLE)]
    written = limits_from(limits, file=place.file, line=place.line, by=BY)
    extra = tuple(tighten(limit, model, settings, str(place), f"a limit of {BY}") for limit in written)
    registry, lock = _read_registry(settings), read_lock(settings)
    built = _list_adapted(held, model) or _list_tensors(held, own=model.factory is not None)
    of_build = built if isinstance(built, Built) and model.has_config_of_build else None
    subject = examine(without_unchecked(model), settings, registry, built=of_build)
    found = note_unchecked(conclude_in_hand(subject, built, held, extra, lock), model)
    return name_run(found, run) if model.init_command and (run := _read_run(model.command)) else found


def _find_table() -> Settings:
    """Read the nearest table, from the working folder upwards."""
    try:
        return load(find_table(Path.cwd()))
    except NothingDeclared as error:
        if error.misspelt:
            raise
    message = f"no {TABLE} in {printable(str(Path.cwd()))} or above it declares a model"
    raise SettingsError(f'{BY}: {message}: write table="path/to/{TABLE}"')


def _read_run(command: tuple[str, ...]) -> str:
    """Return this process's command if it runs the script of ``command`` with other arguments, else ``""``."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    words = (*(("-m", main.name) if main else sys.argv[:1]), *sys.argv[1:])
    size = 1 + bool(main)
    return shlex.join(("python", *words)) if words[:size] == command[:size] and words != command else ""


def _list_adapted(held: InHand, model: Model) -> Finding | None:
    """Return a finding if a model has an adapter and its table declares none, or the other way round.

    A factory's model without a closed form may have an adapter that its table does not declare.
    """
    if model.adapter is None and held.adapter and (model.closed_form or not model.factory):
        message = f"the model has an adapter ({printable(held.adapter)}), but its table declares none"
        fix = 'write adapter = "path/to/adapter_config.json", or call check_model before the adapter is put on'
        return Finding("config-invalid", message, fix, table_key=())
    if model.adapter is not None and not held.is_adapted:
        message = "its table declares an adapter, but the model is not a PEFT model"
        fix = "call check_model with what get_peft_model returns"
        return Finding("config-invalid", message, fix, table_key=("adapter",))
    return None


# a model that no table declares


def _declare(held: InHand, options: Mapping[str, bool], *, closed_form: bool) -> Model:
    """Return the declaration of a model that no table declares, as a table would give it."""
    own = f"{held.classes[0].__module__}:{held.classes[0].__qualname__}"
    return Model(
        name=held.kind,
        architecture=held.kind,
        factory=None if closed_form else own,
        options=dict(options),
        closed_form=closed_form,
        build=Build(memory=MOST_MEMORY),
        budget=Budget(),
    )


def _hold_alone(held: InHand, model: Model, place: Place, limits: Mapping[str, object]) -> Review:
    extra = limits_from(limits, file=place.file, line=place.line, by=BY)
    if not model.closed_form and not extra:
        missing = 'leaves nothing to compare with: write a limit, as in total="110M"'
        raise SettingsError(f"{place}: closed_form=False {missing}")
    registry, subject = _read_registry(NO_TABLE), Subject(model, NO_TABLE, architecture=held.kind)
    built: Built | Finding
    if model.closed_form and held.adapter:
        message = f"the model has an adapter ({printable(held.adapter)}), which only a table describes"
        fix = f"declare it with adapter = … and name it, as in {EXAMPLE}, or call check_model before it is put on"
        built = Finding("config-invalid", message, fix)
    else:
        built = _list_tensors(held)
    if isinstance(built, Built):
        itself = next((each for each in built.finished if not each.path), None)
        if not model.closed_form:
            subject = examine(model.replace(family=itself.family if itself else None), NO_TABLE, registry)
            if held.adapter:  # no closed form covers it
                notes = tuple(each for each in subject.findings if each.severity != "warning")
                subject = replace(subject, findings=notes)
        elif itself is None:
            built = _miss_closed_form(held)
        else:
            names = [each.__name__ for each in held.classes[: None if held.is_own else 1]]
            known = next((name for name in names if registry.find(itself.family, name)), held.kind)
            subject = examine(model.replace(architecture=known), NO_TABLE, registry, built=built)
            if any(each.kind == "unknown-closed-form" for each in subject.errors):
                subject = replace(subject, findings=(_miss_closed_form(held),))
    return conclude_in_hand(subject, built, held, extra, None)


def _miss_closed_form(held: InHand) -> Finding:
    inner = f"check the library's model in it, as in check_model(model.{held.backbones[0]}), or " * bool(held.backbones)
    return Finding("unknown-closed-form", f"there is no closed form for {printable(held.kind)}", f"{inner}{DECLARE}")
