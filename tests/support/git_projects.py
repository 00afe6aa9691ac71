"""A project in a real git repository, and what the gate makes of it without building a model."""

from __future__ import annotations

import io
import json
import os
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.base.run_base import read_base
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.commands.check import check
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.review import Accepted
from pytest_bertsize.table.settings import load
from tests.support.paths import run_apart

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.review.review import Review

FITS = """
    [tool.bertsize.models.fits]
    config = "config.json"
    budget.total = "90K"
    """
"""Room for the tiny model of conftest.py, which has 59,549 parameters, and for a layer more."""
LAYER = 16_632
"""What a layer of the tiny model has: 4·(48² + 48) + 48·72 + 72 + 72·48 + 48 + 4·48."""


def git(folder: Path, *arguments: str) -> str:
    """Run git where no setting of the machine or of a surrounding hook has a say."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = run_apart(["git", *who, *arguments], folder, os.environ["PATH"])
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


@dataclass(frozen=True)
class GitProject:
    """A project, at the root of its repository or in a folder of it."""

    folder: Path

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def write(self, path: str, content: str | dict[str, Any]) -> None:
        """Write a file; a dictionary as JSON, a table without its indent."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = textwrap.dedent(content) if isinstance(content, str) else json.dumps(content, indent=2)
        file.write_text(text, encoding="utf-8")

    def declare(self, table: str) -> None:
        self.write("pyproject.toml", "[tool.pytest.ini_options]\n" + textwrap.dedent(table))

    def commit(self) -> str:
        """Commit everything below the folder, and return the commit."""
        self.git("add", "--all", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", "state")
        return self.git("rev-parse", "HEAD")

    def base_on(self, table: str) -> None:
        self.declare(table)
        self.commit()
        self.git("branch", "--force", "main")

    def check(self, *reports: str, helper: Helper | None = None, **options: Any) -> tuple[int, str]:
        """Return status and words of ``bertsize check``, ``--no-build`` without a helper, against ``main``."""
        out = io.StringIO()
        paths = [str(self.folder / name) for name in reports]
        status = check(self.folder, helper, paths, out=out, err=out, **{"base": "main", **options})
        return status, " ".join(out.getvalue().split())

    def baseline(self, asked: str | None = "main") -> Baseline | None:
        return read_base(load(self.folder / "pyproject.toml"), asked, Registry(), "--base")

    def review(self, name: str = "fits", asked: str | None = "main") -> Review:
        """Return what is found of a model before it is built: closed form, base and loosened limits."""
        settings = load(self.folder / "pyproject.toml")
        subject = examine(settings.models[name], settings, Registry())
        return conclude(subject, None, accepted=Accepted(self.baseline(asked)))

    def errors(self, name: str = "fits", asked: str = "main") -> list[str]:
        return [finding.sentence for finding in self.review(name, asked).errors]

    def lose(self, revision: str) -> None:
        """Make it a partial clone that lacks an object, from whose remote nothing can be had."""
        name = self.git("rev-parse", revision)
        (self.folder / f".git/objects/{name[:2]}/{name[2:]}").unlink()
        self.git("config", "core.repositoryFormatVersion", "1")  # as after git clone --filter=blob:none
        self.git("config", "extensions.partialClone", "origin")
        origin = {"promisor": "true", "partialCloneFilter": "blob:none", "url": f"file://{self.folder}/nowhere"}
        for key, value in origin.items():
            self.git("config", f"remote.origin.{key}", value)

    def said(self, name: str = "fits") -> tuple[str, ...]:
        comparison = self.review(name).comparison
        return comparison.said if comparison else ("not compared",)


def repository(folder: Path) -> GitProject:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return GitProject(folder)


def committed(folder: Path, config: dict[str, Any], table: str = FITS) -> GitProject:
    """A repository whose ``main`` declares a model; what is checked out is another branch."""
    found = repository(folder)
    found.write("config.json", config)
    found.declare(table)
    found.commit()
    found.git("switch", "--quiet", "--create", "change")
    return found
