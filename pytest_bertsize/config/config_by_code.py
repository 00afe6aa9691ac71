"""A config that a function of the project returns, ``config = "pkg.cfg:make"``: called in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.builder.limits import MEGABYTE
from pytest_bertsize.builder.own_process import Allowed, Lost, answer_of
from pytest_bertsize.config.model_config import LARGEST, ModelConfig, fail, made, not_plain
from pytest_bertsize.findings import printable

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = Allowed(seconds=30.0, memory=2048 * MEGABYTE, answer=2 * LARGEST)
"""Of which an import of torch and transformers takes 5 s and 400 MB."""
MEND = "mend the function, or name a file"


def read(root: Path, reference: str, allowed: Allowed = ALLOWED) -> ModelConfig:
    """Call the function that a table names, and take what it returns.

    :param root: the project's folder, from which its module is imported.
    :param reference: ``"pkg.cfg:make"``, perhaps with ``#key.path`` behind it.
    :raises Unusable: when it has not made a config.
    """
    location, _, inner = reference.partition("#")
    file = printable(location)
    folder = root.resolve()
    try:
        said = answer_of(
            "pytest_bertsize.config.by_code", {"root": str(folder), "reference": location}, folder, allowed
        )
    except Lost as lost:
        fail(file, f"the config was not made: {lost}", MEND)
    if not isinstance(said, dict) or not isinstance(said.get("config", {}), dict):
        fail(file, "the config was not made: its process answered nonsense", MEND)
    if "config" not in said:
        fail(file, f"the config was not made: {printable(str(said.get('message')))}", printable(str(said.get("fix"))))
    if found := not_plain(said["config"]):
        fail(file, found.message, found.fix)
    config = made(said["config"], file, inner)
    if len(config.text) > LARGEST:
        fail(file, f"the config is larger than {LARGEST:,} bytes", "return the config of one model")
    return config
