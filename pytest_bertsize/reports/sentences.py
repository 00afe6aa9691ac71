"""The sentences, and the cells of tables, that text, Markdown and page share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.attribution import NO_ENTRY
from pytest_bertsize.differences import write_shape
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import compact_left, percent_used
from pytest_bertsize.table.limits import unit_of
from pytest_bertsize.table.toml import key
from pytest_bertsize.wording import MOST_NAMED, exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.reports import report as r

NOTHING = "\N{EN DASH}"  # the sign for a missing number
SHORT = 10  # the characters of a shortened commit hash
MOST_PARTS = 3  # the most components that are named for one changed key; further ones are counted
MOST_FROZEN = 6  # the most frozen parts that are named; further ones are counted
MOST_CHANGES = 40  # the most changes of keys, and the most changes of tensors, that are shown for a model
MARKS = {"passed": "✓", "failed": "✗", "uncounted": "!", "error": "✗", "warning": "!", "note": "-"}


# numbers


def show_difference(delta: int | None) -> str:
    """Return ``'+768'``, ``'='`` for 0, or ``''`` if nothing is compared."""
    return "" if delta is None else signed(delta) if delta else "="


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


def show_count(count: int | None) -> str:
    return "" if count is None else exact(count)


def show_times(layers: int) -> str:
    """Return ``' ×12'`` for identical layers, and ``''`` for one."""
    return f" ×{exact(layers)}" if layers > 1 else ""


def list_first(lines: Sequence[str], most: int, what: str) -> list[str]:
    """Return the first lines, and a line that counts the others."""
    return [*lines[:most], *count_rest(len(lines), most, what)]


def count_rest(count: int, most: int, what: str) -> list[str]:
    """Return ``2 more findings in the JSON report`` if a view shows fewer than there are, else nothing."""
    return [f"{plural(count - most, f'more {what}')} in the JSON report"] if count > most else []


# tables: each row has the text of each column, and a column without text is left out


def list_used(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the columns that have a text in any of the rows."""
    return [column for column in (rows[0] if rows else ()) if any(row[column] for row in rows)]


def show_model(model: r.ModelReport) -> dict[str, str]:
    """Return the cells of a model in the overview of a run, apart from its mark and name."""
    whole, left = model.total_row, model.room_left
    return {
        "architecture": model.architecture,
        "parameters": exact(whole.known_count or 0) if whole else "not counted",
        "vs base": show_difference(whole.base_delta) if whole else "",
        "budget": model.limited_by if whole or model.report_only else "",
        "left": "" if left is None else compact_left(left),
    }


def list_parts(model: r.ModelReport, most: int, *, is_full: bool) -> Iterator[tuple[r.Row, str, int, r.Row | None]]:
    """Yield the rows of components, then of limited measures, each with its name in the table, its depth and its whole.

    The name of a component below its parent is the last word, with the number of layers.
    """
    rows = model.list_rows(most, is_full=is_full)
    names = {row.name for row in rows}
    for row in rows:
        parent, _, last = row.name.rpartition(".")
        name, depth = (last, row.name.count(".")) if parent in names else (row.name, 0)
        yield row, f"{name}{show_times(row.layers)}", depth, model.total_row
    yield from ((row, row.name, 0, None) for row in model.limited_measures)


def show_row(row: r.Row, whole: r.Row | None, *, is_full: bool = False) -> dict[str, str]:
    """Return the cells of a component or measure; only without a build, or if ``is_full``, one has the closed form."""
    left, count = row.room_left, row.known_count
    return {
        "closed form": show_count(row.expected) if is_full or row.actual is None else "",
        "actual": show_count(row.actual),
        "share": show_share(count, whole.known_count) if whole else "",
        "vs formula": show_difference(row.form_delta),
        "vs base": show_difference(row.base_delta),
        "budget": row.limit or "",
        "left": "" if left is None else compact_left(left, unit_of(row.name)),
        "used": "" if row.max is None else percent_used(count or 0, row.max),
    }


def find_wrong(row: r.Row) -> set[str]:
    """Return the columns in which a row is wrong; a limit is wrong if the row fails although it is within the limit."""
    is_over, is_off = (row.room_left or 0) < 0, bool(row.form_delta)
    raised = row.failed and not (is_over or is_off)
    wrong = {"component": row.failed, "vs formula": is_off, "budget": raised, "left": is_over, "used": is_over}
    return {column for column, is_wrong in wrong.items() if is_wrong}


def show_layers(model: r.ModelReport) -> Iterator[dict[str, str]]:
    """Yield the cells of each layer that differs, and below it those of its tensors that differ."""
    columns = {"base": "base", "closed form": "expected", "actual": "actual"}
    sides = {column: side for column, side in columns.items() if any(getattr(each, side) for each in model.components)}
    for layer in model.layers:
        times = f"{show_times(layer.times)}, each" if layer.times > 1 else ""
        counts = {column: getattr(layer, side) for column, side in sides.items()}
        yield {"layer": f"{layer.name}{times}", **{each: show_count(count) or "none" for each, count in counts.items()}}
        for tensor in layer.tensors:
            shapes = {column: getattr(tensor, side) for column, side in sides.items()}
            written = {each: "none" if shape is None else write_shape(tuple(shape)) for each, shape in shapes.items()}
            yield {"layer": f"… {tensor.name}", **written}


