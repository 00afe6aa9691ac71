"""The whole path of one declared model, without pytest: read, derive, have it built, review."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.checkpoint.tokenizer import check_rows
from pytest_bertsize.closed_forms import what_if
from pytest_bertsize.closed_forms.derive import Derivation, choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import parents_first
from pytest_bertsize.review import build_findings, build_request, measures
from pytest_bertsize.review.put_back import NOTHING, Accepted, fingerprint
from pytest_bertsize.review.review import Review, review_built, review_unbuilt
from pytest_bertsize.table.model import Growth
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.lock import Locked
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.closed_forms.shapes import Shape
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Limit, Model
    from pytest_bertsize.table.settings import Settings


class Subject(NamedTuple):
    """A declared model, as far as it is known without building it."""

    review: Review
    """Everything but ``actual``; its errors, if it has any, are why the model is not built."""
    request: Request | None
    known_components: Callable[[], list[str]]
    """What a budget may name in this family."""
    model: Model
    config: ModelConfig | None = None
    derivation: Derivation | None = None


def examine(
    model: Model, settings: Settings, registry: Registry, *, formulas: bool = False, detail: bool = True
) -> Subject:
    """Read the config and derive the closed form. A model's mistakes become findings, never exceptions.

    :param registry: the closed forms that there are.
    :param formulas: write the formulas out as well.
    :param detail: whether anybody is shown tensors, what the next change costs, and notes.
    """
    known, config = _unchecked(model, detail=detail), None
    try:
        config = source.read(model, settings)
        published = build_findings.published_config(model, config)
        known = replace(known, config=config.reference, config_sha256=config.sha256, published=published)
        adapter = _adapter(model, settings, config)
        known = replace(known, stored=_stored(model, settings))
        if not model.closed_form:
            return _without_closed_form(known, model, settings, config, registry, adapter)
        chosen = choose(model, config, registry, adapter)
        known = replace(known, family=chosen.family.name, architecture=model.factory or chosen.architecture.name)
        found = derive(model, config, chosen)
        request = _with_names(build_request.ask_with_closed_form(model, settings, config, found, adapter), known.stored)
        notes = (
            *build_findings.note_published_configs(known.published, "config"),
            *found.values.findings,
            *found.notes,
            *check_rows(settings.root, model.tokenizer, (config.file, model.checkpoint), found.form.inventory),
        )
        known = replace(known, findings=notes, build=partial(_build_here, request, settings))
    except Unusable as unusable:
        return Subject(replace(known, findings=unusable.findings), None, list, model, config)
    except Exception as error:  # noqa: BLE001  (whatever a config brings about is its model's failure, not the run's)
        message = printable(f"the gate itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=known.config)
        return Subject(replace(known, findings=(finding,)), None, list, model, config)
    return _derived(Subject(known, request, list, model, config, found), found, formulas=formulas)


def _stored(model: Model, settings: Settings) -> Stored | None:
    if model.checkpoint is None:
        return None
    from pytest_bertsize.checkpoint.headers import read_headers

    return read_headers(settings.root, model.checkpoint)


def _adapter(model: Model, settings: Settings, config: ModelConfig) -> Adapter | None:
    if model.adapter is None:
        return None
    from pytest_bertsize.config.adapter import adapter_of

    return adapter_of(model, settings, config)


def _derived(subject: Subject, found: Derivation, *, formulas: bool) -> Subject:
    """A model whose closed form is known."""
    form, fits = found.form, _fits(found, subject.model.limits)
    known = replace(
        subject.review,
        symbols={symbol: size for symbol, size in form.dims.sizes.items() if size is not None},
        expected=form.inventory,
        unrolled=form.unrolled,
        formulas=form.formulas() if formulas else {},
        costs=what_if.costs(found) if subject.review.detail or fits else (),
        fits=fits,
    )
    return subject._replace(review=known, known_components=cache(partial(_known_components, found)))


def _known_components(found: Derivation) -> list[str]:
    """Of the family, and of what the project puts beside it."""
    return parents_first({*found.family.component_names(found.form.dims), *found.form.components})


def _without_closed_form(
    known: Review,
    model: Model,
    settings: Settings,
    config: ModelConfig,
    registry: Registry,
    adapter: Adapter | None,
) -> Subject:
    """``closed_form = false``: there is nothing to compare with but the budget, and every report says so."""
    request = _with_names(
        build_request.ask_without_closed_form(model, settings, config, registry, adapter), known.stored
    )
    known = replace(
        known,
        family=request.family,
        architecture=model.factory or request.architecture,
        findings=(
            *build_findings.note_published_configs(known.published, "config"),
            *build_request.note_missing_form(request.family, request.architecture, registry),
        ),
        build=partial(_build_here, request, settings),
    )
    return Subject(known, request, list, model, config)


def _with_names(request: Request, stored: Stored | None) -> Request:
    """Ask along what the library makes of the checkpoint's names."""
    filed = tuple((tensor.name, tensor.shape) for tensor in stored.inventory.tensors) if stored else ()
    return request._replace(filed=filed)


