"""What README.md and docs/ say of this repository; their blocks, links and tables are held by ``test_docs.py``."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_ci_runs_the_readmes_own_commands() -> None:
    commands = [line.removeprefix("$ ") for line in README.splitlines() if line.startswith("$ python3")]
    script = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert len(commands) == 2
    assert set(commands) <= set(script)


def test_the_models_that_are_held_at_full_size_are_as_many_as_it_says() -> None:
    lines = (ROOT / "tests" / "data" / "published-counts.jsonl").read_text("utf-8").splitlines()
    count = len({json.loads(line)["model"] for line in lines})
    page = (ROOT / "docs" / "explanation" / "counting.md").read_text("utf-8")
    assert f"{count} published models at full size" in " ".join(page.split())
