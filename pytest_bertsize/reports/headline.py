"""The one line that a report begins with, and a terminal ends with: what changed, what did it, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.findings import UNCHECKED
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.rows import changed, changed_by, differs, percent, room, total, unique
from pytest_bertsize.wording import exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import Base, Component, ModelReport, RunBase, RunReport

MOST_NAMED = 3
"""Models that a line names, before the rest is counted."""
NOT_BUILT = "by the closed form, not built"
_LOOSENED = "budget-loosened"
_TOLD = {_LOOSENED, "differs-from-lock"}
"""Notes of which a reviewer has to hear of a model that is as it was."""
_BEFORE_A_LIMIT = {*UNCHECKED, "read-otherwise"}
"""Errors that say more than a limit that does not hold."""


# one model


def of_model(model: ModelReport, verdict: str) -> str:
    """``encoder: 109,514,298 → 116,602,170, +7,087,872 (+6.5 %), num_hidden_layers 12 → 13; over its 110M``.

    :param verdict: the review's line, which begins with the name and says what fails the model.
    """
    count, base = unique(model), model["base"]
    if count is None or (base is None and model["verdict"] == "failed"):
        return verdict
    size = f"{exact(count)} parameters" if base is None else _since(base, count, model)
    not_built = "" if model["built"] else f" {NOT_BUILT}" if base is None else f", {NOT_BUILT}"
    return f"{model['name']}: {size}{not_built}; {_verdict(model, verdict)}"


def _since(base: Base, count: int, model: ModelReport) -> str:
    """Its size, what became of it since the base, and what did that."""
    now = f"{exact(count)} parameters"
    if base["total"] is None:
        why = f"not compared with {_revision(base)}"
        return f"{now}, {base['said'][0].partition(':')[0] if base['config'] is None and base['said'] else why}"
    delta, cause = count - base["total"], _cause(base, model)
    if delta:
        parts = [
            f"{exact(base['total'])} → {exact(count)}",
            f"{signed(delta)}{_in_percent(delta, base['total'])}",
            cause,
        ]
    else:
        parts = [now, f"as {'many as ' if cause else ''}at {_revision(base)}", cause or _former_name(base)]
    return ", ".join(filter(None, parts))


def _former_name(base: Base) -> str:
    """``renamed: the table at main calls it ranker``; ``""`` where it is called the same there."""
    return next((said for said in base["said"] if said.startswith("renamed: ")), "")


def _in_percent(delta: int, before: int) -> str:
    return f" ({percent(delta, before)})" if before else ""


def _revision(base: Base) -> str:
    return sentences.named(base["revision"], base["commit"]).partition(" (")[0]


def _cause(base: Base, model: ModelReport) -> str:
    """The key that moved most, else what became of the largest tensors, else the component that changed most."""
    changes = (row for row in base["changes"] if row["key"] != "together")
    if keys := sorted(changes, key=lambda row: -abs(row["total"])):
        return f"{sentences.what_changed(keys[0])}{_and_more(keys[1:])}"
    if tensors := sorted(base["tensors"], key=lambda row: -abs(row["count"])):
        return f"{tensors[0]['said'].partition(': ')[0]}{_and_more(tensors[1:])}"
    moved = {row["name"]: changed_by(row) or 0 for row in model["components"] if changed(row)}
    for whole in (TOTAL, TRAINABLE):
        moved.pop(whole, None)
    lowest = sorted(sentences.deepest(moved), key=lambda name: -abs(moved[name]))
    return f"{lowest[0]} {signed(moved[lowest[0]])}{_and_more(lowest[1:])}" if lowest else ""


def _and_more(rest: Sequence[object]) -> str:
    return f" and {exact(len(rest))} more" if rest else ""


def _verdict(model: ModelReport, verdict: str) -> str:
    whole = total(model)
    if model["verdict"] == "passed":
        return _within(model, whole)
    errors = [finding["kind"] for finding in model["findings"] if finding["severity"] == "error"]
    if whole is None or (room(whole) or 0) >= 0 or _BEFORE_A_LIMIT & {*errors}:
        return _without_ways_out(verdict.removeprefix(f"{model['name']}: "), model)
    more = f"; {plural(len(errors) - 1, 'more finding')}" if errors[1:] else ""
    below = whole["min"] is not None and (unique(model) or 0) < whole["min"]
    return f"{'under' if below else 'over'} its {_limit(whole)}{_already(model)}{more}"


def _already(model: ModelReport, component: str = TOTAL) -> str:
    """What the finding of a component says of the base, where the limit was broken there."""
    messages = [each["message"] for each in model["findings"] if each["component"] == component]
    said = next((message.rpartition("; already ")[2] for message in messages if "; already " in message), "")
    return f", already {said.partition(', and this change')[0]}" if said else ""


def _without_ways_out(verdict: str, model: ModelReport) -> str:
    """What is wrong alone: behind what changed, what to write instead would be too much for a line."""
    for fix in filter(None, (finding["fix"] for finding in model["findings"])):
        verdict = verdict.replace(f"; {fix}", "", 1)
    return verdict


def _within(model: ModelReport, whole: Component | None) -> str:
    """Of a model that passed, what it is held to, or which limit it broke at the base already."""
    held = "within its budget"
    let_pass = [each["component"] for each in model["findings"] if each["kind"] == "over-budget" and each["component"]]
    if let_pass:
        component = TOTAL if TOTAL in let_pass else let_pass[0]
        broken = _limit(whole) if whole and component == TOTAL else f"limit of {component}"
        held = f"over its {broken}{_already(model, component)}"
    elif model["report_only"]:
        held = "held to no limit"
    elif whole and whole["limit"]:
        how = "exactly" if whole["min"] == whole["max"] else "above" if whole["max"] is None else "within"
        held = f"{how} its {_limit(whole)}"
    held = held if model["closed_form"] else f"{held}, not compared with a closed form"
    return "; ".join(filter(None, [held, _loosened(model)]))


def _loosened(model: ModelReport) -> str:
    """Which limits let more pass than at the base, for a reason that the table gives."""
    found = [each["component"] for each in model["findings"] if each["kind"] == _LOOSENED]
    named = [name for name in found if name]
    if not found:
        return ""
    return f"loosened here: {listed(named, MOST_NAMED)}" if len(named) == len(found) else "its budget is loosened here"


def _limit(row: Component) -> str:
    """As its author wrote it, without the sign that a table puts before it."""
    return (row["limit"] or "").lstrip("=≥")


# the run


def of_run(report: RunReport) -> str:
    """One model's own line where there is no other; of several how many failed and changed, the net, and the worst."""
    models, base = report["models"], report["base"]
    missing = [f"not compared with {base['revision']}"] if base and base["problem"] else []
    if only := alone(report):
        return "; ".join([only["headline"], *missing])
    named = [*_named(models)]
    if report["mode"] == "no-build" and not any(NOT_BUILT in each for each in named):
        missing += ["by the closed form: nothing was built"]
    return "; ".join([*_incomplete(report), *_verdicts(report), *_changes(report), *missing, *named])


