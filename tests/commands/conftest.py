"""Shared by the tests of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from pytest_bertsize.__main__ import main

Bertsize: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def bertsize(capsys: pytest.CaptureFixture[str]) -> Bertsize:
    """Run a command: its exit status, what it prints, and its mistakes."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([*arguments])
        return status, *capsys.readouterr()

    return run
