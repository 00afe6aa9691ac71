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

TABLE = '[tool.bertsize.models.tiny]\nconfig = "config.json"\nbudget.total = { exact = 59_549 }\n'
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


@pytest.fixture(scope="module")
def metadata(contents: dict[str, bytes]) -> Message:
    return message_from_string(contents[f"pytest_bertsize-{PROJECT['version']}.dist-info/METADATA"].decode())


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

    def run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.root), "COLUMNS": "200"}
        command = [str(self.root / "bin" / name), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


@pytest.fixture(scope="module")
def environment(wheel: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("environment"))
    venv.create(made.root, symlinks=True)
    site_packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(made.root)}))
    for name in needed_by(metadata):
        for top in {path.parts[0] for path in distribution(name).files or ()} - {"..", "__pycache__"}:
            (site_packages / top).symlink_to(str(distribution(name).locate_file(top)))
    install = ["install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(made.root / "bin/python"), *install], check=True)
    return made


def needed_by(metadata: Message) -> set[str]:
    asked = metadata.get_all("Requires-Dist", [])
    found: set[str] = set()
    while asked:
        parsed = map(Requirement, asked)
        new = {each.name for each in parsed if each.marker is None or each.marker.evaluate({"extra": ""})} - found
        found |= new
        asked = [*chain.from_iterable(distribution(name).requires or () for name in new)]
    return found


def test_each_entry_point_is_there_and_can_be_loaded(environment: Environment) -> None:
    groups = {**PROJECT["entry-points"], "console_scripts": PROJECT["scripts"]}
    declared = {(group, name) for group, points in groups.items() for name in points}
    load = "import json\nfrom importlib.metadata import distribution as found\n"
    load += "points = found('pytest-bertsize').entry_points\n"
    load += "print(json.dumps([(each.group, each.name) for each in points if each.load()]))"
    done = environment.run("python", "-I", "-c", load)
    assert done.returncode == 0, done.stderr
    assert {tuple(each) for each in json.loads(done.stdout)} == declared


@pytest.fixture
def a_project(tmp_path: Path, tiny: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nminversion = "8.2"\n' + TABLE)
    (tmp_path / "config.json").write_text(json.dumps(tiny))
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PYTEST = ("-m", "pytest", "--bert-budget")
CHECK = ("-I", "-m", "pytest_bertsize", "check")


@pytest.mark.parametrize(
    "command", [(*PYTEST, "--bert-budget-no-build"), (*CHECK, "--no-build")], ids=["pytest", "check"]
)
def test_without_a_build_one_more_layer_is_red(
    environment: Environment, a_project: Path, tiny: dict[str, object], command: tuple[str, ...]
) -> None:
    (a_project / "config.json").write_text(json.dumps({**tiny, "num_hidden_layers": 4}))
    done = environment.run("python", *command)
    assert done.returncode == 1, done.stdout + done.stderr
    assert RED in done.stdout


@pytest.mark.usefixtures("a_project")
@pytest.mark.parametrize("command", [PYTEST, CHECK], ids=["pytest", "check"])
def test_with_a_build_one_sentence_says_what_is_not_installed(
    environment: Environment, command: tuple[str, ...]
) -> None:
    done = environment.run("python", *command)
    assert done.returncode == 1, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "tiny: torch and transformers cannot be imported: ModuleNotFoundError: No module named 'torch'; " in said
    assert "; pip install 'pytest-bertsize[build]', name the project's own environment " in said
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
    done = environment.run("bertsize", *arguments)
    assert done.returncode == status
    assert says in done.stdout + done.stderr


def test_the_script_imports_nothing_of_the_current_folder(environment: Environment, a_project: Path) -> None:
    (a_project / "json.py").write_text("open('imported', 'w').close()")
    assert environment.run("bertsize", "check", "--no-build").returncode == 0
    assert not Path("imported").exists()
    environment.run("python", "-m", "pytest_bertsize", "check", "--no-build")
    assert Path("imported").exists()
