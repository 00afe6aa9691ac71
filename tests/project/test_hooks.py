""".pre-commit-hooks.yaml, by pre-commit itself: in a repository of its own, and without a network.

What pre-commit installs for the hook that has an environment of its own is made by ``BACKEND``: a wheel that points to where
the package and what it needs are installed already.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import TINY
from tests.support.git_projects import FITS, LAYER, GitProject, repository
from tests.support.paths import path_to, put_an_impostor_in, python_that

pytestmark = pytest.mark.tool

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
HOOKS = yaml.safe_load(MANIFEST.read_text("utf-8"))
NO_BUILD, FULL = "model size, without a build (bertsize)", "model size (bertsize)"
TAG = "v0.1.0"
STAGES = ["pre-commit", "pre-merge-commit", "pre-push"]
NOT_COMPARED = "not compared with a build"
TWO_LAYERS_MORE = f"fits: total {59_549 + 2 * LAYER:,}, limit 90,000 (+{59_549 + 2 * LAYER - 90_000:,})"
"""Of the tiny model of conftest.py, once it has two layers more; there is room for one."""
LARGER = {**TINY, "num_hidden_layers": 5}

# BertModel of the tiny config without its pooler has 57,000 parameters, and 2·48·7 + 7 = 679 more are said of the labels
OWN = """
    [tool.bertsize.models.own]
    factory = "own:build"
    config = "config.json"
    architecture = "BertModel"
    backbone = "bert"
    options = { add_pooling_layer = false }
    extra = [{ name = "classifier", linear = ["2*hidden_size", 7] }]
    budget.total = { exact = 57_679 }
    """
OWN_MODULE = """
    from torch import nn
    from transformers import BertConfig, BertModel
    class Own(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.bert = BertModel(BertConfig(**config), add_pooling_layer=False)
            self.classifier = nn.Linear(2 * config["hidden_size"], 7)
    def build(config): return Own(config)
    """


BUILD_SYSTEM = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
    import zipfile
    INFO = "pytest_bertsize-0.dist-info"
    FILES = {{
        "installed.pth": {installed!r},
        f"{{INFO}}/METADATA": "Metadata-Version: 2.1\\nName: pytest-bertsize\\nVersion: 0\\n",
        f"{{INFO}}/WHEEL": "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{{INFO}}/RECORD": "",
    }}
    def build_wheel(folder, config_settings=None, metadata_directory=None):
        name = "pytest_bertsize-0-py3-none-any.whl"
        with zipfile.ZipFile(f"{{folder}}/{{name}}", "w") as wheel:
            for path, text in FILES.items():
                wheel.writestr(path, text)
        return name
    """


@dataclass(frozen=True)
class Hooked:
    """A project whose commits and pushes go through our hooks, as pre-commit has installed them."""

    project: GitProject
    hooks: GitProject
    environment: dict[str, str]

    def use(self, **settings: object) -> None:
        """Write the project's .pre-commit-config.yaml, with what it says of both hooks beside their names."""
        used = [{"id": hook["id"], **settings} for hook in HOOKS]
        repo = {"repo": str(self.hooks.folder), "rev": TAG, "hooks": used}
        config = {"default_install_hook_types": STAGES, "repos": [repo]}
        (self.project.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        both: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(command, cwd=self.project.folder, env=self.environment, text=True, check=False, **both)

    def commit(self) -> subprocess.CompletedProcess[str]:
        self.project.git("add", "--all", ".")
        return self.run("git", "commit", "--message", "change")

    def push(self) -> subprocess.CompletedProcess[str]:
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
    project.write("config.json", tiny)
    project.declare(FITS)
    project.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    project.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    environment = {  # a developer's shell, and git's own settings instead of this machine's
        "PATH": path_to(python_that(tmp_path / "bin").parent),
        "HOME": str(tmp_path),
        "PRE_COMMIT_HOME": str(hooks.folder.parent / "pre-commit"),
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    found = Hooked(project, hooks, environment)
    found.use()
    project.commit()
    project.git("push", "--quiet", "origin", "main")
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
    hooked.environment["PATH"] = path_to(python_that(tmp_path / "bare", "-S").parent)
    before = hooked.head
    hooked.project.write("README.md", "Nothing of a model.")
    done = hooked.commit()
    assert done.returncode == 0, done.stdout
    (line,) = (each for each in done.stdout.splitlines() if each.startswith(NO_BUILD))
    assert line.endswith("Passed")
    good = hooked.head
    assert good != before
    hooked.project.write("config.json", LARGER)
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
    hooked.project.write("own.py", OWN_MODULE)
    assert (done := hooked.commit()).returncode == 0, done.stdout
    assert (done := hooked.push()).returncode == 0, done.stdout
    good = hooked.pushed
    assert good == hooked.head != before
    put_an_impostor_in(hooked.project.folder)
    hooked.project.write("own.py", textwrap.dedent(OWN_MODULE).replace('["hidden_size"], 7)', '["hidden_size"], 8)'))
    assert (done := hooked.commit()).returncode == 0, done.stdout
    done = hooked.push()
    assert done.returncode == 1
    for said in (FULL, "own: ", "57,776", "1 configured, 1 checked, 1 failed"):  # 57,679 and 2·48 + 1 more
        assert said in done.stdout
    assert NOT_COMPARED not in done.stdout
    assert hooked.pushed == good
