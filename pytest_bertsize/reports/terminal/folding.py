"""Many models that passed, as a few lines: those of one pattern together, so that a thousand are no thousand rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.quantity import compact_left
from pytest_bertsize.reports.rows import counted, room, total
from pytest_bertsize.reports.sentences import limited_by
from pytest_bertsize.wording import exact, plural

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport

MOST_ROWS = 30
"""Models that passed, as a row each; more of them are folded. Lines of patterns are as many at most."""
FEWEST = 3
"""Models of one pattern that are a line; fewer are rows."""
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_NUMBER = re.compile(r"\d+")


class Folded(NamedTuple):
    """A run's models as its overview shows them."""

    rows: list[ModelReport]
    """Those that failed first, each as a row of its own."""
    lines: list[str]
    """Those that passed, several a line."""


def folded(models: Sequence[ModelReport], declared: Mapping[str, str]) -> Folded:
    """Every model is in a row or counted in a line; as long as few have passed, all are rows, in their order.

    :param declared: by the name of a model that of the table which declares several, ``"bert-{stem}"``.
    """
    passed = [model for model in models if model["verdict"] == "passed"]
    if len(passed) <= MOST_ROWS:
        return Folded([*models], [])
    alike: dict[tuple[str, bool], list[ModelReport]] = {}
    for model in passed:
        alike.setdefault((_pattern(model["name"], declared), model["report_only"]), []).append(model)
    groups = sorted(alike.items(), key=lambda each: -len(each[1]))
    lines = {key: group for key, group in groups[:MOST_ROWS] if len(group) >= FEWEST}
    rest = [model for key, group in alike.items() if key not in lines for model in group]
    said = [_line(key[0], lines[key]) for key in alike if key in lines]
    failed = [model for model in models if model["verdict"] != "passed"]
    if len(rest) <= MOST_ROWS:
        return Folded([*failed, *rest], said)
    of_limits = [[each for each in rest if each["report_only"] == only] for only in (False, True)]
    return Folded(failed, [*said, *(_line("others" if said else "", group) for group in of_limits if group)])


def _pattern(name: str, declared: Mapping[str, str]) -> str:
    """``"bert-*"``: of the table that declares it, else what is left of the name without its numbers."""
    return _PLACEHOLDER.sub("*", declared[name]) if name in declared else _NUMBER.sub("*", name)


def _line(pattern: str, models: Sequence[ModelReport]) -> str:
    """``model-*: 997 passed, BertForMaskedLM, 102,291,081 to 103,057,774 parameters, …``."""
    classes = {model["architecture"] for model in models}
    what = classes.pop() if len(classes) == 1 else plural(len(classes), "class", "classes")
    whole = f"{pattern}: {exact(len(models))} passed" if pattern else f"{plural(len(models), 'model')} passed"
    return ", ".join(filter(None, [whole, what, _sizes(models), _tightest(models)]))


def _sizes(models: Sequence[ModelReport]) -> str:
    counts = [counted(row) for model in models if (row := total(model))]
    known = [count for count in counts if count is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{exact(low)} parameters" if low == high else f"{exact(low)} to {exact(high)} parameters"


def _tightest(models: Sequence[ModelReport]) -> str:
    """Which of them has the least room under the limit of its total, or how they are held where none has such a one."""
    if all(model["report_only"] for model in models):
        return "report-only"
    rows = ((model, row) for model in models if (row := total(model)) and row["limit"])
    rooms = [(left, model["name"]) for model, row in rows if (left := room(row)) is not None]
    if not rooms:
        limits = {limited_by(model) for model in models}
        return f"limited {limits.pop()}" if len(limits) == 1 else ""
    left, name = min(rooms, key=lambda each: each[0])
    of_total = "" if len(rooms) == len(models) else f"; {exact(len(models) - len(rooms))} without a limit of the total"
    return f"tightest {name} ({compact_left(left)} left){of_total}"
