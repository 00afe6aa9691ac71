"""Whether a service runs this, and not somebody at a desk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_bertsize.wording import printable

VARIABLES = (
    "CI",
    "BUILD_NUMBER",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "TF_BUILD",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "BUILDKITE",
    "CODEBUILD_BUILD_ID",
)
"""What services set in all that they run; the first two are those by which pytest itself knows them."""


def sign_of_ci(environment: Mapping[str, str] = os.environ) -> str:
    """The variable that says so, as in ``"CI=true"``; ``""`` at a desk."""
    name = next((name for name in VARIABLES if environment.get(name, "").lower() not in {"", "0", "false"}), None)
    return f"{name}={printable(environment[name])}" if name else ""


def prefix(root: Path, variable: str) -> str:
    """The project's folder inside the one that a CI's variable names; ``""`` where the two are one, or strangers."""
    outer = os.environ.get(variable)
    if not outer:
        return ""
    try:
        inner = root.resolve().relative_to(Path(outer).resolve())
    except (OSError, ValueError, RuntimeError):
        return ""
    return "" if inner == Path() else inner.as_posix()
