"""The report of a run, made from its reviews; nothing downstream computes a verdict again."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.inventory import TOTAL, TRAINABLE, Fold, Inventory
from pytest_bertsize.reports import headline
from pytest_bertsize.reports.frozen import frozen_parts
from pytest_bertsize.reports.layers import layers
from pytest_bertsize.reports.report import (
    Base,
    Change,
    Checkpoint,
    Choices,
    Component,
    Cost,
    FindingRow,
    Fit,
    FoldedTensor,
    Lock,
    Measure,
    ModelReport,
    PublishedConfig,
    Removed,
    RunBase,
    RunReport,
    TensorChange,
    Totals,
    count_failed,
    names_not_checked,
)
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline, Left
    from pytest_bertsize.base.comparison import Comparison
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.differences import Difference
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.settings import Settings

SEVERITIES = ("error", "warning", "note")


def report_model(review: Review) -> ModelReport:
    """Return all that any view shows of a review."""
    actual, expected, held, locked = review.actual, review.expected, review.held, review.locked
    is_counted = bool(held and (expected or not review.closed_form))
    model = ModelReport(
        name=review.name,
        family=review.family,
        architecture=review.architecture,
        config=review.config,
        config_sha256=review.config_sha256,
        published=[PublishedConfig(name=e.name, origin=e.origin, tokens=e.tokens) for e in review.published],
        verdict=review.verdict,
        headline="",
        report_only=not review.budget,
        built=not review.unbuilt,
        closed_form=review.closed_form,
        symbols=dict(review.symbols),
        totals=Totals(
            expected=expected.unique if expected else None,
            actual=actual.unique if actual else None,
            trainable=held.trainable if held else None,
            stored=held.stored if held else None,
            unrolled=_unrolled(review),
        ),
        components=_components(review) if is_counted else [],
        measures=[_measure(measured, review) for measured in review.measured],
        frozen=frozen_parts(held) if held and held.trainable != held.unique else [],
        checkpoint=_checkpoint(review.stored) if review.stored else None,
        tensors=_tensors(expected, actual) if review.detail and is_counted else [],
        layers=layers(review.base, expected, actual) if review.detail else [],
        base=_base(review.comparison) if review.comparison else None,
        lock=Lock(
            file=printable(locked.file),
            known=locked.is_there,
            tensors=[_tensor_change(each) for each in locked.changes],
            why=locked.why,
        )
        if locked
        else None,
        choices=_choices(review),
        findings=sorted(map(_finding, review.findings), key=lambda each: SEVERITIES.index(each.severity)),
    )
    failure = review.describe_failure(with_fix=False)
    return replace(model, headline=headline.describe_model(model, review.headline, failure))


def report_base(baseline: Baseline | None) -> RunBase | None:
    """Return what a run is compared with."""
    if baseline is None:
        return None
    return RunBase(
        revision=printable(baseline.revision),
        commit=baseline.commit,
        problem=printable(baseline.problem),
        removed=[_removed(left) for left in baseline.left],
        not_compared=[*baseline.not_compared],
    )


def report_change(row: Moved) -> Change:
    return Change(key=row.key, before=row.before, after=row.after, total=row.total, components=dict(row.components))


def report_run(
    models: Sequence[ModelReport],
    settings: Settings,
    versions: Mapping[str, str],
    commit: str | None,
    base: RunBase | None = None,
    *,
    builds: bool = True,
) -> RunReport:
    """Return the report of one run.

    :param models: those that were checked, in the order in which they are declared.
    :param versions: of the libraries that built them.
    :param commit: the one that is checked out, if there is any.
    :param builds: whether the models were built.
    """
    not_checked = names_not_checked(models, settings.names)
    python = versions.get("python", platform.python_version())
    run = RunReport(
        schema=1,
        headline="",
        changed=True,
        mode="full" if builds else "no-build",
        versions={"pytest_bertsize": version("pytest-bertsize"), **versions, "python": python},
        commit=commit,
        table_sha256=settings.table_sha256,
        base=base,
        configured=len(settings.names),
        checked=len(models),
        failed=count_failed(models, base),
        not_checked=not_checked,
        models=list(models),
        complete=not not_checked,
    )
    return replace(run, headline=headline.describe_run(run), changed=headline.has_news(run))


def _unrolled(review: Review) -> int | None:
    """By the closed form, which alone says how often a layer is passed through; ties are those of what is held."""
    if review.unrolled is None or review.expected is None or review.held is None:
        return review.unrolled
    return review.unrolled + review.held.stored - review.expected.stored


def _base(comparison: Comparison) -> Base:
    return Base(
        revision=printable(comparison.revision),
        commit=comparison.commit,
        config=None if comparison.config is None else printable(comparison.config),
        by=comparison.by,
        is_new=comparison.is_new,
        former_name=printable(comparison.former_name),
        total=comparison.inventory.unique if comparison.inventory else None,
        grown=comparison.grown,
        shrunk=comparison.shrunk,
        said=list(comparison.said),
        changes=[report_change(row) for row in comparison.moved],
        tensors=[_tensor_change(each) for each in comparison.tensors],
        method=comparison.method,
    )


def _tensor_change(each: Difference) -> TensorChange:
    return TensorChange(kind=each.kind, name=printable(each.name), count=each.count, said=each.sentence)


def _choices(review: Review) -> Choices | None:
    if review.expected is None:
        return None
    return Choices(
        fits=[Fit(change=fit.said, overrides=dict(fit.changes), total=fit.form.total) for fit in review.fits],
        costs=[Cost(what=cost.what, change=cost.change, total=cost.total) for cost in review.costs],
    )


def _removed(left: Left) -> Removed:
    former = left.former
    limits = former.model.limits if former else ()
    return Removed(
        name=printable(left.name),
        config=printable(former.model.config) if former else "",
        total=former.form.total if former and former.form else None,
        limit=next((str(limit) for limit in limits if limit.component == TOTAL), None),
        problem=printable(left.problem),
        reason=printable(left.reason),
        failed=left.is_loosened,
    )


def _components(review: Review) -> list[Component]:
    trainable = [TRAINABLE] if review.limit(TRAINABLE) else []
    return [_component(name, review) for name in (*review.component_names, *trainable, TOTAL)]


def _component(name: str, review: Review) -> Component:
    limit, formula = review.limit(name), review.formulas.get(name)
    return Component(
        name=printable(name),
        formula=formula.text if formula else None,
        latex=formula.latex if formula else None,
        expected=review.expected[name] if review.expected else None,
        actual=review.actual[name] if review.actual else None,
        base=review.base[name] if review.base else None,
        min=limit.minimum if limit else None,
        max=limit.maximum if limit else None,
        limit=str(limit) if limit else None,
        layers=review.held.layers(name) if review.held else 1,
        failed=name in review.failed_components,
    )


def _measure(measured: Measured, review: Review) -> Measure:
    limit = review.limit(measured.name)
    return Measure(
        name=measured.name,
        what=measured.what,
        expected=measured.actual if review.unbuilt else measured.expected,
        actual=None if review.unbuilt else measured.actual,
        base=measured.base,
        min=limit.minimum if limit else None,
        max=limit.maximum if limit else None,
        limit=str(limit) if limit else None,
        components={printable(name): count for name, count in measured.components.items()},
        failed=measured.name in review.failed_components,
    )


def _checkpoint(stored: Stored) -> Checkpoint:
    tensors = stored.inventory.tensors
    return Checkpoint(file=stored.file, tensors=len(tensors), numbers=stored.inventory.unique, bytes=stored.bytes)


def _tensors(expected: Inventory | None, actual: Inventory | None) -> list[FoldedTensor]:
    """Return the tensors of both sides, those that one side lacks among them."""
    theirs = {_key(row): row for row in expected.folded} if expected else {}
    ours = {_key(row): row for row in actual.folded} if actual else {}
    return [
        FoldedTensor(
            name=row.pattern,
            component=row.component,
            shape=list(row.shape),
            layers=row.times,
            expected=theirs[key].count if key in theirs else None,
            actual=ours[key].count if key in ours else None,
            tied_to=row.tied_to,
            trainable=row.trainable,
        )
        for key, row in {**theirs, **ours}.items()
    ]


def _key(row: Fold) -> tuple[object, ...]:
    return row.pattern, row.component, row.shape, row.tied_to, row.trainable, row.times


def _finding(finding: Finding) -> FindingRow:
    return FindingRow(**{name: getattr(finding, name) for name in FindingRow.__struct_fields__})
