"""The report as Markdown: for a pull request's comment, and for the page of a step of GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.reports.headline import alone, is_quiet
from pytest_bertsize.reports.markdown.model import Part, model_parts
from pytest_bertsize.reports.markdown.text import code, details, table, text
from pytest_bertsize.reports.rows import counted, room, total
from pytest_bertsize.reports.sentences import limited_by, say_why, stand_ins, work_tree
from pytest_bertsize.wording import exact, listed, plural, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport, Removed, RunBase, RunReport

MARK = "<!-- pytest-bertsize report -->"
"""How a comment, and a file, of ours is recognised."""
LONGEST = 60_000
"""Characters of a page; GitHub takes no comment of more than 65,536."""
MOST_NAMES = 20
"""Names in a sentence, and removed models."""
MOST_ROWS = 100
"""Models in the overview."""
_NAME = 60
"""Characters of a name in the overview, and in a list of names."""
_FOR_WHAT_IS_MISSING = 400
"""Characters kept for the sentence that says what is not shown."""


def render(report: RunReport, _root: Path | None = None) -> str:
    """At most :data:`LONGEST` characters; what does not fit is left out whole, later models and details first."""
    models = sorted(report["models"], key=lambda model: model["verdict"] == "passed")
    told = [model for model in models if not is_quiet(model)]
    top = "\n\n".join([MARK, _title(report), *_incomplete(report), *_base(report["base"])])
    foot = _foot(report)
    shelf = _Shelf(LONGEST - len(top) - len(foot) - _FOR_WHAT_IS_MISSING)
    overview = _overview(told, len(models) - len(told))
    shelf.put(overview)
    behind_title = 1 if alone(report) else 0  # the title is its headline
    sections = [model_parts(model, in_title=model["headline"] in report["headline"])[behind_title:] for model in told]
    for section in sections:
        if not shelf.full and shelf.put(section[:1]):
            shelf.put([part for part in section[1:] if not part.is_detail])
    shelf.put([part for section in sections for part in section if part.is_detail and section[0] in shelf.kept])
    missing = _stand_ins(stand_ins(report["models"]))
    shelf.put(missing)
    shown = [part for section in (overview, *sections, missing) for part in section if part in shelf.kept]
    return "\n\n".join([top, *(part.text for part in shown), *_not_shown(sections, missing, shelf), foot]) + "\n"


def is_ours(text: str) -> bool:
    """Whether it is a page that :func:`render` has made."""
    return text.startswith(MARK)


class _Shelf:
    """Takes parts as long as there is room for them; once one was too long, no other model is begun."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.full = False
        self.kept: set[Part] = set()

    def put(self, parts: Sequence[Part]) -> bool:
        """Whether there was room for all of them; those that fit are taken."""
        for part in parts:
            needed = len(part.text) + len("\n\n")
            if needed > self.room:
                self.full = True
            else:
                self.room -= needed
                self.kept.add(part)
        return all(part in self.kept for part in parts)


def _not_shown(sections: Sequence[Sequence[Part]], beside: Sequence[Part], shelf: _Shelf) -> list[str]:
    models = sum(section[0] not in shelf.kept for section in sections)
    begun = [section for section in sections if section[0] in shelf.kept]
    parts = sum(part not in shelf.kept for those in (*begun, beside) for part in those)
    if not models + parts:
        return []
    what = [
        *([plural(models, "model")] if models else []),
        *([plural(parts, "table or list", "tables and lists")] if parts else []),
    ]
    return [f"**Not shown here: {' and '.join(what)}.** A comment takes no more; the JSON report has everything."]


# the run


def _stand_ins(found: Sequence[str]) -> list[Part]:
    lines = [f"- {text(each)}" for each in found[:MOST_ROWS]]
    if rest := len(found[MOST_ROWS:]):
        lines.append(f"- {exact(rest)} more are in the JSON report")
    return [Part(details("Stand-ins for what is not there", "\n".join(lines)), is_detail=True)] if lines else []


def _title(report: RunReport) -> str:
    good = report["complete"] and not report["failed"]
    return f"## {'✓' if good else '✗'} {text(report['headline'])}"


def _incomplete(report: RunReport) -> list[str]:
    if report["complete"]:
        return []
    said = [
        "> [!CAUTION]",
        f"> **INCOMPLETE. NOT CHECKED: {_names(report['not_checked'])}**",
        ">",
        "> What was not checked has not passed: it was deselected or never reached, or the run has not ended.",
    ]
    return ["\n".join(said)]


