"""``python -m pytest_bertsize``: the gate without pytest."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and say how it ended: 0 all within, 1 a finding, 2 a mistake in the table or in the command."""
    given = parser().parse_args(arguments)
    status: int = given.run(given)
    return status


def _check(given: argparse.Namespace) -> int:
    from pytest_bertsize.outer_check import Order, check

    return check(Order(given.project, given.report, given.verbose))


def _check_report(given: argparse.Namespace) -> int:
    from pytest_bertsize.report_check import ReportOrder, check_report

    return check_report(ReportOrder(given.path, given.project, given.commit))


def _folder(written: str) -> Path:
    if not written or not Path(written).is_dir():
        raise argparse.ArgumentTypeError(f"{written!r} is no folder")
    return Path(written).absolute()


def _name_of_commit(written: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", written):
        raise argparse.ArgumentTypeError(f"{written!r} is not the full name of a commit, as git rev-parse HEAD says it")
    return written


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m pytest_bertsize",
        allow_abbrev=False,
        description="Hold BERT-family models to their closed form and their budget.",
    )
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check",
        allow_abbrev=False,
        help="check every model that pyproject.toml declares, without pytest, conftest or plugins",
    )
    check.set_defaults(run=_check)
    _add_project(check)
    check.add_argument(
        "--report", action="append", default=[], metavar="PATH", help="write what was found as JSON; may be repeated"
    )
    check.add_argument("-v", "--verbose", action="count", default=0, help="unfold components (-v) and tensors (-vv)")
    report = commands.add_parser(
        "check-report",
        allow_abbrev=False,
        help="refuse a JSON report that is incomplete, or of another commit, table or config",
    )
    report.set_defaults(run=_check_report)
    report.add_argument("path", type=Path, metavar="PATH", help="the report")
    _add_project(report)
    report.add_argument(
        "--commit",
        type=_name_of_commit,
        metavar="SHA",
        help="the commit it has to be of (default: the one checked out)",
    )
    return found


def _add_project(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project",
        type=_folder,
        default=Path.cwd(),
        metavar="FOLDER",
        help="the folder of pyproject.toml (default: here)",
    )


if __name__ == "__main__":
    sys.exit(main())
