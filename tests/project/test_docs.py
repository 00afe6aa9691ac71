"""Every block of README.md and docs/ does what it says, every link leads somewhere, and the reference is that of the code."""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from markdown_it import MarkdownIt

from pytest_bertsize.commands.check import check
from pytest_bertsize.reports.ci import VARIABLES
from pytest_bertsize.reports.files import render_report
from tests.conftest import BERT_BASE
from tests.support import run_reports
from tests.support.documents import ROOT, SCHEMAS, evaluate, list_wrong_uses, validate
from tests.support.git_projects import committed
from tests.support.warm_helper import programs

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md")))
}


@pytest.fixture(scope="module")
def bin_folder(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return programs(warm, tmp_path_factory.mktemp("bin"))


@pytest.mark.process
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_block_does_what_it_says(name: str, tmp_path: Path, bin_folder: Path) -> None:
    evaluated = evaluate(DOCUMENTS[name], tmp_path, bin_folder)
    assert evaluated >= DOCUMENTS[name].read_text("utf-8").count("\n```") // 2


@pytest.mark.process
def test_the_workflow_beside_a_page_is_one_and_uses_what_there_is() -> None:
    path = ROOT / "docs" / "how-to" / "size-comment.yml"
    assert validate("--builtin-schema", SCHEMAS[".github/workflows/"], str(path)) == "ok -- validation done\n"
    assert [*list_wrong_uses(yaml.safe_load(path.read_text("utf-8")))] == []


EMPTY = "<!-- project: empty -->\n"
WORKFLOW = f"{EMPTY}<!-- file: .github/workflows/size.yml -->\n```yaml\non: push\n"
WORKFLOW += "jobs: {{ size: {{ runs-on: ubuntu-latest, steps: [{{ {step} }}] }} }}\n```\n"
HOOKS = f"{EMPTY}<!-- file: .pre-commit-config.yaml -->\n```yaml\n"
HOOKS += "repos: [{ repo: https://github.com/OWNER/pytest-bertsize, rev: v1, hooks: [{ id: bertsise }] }]\n```\n"


URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
OWNER = URLS["Repository"].removeprefix("https://github.com/")
OURS = re.compile(rf"https://(?:github\.com/{OWNER}/(?:blob|tree)|raw\.githubusercontent\.com/{OWNER})/main/")


def anchors(text: str) -> set[str]:
    tokens = MarkdownIt().parse(text)
    found: dict[str, int] = {}
    for heading, content in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            words = "".join(part.content for part in content.children or () if part.type in {"text", "code_inline"})
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{number}" if number else slug for slug, times in found.items() for number in range(times + 1)}


def links(text: str) -> list[str]:
    """What a page links to, and its pictures; an address of our own repository is the file's path from its root."""
    tokens = MarkdownIt().enable("table").parse(text)
    inside = [part for token in tokens for part in token.children or ()]
    found = [str(part.attrs[key]) for part in inside for key in ("href", "src") if key in part.attrs]
    return [OURS.sub("", link) for link in found]


def is_dead(link: str, page: Path) -> bool:
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if parts.scheme or not target.exists():
        return not parts.scheme
    is_page = target.suffix == ".md" and target.is_file()
    return parts.fragment != "" and not (is_page and parts.fragment in anchors(target.read_text("utf-8")))


def test_every_relative_link_leads_somewhere() -> None:
    pages = {page: links(page.read_text("utf-8")) for page in DOCUMENTS.values()}
    assert [(page.name, link) for page, found in pages.items() for link in found if is_dead(link, page)] == []


def test_the_readme_has_no_relative_link_because_its_description_on_pypi_has_no_folder() -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", DOCUMENTS["README.md"].read_text("utf-8"))
    assert len(targets) > 10
    assert [link for link in targets if not link.startswith(("https://", "#"))] == []


def generator() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return importlib.import_module("generate")


def test_the_reference_is_that_of_the_code() -> None:
    stale = [path.name for path, said in generator().files().items() if path.read_text("utf-8") != said]
    assert stale == [], "write them anew: python docs/generate.py"
    text = "".join(path.read_text("utf-8") for path in DOCUMENTS.values())
    assert sorted(re.findall(r"<!-- generated: ([\w-]+) -->", text)) == sorted(generator().PARTS)


def test_how_severe_a_finding_can_be_is_what_the_code_makes() -> None:
    page = DOCUMENTS["docs/reference/findings.md"].read_text("utf-8")
    told = dict(re.findall(r"^## (\S+)\n\n\*([a-z ]+)\.\*", page, flags=re.MULTILINE))
    calls = [
        node
        for path in (ROOT / "pytest_bertsize").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Finding", ".make_finding"))
    ]
    made = {(call.args[0].value, _severity(call)) for call in calls if isinstance(call.args[0], ast.Constant)}
    assert len(made) > len(told)
    assert [each for each in made if each[1] not in {*told[str(each[0])].split(" or "), None}] == []


def _severity(call: ast.Call) -> object:
    """``error`` unless given; ``None`` where a condition chooses."""
    given = [*call.args[3:4], *(each.value for each in call.keywords if each.arg == "severity")]
    return getattr(given[0], "value", None) if given else "error"


def test_what_counts_as_ci_is_told() -> None:
    page = DOCUMENTS["docs/reference/command-line.md"].read_text("utf-8")
    (told,) = re.findall(
        r"^A run is in CI if one of .+?: ((?:`\w+`,?\s)+|.+?)\.$", page, flags=re.MULTILINE | re.DOTALL
    )
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
