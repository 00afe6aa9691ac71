"""The JSON Schema of ``[tool.bertsize]``: what editors complete, explain and underline, and validate-pyproject checks.

The schema is a file of the package; reading it imports nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("partial-bertsize.json")
"""The name that SchemaStore gives to the schema of a tool without a file of its own."""


def tool_schema(_tool_name: str = "bertsize") -> dict[str, Any]:
    """Budgets of BERT-family models, which pytest-bertsize checks: [tool.bertsize] in pyproject.toml."""
    schema: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return schema
