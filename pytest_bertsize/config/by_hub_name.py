"""A config by a name of the hub: the project's own for it, the catalogue's, or what the cache of this machine has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pytest_bertsize.builder.published import CONFIG, find_in, find_published, is_name, suggest_fetching
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.wording import printable, shown


class Found(NamedTuple):
    """A config file as a reader finds it."""

    name: str
    """Whose suffix says what it is written in."""
    file: str
    """What messages call it."""
    content: bytes
    origin: str = ""
    """Of a config that is named as the hub names it: where it is from."""


def find(name: str, hub: Mapping[str, str], read: Callable[[str], Found]) -> Found | None:
    """The published config of a name that is no file of the project; ``None`` where nothing has it.

    :param hub: the table's.
    :param read: reads a file that it names.
    """
    if not is_name(name):
        return None
    if (mapped := find_in(hub, name)) is not None:
        found = read(hub[mapped])
        return found._replace(origin=f"{found.file}, as hub in [tool.bertsize] says")
    if (published := find_published(name)) is None:
        return None
    return Found(CONFIG, printable(name), published.config, published.origin)


def refuse_unknown(name: str, is_there: Callable[[str], bool]) -> None:
    """Say how a config is fetched whose name only the hub can know.

    :param is_there: whether the project has a folder of a name, so that what begins with it is a path.
    :raises Unusable: when it can be no path that was meant.
    """
    folder, slash, _ = name.partition("/")
    if is_name(name) and not (slash and is_there(folder)):
        message = f"{shown(name)} is no file, and no config that the catalogue or the hub cache has"
        fetch = suggest_fetching(name)
        elsewhere = (f"{fetch.command}, and name that file",)
        raise Unusable(Finding("config-invalid", message, fetch.sentence, table_key=("config",), elsewhere=elsewhere))