def describe_table(model: r.ModelReport, *, is_full: bool = True) -> Iterator[str]:
    """Yield the sentences below a table; if ``is_full``, also embeddings, and totals with tensors counted twice."""
    totals, count, stored = model.totals, model.parameter_count, model.checkpoint
    if is_full:
        yield from _describe_embedding(model)
        if totals.stored not in {None, count}:
            yield f"with ties written out {show_count(totals.stored)}"
        if totals.unrolled not in {None, totals.stored} and count == totals.expected:
            yield f"with shared layers unrolled {show_count(totals.unrolled)}"
    for row in model.limited_measures:
        parts = [(name, row.components[name]) for name in pick_deepest(row.components)]
        shares = ", ".join(f"{name} {exact(part)} ({show_share(part, row.known_count)})" for name, part in parts)
        yield f"{row.name}: {row.what}{f'; {shares}' if shares else ''}"
    trainable = totals.trainable
    if trainable is not None and count and trainable != count:
        frozen = f"; frozen: {listed(model.frozen, MOST_FROZEN)}" if model.frozen else ""
        yield f"{exact(trainable)} of {exact(count)} parameters train ({show_share(trainable, count)}){frozen}"
    if stored:
        held = f"{exact(stored.numbers)} numbers in {plural(stored.tensors, 'tensor')}"
        yield f"{stored.file} holds {held}, {exact(stored.bytes)} bytes"
    if not model.built and count is not None:
        yield f"not built: the {model.counted_by} gives these counts"


def _describe_embedding(model: r.ModelReport) -> Iterator[str]:
    """Yield ``embedding 23,837,184 (21.8%), non-embedding 85,677,114 (78.2%), of it the head 622,650 (0.6%)``.

    Scaling laws divide models like this (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). Nothing if it has none.
    """
    counts = {row.name: row.known_count or 0 for row in model.components}

    def add_up(part: str) -> int:
        """Add up the components whose names end in ``part``, but none that is inside another of them."""
        found = [name for name in counts if name.rpartition(".")[2] == part]
        return sum(counts[name] for name in found if not any(name.startswith(f"{outer}.") for outer in found))

    whole, embedded, head = counts.get(TOTAL, 0), add_up("embeddings"), add_up("head")
    if whole and embedded:
        said = {"embedding": embedded, "non-embedding": whole - embedded, **({"of it the head": head} if head else {})}
        yield ", ".join(f"{name} {exact(count)} ({show_share(count, whole)})" for name, count in said.items())


# one model


def describe_subject(model: r.ModelReport) -> str:
    """Return the class, the config and its sizes, and name the comparisons that are missing."""
    said = [
        ", ".join(filter(None, (model.architecture or model.family, model.config))),
        ", ".join(f"{symbol} = {exact(size)}" for symbol, size in model.symbols.items()),
        "report-only: compared with no limit" if model.report_only else "",
        "" if model.closed_form else "compared with its budget alone, not with a closed form",
    ]
    return "; ".join(filter(None, said))


def describe_choices(choices: r.Choices | None) -> dict[str, list[str]]:
    """Return the sizes that would fit, and the costs of usual next changes, below their titles."""
    if choices is None:
        return {}
    fits = [f"{fit.change} ({exact(fit.total)})" for fit in choices.fits]
    costs = [f"{cost.what} ({cost.change}) {signed(cost.total)}" for cost in choices.costs]
    return {title: lines for title, lines in {"would fit": fits, "the next change": costs}.items() if lines}


def compare_with_base(model: r.ModelReport) -> list[str]:
    """Return ``against main: 102,290,312 → 109,378,184 (+7,087,872)``, and a line for each change."""
    base, now = model.base, model.parameter_count
    if base is None or model.is_unchanged:
        return []
    head = f"against {name_revision(base.revision, base.commit)}"
    if base.total is not None and now is not None:
        measures = [
            f"{'FLOPs' if row.name == 'flops' else row.name} {signed(row.base_delta)} ({row.what.partition(', ')[0]})"
            for row in model.measures
            if row.base_delta
        ]
        beside = f"; {', '.join(measures)}" if measures else ""
        came = f"; {exact(base.grown)} added, {exact(base.shrunk)} removed" if base.grown and base.shrunk else ""
        moved = f"{exact(base.total)} → {exact(now)} ({signed(now - base.total)}{came})"
        head += " by its lock" if base.by == "lock" else ""
        head += f": {moved if base.grown or base.shrunk else 'no count changed'}{beside}"
    tensors = list_first([each.said for each in base.tensors], MOST_CHANGES, "change")
    costs = list_first([describe_change(row) for row in base.changes], MOST_CHANGES, "change")
    lines = [*base.said, *tensors, *costs, *([f"({base.method})"] if base.method else [])]
    return [head, *lines] if lines or model.base_delta is not None else []


