"""Every block of README.md and docs/ does what it says, every link leads to a file, and the reference is that of the code."""

from __future__ import annotations

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.commands.check import check
from pytest_bertsize.reports.ci import VARIABLES
from pytest_bertsize.reports.files import render_report
from tests.conftest import BERT_BASE
from tests.support import run_reports
from tests.support.documents import ROOT, evaluate, find_fault, validate
from tests.support.git_projects import committed
from tests.support.warm_helper import programs

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

PATHS = {
    path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md")))
}
DOCUMENTS = {name: path.read_text("utf-8") for name, path in PATHS.items()}


@pytest.fixture(scope="module")
def bin_folder(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs(warm, tmp_path_factory.mktemp("bin"))


@pytest.mark.process
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_block_does_what_it_says(name: str, tmp_path: Path, bin_folder: Path) -> None:
    assert evaluate(PATHS[name], tmp_path, bin_folder) >= DOCUMENTS[name].count("\n```") // 2


@pytest.mark.process
def test_the_workflow_beside_a_page_is_one_and_uses_what_there_is() -> None:
    assert find_fault(ROOT / "docs/how-to/size-comment.yml", ".github/workflows/") is None


def test_every_link_leads_to_a_file() -> None:
    """Those of README.md are whole addresses: on PyPI it has no folder. ``tox run -e docs`` checks anchors."""
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
    ours = re.compile(rf"https://[\w.]+{repository.removeprefix('https://github.com')}/((blob|tree)/)?main/")
    links = {name: re.findall(r"\]\(([^)\s#]+)", text) for name, text in DOCUMENTS.items()}
    assert all(link.startswith("https://") for link in links["README.md"])
    paths = [(name, ours.sub("", link)) for name, found in links.items() for link in found]
    assert len(paths) > 100
    assert [each for each in paths if "://" not in each[1] and not (PATHS[each[0]].parent / each[1]).exists()] == []


def test_the_reference_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    generate = importlib.import_module("generate")
    stale = [path.name for path, said in generate.files().items() if path.read_text("utf-8") != said]
    assert stale == [], "write them anew: python docs/generate.py"
    parts = re.findall(r"<!-- generated: ([\w-]+) -->", "".join(DOCUMENTS.values()))
    assert sorted(parts) == sorted(generate.PARTS)


def test_how_severe_a_finding_can_be_is_what_the_code_makes() -> None:
    page = DOCUMENTS["docs/reference/findings.md"]
    told = dict(re.findall(r"^## (\S+)\n\n\*([a-z ]+)\.\*", page, flags=re.MULTILINE))
    nodes = (
        node for path in ROOT.glob("pytest_bertsize/**/*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )
    made = set()
    for call in nodes:
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("Finding", ".make_finding")):
            kind, *given = (
                *call.args[:1],
                *call.args[3:4],
                *(each.value for each in call.keywords if each.arg == "severity"),
            )
            severity = given[0] if given else ast.Constant("error")
            if isinstance(kind, ast.Constant) and isinstance(severity, ast.Constant):  # else a condition chooses it
                made.add((str(kind.value), severity.value))
    assert len(made) > len(told) // 2
    assert [each for each in made if each[1] not in told[each[0]].split(" or ")] == []


def test_what_counts_as_ci_is_told() -> None:
    page = DOCUMENTS["docs/reference/command-line.md"]
    (told,) = re.findall(r"^A run is in CI if one of .+?: ((?:.|\n)+?)\.$", page, flags=re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", told)) == VARIABLES


def test_reports_are_what_their_json_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = committed(tmp_path / "project", BERT_BASE)
    project.write("config.json", {**BERT_BASE, "num_hidden_layers": 13})
    monkeypatch.chdir(tmp_path)
    check(project.folder, None, ["compared.json"], base="main")
    models = (run_reports.failing(), run_reports.not_built(), run_reports.new(), run_reports.without_closed_form())
    (tmp_path / "others.json").write_text(render_report(run_reports.run(*models), ".json"), encoding="utf-8")
    assert json.loads((tmp_path / "compared.json").read_text("utf-8"))["base"]["commit"]
    schema = str(ROOT / "pytest_bertsize" / "reports" / "report.schema.json")
    assert validate("--schemafile", schema, "compared.json", "others.json") == "ok -- validation done\n"
