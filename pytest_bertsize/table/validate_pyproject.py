"""The JSON Schema of ``[tool.bertsize]``: what editors complete, explain and underline, and validate-pyproject checks.

It lies in the package as a file; ``python -m pytest_bertsize.table.validate_pyproject`` writes it anew from the models
in ``schema.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("partial-bertsize.json")
"""Named as SchemaStore names the schema of a tool without a file of its own."""


def tool_schema(_tool_name: str = "bertsize") -> dict[str, Any]:
    """Budgets that pytest-bertsize holds BERT-family models to: [tool.bertsize] in pyproject.toml."""
    schema: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return schema


def generated() -> dict[str, Any]:
    """The schema as the models have it now."""
    from pytest_bertsize.table.json_schema import schema

    return schema()


def text_of(schema: dict[str, Any]) -> str:
    """As it stands in the file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    FILE.write_text(text_of(generated()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
