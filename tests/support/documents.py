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
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from sybil import Region, Sybil
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

from pytest_bertsize.__main__ import make_parser
from pytest_bertsize.reports import ci
from pytest_bertsize.table.settings import SettingsError, parse
from tests.conftest import without_others

if TYPE_CHECKING:
    from sybil import Document, Example

ROOT = Path(__file__).parents[2]
ELIDED = "…"
HERE = "/home/me/project"
"""What the folder of a project is called in a document."""

RULES: Mapping[str, tuple[str, str]] = {
    "pytest's last line, which has a duration": (r"^=+ (.+) in [\d.]+s =+$", r"=== \1 in 0.00s ==="),
    "a commit": (r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)(?:[0-9a-f]{10}|[0-9a-f]{7}|[0-9a-f]{40})\b", "<commit>"),
    "the day of a commit": (r"<commit>  \d{4}-\d\d-\d\d", "<commit>  <day>"),
    "a hash of a file": (r"\b[0-9a-f]{64}\b", "<sha256>"),
    "a version": (r"\b(pytest-bertsize|pytest|Python|torch|transformers)([- ])\d+\.\d[\w.+]*", r"\1\2<version>"),
}

SCHEMAS: Mapping[str, str] = {
    ".github/workflows/": "vendor.github-workflows",
    ".gitlab-ci.yml": "vendor.gitlab-ci",
    ".pre-commit-config.yaml": "",
}
"""The schema of a YAML file, by the beginning of its path; that of pre-commit is its own."""


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
    """Whether a document shows what was printed; each line ``…`` stands for any lines, or for none."""
    lines = (r"(?:.*\n)*?" if line == ELIDED else re.escape(line) + r"\n" for line in normal(shown).split("\n"))
    return re.fullmatch("".join(lines), normal(printed) + "\n") is not None


