"""A project with one config and one table, in the working folder."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import BertConfig, BertForMaskedLM

from tests.conftest import TINY

TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
"""
Declare = Callable[..., Path]


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Write a table, and the config that it names: by default that of ``encoder``."""

    def write(table: str = TABLE, config: dict[str, Any] | None = None) -> Path:
        (tmp_path / "config.json").write_text(json.dumps(config or TINY, indent=2), encoding="utf-8")
        (tmp_path / "pyproject.toml").write_text(textwrap.dedent(table), encoding="utf-8")
        return tmp_path

    monkeypatch.chdir(tmp_path)
    return write


def make(**keys: Any) -> Any:
    """Make the model of ``config.json``, or one with other keys, as a script does."""
    return BertForMaskedLM(BertConfig(**{**TINY, **keys}))
