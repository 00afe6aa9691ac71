"""Check the words of the project: ``python -m tests.support.words``; CONTRIBUTING.md, "Words", says why."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = re.compile(r"(What|Of|Whether|Where|When|As|That|Which|Whose|How|In|By|With|For|To)\b")
"""Words that no docstring starts with, but a module's."""
AVOIDED = re.compile(
    r"\b(told|stands? (?:in(?! for)|at|on|there|above|below|behind|beside)|stood (?:in|at|there)|held to|holds? it to|of which there)\b"
)
"""Words that have a plainer one."""


def find_words(path: Path) -> Iterator[str]:
    """Yield the line and the words of each text, docstring and string that the guide refuses."""
    text = path.read_text("utf-8")
    nodes = [*ast.walk(ast.parse(text))] if path.suffix == ".py" else [ast.Constant(text, lineno=1)]
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring))) if node.lineno > 1 and FIRST.match(docstring):
                yield f"{node.lineno}: a docstring starts with {docstring.split()[0]}"
            case ast.Constant(value=str(said)):
                for found in AVOIDED.finditer(said):
                    yield f'{node.lineno + said.count(chr(10), 0, found.start())}: "{found[0]}"'


if __name__ == "__main__":
    PATHS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("pytest_bertsize/**/*.py"))]
    sys.exit("\n".join(f"{path.relative_to(ROOT)}:{each}" for path in PATHS for each in find_words(path)) or None)
