"""``check_model``: check a model that exists already, in a test or in the script that trains it; build nothing.

This imports no library that the process has not imported already.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from pytest_bertsize.base.lock import read_lock
from pytest_bertsize.builder.child import listing
from pytest_bertsize.builder.confined import CALLED, Refused, hand_over
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.findings import Finding
from pytest_bertsize.release import Unsupported, read_version
from pytest_bertsize.review.check import conclude, place_findings
from pytest_bertsize.review.examine import Subject, examine
from pytest_bertsize.review.review import Accepted, Review
from pytest_bertsize.table.limits import Budget, Flops, Growth, Limit
from pytest_bertsize.table.model import MOST_MEMORY, Build, Model
from pytest_bertsize.table.settings import (
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

    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.closed_forms.registry import Registry

BY = "check_model"
NO_TABLE = Settings(Path(), "", {})
BUILDS = "pytest --bert-budget checks it (growth and already_over with --bert-budget-base=REV)"
DECLARE = (
    "declare it in a table with its modules (bertsize init) and pass that table's name, check the library's model in "
    "it, as in check_model(model.bert), or check only limits: closed_form=False"
)
TIE = (
    "tie what the class ties and nothing else (model.tie_weights(), or tie_word_embeddings = false), or declare the "
    "function that makes this model as factory, with tied = { … }"
)
CHANGED = (
    "the model was changed after it was made, or it was made from another config, or with other options: write options "
    "in its table, or pass options to check_model"
)


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
    held = _take_in_hand(model)
    if CALLED and name is not None:
        hand_over(name, held.module)
    file, line = _find_place(sys._getframe(1))  # noqa: SLF001
    at = f"{file}:{line}: {BY}"
    try:
        extra = tuple(limits_from(limits, file=file, line=line, by=BY))
        if name is None and table is None:
            found = _hold_alone(held, _declare(held, options or {}, closed_form=closed_form), extra, at)
        else:
            if options is not None or not closed_form:
                only = "options and closed_form are for a model that no table declares: write them in the table"
                raise SettingsError(f"{BY}: {only}, or name no table")  # noqa: TRY301
            found = _hold_to_table(held, name, table, extra, at)
    except (SettingsError, Unsupported) as error:
        if not CALLED:  # else the run reports its own finding
            raise ValueError(str(error)) from None
        unknown = Subject(_declare(held, {}, closed_form=True), settings=NO_TABLE)
        found = _conclude(unknown, Finding("config-invalid", str(error)), held, ())
    if found.verdict == "failed" and not CALLED:
        from pytest_bertsize.reports.drawing import Style
        from pytest_bertsize.reports.from_review import report_model
        from pytest_bertsize.reports.terminal import draw_failure

        raise AssertionError(draw_failure(report_model(found), Style()))
    return found


class InHand(NamedTuple):
    """A module of the running process, without its wrappers."""

    module: Any  # the counted module, with its adapter if it has one
    base: Any  # the model that PEFT has adapted, else the module itself
    adapter: str  # the adapter's type, ``"LORA"``; ``""`` without one

    @property
    def kind(self) -> str:
        return self.classes[0].__name__

    @property
    def classes(self) -> list[type]:
        """The model's class and its bases, without the classes that sharding puts before them."""
        module = getattr(self.base, "_fsdp_wrapped_module", self.base)
        return [each for each in type(module).__mro__ if not each.__module__.startswith("torch.distributed.")]

    @property
    def is_own(self) -> bool:
        return self.classes[0].__module__.partition(".")[0] != "transformers"


