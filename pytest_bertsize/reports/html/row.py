"""One model in a row of another page: its components as a table that brings its own colours and styles along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports import sentences
from pytest_bertsize.reports.model_report import by_severity
from pytest_bertsize.reports.rows import NOTHING, changed_by, counted, difference, off_by, room, urgent
from pytest_bertsize.wording import exact, printable, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_bertsize.reports.shape import Component, FindingRow, ModelReport

MOST_ROWS = 60
"""Components of a table; the total and those that fail are among them."""
MOST_FINDINGS = 20
_BAD = "color:#b3251e;font-weight:bold"
_AROUND = Markup('<div style="margin:4px 0 8px;padding:8px;background:#fff;color:#1c1d20">{}</div>')
_TABLE = Markup('<table style="border-collapse:collapse;color:inherit"><thead>{}</thead><tbody>{}</tbody></table>')
_LINE = Markup("<tr>{}</tr>")
_HEAD = Markup('<th scope="col" style="font-weight:normal;color:#5b6070;text-align:{}">{}</th>')
_NAME = Markup('<th scope="row" style="font-weight:normal;text-align:left;padding-left:{}px;{}">{}</th>')
_NUMBER = Markup('<td style="text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;{}">{}</td>')
_SENTENCE = Markup('<p style="margin:6px 0;color:inherit">{}</p>')
_FINDING = Markup('<li style="margin:4px 0"><b style="{}">{}</b> {}{}</li>')
_PLACE = Markup(" (<code>{}</code>)")
_FIX = Markup("<div>→ {}</div>")


def row(model: ModelReport) -> Markup:
    """What a reader of the row is shown: which model it is, its components, and what was found."""
    rows = [each for each in model["components"] if counted(each) is not None]
    parts = [_SENTENCE.format(Markup("<b>{}</b>").format(printable(model["headline"]))), *map(_sentence, _about(model))]
    if rows:
        parts.append(_table(rows, model))
    if len(rows) > MOST_ROWS:
        rest = len(rows) - MOST_ROWS
        parts.append(
            _sentence(f"{exact(rest)} more {'component is' if rest == 1 else 'components are'} in the JSON report")
        )
    parts += map(_sentence, sentences.sentences(model))
    if model["findings"]:
        parts.append(_findings(by_severity(model["findings"])))
    return _AROUND.format(_together(parts))


def _sentence(text: str) -> Markup:
    return _SENTENCE.format(printable(text))


def _together(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _about(model: ModelReport) -> Iterator[str]:
    """What it is, and what it is not held to."""
    yield " from ".join(each for each in (model["architecture"] or model["family"], model["config"]) if each)
    if model["report_only"]:
        yield "report-only: held to no limit"
    if not model["built"]:
        yield "not built: counts are the closed form's"
    if not model["closed_form"]:
        yield "held to its budget alone: not compared with a closed form"


# the table of components


def _table(rows: Sequence[Component], model: ModelReport) -> Markup:
    columns = _columns(rows, model)
    head = [_HEAD.format("left", "component"), *(_HEAD.format("right", printable(name)) for name in columns)]
    body = [_LINE.format(_together([_name(each), *_numbers(each, columns)])) for each in urgent(rows, MOST_ROWS)]
    return _TABLE.format(_LINE.format(_together(head)), _together(body))


def _columns(rows: Sequence[Component], model: ModelReport) -> Mapping[str, Callable[[Component], str]]:
    """Those that have anything to say, by their heading."""
    base, is_built = model["base"], any(each["actual"] is not None for each in rows)
    columns: dict[str, Callable[[Component], str]] = {"actual" if is_built else "closed form": _count}
    if base and any(each["base"] is not None for each in rows):
        columns[f"against {base['revision']}"] = _change
    if model["closed_form"] and is_built:
        columns["off formula"] = _off
    if any(each["limit"] for each in rows):
        columns |= {"budget": _budget, "left": _left}
    return columns


def _name(component: Component) -> Markup:
    name = component["name"]
    times = f" ×{exact(component['layers'])}" if component["layers"] > 1 else ""
    marked = f"{'✗ ' if component['failed'] else ''}{printable(name)}{times}"
    return _NAME.format(5 + 14 * min(name.count("."), 3), _weight(component), marked)


def _numbers(component: Component, columns: Mapping[str, Callable[[Component], str]]) -> Iterator[Markup]:
    for cell in columns.values():
        yield _NUMBER.format(_weight(component), cell(component))


def _weight(component: Component) -> str:
    return _BAD if component["failed"] else "font-weight:bold" if component["name"] == TOTAL else ""


def _count(component: Component) -> str:
    count = counted(component)
    return NOTHING if count is None else exact(count)


def _off(component: Component) -> str:
    return difference(off_by(component))


def _change(component: Component) -> str:
    return difference(changed_by(component))


def _budget(component: Component) -> str:
    return printable(component["limit"] or "")


def _left(component: Component) -> str:
    left = room(component)
    return "" if left is None else signed(left)


# findings


def _findings(findings: Sequence[FindingRow]) -> Markup:
    items = [_finding(each) for each in findings[:MOST_FINDINGS]]
    if rest := findings[MOST_FINDINGS:]:
        more = f"{exact(len(rest))} more {'finding is' if len(rest) == 1 else 'findings are'} in the JSON report"
        items.append(Markup("<li>{}</li>").format(more))
    return Markup('<ul style="margin:6px 0;padding-left:18px">{}</ul>').format(_together(items))


def _finding(finding: FindingRow) -> Markup:
    line = f":{finding['line']}" if finding["line"] else ""
    place = _PLACE.format(printable(finding["file"] + line)) if finding["file"] else ""
    fix = _FIX.format(printable(finding["fix"])) if finding["fix"] else ""
    severity = finding["severity"]
    said = Markup("{}{}").format(printable(finding["message"]), place)
    return _FINDING.format(_BAD if severity == "error" else "", severity.capitalize(), said, fix)
