"""Make a model's report from its review. The review has the verdict, which no view computes again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from pytest_bertsize.differences import fold_modules
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory, Tensor
from pytest_bertsize.reports import headline, report
from pytest_bertsize.wording import number, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline, Left
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.differences import Difference
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
    findings = [_copy(report.FindingRow, finding, in_headline=finding is worst) for finding in review.findings]
    actual, expected, held = review.actual, review.expected, review.held
    subject, locked, compared = review.subject, review.locked, review.comparison
    form, stored, former = subject.form, subject.stored, compared.former if compared else None
    is_counted = bool(held and (expected or not subject.model.closed_form))
    fits = [report.Fit(change=fit.said, overrides=dict(fit.changes), total=fit.form.total) for fit in review.fits]
    model = _copy(
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
        measures=[
            _copy(
                report.Measure,
                measured,
                expected=measured.actual if review.unbuilt else measured.expected,
                actual=None if review.unbuilt else measured.actual,
                components={printable(name): count for name, count in measured.components.items()},
                **_held_to(measured.name, review),
            )
            for measured in review.measured
        ],
        frozen=describe_frozen(held) if held else [],
        checkpoint=stored
        and _copy(report.Checkpoint, stored, tensors=len(stored.inventory.tensors), numbers=stored.inventory.unique),
        tensors=_list_tensors(expected, actual) if subject.detail and is_counted else [],
        layers=[*list_differing_layers(review.base, expected, actual)] if subject.detail else [],
        base=compared
        and _copy(
            report.Base,
            compared,
            revision=printable(compared.revision),
            config=former and printable(former.model.config),
            former_name=printable(former.model.name) if former and former.model.name != review.name else "",
            total=compared.inventory.unique if compared.inventory else None,
            said=list(compared.said),
            changes=[report_change(row) for row in compared.by_keys.moved],
            method=compared.by_keys.method,
            tensors=_report_differences(compared.tensors),
        ),
        lock=locked
        and _copy(
            report.Lock,
            locked,
            file=printable(locked.file),
            known=locked.is_there,
            tensors=_report_differences(locked.changes),
        ),
        choices=report.Choices(fits=fits, costs=[_copy(report.Cost, cost) for cost in review.costs])
        if expected
        else None,
        findings=sorted(findings, key=lambda each: SEVERITIES.index(each.severity)),
    )
    return replace(model, headline=headline.describe_model(model, review.describe_failure()))


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


def _report_differences(found: Iterable[Difference]) -> list[report.TensorChange]:
    return [_copy(report.TensorChange, each, name=printable(each.name), said=each.sentence) for each in found]


def _report_removed(left: Left) -> report.Removed:
    former = left.former
    return report.Removed(
        name=printable(left.name),
        config=printable(former.model.config) if former else "",
        total=former.form.total if former and former.form else None,
        limit=next((str(each) for each in (former.model.limits if former else ()) if each.component == TOTAL), None),
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


def _held_to(name: str, review: Review) -> dict[str, Any]:
    """Return the fields ``min``, ``max``, ``limit`` and ``failed`` of the row about ``name``."""
    limit, failed = review.limit(name), any(each.component == name for each in review.errors)
    least, most, written = (limit.minimum, limit.maximum, str(limit)) if limit else (None, None, None)
    return {"min": least, "max": most, "limit": written, "failed": failed}


def _list_tensors(expected: Inventory | None, actual: Inventory | None) -> list[report.FoldedTensor]:
    """Return the tensors of the closed form and of the build, also those that only one of the two has."""
    theirs, ours = ({row._replace(owned=0): row for row in side.folded} if side else {} for side in (expected, actual))
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


# layers in which base, closed form and build differ, and parts that do not train


_LAYER = re.compile(r"(?P<stack>.*?)\.(?P<index>[0-9]+)\.(?P<inside>.+)")
_SIDES = ("base", "expected", "actual")


def list_differing_layers(*inventories: Inventory | None) -> Iterator[report.Layer]:
    """Compare base, closed form and build: yield a row for each differing layer, or for alike neighbours."""
    layers: dict[tuple[str, int], dict[str, dict[str, Tensor]]] = {}
    known = {side: inventory for side, inventory in zip(_SIDES, inventories, strict=True) if inventory}
    for side, inventory in known.items():
        for tensor in inventory.tensors:
            if named := _LAYER.fullmatch(tensor.name):
                layer = layers.setdefault((named["stack"], int(named["index"])), {each: {} for each in _SIDES})
                layer[side][named["inside"]] = tensor
    found = {place: row for place in sorted(layers) if (row := _compare_layer(layers[place], [*known]))}
    alike = groupby(enumerate(found), lambda each: (each[1][0], each[1][1] - each[0], found[each[1]]))
    for _, run in alike:  # numbers that follow each other are all as far from their places
        (stack, first), *others = (place for _, place in run)
        name = f"{stack}.{first}{f'-{others[-1][1]}' if others else ''}"
        yield replace(found[stack, first], name=printable(name), times=1 + len(others))


def _compare_layer(sides: Mapping[str, Mapping[str, Tensor]], known: Sequence[str]) -> report.Layer | None:
    """Return how a layer differs between the ``known`` sides; ``None`` if it does not differ."""
    tensors = []
    for name in dict.fromkeys(name for side in known for name in sides[side]):
        found = {side: sides[side].get(name) for side in _SIDES}
        if len({tensor and (tensor.shape, tensor.tied_to) for side, tensor in found.items() if side in known}) > 1:
            shapes = {side: tensor and list(tensor.shape) for side, tensor in found.items()}
            tensors.append(report.LayerTensor(name=printable(name), **shapes))
    counts = {side: sum(each.owned for each in inside.values()) if inside else None for side, inside in sides.items()}
    return report.Layer(name="", times=1, tensors=tensors, **counts) if tensors else None


def describe_frozen(inventory: Inventory) -> list[str]:
    """Return lines such as ``bert.encoder.layer[0:6]: 42,527,232`` for the outermost modules that do not train."""
    if inventory.trainable == inventory.unique:
        return []
    counts = fold_modules(inventory, [tensor.name for tensor in inventory.tensors if not tensor.trainable])
    return [f"{printable(name)}: {number(count)}" for name, count in counts.items() if count]
