"""``bertsize``, and ``python -m pytest_bertsize``: the gate without pytest."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  (it has no other name)


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and say how it ended: 0 all within, 1 a finding, 2 a mistake in the table or in the command."""
    given = parser().parse_args(arguments)
    status: int = given.run(given)
    return status


def _check(given: argparse.Namespace) -> int:
    from pytest_bertsize.builder.confined import keep_to_oneself

    keep_to_oneself()  # a factory would find here what is asked after it, and where it is answered
    if given.no_build:
        return _checked(given, None)
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.table.model import may_be_named

    helper = Helper()
    if given.python is None and not may_be_named(given.project / "pyproject.toml"):
        helper.start()  # it imports torch while the gate itself is imported here
    try:
        return _checked(given, helper)
    finally:
        helper.stop()


def _checked(given: argparse.Namespace, helper: Helper | None) -> int:
    from pytest_bertsize.builder.confined import collector_paused

    with collector_paused():
        from pytest_bertsize.commands.check import check

    return check(given.project, helper, given.report, base=given.base, python=given.python, verbosity=given.verbose)


def _init(given: argparse.Namespace) -> int:
    from pytest_bertsize.commands.init.command import start

    root = given.project or Path.cwd()
    return start(root, sys.stdout, sys.stderr, writes=given.write, is_named=given.project is not None)


def _explain(given: argparse.Namespace) -> int:
    from pytest_bertsize.commands.explain.command import explain
    from pytest_bertsize.commands.named_model import Named

    named = Named(given.config, given.architecture, given.family, given.option, given.keys)
    if given.page is not None:
        from pytest_bertsize.commands.explain.page import page

        return page(named, given.page, sys.stdout, sys.stderr)
    return explain(named, sys.stdout, sys.stderr, names=given.names, tensors=given.tensors, form=given.format)


def _diff(given: argparse.Namespace) -> int:
    from pytest_bertsize.commands.diff import diff
    from pytest_bertsize.commands.named_model import Named

    a, b = (Named(path, given.architecture, given.family, given.option, given.keys) for path in (given.a, given.b))
    return diff(a, b, sys.stdout, sys.stderr, form=given.format)


def _log(given: argparse.Namespace) -> int:
    from pytest_bertsize.commands.log import Asked, print_log

    asked = Asked(given.project, given.name, given.commits, given.tags, given.format)
    return print_log(asked, sys.stdout, sys.stderr)


def _fit(given: argparse.Namespace) -> int:
    from pytest_bertsize.commands.fit import Asked, fit
    from pytest_bertsize.commands.named_model import Named

    named = Named(given.config, given.architecture, given.family, given.option, given.keys)
    asked = Asked(given.total, given.flops, given.seq_len, given.keep, given.multiple, given.head_width)
    return fit(named, asked, sys.stdout, sys.stderr, form=given.format)


def _folder(written: str) -> Path:
    if not written or not Path(written).is_dir():
        raise argparse.ArgumentTypeError(f"{written!r} is no folder")
    return Path(written).absolute()


