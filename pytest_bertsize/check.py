"""The whole path of one declared model, without pytest: read, derive, have it built, review."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize import budget_alone, choosing
from pytest_bertsize.build import MEGABYTE, Built, Limits, NotBuilt, Request
from pytest_bertsize.closed_forms import ClosedForm
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.config_keys import LABELS
from pytest_bertsize.findings import Finding, Unusable, printable
from pytest_bertsize.model_config import ModelConfig, read
from pytest_bertsize.quantity import exact
from pytest_bertsize.review import Review, review

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms import Architecture
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.settings import Limit, Model, Settings

MOST_PARAMETERS = 10**13
"""More than any model that was ever trained: what is above is a mistake, and is not built."""
MOST_MEMORY = Limits().memory
BYTES_OF_A_TENSOR = 3_600
"""What a tensor takes on the meta device, with its share of modules and its name: measured, 3.4 to 3.6 KB."""
BYTES_OF_A_LABEL = 190
"""transformers writes the name of each into two dictionaries."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A declared model, as far as it is known without building it."""

    review: Review
    """Everything but ``actual``; its errors, if it has any, are why the model is not built."""
    request: Request | None
    known_components: Callable[[], list[str]]
    """What a budget may name in this family."""
    form: ClosedForm | None


def examine(model: Model, settings: Settings, registry: Registry, *, formulas: bool = False) -> Subject:
    """Read the config and derive the closed form. A model's mistakes become findings, never exceptions.

    :param registry: the closed forms that there are.
    :param formulas: write the formulas out as well, which loads sympy.
    """
    known = _unchecked(model)
    try:
        config = read(settings.root, model.config)
        known = replace(known, config=config.reference, config_sha256=config.sha256)
        if not model.closed_form:
            return _without_closed_form(known, model, settings, config, registry)
        family, architecture = choosing.closed_form(model, config, registry)
        known = replace(known, family=family.name, architecture=architecture.name)
        options = choosing.options(model, architecture)
        values = family.resolve(config, model.overrides, architecture)
        form = _derived(architecture, Dims(values.sizes, {**values.switches, **options}))
        _refuse_the_absurd(form, config)
    except Unusable as unusable:
        findings = tuple(_placed(finding, model, settings) for finding in unusable.findings)
        return Subject(replace(known, findings=findings), None, list, None)
    except Exception as error:  # noqa: BLE001  (whatever a config brings about is its model's failure, not the run's)
        message = printable(f"the gate itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=known.config)
        return Subject(replace(known, findings=(finding,)), None, list, None)
    module, root = architecture.defined_in, str(settings.root)
    request = Request(model.name, family.name, architecture.name, values.for_build, options, module, root)
    known = replace(
        known,
        symbols={symbol: size for symbol, size in values.sizes.items() if size is not None},
        expected=form.inventory,
        unrolled=form.unrolled,
        findings=tuple(_placed(finding, model, settings) for finding in values.findings),
        formulas=form.formulas() if formulas else {},
        build=partial(_build_here, request),
    )
    return Subject(known, request, partial(family.component_names, form.dims), form)


def _derived(architecture: Architecture, dims: Dims) -> ClosedForm:
    """The closed form, once it is known to give a count: a contributed one may not.

    :raises Unusable: with what its blocks raise.
    """
    form = ClosedForm(architecture, dims)
    try:
        form.total  # noqa: B018  (asked, not used)
    except Exception as error:
        message = f"the closed form for {architecture.name} gives no count: {type(error).__name__}: {error}"
        raise Unusable(Finding("unknown-closed-form", printable(message), "correct its blocks")) from error
    return form


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
    return Subject(known, request, list, None)


def _build_here(request: Request) -> Any:
    """Build in this process, for a test that wants the module itself: torch and transformers are imported now."""
    from pytest_bertsize.build.child import instantiate

    return instantiate(asdict(request))


def conclude(
    subject: Subject, built: Built | NotBuilt | None, settings: Settings, extra: tuple[Limit, ...] = ()
) -> Review:
    """Hold what was built against the closed form and the budget.

    :param extra: limits that a marker adds to those of the table.
    """
    before = replace(subject.review, budget=(*subject.review.budget, *extra))
    if built is None:
        return before
    if isinstance(built, NotBuilt):
        finding = Finding(
            "build-failed", f"{before.architecture} could not be built: {built.reason}", _fix_for_build(built)
        )
        return replace(before, findings=(*before.findings, finding))
    actual = built.inventory(before.expected)
    known_components = subject.known_components if subject.form else lambda: list(actual.components)
    concluded = review(before, actual, known_components=known_components)
    if subject.form and not before.formulas and any(f.kind == "off-closed-form" for f in concluded.findings):
        concluded = review(replace(before, formulas=subject.form.formulas()), actual, known_components=known_components)
    return replace(concluded, findings=tuple(_line_of(f, settings) for f in (*concluded.findings, *_ties(built))))


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


def _refuse_the_absurd(form: ClosedForm, config: ModelConfig) -> None:
    """Count by the closed form first: what would take minutes or is no model is never built, nor listed."""
    labels = form.dims.sizes.get(LABELS) or 0
    memory = form.tensor_count * BYTES_OF_A_TENSOR + labels * BYTES_OF_A_LABEL
    if memory > MOST_MEMORY:
        parts = f"{exact(form.tensor_count)} tensors" + (f" and {exact(labels)} labels" if labels else "")
        takes = f"would take {exact(memory // MEGABYTE)} MB to build, more than {MOST_MEMORY // MEGABYTE}"
        message = f"by the closed form this is {parts}, which {takes}"
        raise Unusable(Finding("config-refused", message, "write the layers that the model has", file=config.file))
    if form.unrolled > MOST_PARAMETERS:
        count = form.total if form.total > MOST_PARAMETERS else form.unrolled
        message = f"by the closed form this is {exact(count)} parameters, more than {exact(MOST_PARAMETERS)}"
        raise Unusable(Finding("config-refused", message, "correct its sizes", file=config.file))


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
