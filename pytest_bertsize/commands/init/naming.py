"""What a model is called: after its folder, its file or its place in a file, and like no other."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.schema import TABLE
from pytest_bertsize.table.toml import key

if TYPE_CHECKING:
    from collections.abc import Collection

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


def model_name(reference: str, family: str, taken: Collection[str]) -> str:
    """A name that a table can have and that no other model has.

    :param reference: ``models/encoder/config.json`` is called ``encoder``, ``train.json#model.bert_config`` ``bert``.
    :param family: what the model is called where no part of the reference says anything.
    """
    inner = [name for part in reversed(reference.partition("#")[2].split(".")) if (name := _valid(part))]
    outer = [name for part in _of_path(reference) if (name := _valid(part))]
    telling = [name for name in inner if name.lower() not in SAYS_NOTHING | {"base"}]
    telling += [name for name in outer if name.lower() not in SAYS_NOTHING]
    name = telling[0] if telling else _valid(family) or "model"
    if name not in taken:
        return name
    for other in [each for each in (*telling, *outer) if each != name]:
        longer = f"{other}-{name}"[:LONGEST]
        if longer not in taken:
            return longer
    return next(each for number in range(2, len(taken) + 3) if (each := f"{name[:90]}-{number}") not in taken)


def _of_path(reference: str) -> list[str]:
    """What a file and its folders give for a name, the most telling first."""
    path = PurePosixPath(reference.partition("#")[0])
    stem = "" if path.name in NAMES and (path.parent.name or path.name == NAMES[0]) else path.stem
    return [stem, *reversed(path.parent.parts)]


def _valid(part: str) -> str:
    """As a test id can be, without what only says that it is a config."""
    name = re.sub(r"[^\w.+@-]+", "-", part)
    name = re.sub(r"[._-]conf(ig)?$", "", name, flags=re.IGNORECASE)
    return re.sub(r"^\W+|-+$", "", name)[:LONGEST]
