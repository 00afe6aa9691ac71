"""``bertsize log``: the history of each declared model, commit by commit or tag by tag, from git alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.base.history import DOTS, SHORT, ModelHistory, read_history
from pytest_bertsize.closed_forms.registry import registry_of
from pytest_bertsize.commands.console import read_style
from pytest_bertsize.commands.documents import list_versions, write_json
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.reports.drawing import draw_cut, draw_marked
from pytest_bertsize.reports.from_review import report_change
from pytest_bertsize.reports.markdown import code, table, text
from pytest_bertsize.reports.report import to_plain
from pytest_bertsize.reports.sentences import describe_change
from pytest_bertsize.table.settings import SettingsError, load
from pytest_bertsize.wording import MOST_NAMED, did_you_mean, exact, listed, plural, printable, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.base.history import History, Row
    from pytest_bertsize.reports.drawing import Style

MOST_ROWS = 100  # the most rows of a model in the terminal, the latest; JSON and Markdown have all
LABEL = 24  # the most characters of a commit's or tag's name
DAY = len("2026-11-22")
INDENT = "  "
COLUMNS = ("commit", "date", "subject", "cause", "parameters", "change")
UNSHALLOW = "run git fetch --unshallow (GitHub: fetch-depth: 0 under actions/checkout, GitLab: GIT_DEPTH: 0)"


def write_log(root: Path, name: str, commits: str, *, by_tag: bool, form: str = "text") -> str:
    """Write the rows of a model, by any ``name`` that it had, or of all; an uncounted commit has a row too."""
    settings = load(root / "pyproject.toml")
    if DOTS in name and not commits:  # a range alone
        name, commits = "", name
    release = asked_about(settings)
    history = read_history(settings, registry_of(settings, release.release), commits, by_tag=by_tag)
    models = [each for each in history.models if not name or name in each.names]
    if name and not models:
        names = [known for each in history.models for known in each.names]
        fix = did_you_mean(name, names, f"they declare {listed(names, MOST_NAMED) if names else 'none'}")
        raise SettingsError(f"no table of these commits declares a model {shown(name)}; {fix}")
    notes = _list_notes(history, models)
    if form == "text":
        style = read_style(sys.stdout)
        parts = ["\n".join(_draw_model(model, style)) for model in models]
        said = "\n".join(draw_marked("- ", each, style, "dim") for each in notes)
        return "\n\n".join([*parts, said] if said else parts)
    write = _write_json if form == "json" else _write_markdown
    return write(history, models, notes, list_versions(release))


# sentences of every form


def _write_headline(model: ModelHistory) -> str:
    """Return the first and the last count: ``encoder: 102,290,312 → 116,602,170 (+14,311,858)``."""
    totals = [row.total for row in model.rows if row.total is not None]
    if not totals:
        return f"{printable(model.name)}: never counted"
    by = " by its lock" if model.counted and model.counted[1].by == "lock" else ""
    left = ", no longer declared" if model.is_left else ""
    last = f" → {exact(totals[-1])} ({signed(totals[-1] - totals[0])})" if len(totals) > 1 else ""
    return f"{printable(model.name)}: {exact(totals[0])}{last}{by}{left}"


def _list_sentences(row: Row) -> list[str]:
    """Return the sentences about a row, apart from those on its changed keys."""
    since = f"the change is since {row.since}, the last commit that was counted"
    merge = "a merge: the change is the sum of those in the merged commits"
    is_merge = len(row.commit.parents) > 1 and row.change is not None
    return [*row.said, *([since] if row.since else []), *([merge] if is_merge else [])]


def _list_notes(history: History, models: Sequence[ModelHistory]) -> list[str]:
    """Return the notes that concern all rows."""
    rows = [row for model in models for row in model.rows]
    found = [*dict.fromkeys(row.method for row in rows if row.method)]
    if history.start == history.end:
        found.append(f"{printable(history.asked)} contains no commit")
    elif quiet := history.commits_read - len({row.commit.name for row in rows}):
        found.append(f"{plural(quiet, 'other commit')} without a change of these counts")
    if history.is_cut:
        found.append(f"this clone is shallow: it lacks commits before {history.first[:SHORT]}; {UNSHALLOW}")
    return found


def _show_numbers(row: Row, same: str = "0") -> tuple[str, str]:
    """Return the total and the change as text, ``""`` for a missing one; ``same`` is the text for no change."""
    total = "" if row.total is None else exact(row.total)
    return total, "" if row.change is None else signed(row.change) if row.change else same


# text: the oldest first, so that the last line is the latest


def _draw_model(model: ModelHistory, style: Style) -> Iterator[str]:
    yield draw_marked("", _write_headline(model), style, "bold")
    rows = model.rows[-MOST_ROWS:]
    if hidden := len(model.rows) - len(rows):
        earlier = plural(hidden, "earlier row")
        yield draw_marked(INDENT, f"({earlier} not shown: --format json or md, or a range, shows them)", style)
    cells = [(printable(row.commit.label, LABEL), *_show_numbers(row, same="=")) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, (label, total, moved) in zip(rows, cells, strict=True):
        head = f"{label:<{widths[0]}}  {row.commit.date[:DAY]:{DAY}}  {total:>{widths[1]}}  {moved:>{widths[2]}}"
        yield draw_cut(f"{INDENT}{head}{INDENT}{printable(row.commit.subject)}", style)
        causes = (*map(describe_change, row.moved), *_list_sentences(row))
        yield from (draw_marked(INDENT * 2, each, style) for each in causes)


# Markdown and JSON, with every row


def _write_markdown(_: History, models: Sequence[ModelHistory], notes: list[str], versions: dict[str, str]) -> str:
    sections = []
    for model in models:
        cells = []
        for row in model.rows:
            commit = row.commit
            causes = "<br>".join(map(text, (*map(describe_change, row.moved), *_list_sentences(row))))
            cells.append((code(commit.label), commit.date[:DAY], text(commit.subject), causes, *_show_numbers(row)))
        sections.append(f"**{text(_write_headline(model))}**\n\n{table(COLUMNS, cells, left=4)}")
    tools = ", ".join(f"{name.replace('_', '-')} {text(each)}" for name, each in versions.items())
    return "\n\n".join([*sections, *(f"- {text(each)}" for each in notes), tools])


def _write_json(history: History, models: Sequence[ModelHistory], notes: list[str], versions: dict[str, str]) -> str:
    def report(row: Row) -> dict[str, Any]:
        commit = {name: getattr(row.commit, name) for name in ("tags", "parents", "date", "subject")}
        counted = {"total": row.total, "by": row.by or None, "change": row.change, "since": row.since or None}
        keys = [to_plain(report_change(each)) for each in row.moved]
        said = {"method": row.method, "said": _list_sentences(row)}
        return {"commit": row.commit.name, **commit, **counted, "keys": keys, **said}

    listed = [
        {"name": each.name, "names": [*each.names], "declared": not each.is_left, "rows": [*map(report, each.rows)]}
        for each in models
    ]
    asked = {"asked": history.asked, "after": history.start, "to": history.end, "shallow": history.is_cut}
    read = {"range": asked, "commits_read": history.commits_read}
    return write_json({**read, "models": listed, "notes": notes, "versions": versions})
