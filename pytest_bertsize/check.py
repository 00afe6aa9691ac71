"""The whole path of one declared model, without pytest: read, derive, have it built, review."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize import budget_alone, choices
from pytest_bertsize.build import Built, NotBuilt, Request
from pytest_bertsize.comparison import Today, compared
from pytest_bertsize.derivation import Derivation, choose, derive
from pytest_bertsize.findings import Finding, Unusable, printable
from pytest_bertsize.loosening import loosened
from pytest_bertsize.model_config import ModelConfig, read
from pytest_bertsize.review import Review, review

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.baseline import Baseline
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.settings import Limit, Model, Settings


@dataclass(frozen=True, slots=True)
class Subject:
    """A declared model, as far as it is known without building it."""

    review: Review
    """Everything but ``actual``; its errors, if it has any, are why the model is not built."""
    request: Request | None
    known_components: Callable[[], list[str]]
    """What a budget may name in this family."""
    model: Model
    config: ModelConfig | None = None
    derivation: Derivation | None = None


def examine(model: Model, settings: Settings, registry: Registry, *, formulas: bool = False) -> Subject:
    """Read the config and derive the closed form. A model's mistakes become findings, never exceptions.

    :param registry: the closed forms that there are.
    :param formulas: write the formulas out as well, which loads sympy.
    """
    known, config = _unchecked(model), None
    try:
        config = read(settings.root, model.config)
        known = replace(known, config=config.reference, config_sha256=config.sha256)
        if not model.closed_form:
            return _without_closed_form(known, model, settings, config, registry)
        chosen = choose(model, config, registry)
        known = replace(known, family=chosen.family.name, architecture=chosen.architecture.name)
        found = derive(model, config, chosen)
    except Unusable as unusable:
        findings = tuple(_placed(finding, model, settings) for finding in unusable.findings)
        return Subject(replace(known, findings=findings), None, list, model, config)
    except Exception as error:  # noqa: BLE001  (whatever a config brings about is its model's failure, not the run's)
        message = printable(f"the gate itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=known.config)
        return Subject(replace(known, findings=(finding,)), None, list, model, config)
    return _derived(known, model, settings, config, found, formulas=formulas)


def _derived(
    known: Review, model: Model, settings: Settings, config: ModelConfig, found: Derivation, *, formulas: bool
) -> Subject:
    """A model whose closed form is known."""
    values, form, architecture = found.values, found.form, found.form.architecture
    module, root = architecture.defined_in, str(settings.root)
    request = Request(
        model.name, found.family.name, architecture.name, values.for_build, dict(found.options), module, root
    )
    known = replace(
        known,
        symbols={symbol: size for symbol, size in values.sizes.items() if size is not None},
        expected=form.inventory,
        unrolled=form.unrolled,
        findings=tuple(_placed(finding, model, settings) for finding in values.findings),
        formulas=form.formulas() if formulas else {},
        costs=choices.costs(found),
        fits=choices.fits(found, model.limits),
        build=partial(_build_here, request),
    )
    return Subject(known, request, partial(found.family.component_names, form.dims), model, config, found)


def _without_closed_form(
    known: Review, model: Model, settings: Settings, config: ModelConfig, registry: Registry
) -> Subject:
    """``closed_form = false``: there is nothing to compare with but the budget, and every report says so."""
    request = budget_alone.request(model, config, registry)
    noted = budget_alone.noted(request.family, request.architecture, registry)
    known = replace(
        known,
        family=request.family,
        architecture=request.architecture,
        findings=tuple(_placed(finding, model, settings) for finding in noted),
        build=partial(_build_here, request),
    )
    return Subject(known, request, list, model, config)


def _build_here(request: Request) -> Any:
    """Build in this process, for a test that wants the module itself: torch and transformers are imported now."""
    from pytest_bertsize.build.child import instantiate

    return instantiate(asdict(request))


def conclude(
    subject: Subject,
    built: Built | NotBuilt | None,
    settings: Settings,
    extra: tuple[Limit, ...] = (),
    baseline: Baseline | None = None,
) -> Review:
    """Hold what was built against the closed form, the budget and the base.

    :param extra: limits that a marker adds to those of the table.
    """
    before = replace(subject.review, budget=(*subject.review.budget, *extra))
    if extra and subject.derivation:
        before = replace(before, fits=choices.fits(subject.derivation, before.budget))
    found = before if built is None else _reviewed(before, subject, built)
    today = Today(subject.model, subject.config, subject.derivation, found.actual)
    found = replace(found, comparison=compared(today, baseline))
    findings = (*found.findings, *_loosened(subject, settings, baseline))
    return replace(found, findings=tuple(_line_of(finding, settings) for finding in findings))


def _reviewed(before: Review, subject: Subject, built: Built | NotBuilt) -> Review:
    if isinstance(built, NotBuilt):
        message = f"{before.architecture} could not be built: {built.reason}"
        return replace(before, findings=(*before.findings, Finding("build-failed", message, _fix_for_build(built))))
    form = subject.derivation.form if subject.derivation else None
    actual = built.inventory(before.expected)
    known_components = subject.known_components if form else lambda: list(actual.components)
    concluded = review(before, actual, known_components=known_components)
    if form and not before.formulas and any(f.kind == "off-closed-form" for f in concluded.findings):
        concluded = review(replace(before, formulas=form.formulas()), actual, known_components=known_components)
    concluded = replace(concluded, findings=(*concluded.findings, *_ties(built)))
    if subject.derivation and before.budget and concluded.verdict == "passed":
        notes = choices.insensitive(subject.derivation, before.budget)
        concluded = replace(concluded, findings=(*concluded.findings, *notes))
    return concluded


def _loosened(subject: Subject, settings: Settings, baseline: Baseline | None) -> list[Finding]:
    """What the budget lets pass that the base's did not."""
    former = baseline.former(subject.model.name) if baseline else None
    if former is None or baseline is None:
        return []
    found = loosened(former.model, subject.model, baseline.revision)
    return [_placed(finding, subject.model, settings) for finding in found]


_FIXES = {
    "ModuleNotFoundError": (
        "make the module importable from the project's root, or correct defined_in of its closed form"
    ),
    "has no model class": "install a version of transformers that has it, or correct the name",
    "Padding_idx": "write a pad_token_id below vocab_size",
    "MB of memory": "declare a smaller model",
    "emory": "its class takes real memory on the meta device, and more than 1 GiB of it: declare a smaller model",
    "imported": "install them beside pytest-bertsize",
    "": "correct the value that the class refuses",
}
"""Ways out by a part of the reason why a model was not built; the first that fits."""


def _fix_for_build(built: NotBuilt) -> str:
    return next(fix for part, fix in _FIXES.items() if part in built.reason)


def _ties(built: Built) -> list[Finding]:
    lost = built.lost_ties()
    if not lost:
        return []
    message = f"{', '.join(lost)}: what shares a tensor in the built model is not what its class declares"
    return [Finding("untied", message, "report it: the class has lost a tie, or made one that it does not declare")]


def _unchecked(model: Model) -> Review:
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
    )


def _placed(finding: Finding, model: Model, settings: Settings) -> Finding:
    """Complete a place in the model's own table: file, full key, line."""
    if finding.table_key is None:
        return finding
    return _line_of(replace(finding, file=settings.file, table_key=(*model.table_key, *finding.table_key)), settings)


def _line_of(finding: Finding, settings: Settings) -> Finding:
    """Look up the line of a key in the project's table."""
    if finding.table_key is None or finding.line is not None:
        return finding
    return replace(finding, line=settings.line(finding.table_key))