def _names(names: Sequence[str]) -> str:
    return listed([code(name, _NAME) for name in names], MOST_NAMES)


def _base(base: RunBase | None) -> list[str]:
    """Why it was not compared, or what of it was not, and which models are gone."""
    if base is None:
        return []
    revision = code(base["revision"])
    if base["commit"] is None or base["problem"]:
        return [f"> [!WARNING]\n> **Not compared with {revision}**: {text(base['problem'])}"]
    missing = [f"**Not compared with {revision}**: {_names(base['not_compared'])}"] if base["not_compared"] else []
    removed = sorted(base["removed"], key=lambda each: not each["failed"])
    if not removed:
        return missing
    lines = [f"- {code(each['name'], _NAME)}{_config(each)}{_was(each)}{_why(each)}" for each in removed]
    rest = len(removed) - MOST_NAMES
    more = [f"- and {exact(rest)} more"] if rest > 0 else []
    return [*missing, "**No longer declared, and no longer checked:**", "\n".join([*lines[:MOST_NAMES], *more])]


def _config(removed: Removed) -> str:
    unread = f"its table cannot be read: {text(removed['problem'])}"
    what = unread if removed["problem"] else removed["config"] and code(removed["config"], _NAME)
    return f" ({what})" if what else ""


def _why(removed: Removed) -> str:
    if removed["failed"]:
        return f". ✗ {text(say_why(removed))}"
    return f". Its reason: {text(removed['reason'])}" if removed["reason"] else ""


def _was(removed: Removed) -> str:
    counted = "" if removed["total"] is None else f": {exact(removed['total'])} parameters"
    return f"{counted}{',' if counted else ':'} limit {text(removed['limit'])}" if removed["limit"] else counted


def _overview(models: Sequence[ModelReport], quiet: int) -> list[Part]:
    """The models of which there is something to read in one table, those that failed first; how many others there are.

    :param quiet: models that passed and are as they were, of which nothing is told.
    """
    others = [Part(f"{plural(quiet, 'model')} more passed, and nothing of {'it' if quiet == 1 else 'them'} changed.")]
    if len(models) < 2:  # noqa: PLR2004
        return others if models and quiet else []
    rows = [_overview_row(model) for model in models[:MOST_ROWS]]
    columns = ("model", "class", "parameters", "change", "budget", "left")
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    drawn = table([columns[index] for index in used], [[row[index] for index in used] for row in rows], left=2)
    rest = len(models) - MOST_ROWS
    hidden = [Part(f"({exact(rest)} more models are not in this table)")] if rest > 0 else []
    return [Part(drawn), *hidden, *(others if quiet else [])]


def _overview_row(model: ModelReport) -> tuple[str, ...]:
    whole = total(model)
    count, before = (counted(whole), whole["base"]) if whole else (None, None)
    left = room(whole) if whole else None
    mark = "✓" if model["verdict"] == "passed" else "✗"
    return (
        f"{mark} {text(model['name'], _NAME)}",
        text(model["architecture"], _NAME),
        "not counted" if count is None else exact(count),
        "" if count is None or before is None else signed(count - before),
        "report-only" if model["report_only"] else text((whole["limit"] if whole else "") or limited_by(model)),
        "" if left is None else signed(left),
    )


def _foot(report: RunReport) -> str:
    """What was counted, against what, and with what."""
    base = report["base"]
    counts = f"{report['configured']:,} configured, {report['checked']:,} checked, {report['failed']:,} failed"
    build = "" if report["mode"] == "full" else "; not compared with a build"
    compared = (
        f" Compared with {code(base['revision'])} ({code(base['commit'][:12])})." if base and base["commit"] else ""
    )
    asked = "closed_forms_of_transformers"
    names = {"pytest_bertsize": "pytest-bertsize", "python": "Python", asked: asked.replace("_", " ")}
    versions = ", ".join(
        f"{text(names.get(name, name), _NAME)} {text(version, _NAME)}" for name, version in report["versions"].items()
    )
    commit = f"; {work_tree(report)}commit {code(report['commit'])}" if report["commit"] else ""
    return f"<sub>Model size: {counts}{build}.{compared} {versions}{commit}</sub>"
