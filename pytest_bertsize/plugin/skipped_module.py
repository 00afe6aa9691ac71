"""A module of tests that skips itself on import: what is marked in it would never be looked at, in silence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    import pytest

NAME = "bert_budget"


def fail(report: pytest.CollectReport, collector: pytest.Collector) -> None:
    """Turn its report into a failure where the module uses the marker or the fixture; a comment is no use."""
    line = _line_of_use(collector.path.read_bytes())
    if line:
        skips = "skips itself on import, and has tests with bert_budget, which are never looked at"
        instead = "declare the budget in pyproject.toml, or skip inside of the tests"
        report.outcome = "failed"
        report.longrepr = f"{printable(collector.nodeid)}:{line}: the module {skips}; {instead}"


def _line_of_use(source: bytes) -> int:
    """The first line that has the name as code: an attribute, an argument, or a word of ``usefixtures``; 0 for none."""
    lines = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr == NAME)
        or (isinstance(node, ast.arg) and node.arg == NAME)
        or (isinstance(node, ast.Constant) and node.value == NAME)
    ]
    return min(lines, default=0)
