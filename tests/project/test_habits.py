"""What the project says of itself to contributors, GitHub and GitLab is so: workflows, templates, versions, commands, files."""

from __future__ import annotations

import configparser
import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests.project.version_of_tag import mistakes
from tests.support.documents import validate

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
CHOOSER = GITHUB / "ISSUE_TEMPLATE" / "config.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
FILES = sorted((GITHUB / "workflows").glob("*.yml"))
WORKFLOWS: dict[str, dict[Any, Any]] = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FILES}
JOBS = {f"{name}-{job}": said for name, workflow in WORKFLOWS.items() for job, said in workflow["jobs"].items()}
ON = True
"""YAML's own reading of ``on``."""

TOX = configparser.ConfigParser()
TOX.read(ROOT / "tox.ini")
ENVIRONMENTS = {name.removeprefix("testenv:") for name in TOX.sections() if name.startswith("testenv:")}


# what GitHub reads


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", FILES),
        ("custom.github-workflows-require-timeout", FILES),
        ("vendor.dependabot", [GITHUB / "dependabot.yml"]),
        ("vendor.github-issue-forms", sorted({*CHOOSER.parent.glob("*.yml")} - {CHOOSER})),
        ("vendor.github-issue-config", [CHOOSER]),
        ("vendor.github-actions", [ROOT / "action.yml"]),
        ("vendor.gitlab-ci", [ROOT / "gitlab" / "bertsize.yml"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_github_and_gitlab_read_is_of_its_schema(schema: str, files: list[Path]) -> None:
    assert files
    assert validate("--builtin-schema", schema, *map(str, files)) == "ok -- validation done\n"


def test_an_action_is_pinned_by_its_commit_with_its_version_beside_it_and_has_one_pin_everywhere() -> None:
    text = "".join(path.read_text("utf-8") for path in (*FILES, ROOT / "action.yml"))
    used = re.findall(r"^ +(?:- )?uses: ([^.\s]\S*)(.*)$", text, re.MULTILINE)
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action + comment)
    assert len({action.partition("@")[0] for action, _ in used}) == len({action for action, _ in used}) > 0


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_may_read_alone_keeps_no_credentials_and_runs_no_text_of_a_pull_request(job: dict[str, Any]) -> None:
    if "environment" in job:  # the one that publishes
        assert job["environment"]["name"] == "pypi"
        assert job["permissions"] == {"id-token": "write"}
    else:
        assert job["permissions"] in ({}, {"contents": "read"})
    for step in job.get("steps", []):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", "")


# what CI runs


def test_ci_runs_the_python_versions_of_the_classifiers() -> None:
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert len(named) > 1
    assert named == JOBS["ci-tests"]["strategy"]["matrix"]["python"]


def test_a_workflow_calls_environments_of_tox_that_there_are() -> None:
    text = "".join(path.read_text("utf-8") for path in FILES)
    called = re.findall(r"environment: \[(.*)\]|environment: ([\w-]+)|tox run -e ([\w,-]+)", text)
    found = {name.strip() for names in called for name in "".join(names).split(",")}
    assert {"lint", "whole", "lowest", "lowest-pytest", "newest", "closed-forms", "release"} <= found <= ENVIRONMENTS


def pins(name: str) -> dict[str, str]:
    return dict(line.split("==") for line in (ROOT / name).read_text("utf-8").splitlines() if line[:1] not in ("", "#"))


def test_the_lowest_versions_are_the_lower_bounds_but_of_torch() -> None:
    extras = chain.from_iterable(PROJECT["optional-dependencies"].values())
    needed = {each.name: each for each in map(Requirement, [*PROJECT["dependencies"], *extras])}
    pinned = pins("constraints-lowest.txt")
    assert pinned.keys() == needed.keys()
    assert pinned.pop("torch") == pins("constraints.txt")["torch"]
    for name, version in pinned.items():
        (bound,) = (each.version for each in needed[name].specifier if each.operator == ">=")
        assert re.fullmatch(re.escape(bound) + r"(\.0)*", version), name


# a release


def test_what_is_published_was_built_apart_and_has_passed_all_of_ci() -> None:
    assert WORKFLOWS["release"][ON] == {"push": {"tags": ["v*"]}}
    assert JOBS["release-publish"]["needs"] == ["ci", "build"]
    used = [step["uses"].partition("@")[0] for step in JOBS["release-publish"]["steps"]]
    assert used == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert JOBS["release-ci"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in WORKFLOWS["ci"][ON]


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("v1.2.0", []),
        ("v1.2.1", ["the tag is v1.2.1, and the version in pyproject.toml is 1.2.0: tag v1.2.0, or change it there"]),
    ],
)
def test_a_tag_of_this_version_that_the_changelog_has_is_released(tag: str, said: list[str]) -> None:
    assert [*mistakes(tag, "1.2.0", "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-30\n")] == said
    absent = "CHANGELOG.md has no section [1.2.0]: rename [Unreleased], and start a new one above it"
    assert [*mistakes(tag, "1.2.0", "# Changelog\n\n## [Unreleased]\n")] == [*said, absent]


# what contributors read


def test_contributing_tells_each_environment_of_tox_and_files_that_are_there() -> None:
    assert {*re.findall(r"tox run -e ([\w-]+)", CONTRIBUTING)} == ENVIRONMENTS
    named = {
        *re.findall(r"\]\(([^)#]+)\)", CONTRIBUTING),
        *re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:txt|md|toml))`", CONTRIBUTING),
        *re.findall(r"\b(?:tests|benchmarks|examples|pytest_bertsize)/[\w./-]+\w", CONTRIBUTING),
    } - {"dist/", "pytest_bertsize/closed_forms/families/NAME.py"}
    assert [path for path in named if not (ROOT / path).exists()] == []