class _Version(argparse.Action):
    """Looked up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pytest_bertsize import __version__

        sys.stdout.write(f"pytest-bertsize {__version__}\n")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="bertsize",
        allow_abbrev=False,
        description="Hold BERT-family models to their closed form and their budget.",
    )
    found.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    _add_init(commands)
    _add_check(commands)
    _add_explain(commands)
    _add_diff(commands)
    _add_fit(commands)
    _add_log(commands)
    return found


def _command(
    commands: Commands, name: str, does: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, allow_abbrev=False, help=does)
    command.set_defaults(run=run)
    return command


def _add_init(commands: Commands) -> None:
    does = "propose a table with a budget for each config of the project, and list the classes that it makes"
    init = _command(commands, "init", does, _init)
    _add_project(init)
    init.set_defaults(project=None)
    init.add_argument("--write", action="store_true", help="add the tables to pyproject.toml (default: print them)")


def _add_check(commands: Commands) -> None:
    does = "check every model that pyproject.toml declares, without pytest, conftest or plugins"
    check = _command(commands, "check", does, _check)
    _add_project(check)
    check.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="PATH",
        help="write what was found to PATH, as JSON (.json), Markdown (.md) or a page (.html); may be repeated",
    )
    check.add_argument(
        "--base",
        metavar="REV",
        help="compare with this git revision, or where this branch left it (default: the base of the request that CI "
        "runs for; none: with nothing)",
    )
    check.add_argument(
        "--no-build",
        action="store_true",
        help="build nothing, and hold budgets against the closed form alone, without torch; every report says so",
    )
    check.add_argument(
        "--python",
        metavar="PATH",
        help="build with this interpreter, whatever the table says: that of the project's own environment, which has "
        "torch and transformers",
    )
    check.add_argument("-v", "--verbose", action="count", default=0, help="unfold components (-v) and tensors (-vv)")


def _add_explain(commands: Commands) -> None:
    does = "show what the count of a config is made of: component, formula, numbers, parameters"
    explain = _command(commands, "explain", does, _explain)
    explain.add_argument(
        "config",
        metavar="CONFIG",
        help="a config file or the folder of one, perhaps with REV: before it and #key.path behind it; module:NAME; "
        "or pyproject.toml::NAME, a model that it declares, by its name alone, too, perhaps with REV: before it",
    )
    _add_model(explain)
    explain.add_argument(
        "--names",
        metavar="VOCABULARY",
        help="name the lines as transformers, bert4keras or tensorflow (Google's checkpoints) does",
    )
    explain.add_argument("--tensors", action="store_true", help="go down to tensors and their shapes")
    explain.add_argument(
        "--page",
        metavar="PATH",
        help="write what if: a page of its own (.html) with a slider for every size, which counts in the browser and "
        "fetches nothing; nothing else is printed then",
    )


def _add_diff(commands: Commands) -> None:
    does = "show what changes from one config to another, or to each of several: by component, by key, and in shape"
    diff = _command(commands, "diff", does, _diff)
    diff.add_argument("a", metavar="A", help="a config, as for explain")
    diff.add_argument("b", metavar="B", help="the other one")
    _add_model(diff)


def _add_fit(commands: Commands) -> None:
    does = "show the shapes that a model could have under a budget, the nearest to today's first, as overrides to paste"
    fit = _command(commands, "fit", does, _fit)
    fit.add_argument("config", metavar="CONFIG", help="a config, as for explain")
    fit.add_argument(
        "--total", metavar="COUNT", help="the most parameters, as in 110M (default: the budget of a declared model)"
    )
    fit.add_argument("--flops", metavar="NUMBER", help="the most FLOPs of a forward pass, as in 22G")
    fit.add_argument(
        "--seq-len", type=int, default=128, metavar="TOKENS", help="the tokens of that pass (default: 128)"
    )
    fit.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="KEY",
        help="a size that stays as it is, as in vocab_size; may be repeated",
    )
    fit.add_argument(
        "--multiple",
        type=int,
        default=64,
        metavar="N",
        help="what widths and vocabularies are multiples of (default: 64)",
    )
    fit.add_argument(
        "--head-width",
        type=int,
        metavar="N",
        help="hidden units of one attention head (default: as many as today, or 64 where no width near has such heads)",
    )
    _add_model(fit)


def _add_log(commands: Commands) -> None:
    does = (
        "show how each declared model grew, commit by commit, with the key that did it: from git alone, nothing is run"
    )
    log = _command(commands, "log", does, _log)
    log.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="a model, by any name that it had (default: all)"
    )
    log.add_argument(
        "commits",
        nargs="?",
        default="",
        metavar="REV..REV",
        help="the commits after one and up to another, as in v1..HEAD (default: all); of a merge, the first parent",
    )
    log.add_argument("--tags", action="store_true", help="go from tag to tag, and to the last commit")
    log.add_argument(
        "--format", choices=("text", "md", "json"), default="text", help="how it is printed (default: text)"
    )
    _add_project(log)


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("--architecture", metavar="NAME", help="the class (default: the only one that the file names)")
    command.add_argument("--family", metavar="NAME", help="the model_type of a file that has none")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=BOOL",
        help="a constructor argument, as in add_pooling_layer=false; may be repeated",
    )
    command.add_argument(
        "--keys",
        action="append",
        default=[],
        metavar="NAME=KEY",
        help="a name that the file has for a key, as in num_blks=num_hidden_layers; may be repeated",
    )
    command.add_argument(
        "--format",
        choices=("text", "md", "json"),
        default="text",
        help="how it is printed: formulas, symbols, counts, the config's hash and versions (default: text)",
    )


def _add_project(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project",
        type=_folder,
        default=Path.cwd(),
        metavar="FOLDER",
        help="the folder of pyproject.toml (default: here)",
    )


def run() -> NoReturn:
    """Run a command, and end the process at once: Python's own way out takes a fifth of a check.

    What it prints may lead nowhere (``>&-``), and its reader may leave early; a disk that is full is no success.
    """
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (to the end of the process)
    try:
        status = _status()
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
    except OSError as error:
        os.write(2, f"ERROR: what was found cannot be printed: {error.strerror or error}\n".encode())
        os._exit(2)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _status() -> int:
    try:
        return main()
    except SystemExit as leaving:  # argparse, which has said why
        return leaving.code if isinstance(leaving.code, int) else 2


if __name__ == "__main__":
    run()
