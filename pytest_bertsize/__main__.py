"""``python -m pytest_bertsize``: the gate without pytest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and say how it ended: 0 all within, 1 a finding, 2 a mistake in the table or in the command."""
    given = parser().parse_args(arguments)
    from pytest_bertsize.outer_check import Order, check

    return check(Order(given.project, given.report, given.verbose))


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m pytest_bertsize", description="Hold BERT-family models to their closed form and their budget."
    )
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check", help="check every model that pyproject.toml declares, without pytest, conftest or plugins"
    )
    check.add_argument(
        "--project", type=Path, default=Path(), metavar="FOLDER", help="the folder of pyproject.toml (default: here)"
    )
    check.add_argument(
        "--report", action="append", default=[], metavar="PATH", help="write what was found as JSON; may be repeated"
    )
    check.add_argument("-v", "--verbose", action="count", default=0, help="unfold components (-v) and tensors (-vv)")
    return found


if __name__ == "__main__":
    sys.exit(main())
