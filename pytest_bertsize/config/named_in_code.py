"""Whether the project's own Python names a key of a config: it may then run another class than the library's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from pytest_bertsize.files import NotRegular, regular
from pytest_bertsize.wording import printable

MOST_FILES = 2_000
MOST_BYTES = 16 * 1024 * 1024
"""In all of them; what is more is not looked at."""
LEFT_OUT = frozenset({"node_modules", "site-packages", "build", "dist", "__pycache__"})
"""Like hidden folders and environments: copies of other people's code."""
OF_AN_ENVIRONMENT = "pyvenv.cfg"


def where_named(root: Path, key: str) -> str:
    """The first place that reads a key, as ``config.fusion_layer`` or ``"fusion_layer"``; ``""`` for none.

    :return: ``"models/fusion.py:12"``, relative to the root.
    """
    if not key.isidentifier():
        return ""
    pattern = re.compile(rf"(?i:\w*(?:conf|cfg|config|args|params))\.{key}\b|([\"']){key}\1")
    for file, text in _sources(root):
        if key in text and (found := pattern.search(text)):
            return f"{printable(file)}:{text.count(chr(10), 0, found.start()) + 1}"
    return ""


def imports(root: Path, *modules: str) -> bool:
    """Whether some of the project's Python imports one of these modules."""
    pattern = re.compile(rf"^[^\S\n]*(?:import|from)\s+(?:{'|'.join(map(re.escape, modules))})\b", re.MULTILINE)
    return any(pattern.search(text) for _, text in _sources(root))


@lru_cache(4)
def _sources(root: Path) -> tuple[tuple[str, str], ...]:
    """The project's Python by its paths, that near the root first."""
    found, size = [], 0
    for file in sorted(_files(root), key=lambda each: (each.count("/"), each)):
        try:
            with regular(root / file) as stream:
                text = stream.read(MOST_BYTES + 1 - size).decode("utf-8", "replace")
        except (OSError, NotRegular):
            continue
        size += len(text)
        if size > MOST_BYTES:
            break
        found.append((file, text))
    return tuple(found)


def _files(root: Path) -> Iterator[str]:
    count = 0
    for folder, inner, files in os.walk(root):
        is_other = OF_AN_ENVIRONMENT in files
        inner[:] = [] if is_other else sorted(name for name in inner if name[0] != "." and name not in LEFT_OUT)
        for name in files if not is_other else ():
            if name.endswith(".py"):
                count += 1
                if count > MOST_FILES:
                    return
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")  # noqa: PTH118
