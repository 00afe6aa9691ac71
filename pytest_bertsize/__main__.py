"""The command ``bertsize``, also as ``python -m pytest_bertsize``: the checks without pytest."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.builder.memory import Memory
    from pytest_bertsize.commands.named_model import Named


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its status: 0 if all passes, 1 for a finding, 2 for an invalid table or command."""
    parser = make_parser()
    given = parser.parse_args(arguments)
    if "run" not in given:
        parser.print_help()
        return 0
    status: int = given.run(given)
    return status


def _run_init(given: argparse.Namespace) -> int:
    root = given.project or Path.cwd()
    if given.factory:
        from pytest_bertsize.builder.helper import Helper
        from pytest_bertsize.commands.init.factory import Wish, declare

        wish = Wish(given.factory, given.name, given.config, given.kwargs, given.write, given.project is not None)
        return declare(root, wish, Helper(), sys.stdout, sys.stderr)
    from pytest_bertsize.commands.console import print_mistakes
    from pytest_bertsize.commands.init.command import start

    if idle := [f"--{option}" for option in ("name", "config", "kwargs") if vars(given)[option]]:
        return print_mistakes([f"{idle[0]} is for one class or function: name it, as in module:function"], sys.stderr)
    return start(root, sys.stdout, sys.stderr, writes=given.write, is_named=given.project is not None)


def _run_check(given: argparse.Namespace) -> int:
    from pytest_bertsize.builder.confined import collector_paused, keep_to_oneself

    keep_to_oneself()  # a factory could otherwise find the later questions here, and the place of the answers
    given.project = [*dict.fromkeys(given.project)]
    if len(given.project) > 1:
        return _check_several(given)
    named = given.project[0] if given.project else None
    memory = None if given.no_build or given.no_cache else _find_memory(named or Path.cwd(), given.cache)
    helper = None if given.no_build else _make_helper(named or Path.cwd(), given.python, memory)
    try:
        with collector_paused():
            from pytest_bertsize.commands.check import check
        root = named or _find_project()
        if helper and memory:
            helper.memory = _find_memory(root, given.cache)
        asked = {"names": given.names, "base": given.base, "python": given.python, "verbosity": given.verbose}
        return check(root, helper, given.report, strict=given.strict, **asked)
    finally:
        if helper:
            helper.stop()


def _run_accept(given: argparse.Namespace) -> int:
    from pytest_bertsize.builder.confined import collector_paused, keep_to_oneself

    keep_to_oneself()
    helper = _make_helper(given.project or Path.cwd(), given.python)
    try:
        with collector_paused():
            from pytest_bertsize.commands.accept import accept
        root = given.project or _find_project()
        return accept(root, helper, given.names, given.reason, base=given.base, python=given.python)
    finally:
        helper.stop()


def _check_several(given: argparse.Namespace) -> int:
    """Check one project after the other, and return the worst status."""
    for option, said in (("--report", given.report), ("a model's name", given.names)):
        if said:
            sys.stderr.write(f"ERROR: {option} is for one project: run check once for each --project\n")
            return 2
    found = {}
    for root in given.project:
        sys.stdout.write(f"{os.path.relpath(root)}:\n")
        sys.stdout.flush()
        found[root] = _run_check(argparse.Namespace(**{**vars(given), "project": [root]}))
    failed = ", ".join(os.path.relpath(root) for root, status in found.items() if status)
    sys.stdout.write(f"{len(found)} projects, {f'failed: {failed}' if failed else 'none failed'}\n")
    return max(found.values())


def _find_project() -> Path:
    from pytest_bertsize.table.settings import find_table

    return find_table(Path.cwd()).parent


def _find_memory(root: Path, folder: str | None) -> Memory | None:
    """Return the store of earlier builds, in ``folder`` or ``.pytest_cache``; ``None`` in CI without ``folder``."""
    from pytest_bertsize.builder.memory import FOLDER, Memory
    from pytest_bertsize.reports.ci import sign_of_ci

    if not folder and sign_of_ci():
        return None
    return Memory(Path(folder) if folder else root / ".pytest_cache" / FOLDER)


def _make_helper(root: Path, python: str | None, memory: Memory | None = None) -> Helper:
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.table.interpreter import may_be_named

    helper = Helper(memory=memory)
    if python is None and not (memory and memory.has_entries()) and not may_be_named(root / "pyproject.toml"):
        helper.start()  # it imports torch while the gate itself is imported here
    return helper


def _show(write: Callable[[argparse.Namespace], str]) -> Callable[[argparse.Namespace], int]:
    """Return a command that prints the text that ``write`` returns."""

    def run_command(given: argparse.Namespace) -> int:
        from pytest_bertsize.commands.console import show

        return show(lambda: write(given))

    return run_command