def _take_in_hand(model: Any) -> InHand:
    """Unwrap a model; raise a ``TypeError`` for an object that is no module."""
    __tracebackhide__ = True
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"an object of type {type(model).__name__}"
        fix = "pass the model itself, such as trainer.model"
        raise TypeError(f"check_model takes a torch.nn.Module, not {what}: {fix}")
    module = listing.unwrap(model)
    peft = sys.modules.get("peft")
    if peft is None or not isinstance(module, (peft.PeftModel, peft.PeftMixedModel)):
        inside = [type(each) for each in module.modules()]  # ``model.add_adapter`` puts layers into the model itself
        adapter = next((each.__name__ for each in inside if each.__module__.startswith("peft.tuners.")), "")
        return InHand(module, module, adapter)
    kinds = [getattr(each.peft_type, "value", each.peft_type) for each in module.peft_config.values()]
    inner = module.base_model.model if isinstance(module, peft.PeftMixedModel) else module.get_base_model()
    return InHand(module, listing.unwrap(inner), ", ".join(dict.fromkeys(kinds)))


def _find_place(frame: FrameType) -> tuple[str, int]:
    """Return file and line of the call."""
    file = frame.f_code.co_filename
    relative = os.path.relpath(file) if os.path.isabs(file) else file  # noqa: PTH117
    return printable(file if relative.startswith("..") else relative), frame.f_lineno


def _read_registry(settings: Settings) -> Registry:
    """Return the closed forms for the imported release of transformers; without an import, for the release in a run."""
    imported = getattr(sys.modules.get("transformers"), "__version__", None)
    return registry_of(settings, read_version(imported) if imported else asked_about(settings).release)


def _list_tensors(held: InHand, model: Model) -> Built | Finding:
    """Return the module's tensors, or the finding that says why they are not compared.

    A model without a closed form may have an adapter that its table does not declare.
    """
    key = () if model.table_key else None
    if model.adapter is None and held.adapter and model.closed_form:
        message = f"the model has an adapter ({printable(held.adapter)}) that no table declares"
        fix = 'write adapter = "path/to/adapter_config.json" in its table, or call check_model before it is put on'
        return Finding("config-invalid", message, fix, table_key=key)
    if model.adapter is not None and held.base is held.module:
        message = "its table declares an adapter, but the model is not a PEFT model"
        fix = "call check_model with what get_peft_model returns"
        return Finding("config-invalid", message, fix, table_key=("adapter",))
    try:
        return _list_in_hand(held, own=model.factory is not None or held.is_own)
    except Refused as refused:
        return Finding("build-failed", printable(str(refused)), refused.fix)


def _list_in_hand(held: InHand, *, own: bool) -> Built:
    """List the module's tensors as the helper process does, an adapter's by PEFT's default name for an adapter."""
    ties, names = None, list[str]()
    if held.base is not held.module:
        names = [*held.module.peft_config]
        declared = listing.declared_ties(dict(listing.walk_modules(held.base, wrapped=True)))
        ties = listing.name_ties(held.module, held.base, declared)
    if len(names) > 1:
        has = f"the model has {len(names)} adapters ({', '.join(names)}), and a table has only one"
        raise Refused(has, "delete the others")
    built = listing.take_inventory(held.module, own=own, in_hand=True, ties=ties)
    if built.lost_ties() and any(each.is_meta for each in held.module.parameters()):
        parted = "moving the model to the meta device, by .to or by offloading, untied its tied tensors"
        raise Refused(parted, "call check_model before the move, or make the model under torch.device('meta')")
    if not names:
        return built
    rename = partial(re.compile(rf"(?<![^.]){re.escape(names[0])}(?![^.])").sub, "default")
    tensors = (
        each._replace(name=rename(each.name), tied_to=each.tied_to and rename(each.tied_to)) for each in built.tensors
    )
    ties = {rename(one): rename(other) for one, other in built.declared_ties.items()}
    return built._replace(tensors=tuple(tensors), declared_ties=ties)


# a model that a table declares


def _hold_to_table(
    held: InHand, name: str | None, table: str | os.PathLike[str] | None, extra: tuple[Limit, ...], at: str
) -> Review:
    path = find_table(Path.cwd()) if table is None else Path(table)
    settings = load(path / "pyproject.toml" if path.is_dir() else path)
    settings = replace(settings, interpreter=None)  # this one has built the model
    model = settings.models[find_declared(name, settings, at, f'{BY}(model, "NAME")')]
    extra = tuple(tighten(limit, model, settings, at, f"a limit of {BY}") for limit in extra)
    registry, lock, built = _read_registry(settings), read_lock(settings), _list_tensors(held, model)
    kept = tuple(each for each in model.limits if not isinstance(each.measure, Flops | Growth))
    checked = model.replace(checkpoint=None, budget=model.budget._replace(limits=kept, passes_already_over=False))
    of_build = built if isinstance(built, Built) and model.has_config_of_build else None
    found = _conclude(examine(checked, settings, registry, built=of_build), built, held, extra, lock)
    return place_findings(found.with_findings(*_list_unchecked(model)))


