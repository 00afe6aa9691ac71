"""Whether a tag is this version's, and the changelog has a section for it: ``python tests/project/version_of_tag.py v1.2.0``.

Without a tag there is nothing to hold the version against, and nothing is said.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def mistakes(tag: str, version: str, changelog: str) -> list[str]:
    found = []
    if tag != f"v{version}":
        what = f"the tag is {tag}, and the version in pyproject.toml is {version}"
        found.append(f"{what}: tag v{version}, or change it there")
    if f"\n## [{version}]" not in changelog:
        found.append(f"CHANGELOG.md has no section [{version}]: rename [Unreleased], and start a new one above it")
    return found


def main() -> str | None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = [each for tag in sys.argv[1:] for each in mistakes(tag, project["version"], changelog)]
    return "\n".join(found) or None


if __name__ == "__main__":
    sys.exit(main())
