""".pre-commit-hooks.yaml, by pre-commit itself: in a repository of its own, and without a network.

What pre-commit installs for the hook that has an environment of its own is made by ``BACKEND``: a wheel that points to where
the package and what it needs are installed already.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from tests.support.git_projects import FITS, LAYER, GitProject, repository
from tests.support.paths import path_to, put_an_impostor_in, python_that, run_apart

pytestmark = pytest.mark.tool

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
HOOKS = yaml.safe_load(MANIFEST.read_text("utf-8"))
NO_BUILD, FULL = "model size, without a build (bertsize)", "model size (bertsize)"
TAG = "v0.1.0"
NOT_COMPARED = "not compared with a build"
TWO_LAYERS_MORE = f"fits: total {59_549 + 2 * LAYER:,}, limit 90,000 (+{59_549 + 2 * LAYER - 90_000:,})"
"""Of the tiny model of conftest.py, once it has two layers more; there is room for one."""
OWN = """
    [tool.bertsize.models.own]
    factory = "own:build"
    extra = [{ name = "classifier", linear = [7, 5] }]
    budget.total = { exact = 40 }
    """
MODULE = "from torch import nn\ndef build(): return nn.ModuleDict({'classifier': nn.Linear(7, 5)})\n"
BUILD_SYSTEM = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
    import zipfile
    INFO, NAME = "pytest_bertsize-0.dist-info", "pytest_bertsize-0-py3-none-any.whl"
    def build_wheel(folder, config_settings=None, metadata_directory=None):
        with zipfile.ZipFile(f"{{folder}}/{{NAME}}", "w") as wheel:
            wheel.writestr("installed.pth", {installed!r})
            wheel.writestr(f"{{INFO}}/METADATA", "Metadata-Version: 2.1\\nName: pytest-bertsize\\nVersion: 0\\n")
            wheel.writestr(f"{{INFO}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
            wheel.writestr(f"{{INFO}}/RECORD", "")
        return NAME
    """


@dataclass
class Hooked:
    """A project whose commits and pushes go through our hooks, as pre-commit has installed them."""

    project: GitProject
    path: str
    variables: dict[str, str]

    def run(self, *command: str) -> CompletedProcess[str]:
        return run_apart(command, self.project.folder, self.path, **self.variables)

    def commit(self) -> CompletedProcess[str]:
        self.project.git("add", "--all", ".")
        return self.run("git", "commit", "--message", "change")

    def push(self) -> CompletedProcess[str]:
        return self.run("git", "push", "origin", "HEAD:main")

    @property
    def head(self) -> str:
        return self.project.git("rev-parse", "HEAD")

    @property
    def pushed(self) -> str:
        return self.project.git("ls-remote", "origin", "refs/heads/main").partition("\t")[0]


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> GitProject:
    found = repository(tmp_path_factory.mktemp("hooks") / "pytest-bertsize")
    installed = "\n".join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    found.write(MANIFEST.name, MANIFEST.read_text("utf-8"))
    found.write("pyproject.toml", BUILD_SYSTEM)
    found.write("backend.py", textwrap.dedent(BACKEND).format(installed=installed))
    found.commit()
    found.git("tag", TAG)
    return found


@pytest.fixture
def hooked(tmp_path: Path, tiny: dict[str, Any], hooks: GitProject) -> Hooked:
    """A project that fits its budget, committed and pushed before the hooks were installed."""
    project = repository(tmp_path / "project")
    repo = {"repo": str(hooks.folder), "rev": TAG, "hooks": [{"id": hook["id"]} for hook in HOOKS]}
    stages = ["pre-commit", "pre-merge-commit", "pre-push"]
    project.write(".pre-commit-config.yaml", {"default_install_hook_types": stages, "repos": [repo]})  # JSON is YAML
    project.write("config.json", tiny)
    project.declare(FITS)
    project.commit()
    project.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    project.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    project.git("push", "--quiet", "origin", "main")
    pip = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    who = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = {"PRE_COMMIT_HOME": str(hooks.folder.parent / "pre-commit"), **pip, **who}
    found = Hooked(project, path_to(python_that(tmp_path / "bin").parent), variables)
    installed = found.run(sys.executable, "-m", "pre_commit", "install")
    assert installed.returncode == 0, installed.stdout
    return found


# the manifest


def test_one_hook_is_for_commits_and_one_for_pushes_and_nothing_skips_either() -> None:
    stages = {"bertsize-no-build": ["pre-commit", "pre-merge-commit"], "bertsize": ["pre-push"]}
    assert {hook["id"]: hook["stages"] for hook in HOOKS} == stages
    for hook in HOOKS:
        assert hook["always_run"] is True
        assert hook["pass_filenames"] is False
        assert not {"files", "exclude", "types", "types_or", "exclude_types", "args"} & set(hook)


# commits


def test_a_commit_within_the_budget_passes_and_any_other_is_refused(
    hooked: Hooked, tmp_path: Path, tiny: dict[str, Any]
) -> None:
    """Without a build, nothing is needed of the project's environment."""
    hooked.path = path_to(python_that(tmp_path / "bare", "-S").parent)
    before = hooked.head
    hooked.project.write("README.md", "Nothing of a model.")
    done = hooked.commit()
    assert done.returncode == 0, done.stdout
    (line,) = (each for each in done.stdout.splitlines() if each.startswith(NO_BUILD))
    assert line.endswith("Passed")
    good = hooked.head
    assert good != before
    hooked.project.write("config.json", {**tiny, "num_hidden_layers": 5})
    hooked.project.git("add", "config.json")
    hooked.project.write("config.json", tiny)  # what is staged is looked at, and not what is mended since
    done = hooked.run("git", "commit", "--message", "change")
    assert done.returncode == 1
    for said in (NO_BUILD, TWO_LAYERS_MORE, f"1 configured, 1 checked, 1 failed; {NOT_COMPARED}"):
        assert said in done.stdout
    hooked.project.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    done = hooked.commit()
    assert done.returncode == 1
    for said in ("- exit code: 2", "ERROR: ", "[tool.bertsize"):
        assert said in done.stdout
    assert hooked.head == good


# pushes


def test_a_push_is_refused_for_what_only_a_build_shows(hooked: Hooked) -> None:
    before = hooked.pushed
    hooked.project.declare(OWN)
    hooked.project.write("own.py", MODULE)
    assert (done := hooked.commit()).returncode == 0, done.stdout
    assert (done := hooked.push()).returncode == 0, done.stdout
    good = hooked.pushed
    assert good == hooked.head != before
    put_an_impostor_in(hooked.project.folder)
    hooked.project.write("own.py", MODULE.replace("7, 5", "7, 6"))
    assert (done := hooked.commit()).returncode == 0, done.stdout
    done = hooked.push()
    assert done.returncode == 1
    for said in (FULL, "own: head.classifier 48, closed form 40 (+8)", "1 configured, 1 checked, 1 failed"):
        assert said in done.stdout
    assert NOT_COMPARED not in done.stdout
    assert hooked.pushed == good