def _write_explanation(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.explain.command import explain, write_what_if

    named = _read_name(given.config, given)
    if given.page is not None:
        return write_what_if(named, given.page)
    return explain(named, given.format, names=given.names, tensors=given.tensors)


def _write_diff(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.diff import diff

    return diff(_read_name(given.a, given), _read_name(given.b, given), given.format)


def _write_shapes(given: argparse.Namespace) -> str:
    from pytest_bertsize.closed_forms.shapes import Wish
    from pytest_bertsize.commands.fit import fit

    wish = Wish(frozenset(given.keep), given.multiple, given.head_width, given.seq_len)
    return fit(_read_name(given.config, given), given.total, given.flops, wish, given.format)


def _write_log(given: argparse.Namespace) -> str:
    from pytest_bertsize.commands.log import write_log

    return write_log(given.project or _find_project(), given.name, given.commits, by_tag=given.tags, form=given.format)


def _read_name(config: str, given: argparse.Namespace) -> Named:
    """:raises Unusable: for a value of ``--option`` or ``--keys`` that cannot be read."""
    from pytest_bertsize.commands.named_model import Named, parse_keys, parse_options

    return Named(config, given.architecture, given.family, parse_options(given.option), parse_keys(given.keys))


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


class _Once(argparse.Action):
    """An option that may be given once: a second value would silently replace the first."""

    def __call__(self, parser: argparse.ArgumentParser, given: argparse.Namespace, value: object, *_: object) -> None:
        if self.option_strings and self.dest in (said := vars(given).setdefault("once", {})):
            parser.error(f"{self.option_strings[0]} is given twice: {said[self.dest]} and {value}")
        vars(given).setdefault("once", {})[self.dest] = value
        setattr(given, self.dest, value)


class _Parser(argparse.ArgumentParser):
    """A parser that names the option or command that was probably meant."""

    def parse_known_args(self, *given: Any, **named: Any) -> Any:  # of a command as well, which knows its options
        parsed, unknown = super().parse_known_args(*given, **named)
        if unknown and getattr(parsed, "factory", "") in {"python", "python3"}:
            self.error(f"put the command in quotes: '{parsed.factory} {' '.join(unknown)}'")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        from pytest_bertsize.wording import nearest_to

        word = re.match(r"unrecognized arguments: (\S+)|.*: invalid choice: '(\S+)'", message)
        known = COMMANDS if word and word[2] else self._option_string_actions
        meant = word and nearest_to(word[1] or word[2], known, cutoff=0.7)
        super().error(f"{message}; did you mean {meant!r}?" if meant else message)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pytest_bertsize import __version__

        sys.stdout.write(f"pytest-bertsize {__version__}\n")
        parser.exit()


class _Command(NamedTuple):
    help: str
    run: Callable[[argparse.Namespace], int]
    arguments: Mapping[str, str]
    """The help text of each argument, by its usage, such as ``--base REV``. In a usage, ``…`` means that the argument
    may be repeated, and brackets that it may be left out."""


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "--project": {"type": _find_folder},
    "name": {"type": _read_test_id},
    "names": {"type": _read_test_id},
    "--kwargs": {"type": _read_arguments, "default": {}},
    "--name": {"default": ""},
    "--config": {"default": ""},
    "--format": {"choices": ("text", "md", "json"), "default": "text"},
    "--seq-len": {"type": int, "default": 128},
    "--multiple": {"type": int, "default": 64},
    "--head-width": {"type": int},
    "--reason": {"required": True},
    "-v/--verbose": {"action": "count", "default": 0},
}
"""Settings for ``add_argument`` that do not follow from an argument's usage."""
PROJECT = {"--project FOLDER": "the folder of pyproject.toml (default: the nearest with models, from here upwards)"}
MODEL = {
    "--architecture NAME": "the class (default: the only one that the file names)",
    "--family NAME": "the model_type, if the file has none",
    "--option NAME=BOOL…": "a constructor argument, as in add_pooling_layer=false",
    "--keys NAME=KEY…": "the file's own name for a key, as in num_blks=num_hidden_layers",
    "--format": "the format of the output (default: text)",
}
INIT = {
    "--project FOLDER": "the folder of pyproject.toml (default: here)",
    "factory [MODULE:CALLABLE]": 'a function, a class or a command such as "python train.py": build its model once, '
    "and propose a table for it",
    "--name NAME": "the name of that model (default: the function's name, or the one in check_model)",
    "--config FILE": "the config that the function or class gets, a file or a folder",
    "--kwargs JSON": "keyword arguments that the function or class gets, as in '{\"labels\": 9}'",
    "--write": "add the tables to pyproject.toml (default: print them)",
}
CHECK = {
    "names [NAME…]": "the models to check (default: all)",
    "--project FOLDER…": PROJECT["--project FOLDER"],
    "--report PATH…": "write a report, as JSON (.json), Markdown (.md) or a page (.html)",
    "--base REV": "compare with this git revision, at the commit where this branch left it; --base=none compares "
    "with nothing (default: in CI the base of the pull or merge request)",
    "--no-build": "build nothing, and do not import torch: count each model by its closed form, else by its lock",
    "--strict": "with --no-build: fail a model that is not counted, and a factory's model that only its lock counts",
    "--python PATH": "build with this interpreter, in place of the table's",
    "--no-cache": "build every model, also if an earlier run built it from the same files",
    "--cache DIR": "keep builds in this folder for later runs (default: .pytest_cache; in CI none)",
    "-v/--verbose": "show the parts of components (-v), and tensors (-vv)",
}
ACCEPT = {
    "names [NAME…]": "the models to accept (default: all)",
    "--reason WHY": "write this reason, such as 'ADR-12: wider', beside each raised budget",
    **PROJECT,
    "--base REV": "count growth from this git revision, and write the reason also for each limit that was loosened "
    "since this revision (default: HEAD)",
    "--python PATH": CHECK["--python PATH"],
}
EXPLAIN = {
    "--names VOCABULARY": "name the lines as transformers, bert4keras or tensorflow does",
    "--tensors": "show tensors and their shapes",
    "--page PATH": "write a page (.html) with a slider for every size, in place of the text",
}
CONFIG = (
    "a config: FILE or its folder, FILE#key.path, REV:FILE for the file at a git revision, or module:NAME; or a "
    "declared model: NAME, pyproject.toml::NAME or REV:NAME"
)
FIT = {
    "config CONFIG": "a config, as for explain",
    "--total COUNT": "the most parameters, as in 110M (default: the budget of a declared model)",
    "--flops NUMBER": "the most FLOPs of a forward pass, as in 22G",
    "--seq-len TOKENS": "the tokens of that pass (default: 128)",
    "--keep KEY…": "a key whose size does not change, such as vocab_size",
    "--multiple N": "the number of which widths and vocabularies are multiples (default: 64)",
    "--head-width N": "hidden units of one attention head (default: as in the config, or 64)",
}
LOG = {
    "name [NAME]": "a model, by its present or a former name (default: all)",
    "commits [REV..REV]": "the commits after the first revision, up to the second, such as v1..HEAD (default: all)",
    "--tags": "show one row per tag, and the last commit",
    "--format": "the format of the output (default: text)",
}
COMMANDS = {
    "init": _Command(
        "propose a table for each config of the project, or for one class, function or script, which runs once",
        _run_init,
        INIT,
    ),
    "check": _Command(
        "check every model that pyproject.toml declares, without pytest, conftest or plugins",
        _run_check,
        CHECK,
    ),
    "accept": _Command(
        "accept the counts: raise each limit that fails, and write the reason beside it; refused in CI",
        _run_accept,
        ACCEPT,
    ),
    "explain": _Command(
        "show the closed form of a config: component, formula, numbers, parameters",
        _show(_write_explanation),
        {"config CONFIG": CONFIG, **MODEL, **EXPLAIN},
    ),
    "diff": _Command(
        "show the differences between two configs, by component and by key",
        _show(_write_diff),
        {"a A": "a config, as for explain", "b B": "the other config", **MODEL},
    ),
    "fit": _Command(
        "show the shapes that fit a budget and are nearest to today's, as overrides to paste",
        _show(_write_shapes),
        {**FIT, **MODEL},
    ),
    "log": _Command(
        "show how each declared model grew, commit by commit, with the key that caused it",
        _show(_write_log),
        {**LOG, **PROJECT},
    ),
}


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
    elif "action" not in settings:
        settings["action"] = _Once
    if value:
        settings["metavar"] = value.strip("[…]")
    command.add_argument(*names.split("/"), help=text, **settings)


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bertsize",
        allow_abbrev=False,
        description="Compare BERT-family models with their closed form and their budget.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, command in COMMANDS.items():
        added = commands.add_parser(name, allow_abbrev=False, help=command.help)
        added.set_defaults(run=command.run)
        for usage, text in command.arguments.items():
            _add_argument(added, usage, text)
    return parser


def run() -> NoReturn:
    """Run a command, and end the process by ``os._exit``: Python's own exit takes a fifth of the time of a check.

    Closed output (``>&-``) and a reader that stops early are no errors; a full disk is one.
    """
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
