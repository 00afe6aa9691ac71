"""Projects for ``init`` to look at, and what it says of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import tomli

from pytest_bertsize.commands import check
from pytest_bertsize.commands.init.command import start
from tests.conftest import TINY

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper

GOOGLE = {key: value for key, value in TINY.items() if key not in {"model_type", "architectures"}}
"""As Google's bert_config.json is written."""
SAVED = {**TINY, "transformers_version": "4.41.2", "_name_or_path": "bert", "torch_dtype": "float32"}
"""What a trainer writes of it into a checkpoint."""


def lay(root: Path, **files: Any) -> Path:
    """Write files by their paths; what is no text is written as JSON."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content, indent=2)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def changed(file: Path, **keys: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **keys}), encoding="utf-8")


def started(
    here: Path, *, project: str = "", writes: bool = False, is_named: bool = True, columns: int = 1_000
) -> tuple[int, str, str]:
    """The exit status of ``init``, and what it prints, in a folder that is the project's or has it below."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(here), mock.patch.dict(os.environ, COLUMNS=str(columns)):
        status = start(Path(project) if project else here, out, err, writes=writes, is_named=is_named)
    return status, out.getvalue(), err.getvalue()


def proposed(root: Path) -> dict[str, Any]:
    """The tables that ``init`` prints, by the names of their models; there have to be some."""
    status, out, err = started(root)
    assert status == 0, err
    models: dict[str, Any] = tomli.loads(out)["tool"]["bertsize"]["models"]
    return models


def configs(root: Path) -> list[str]:
    return [table["config"] for table in proposed(root).values()]


def group(root: Path, title: str) -> list[str]:
    """Return the lines of a list below its title; none if there is no such title."""
    found = re.search(rf"^{title}:\n((?:- .*\n)*)", started(root)[2], re.MULTILINE)
    return [line.removeprefix("- ") for line in found[1].splitlines()] if found else []


def by_hand(root: Path) -> list[str]:
    return group(root, "configs to declare by hand")


def left_out(root: Path) -> list[str]:
    return group(root, "left out")


def holds(root: Path, helper: Helper | None = None) -> tuple[int, str]:
    """What the gate says of a project; without a helper nothing is built."""
    out = io.StringIO()
    return check.check(root, helper, out=out, err=out), out.getvalue()
