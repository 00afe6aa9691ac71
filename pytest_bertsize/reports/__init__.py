"""A Review as plain data: what the terminal, the JSON file and an xdist worker's message are all made from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Literal, TypedDict, cast

from pytest_bertsize.findings import printable
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Fold, Inventory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review import Review


class Component(TypedDict):
    """One row: a component at some level, ``total``, or ``trainable`` where a limit names it."""

    name: str
    formula: str | None
    expected: int | None
    actual: int | None
    base: int | None
    min: int | None
    max: int | None
    limit: str | None
    """The limit as its author wrote it."""
    layers: int
    """How many identical layers the component is spread over."""
    failed: bool
    """Whether an error is about this very component."""


class FoldedTensor(TypedDict):
    """Tensors that differ only in their layer's index."""

    name: str
    component: str
    shape: list[int]
    layers: int
    expected: int | None
    actual: int | None
    tied_to: str | None
    trainable: bool


class Totals(TypedDict):
    """Four totals, never mixed.

    Unique (expected and actual), trainable, stored (ties written out), and unrolled: by the closed form, with a copy of
    a shared layer for each pass through it as well.
    """

    expected: int | None
    actual: int | None
    trainable: int | None
    stored: int | None
    unrolled: int | None


class FindingRow(TypedDict):
    """A finding without the key that leads to its line."""

    kind: str
    severity: str
    component: str | None
    message: str
    fix: str
    expected: int | None
    actual: int | None
    limit: int | None
    file: str | None
    line: int | None


class ModelReport(TypedDict):
    """One element of ``models`` in the JSON report, schema 1."""

    name: str
    family: str
    architecture: str
    config: str
    config_sha256: str
    verdict: Literal["passed", "failed"]
    headline: str
    report_only: bool
    closed_form: bool
    """``False``: not compared with a closed form, by the table's own word."""
    symbols: dict[str, int]
    totals: Totals
    components: list[Component]
    tensors: list[FoldedTensor]
    findings: list[FindingRow]


def count_failed(models: Sequence[ModelReport]) -> int:
    return sum(model["verdict"] == "failed" for model in models)


def names_not_checked(models: Sequence[ModelReport], configured: Sequence[str]) -> list[str]:
    """Of the declared models those that no report is about, in the order of their declaration."""
    checked = {model["name"] for model in models}
    return [name for name in configured if name not in checked]


def model_report(review: Review) -> ModelReport:
    """Everything that a report shows of a review; nothing downstream computes a verdict again."""
    actual, expected = review.actual, review.expected
    return ModelReport(
        name=review.name,
        family=review.family,
        architecture=review.architecture,
        config=review.config,
        config_sha256=review.config_sha256,
        verdict=review.verdict,
        headline=review.headline,
        report_only=not review.budget,
        closed_form=review.closed_form,
        symbols=dict(review.symbols),
        totals=Totals(
            expected=expected.unique if expected else None,
            actual=actual.unique if actual else None,
            trainable=actual.trainable if actual else None,
            stored=actual.stored if actual else None,
            unrolled=review.unrolled,
        ),
        components=_components(review) if actual and (expected or not review.closed_form) else [],
        tensors=_tensors(expected, actual) if actual and (expected or not review.closed_form) else [],
        findings=[_finding(finding) for finding in review.findings],
    )


def _components(review: Review) -> list[Component]:
    trainable = [TRAINABLE] if review.limit(TRAINABLE) else []
    return [_component(name, review) for name in (*review.component_names, *trainable, TOTAL)]


def _component(name: str, review: Review) -> Component:
    limit = review.limit(name)
    return Component(
        name=printable(name),
        formula=review.formulas.get(name),
        expected=review.expected[name] if review.expected else None,
        actual=review.actual[name] if review.actual else None,
        base=None,
        min=limit.minimum if limit else None,
        max=limit.maximum if limit else None,
        limit=str(limit) if limit else None,
        layers=review.actual.layers(name) if review.actual else 1,
        failed=any(finding.component == name for finding in review.errors),
    )


def _tensors(expected: Inventory | None, actual: Inventory) -> list[FoldedTensor]:
    """The tensors of both sides, those that one side lacks among them."""
    theirs = {_key(row): row for row in expected.folded} if expected else {}
    ours = {_key(row): row for row in actual.folded}
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
    row = asdict(finding)
    del row["table_key"]
    return cast("FindingRow", row)