def _build_here(request: Request, settings: Settings) -> Any:
    """Build in this process, for a test that wants the module itself: torch and transformers are imported now.

    :raises RuntimeError: where another interpreter builds, whose classes are others.
    """
    if settings.interpreter:
        where = printable(settings.interpreter.written)
        raise RuntimeError(f"{request.name} is built by {where}, and there is no module of it in this process")
    from pytest_bertsize.builder.child.making import instantiate

    return instantiate(request)


def conclude(
    subject: Subject,
    built: Built | NotBuilt | None,
    settings: Settings,
    extra: tuple[Limit, ...] = (),
    baseline: Baseline | None = None,
    accepted: Accepted = NOTHING,
) -> Review:
    """Hold what was built against the closed form, the budget, the checkpoint, the lock and the base.

    :param extra: limits that a marker adds to those of the table.
    """
    before = _with_limits(subject, extra)
    former = baseline.find_former(subject.model.name) if baseline else None
    found = before if built is None else _reviewed(before, subject, built, former.locked if former else None)
    if isinstance(built, Built) and accepted.lock:
        from pytest_bertsize.base.lock import lock_model
        from pytest_bertsize.review import against_lock

        found = against_lock.compare_with_lock(found, subject, lock_model(built, fingerprint(subject)), accepted.lock)
    return _against_base(found, subject, settings, baseline, accepted)


def conclude_unbuilt(
    subject: Subject,
    settings: Settings,
    extra: tuple[Limit, ...] = (),
    baseline: Baseline | None = None,
    accepted: Accepted = NOTHING,
) -> Review:
    """Hold what the closed form says against the budget, the lock and the base: nothing is built, and it says so."""
    before = _with_limits(subject, extra)
    if subject.derivation:
        before = _measured(before, subject, None, subject.derivation.form.inventory)
    elif not before.errors:
        message = "closed_form = false leaves nothing to hold to the budget where nothing is built"
        before = replace(before, findings=(*before.findings, Finding("build-failed", message, "check it with a build")))
    if subject.model.checkpoint:
        message = f"its checkpoint {printable(subject.model.checkpoint)} is not compared, because nothing is built"
        before = replace(before, findings=(*before.findings, Finding("checkpoint-differs", message, "", "warning")))
    found = review_unbuilt(before, subject.known_components)
    if loose := _insensitive(found, subject):
        found = replace(found, findings=(*found.findings, *loose))
    if found.expected and accepted.lock:  # which is held against every tensor by name: the repeats are unrolled for it
        from pytest_bertsize.base.lock import Locked
        from pytest_bertsize.review import against_lock

        found = against_lock.compare_with_lock(found, subject, Locked(found.expected.tensors), accepted.lock)
    return _against_base(found, subject, settings, baseline, accepted)


def with_limits(subject: Subject, limits: tuple[Limit, ...]) -> Subject:
    """The same model, held to another budget."""
    fits = _fits(subject.derivation, limits) if subject.derivation else ()
    held = replace(subject.review, budget=limits, fits=fits)
    return subject._replace(model=replace(subject.model, limits=limits), review=held)


def _fits(derivation: Derivation, limits: tuple[Limit, ...]) -> tuple[Shape, ...]:
    """Shapes that hold a budget which is broken; a run without one does not read the search."""
    if not any(what_if.is_over(limit, derivation.form) for limit in limits):
        return ()
    from pytest_bertsize.closed_forms.shapes import find_fitting_shapes

    return find_fitting_shapes(derivation, limits)


def _with_limits(subject: Subject, extra: tuple[Limit, ...]) -> Review:
    """What is known, and what a marker adds to the budget."""
    return with_limits(subject, (*subject.review.budget, *extra)).review if extra else subject.review


def _against_base(
    found: Review, subject: Subject, settings: Settings, baseline: Baseline | None, accepted: Accepted
) -> Review:
    """With what became of the model, what was loosened, and the line of every finding."""
    if baseline or subject.model.passes_already_over or any(isinstance(each.measure, Growth) for each in found.budget):
        from pytest_bertsize.review import against_base

        found = against_base.held(found, subject, settings, baseline, accepted)
    return replace(found, findings=tuple(_placed(finding, subject.model, settings) for finding in found.findings))


def _insensitive(concluded: Review, subject: Subject) -> list[Finding]:
    """A note on a budget that one more layer would pass."""
    if subject.derivation is None or not (concluded.detail and concluded.budget) or concluded.verdict == "failed":
        return []
    return what_if.insensitive(subject.derivation, concluded.budget)


