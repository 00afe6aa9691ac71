"""The way in which configs and adapters are read, on the disk or at a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_bertsize.builder.published import Found
    from pytest_bertsize.config.model_config import ModelConfig


class Reader(Protocol):
    """A reader of a project's files on the disk or at a commit. It raises Unusable for an unreadable file."""

    at: str  # the end of a file's name in messages: nothing, or ``" at main"``

    def config(self, location: str) -> Found:
        """Return the config that ``location`` names as a file, as a folder with one config, or as a name of the hub."""

    def file(self, location: str) -> bytes | None:
        """Return the content of a small file; ``None`` if there is no such file."""

    def adapter(self, location: str) -> bytes:
        """Return the content of an adapter_config.json."""

    def made_by_code(self, reference: str) -> ModelConfig:
        """Return the config that a module of the project has, makes or names."""
