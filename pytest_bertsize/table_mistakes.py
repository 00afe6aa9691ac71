"""What the mistakes in ``[tool.bertsize]`` are called: one line each, with file, line, key and what to write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bertsize.findings import did_you_mean, printable, shown
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.source_lines import line_in_toml
from pytest_bertsize.table import EXAMPLE, REPORT_ONLY, TABLE, BertsizeTable, LimitTable, ModelTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydantic import ValidationError


MOST_SHOWN = 20
"""Mistakes; who has made more has made one of them many times."""


def all_mistakes(error: ValidationError, table: Mapping[str, Any], text: str, path: Path) -> str:
    """One line for each mistake, in the order of the file."""
    mistakes = error.errors(include_url=False)
    lines = []
    for each in mistakes[:MOST_SHOWN]:
        location = _as_in_the_table(tuple(str(part) for part in each["loc"] if part != "[key]"), table)
        line = line_in_toml(text, (*TABLE, *location)) or 1
        lines.append((line, f"{path.name}:{line}: {_dotted((*TABLE, *location))}: {sentence(each, table, location)}"))
    found = [line for _, line in sorted(lines)]
    if len(found) == 1:
        return found[0]
    rest = [f"and {len(mistakes) - MOST_SHOWN} more"] if len(mistakes) > MOST_SHOWN else []
    return "\n".join([f"{len(mistakes)} mistakes in [tool.bertsize]", *found, *rest])


def _as_in_the_table(location: tuple[str, ...], table: Mapping[str, Any]) -> tuple[str, ...]:
    """Without the ``max`` that stands for a limit in short."""
    node: Any = table
    for depth, part in enumerate(location):
        if not isinstance(node, dict):
            return location[:depth]
        node = node.get(part)
    return location


def _dotted(path: Sequence[str]) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]{1,100}", part, re.ASCII) else shown(part) for part in path)


def sentence(error: Any, table: Mapping[str, Any], location: Sequence[str]) -> str:
    """What one of pydantic's errors says, in the words of the table."""
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(location)
    if kind == "missing":
        return _missing_key(location[-1], table)
    if kind == "value_error":
        return str(error["ctx"]["error"])
    expected = {
        "string_type": "a string",
        "bool_type": "true or false",
        "dict_type": "a table",
        "model_type": "a table",
    }
    if kind == "string_too_short":
        return "an empty string says nothing"
    return f"{shown(value)} is not {expected.get(kind, 'what belongs here')}"


def _unknown_key(location: Sequence[str]) -> str:
    if len(location) == len(("models", "NAME", "budget", "COMPONENT", "KEY")):
        if nearest := did_you_mean(location[4], LimitTable.model_fields):
            return f"unknown key; did you mean {nearest!r}?"
        has = "unknown key; a limit has min, max or exact"
        if location[3] in {TOTAL, TRAINABLE} or not location[4]:
            return has
        inner = shown(f"{location[3]}.{location[4]}")
        return f"{has}. To limit the component, write budget.{inner} = …"
    known = BertsizeTable.model_fields if len(location) == 1 else ModelTable.model_fields
    nearest = did_you_mean(location[-1], known)
    return f"unknown key; did you mean {nearest!r}?" if nearest else f"unknown key; there are {', '.join(known)}"


def _missing_key(key: str, table: Mapping[str, Any]) -> str:
    fixes = {
        "config": 'the model has no config: write config = "path/to/config.json"',
        "budget": f'the model has no budget: write budget.total = "110M", or budget = "{REPORT_ONLY}"',
        "models": f"no model is declared{_instead_of_models(table)}; {EXAMPLE}",
    }
    return fixes[key]


def _instead_of_models(table: Mapping[str, Any]) -> str:
    nearest = did_you_mean("models", table)
    return (
        f"; did you mean [tool.bertsize.models] where it says [tool.bertsize.{printable(nearest)}]?" if nearest else ""
    )
