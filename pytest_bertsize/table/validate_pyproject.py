"""The JSON Schema of ``[tool.bertsize]``, for editors (completion, help, mistakes) and for validate-pyproject.

The schema is a file of the package; reading it imports nothing else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# The schema's file, named as SchemaStore names the schema of a tool that is configured in pyproject.toml.
FILE = Path(__file__).with_name("partial-bertsize.json")


def tool_schema(_tool_name: str = "bertsize") -> dict[str, Any]:
    """Budgets of BERT-family models, which pytest-bertsize checks: [tool.bertsize] in pyproject.toml."""
    schema: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return schema