def _reviewed(before: Review, subject: Subject, built: Built | NotBuilt, former: Locked | None) -> Review:
    """:param former: of the base, whose modules are components of today as well."""
    if isinstance(built, NotBuilt):
        message = f"{before.architecture} could not be built: {built.reason}"
        return replace(
            before,
            fits=(),
            costs=(),
            findings=(
                *before.findings,
                Finding("build-failed", message, _suggest_fix(subject, built)),
            ),
        )
    from pytest_bertsize.review import by_structure
    from pytest_bertsize.review.off_closed_form import OwnClass

    said = (
        *build_findings.check_release(subject.derivation, built),
        *build_findings.note_published_configs(built.answered, "factory"),
        *(Finding("stood-in", each, "", "note", table_key=("factory",)) for each in built.stood_in),
    )
    published = (*before.published, *built.answered)
    before = replace(before, findings=(*before.findings, *said), published=published)
    form = subject.derivation.form if subject.derivation else None
    try:
        before = before if form else by_structure.named(before, subject.model, built.tensors, former)
    except Unusable as unusable:
        return replace(before, findings=(*before.findings, *unusable.findings))
    actual = inventory_of(built, before.expected, before.components)
    before = _measured(before, subject, built, actual)
    known_components = subject.known_components if form else lambda: by_structure.known(actual)
    own_class = OwnClass(built.kinds, bool(subject.model.extra)) if subject.model.factory else None
    concluded = review_built(before, actual, known_components, own_class)
    if form and not before.formulas and any(f.kind == "off-closed-form" for f in concluded.findings):
        concluded = review_built(replace(before, formulas=form.formulas()), actual, known_components, own_class)
    otherwise = _read_otherwise(concluded, subject, built)  # the cause of what is off, and told before it
    own = subject.model.factory is not None
    also = (*build_findings.check_ties(built), *build_findings.note_large_buffers(actual, built.buffers, own=own))
    concluded = replace(concluded, findings=(*otherwise, *concluded.findings, *also))
    if concluded.stored:
        from pytest_bertsize.checkpoint.differences import compare_checkpoint

        differences = compare_checkpoint(concluded.stored, built, actual)
        concluded = replace(concluded, findings=(*concluded.findings, *differences))
    loose = _insensitive(concluded, subject) if form else by_structure.insensitive(concluded, actual)
    return replace(concluded, findings=(*concluded.findings, *loose))


def _suggest_fix(subject: Subject, failed: NotBuilt) -> str:
    from pytest_bertsize.builder.failures import suggest_fix

    return suggest_fix(failed, own=subject.review.own_class, on_cpu=subject.model.build.device == "cpu")


def _read_otherwise(concluded: Review, subject: Subject, built: Built) -> list[Finding]:
    """Where the library reads the file otherwise than the closed form does; of what has no closed form, nothing."""
    if subject.derivation is None or subject.config is None or built.config is None:
        return []
    values, off = subject.derivation.values, any(found.kind == "off-closed-form" for found in concluded.findings)
    found = build_findings.compare_values(values, subject.config, built.config)
    unknown = build_findings.find_keys_unknown_to_closed_form(subject.config, built.config)
    lacking = build_findings.find_keys_unknown_to_library(values, subject.config, built.config) if off else []
    return [*found, *unknown, *lacking]


def _measured(before: Review, subject: Subject, built: Built | None, actual: Inventory) -> Review:
    """What the budget limits beside parameter counts.

    :param built: ``None`` where nothing is built.
    """
    if all(limit.measure is None for limit in before.budget):
        return before
    form = subject.derivation.form if subject.derivation else None
    config = {**(subject.config.flat if subject.config else {}), **subject.model.overrides}
    try:
        found = measures.measured(before.budget, measures.Subject(actual, form, config, built))
    except Unusable as unusable:
        return replace(before, findings=(*before.findings, *unusable.findings))
    off = measures.off_closed_form(found, form, before.budget)
    return replace(before, measured=tuple(found), findings=(*before.findings, *off))


def _unchecked(model: Model, *, detail: bool) -> Review:
    """What the table alone says."""
    return Review(
        name=model.name,
        family=model.family or "",
        architecture=model.architecture or "",
        config=printable(model.config),
        config_sha256="",
        symbols={},
        expected=None,
        actual=None,
        budget=model.limits,
        findings=(),
        closed_form=model.closed_form,
        detail=detail,
        own_class=model.factory is not None,
    )


def _placed(finding: Finding, model: Model, settings: Settings) -> Finding:
    """Complete a place in the model's own table, with file, full key and line; a limit's own lacks its line alone."""
    key = finding.table_key
    if key is None:
        return finding
    if key[: len(model.table_key)] != model.table_key:
        key = (*model.table_key, *key)
        finding = finding._replace(file=settings.file, table_key=key)
    return finding if finding.line is not None else finding._replace(line=settings.line(key))
