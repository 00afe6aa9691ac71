"""The command ``bertsize``, also as ``python -m pytest_bertsize``: the checks without pytest."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.builder.memory import Memory
    from pytest_bertsize.table.model import Model


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its status: 0 if all passes, 1 for a finding, 2 for an invalid table or command."""
    parser = make_parser()
    given = parser.parse_args(arguments)
    if "run" in given:
        return int(given.run(given))
    if "text" in given:
        from pytest_bertsize.commands.console import show

        return show(lambda: given.text(given))
    if given.version:
        from pytest_bertsize import __version__

        sys.stdout.write(f"pytest-bertsize {__version__}\n")
    else:
        parser.print_help()
    return 0


def _run_init(given: argparse.Namespace) -> int:
    root, is_named = given.project or Path.cwd(), given.project is not None
    if given.factory:
        from pytest_bertsize.builder.helper import Helper
        from pytest_bertsize.commands.init.factory import declare
        from pytest_bertsize.commands.init.own_class import Draft

        wish = Draft(given.name, given.factory, given.kwargs, given.config)
        return declare(root, wish, Helper(), sys.stdout, sys.stderr, writes=given.write, is_named=is_named)
    if idle := [f"--{option}" for option in ("name", "config", "kwargs") if vars(given)[option]]:
        from pytest_bertsize.commands.console import print_mistakes

        return print_mistakes([f"{idle[0]} is for one class or function: name it, as in module:function"], sys.stderr)
    from pytest_bertsize.commands.init.command import start

    return start(root, sys.stdout, sys.stderr, writes=given.write, is_named=is_named)


def _run_check(given: argparse.Namespace) -> int:
    """Check one project after the other, and return the worst status."""
    projects = [*dict.fromkeys(given.project)] or [None]
    is_one, found = len(projects) == 1, {}
    if not is_one and (given.report or given.names):
        from pytest_bertsize.commands.console import print_mistakes

        what = "--report" if given.report else "a model's name"
        return print_mistakes([f"{what} is for one project: run check once for each --project"], sys.stderr)
    for root in projects:
        if not is_one:
            sys.stdout.write(f"{os.path.relpath(root)}:\n")
            sys.stdout.flush()
        with _make_helper(given, root, builds=not given.no_build) as (here, helper):
            from pytest_bertsize.commands.check import check

            asked = {"names": given.names, "base": given.base, "python": given.python, "verbosity": given.verbose}
            found[root] = check(here, helper, given.report, strict=given.strict, **asked)
    if not is_one:
        failed = ", ".join(os.path.relpath(root) for root, status in found.items() if status)
        sys.stdout.write(f"{len(found)} projects, {f'failed: {failed}' if failed else 'none failed'}\n")
    return max(found.values())


def _run_accept(given: argparse.Namespace) -> int:
    with _make_helper(given, given.project, builds=True) as (root, helper):
        from pytest_bertsize.commands.accept import accept

        assert helper
        return accept(root, helper, given.names, given.reason, base=given.base, python=given.python)


@contextlib.contextmanager
def _make_helper(
    given: argparse.Namespace, named: Path | None, *, builds: bool
) -> Iterator[tuple[Path, Helper | None]]:
    """Yield the project's folder and the process that builds, which starts before the gate is imported."""
    from pytest_bertsize.builder.confined import collector_paused, keep_to_oneself

    keep_to_oneself()  # a factory could otherwise find the later questions here, and the place of the answers
    helper = None
    with contextlib.ExitStack() as at_the_end:
        if builds:
            from pytest_bertsize.builder.helper import Helper
            from pytest_bertsize.table.interpreter import may_be_named

            folder = named or Path.cwd()
            helper = Helper(memory=_find_memory(folder, given))
            at_the_end.callback(helper.stop)
            has_builds = helper.memory and helper.memory.has_entries()
            if given.python is None and not has_builds and not may_be_named(folder / "pyproject.toml"):
                helper.start()  # it imports torch meanwhile
        with collector_paused():
            import pytest_bertsize.commands.check  # noqa: F401
            from pytest_bertsize.table.settings import find_table
        root = named or find_table(Path.cwd()).parent
        if helper and helper.memory:
            helper.memory = _find_memory(root, given)
        yield root, helper


def _find_memory(root: Path, given: argparse.Namespace) -> Memory | None:
    """Return the store of earlier builds, by default in ``.pytest_cache``, but in CI only where ``--cache`` says."""
    from pytest_bertsize.builder.memory import FOLDER, Memory
    from pytest_bertsize.reports.ci import sign_of_ci

    folder = getattr(given, "cache", None)
    if "cache" not in given or given.no_cache or (sign_of_ci() and not folder):
        return None
    return Memory(Path(folder) if folder else root / ".pytest_cache" / FOLDER)


