"""The report as Markdown, for a pull request's comment and GitHub's step summary.

Each part of a page is shown whole or not at all. Inserted text is escaped, so that it changes nothing around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, Layer, ModelReport, RunReport, urgent_rows
from pytest_bertsize.wording import exact, listed, plural, printable, signed

MARK = "<!-- pytest-bertsize report -->"
"""The first line of a page, by which it is recognised as a report of pytest-bertsize."""
LONGEST = 60_000  # the most characters of a page; GitHub refuses comments of more than 65,536
MOST_NAMES = 20  # the most names in a sentence, removed models in a list, and findings shown for a model
MOST_MODELS = 100  # the most models in the overview, and the most lines on stand-ins for modules that are not installed
MOST_ROWS = 60  # the most components in a table, including the total and the components that fail
MOST_LAYERS = 30
_NAME = 60  # the most characters of a name in the overview, and in a list of names
_TEXT = 1_000  # the most characters of an inserted text
_FOR_WHAT_IS_MISSING = 400  # the characters kept free for the sentence that counts the parts that are not shown
_MARKS = {"error": "❌ ", "warning": "⚠️ ", "note": "", "passed": "✅", "failed": "❌", "uncounted": "⚠️"}
"""Marks of findings and verdicts: emoji, because GitHub shows no other colours in Markdown."""
_PUNCTUATION = re.compile(r"[\\`*{}\[\]<>|~&^]|(?<![^\W_])_|_(?![^\W_])")
_NOTHING = "<!-- -->"
"""An invisible comment that keeps GitHub from making a mention, reference, link or emoji of a text."""
_DOLLAR = "<span>$</span>"  # a dollar sign in the form in which GitHub does not read it as the start of a formula
_JOINED = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=:)(?=[\w+-]+:)|(?<=\bGH-)(?=\d)", re.IGNORECASE
)
_PLAIN_CODE = re.compile(r"[^`|$\\\s](?:[^`|$\\]*[^`|$\\\s])?")


# pieces of GitHub's Markdown


def text(foreign: str, longest: int = _TEXT) -> str:
    """Escape a text: one line, without Markdown, HTML, mentions, references, addresses and emoji."""
    parts = _JOINED.split(printable(foreign, longest))
    return _NOTHING.join(_PUNCTUATION.sub(r"\\\g<0>", part) for part in parts).replace("$", _DOLLAR)


def code(foreign: str, longest: int = 200) -> str:
    """Write a path, a key or a value as code, so that it breaks no cell of a table."""
    shown = printable(foreign, longest)
    return f"`{shown}`" if _PLAIN_CODE.fullmatch(shown) else f"<code>{text(shown)}</code>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Write a table; its cells are already Markdown.

    :param left: the number of columns with words, at the left; the others have numbers.
    """
    aligned = [":--"] * left + ["--:"] * (len(columns) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, aligned, *rows))


# the page


class Part(Struct):
    """A paragraph, a list or a table."""

    text: str
    is_detail: bool = False
    """True if the report is clear without this part."""
    fits: bool = False


def render_page(report: RunReport) -> str:
    """Return a page of at most :data:`LONGEST` characters; leave out whole parts: details first, then later models."""
    models = sorted(report.models, key=lambda model: model.verdict == "passed")
    told = [model for model in models if not model.is_quiet]
    top = "\n\n".join([MARK, *_describe_top(report)])
    foot = _describe_run(report)
    after_title = 1 if report.only_model else 0  # the title is its headline
    described = [_describe_model(each)[after_title:] for each in told]
    stand_ins = [text(each) for each in sentences.name_stand_ins(report.models)]
    folded = _fold_away("Stand-ins for modules that are not installed", _list_lines(stand_ins, MOST_MODELS, "more are"))
    others = [_describe_overview(told, len(models) - len(told)), [folded] if stand_ins else []]
    sections = [section for section in (others[0], *described, others[1]) if section]
    _choose_parts(sections, LONGEST - len(top) - len(foot) - _FOR_WHAT_IS_MISSING)
    shown = [part.text for section in sections for part in section if part.fits]
    begun = [*others, *(section for section in described if section[0].fits)]
    parts, rest = sum(not part.fits for part in chain(*begun)), sum(not section[0].fits for section in described)
    what = [plural(rest, "model")] if rest else []
    what += [plural(parts, "table or list", "tables and lists")] if parts else []
    said = (
        f"**Not shown here: {' and '.join(what)}.** The comment is at GitHub's limit; the JSON report has everything."
    )
    return "\n\n".join([top, *shown, *([said] if what else []), foot]) + "\n"


