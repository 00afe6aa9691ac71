"""The plan of the house: rooms on floors, every import leads down, and what a room alone may import.

Every import counts: late ones, those under TYPE_CHECKING, and modules that are named in a string for ``-m`` or
``import_module``.
"""

from __future__ import annotations

import ast
import re
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


IMPORTED = {module: imported(tree) for module, tree in MODULES.items()}
ROOMS = {module: module.parts[0].removesuffix(".py") for module in MODULES}


def test_every_room_has_its_floor() -> None:
    assert sorted(room for floor in FLOORS for room in floor) == sorted({*ROOMS.values()})


def test_every_import_leads_down() -> None:
    below = {*ROOMS.values()}
    for floor in FLOORS:
        below -= {*floor}
        for module, room in ROOMS.items():
            if room in floor:
                ours = {name.split(".")[1] for name in IMPORTED[module] if name.startswith("pytest_bertsize.")}
                above = ours & {*ROOMS.values()} - below - {room} - HANDED_ON.get(room, set())
                assert above == set(), module


def test_a_library_lives_in_one_room() -> None:
    for library, room in LIVES_IN.items():
        users = {
            module.as_posix()
            for module in MODULES
            if any(f"{name}.".startswith(f"{library}.") for name in IMPORTED[module])
        }
        assert users, library  # or the rule is about nothing
        assert all(user.startswith(f"{room}/") for user in users), users


def test_mutation_changes_modules_that_there_are_and_runs_tests_that_there_are() -> None:
    """Read, not imported: mutmut is in an environment of its own."""
    text = (PACKAGE.parent / "benchmarks" / "mutation.py").read_text("utf-8")
    named = ast.literal_eval(text.partition("\nTESTS_OF = ")[2].partition("\n}")[0] + "}")
    assert {name for name in named if Path(f"{name}.py") not in MODULES} == set()
    for file, _, test in {each.partition("::") for those in named.values() for each in those}:
        assert f"def {test}" in (PACKAGE.parent / "tests" / file).read_text("utf-8")
