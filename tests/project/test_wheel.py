"""The wheel: what is in it, and that it works where nothing else is installed.

Its environment has what the wheel itself asks for: no torch and no transformers, which only a build needs. Those packages
are linked from the environment of these tests, so that no index is asked; ``tox`` installs the wheel with its extra ``build``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGE = ROOT / "pytest_bertsize"

pytestmark = pytest.mark.tool  # hatchling and pip

TABLE = """
    [tool.bertsize.models.tiny]
    config = "config.json"
    budget.total = { exact = 59_549 }
"""
"""The tiny BertForMaskedLM of conftest.py, to the parameter."""
LAYER = 16_632  # 4·D² + 4·D for attention, 2·I·D + I + D for what follows, 4·D for norms; D = 48, I = 72
GREEN = "1 configured, 1 checked, 0 failed; not compared with a build"
RED = f"tiny: total {59_549 + LAYER:,}, limit 59,549 (+{LAYER:,})"


def hatchling(kind: str, root: Path, into: Path) -> Path:
    """The wheel or the sdist of the project in ``root``, by its own build backend, which asks no index."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hatchling("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    return unzipped(wheel)


def unzipped(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def information(contents: dict[str, bytes], name: str) -> str:
    """A file of the wheel's dist-info."""
    return contents[f"pytest_bertsize-{PROJECT['version']}.dist-info/{name}"].decode()


@pytest.fixture(scope="module")
def metadata(contents: dict[str, bytes]) -> Message:
    return message_from_string(information(contents, "METADATA"))


# what is in it


def test_the_wheel_holds_the_package_byte_by_byte_and_nothing_else(contents: dict[str, bytes]) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"}
    packaged = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}
    assert {name: content for name, content in contents.items() if ".dist-info/" not in name} == packaged


def test_the_wheel_has_what_is_no_module(contents: dict[str, bytes]) -> None:
    kinds = {Path(name).suffix for name in contents if name.startswith("pytest_bertsize/")}
    assert {".jinja", ".css"} <= kinds
    assert contents["pytest_bertsize/py.typed"] == b""
    found = {name: json.loads(text) for name, text in contents.items() if name.endswith(".json")}
    assert found.pop("pytest_bertsize/builder/published.json"), "the catalogue"
    assert found.pop("pytest_bertsize/closed_forms/inert_keys.json")["albert"]
    assert {name: schema["$id"] for name, schema in found.items()} == {
        "pytest_bertsize/table/partial-bertsize.json": "https://www.schemastore.org/partial-bertsize.json",
        "pytest_bertsize/reports/report.schema.json": "urn:pytest-bertsize:report:1",
    }


def test_the_sdist_makes_the_same_wheel(contents: dict[str, bytes], tmp_path: Path) -> None:
    """Which is how ``python -m build`` makes it for a release."""
    sdist = hatchling("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (root,) = (tmp_path / "unpacked").iterdir()
    assert unzipped(hatchling("wheel", root, tmp_path / "wheel")) == contents


# that it works


@dataclass(frozen=True)
class Environment:
    """One with the wheel in it, and no word of the project that it was made from."""

    root: Path

    @property
    def python(self) -> str:
        return str(self.root / "bin" / "python")

    @property
    def site_packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.root)}))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.script("python", *arguments)

    def script(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.root), "COLUMNS": "200"}
        command = [str(self.root / "bin" / name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)

    def says(self, code: str) -> str:
        done = self.run("-I", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def environment(wheel: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("environment"))
    venv.create(made.root, symlinks=True)
    for name in needed_by(metadata):
        for top in {path.parts[0] for path in distribution(name).files or ()} - {"..", "__pycache__"}:
            (made.site_packages / top).symlink_to(str(distribution(name).locate_file(top)))
    install = ["install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", made.python, *install], check=True)
    return made


def needed_by(metadata: Message) -> set[str]:
    """The distributions that the wheel asks for, and those that these ask for in turn."""
    asked = set(metadata.get_all("Requires-Dist", []))
    found: set[str] = set()
    while new := {name for each in asked for name in applying(each)} - found:
        found |= new
        asked = set(chain.from_iterable(distribution(name).requires or () for name in new))
    return found


def applying(requirement: str) -> Iterator[str]:
    parsed = Requirement(requirement)
    if parsed.marker is None or parsed.marker.evaluate({"extra": ""}):
        yield parsed.name


def test_each_entry_point_is_there_and_can_be_loaded(environment: Environment) -> None:
    groups = {**PROJECT["entry-points"], "console_scripts": PROJECT["scripts"]}
    declared = {(group, name) for group, points in groups.items() for name in points}
    load = (
        "from importlib.metadata import distribution as found; import json; print(json.dumps([(each.group, each.name)"
    )
    loaded = environment.says(f"{load} for each in found('pytest-bertsize').entry_points if each.load()]))")
    assert {tuple(each) for each in json.loads(loaded)} == declared


@pytest.fixture
def a_project(tmp_path: Path, tiny: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nminversion = "8.2"\n' + TABLE)
    (tmp_path / "config.json").write_text(json.dumps(tiny))
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_one_more_layer(project: Path) -> None:
    config = json.loads((project / "config.json").read_text())
    config["num_hidden_layers"] += 1
    (project / "config.json").write_text(json.dumps(config))


PYTEST = ("-m", "pytest", "--bert-budget")
CHECK = ("-I", "-m", "pytest_bertsize", "check")


@pytest.mark.parametrize(
    "command", [(*PYTEST, "--bert-budget-no-build"), (*CHECK, "--no-build")], ids=["pytest", "check"]
)
def test_without_a_build_one_more_layer_is_red(
    environment: Environment, a_project: Path, command: tuple[str, ...]
) -> None:
    with_one_more_layer(a_project)
    done = environment.run(*command)
    assert done.returncode == 1, done.stdout + done.stderr
    assert RED in done.stdout


@pytest.mark.usefixtures("a_project")
@pytest.mark.parametrize("command", [PYTEST, CHECK], ids=["pytest", "check"])
def test_with_a_build_one_sentence_says_what_is_not_installed(
    environment: Environment, command: tuple[str, ...]
) -> None:
    done = environment.run(*command)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (
        "tiny: torch and transformers cannot be imported: ModuleNotFoundError: No module named 'torch'; pip install 'pytest-bertsize[build]', name the project's own environment "
        '(python = ".venv/bin/python" in [tool.bertsize]), or check budgets by the closed form alone '
        "(bertsize check --no-build)" in " ".join(done.stdout.split())
    )
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.usefixtures("a_project")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--version"], 0, f"pytest-bertsize {PROJECT['version']}"),
        (["explain", "config.json"], 0, "59,549"),
        (["diff", "config.json", "config.json"], 0, "59,549"),
        (["init"], 0, "nothing to add"),
        (["check", "--no-build"], 0, GREEN),
        (["chek"], 2, "invalid choice: 'chek'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_script_does_what_needs_no_build(
    environment: Environment, arguments: list[str], status: int, says: str
) -> None:
    done = environment.script("bertsize", *arguments)
    assert done.returncode == status
    assert says in done.stdout + done.stderr


def test_the_script_imports_nothing_of_the_current_folder(environment: Environment, a_project: Path) -> None:
    (a_project / "json.py").write_text("open('imported', 'w').close()")
    assert environment.script("bertsize", "check", "--no-build").returncode == 0
    assert not Path("imported").exists()
    environment.run("-m", "pytest_bertsize", "check", "--no-build")
    assert Path("imported").exists()
