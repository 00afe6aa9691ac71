"""The report as Markdown, for a comment and GitHub's step summary; inserted text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.report import Component, ModelReport, Row, RunReport
from pytest_bertsize.wording import plural, printable

MARK = "<!-- pytest-bertsize report -->"  # the first line of a page, by which a report of ours is recognised
LONGEST = 60_000  # the most characters of a page; GitHub refuses comments of more than 65,536
MOST_LINES = 20  # the most lines of a list, such as the findings of a model
MOST_MODELS = 100  # the most models in the overview
MOST_ROWS = 60  # the most rows of another table; the total and the components that fail are among them
_NAME = 60  # the most characters of a name in a table
_TEXT = 1_000  # the most characters of an inserted text
_EMOJI = {"✓": "✅", "✗": "❌", "!": "⚠️"}  # emoji for marks, because GitHub shows no other colours in Markdown
_PUNCTUATION = re.compile(r"[\\`*{}\[\]<>|~&^]|(?<![^\W_])_|_(?![^\W_])")
_NOTHING = "<!-- -->"  # keeps GitHub from making a mention, reference, link or emoji of a text
_DOLLAR = "<span>$</span>"  # a dollar sign in the form in which GitHub does not read it as the start of a formula
_JOINED = re.compile(r"(?i)(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=:)(?=[\w+-]+:)|(?<=\bGH-)(?=\d)")
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
    """Write a table whose cells are Markdown, with ``left`` columns of words at the left; the others have numbers."""
    aligned = [":--"] * left + ["--:"] * (len(columns) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, aligned, *rows))


def _draw_used(rows: Sequence[Mapping[str, str]], most: int, what: str, *, left: int = 1) -> str:
    """Draw a table without its empty columns, and count the rows that it leaves out."""
    used = sentences.list_used(rows)
    drawn = table([each.strip() for each in used], [[row[each] for each in used] for row in rows[:most]], left=left)
    return "\n\n".join([drawn, *sentences.count_rest(len(rows), most, what)])


def _escape(cells: Mapping[str, str]) -> dict[str, str]:
    return {column: text(cell, _NAME) for column, cell in cells.items()}


def _fold_away(summary: str, content: str) -> str:
    """Fold ``content`` away under ``summary``; GitHub reads Markdown there only between empty lines."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _list(lines: Iterable[str], most: int = MOST_LINES) -> str:
    return "\n".join(f"- {line}" for line in sentences.list_first([*lines], most, "line"))


def _mark(kind: str) -> str:
    """Return the emoji of a verdict or of a finding's severity."""
    return _EMOJI.get(sentences.MARKS[kind], "")


# the page


def render_page(report: RunReport) -> str:
    """Return a page of at most :data:`LONGEST` characters: leave out details, then half of the models, and so on."""
    models = sorted((each for each in report.models if not each.is_quiet), key=lambda each: each.verdict == "passed")
    for most, is_detailed in ((len(models), True), *((len(models) >> halved, False) for halved in range(20))):
        said = [plural(len(models) - most, "model")] if most < len(models) else []
        missing = " and ".join([*said, *([] if is_detailed else ["all details"])])
        cut = f"**Not shown here: {missing}.** The comment is at GitHub's limit; the JSON report has all."
        parts = [
            MARK,
            *_describe_top(report),
            *_describe_overview(models, report),
            *(part for model in models[:most] for part in _describe_model(model, report, is_detailed=is_detailed)),
            cut if missing else "",
            f"<sub>{text(sentences.describe_run(report))}; {text(sentences.describe_sources(report))}</sub>",
        ]
        page = "\n\n".join(filter(None, parts)) + "\n"
        if len(page) <= LONGEST or not most:
            break
    return page


