"""Sentences and numbers that all views share: changes since the base, shapes that would fit, costs of next changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.attribution import NO_ENTRY
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import percent_used
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.reports import report as r

NOTHING = "\N{EN DASH}"  # the sign for a missing number
SHORT = 10  # the characters of a shortened commit hash
MOST_PARTS = 3  # the most components that are named for one changed key; further ones are counted
MOST_FROZEN = 6  # the most frozen parts that are named; further ones are counted
MOST_CHANGES = 40  # the most changes of keys, and the most changes of tensors, that are shown for a model


# numbers


def show_difference(delta: int | None) -> str:
    """Return ``'+768'``, ``'='`` for 0, or a dash if nothing is compared."""
    return NOTHING if delta is None else signed(delta) if delta else "="


def show_percent(change: int, before: int) -> str:
    """Return ``'+6.5%'`` for a change of 7,087,872 from 109,514,298; ``'<0.1%'`` if it rounds to 0."""
    share = _in_tenths(change, before)
    return f"{share:+,}%" if share else "<0.1%"


def show_share(part: int | None, whole: int | None) -> str:
    """Return the share of the whole: ``'21.8%'``, ``'<0.1%'`` or ``'0%'``; ``''`` if a number is unknown."""
    if part is None or not whole:
        return ""
    tenths = 100 if part == whole else _in_tenths(part, whole)
    return f"{tenths}%" if tenths else "<0.1%" if part else "0%"


def _in_tenths(part: int, whole: int) -> Decimal:
    return (Decimal(100 * part) / whole).quantize(Decimal("0.1"), ROUND_HALF_UP)


def share_of_total(row: r.Component, model: r.ModelReport) -> str:
    return show_share(row.known_count, model.total_row.known_count if model.total_row else None)


def list_first(lines: Sequence[str], most: int, what: str) -> list[str]:
    """Return the first lines, and a line that counts the others."""
    return [*lines[:most], *count_rest(len(lines), most, what)]


def count_rest(count: int, most: int, what: str) -> list[str]:
    """Return ``2 more findings in the JSON report`` if a view shows fewer than there are, else nothing."""
    return [f"{plural(count - most, f'more {what}')} in the JSON report"] if count > most else []


# comparison with the base


def compare_with_base(model: r.ModelReport) -> list[str]:
    """Return ``against main (1a2b3c4d5e): 102,290,312 → 109,378,184 (+7,087,872)``, then a line for each change."""
    base, now = model.base, model.parameter_count
    if base is None:
        return []
    head = f"against {name_revision(base.revision, base.commit)}"
    if base.total is not None and now is not None:
        beside = f"; {also}" if (also := name_changed_measures(model.measures)) else ""
        came = f"; {exact(base.grown)} added, {exact(base.shrunk)} removed" if base.grown and base.shrunk else ""
        moved = f"{exact(base.total)} → {exact(now)} ({signed(now - base.total)}{came})"
        head += " by its lock" if base.by == "lock" else ""
        head += f": {moved if base.grown or base.shrunk else 'no count changed'}{beside}"
    costs = list_first([describe_change(row) for row in base.changes], MOST_CHANGES, "change")
    return [head, *list_changes(base), *costs, *([f"({base.method})"] if base.method else [])]


def list_changes(base: r.Base) -> list[str]:
    """List the changes of the model and of its tensors, but not the changed keys."""
    return [*base.said, *list_first([each.said for each in base.tensors], MOST_CHANGES, "change")]


def name_changed_measures(measures: Sequence[r.Measure]) -> str:
    """Return ``bytes +28,351,488 (float32), FLOPs +1,862,270,976 (128 tokens)``; ``""`` if none changed."""
    return ", ".join(
        f"{'FLOPs' if row.name == 'flops' else row.name} {signed(row.base_delta)} ({row.what.partition(', ')[0]})"
        for row in measures
        if row.base_delta
    )


def short_revision(revision: str, commit: str | None) -> str:
    """Return the revision as requested, but shorten a commit's hash."""
    return revision[:SHORT] if commit and commit.startswith(revision) else revision


def name_revision(revision: str, commit: str | None) -> str:
    """Return the revision with its commit: ``origin/main (1a2b3c4d5e)``."""
    if commit and not commit.startswith(revision):
        return f"{revision} ({commit[:SHORT]})"
    return short_revision(revision, commit)


