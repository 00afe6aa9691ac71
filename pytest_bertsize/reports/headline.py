"""The headline of a report: what changed, the key that changed it, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.findings import UNCHECKED
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports.sentences import name_change, pick_deepest, short_revision, show_percent
from pytest_bertsize.wording import exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import Base, Component, ModelReport, RunReport

MOST_NAMED = 3  # the most names in a line; further ones are counted
_BEFORE_A_LIMIT = {*UNCHECKED, "read-otherwise", "off-closed-form"}
"""Errors that matter more than an exceeded limit."""


def describe_model(model: ModelReport, verdict: str, failure: str) -> str:
    """Return ``encoder: 109,514,298 → 116,602,170, +7,087,872 (+6.5%), num_hidden_layers 12 → 13; over its 110M``.

    :param verdict: the review's own line, used for a failed model without a base.
    :param failure: the model's worst error, without the model's name and without a fix.
    """
    count, base = model.parameter_count, model.base
    if count is None or has_way_out(model):
        return verdict
    size = f"{exact(count)} parameters" if base is None else _describe_change(base, count, model)
    whose = "its" if model.counted_by == "lock" else "the"
    not_built = "" if model.built else f"{',' if base else ''} by {whose} {model.counted_by}, not built"
    if model.verdict == "passed":
        judged = _describe_pass(model)
    elif model.total_row is None or names_error(model):
        judged = failure
    else:
        rest = sum(finding.severity == "error" for finding in model.findings) - 1
        more = f"; {plural(rest, 'more finding')}" if rest > 0 else ""
        judged = f"{_name_side(model.total_row)} its {_name_limit(model.total_row)}{_describe_debt(model, TOTAL)}{more}"
    return f"{model.name}: {size}{not_built}; {judged}"


def has_way_out(model: ModelReport) -> bool:
    """Return whether a model failed and its headline is the review's own line, which includes the fix."""
    return model.verdict == "failed" and (model.base is None or model.parameter_count is None)


def names_error(model: ModelReport) -> bool:
    """Return whether the headline of a failed model has the worst error in full, not only the limit of the total."""
    whole, errors = model.total_row, {finding.kind for finding in model.findings if finding.severity == "error"}
    is_within = whole is None or (whole.room_left or 0) >= 0
    return has_way_out(model) or is_within or bool(_BEFORE_A_LIMIT & errors)


def _describe_change(base: Base, count: int, model: ModelReport) -> str:
    now, revision = f"{exact(count)} parameters", short_revision(base.revision, base.commit)
    if base.total is None:
        unread = base.said[0] if base.config is None and base.said else f"not compared with {revision}"
        return f"{now}, {'new' if base.is_new else unread}"
    delta, cause = count - base.total, _find_cause(base, model)
    if delta:
        percent = f" ({show_percent(delta, base.total)})" if base.total else ""
        parts = [f"{exact(base.total)} → {exact(count)}", f"{signed(delta)}{percent}", cause]
    else:
        renamed = f"renamed: the table at {revision} calls it {base.former_name}" if base.former_name else ""
        parts = [now, f"as {'many as ' if cause else ''}at {revision}", cause or renamed]
    return ", ".join(filter(None, parts))


def _find_cause(base: Base, model: ModelReport) -> str:
    """Name the changed key with the largest effect, else the largest change of tensors, else of a component."""
    moved = {row.name: row.base_delta for row in model.components if row.base_delta}
    lowest = pick_deepest(name for name in moved if name not in {TOTAL, TRAINABLE})
    for causes in (
        [(row.total, name_change(row)) for row in base.changes if row.key != "together"],
        [(row.count, f"{row.kind} {row.name}") for row in base.tensors],
        [(moved[name], f"{name} {signed(moved[name])}") for name in lowest],
    ):
        if causes:
            rest = f" and {exact(len(causes) - 1)} more" if causes[1:] else ""
            return f"{max(causes, key=lambda cause: abs(cause[0]))[1]}{rest}"
    return ""


def _name_side(row: Component) -> str:
    return "under" if row.min is not None and (row.known_count or 0) < row.min else "over"


def _name_limit(row: Component) -> str:
    """Return the limit as its author wrote it, without the leading ``=`` or ``≥`` that a table shows."""
    return (row.limit or "").lstrip("=≥")


def _describe_debt(model: ModelReport, component: str) -> str:
    """Describe by how much the base already exceeded a component's limit; ``""`` if it did not."""
    found = next((each for each in model.findings if each.component == component and each.base is not None), None)
    if found is None or found.base is None or found.limit is None or model.base is None:
        return ""
    return f", already {exact(found.base - found.limit)} over at {model.base.revision}"


def _describe_pass(model: ModelReport) -> str:
    """Describe a passed model: it is within its budget, or over a limit that the base already exceeded."""
    held, whole = "within its budget", model.total_row
    if passing := [each.component for each in model.findings if each.kind == "over-budget" and each.component]:
        component = TOTAL if TOTAL in passing else passing[0]
        broken = _name_limit(whole) if whole and component == TOTAL else f"limit of {component}"
        held = f"over its {broken}{_describe_debt(model, component)}"
    elif model.report_only:
        held = "compared with no limit"
    elif whole and whole.limit:
        how = "exactly" if whole.min == whole.max else "above" if whole.max is None else "within"
        held = f"{how} its {_name_limit(whole)}"
    held = held if model.closed_form else f"{held}, not compared with a closed form"
    return "; ".join(filter(None, [held, _describe_loosening(model)]))


