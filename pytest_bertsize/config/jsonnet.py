"""A jsonnet file as a config: evaluated by jsonnet's own library in a process of its own."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.config.model_config import LARGEST, fail, made, not_plain, text_of
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_bertsize.config.model_config import ModelConfig

ALLOWED = Allowed(seconds=20.0, memory=1024 * MEGABYTE, answer=2 * LARGEST)
ABSENT = "this is jsonnet, which is read by its own library, and none is installed"
INSTALL = "pip install rjsonnet, or write what jsonnet makes of it into a .json file"


def parse(content: bytes, file: str, inner: str, folder: Path | None) -> ModelConfig:
    """What a jsonnet file evaluates to.

    :param inner: what stands behind the ``#`` of a reference.
    :param folder: of the project, whose files it may import; ``None``: it may import none.
    :raises Unusable: when it is none, or where no library is installed.
    """
    question = {"file": file, "text": text_of(content, file), "root": str(folder.resolve()) if folder else ""}
    try:
        said = answer_of("pytest_bertsize.config.by_jsonnet", question, folder, ALLOWED)
    except Lost as lost:
        fail(file, f"the jsonnet was not evaluated: {lost}", "correct the file")
    if said.get("absent"):
        fail(file, ABSENT, INSTALL)
    if "value" not in said:
        fail(file, f"not jsonnet: {printable(str(said.get('message')))}", "correct the file", said.get("line"))
    if found := not_plain(said["value"]):
        fail(file, found.message, found.fix)
    config = made(said["value"], file, inner)
    return replace(config, sha256=hashlib.sha256(content + config.text.encode()).hexdigest())
