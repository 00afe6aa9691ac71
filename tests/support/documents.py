"""README.md and docs/ as tests: each block is run, loaded or compared, and one that no rule knows is an error.

sybil reads the documents and evaluates their blocks. Its integration into pytest is not used: it makes a test of each
block, xdist hands these to several workers, and the blocks of a document are one story, in which a command finds the files
that the blocks before it have written. Here a document is one test.

What a reader of the page does not see is said in comments:

- ``<!-- project: examples/lora -->``: what follows happens in a copy of that folder; ``empty`` is an empty one.
- ``<!-- file: config.json -->``: the next block is that file of the project, and is written to it.
- ``<!-- in: action.yml -->``: the next block stands in that file of this repository, word for word.

In a ``console`` block a line with nothing but ``…`` stands for any lines. What differs from run to run is made equal by
the rules in :data:`RULES`, on both sides.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from sybil import Region, Sybil
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

from pytest_bertsize.__main__ import make_parser
from pytest_bertsize.table.settings import SettingsError, parse
from tests.conftest import without_others
from tests.support.paths import run_apart

if TYPE_CHECKING:
    from sybil import Document, Example

ROOT = Path(__file__).parents[2]
ELIDED = "…"
HERE = "/home/me/project"
"""What the folder of a project is called in a document."""
NOT_RUN = re.compile(r"pip install .+|python3 -m venv .+")
"""Commands that want a network."""
RULES: Mapping[str, tuple[str, str]] = {
    "pytest's last line, which has a duration": (r"^=+ (.+) in [\d.]+s =+$", r"=== \1 in 0.00s ==="),
    "a commit": (r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)(?:[0-9a-f]{10}|[0-9a-f]{7}|[0-9a-f]{40})\b", "<commit>"),
    "the day of a commit": (r"<commit>  \d{4}-\d\d-\d\d", "<commit>  <day>"),
    "a hash of a file": (r"\b[0-9a-f]{64}\b", "<sha256>"),
    "a version": (r"\b(pytest-bertsize|pytest|Python|torch|transformers)([- ])\d+\.\d[\w.+]*", r"\1\2<version>"),
}
SCHEMAS = {".github/workflows/": "vendor.github-workflows", ".gitlab-ci.yml": "vendor.gitlab-ci"}
"""The schema of a YAML file, by the beginning of its path."""


def validate(*arguments: str) -> str:
    import check_jsonschema
    from click.testing import CliRunner

    return str(CliRunner().invoke(check_jsonschema.main, arguments).output)


def normal(text: str) -> str:
    """Text without what differs from run to run, and without spaces at the ends of lines."""
    text = "\n".join(line.rstrip() for line in text.splitlines())
    for pattern, instead in RULES.values():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text.strip("\n")


def is_shown_by(printed: str, shown: str) -> bool:
    """Return whether a document shows what was printed; each line ``…`` is for any lines, or for none."""
    lines = (r"(?:.*\n)*?" if line == ELIDED else re.escape(line) + r"\n" for line in normal(shown).split("\n"))
    return re.fullmatch("".join(lines), normal(printed) + "\n") is not None


def commands(source: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, each with what the block says that it prints; after a backslash a command goes on."""
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = next(number for number, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:end]), "\n".join(lines[end:])


def find_fault(path: Path, place: str) -> str | None:
    """Return what is wrong with a YAML file by the schema of its place, or by pre-commit, or in what it uses of ours."""
    from pre_commit.clientlib import load_config

    schema = next((known for beginning, known in SCHEMAS.items() if place.startswith(beginning)), "")
    if schema:
        said = validate("--builtin-schema", schema, str(path))
        assert said == "ok -- validation done\n", said
    else:
        load_config(str(path))
    return next(list_wrong_uses(yaml.safe_load(path.read_text("utf-8"))), None)


