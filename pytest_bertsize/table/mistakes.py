"""What the mistakes in ``[tool.bertsize]`` are called: one line each, with file, line, key and what to write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.table.budget import REPORT_ONLY, BytesTable, FlopsTable, LimitTable, TrainingTable
from pytest_bertsize.table.build_and_lock import MOST_SECONDS, BuildTable, LockTable
from pytest_bertsize.table.extra import ExtraTable
from pytest_bertsize.table.model import ALREADY_OVER, BYTES, FLOPS, GROWTH, TRAINING
from pytest_bertsize.table.schema import EXAMPLE, TABLE, BertsizeTable, MistakeAt, ModelTable
from pytest_bertsize.table.toml import line_in_toml
from pytest_bertsize.wording import did_you_mean, nearest_to, printable, shown

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


LONGEST_NUMBER = 14_000
"""Bits: of no more than the 4,300 decimal digits that Python writes."""
MOST_SHOWN = 20
"""Mistakes; who has made more has made one of them many times."""


def all_mistakes(error: ValidationError, table: Mapping[str, Any], text: str, path: Path) -> str:
    """One line for each mistake, in the order of the file."""
    mistakes = error.errors(include_url=False)
    lines = []
    for each in mistakes[:MOST_SHOWN]:
        location = _location(each, table)
        line = line_in_toml(text, (*TABLE, *location)) or 1
        lines.append((line, f"{path.name}:{line}: {dotted((*TABLE, *location))}: {sentence(each, table, location)}"))
    found = [line for _, line in sorted(lines)]
    if len(found) == 1:
        return found[0]
    rest = [f"and {len(mistakes) - MOST_SHOWN} more"] if len(mistakes) > MOST_SHOWN else []
    return "\n".join([f"{len(mistakes)} mistakes in [tool.bertsize]", *found, *rest])


def _location(mistake: Any, table: Mapping[str, Any]) -> tuple[str, ...]:
    place = tuple(str(part) for part in mistake["loc"] if part != "[key]")
    raised = mistake.get("ctx", {}).get("error")
    return _as_in_the_table((*place, raised.key) if isinstance(raised, MistakeAt) else place, table)


def _as_in_the_table(location: tuple[str, ...], table: Mapping[str, Any]) -> tuple[str, ...]:
    """Without the ``max`` that stands for a limit in short."""
    node: Any = table
    for depth, part in enumerate(location):
        if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, dict):
            node = node.get(part)
        else:
            return location[:depth]
    return location


def key_of_long_number(said: object, key: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The first number too long to be written, which TOML has as ``0x…``; empty where there is none."""
    if isinstance(said, dict | list):
        inner = said.items() if isinstance(said, dict) else enumerate(said)
        return next(filter(None, (key_of_long_number(each, (*key, str(name))) for name, each in inner)), ())
    return key if type(said) is int and said.bit_length() > LONGEST_NUMBER else ()


def dotted(path: Sequence[str]) -> str:
    return ".".join(part if re.fullmatch(r"[\w-]{1,100}", part, re.ASCII) else shown(part) for part in path)


_CHOICES = {"device": "meta or cpu", "count": "one of unique, stored, unrolled", ALREADY_OVER: '"fail" or "pass"'}


def sentence(error: Any, table: Mapping[str, Any], location: Sequence[str]) -> str:
    """What one of pydantic's errors says, in the words of the table."""
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        return _unknown_key(location)
    if kind == "missing":
        return _missing_key(str(error["loc"][-1]), table)
    if kind == "value_error":
        return f"{error['ctx']['error']}{_or_no_component(location)}"
    of_build = tuple(location[2:3]) == ("build",)
    numbers = f"a number from 1 to {MOST_SECONDS if of_build else 1_000_000:,}"
    expected = {
        "string_type": "a string",
        "bool_type": "true or false",
        "dict_type": "a table",
        "model_type": "a table",
        "int_type": "a whole number",
        "list_type": "a list of tables" if location[-1] == "extra" else "a list",
        "literal_error": _CHOICES.get(location[-1], ""),
        "greater_than_equal": numbers,
        "less_than_equal": numbers,
    }
    if kind == "string_too_short":
        return "an empty string says nothing"
    return f"{shown(value)} is not {expected.get(kind, 'what belongs here')}"


def _or_no_component(location: Sequence[str]) -> str:
    """``budget.byte`` may be meant for what is no count of parameters."""
    if location[2:3] != ("budget",) or len(location) < len(("models", "NAME", "budget", "COMPONENT")):
        return ""
    nearest = nearest_to(location[3], [BYTES, FLOPS, TRAINING, GROWTH, ALREADY_OVER], cutoff=0.75)
    return f"; or did you mean {nearest!r}?" if nearest and nearest != location[3] else ""


def _unknown_key(location: Sequence[str]) -> str:
    if table := _INNER.get(tuple(location[2:3]) or tuple(location[:-1])):
        return _of(location[-1], table)
    if location[2:3] == ("budget",) and (table := _MEASURES.get(location[3])):
        return _of(location[-1], table)
    if len(location) == len(("models", "NAME", "budget", "COMPONENT", "KEY")):
        if meant := did_you_mean(location[4], LimitTable.model_fields, ""):
            return f"unknown key; {meant}"
        has = "unknown key; a limit has min, max or exact"
        if location[3] in {TOTAL, TRAINABLE} or not location[4]:
            return has
        inner = shown(f"{location[3]}.{location[4]}")
        return f"{has}. To limit the component, write budget.{inner} = …"
    return _of(location[-1], BertsizeTable if len(location) == 1 else ModelTable)


_MEASURES: Mapping[str, type[BaseModel]] = {BYTES: BytesTable, FLOPS: FlopsTable, TRAINING: TrainingTable}
_INNER: Mapping[Sequence[str], type[BaseModel]] = {("extra",): ExtraTable, ("build",): BuildTable, ("lock",): LockTable}


def _of(key: str, table: type[BaseModel]) -> str:
    """What a key of a table may have been meant for."""
    known = table.model_fields
    there_are = f"there are {', '.join(known)}"
    return f"unknown key; {did_you_mean(key, known, there_are)}"


def _missing_key(key: str, table: Mapping[str, Any]) -> str:
    fixes = {
        "name": 'it has no name: write name = "classifier", the path of the module in the class',
        "file": 'it names no file: write file = "bertsize.lock"',
        "seq_len": "it says no length: write seq_len = 128, the tokens of one forward pass",
        "budget": f'the model has no budget: write budget.total = "110M", or budget = "{REPORT_ONLY}"',
        "models": f"no model is declared{_instead_of_models(table)}; {EXAMPLE}",
    }
    return fixes[key]


def _instead_of_models(table: Mapping[str, Any]) -> str:
    nearest = nearest_to("models", table)
    return (
        f"; did you mean [tool.bertsize.models] where it says [tool.bertsize.{printable(nearest)}]?" if nearest else ""
    )
