"""Smaller tables of ``[tool.bertsize]``: what building may take, where shapes are locked, names of components."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from pytest_bertsize.quantity import parse_bytes
from pytest_bertsize.table.extra import MODULE_PATH, NO_COMPONENTS
from pytest_bertsize.wording import shown

MOST_SECONDS = 600
"""That one model may take to be built; all of a table's are built one after the other."""
LEAST_MEMORY, MOST_MEMORY = 10**6, 16 * 10**9
"""Bytes that building one model may take; a hosted runner of CI has no more."""
LOCK = ".lock"
"""How the name of a lock ends."""
STRICT = 'lock = { file = "bertsize.lock", strict = true }'


def memory_to_build(value: object) -> int:
    found = parse_bytes(value)
    if not LEAST_MEMORY <= found <= MOST_MEMORY:
        raise ValueError(f'{shown(value)} is no memory to build in: write between "1MB" and "16GB"')
    return found


def lock_from_path(value: object) -> object:
    """``"bertsize.lock"`` is the file alone."""
    if value is True or value == "strict":
        raise ValueError(f"{shown(value)} names no file: write {STRICT}")
    return {"file": value} if isinstance(value, str) else value


def lock_name(name: str) -> str:
    if not name.endswith(LOCK) or name == LOCK:
        raise ValueError(f'{shown(name)} is no name of a lock: write lock = "bertsize.lock"')
    return name


def component_patterns(said: dict[str, Any]) -> dict[str, Any]:
    for name, written in said.items():
        if not MODULE_PATH.fullmatch(name) or name.partition(".")[0] in NO_COMPONENTS:
            raise ValueError(f'{shown(name)} is no component: write components = {{ tower = "vision.*" }}, for example')
        patterns = written if isinstance(written, list) else [written]
        if not patterns or not all(isinstance(each, str) and each for each in patterns):
            raise ValueError(f'{name} is {shown(written)}: write {name} = "vision.*", a path or a pattern, or several')
    return said


class _Strict(BaseModel):
    """A table that has no other keys than its own."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # the whole table is built at once


class BuildTable(_Strict):
    """``build``: what building may take, and where."""

    seconds: Annotated[int, Field(ge=1, le=MOST_SECONDS)] | None = None
    """Seconds that it may take, at most 600. Default: 30. Example: seconds = 120."""
    memory: Annotated[int, BeforeValidator(memory_to_build)] | None = None
    """Memory that it may take beside its imports, at most "16GB". Default: 80 MiB, for a factory 1 GiB, on the CPU
    2 GiB. Example: memory = "4GB"."""
    device: Literal["meta", "cpu"] = "meta"
    """Where: on the meta device there are shapes and no values, which a class that asks for values needs the CPU for.
    Example: device = "cpu"."""


class LockTable(_Strict):
    """``lock``: the file, and whether a difference from it is an error."""

    file: Annotated[str, AfterValidator(lock_name)]
    """The file, relative to pyproject.toml and inside the project; its name ends in .lock.
    Example: file = "bertsize.lock"."""
    strict: bool = False
    """true makes every difference an error, which --bert-budget-update accepts. Default: a note.
    Example: strict = true."""
