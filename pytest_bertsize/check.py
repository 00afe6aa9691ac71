"""The whole path of one declared model, without pytest: read, derive, have it built, review."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.build import Built, NotBuilt, Request
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, family_of
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.findings import Finding, Unusable, did_you_mean, printable, shown
from pytest_bertsize.model_config import ModelConfig, read
from pytest_bertsize.quantity import exact
from pytest_bertsize.review import Review, review

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms import Architecture, Family
    from pytest_bertsize.settings import Limit, Model, Settings

MOST_PARAMETERS = 10**13
"""More than any model that was ever trained: what is above is a mistake, and is not built."""
MOST_TENSORS = 100_000
"""Layers within layers multiply; 1,000 of MobileBERT's have 46,000."""
MOST_LAYERS = 1_000
"""A layer takes 1.3 ms to build, so that 10⁵ of them would take minutes."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A declared model, as far as it is known without building it."""

    review: Review
    """Everything but ``actual``; its errors, if it has any, are why the model is not built."""
    request: Request | None
    known_components: Callable[[], list[str]]
    """What a budget may name in this family."""
    form: ClosedForm | None


def examine(model: Model, settings: Settings, *, formulas: bool = False) -> Subject:
    """Read the config and derive the closed form. A model's mistakes become findings, never exceptions.

    :param formulas: write the formulas out as well, which loads sympy.
    """
    known = _unchecked(model)
    try:
        config = read(settings.root, model.config)
        known = replace(known, config=config.reference, config_sha256=config.sha256)
        family = _family(model, config)
        architecture = _architecture(model, config, family)
        known = replace(known, family=family.name, architecture=architecture.name)
        options = _options(model, architecture)
        values = family.resolve(config, model.overrides, architecture)
        form = ClosedForm(architecture, Dims(values.sizes, {**values.switches, **options}))
        _refuse_the_absurd(form, family, config)
    except Unusable as unusable:
        findings = tuple(_placed(finding, model, settings) for finding in unusable.findings)
        return Subject(replace(known, findings=findings), None, list, None)
    request = Request(model.name, family.name, architecture.name, values.for_build, options)
    known = replace(
        known,
        symbols={symbol: size for symbol, size in values.sizes.items() if size is not None},
        expected=form.inventory,
        findings=tuple(_placed(finding, model, settings) for finding in values.findings),
        formulas=form.formulas() if formulas else {},
        build=partial(_build_here, request),
    )
    return Subject(known, request, partial(family.component_names, form.dims), form)


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
    if subject.form is None or built is None:
        return before
    if isinstance(built, NotBuilt):
        finding = Finding(
            "build-failed", f"{before.architecture} could not be built: {built.reason}", _fix_for_build(built)
        )
        return replace(before, findings=(*before.findings, finding))
    actual = built.inventory(subject.form.inventory)
    concluded = review(before, actual, known_components=subject.known_components)
    if not subject.review.formulas and any(f.kind == "off-closed-form" for f in concluded.findings):
        concluded = review(
            replace(before, formulas=subject.form.formulas()), actual, known_components=subject.known_components
        )
    return replace(concluded, findings=tuple(_line_of(f, settings) for f in (*concluded.findings, *_ties(built))))


def _fix_for_build(built: NotBuilt) -> str:
    return (
        "install them beside pytest-bertsize"
        if "imported" in built.reason
        else "correct the value that the class refuses"
    )


def _ties(built: Built) -> list[Finding]:
    lost = built.lost_ties()
    if not lost:
        return []
    message = f"{', '.join(lost)}: what shares a tensor in the built model is not what its class declares"
    return [Finding("untied", message, "report it: the class has lost a tie, or made one that it does not declare")]