def alone(report: RunReport) -> ModelReport | None:
    """The model of a run that has no other; ``None`` where there is more to say than its own line."""
    models = report["models"]
    of_one = report["complete"] and report["configured"] == len(models) == 1 and not left_out(report["base"])
    return models[0] if of_one else None


def left_out(base: RunBase | None) -> list[str]:
    """Models that left the table with a limit and without a reason."""
    return [removed["name"] for removed in base["removed"] if removed["failed"]] if base else []


def _incomplete(report: RunReport) -> Iterator[str]:
    configured, missing = report["configured"], len(report["not_checked"])
    if not report["complete"]:
        which = f"{exact(missing)} of {exact(configured)} models {'was' if missing == 1 else 'were'} not checked"
        yield f"INCOMPLETE: {which if missing else 'this run did not finish'}"


def _verdicts(report: RunReport) -> Iterator[str]:
    models, left = report["models"], left_out(report["base"])
    if failed := report["failed"] - len(left):
        yield f"{exact(failed)} of {exact(report['configured'])} models failed"
    if left:
        yield f"{plural(len(left), 'model')} left the table without a reason: {listed(left, MOST_NAMED)}"
    if report["complete"] and not report["failed"]:
        yield f"All {exact(report['configured'])} models passed" if models else "No model was checked"
    if without := sum(not model["closed_form"] for model in models):
        yield f"{exact(without)} not compared with a closed form"