def commands(source: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, each with what the block says that it prints.

    One that ends a line in a backslash goes on in the next.
    """
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = next(number for number, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:end]), "\n".join(lines[end:])


def environment(home: Path, programs: Path) -> dict[str, str]:
    """That of a developer: no CI, no colours, 80 columns, git with a name and without settings of this machine.

    :param programs: the folder of the Python that is meant.
    """
    foreign = (*ci.VARIABLES, "CI_", "GITHUB_", "GITLAB_", "GIT_", "PYTEST_", "FORCE_COLOR", "PY_COLORS")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _COMMITTER.items()}
    return {
        **own,
        **who,
        "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTEST_ADDOPTS": without_others(),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


_COMMITTER = {"NAME": "A", "EMAIL": "a@example.org", "DATE": "2026-01-01T00:00:00Z"}


@dataclass
class Story:
    """What the blocks of a document have led to so far."""

    home: Path
    programs: Path
    projects: int = 0
    folder: Path | None = None
    file: str = ""
    """What the next block is, if a comment before it says so."""
    like: str = ""
    """The file of this repository that has the next block."""
    status: int = 0
    """Of the last command."""

    def begin(self, name: str) -> None:
        self.projects += 1
        self.folder = self.home / str(self.projects) / "project"
        if name == "empty":
            self.folder.mkdir(parents=True)
        else:
            shutil.copytree(ROOT / name, self.folder, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))

    def write(self, path: str, text: str) -> None:
        assert self.folder is not None, "no project was begun"
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def run(self, line: str) -> str:
        """Run a line in the shell, and say what was printed on both of its outputs."""
        assert self.folder is not None, "no project was begun"
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status})\n{line}"],  # noqa: S607  (the reader's own shell)
            cwd=self.folder,
            env=environment(self.home, self.programs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.status = done.returncode
        return done.stdout.replace(str(self.folder), HERE)

    def find_fault(self, schema: str) -> str:
        """Return what is wrong with the file by its schema, or by pre-commit."""
        assert self.folder is not None, "no project was begun"
        if schema:
            said = validate("--builtin-schema", schema, str(self.folder / self.file))
            return "" if said == "ok -- validation done\n" else said
        from pre_commit.clientlib import InvalidConfigError, load_config

        try:
            load_config(str(self.folder / self.file))
        except InvalidConfigError as error:
            return str(error)
        return ""


def _console(source: str, story: Story) -> str | None:
    found = list(commands(source))
    if not found or not source.startswith("$ "):
        return "a console block begins with a command: $ …"
    return next((wrong for line, shown in found if (wrong := _command(line, shown, story))), None)


def _command(line: str, shown: str, story: Story) -> str | None:
    if NOT_RUN.fullmatch(line):
        return f"{line} is not run, and prints nothing here" if shown else None
    printed = story.run(line)
    if shown == ELIDED:
        return f"{line} exits with {story.status}:\n{printed}" if story.status else None
    if is_shown_by(printed, shown):
        return None
    return f"$ {line}\n{normal(printed)}\n\nis printed, and this is shown:\n\n{normal(shown)}"


NOT_RUN = re.compile(r"pip install .+|python3 -m venv .+")
"""Commands that want a network."""


def _toml(source: str, story: Story) -> str | None:
    if story.like:
        return None
    if "tool.bertsize" not in source:
        return None if story.file else "what is no [tool.bertsize] has to be a file: <!-- file: pyproject.toml -->"
    try:
        parse(source, Path("pyproject.toml"), matches=lambda pattern: [pattern.replace("*", "small")])
    except SettingsError as error:
        return str(error)
    return None


def _yaml(source: str, story: Story) -> str | None:
    content = yaml.safe_load(source)
    if story.like:
        return None
    schema = next((known for beginning, known in SCHEMAS.items() if story.file.startswith(beginning)), None)
    if schema is None:
        return f"of what is it? <!-- file: PATH -->, one of {', '.join(SCHEMAS)}"
    return story.find_fault(schema) or next(list_wrong_uses(content), None)


def list_wrong_uses(content: Any) -> Iterator[str]:
    """Commands, hooks and inputs that a file of a CI names, and that do not exist."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    for each in _objects(content):
        if "/pytest-bertsize@" in str(each.get("uses", "")):
            given = each.get("with", {})
            yield from (f"action.yml has no input {name}" for name in given if name not in action["inputs"])
        if str(each.get("repo", "")).endswith("/pytest-bertsize"):
            yield from (f"there is no hook {hook['id']}" for hook in each["hooks"] if hook["id"] not in hooks)
        script = each.get("script")
        for line in (each.get("run"), *(script if isinstance(script, list) else [script])):
            for arguments in re.findall(r"(?:-m pytest_|^)bertsize (.+)", str(line or "")):
                try:
                    make_parser().parse_args(arguments.replace('"', "").split())
                except SystemExit:
                    yield f"bertsize does not take {arguments}"


def _objects(content: object) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
    for each in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _objects(each)


def _file_only(source: str, story: Story) -> str | None:
    del source
    return None if story.file or story.like else "say which file this is: <!-- file: … -->, or <!-- in: … -->"


LANGUAGES: Mapping[str, Callable[[str, Story], str | None]] = {
    "console": _console,
    "toml": _toml,
    "yaml": _yaml,
    "python": _file_only,
    "json": _file_only,
}


def _block(example: Example) -> str | None:
    story: Story = example.namespace["story"]
    language, source = example.region.lexemes["language"], str(example.region.lexemes["source"])
    check = LANGUAGES.get(str(language))
    if check is None:
        return f"no test understands a block of {language or 'no language'}: write one of {', '.join(LANGUAGES)}"
    if story.file:
        story.write(story.file, source)
    if story.like and source not in (ROOT / story.like).read_text("utf-8"):
        return f"{story.like} does not say this"
    wrong = check(source, story)
    story.file = story.like = ""
    return wrong


def _comment(example: Example) -> str | None:
    story: Story = example.namespace["story"]
    what, argument = example.region.lexemes["directive"], str(example.region.lexemes["arguments"]).strip()
    if what == "project":
        story.begin(argument)
    elif what == "file":
        story.file = argument
    else:
        story.like = argument
    return None


def _regions(document: Document) -> Iterable[Region]:
    for region in RawFencedCodeBlockLexer(re.compile(r"(?P<language>[^\n]*)$\n", re.MULTILINE))(document):
        yield Region(region.start, region.end, evaluator=_block, lexemes=region.lexemes)
    for region in DirectiveInHTMLCommentLexer("(?:project|file|in)")(document):
        yield Region(region.start, region.end, evaluator=_comment, lexemes=region.lexemes)


def evaluate(path: Path, home: Path, programs: Path) -> int:
    """Hold a document to what its blocks say.

    :param home: where its projects are laid out.
    :param programs: the folder of ``python`` and ``pytest``.
    :returns: how many there are.
    :raises AssertionError: at the first block that says something else.
    """
    document = Sybil([_regions]).parse(path)
    document.namespace["story"] = Story(home, programs)
    examples = list(document.examples())
    for example in examples:
        example.evaluate()
    return len(examples)
