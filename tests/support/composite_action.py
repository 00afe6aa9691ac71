"""``action.yml``, its steps run as GitHub's runner runs them; what a step uses is noted, and not run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "action.yml"
ACTION: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What ``shell: bash`` means."""
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_IS_NOT_EMPTY = re.compile(r"([\w.-]+) != ''")


@dataclass
class Job:
    """A job of a workflow that has come to the step that uses the action."""

    workspace: Path
    temp: Path
    path: str
    """The PATH that the steps before have made."""
    event: Mapping[str, str] = field(default_factory=dict)
    """GITHUB_ variables of the event."""

    def use(self, **inputs: str) -> Use:
        """Run the action, with inputs as ``with:`` names them."""
        used = Use(self, {name: str(said["default"]) for name, said in ACTION["inputs"].items()} | inputs)
        for number, step in enumerate(STEPS):
            used.come_to(step, number)
        return used


@dataclass
class Use:
    """One run of the action."""

    job: Job
    inputs: Mapping[str, str]
    log: str = ""
    summary: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    """How the steps that were run ended, by their names."""
    uploads: list[dict[str, str]] = field(default_factory=list)
    """What the steps that use another action give it."""
    step_outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(self.statuses.values())

    @property
    def outputs(self) -> dict[str, str]:
        return {name: self.resolved(said["value"]) for name, said in ACTION["outputs"].items()}

    def come_to(self, step: Mapping[str, Any], number: int) -> None:
        if not self._is_due(step.get("if")):
            return
        if "uses" in step:
            self.uploads.append({key: self.resolved(value) for key, value in step["with"].items()})
            return
        self.run(step, self.job.temp.parent / f"step{number}")

    def run(self, step: Mapping[str, Any], files: Path) -> int:
        """Run the script of a step.

        :param files: a new folder for the files in which it leaves outputs and its page.
        """
        files.mkdir()
        (files / "script.sh").write_text(step["run"], encoding="utf-8")
        done = subprocess.run(
            [*_BASH, str(files / "script.sh")],
            cwd=self.job.workspace,
            env=self._environment(step, files),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += done.stdout
        self.statuses[step["name"]] = done.returncode
        self.summary += _text(files / "summary")
        lines = _text(files / "output").splitlines()
        self.step_outputs[step.get("id", step["name"])] = dict(line.split("=", 1) for line in lines)
        return done.returncode

    def _environment(self, step: Mapping[str, Any], files: Path) -> dict[str, str]:
        job = self.job
        return {
            "PATH": job.path,
            "HOME": str(job.temp.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(job.workspace),
            "GITHUB_STEP_SUMMARY": str(files / "summary"),
            "GITHUB_OUTPUT": str(files / "output"),
            "RUNNER_TEMP": str(job.temp),
            **job.event,
            **{name: self.resolved(value) for name, value in step["env"].items()},
        }

    def _is_due(self, condition: str | None) -> bool:
        if condition is None:
            return not self.failed
        terms = condition.split(" && ")
        if "always()" not in terms:
            raise ValueError(f"not a condition that is known here: {condition}")
        return all(self._is_not_empty(term) for term in terms if term != "always()")

    def _is_not_empty(self, term: str) -> bool:
        if not (found := _IS_NOT_EMPTY.fullmatch(term)):
            raise ValueError(f"not a condition that is known here: {term}")
        return self._value(found[1]) != ""

    def resolved(self, text: object) -> str:
        """A text of the action with its expressions replaced by what they mean."""
        return _EXPRESSION.sub(lambda found: self._value(found[1]), str(text))

    def _value(self, name: str) -> str:
        match name.split("."):
            case ["runner", "temp"]:
                return str(self.job.temp)
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key] if any(step == each.get("id") for each in STEPS):
                return self.step_outputs.get(step, {}).get(key, "")  # of a step that was not run, GitHub says nothing
        raise ValueError(f"not an expression that is known here: {name}")


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