def _describe_loosening(model: ModelReport) -> str:
    """Name the components whose limits are looser than at the base; ``""`` if there are none."""
    found = [each.component for each in model.findings if each.kind == "budget-loosened"]
    if None in found:
        return "its budget is loosened here"
    return f"loosened here: {listed([str(each) for each in found], MOST_NAMED)}" if found else ""


# the run


def describe_run(report: RunReport) -> str:
    """Return ``2 of 5 models failed: cls, lora (worst: cls, 967K over 37.5M)``; for only one model its headline."""
    base, configured = report.base, exact(report.configured)
    if only := report.only_model:
        return "; ".join([only.headline, *([f"not compared with {base.revision}"] if base and base.problem else [])])
    said = []
    if not report.complete:
        left_out = len(report.not_checked)
        which = f"{exact(left_out)} of {configured} models {'was' if left_out == 1 else 'were'} not checked"
        said.append(f"INCOMPLETE: {which if left_out else 'this run did not finish'}")
    if failed := [model for model in report.models if model.verdict == "failed"]:
        worst = max(failed, key=lambda model: -_find_room(model))
        why = f"{f'worst: {worst.name}, ' if failed[1:] else ''}{_describe_worst(worst)}"
        named = listed([model.name for model in failed], MOST_NAMED)
        said.append(f"{exact(len(failed))} of {configured} models failed: {named} ({why})")
    if base and (left := base.left_unexplained):
        said.append(f"{plural(len(left), 'model')} left the table without a reason: {listed(left, MOST_NAMED)}")
    uncounted = report.not_counted
    if report.complete and not report.failed and report.models:
        passed = f"{exact(len(report.models) - len(uncounted))} of" if uncounted else "All"
        said.append(f"{passed} {configured} models passed")
    if uncounted:
        said.append(f"{exact(len(uncounted))} not counted: {listed(uncounted, MOST_NAMED)}")
    return "; ".join(said) or "No model was checked"


def describe_news(report: RunReport) -> str:
    """Return the line below a headline on several models: count of changes, missing comparisons, the largest change."""
    if report.only_model:
        return ""
    base, changed = report.base, [model for model in report.models if model.is_compared and not model.is_unchanged]
    found = [*_describe_changes(report)]
    if without := sum(not model.closed_form for model in report.models):
        found.append(f"{exact(without)} not compared with a closed form")
    if base and base.problem:
        found.append(f"not compared with {base.revision}")
    if report.mode == "no-build":
        by = {each.counted_by for each in report.models if each.parameter_count is not None} - {"build"}
        found.append(f"by the {' or the '.join(sorted(by)) or 'closed form'}: nothing was built")
    if changed:
        return "; ".join([*found, max(changed, key=lambda model: abs(model.base_delta)).headline])
    loosened = [f"{model.name}: {said}" for model in report.models if (said := _describe_loosening(model))]
    return "; ".join([*found, *loosened])


def _find_room(model: ModelReport) -> int:
    """Return the total's ``room_left`` if it is negative, else the least ``room_left`` of any row; 0 without limits."""
    whole = model.total_row
    rows = [whole] if whole and (whole.room_left or 0) < 0 else model.components
    return min((row.room_left for row in rows if row.room_left is not None), default=0)


def _describe_worst(model: ModelReport) -> str:
    """Return ``967K over 37.5M`` or ``head 2.5K over 1K``, else the kind of an error, as on the page of findings."""
    room = _find_room(model)
    row = next((row for row in reversed(model.components) if row.room_left == room), None)
    errors = [each.kind for each in model.findings if each.severity == "error"]
    before = [kind for kind in errors if kind in _BEFORE_A_LIMIT]
    if row is None or room >= 0 or before:
        return next(iter([*before, *errors]), "not counted")
    name = "" if row.name == TOTAL else f"{row.name} "
    return f"{name}{compact_left(room).removeprefix('-')} {_name_side(row)} {_name_limit(row)}"


def _describe_changes(report: RunReport) -> Iterator[str]:
    """Yield phrases such as ``2 changed``, ``1 new``, ``1 removed``, or ``none changed since main``."""
    models, base = report.models, report.base
    if base is None or base.problem:
        return
    compared = [model for model in models if model.is_compared]
    if moved := [model for model in compared if not model.is_unchanged]:
        yield f"{exact(len(moved))} changed"  # a sum over models with a common config means nothing
    elif compared:
        is_counted = all(model.parameter_count is not None for model in models)
        yield f"{'none changed' if is_counted else f'{exact(len(compared))} unchanged'} since {base.revision}"
    absent = [model.name for model in models if model.base and model.base.config is None]
    counts = {
        "new": len([name for name in absent if name not in base.not_compared]),
        "removed": len(base.removed) - len(base.left_unexplained),
        f"not compared with {base.revision}": len(base.not_compared),
    }
    yield from (f"{exact(count)} {said}" for said, count in counts.items() if count)


def has_news(report: RunReport) -> bool:
    """Return whether a reviewer must read on: a model failed, changed, or was not checked, counted or compared."""
    base = report.base
    if report.failed or not report.complete or report.not_counted:
        return True
    return base is not None and bool(base.problem or base.removed or not all(each.is_quiet for each in report.models))