def is_of_work_tree(report: r.RunReport) -> bool:
    """Return whether the base is the checked-out commit, so that every difference is uncommitted."""
    return bool(report.base and report.base.commit and report.base.commit == report.commit)


def describe_change(row: r.Change | Moved) -> str:
    """Return ``num_hidden_layers 12 → 13: +7,087,872``, followed by the components that changed."""
    lowest = pick_deepest(row.components)
    where = f" in {lowest[0]}" if len(lowest) == 1 and row.total else f" ({name_moved(row.components, MOST_PARTS)})"
    return f"{name_change(row)}: {signed(row.total)}{where if lowest else ''}"


def name_moved(components: Mapping[str, int], most: int) -> str:
    """Return ``encoder.attention +4,727,808, …``: the changed components without children, largest change first."""
    largest = sorted(pick_deepest(components), key=lambda name: -abs(components[name]))
    return listed([f"{name} {signed(components[name])}" for name in largest], most)


def name_change(row: r.Change | Moved) -> str:
    """Return ``num_hidden_layers 12 → 13``, or ``frozen now has bert.embeddings``; text is not quoted."""
    if row.key == "code":
        return "the code, or a file that it reads"
    if row.key == "together":
        return "these keys together, beyond each of them alone"
    before, after = (exact(int(each)) if each.isdecimal() else each.strip('"') for each in (row.before, row.after))
    if NO_ENTRY in (before, after):
        return f"{row.key} {f'now has {after}' if before == NO_ENTRY else f'no longer has {before}'}"
    return f"{row.key} {before} → {after}"


def pick_deepest(components: Iterable[str]) -> list[str]:
    """Return the components without children."""
    names = [*components]
    parents = {name.rpartition(".")[0] for name in names}
    return [name for name in names if name not in parents]


# removed models, and stand-ins


def name_stand_ins(models: Iterable[r.ModelReport]) -> list[str]:
    """Return lines such as ``encoder, tagger: not installed and not used: wandb``; equal findings share a line."""
    names: dict[str, list[str]] = {}
    for model in models:
        for finding in model.findings:
            if finding.kind == "stood-in":
                names.setdefault(finding.message, []).append(model.name)
    return [f"{listed(those, MOST_NAMED)}: {message}" for message, those in names.items()]


def list_removed(base: r.RunBase, *, failed: bool) -> Iterator[str]:
    """Yield a line for each removed model that fails the run, or, if ``failed`` is false, for each that does not."""
    lost = ", and this table does not" if failed else ""
    for model in base.removed:
        if model.failed is failed:
            yield f"removed: {base.revision} declares {describe_former(model)}{lost}{describe_reason(model)}"


def describe_former(model: r.Removed) -> str:
    """Return ``encoder (encoder.json, 102,290,312 parameters under a limit of 103M)``, as far as this is known."""
    if model.problem:
        return f"{model.name} (its table there cannot be read: {model.problem})"
    count = "" if model.total is None else f"{exact(model.total)} parameters"
    what = ", ".join(filter(None, (model.config, count)))
    said = " ".join(filter(None, (what, f"under a limit of {model.limit}" if model.limit else "")))
    return f"{model.name} ({said})" if said else model.name


def describe_reason(model: r.Removed) -> str:
    """Return ``; its reason: ADR-14``, or the line that the table needs: ``[tool.bertsize.removed] encoder = "…"``."""
    if not model.failed:
        return f"; its reason: {model.reason}" if model.reason else ""
    name = model.name if re.fullmatch(r"[\w-]+", model.name, re.ASCII) else f'"{model.name}"'
    return f'; if you meant to remove it, give the reason in the same change: [tool.bertsize.removed] {name} = "…"'


# lines next to the table


def describe_choices(choices: r.Choices) -> Iterator[str]:
    """Yield ``would fit: num_hidden_layers 13 → 12 (109,514,298)`` ``the next change: one more layer +7,087,872``."""
    if choices.fits:
        yield f"would fit: {'; or '.join(f'{fit.change} ({exact(fit.total)})' for fit in choices.fits)}"
    if choices.costs:
        yield f"the next change: {', '.join(f'{cost.what} {signed(cost.total)}' for cost in choices.costs)}"


