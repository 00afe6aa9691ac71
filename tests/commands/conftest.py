"""Shared by the tests of commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_bertsize.__main__ import main
from pytest_bertsize.commands.console import GOOD, MISTAKEN


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


@dataclass(frozen=True)
class Bertsize:
    """The command line, in this process."""

    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit status, what is printed, and the mistakes."""
        self.capsys.readouterr()
        status = main([*arguments])
        return status, *self.capsys.readouterr()

    def printed(self, *arguments: str) -> str:
        """Return what a command prints that finds no mistake."""
        status, out, err = self.run(*arguments)
        assert (status, err) == (GOOD, "")
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.printed(*arguments, "--format", "json"))

    def refused(self, *arguments: str) -> str:
        """Return the mistakes for which nothing is printed."""
        status, out, err = self.run(*arguments)
        assert (status, out) == (MISTAKEN, "")
        return err


@pytest.fixture
def bertsize(capsys: pytest.CaptureFixture[str]) -> Bertsize:
    return Bertsize(capsys)
