"""Compare a tag with the version and the changelog: ``python tests/project/version_of_tag.py v1.2.0``; without one, nothing."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def mistakes(tag: str, version: str, changelog: str) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"the tag is {tag}, and the version in pyproject.toml is {version}: tag v{version}, or change it there"
    if f"\n## [{version}]" not in changelog:
        yield f"CHANGELOG.md has no section [{version}]: rename [Unreleased], and start a new one above it"


if __name__ == "__main__":
    VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sys.exit("\n".join(each for tag in sys.argv[1:] for each in mistakes(tag, VERSION, CHANGELOG)) or None)