def describe_measures(model: r.ModelReport) -> Iterator[str]:
    """Yield ``bytes 219,028,596 (float16, ties once), limit 440MB: 50% of it``, for views whose table has no bytes."""
    for row in model.limited_measures:
        count = row.known_count or 0
        used = f": {percent_used(count, row.max)} of it" if row.max is not None else ""
        off = f"; {signed(row.form_delta)} off its closed form" if row.form_delta else ""
        yield f"{row.name} {exact(count)} ({row.what}), limit {row.limit}{used}{off}"
        if text := describe_parts(row):
            yield f"{row.name} by component: {text}"


def describe_parts(row: r.Measure) -> str:
    """Return the FLOPs by component: ``encoder.attention 7,549,747,200 (34%), …``; ``""`` for bytes."""
    whole = row.known_count or 0
    shares = {name: 100 * row.components[name] // whole if whole else 0 for name in pick_deepest(row.components)}
    return ", ".join(f"{name} {exact(row.components[name])} ({of or '<1'}%)" for name, of in shares.items())


def describe_embedding(model: r.ModelReport) -> str:
    """Return ``embedding 23,837,184 (21.8%), non-embedding 85,677,114 (78.2%), of it the head 622,650 (0.6%)``.

    Scaling laws divide models like this (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). ``""`` without embeddings.
    """
    counts = {row.name: row.known_count or 0 for row in model.components}
    whole = counts.get(TOTAL)
    embedded, head = (_sum_of_every(part, counts) for part in ("embeddings", "head"))
    if not whole or not embedded:
        return ""
    said = {"embedding": embedded, "non-embedding": whole - embedded, **({"of it the head": head} if head else {})}
    return ", ".join(f"{name} {exact(count)} ({show_share(count, whole)})" for name, count in said.items())


def _sum_of_every(part: str, counts: Mapping[str, int]) -> int:
    """Add up the components whose names end in ``part``, but none that is inside another of them."""
    found = [name for name in counts if name.rpartition(".")[2] == part]
    return sum(counts[name] for name in found if not any(name.startswith(f"{outer}.") for outer in found))


def describe_rest(model: r.ModelReport) -> Iterator[str]:
    """Yield a line on the trainable share if a part is frozen, and a line on the checkpoint."""
    totals, row = model.totals, model.checkpoint
    trainable, actual = totals.trainable, model.parameter_count
    if trainable is not None and actual and trainable != actual:
        frozen = f"; frozen: {listed(model.frozen, MOST_FROZEN)}" if model.frozen else ""
        yield f"{exact(trainable)} of {exact(actual)} parameters train ({show_share(trainable, actual)}){frozen}"
    if row:
        yield f"{row.file} holds {exact(row.numbers)} numbers in {exact(row.tensors)} tensors, {exact(row.bytes)} bytes"


def describe_run(report: r.RunReport) -> str:
    """Return ``3 configured, 3 checked, 0 failed``, with omitted comparisons and the age of earlier builds."""
    builds = report.mode == "full"
    alone = sum(not model.closed_form if builds else model.counted_by == "lock" for model in report.models)
    held = "without a closed form, compared with the budget alone" if builds else "counted by the lock"
    without = f"; {alone} {held}" if alone else ""
    ages = [model.seconds_ago for model in report.models if model.seconds_ago is not None]
    which = "" if len(ages) == len(report.models) else f"{len(ages):,} "
    before = ""
    if ages:  # in the largest unit of which it has at least one
        units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
        unit, length = next((each for each in units if max(ages) >= each[1]), units[-1])
        before = f"; {which}built before, {plural(max(ages) // length, unit)} ago"
    return f"{count_run(report)}{without}{before}{'' if builds else '; not compared with a build'}"


def count_run(report: r.RunReport) -> str:
    removed = len(report.base.left_unexplained) if report.base else 0
    counts = {"configured": report.configured, "checked": report.checked, "failed": report.failed - removed}
    others = {"not counted": len(report.not_counted), "removed without a reason": removed}
    counts |= {said: number for said, number in others.items() if number}
    return ", ".join(f"{number:,} {said}" for said, number in counts.items())