def _choose_parts(sections: Sequence[Sequence[Part]], room: int) -> None:
    """Mark the parts that fit in ``room`` characters, details last; if a main part does not fit, begin no new model."""
    is_full = False
    for is_detail in (False, True):
        for section in sections:
            first = section[0]
            is_begun = first.fits or first.is_detail if is_detail else not is_full
            for part in section if is_begun else ():
                if part.is_detail is is_detail and (part is first or first.fits or first.is_detail):
                    needed = len(part.text) + len("\n\n")
                    part.fits = needed <= room
                    room -= needed if part.fits else 0
                    is_full = is_full or not (part.fits or is_detail)


def _describe_top(report: RunReport) -> Iterator[str]:
    """Describe the run: headline, models not checked or not compared, and removed models."""
    base = report.base
    mark = "❌" if report.failed or not report.complete else "⚠️" if report.not_counted else "✅"
    yield f"## {mark} {text(report.headline)}"
    if report.news:
        yield text(report.news)
    if not report.complete:
        yield (
            f"> [!CAUTION]\n> **INCOMPLETE. NOT CHECKED: {_name_models(report.not_checked)}**\n>\n"
            "> A model that was not checked has not passed: it was deselected or not reached, or the run has not ended."
        )
    if base and (base.problem or base.commit is None):
        yield f"> [!WARNING]\n> **Not compared with {code(base.revision)}**: {text(base.problem)}"
    elif base:
        if base.not_compared:
            yield f"**Not compared with {code(base.revision)}**: {_name_models(base.not_compared)}"
        if base.removed:
            yield "**No longer declared, and no longer checked:**"
            failed_first = sorted(base.removed, key=lambda each: not each.failed)
            said = (f"{sentences.describe_former(each)}{sentences.describe_reason(each)}" for each in failed_first)
            marks = ("❌ " if each.failed else "" for each in failed_first)
            removed = [f"{mark}{text(each)}" for mark, each in zip(marks, said, strict=True)]
            yield _list_lines(removed, MOST_NAMES, "more are")


def _name_models(names: Sequence[str]) -> str:
    return listed([code(name, _NAME) for name in names], MOST_NAMES)


def _describe_overview(models: Sequence[ModelReport], quiet: int) -> list[Part]:
    """Draw the models with news in one table, failed ones first, and count the others.

    :param quiet: the number of passed models without a change.
    """
    parts = []
    if len(models) > 1:
        parts.append(_draw_used_columns([_overview_row(model) for model in models[:MOST_MODELS]], left=2))
    if models[MOST_MODELS:]:
        parts.append(f"({exact(len(models) - MOST_MODELS)} more models are not in this table)")
    if models and quiet:
        parts.append(f"{plural(quiet, 'more model')} passed without a change.")
    return [*map(Part, parts)]


def _overview_row(model: ModelReport) -> dict[str, str]:
    whole = model.total_row
    count, change = (whole.known_count, whole.base_delta) if whole else (None, None)
    left = model.room_left
    return {
        "model": f"{_MARKS[model.verdict]} {text(model.name, _NAME)}",
        "class": text(model.architecture, _NAME),
        "parameters": "not counted" if count is None else exact(count),
        "change": "" if change is None else signed(change),
        "budget": text(model.limited_by),
        "left": "" if left is None else signed(left),
    }


