"""Name a model after its folder or its file, and like no other."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from pytest_bertsize.table.model import NAMES, TABLE
from pytest_bertsize.table.toml import key

SAYS_NOTHING = frozenset(
    {
        *("config", "configs", "configuration", "conf", "cfg", "model", "models", "src", "params", "hparams", "json"),
        *("train", "training", "args", "arguments", "settings", "data", "resources", "assets", "checkpoints"),
    }
)
LONGEST = 100


def heading(name: str) -> str:
    """The first line of a model's table: ``[tool.bertsize.models.encoder]``."""
    return f"[{'.'.join((*TABLE, 'models', key(name)))}]"


def model_name(path: str, family: str, taken: Collection[str]) -> str:
    """Return a name that a table can have and that no other model has.

    :param path: of the config: ``models/encoder/config.json`` is called ``encoder``.
    :param family: what the model is called where no part of the path says anything.
    """
    file = PurePosixPath(path)
    stem = "" if file.name in NAMES and (file.parent.name or file.name == NAMES[0]) else file.stem
    parts = [name for part in (stem, *reversed(file.parent.parts)) if (name := _valid(part))]
    telling = [name for name in parts if name.lower() not in SAYS_NOTHING]
    name = telling[0] if telling else _valid(family) or "model"
    if name not in taken:
        return name
    for other in [each for each in (*telling, *parts) if each != name]:
        longer = f"{other}-{name}"[:LONGEST]
        if longer not in taken:
            return longer
    return next(each for number in range(2, len(taken) + 3) if (each := f"{name[:90]}-{number}") not in taken)


def _valid(part: str) -> str:
    """Return a part of a path as a test id can have it, without what only says that it is a config."""
    name = re.sub(r"[^\w.+@-]+", "-", part)
    name = re.sub(r"[._-]conf(ig)?$", "", name, flags=re.IGNORECASE)
    return re.sub(r"^\W+|-+$", "", name)[:LONGEST]