def list_wrong_uses(content: Any) -> Iterator[str]:
    """Yield the commands, hooks and inputs that a file of a CI names, and that do not exist."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    for each in _objects(content):
        if "/pytest-bertsize@" in str(each.get("uses", "")):
            yield from (
                f"action.yml has no input {name}" for name in each.get("with", {}) if name not in action["inputs"]
            )
        if str(each.get("repo", "")).endswith("/pytest-bertsize"):
            yield from (f"there is no hook {hook['id']}" for hook in each["hooks"] if hook["id"] not in hooks)
        script = each.get("script", [])
        for line in (each.get("run", ""), *([script] if isinstance(script, str) else script)):
            for arguments in re.findall(r"(?:-m pytest_|^)bertsize (.+)", line):
                try:
                    make_parser().parse_args(arguments.replace('"', "").split())
                except SystemExit:
                    yield f"bertsize does not take {arguments}"


def _objects(content: object) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
    for each in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _objects(each)


@dataclass
class Story:
    """What the blocks of a document have led to so far."""

    home: Path
    programs: Path
    projects: int = 0
    folder: Path = Path("no project was begun")
    file: str = ""
    """What the next block is, if a comment before it says so."""
    like: str = ""
    """The file of this repository that has the next block."""
    status: int = 0
    """Of the last command."""

    def obey(self, example: Example) -> None:
        """Begin the project, or keep the file, that a comment names."""
        what, argument = example.region.lexemes["directive"], str(example.region.lexemes["arguments"]).strip()
        if what == "project":
            self.projects += 1
            self.folder = self.home / str(self.projects) / "project"
            self.folder.mkdir(parents=True)
            if argument != "empty":
                ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
                shutil.copytree(ROOT / argument, self.folder, ignore=ignored, dirs_exist_ok=True)
        else:
            vars(self)["file" if what == "file" else "like"] = argument

    def check(self, example: Example) -> str | None:
        """Return what is wrong with a block, ``None`` if nothing is."""
        language, source = str(example.region.lexemes["language"]), str(example.region.lexemes["source"])
        file, like, self.file, self.like = self.file, self.like, "", ""
        if file:
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(source, encoding="utf-8")
        if like:
            return None if source in (ROOT / like).read_text("utf-8") else f"{like} does not say this"
        if language == "console":
            found = [*commands(source)] if source.startswith("$ ") else []
            wrong = (self.find_difference(line, shown) for line, shown in found)
            return next(filter(None, wrong), None) if found else "a console block begins with a command: $ …"
        if language == "toml" and "tool.bertsize" in source:
            try:
                parse(source, Path("pyproject.toml"), matches=lambda pattern: [pattern.replace("*", "small")])
            except SettingsError as error:
                return str(error)
        elif not file:
            return f"no test understands this block of {language}: write before it <!-- file: … -->, or <!-- in: … -->"
        return find_fault(self.folder / file, file) if language == "yaml" else None

    def find_difference(self, line: str, shown: str) -> str | None:
        """Run a command, and return how it ends or prints otherwise than is shown."""
        if NOT_RUN.fullmatch(line):
            return f"{line} is not run, and prints nothing here" if shown else None
        printed = self.run(line)
        if shown == ELIDED:
            return f"{line} exits with {self.status}:\n{printed}" if self.status else None
        if is_shown_by(printed, shown):
            return None
        return f"$ {line}\n{normal(printed)}\n\nis printed, and this is shown:\n\n{normal(shown)}"

    def run(self, line: str) -> str:
        """Run a line in a developer's shell of 80 columns, and return what was printed on both of its outputs."""
        path = [str(self.programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        who = {"NAME": "A", "EMAIL": "a@example.org", "DATE": "2026-01-01T00:00:00Z"}
        variables = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        variables |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        variables |= {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "PYTEST_ADDOPTS": without_others()}
        command = ["bash", "-c", f"(exit {self.status})\n{line}"]
        done = run_apart(command, self.folder, os.pathsep.join(path), **variables)
        self.status = done.returncode
        return done.stdout.replace(str(self.folder), HERE)


def evaluate(path: Path, home: Path, programs: Path) -> int:
    """Compare a document with what its blocks do, and return how many these are.

    :param home: where its projects are laid out.
    :param programs: the folder of ``python`` and ``pytest``.
    """
    story = Story(home, programs)
    blocks = RawFencedCodeBlockLexer(re.compile(r"(?P<language>.*)$\n", re.MULTILINE))
    comments = DirectiveInHTMLCommentLexer("(?:project|file|in)")

    def regions(document: Document) -> Iterable[Region]:
        for region in blocks(document):
            yield Region(region.start, region.end, evaluator=story.check, lexemes=region.lexemes)
        for region in comments(document):
            yield Region(region.start, region.end, evaluator=story.obey, lexemes=region.lexemes)

    examples = [*Sybil([regions]).parse(path).examples()]
    for example in examples:
        example.evaluate()
    return len(examples)
