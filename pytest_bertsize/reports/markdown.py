"""The report as Markdown, for a pull request's comment and GitHub's step summary.

Inserted text is escaped, so that it changes nothing around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, ModelReport, RunReport, urgent_rows
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


def render_page(report: RunReport) -> str:
    """Return a page of at most :data:`LONGEST` characters: leave out details, then half of the models, and so on."""
    models = [model for model in report.models if not model.is_quiet]
    models.sort(key=lambda model: model.verdict == "passed")
    for most, is_detailed in ((len(models), True), *((len(models) >> halved, False) for halved in range(20))):
        said = [plural(len(models) - most, "model")] if most < len(models) else []
        missing = " and ".join([*said, *([] if is_detailed else ["all details"])])
        cut = f"**Not shown here: {missing}.** The comment is at GitHub's limit; the JSON report has all."
        parts = [
            MARK,
            *_describe_top(report),
            *_describe_overview(models, report),
            *(part for model in models[:most] for part in _describe_model(model, report, is_detailed=is_detailed)),
            *_describe_stand_ins(report),
            cut if missing else "",
            _describe_run(report),
        ]
        page = "\n\n".join(filter(None, parts)) + "\n"
        if len(page) <= LONGEST or not most:
            break
    return page


def _describe_top(report: RunReport) -> Iterator[str]:
    """Describe the run: headline, models not checked or not compared, and removed models."""
    base = report.base
    mark = "❌" if report.failed or not report.complete else "⚠️" if report.not_counted else "✅"
    yield f"## {mark} {text(report.headline)}"
    yield text(report.news)
    if not report.complete:
        yield (
            f"> [!CAUTION]\n> **INCOMPLETE. NOT CHECKED: {_name_models(report.not_checked)}**\n>\n"
            "> A model that was not checked has not passed: it was deselected or not reached, or the run has not ended."
        )
    if base and (base.problem or base.commit is None):
        yield f"> [!WARNING]\n> **Not compared with {code(base.revision)}**: {text(base.problem)}"
    elif base and base.not_compared:
        yield f"**Not compared with {code(base.revision)}**: {_name_models(base.not_compared)}"
    if base and base.removed:
        yield "**No longer declared, and no longer checked:**"
        yield _list(
            f"{'❌ ' if each.failed else ''}{text(sentences.describe_former(each) + sentences.describe_reason(each))}"
            for each in sorted(base.removed, key=lambda each: not each.failed)
        )


def _name_models(names: Sequence[str]) -> str:
    return listed([code(name, _NAME) for name in names], MOST_NAMES)


def _describe_overview(models: Sequence[ModelReport], report: RunReport) -> Iterator[str]:
    """Draw the models with news in one table, failed ones first, and count the others."""
    if len(models) > 1:
        yield _draw_used_columns([_overview_row(model) for model in models[:MOST_MODELS]], left=2)
        yield from sentences.count_rest(len(models), MOST_MODELS, "model")
    if models and (quiet := len(report.models) - len(models)):
        yield f"{plural(quiet, 'more model')} passed without a change."


def _overview_row(model: ModelReport) -> dict[str, str]:
    whole, left = model.total_row, model.room_left
    count, change = (whole.known_count, whole.base_delta) if whole else (None, None)
    return {
        "model": f"{_MARKS[model.verdict]} {text(model.name, _NAME)}",
        "class": text(model.architecture, _NAME),
        "parameters": "not counted" if count is None else exact(count),
        "change": "" if change is None else signed(change),
        "budget": text(model.limited_by),
        "left": "" if left is None else signed(left),
    }


def _describe_stand_ins(report: RunReport) -> Iterator[str]:
    if found := [text(each) for each in sentences.name_stand_ins(report.models)]:
        yield _fold_away("Stand-ins for modules that are not installed", _list(found, MOST_MODELS))


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


def _describe_model(model: ModelReport, report: RunReport, *, is_detailed: bool) -> Iterator[str]:
    """Describe a model: its headline, its findings with their fixes, then its changes, components and details."""
    if not report.only_model:  # else the page's title is its headline
        yield f"### {_MARKS[model.verdict]} {text(model.headline)}"
    yield _describe_subject(model)
    yield _list(
        f"{_MARKS[each.severity]}{text(each.message)}{f' ({code(each.place)})' if each.place else ''}"
        f"{f'<br>→ {text(each.fix)}' if each.fix else ''}"
        for each in model.own_findings
    )
    changes = sentences.compare_with_base(model)
    if changes and (model.is_compared or changes[1:]):
        yield _capitalize(text(changes[0]))
        yield _list(map(text, changes[1:]), sentences.MOST_CHANGES * 2)
    if any(row.known_count is not None for row in model.components):
        yield from _describe_components(model)
    yield _list(map(text, [*sentences.describe_measures(model), *sentences.describe_rest(model)]))
    if model.choices and model.choices.fits:
        yield "**What would fit:**"
        yield _list(f"{text(fit.change)}: {exact(fit.total)} in total" for fit in model.choices.fits)
    if is_detailed:
        yield from _describe_details(model)


def _describe_details(model: ModelReport) -> Iterator[str]:
    if model.choices and model.choices.costs:
        costs = [(text(cost.what), text(cost.change), signed(cost.total)) for cost in model.choices.costs]
        drawn = table(("change", "in the config", "parameters"), costs, left=2)
        yield _fold_away("What the next change would cost", drawn)
    if model.layers:
        layers = [
            (_name_part(each.name, each.times), *map(_show_count, (each.base, each.expected, each.actual)))
            for each in model.layers
        ]
        drawn = table(("layer", "base", "closed form", "actual"), layers[:MOST_LAYERS])
        rest = sentences.count_rest(len(layers), MOST_LAYERS, "layer")
        yield _fold_away("Layers that differ", "\n\n".join([drawn, *rest]))
    formulas = [
        # our formulas as mathematics; any other text as code
        (
            _name_part(row.name),
            f"$`{row.latex}`$" if row.latex else code(row.formula, _TEXT),
            _show_count(row.expected),
        )
        for row in model.components
        if row.formula
    ]
    if formulas:
        drawn = table(("component", "closed form", "parameters"), formulas[:MOST_ROWS], left=2)
        yield _fold_away("Closed form", drawn)


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


def _describe_components(model: ModelReport) -> Iterator[str]:
    """Draw the table of components, folded away if the model passed unchanged, and count the components left out."""
    rows, shown = model.components, urgent_rows(model.chosen_rows, MOST_ROWS)
    has_changed = any(row.base_delta for row in rows)
    drawn = _draw_used_columns([_component_row(row, model, has_changed=has_changed) for row in shown], left=1)
    totals, count, hidden = model.totals, model.parameter_count, len(rows) - len(shown)
    is_off = "off-closed-form" in {each.kind for each in model.findings}  # tensors may differ although counts agree
    deltas = {row.form_delta for row in rows} - {None}
    notes = [
        _capitalize(sentences.describe_embedding(model)),
        "Every component matches its closed form" if deltas == {0} and not is_off else "",
        f"{plural(hidden, 'component is', 'components are')} not shown" if hidden else "",
        "" if totals.stored in {None, count} else f"With ties written out {_show_count(totals.stored)}",
        "" if totals.trainable in {None, count} else f"Trainable {_show_count(totals.trainable)}",
    ]
    note = f"<sub>{'. '.join(filter(None, notes)) or 'Counted in parameters'}.</sub>"
    is_folded = model.verdict == "passed" and not has_changed
    yield _fold_away("Components", f"{drawn}\n\n{note}") if is_folded else f"{drawn}\n\n{note}"


def _component_row(row: Component, model: ModelReport, *, has_changed: bool) -> dict[str, str]:
    left, limit = row.room_left, text(row.limit or "")
    differs = any(each.form_delta for each in model.components)
    is_broken = (left or 0) < 0

    def mark(cell: str, *, is_wrong: bool = True) -> str:
        return f"**{cell}**" if cell and row.failed and is_wrong else cell

    return {
        "component": mark(f"{'❌ ' if row.failed else ''}{_name_part(row.name, row.layers)}"),
        "closed form": _show_count(row.expected) if differs or row.actual is None else "",
        "actual": mark(_show_count(row.actual)),
        "share": sentences.share_of_total(row, model),
        "off formula": signed(row.form_delta) if row.form_delta else "",
        "base": _show_count(row.base) if has_changed else "",
        "change": signed(row.base_delta) if row.base_delta else "",
        "budget": mark(limit, is_wrong=not is_broken),  # the limit is wrong, or the room is
        "left": "" if left is None else mark(signed(left), is_wrong=is_broken),
    }


def _name_part(name: str, times: int = 1) -> str:
    return f"{text(name, 2 * _NAME)}{f' ×{times:,}' if times > 1 else ''}"


def _show_count(count: int | None) -> str:
    return "" if count is None else exact(count)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _draw_used_columns(rows: Sequence[dict[str, str]], left: int) -> str:
    """Draw a table without its empty columns."""
    used = [column for column in rows[0] if any(row[column] for row in rows)]
    return table(used, [[row[column] for column in used] for row in rows], left=left)


def _fold_away(summary: str, content: str) -> str:
    """Fold ``content`` away under ``summary``; GitHub reads Markdown there only between empty lines."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _list(lines: Iterable[str], most: int = MOST_NAMES) -> str:
    return "\n".join(f"- {line}" for line in sentences.list_first([*lines], most, "line"))
