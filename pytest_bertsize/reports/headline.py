"""The headline of a report: what changed, the key that changed it, and the verdict."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from pytest_bertsize.findings import describe_limit
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.reports.sentences import name_change, pick_deepest, short_revision, show_percent
from pytest_bertsize.wording import exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunReport

MOST_NAMED = 3  # the most names in a line; further ones are counted


def describe_model(model: ModelReport, failure: str) -> str:
    """Return ``encoder: 109,514,298 → 116,602,170, +7,087,872 (+6.5%), num_hidden_layers 12 → 13; within its 120M``."""
    judged = _describe_pass(model) if model.verdict == "passed" else failure
    count, base = model.parameter_count, model.base
    if count is None or (base is None and model.verdict != "passed"):
        return f"{model.name}: {judged}"
    parts = [f"{exact(count)} parameters"]
    revision = short_revision(base.revision, base.commit) if base else ""
    if base and base.total is None:
        unread = base.said[0] if base.config is None and base.said else f"not compared with {revision}"
        parts.append("new" if base.is_new else unread)
    elif base and (delta := model.base_delta):
        percent = f" ({show_percent(delta, base.total)})" if base.total else ""
        parts = [f"{exact(base.total or 0)} → {exact(count)}", f"{signed(delta)}{percent}", _find_cause(model)]
    elif base:
        cause = _find_cause(model)
        renamed = f"renamed: the table at {revision} calls it {base.former_name}" if base.former_name else ""
        parts += [f"as {'many as ' if cause else ''}at {revision}", cause or renamed]
    size, whose = ", ".join(filter(None, parts)), "its" if model.counted_by == "lock" else "the"
    not_built = "" if model.built else f"{',' if base else ''} by {whose} {model.counted_by}, not built"
    return f"{model.name}: {size}{not_built}; {judged}"


def _find_cause(model: ModelReport) -> str:
    """Name the changed key with the largest effect, else the largest change of tensors, else of a component."""
    moved = {row.name: row.base_delta for row in model.components if row.base_delta}
    lowest = pick_deepest(name for name in moved if name not in {TOTAL, TRAINABLE})
    base = model.base
    for causes in (
        [(row.total, name_change(row)) for row in (base.changes if base else ()) if row.key != "together"],
        [(row.count, f"{row.kind} {row.name}") for row in (base.tensors if base else ())],
        [(moved[name], f"{name} {signed(moved[name])}") for name in lowest],
    ):
        if causes:
            rest = f" and {exact(len(causes) - 1)} more" if causes[1:] else ""
            return f"{max(causes, key=lambda cause: abs(cause[0]))[1]}{rest}"
    return ""


def _describe_pass(model: ModelReport) -> str:
    """Describe a passed model: it is within its budget, or over a limit that the base already exceeded."""
    whole = model.total_row
    over = next((each for each in model.findings if each.kind == "over-budget"), None)
    if over and model.base:
        debt = exact((over.base or 0) - (over.limit or 0))
        held = f"over its limit of {over.component}, already {debt} over at {model.base.revision}"
    elif model.report_only:
        held = "compared with no limit"
    elif whole and whole.limit:
        how = "exactly" if whole.min == whole.max else "above" if whole.max is None else "within"
        held = f"{how} its {whole.limit.lstrip('=≥')}"  # a table shows the sign
    else:
        held = "within its budget"
    held = held if model.closed_form else f"{held}, not compared with a closed form"
    return "; ".join(filter(None, [held, _describe_loosening(model)]))


def _describe_loosening(model: ModelReport) -> str:
    """Name the components whose limits are looser than at the base; ``""`` if there are none."""
    found = [each.component or "its budget" for each in model.findings if each.kind == "budget-loosened"]
    return f"loosened here: {listed(found, MOST_NAMED)}" if found else ""


# the run


def describe_run(report: RunReport) -> str:
    """Return ``2 of 5 models failed: cls, lora; worst: cls, head 9, limit 8 (+1)``; for only one model its headline."""
    base, configured = report.base, exact(report.configured)
    if only := report.only_model:
        return "; ".join([only.headline, *([f"not compared with {base.revision}"] if base and base.problem else [])])
    said = []
    if not report.complete:
        left_out = len(report.not_checked)
        which = f"{exact(left_out)} of {configured} models {'was' if left_out == 1 else 'were'} not checked"
        said.append(f"INCOMPLETE: {which if left_out else 'this run did not finish'}")
    if failed := [model for model in report.models if model.verdict == "failed"]:
        (_, why), worst = max(((_describe_worst(model), model.name) for model in failed), key=lambda each: each[0][0])
        named = listed([model.name for model in failed], MOST_NAMED)
        said.append(f"{exact(len(failed))} of {configured} models failed: {named}")
        said.append(f"worst: {worst}, {why}" if failed[1:] else why)
    if base and (left := base.left_unexplained):
        said.append(f"{plural(len(left), 'model')} left the table without a reason: {listed(left, MOST_NAMED)}")
    uncounted = report.not_counted
    if report.complete and not report.failed and report.models:
        passed = f"{exact(len(report.models) - len(uncounted))} of" if uncounted else "All"
        said.append(f"{passed} {configured} models passed")
    if uncounted:
        said.append(f"{exact(len(uncounted))} not counted: {listed(uncounted, MOST_NAMED)}")
    return "; ".join(said) or "No model was checked"


def _describe_worst(model: ModelReport) -> tuple[float, str]:
    """Return the excess and ``total 116,602,170, limit 110,000,000 (+6,602,170)``, else the kind of another error."""
    worst = next((each for each in model.findings if each.in_headline), None)
    if worst is None or worst.actual is None or worst.limit is None:
        return inf, worst.kind if worst else "not counted"
    return abs(worst.actual - worst.limit), describe_limit(worst.component, worst.actual, worst.limit)


def describe_news(report: RunReport) -> str:
    """Return the line below a headline on several models: count of changes, missing comparisons, the largest change."""
    if report.only_model:
        return ""
    models, base, found = report.models, report.base, []
    compared = [model for model in models if model.base_delta is not None]
    changed = [model for model in compared if not model.is_unchanged]
    if base and not base.problem:
        is_counted = all(model.parameter_count is not None for model in models)
        if compared and not changed:
            said = "none changed" if is_counted else f"{exact(len(compared))} unchanged"
            found.append(f"{said} since {base.revision}")
        counts = {
            "changed": len(changed),  # a sum over models with a common config means nothing
            "new": len({each.name for each in models if each.base and each.base.config is None} - {*base.not_compared}),
            "removed": len(base.removed) - len(base.left_unexplained),
            f"not compared with {base.revision}": len(base.not_compared),
        }
        found += [f"{exact(count)} {said}" for said, count in counts.items() if count]
    if without := sum(not model.closed_form for model in models):
        found.append(f"{exact(without)} not compared with a closed form")
    if base and base.problem:
        found.append(f"not compared with {base.revision}")
    if report.mode == "no-build":
        by = {each.counted_by for each in models if each.parameter_count is not None} - {"build"}
        found.append(f"by the {' or the '.join(sorted(by)) or 'closed form'}: nothing was built")
    if changed:
        return "; ".join([*found, max(changed, key=lambda model: abs(model.base_delta or 0)).headline])
    loosened = [f"{model.name}: {said}" for model in models if (said := _describe_loosening(model))]
    return "; ".join([*found, *loosened])


def has_news(report: RunReport) -> bool:
    """Return whether a reviewer must read on: a model failed, changed, or was not checked, counted or compared."""
    base = report.base
    if report.failed or not report.complete or report.not_counted:
        return True
    return base is not None and bool(base.problem or base.removed or not all(each.is_quiet for each in report.models))
