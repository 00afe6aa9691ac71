"""A symlink that a change lays in the way of a project, or of a pattern, takes no limit with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.git_projects import FITS, GitProject, repository

PATTERN = '\n[tool.bertsize.models."gen-{stem}"]\nconfig = "gen/*.json"\nbudget.total = "90K"\n'
LOOSE = FITS.replace("90K", "999K")
LOOSENED = "the limit of total was 90K at main and is 999K now"


def test_a_symlink_that_leads_elsewhere_takes_no_model_of_a_pattern_with_it(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    project = repository(tmp_path / "project")
    for file in ("v1/a.json", "v1/b.json", "v2/a.json"):
        project.write(file, tiny)
    link = project.folder / "gen"
    link.symlink_to("v1")
    project.declare(PATTERN)
    project.commit()
    link.unlink()
    link.symlink_to("v2")
    found = project.baseline()
    assert found
    assert [left.name for left in found.left if left.is_loosened] == ["gen-b"]
    project.declare(PATTERN + LOOSE.replace("fits", "b").replace("config.json", "v1/b.json"))
    (error,) = project.errors("b")
    assert LOOSENED in error


def test_a_symlink_in_place_of_the_project_is_no_new_project(tmp_path: Path, tiny: dict[str, Any]) -> None:
    whole = repository(tmp_path / "project")
    found = GitProject(whole.folder / "services/tagger")
    found.write("config.json", tiny)
    found.declare(FITS)
    whole.commit()
    found.folder.rename(whole.folder / "services/other")
    found.folder.symlink_to("other")
    found.declare(LOOSE)
    (error,) = found.errors()
    assert LOOSENED in error


def test_a_symlink_that_no_commit_has_leads_to_the_project(tmp_path: Path, tiny: dict[str, Any]) -> None:
    whole = repository(tmp_path / "project")
    whole.write("config.json", tiny)
    whole.declare(FITS)
    whole.commit()
    (whole.folder / "linked").symlink_to(".")
    found = GitProject(whole.folder / "linked")
    found.declare(LOOSE)
    (error,) = found.errors()
    assert LOOSENED in error
