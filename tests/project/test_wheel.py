"""The wheel: what is in it, and that it works where nothing else is installed.

Its environment has what the wheel itself asks for: no torch and no transformers, which only a build needs. Those packages
are linked from the environment of these tests, so that no index is asked; ``tox`` installs the wheel with its extra ``build``.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterable
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest
from packaging.requirements import Requirement

from tests.support.git_projects import LAYER
from tests.support.paths import run_apart

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGE = ROOT / "pytest_bertsize"

pytestmark = pytest.mark.tool  # hatchling and pip

TABLE = '[tool.bertsize.models.tiny]\nconfig = "config.json"\nbudget.total = { exact = 59_549 }\n'
"""The tiny BertForMaskedLM of conftest.py, to the parameter."""
GREEN = "1 configured, 1 checked, 0 failed; not compared with a build"
RED = f"tiny: total {59_549 + LAYER:,}, limit 59,549 (+{LAYER:,})"


def build(kind: str, root: Path, into: Path) -> Path:
    """Return the wheel or the sdist of the project in ``root``, by its own build backend, which asks no index."""
    done = run_apart(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)], root, os.environ["PATH"]
    )
    assert done.returncode == 0, done.stdout
    (built,) = into.iterdir()
    return built


def unzip(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    return unzip(wheel)


# what is in it


def test_the_wheel_holds_the_package_byte_by_byte_and_nothing_else(contents: dict[str, bytes]) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"}
    packaged = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}
    assert {name: content for name, content in contents.items() if ".dist-info/" not in name} == packaged
    assert {".jinja", ".css"} <= {Path(name).suffix for name in packaged}
    assert contents["pytest_bertsize/py.typed"] == b""
    found = {Path(name).name: json.loads(text) for name, text in contents.items() if name.endswith(".json")}
    assert found.pop("published.json"), "the catalogue"
    assert found.pop("inert_keys.json")["albert"]
    assert {name: schema["$id"] for name, schema in found.items()} == {
        "partial-bertsize.json": "https://www.schemastore.org/partial-bertsize.json",
        "report.schema.json": "urn:pytest-bertsize:report:1",
    }


def test_the_sdist_makes_the_same_wheel(contents: dict[str, bytes], tmp_path: Path) -> None:
    """Which is how ``python -m build`` makes it for a release."""
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (root,) = (tmp_path / "unpacked").iterdir()
    assert unzip(build("wheel", root, tmp_path / "wheel")) == contents


# that it works

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(wheel: Path, contents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it, and no word of the project that it was made from."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, symlinks=True)
    site_packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(root)}))
    metadata = contents[f"pytest_bertsize-{PROJECT['version']}.dist-info/METADATA"].decode()
    for name in needed_by(message_from_string(metadata).get_all("Requires-Dist", [])):
        for top in {path.parts[0] for path in distribution(name).files or ()} - {"..", "__pycache__"}:
            (site_packages / top).symlink_to(str(distribution(name).locate_file(top)))
    install = ["install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    run([sys.executable, "-m", "pip", "--python", str(root / "bin/python"), *install], check=True)
    return root / "bin"


def needed_by(asked: Iterable[str]) -> set[str]:
    """Return the names of all that is needed, extras left out."""
    parsed = map(Requirement, asked)
    names = {each.name for each in parsed if each.marker is None or each.marker.evaluate({"extra": ""})}
    return names.union(*(needed_by(distribution(name).requires or ()) for name in names))


@pytest.fixture
def in_project(installed: Path, tmp_path: Path, tiny: dict[str, object]) -> Run:
    """Run a program of that environment in a project, whose config has another number of layers if one is given."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nminversion = "8.2"\n' + TABLE)
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")

    def run_in_project(program: str, *arguments: str, layers: int = 3) -> CompletedProcess[str]:
        (tmp_path / "config.json").write_text(json.dumps({**tiny, "num_hidden_layers": layers}))
        return run_apart([str(installed / program), *arguments], tmp_path, os.environ["PATH"], COLUMNS="200")

    return run_in_project


def test_each_entry_point_is_there_and_can_be_loaded(in_project: Run) -> None:
    groups = {**PROJECT["entry-points"], "console_scripts": PROJECT["scripts"]}
    declared = {f"{group} {name} True" for group, points in groups.items() for name in points}
    points = "__import__('importlib.metadata').metadata.distribution('pytest-bertsize').entry_points"
    done = in_project("python", "-I", "-c", f"for each in {points}: print(each.group, each.name, bool(each.load()))")
    assert {*done.stdout.splitlines()} == declared


PYTEST = ("python", "-m", "pytest", "--bert-budget")
CHECK = ("python", "-I", "-m", "pytest_bertsize", "check")
NOT_INSTALLED = "tiny: torch and transformers cannot be imported: ModuleNotFoundError: No module named 'torch'; "
INSTALL = "; pip install 'pytest-bertsize[build]', name the project's own environment "


@pytest.mark.parametrize(
    ("command", "layers", "status", "says"),
    [
        ((*PYTEST, "--bert-budget-no-build"), 4, 1, [RED]),
        ((*CHECK, "--no-build"), 4, 1, [RED]),
        (PYTEST, 3, 1, [NOT_INSTALLED, INSTALL]),
        (CHECK, 3, 1, [NOT_INSTALLED, INSTALL]),
        (("bertsize", "--version"), 3, 0, [f"pytest-bertsize {PROJECT['version']}"]),
        (("bertsize", "explain", "config.json"), 3, 0, ["59,549"]),
        (("bertsize", "diff", "config.json", "config.json"), 3, 0, ["59,549"]),
        (("bertsize", "init"), 3, 0, ["nothing to add"]),
        (("bertsize", "check", "--no-build"), 3, 0, [GREEN]),
        (("bertsize", "chek"), 3, 2, ["invalid choice: 'chek'"]),
    ],
)
def test_what_needs_no_build_works_and_a_build_says_what_is_not_installed(
    in_project: Run, command: tuple[str, ...], layers: int, status: int, says: list[str]
) -> None:
    done = in_project(*command, layers=layers)
    assert done.returncode == status, done.stdout
    assert [each for each in says if each not in " ".join(done.stdout.split())] == []
    assert "Traceback" not in done.stdout


def test_the_script_imports_nothing_of_the_current_folder(in_project: Run, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("open('imported', 'w').close()")
    assert in_project("bertsize", "check", "--no-build").returncode == 0
    assert not (tmp_path / "imported").exists()
    in_project("python", "-m", "pytest_bertsize", "check", "--no-build")
    assert (tmp_path / "imported").exists()
