"""The plan of the house: rooms on floors, every import leads down, and what a room alone may import.

Every import counts: late ones, those under TYPE_CHECKING, and modules that are named in a string for ``-m`` or
``import_module``.
"""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pytest_bertsize"

FLOORS = (
    ("__main__",),
    ("commands", "model_in_hand", "plugin"),
    ("reports",),
    ("review",),
    ("base",),
    ("closed_forms",),
    ("config",),
    ("checkpoint",),
    ("builder", "table"),
    ("differences", "dtypes", "files", "quantity"),
    ("__init__", "findings", "folding", "inventory", "release"),
    ("wording",),
)
"""From the roof down. A room imports what stands on a lower floor, and nothing else; ``__init__`` is the version."""

HANDED_ON = {"__init__": {"commands", "model_in_hand", "review"}}
"""What the package's own face hands on from above, when it is asked for: the public API."""

LIVES_IN = {
    "pytest": "plugin",
    "_pytest": "plugin",
    "torch": "builder/child",
    "transformers": "builder/child",
    "peft": "builder/child",
    "psutil": "builder",
    "tomlkit": "table",
    "yaml": "config",
    "jinja2": "reports",
    "markupsafe": "reports",
}
"""The one folder that may import a library."""

MODULES = {path.relative_to(PACKAGE): ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """Every module that is imported, or named in a string of its own, as a dotted path."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if re.fullmatch(r"pytest_bertsize(\.\w+)+", node.value) else set()
    return found


def rooms_of(names: set[str]) -> set[str]:
    """``pytest_bertsize.config.source.read`` → ``config``; the package's own names are its version."""
    ours = [name.split(".")[1] for name in names if name.startswith("pytest_bertsize.")]
    return {part if (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file() else "__init__" for part in ours}


def test_every_room_has_its_floor() -> None:
    assert sorted(room for floor in FLOORS for room in floor) == sorted({room_of(module) for module in MODULES})


def test_every_import_leads_down() -> None:
    below = {*chain.from_iterable(FLOORS)}
    for floor in FLOORS:
        below -= {*floor}
        for module, tree in MODULES.items():
            if (room := room_of(module)) in floor:
                back = rooms_of(imported(tree)) - below - {room} - HANDED_ON.get(room, set())
                assert back == set(), module


def test_a_library_lives_in_one_room() -> None:
    users = {module.as_posix(): {name.partition(".")[0] for name in imported(tree)} for module, tree in MODULES.items()}
    for library, room in LIVES_IN.items():
        found = [user for user, libraries in users.items() if library in libraries]
        assert found, library  # or the rule is about nothing
        assert [user for user in found if not user.startswith(f"{room}/")] == []


def test_mutation_changes_modules_that_there_are_and_runs_tests_that_there_are() -> None:
    """Read, not imported: mutmut is in an environment of its own."""
    module = ast.parse((PACKAGE.parent / "benchmarks" / "mutation.py").read_text("utf-8"))
    (lists,) = (
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TESTS_OF"
    )
    named = ast.literal_eval(lists)
    assert {name for name in named if Path(f"{name}.py") not in MODULES} == set()
    for file, _, test in {each.partition("::") for those in named.values() for each in those}:
        assert f"def {test}" in (PACKAGE.parent / "tests" / file).read_text("utf-8")
