"""Check the words of the project: ``python -m tests.support.words``; CONTRIBUTING.md, "Words", says why."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = re.compile(r"(What|Of|Whether|Where|When|As|That|Which|Whose|How|In|By|With|For|To)\b")
"""Words that no docstring starts with."""
AVOIDED = re.compile(
    r"\b(told|stands? (?:in(?! for)|at|on|there|above|below|behind|beside)|stood (?:in|at|there)|held to|holds? it to|of which there)\b"
)
"""Words that have a plainer one."""


def find_in_code(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each docstring and string that the guide refuses."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = FIRST.match(ast.get_docstring(node) or "")
            if first and not isinstance(node, ast.Module):
                yield node.lineno, f"a docstring starts with {first[0]}"
            for value, docstring in pairwise(node.body):
                if isinstance(value, ast.Assign | ast.AnnAssign) and isinstance(docstring, ast.Expr):
                    first = FIRST.match(str(getattr(docstring.value, "value", "")))
                    if first:
                        yield docstring.lineno, f"a docstring starts with {first[0]}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((node.lineno, f'"{found[0]}"') for found in AVOIDED.finditer(node.value))


def find_in_text(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        yield from ((number, f'"{found[0]}"') for found in AVOIDED.finditer(line))


def main() -> int:
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    places = [(path, *found) for path in sorted(ROOT.glob("pytest_bertsize/**/*.py")) for found in find_in_code(path)]
    places += [(path, *found) for path in pages for found in find_in_text(path)]
    for path, line, words in places:
        sys.stdout.write(f"{path.relative_to(ROOT)}:{line}: {words}\n")
    return int(bool(places))


if __name__ == "__main__":
    sys.exit(main())