def _refuse_the_absurd(form: ClosedForm, family: Family, config: ModelConfig) -> None:
    """Count by the closed form first: what would take minutes or is no model is never built, nor listed."""
    for size in family.keys.sizes:
        if size.repeats and (form.dims.sizes[size.symbol] or 0) > MOST_LAYERS:
            message = f"{size.key} is {form.dims.sizes[size.symbol]:,}: more than {MOST_LAYERS:,} layers are not built"
            config.refuse(size.key, message, "write the number of layers that the model has", "config-refused")
    if form.tensor_count > MOST_TENSORS:
        message = f"by the closed form this is {exact(form.tensor_count)} tensors, more than {exact(MOST_TENSORS)}"
        raise Unusable(Finding("config-refused", message, "write the layers that the model has", file=config.file))
    if form.total > MOST_PARAMETERS:
        message = f"by the closed form this is {exact(form.total)} parameters, more than {exact(MOST_PARAMETERS)}"
        finding = Finding("config-refused", message, "correct its sizes", file=config.file, expected=form.total)
        raise Unusable(finding)


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
    )


def _family(model: Model, config: ModelConfig) -> Family:
    """The table's ``family`` or the file's ``model_type``; never a guess."""
    said = config.model_type
    if said is None and model.family is None:
        guess = family_of(model.architecture or next(iter(config.architectures), "")) or next(iter(FAMILIES.values()))
        message = f"{config.reference} has no model_type, as is usual for Google's bert_config.json"
        raise Unusable(Finding("config-invalid", message, f'write family = "{guess.name}"', table_key=()))
    if said is not None and model.family is not None and said != model.family:
        message = f"family is {shown(model.family)}, and {config.reference} says model_type {shown(said)}"
        raise Unusable(Finding("config-invalid", message, "remove family from the table", table_key=("family",)))
    name = model.family if said is None else said
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name]
    nearest = did_you_mean(str(name), FAMILIES)
    fix = f"did you mean {nearest!r}?" if nearest else f"there are {', '.join(FAMILIES)}"
    if said is None:
        raise Unusable(Finding("unknown-closed-form", f"there is no family {shown(name)}", fix, table_key=("family",)))
    return config.refuse(
        "model_type", f"there is no closed form for the family {shown(name)}", fix, "unknown-closed-form"
    )


def _architecture(model: Model, config: ModelConfig, family: Family) -> Architecture:
    """The table's ``architecture``, or the file's only one."""
    known = [each.name for each in family.architectures]
    if model.architecture is None and len(config.architectures) != 1:
        says = f"names {len(config.architectures)} architectures" if config.architectures else "names no architecture"
        message = f"{config.reference} {says}, and neither does the table"
        raise Unusable(
            Finding("config-invalid", message, f'write architecture = "{known[0]}", for example', table_key=())
        )
    name = model.architecture or config.architectures[0]
    if found := family.architecture(name):
        return found
    other = family_of(name)
    nearest = did_you_mean(name, known)
    fix = f"did you mean {nearest!r}?" if nearest else f"there are {', '.join(known)}"
    if other:
        message = f"{shown(name)} is of the family {other.name!r}, and the config of {family.name!r}"
    else:
        message = f"there is no closed form for {shown(name)} in the family {family.name!r}"
    kind = "config-invalid" if other else "unknown-closed-form"
    if model.architecture is not None:
        raise Unusable(Finding(kind, message, fix, table_key=("architecture",)))  # type: ignore[arg-type]
    return config.refuse("architectures", message, fix, kind)  # type: ignore[arg-type]


def _options(model: Model, architecture: Architecture) -> dict[str, bool]:
    """The constructor arguments with their defaults.

    :raises Unusable: when the class has no such argument.
    """
    unknown = [key for key in model.options if key not in architecture.options]
    if unknown:
        known = ", ".join(architecture.options)
        fix = f"it takes {known}" if known else f"remove it: {architecture.name} takes none"
        message = "options.{}: {} has no such constructor argument"
        raise Unusable(
            *(
                Finding("config-invalid", message.format(key, architecture.name), fix, table_key=("options", key))
                for key in unknown
            )
        )
    return {**architecture.options, **model.options}


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
