"""The lock of a project, as it is and as a commit has it; and a model that was built, as a lock would say it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.base.lock import LARGEST_FILE, BadLock, Lock, Locked, Weight, parse
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.commit_files import CommitFiles
    from pytest_bertsize.builder.messages import Buffer, Built
    from pytest_bertsize.table.settings import Settings

WEIGHS = 10_000
"""Numbers of a buffer that a lock tells; a mask and a list of positions are none of them."""


def of_project(settings: Settings) -> Lock | None:
    """What the table's lock says; ``None`` where it names none.

    :raises SettingsError: for a lock that cannot be read, with its line.
    """
    declared = settings.lock
    if declared is None:
        return None
    place = Place(settings.root, declared.file, "lock", "config-invalid")
    try:
        if not os.path.lexists(place.path):
            return Lock(place.file, declared.strict)
        text = place.text(place.content(LARGEST_FILE))
        return Lock(place.file, declared.strict, parse(text, place.file), text)
    except Unusable as unusable:
        raise SettingsError(f"{settings.place('lock')}: {unusable.findings[0].sentence}") from None
    except BadLock as bad:
        raise SettingsError(str(bad)) from None


def at_commit(files: CommitFiles, table: Mapping[str, object], revision: str) -> Lock | str:
    """What the lock of a commit says, or why nothing does.

    :param table: of that commit, as it was parsed.
    :param revision: what messages call it; ``""`` where they need not.
    """
    said = table.get("lock")
    name = said.get("file") if isinstance(said, dict) else said
    if not isinstance(name, str) or not name:
        return "there is no lock of it"
    content = files.read(name, LARGEST_FILE)
    if content is None:
        return f"its lock {printable(name)} is not committed"
    at = f" at {printable(revision)}" if revision else ""
    try:
        return Lock(name, is_strict(table), parse(content.decode("utf-8"), f"{printable(name)}{at}"))
    except UnicodeDecodeError:
        return f"{printable(name)} is no UTF-8"
    except BadLock as bad:
        return str(bad)


def is_strict(table: Mapping[str, object]) -> bool:
    """Whether a table makes a difference from its lock an error."""
    said = table.get("lock")
    return isinstance(said, dict) and said.get("strict") is True


def locked(built: Built, config: str) -> Locked:
    """A model as a lock would say it.

    :param config: hash of all that it was built from beside code.
    """
    said = (("transformers", built.transformers), ("torch", built.torch))
    versions = ", ".join(f"{library} {version}" for library, version in said if version)
    return Locked(built.tensors, weights(built.buffers), config, versions)


def weights(buffers: Iterable[Buffer]) -> dict[str, Weight]:
    """Buffers that weigh: those with weights in them, and integers that a checkpoint has."""
    return {
        each.name: Weight(each.numbers, each.dtype)
        for each in buffers
        if each.numbers >= WEIGHS and each.dtype != "bool" and (each.saved or not each.dtype.startswith("int"))
    }
