"""A Review as plain data: what the terminal, the JSON file and an xdist worker's message are all made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from pytest_bertsize.inventory import TOTAL, TRAINABLE, Fold, Inventory
from pytest_bertsize.reports import headline
from pytest_bertsize.reports.frozen import frozen_parts
from pytest_bertsize.reports.layers import layers
from pytest_bertsize.reports.shape import (
    Base,
    Change,
    Checkpoint,
    Choices,
    Component,
    Cost,
    FindingRow,
    Fit,
    FoldedTensor,
    Layer,
    LayerTensor,
    Lock,
    Measure,
    ModelReport,
    PublishedConfig,
    Removed,
    RunBase,
    RunReport,
    TensorChange,
    Totals,
)
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline, Left
    from pytest_bertsize.base.comparison import Comparison
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.differences import Difference
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.against_lock import AgainstLock
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.review import Review


__all__ = [
    "Base",
    "Change",
    "Checkpoint",
    "Choices",
    "Component",
    "Cost",
    "FindingRow",
    "Fit",
    "FoldedTensor",
    "Layer",
    "LayerTensor",
    "Measure",
    "ModelReport",
    "PublishedConfig",
    "Removed",
    "RunBase",
    "RunReport",
    "Totals",
    "by_severity",
    "change_of",
    "count_failed",
    "model_report",
    "names_not_checked",
    "run_base",
]


def count_failed(models: Sequence[ModelReport], base: RunBase | None) -> int:
    """Those that fail, and those that have left the table with a limit, without a word."""
    left = sum(removed["failed"] for removed in base["removed"]) if base else 0
    return left + sum(model["verdict"] == "failed" for model in models)


def by_severity(findings: Iterable[FindingRow]) -> list[FindingRow]:
    """Errors, then warnings, then notes."""
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding["severity"]))


def names_not_checked(models: Sequence[ModelReport], configured: Sequence[str]) -> list[str]:
    """Of the declared models those that no report is about, in the order of their declaration."""
    checked = {model["name"] for model in models}
    return [name for name in configured if name not in checked]


def model_report(review: Review) -> ModelReport:
    """Everything that a report shows of a review; nothing downstream computes a verdict again."""
    actual, expected, held = review.actual, review.expected, review.held
    found = ModelReport(
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
        latex={formula.text: formula.latex for formula in review.formulas.values()},
        totals=Totals(
            expected=expected.unique if expected else None,
            actual=actual.unique if actual else None,
            trainable=held.trainable if held else None,
            stored=held.stored if held else None,
            unrolled=_unrolled(review),
        ),
        components=_components(review) if held and (expected or not review.closed_form) else [],
        measures=[_measure(measured, review) for measured in review.measured],
        frozen=frozen_parts(held) if held and held.trainable != held.unique else [],
        checkpoint=_checkpoint(review.stored) if review.stored else None,
        tensors=_tensors(expected, actual) if review.detail and held and (expected or not review.closed_form) else [],
        layers=layers(review.base, expected, actual) if review.detail else [],
        base=_base(review.comparison) if review.comparison else None,
        lock=_lock(review.locked) if review.locked else None,
        choices=_choices(review),
        findings=by_severity(_finding(finding) for finding in review.findings),
    )
    found["headline"] = headline.of_model(found, review.headline)
    return found


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
        total=comparison.inventory.unique if comparison.inventory else None,
        grown=comparison.grown,
        shrunk=comparison.shrunk,
        said=list(comparison.said),
        changes=[change_of(row) for row in comparison.moved],
        tensors=[_tensor_change(each) for each in comparison.tensors],
        method=comparison.method,
    )


def _lock(against: AgainstLock) -> Lock:
    return Lock(
        file=printable(against.file),
        known=against.is_there,
        tensors=[_tensor_change(each) for each in against.changes],
        buffers=[],
        why=against.why,
    )


def _tensor_change(each: Difference) -> TensorChange:
    return TensorChange(kind=each.kind, name=printable(each.name), count=each.count, said=each.sentence)


def change_of(row: Moved) -> Change:
    return Change(key=row.key, before=row.before, after=row.after, total=row.total, components=row.components)


def _choices(review: Review) -> Choices | None:
    """``None`` where there is no closed form to ask."""
    if review.expected is None:
        return None
    return Choices(
        fits=[Fit(change=fit.said, overrides=dict(fit.changes), total=fit.form.total) for fit in review.fits],
        costs=[Cost(what=cost.what, change=cost.change, total=cost.total) for cost in review.costs],
    )


def run_base(baseline: Baseline | None) -> RunBase | None:
    """What a run is compared with."""
    if baseline is None:
        return None
    return RunBase(
        revision=printable(baseline.revision),
        commit=baseline.commit,
        problem=printable(baseline.problem),
        removed=[_removed(left) for left in baseline.left],
        not_compared=[*baseline.not_compared],
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
    limit = review.limit(name)
    return Component(
        name=printable(name),
        formula=review.formulas[name].text if name in review.formulas else None,
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
        min=limit.minimum if limit else None,
        max=limit.maximum if limit else None,
        base=measured.base,
        limit=str(limit) if limit else None,
        components={printable(name): count for name, count in measured.components.items()},
        failed=measured.name in review.failed_components,
    )


def _checkpoint(stored: Stored) -> Checkpoint:
    tensors = stored.inventory.tensors
    return Checkpoint(file=stored.file, tensors=len(tensors), numbers=stored.inventory.unique, bytes=stored.bytes)


def _tensors(expected: Inventory | None, actual: Inventory | None) -> list[FoldedTensor]:
    """The tensors of both sides, those that one side lacks among them."""
    theirs = {_key(row): row for row in expected.folded} if expected else {}
    ours = {_key(row): row for row in actual.folded} if actual else {}
    return [_tensor((ours.get(key) or theirs[key]), theirs.get(key), ours.get(key)) for key in {**theirs, **ours}]


def _key(row: Fold) -> tuple[object, ...]:
    return row.pattern, row.component, row.shape, row.tied_to, row.trainable, row.times


def _tensor(row: Fold, expected: Fold | None, actual: Fold | None) -> FoldedTensor:
    return FoldedTensor(
        name=row.pattern,
        component=row.component,
        shape=list(row.shape),
        layers=row.times,
        expected=expected.count if expected else None,
        actual=actual.count if actual else None,
        tied_to=row.tied_to,
        trainable=row.trainable,
    )


def _finding(finding: Finding) -> FindingRow:
    row = finding._asdict()
    del row["table_key"]
    return cast("FindingRow", row)