def _write_explain(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.explain.command import explain, write_what_if

    named = _read_name(given.config, given)
    if given.page is not None:
        return write_what_if(named, given.page)
    return explain(named, given.format, names=given.names, tensors=given.tensors)


def _write_diff(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.diff import diff

    return diff(_read_name(given.a, given), _read_name(given.b, given), given.format)


def _write_fit(given: argparse.Namespace) -> str:
    from pytest_bertsize.closed_forms.shapes import Wish
    from pytest_bertsize.commands.fit import fit

    wish = Wish(frozenset(given.keep), given.multiple, given.head_width, given.seq_len)
    return fit(_read_name(given.config, given), given.total, given.flops, wish, given.format)


def _write_log(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.log import write_log
    from pytest_bertsize.table.settings import find_table

    root = given.project or find_table(Path.cwd()).parent
    return write_log(root, given.name, given.commits, by_tag=given.tags, form=given.format)


def _read_name(config: str, given: argparse.Namespace) -> Model:
    from pytest_bertsize.table.limits import Budget
    from pytest_bertsize.table.model import Model

    options, keys = {name: value == "true" for name, value in given.option}, dict(given.keys)
    said = {"architecture": given.architecture, "family": given.family, "options": options, "keys": keys}
    return Model(config=config, **said, budget=Budget())


# the command line


def _find_folder(written: str) -> Path:
    if not written or not Path(written).is_dir():
        raise argparse.ArgumentTypeError(f"{written!r} is not a folder")
    return Path(written).absolute()


def _read_test_id(written: str) -> str:
    """Return a model's name, which may be written as its test id: ``pyproject.toml::tagger``."""
    return written.removeprefix("pyproject.toml::")


def _read_arguments(written: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        if isinstance(found := json.loads(written), dict):
            return found
    raise argparse.ArgumentTypeError(f"{written!r} is not a JSON object: write '{{\"labels\": 9}}', for example")


def _read_pair(pattern: str, usage: str, example: str) -> Callable[[str], tuple[str, str]]:
    def read(written: str) -> tuple[str, str]:
        if found := re.fullmatch(pattern, written):
            return found[1], found[2]
        raise argparse.ArgumentTypeError(f"{written!r} is not {usage}: write {example}, for example")

    return read


class _Parser(argparse.ArgumentParser):
    """A parser whose commands themselves refuse unknown arguments."""

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        parsed, unknown = super().parse_known_args(*given, **named)
        if unknown and getattr(parsed, "factory", "") in {"python", "python3", "bash"}:
            self.error(f"put the command in quotes: '{parsed.factory} {' '.join(unknown)}'")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown


# Settings for ``add_argument`` that do not follow from an argument's usage.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "--project": {"type": _find_folder},
    "name": {"type": _read_test_id},
    "names": {"type": _read_test_id},
    "--option": {"type": _read_pair(r"([^\W\d]\w*)=(true|false)", "NAME=BOOL", "add_pooling_layer=false")},
    "--keys": {"type": _read_pair(r"([^=]+)=([^\W\d]\w*)", "NAME=KEY", "num_blks=num_hidden_layers")},
    "--kwargs": {"type": _read_arguments, "default": {}},
    "--name": {"default": ""},
    "--names": {"choices": ("transformers", "bert4keras", "tensorflow")},
    "--config": {"default": ""},
    "--format": {"choices": ("text", "md", "json"), "default": "text"},
    "--seq-len": {"type": int, "default": 128},
    "--multiple": {"type": int, "default": 64},
    "--head-width": {"type": int},
    "--reason": {"required": True},
    "-v/--verbose": {"action": "count", "default": 0},
}
# The function of each command: it runs the command and returns its status, or writes the text to show.
COMMANDS: Mapping[str, Mapping[str, Callable[[argparse.Namespace], Any]]] = {
    "init": {"run": _run_init},
    "check": {"run": _run_check},
    "accept": {"run": _run_accept},
    "explain": {"text": _write_explain},
    "diff": {"text": _write_diff},
    "fit": {"text": _write_fit},
    "log": {"text": _write_log},
}
# The commands, and below each its arguments: the usage, two spaces, and the help text.
#
# In a usage, ``…`` means that the argument may be repeated, and brackets that it may be left out.
USAGE = Path(__file__).with_name("usage.txt")


def _add_argument(command: argparse.ArgumentParser, usage: str, text: str) -> None:
    names, _, value = usage.partition(" ")
    settings = dict(SETTINGS.get(names, {}))
    if value.endswith("…"):
        settings |= {"action": "append", "default": []}
        text += "; may be repeated"
    elif value.startswith("["):
        settings |= {"nargs": "*"} if value.endswith("…]") else {"nargs": "?", "default": ""}
    elif not value and not settings:
        settings["action"] = "store_true"
    if value:
        settings["metavar"] = value.strip("[…]")
    command.add_argument(*names.split("/"), help=text, **settings)


def make_parser() -> argparse.ArgumentParser:
    purpose = "Compare BERT-family models with their closed form and their budget."
    parser = _Parser(prog="bertsize", allow_abbrev=False, description=purpose)
    parser.add_argument("--version", action="store_true", help="show the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    command: argparse.ArgumentParser = parser
    for line in USAGE.read_text("utf-8").replace("\n      ", " ").splitlines():
        usage, _, text = line.strip().partition("  ")
        if line.startswith(" "):
            _add_argument(command, usage, text)
        else:
            command = commands.add_parser(usage, allow_abbrev=False, help=text)
            command.set_defaults(**COMMANDS[usage])
    return parser


def run() -> NoReturn:
    """Run a command, and end by ``os._exit``: Python's exit takes a fifth of a check. Only a full disk is an error."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (to the end of the process)
    try:
        try:
            status = main()
        except SystemExit as leaving:  # argparse, which has printed why
            status = leaving.code if isinstance(leaving.code, int) else 2
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
    except OSError as error:
        os.write(2, f"ERROR: the result cannot be printed: {error.strerror or error}\n".encode())
        os._exit(2)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
