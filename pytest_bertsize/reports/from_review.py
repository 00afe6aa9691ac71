"""Make a model's report from its review. The review has the verdict, which no view computes again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from pytest_bertsize.findings import BROKEN
from pytest_bertsize.folding import group_indices
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Fold, Inventory, Tensor, pattern
from pytest_bertsize.reports import headline, report
from pytest_bertsize.wording import listed, number, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline, Left
    from pytest_bertsize.base.comparison import Comparison
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.differences import Difference
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.review import Review

T = TypeVar("T", bound=report.Object)
SEVERITIES = ("error", "warning", "note")


def _copy(kind: type[T], source: object, **given: Any) -> T:
    """Make a struct of ``kind``: ``given`` has some of its fields, and ``source`` has the others by the same names."""
    same = (name for name in kind.__struct_fields__ if name not in given)
    return kind(**{name: getattr(source, name) for name in same}, **given)


def report_model(review: Review) -> report.ModelReport:
    """Return the report of one review, which every view reads."""
    worst = review.worst_error
    rows = [_copy(report.FindingRow, finding, in_headline=finding is worst) for finding in review.findings]
    findings = sorted(rows, key=lambda each: SEVERITIES.index(each.severity))
    model = _report_facts(review, findings)
    if not headline.names_error(model):  # but the count of the total and its limit
        of_total = [row.component == TOTAL and row.kind in BROKEN and row.base is None for row in findings]
        findings = [replace(row, in_headline=named) for row, named in zip(findings, of_total, strict=True)]
    failure = review.describe_failure(with_fix=False)
    return replace(model, findings=findings, headline=headline.describe_model(model, review.headline, failure))


def _report_facts(review: Review, findings: list[report.FindingRow]) -> report.ModelReport:
    """Return the report of one review without its headline."""
    actual, expected, held = review.actual, review.expected, review.held
    subject, locked = review.subject, review.locked
    form, stored = subject.form, subject.stored
    is_counted = bool(held and (expected or not subject.model.closed_form))
    return _copy(
        report.ModelReport,
        review,
        family=subject.family,
        architecture=subject.architecture,
        config=subject.reference,
        config_sha256=subject.config.sha256 if subject.config else "",
        closed_form=subject.model.closed_form,
        published=[_copy(report.PublishedConfig, each) for each in (*subject.published, *review.answered)],
        headline="",
        report_only=not review.budget,
        built=not review.unbuilt,
        symbols=form.dims.given if form else {},
        totals=report.Totals(
            expected=expected.unique if expected else None,
            actual=actual.unique if actual else None,
            trainable=held.trainable if held else None,
            stored=held.stored if held else None,
            unrolled=form.unrolled + (held.stored - form.stored if held else 0) if form else None,
        ),
        components=_list_components(review) if is_counted else [],
        measures=[_report_measure(measured, review) for measured in review.measured],
        frozen=describe_frozen(held) if held else [],
        checkpoint=stored
        and _copy(report.Checkpoint, stored, tensors=len(stored.inventory.tensors), numbers=stored.inventory.unique),
        tensors=_list_tensors(expected, actual) if subject.detail and is_counted else [],
        layers=list_differing_layers(review.base, expected, actual) if subject.detail else [],
        base=review.comparison and _report_base(review.comparison),
        lock=locked
        and _copy(
            report.Lock,
            locked,
            file=printable(locked.file),
            known=locked.is_there,
            tensors=[_report_difference(each) for each in locked.changes],
        ),
        choices=_list_choices(review) if expected else None,
        findings=findings,
    )


def report_base(baseline: Baseline | None) -> report.RunBase | None:
    """Return the base of a run as reports have it; ``None`` without a base."""
    if baseline is None:
        return None
    return _copy(
        report.RunBase,
        baseline,
        revision=printable(baseline.revision),
        problem=printable(baseline.problem),
        removed=[_report_removed(left) for left in baseline.left],
        not_compared=[*baseline.not_compared],
    )


def report_change(row: Moved) -> report.Change:
    return _copy(report.Change, row, components=dict(row.components))


def _report_base(comparison: Comparison) -> report.Base:
    return _copy(
        report.Base,
        comparison,
        revision=printable(comparison.revision),
        config=None if comparison.config is None else printable(comparison.config),
        former_name=printable(comparison.former_name),
        total=comparison.inventory.unique if comparison.inventory else None,
        said=list(comparison.said),
        changes=[report_change(row) for row in comparison.moved],
        tensors=[_report_difference(each) for each in comparison.tensors],
    )


def _report_difference(each: Difference) -> report.TensorChange:
    return _copy(report.TensorChange, each, name=printable(each.name), said=each.sentence)


def _list_choices(review: Review) -> report.Choices:
    fits = [report.Fit(change=fit.said, overrides=dict(fit.changes), total=fit.form.total) for fit in review.fits]
    return report.Choices(fits=fits, costs=[_copy(report.Cost, cost) for cost in review.costs])


def _report_removed(left: Left) -> report.Removed:
    former = left.former
    limits = former.model.limits if former else ()
    return report.Removed(
        name=printable(left.name),
        config=printable(former.model.config) if former else "",
        total=former.form.total if former and former.form else None,
        limit=next((str(limit) for limit in limits if limit.component == TOTAL), None),
        problem=printable(left.problem),
        reason=printable(left.reason),
        failed=left.is_loosened,
    )


def _list_components(review: Review) -> list[report.Component]:
    names = [*review.component_names, *([TRAINABLE] if review.limit(TRAINABLE) else []), TOTAL]
    return [
        report.Component(
            name=printable(name),
            formula=formula.text if (formula := review.formulas.get(name)) else None,
            latex=formula.latex if formula else None,
            expected=review.expected.count_of(name) if review.expected else None,
            actual=review.actual.count_of(name) if review.actual else None,
            base=review.base.count_of(name) if review.base else None,
            layers=review.held.layers(name) if review.held else 1,
            **_held_to(name, review),
        )
        for name in names
    ]


def _report_measure(measured: Measured, review: Review) -> report.Measure:
    return _copy(
        report.Measure,
        measured,
        expected=measured.actual if review.unbuilt else measured.expected,
        actual=None if review.unbuilt else measured.actual,
        components={printable(name): count for name, count in measured.components.items()},
        **_held_to(measured.name, review),
    )


def _held_to(name: str, review: Review) -> dict[str, Any]:
    """Return the fields ``min``, ``max``, ``limit`` and ``failed`` of the row about ``name``."""
    limit, failed = review.limit(name), name in review.failed_components
    least, most, written = (limit.minimum, limit.maximum, str(limit)) if limit else (None, None, None)
    return {"min": least, "max": most, "limit": written, "failed": failed}


def _list_tensors(expected: Inventory | None, actual: Inventory | None) -> list[report.FoldedTensor]:
    """Return the tensors of the closed form and of the build, also those that only one of the two has."""
    theirs = {_key(row): row for row in expected.folded} if expected else {}
    ours = {_key(row): row for row in actual.folded} if actual else {}
    return [
        _copy(
            report.FoldedTensor,
            row,
            name=row.pattern,
            shape=list(row.shape),
            layers=row.times,
            expected=theirs[key].owned if key in theirs else None,
            actual=ours[key].owned if key in ours else None,
        )
        for key, row in {**theirs, **ours}.items()
    ]


def _key(row: Fold) -> tuple[object, ...]:
    return row.pattern, row.component, row.shape, row.tied_to, row.trainable, row.times


# layers in which base, closed form and build differ, and layers that do not train


_LAYER = re.compile(r"(?P<stack>.*?)\.(?P<index>[0-9]+)\.(?P<inside>.+)")


def list_differing_layers(
    base: Inventory | None, expected: Inventory | None, actual: Inventory | None
) -> list[report.Layer]:
    """Compare base, closed form and build: return a row for each differing layer, or for alike neighbours."""
    inventories = (base, expected, actual)
    sides = [_find_stacks(side) if side else {} for side in inventories]
    known = [place for place, side in enumerate(inventories) if side]
    rows = []
    for stack in sorted({stack for side in sides for stack in side}):
        runs: list[tuple[report.Layer, list[int]]] = []
        for index in sorted({index for side in sides for index in side.get(stack, ())}):
            row = _compare_layer([side.get(stack, {}).get(index, {}) for side in sides], known)
            if row and runs and runs[-1][0] == row and runs[-1][1][-1] == index - 1:
                runs[-1][1].append(index)
            elif row:
                runs.append((row, [index]))
        for row, run in runs:
            name = f"{stack}.{run[0]}" + (f"-{run[-1]}" if run[1:] else "")
            rows.append(replace(row, name=printable(name), times=len(run)))
    return rows


def _find_stacks(inventory: Inventory) -> dict[str, dict[int, dict[str, Tensor]]]:
    """Group tensors by the path of a list of layers, then by the layer's index, then by the name inside the layer."""
    found: dict[str, dict[int, dict[str, Tensor]]] = {}
    for tensor in inventory.tensors:
        if named := _LAYER.fullmatch(tensor.name):
            found.setdefault(named["stack"], {}).setdefault(int(named["index"]), {})[named["inside"]] = tensor
    return found


