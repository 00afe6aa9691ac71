"""Change budgets, and write them to the pyproject.toml."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tomli
from msgspec import Struct

from pytest_bertsize import files
from pytest_bertsize.table.limits import unit_of
from pytest_bertsize.table.settings import Settings, SettingsError, dotted, parse
from pytest_bertsize.table.toml import CannotReplace, inline, replace_keys, replace_values
from pytest_bertsize.wording import exact, reason

if TYPE_CHECKING:
    from pytest_bertsize.table.limits import Limit


class Change(Struct, frozen=True):
    """A new value for one bound of a budget; its fields are plain data, because an xdist worker sends it as a dict."""

    model: str
    key: tuple[str, ...]  # the key of the limit in the project's table
    component: str
    bound: str  # ``max``, ``min`` or ``exact``
    counted: int
    after: str  # the new value as TOML: ``'"114M"'`` or ``'113_123_456'``

    @property
    def value(self) -> object:
        """Return the new value as TOML reads it: a number, or a string such as ``"114M"``."""
        return tomli.loads(f"x = {self.after}")["x"]

    def size(self) -> int:
        """Return the new bound as a number."""
        return unit_of(self.component).parse(self.value)


def limits_after(limits: Iterable[Limit], changes: Iterable[Change]) -> tuple[Limit, ...]:
    """Return the limits of one model with the changes applied."""
    found = list(limits)
    for change in changes:
        for at, limit in enumerate(found):
            if limit.table_key == change.key:
                size, said = change.size(), limit.written
                written = {**said, change.bound: change.value} if isinstance(said, dict) else change.value
                low = size if change.bound in {"min", "exact"} else limit.minimum
                high = size if change.bound in {"max", "exact"} else limit.maximum
                found[at] = limit._replace(minimum=low, maximum=high, written=written)
    return tuple(found)


def raised(changes: Iterable[Change]) -> list[Change]:
    """Return one change for each bound; if models share a table, the one with which all these models pass."""
    found: dict[tuple[tuple[str, ...], str], Change] = {}
    for change in changes:
        other = found.setdefault((change.key, change.bound), change)
        choose = min if change.bound == "min" else max
        found[change.key, change.bound] = choose(other, change, key=Change.size)
    return [*found.values()]


def lowered(changes: Iterable[Change], settings: Settings) -> list[Change]:
    """Return the changes that lower a maximum. If models share a table, all must ask, and the highest value counts."""
    everything = list(changes)
    found = []
    for change in raised(everything):
        asked_by = {other.model for other in everything if other.key == change.key}
        everybody = settings.declared_by(settings.models[change.model].table_key)
        if asked_by == {*everybody} and change.size() < (settings.limits[change.key].maximum or 0):
            found.append(change)
    return found


def settings_after(
    settings: Settings, changes: Sequence[Change], reasons: Mapping[tuple[str, ...], str] | None = None
) -> Settings:
    """Return the settings with changes and reasons, by the model's table; nothing else changes."""
    tables = {key for key, limit in settings.limits.items() if isinstance(limit.written, dict)}
    values = {(*each.key, each.bound) if each.key in tables else each.key: each.after for each in changes}
    said = {(*table, "reason"): inline(reason) for table, reason in (reasons or {}).items()}
    try:
        text = replace_values(settings.text, values)
        for path, reason in said.items():
            text = replace_keys(text, path[:-1], {"reason": reason})
        found = parse(text, settings.path)
        why = "" if settings.models.keys() <= found.models.keys() else "a config is gone"
    except CannotReplace as error:
        why = str(error)
    if why:
        by_path = {**values, **said}.items()
        by_hand = ", ".join(f"{settings.at(path)}: {dotted(path)} = {value}" for path, value in by_path)
        raise SettingsError(f"{settings.path}: {why}, and nothing was changed; write by hand: {by_hand}")
    return found


def sentence(change: Change, before: Settings, after: Settings) -> str:
    """Return a line about a change: ``pyproject.toml:12: encoder: total "110M" → "114M", for 113,123,456``."""
    was, now = (settings.limits[change.key] for settings in (before, after))
    bound = f" {change.bound}" if isinstance(was.written, dict) else ""
    written = (limit.written_at(change.bound) for limit in (was, now))
    values = " → ".join(exact(value) if isinstance(value, int) else f'"{value}"' for value in written)
    return f"{after.at(change.key)}: {change.model}: {change.component}{bound} {values}, for {exact(change.counted)}"


def replace_pyproject(path: Path, before: str | None, after: str) -> None:
    """Replace the file atomically, with its permissions; raise :class:`SettingsError` if it has changed.

    :param before: the content that was read; ``None`` if the file must not exist yet.
    """
    try:
        refuse_another(path, before)
        files.replace_file(path, after.encode())
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {reason(error)}; nothing was changed") from None


def replace_together(*changes: tuple[Path, str | None, str]) -> None:
    """Replace several files, each of known former content, by :func:`replace_pyproject`: all or none."""
    for at, (path, before, after) in enumerate(changes):
        try:
            replace_pyproject(path, before, after)
        except SettingsError:
            for written, former, now in changes[:at]:
                if former is None:
                    written.unlink()
                else:
                    replace_pyproject(written, now, former)
            raise


def refuse_another(path: Path, before: str | None) -> None:
    """Refuse a file that has changed since it was read, or that cannot be replaced."""
    if path.is_symlink():
        raise SettingsError(f"{path} is a symlink and was not changed: run this where the file itself is")
    now = path.read_bytes() if path.exists() else None
    if now != (None if before is None else before.encode()):
        what = "did not exist when this run began" if before is None else "has changed since it was read"
        raise SettingsError(f"{path} {what}, and was not changed: run this again")
    if before is not None and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):  # root may write all
        raise SettingsError(f"{path} is read-only and was not changed: make it writable, and run this again")