def _describe_run(report: RunReport) -> str:
    """Describe the counted models, the base, and the libraries."""
    base, at = report.base, "work tree on " if sentences.is_of_work_tree(report) else ""
    build = "" if report.mode == "full" else "; not compared with a build"
    compared = f" Compared with {code(base.revision)} ({code(base.commit[:12])})." if base and base.commit else ""
    names = {"pytest_bertsize": "pytest-bertsize", "python": "Python"}
    versions = ", ".join(
        f"{text(names.get(name, name.replace('_', ' ')), _NAME)} {text(version, _NAME)}"
        for name, version in report.versions.items()
    )
    commit = f"; {at}commit {code(report.commit)}" if report.commit else ""
    return f"<sub>Model size: {sentences.count_run(report)}{build}.{compared} {versions}{commit}</sub>"


# one model


def _describe_model(model: ModelReport) -> list[Part]:
    """Describe a model: its headline, its findings with their fixes, then its changes."""
    choices, changes = model.choices, sentences.compare_with_base(model)
    parts = [Part(f"### {_MARKS[model.verdict]} {text(model.headline)}"), Part(_describe_subject(model))]
    findings = []
    for finding in model.own_findings:
        place = f" ({code(finding.place)})" if finding.place else ""
        fix = f"<br>→ {text(finding.fix)}" if finding.fix else ""
        findings.append(f"{_MARKS[finding.severity]}{text(finding.message)}{place}{fix}")
    if findings:
        parts.append(Part(_list_lines(findings, MOST_NAMES, "more findings are")))
    if changes and (model.is_compared or changes[1:]):
        lines = "".join(f"\n- {text(line)}" for line in changes[1:])
        parts.append(Part(f"{_capitalize(text(changes[0]))}{chr(10) if lines else ''}{lines}"))
    if any(row.known_count is not None for row in model.components):
        parts += _describe_components(model)
    if beside := [*sentences.describe_measures(model), *sentences.describe_rest(model)]:
        parts.append(Part("\n".join(f"- {text(sentence)}" for sentence in beside)))
    if choices and choices.fits:
        fits = (f"- {text(fit.change)}: {exact(fit.total)} in total" for fit in choices.fits)
        parts.append(Part("\n".join(["**What would fit:**", "", *fits])))
    if choices and choices.costs:
        costs = [(text(cost.what), text(cost.change), signed(cost.total)) for cost in choices.costs]
        drawn = table(("change", "in the config", "parameters"), costs, left=2)
        parts.append(_fold_away("What the next change would cost", drawn))
    if model.layers:
        rows = [
            (_name_part(each, each.times), *map(_show_count, (each.base, each.expected, each.actual)))
            for each in model.layers
        ]
        rest = len(rows) - MOST_LAYERS
        more = f"\n\n{exact(rest)} more are in the JSON report" if rest > 0 else ""
        drawn = table(("layer", "base", "closed form", "actual"), rows[:MOST_LAYERS])
        parts.append(_fold_away("Layers that differ", f"{drawn}{more}"))
    formulas = [
        # our formulas as mathematics; any other text as code
        (_name_part(row), f"$`{row.latex}`$" if row.latex else code(row.formula, _TEXT), _show_count(row.expected))
        for row in model.components
        if row.formula
    ]
    if formulas:
        drawn = table(("component", "closed form", "parameters"), formulas[:MOST_ROWS], left=2)
        parts.append(_fold_away("Closed form", drawn))
    return parts