def short_revision(revision: str, commit: str | None) -> str:
    """Return the revision as requested, but shorten a commit's hash."""
    return revision[:SHORT] if commit and commit.startswith(revision) else revision


def name_revision(revision: str, commit: str | None) -> str:
    """Return the revision with its commit: ``origin/main (1a2b3c4d5e)``."""
    if commit and not commit.startswith(revision):
        return f"{revision} ({commit[:SHORT]})"
    return short_revision(revision, commit)


def describe_change(row: r.Change | Moved) -> str:
    """Return ``num_hidden_layers 12 → 13: +7,087,872``, followed by the components that changed, the largest first."""
    lowest = sorted(pick_deepest(row.components), key=lambda name: -abs(row.components[name]))
    if len(lowest) == 1 and row.total:
        where = f" in {lowest[0]}"
    else:
        moved = listed([f"{name} {signed(row.components[name])}" for name in lowest], MOST_PARTS)
        where = f" ({moved})" if moved else ""
    return f"{name_change(row)}: {signed(row.total)}{where}"


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


# the run


def name_stand_ins(models: Iterable[r.ModelReport]) -> list[str]:
    """Return lines such as ``encoder, tagger: not installed and not used: wandb``; equal findings share a line."""
    names: dict[str, list[str]] = {}
    for model in models:
        for finding in model.findings:
            if finding.kind == "stood-in":
                names.setdefault(finding.message, []).append(model.name)
    return [f"{listed(those, MOST_NAMED)}: {message}" for message, those in names.items()]


def list_problems(base: r.RunBase | None) -> Iterator[tuple[str, str]]:
    """Yield each problem with the base, after its severity: no comparison, and models that only the base declares."""
    if base is None:
        return
    for model in sorted(base.removed, key=lambda each: not each.failed):
        count = "" if model.total is None else f"{exact(model.total)} parameters"
        limit = f"under a limit of {model.limit}" if model.limit else ""
        known = " ".join(filter(None, (", ".join(filter(None, (model.config, count))), limit)))
        known = f"its table there cannot be read: {model.problem}" if model.problem else known
        said = f"removed: {base.revision} declares {model.name}{f' ({known})' if known else ''}"
        if model.failed:
            how = "if you meant to remove it, give the reason in the same change"
            line = f'[tool.bertsize.removed] {key(model.name)} = "…"'
            yield "error", f"{said}, and this table does not; {how}: {line}"
        else:
            yield "note", f"{said}{f'; its reason: {model.reason}' if model.reason else ''}"
    if missing := base.problem or listed(base.not_compared, MOST_NAMED):
        yield "warning", f"not compared with {base.revision}: {missing}"


def describe_unchecked(report: r.RunReport) -> str:
    """Name the models that were not checked; ``""`` if every model was."""
    named = listed(report.not_checked, MOST_NAMED) or "this run did not finish"
    return "" if report.complete else f"NOT CHECKED: {named}; this report does not cover every model, so it is no pass"


def describe_run(report: r.RunReport) -> str:
    """Return ``3 configured, 3 checked, 0 failed``, with omitted comparisons and the age of earlier builds."""
    removed = len(report.base.left_unexplained) if report.base else 0
    counts = {"configured": report.configured, "checked": report.checked, "failed": report.failed - removed}
    others = {"not counted": len(report.not_counted), "removed without a reason": removed}
    counts |= {said: number for said, number in others.items() if number}
    said = [", ".join(f"{number:,} {said}" for said, number in counts.items())]
    builds = report.mode == "full"
    held = "without a closed form, compared with the budget alone" if builds else "counted by the lock"
    if alone := sum(not model.closed_form if builds else model.counted_by == "lock" for model in report.models):
        said.append(f"{alone} {held}")
    if ages := [model.seconds_ago for model in report.models if model.seconds_ago is not None]:
        which = "" if len(ages) == len(report.models) else f"{len(ages):,} "
        units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
        unit, length = next((each for each in units if max(ages) >= each[1]), units[-1])
        said.append(f"{which}built before, {plural(max(ages) // length, unit)} ago")
    return "; ".join(said if builds else [*said, "not compared with a build"])


def describe_sources(report: r.RunReport) -> str:
    """Return the base, the libraries and the commit: ``compared with main (1a2b3c4d5e); transformers 5.23.0, …``."""
    base, commit = report.base, report.commit
    versions = ", ".join(f"{name.replace('_', ' ')} {version}" for name, version in report.versions.items())
    at = "work tree on " if base and base.commit and base.commit == commit else ""  # every difference is uncommitted
    compared = f"compared with {name_revision(base.revision, base.commit)}" if base and base.commit else ""
    return "; ".join(filter(None, (compared, versions, f"{at}commit {commit}" if commit else "")))