def _changes(report: RunReport) -> Iterator[str]:
    """What became of the models that both sides have, and which only one has."""
    models, base = report["models"], report["base"]
    if base is None or base["problem"]:
        counts = [count for model in models if (count := unique(model)) is not None]
        if counts and report["complete"] and base is None:
            yield f"{exact(sum(counts))} parameters"
        return
    compared = [model for model in models if _is_compared(model)]
    if moved := [model for model in compared if not unchanged(model)]:
        net = sum(delta_of(model) for model in compared)
        before = sum((unique(model) or 0) - delta_of(model) for model in compared)
        told = moved == [_most_urgent(models)]  # what its own line says is not said twice
        beside = "" if told else f", net {signed(net)}{_in_percent(net, before) if net else ''}"
        yield f"{exact(len(moved))} changed{beside}"
    elif compared and any(unique(model) is None for model in models):
        yield f"{exact(len(compared))} as at {base['revision']}"
    elif compared:
        yield f"none changed against {base['revision']}"
    absent = (model["name"] for model in models if model["base"] and model["base"]["config"] is None)
    if new := [name for name in absent if name not in base["not_compared"]]:
        yield f"{exact(len(new))} new"
    if removed := len(base["removed"]) - len(left_out(base)):
        yield f"{exact(removed)} removed"
    if base["not_compared"]:
        yield f"{exact(len(base['not_compared']))} not compared with {base['revision']}"


def _named(models: Sequence[ModelReport]) -> Iterator[str]:
    """The line of the model that is read first; and who changed more."""
    if named := _most_urgent(models):
        yield named["headline"]
        largest = max(models, key=lambda model: abs(delta_of(model)))
        if abs(delta_of(largest)) > abs(delta_of(named)):
            yield f"the most changed is {largest['name']}, {signed(delta_of(largest))}"


def _most_urgent(models: Sequence[ModelReport]) -> ModelReport | None:
    """That which failed and changed most, else that which changed most, else one with another limit or name."""
    by_change = sorted(models, key=lambda model: -abs(delta_of(model)))
    failed = [model for model in by_change if model["verdict"] == "failed"]
    others = [model for model in by_change if delta_of(model)]
    others += [model for model in models if _loosened(model)]
    others += [model for model in models if _is_compared(model) and not unchanged(model)]
    return next(iter([*failed, *others]), None)


# what has to be told


def delta_of(model: ModelReport) -> int:
    """Parameters that came since the base; 0 where nothing is compared."""
    count, base = unique(model), model["base"]
    return 0 if count is None or base is None or base["total"] is None else count - base["total"]


def _is_compared(model: ModelReport) -> bool:
    """Whether it was counted, here and at the base."""
    return unique(model) is not None and model["base"] is not None and model["base"]["total"] is not None


def unchanged(model: ModelReport) -> bool:
    """Whether it was compared with the base, and neither a key nor a count nor a tensor is another one."""
    return _is_compared(model) and not sentences.differs(model) and not any(map(changed, model["components"]))


def is_quiet(model: ModelReport) -> bool:
    """Whether a reviewer has nothing to read of it: it passed, it is as it was, and nothing warns of it."""
    told = any(each["severity"] != "note" or each["kind"] in _TOLD for each in model["findings"])
    told = told or any(map(differs, model["components"]))
    return model["verdict"] == "passed" and unchanged(model) and not told


def is_changed(report: RunReport) -> bool:
    """Whether there is anything to tell: a failure, what was not checked or compared, what is not as at the base."""
    base = report["base"]
    if report["failed"] or not report["complete"]:
        return True
    return base is not None and bool(base["problem"] or base["removed"] or not all(map(is_quiet, report["models"])))