def _describe_subject(model: ModelReport) -> str:
    """Describe the model, and name the comparisons that are missing."""
    said = [
        ", ".join(code(each) for each in (model.architecture, model.config) if each),
        ", ".join(f"{text(symbol)} = {exact(size)}" for symbol, size in model.symbols.items()),
        "**report-only: compared with no limit**" if model.report_only else "",
        "" if model.built or model.parameter_count is None else f"**not built: counts are the {model.counted_by}'s**",
        "" if model.closed_form else "**compared with its budget alone, not with a closed form**",
    ]
    return "; ".join(filter(None, said))


def _describe_components(model: ModelReport) -> list[Part]:
    """Draw the table of components, folded away if the model passed unchanged, and count the components left out."""
    rows, shown = model.components, urgent_rows(model.chosen_rows, MOST_ROWS)
    has_changed = any(row.base_delta for row in rows)
    drawn = _draw_used_columns([_component_row(row, model, has_changed=has_changed) for row in shown], left=1)
    totals, count = model.totals, model.parameter_count
    is_off = "off-closed-form" in {each.kind for each in model.findings}  # tensors may differ although counts agree
    deltas = [row.form_delta for row in rows if row.form_delta is not None]
    is_alike, hidden = bool(deltas) and not any(deltas) and not is_off, len(rows) - len(shown)
    notes = [
        _capitalize(sentences.describe_embedding(model)),
        "Every component matches its closed form" if is_alike else "",
        f"{plural(hidden, 'component is', 'components are')} not shown" if hidden else "",
        "" if totals.stored in {None, count} else f"With ties written out {_show_count(totals.stored)}",
        "" if totals.trainable in {None, count} else f"Trainable {_show_count(totals.trainable)}",
    ]
    note = f"<sub>{'. '.join(filter(None, notes)) or 'Counted in parameters'}.</sub>"
    if model.verdict == "passed" and not has_changed:
        return [replace(_fold_away("Components", f"{drawn}\n\n{note}"), is_detail=False)]
    return [Part(drawn), Part(note)]


def _component_row(row: Component, model: ModelReport, *, has_changed: bool) -> dict[str, str]:
    left = row.room_left
    differs = any(each.form_delta for each in model.components)
    bold: Callable[[str], str] = (lambda cell: f"**{cell}**" if cell else "") if row.failed else str
    limit, is_broken = text(row.limit or ""), (left or 0) < 0
    return {
        "component": bold(f"{'❌ ' if row.failed else ''}{_name_part(row, row.layers)}"),
        "closed form": _show_count(row.expected) if differs or row.actual is None else "",
        "actual": bold(_show_count(row.actual)),
        "share": sentences.share_of_total(row, model),
        "off formula": signed(row.form_delta) if row.form_delta else "",
        "base": _show_count(row.base) if has_changed else "",
        "change": signed(row.base_delta) if row.base_delta else "",
        "budget": limit if is_broken else bold(limit),  # bold if the limit is wrong, not the room
        "left": "" if left is None else bold(signed(left)) if is_broken else signed(left),
    }


def _name_part(part: Component | Layer, times: int = 1) -> str:
    return f"{text(part.name, 2 * _NAME)}{f' ×{times:,}' if times > 1 else ''}"


def _show_count(count: int | None) -> str:
    return "" if count is None else exact(count)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _draw_used_columns(rows: Sequence[dict[str, str]], left: int) -> str:
    """Draw a table without its empty columns."""
    used = [column for column in rows[0] if any(row[column] for row in rows)]
    return table(used, [[row[column] for column in used] for row in rows], left=left)


def _fold_away(summary: str, content: str) -> Part:
    """Fold ``content`` away under ``summary``; GitHub reads Markdown there only between empty lines."""
    folded = f"<details><summary>{escape(summary, quote=False)}</summary>\n\n{content}\n\n</details>"
    return Part(folded, is_detail=True)


def _list_lines(lines: Sequence[str], most: int, rest: str) -> str:
    more = [f"- {exact(len(lines) - most)} {rest} in the JSON report"] if lines[most:] else []
    return "\n".join([*(f"- {line}" for line in lines[:most]), *more])