def _list_unchecked(model: Model) -> Iterator[Finding]:
    """Yield a warning for each check that the table declares, and that only a run with a build or a base makes."""
    for limit in model.limits:
        if isinstance(limit.measure, Flops | Growth):
            message = f"budget.{limit.component} is not checked here"
            yield limit.make_finding("not-compared", message, BUILDS, "warning")
    keys = {("budget", "already_over"): model.budget.passes_already_over, ("checkpoint",): model.checkpoint}
    for key in (key for key, is_there in keys.items() if is_there):
        yield Finding("not-compared", f"{'.'.join(key)} is not checked here", BUILDS, "warning", table_key=key)


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


def _hold_alone(held: InHand, model: Model, extra: tuple[Limit, ...], at: str) -> Review:
    if not model.closed_form and not extra:
        missing = 'leaves nothing to compare with: write a limit, as in total="110M"'
        raise SettingsError(f"{at}: closed_form=False {missing}")
    registry, built = _read_registry(NO_TABLE), _list_tensors(held, model)
    unexamined = Subject(model, settings=NO_TABLE, architecture=held.kind)
    if isinstance(built, Finding):
        return _conclude(unexamined, built, held, extra)
    family = next((each.family for each in built.finished if not each.path), None)
    if not model.closed_form:
        subject = examine(model.replace(family=family), NO_TABLE, registry)
        if held.adapter:  # no closed form covers it
            subject = replace(subject, findings=tuple(each for each in subject.findings if each.severity != "warning"))
        return _conclude(subject, built, held, extra)
    if family is not None:
        names = [each.__name__ for each in held.classes[: None if held.is_own else 1]]
        known = next((name for name in names if registry.find(family, name)), held.kind)
        subject = examine(model.replace(architecture=known), NO_TABLE, registry, built=built)
        if all(each.kind != "unknown-closed-form" for each in subject.errors):
            return _conclude(subject, built, held, extra)
    message = f"there is no closed form for {printable(held.kind)}"
    return _conclude(unexamined, Finding("unknown-closed-form", message, DECLARE), held, extra)


# the review


def _conclude(
    subject: Subject, built: Built | Finding, held: InHand, extra: tuple[Limit, ...], lock: Lock | None = None
) -> Review:
    """Compare a module with closed form, budget and lock; ``built`` may be the reason that there is no inventory."""
    subject = replace(subject, in_hand=held.module)
    if isinstance(built, Finding):
        return place_findings(Review(subject, (*subject.model.limits, *extra), (built, *subject.findings)))
    found = conclude(subject, built if subject.request else None, extra, Accepted(lock=lock))
    if subject.model.factory is not None:
        return found
    fixes, findings = {"off-closed-form": _explain_difference(subject, held), "untied": TIE}, []
    for each in found.findings:  # with fixes for the code that made the model
        findings.append(each._replace(fix=fixes.get(each.kind, each.fix)))
        if each.kind == "off-closed-form":  # one cause for all components
            fixes["off-closed-form"] = ""
    return replace(found, findings=(*findings,))


def _explain_difference(subject: Subject, held: InHand) -> str:
    """Return the probable cause of a difference from the closed form, and its fix."""
    declared = subject.form.architecture.name if subject.form else held.kind
    if held.kind == declared:
        return CHANGED
    if not subject.model.table_key:
        return f"{held.kind} is a class of your own: {DECLARE}"
    what = f"the model is of the class {held.kind}, and the table declares {declared}"
    return f"{what}: pass one of that class, or correct architecture (for a class of your own, write factory)"