def _describe_top(report: RunReport) -> Iterator[str]:
    """Describe the run: headline, models not checked, not compared or removed, and stand-ins."""
    mark = "failed" if report.failed or not report.complete else "uncounted" if report.not_counted else "passed"
    yield f"## {_mark(mark)} {text(report.headline)}"
    yield text(report.news)
    if unchecked := sentences.describe_unchecked(report):
        yield f"> [!CAUTION]\n> **{text(unchecked)}**"
    yield _list(f"{_mark(severity)} {text(said)}".strip() for severity, said in sentences.list_problems(report.base))
    if stand_ins := [*map(text, sentences.name_stand_ins(report.models))]:
        yield _fold_away("Stand-ins for modules that are not installed", _list(stand_ins, MOST_MODELS))


def _describe_overview(models: Sequence[ModelReport], report: RunReport) -> Iterator[str]:
    """Draw the models with news in one table, failed ones first, and count the others."""
    if len(models) > 1:
        named = [{"model": f"{_mark(each.verdict)} {text(each.name, _NAME)}"} for each in models]
        rows = [{**name, **_escape(sentences.show_model(each))} for name, each in zip(named, models, strict=True)]
        yield _draw_used(rows, MOST_MODELS, "model", left=2)
    if models and (quiet := len(report.models) - len(models)):
        yield f"{plural(quiet, 'more model')} passed without a change."


def _describe_model(model: ModelReport, report: RunReport, *, is_detailed: bool) -> Iterator[str]:
    """Describe a model: its headline, its findings with their fixes, then its changes, components and details."""
    if not report.only_model:  # else the page's title is its headline
        yield f"### {_mark(model.verdict)} {text(model.headline)}"
    yield text(sentences.describe_subject(model))
    yield _list(
        f"{_mark(each.severity)} {text(each.message)}{f' ({code(each.place)})' if each.place else ''}"
        f"{f'<br>→ {text(each.fix)}' if each.fix else ''}".strip()
        for each in model.own_findings
    )
    if changes := [*map(text, sentences.compare_with_base(model))]:
        yield changes[0][:1].upper() + changes[0][1:]
        yield _list(changes[1:], sentences.MOST_CHANGES * 2)
    if any(row.known_count is not None for row in model.components):
        parts = sentences.list_parts(model, MOST_ROWS, is_full=False)
        cells = [_draw_row(row, whole) for row, _, _, whole in parts]
        hidden = sentences.count_rest(len(model.components) + len(model.limited_measures), len(cells), "component")
        notes = _list([*map(text, sentences.describe_table(model)), *hidden])
        drawn = f"{_draw_used(cells, len(cells), 'row')}\n\n{notes}"
        is_folded = model.verdict == "passed" and not any(row.base_delta for row in model.components)
        yield _fold_away("Components", drawn) if is_folded else drawn
    for title, lines in sentences.describe_choices(model.choices).items():
        yield f"**{title.capitalize()}:**\n\n{_list(map(text, lines))}"
    if is_detailed and model.layers:
        layers = [*map(_escape, sentences.show_layers(model))]
        yield _fold_away("Layers that differ", _draw_used(layers, MOST_ROWS, "row"))
    formulas = [
        # our formulas as mathematics; any other text as code
        {"component": text(row.name, _NAME), "formula": f"$`{row.latex}`$" if row.latex else code(row.formula, _TEXT)}
        for row in model.components
        if row.formula
    ]
    if is_detailed and formulas:
        yield _fold_away("Closed form", _draw_used(formulas, MOST_ROWS, "component", left=2))


def _draw_row(row: Row, whole: Row | None) -> dict[str, str]:
    times = sentences.show_times(row.layers) if isinstance(row, Component) else ""
    cells = {"component": f"{text(row.name, _NAME)}{times}", **_escape(sentences.show_row(row, whole))}
    marked = {column: f"**{cells[column]}**" for column in sentences.find_wrong(row) if cells[column]}
    return {**cells, **marked, **({"component": f"❌ {marked['component']}"} if row.failed else {})}