def _compare_layer(sides: Sequence[Mapping[str, Tensor]], known: Sequence[int]) -> report.Layer | None:
    """Return how a layer differs between the ``sides`` whose indices are ``known``; ``None`` if it does not differ."""
    tensors, columns = [], ("base", "expected", "actual")
    for name in dict.fromkeys(name for place in known for name in sides[place]):
        found = [sides[place].get(name) for place in known]
        if len({each and (each.shape, each.tied_to) for each in found}) > 1:
            shapes = (list(side[name].shape) if name in side else None for side in sides)
            tensors.append(report.LayerTensor(name=printable(name), **dict(zip(columns, shapes, strict=True))))
    counts = (sum(tensor.owned for tensor in side.values()) if side else None for side in sides)
    return (
        report.Layer(name="", times=1, tensors=tensors, **dict(zip(columns, counts, strict=True))) if tensors else None
    )


def describe_frozen(inventory: Inventory) -> list[str]:
    """Return lines for frozen components, then for other frozen layers, then for other frozen tensors."""
    if inventory.trainable == inventory.unique:
        return []
    rest = {tensor.name: tensor for tensor in inventory.tensors if not tensor.trainable}

    def take(tensors: Iterable[Tensor]) -> int:
        """Remove ``tensors`` from ``rest``, and return the number of parameters that are removed."""
        return sum(rest.pop(tensor.name).owned for tensor in tensors if tensor.name in rest)

    lines = []
    for component in inventory.components:  # outermost first
        own = [*inventory.under(component)]
        if all(tensor.name in rest for tensor in own) and (count := take(own)):
            lines.append(f"{component}: {number(count)}")
    for stack, layers in _find_stacks(inventory).items():
        frozen = {
            index: own
            for index, own in sorted(layers.items())
            if not any(tensor.trainable for tensor in own.values()) and any(each.name in rest for each in own.values())
        }
        if frozen:
            runs = (run for (run,) in group_indices((index,) for index in frozen))
            named = ", ".join(f"{run.start} to {run[-1]}" if len(run) > 1 else str(run.start) for run in runs)
            count = take(tensor for own in frozen.values() for tensor in own.values())
            lines.append(f"{printable(stack)} {named} of {len(layers)}: {number(count)}")
    by_component: dict[str, list[Tensor]] = {}
    for tensor in rest.values():
        if tensor.owned:
            by_component.setdefault(tensor.component, []).append(tensor)
    for component, own in by_component.items():
        patterns = listed([*dict.fromkeys(printable(pattern(tensor.name)) for tensor in own)], 1)
        lines.append(f"{component or 'model'} in part: {number(take(own))} ({patterns})")
    return lines
