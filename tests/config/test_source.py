"""The one door to a config: a JSON or YAML file, the table itself, or a function; now, and at another revision."""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomli

from pytest_bertsize.base.commit_files import CommitFiles
from pytest_bertsize.base.project_at_commit import AtCommit, Missing
from pytest_bertsize.config.source import read, read_file
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.git_projects import GitProject, repository

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

PLACE = "pyproject.toml#tool.bertsize.models.m.config"
TABLE = """\
[tool.other]
x = 1

[tool.bertsize.models.m]
budget = "report-only"
config = { hidden_size = 384, attention = { heads = 12 } }
"""
OWN_TABLE = """\
[tool.bertsize.models.m]
budget = "report-only"
[tool.bertsize.models.m.config]
hidden_size = 384
[tool.bertsize.models.m.config.attention]
heads = 12
"""


def model(config: str, inline: dict[str, Any] | None = None, **keys: str) -> Model:
    plain = Model(name="m", config=config, budget=Budget(), table_key=("tool", "bertsize", "models", "m"))
    return plain.replace(inline=inline, keys=keys)


def in_table(text: str, folder: Path = Path()) -> tuple[Model, Settings]:
    config = tomli.loads(text)["tool"]["bertsize"]["models"]["m"]["config"]
    return model(PLACE, config), Settings(folder / "pyproject.toml", text, {})


def of(folder: Path, declared: Model) -> ModelConfig:
    return read(declared, Settings(folder / "pyproject.toml", "", {}))


def refused(declared: Model, settings: Settings) -> Finding:
    with pytest.raises(Unusable) as unusable:
        read(declared, settings)
    (finding,) = unusable.value.findings
    assert finding.kind == "config-invalid"
    return finding


# files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", '{"model": {"hidden_size": 384}}'),
        ("config.yaml", "model: {hidden_size: 384}"),
        ("config.yml", "model: {hidden_size: 384}"),
        ("CONFIG.YAML", "model: {hidden_size: 384}"),
    ],
)
def test_a_file_is_read_as_what_its_name_says(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    for config in (of(tmp_path, model(f"{name}#model")), read_file(tmp_path, f"{name}#model")):
        assert (config.data, config.reference) == ({"hidden_size": 384}, f"{name}#model")
        assert (config.line("hidden_size"), config.sha256) == (1, hashlib.sha256(text.encode()).hexdigest())


# the table


@pytest.mark.parametrize(("text", "lines"), [(TABLE, (6, 6)), (OWN_TABLE, (4, 6))])
def test_a_config_in_the_table_has_the_lines_of_the_table(text: str, lines: tuple[int, int]) -> None:
    config = read(*in_table(text))
    assert config.data == {"hidden_size": 384, "attention": {"heads": 12}}
    assert (config.file, config.reference) == ("pyproject.toml", PLACE)
    assert (config.line("hidden_size"), config.line("attention", "heads")) == lines


INLINE = {
    "2024-01-01": "attention.heads is 2024-01-01, which JSON cannot say",
    "nan": "attention.heads is nan, which is no number",
    "0x" + "f" * 4_000: "attention.heads is a number of thousands of digits",
    "[" * 63 + "]" * 63: "nested more than 64 deep",
    "{" + ", ".join(f"k{i} = 1" for i in range(2_001)) + "}": "an object has 2,001 keys, more than 2,000",
}


@pytest.mark.parametrize("value", INLINE, ids=lambda value: value[:9])
def test_what_json_cannot_say_is_refused_in_the_table_with_its_line(value: str) -> None:
    finding = refused(*in_table(OWN_TABLE.replace("heads = 12", f"heads = {value}")))
    assert (finding.place, finding.message) == ("pyproject.toml:6", INLINE[value])


# code


def test_a_function_is_told_from_a_file() -> None:
    code = ["pkg.cfg:make", "cfg:make", "pkg.cfg:Configs.make", "pkg.cfg:make#model.bert", "_a.ü:b"]
    files = [
        "config.json",
        "a:b.json",
        "./cfg:make",
        "a/b:c",
        "cfg:",
        ":make",
        "cfg:make()",
        "a-b:c",
        "",
        "a b:c",
        "a:b:c",
    ]
    assert [name for name in code if not model(name).is_made_by_code] == []
    assert [name for name in files if model(name).is_made_by_code] == []


# another revision


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    found = repository(tmp_path / "project")
    found.write("config.json", {"hidden_size": 384})
    found.write("train.yaml", "model:\n  num_blks: 6\n")
    found.write("cfg.py", "open('ran', 'w')\ndef make(): return {}")
    found.write("pyproject.toml", textwrap.dedent(TABLE))
    return found


def config_at(project: GitProject, declared: Model) -> ModelConfig:
    commit = project.commit()
    with CommitFiles(project.folder, commit) as files:
        return read(declared, Settings(project.folder / "pyproject.toml", "", {}), AtCommit(files, "main"))


def missing_at(project: GitProject, declared: Model) -> str:
    with pytest.raises(Missing) as raised:
        config_at(project, declared)
    return str(raised.value)


def test_files_of_a_revision_are_read_alike(project: GitProject) -> None:
    assert config_at(project, model("config.json")).data == {"hidden_size": 384}
    found = config_at(project, model("train.yaml#model", num_blks="num_hidden_layers"))
    assert (found.data, found.file) == ({"num_hidden_layers": 6}, "train.yaml at main")
    assert found.line("num_hidden_layers") == 2
    assert config_at(project, model(".")).file == "config.json at main"


def test_code_of_a_revision_is_not_run(project: GitProject) -> None:
    assert missing_at(project, model("cfg:make")) == "its config is made by code (cfg:make), which is not run at main"
    assert not (project.folder / "ran").exists()


def test_what_is_no_file_at_a_revision_is_said(project: GitProject) -> None:
    assert missing_at(project, model("nothing.yaml")) == "nothing.yaml is no file at main"
    project.write("both/config.json", {})
    project.write("both/bert_config.json", {})
    assert missing_at(project, model("both")) == "both holds both config.json and bert_config.json at main"
