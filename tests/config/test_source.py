"""The one door to a config: a file, the table itself, a function, or a name; now, and at another revision."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest
import tomli

from pytest_bertsize.base.commit_files import CommitFiles
from pytest_bertsize.base.project_at_commit import AtCommit, Missing
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.source import of_hub, read, read_file
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings, load
from tests.conftest import TINY
from tests.support.git_projects import GitProject, repository
from tests.support.starting_projects import lay

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.review.review import Review

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
    table_key = ("tool", "bertsize", "models", "m")
    return Model(name="m", config=config, budget=Budget(), table_key=table_key, inline=inline, keys=keys)


def in_table(text: str, folder: Path = Path()) -> tuple[Model, Settings]:
    config = tomli.loads(text)["tool"]["bertsize"]["models"]["m"]["config"]
    return model(PLACE, config), Settings(folder / "pyproject.toml", text, {})


def of(folder: Path, declared: Model, hub: dict[str, str] | None = None) -> ModelConfig:
    return read(declared, Settings(folder / "pyproject.toml", "", {}, hub=hub or {}))


def write(path: Path, data: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), "utf-8")


# files


@pytest.mark.parametrize("name", ["config.json", "config.yaml", "config.yml", "CONFIG.YAML"])
def test_a_file_is_read_as_what_its_name_says(tmp_path: Path, name: str) -> None:
    text = '{"model": {"hidden_size": 384}}' if name.endswith("json") else "model: {hidden_size: 384}"
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


def test_what_json_cannot_say_is_refused_in_the_table_with_its_line() -> None:
    with pytest.raises(Unusable, match="heads is 2024-01-01, which JSON cannot hold") as unusable:
        read(*in_table(OWN_TABLE.replace("heads = 12", "heads = 2024-01-01")))
    assert unusable.value.findings[0].place == "pyproject.toml:6"


# code


def test_a_function_is_told_from_a_file() -> None:
    for name in ("pkg.cfg:make", "cfg:make", "pkg.cfg:Configs.make", "pkg.cfg:make#model.bert", "_a.ü:b"):
        assert model(name).is_made_by_code, name
    files = ("config.json", "a:b.json", "./cfg:make", "a/b:c", "cfg:", ":make", "cfg:make()", "a-b:c", "", "a:b:c")
    for name in (*files, "a b:c"):
        assert not model(name).is_made_by_code, name


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


def test_code_of_a_revision_is_not_run_and_what_is_no_file_there_is_said(project: GitProject) -> None:
    assert missing_at(project, model("cfg:make")) == "its config is made by code (cfg:make), which is not run at main"
    assert not (project.folder / "ran").exists()
    assert missing_at(project, model("nothing.yaml")) == "nothing.yaml is not a file at main"
    project.write("both/config.json", {})
    project.write("both/bert_config.json", {})
    assert missing_at(project, model("both")) == "both holds both config.json and bert_config.json at main"


# a name of the hub

SMALL = {"model_type": "bert", "hidden_size": 384}
COMMIT = "86b5e0934494bd15c9632b12f734a8a67f723594"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_catalogue_has_it_with_its_source(tmp_path: Path) -> None:
    for name in ("bert-base-uncased", "google-bert/bert-base-uncased"):
        config = of(tmp_path, model(name))
        assert (config.reference, config.data["vocab_size"]) == (name, 30522)
        assert config.origin == "the catalogue (google-bert/bert-base-uncased by Google, revision 86b5e0934494)"


def test_the_tables_own_comes_before_the_catalogue_and_a_folder_of_the_project_before_all(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "x.json", SMALL)
    config = of(tmp_path, model("bert-base-uncased"), {"google-bert/bert-base-uncased": "configs/x.json"})
    assert config.data == SMALL
    assert (config.file, config.origin) == ("configs/x.json", "configs/x.json, by hub in pyproject.toml")
    assert config.by_hub
    assert config.line("hidden_size") == 1
    write(tmp_path / "bert-base-uncased" / "config.json", SMALL)
    config = of(tmp_path, model("bert-base-uncased"), {"bert-base-uncased": "nowhere.json"})
    assert (config.data, config.origin) == (SMALL, "")


def test_the_cache_comes_last_and_says_its_revision(tmp_path: Path, cache: Path) -> None:
    for name in ("acme--x", "google-bert--bert-base-uncased"):
        write(cache / f"models--{name}" / "snapshots" / COMMIT / "config.json", SMALL)
        (cache / f"models--{name}" / "refs").mkdir()
        (cache / f"models--{name}" / "refs" / "main").write_text(COMMIT, "utf-8")
    config = of(tmp_path, model("acme/x"))
    assert (config.data, config.origin) == (SMALL, "the hub cache, revision 86b5e0934494")
    assert of(tmp_path, model("bert-base-uncased")).data["hidden_size"] == 768


def test_the_helper_is_told_what_the_table_maps_and_what_it_cannot(tmp_path: Path) -> None:
    write(tmp_path / "configs" / "x.json", SMALL)
    hub = {"acme/x": "configs/x.json", "acme/y": "../y.json"}
    assert of_hub(Settings(tmp_path / "pyproject.toml", "", {}, hub=hub)) == {
        "acme/x": {"config": SMALL, "file": "configs/x.json", "folder": str(tmp_path / "configs")},
        "acme/y": {"error": "../y.json: the config lies outside the project; copy it into the project"},
    }


def test_at_the_base_it_is_the_bases_own_table_that_says_what_a_name_means(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    write(project.folder / "old.json", SMALL)
    commit = project.commit()
    (project.folder / "old.json").unlink()
    with CommitFiles(project.folder, commit) as files:
        reader = AtCommit(files, "main", {"acme/x": "old.json", "acme/y": "gone.json"})
        found = read(model("acme/x"), Settings(project.folder / "pyproject.toml", "", {}), reader)
        assert (found.data, found.file) == (SMALL, "old.json at main")
        for name in ("acme/y", "acme/z"):
            with pytest.raises(Missing, match="is not a file at main"):
                read(model(name), Settings(project.folder / "pyproject.toml", "", {}), reader)


BASE, LARGE = 109_482_240, 335_141_888
"""BertModel of bert-base-uncased and of bert-large-uncased, as built by transformers (docs/explanation/counting.md)."""


def declared(root: Path, config: str, **files: Any) -> Settings:
    table = f'[tool.bertsize.models.m]\nconfig = "{config}"\narchitecture = "BertModel"\nbudget = "report-only"\n'
    return load(lay(root, **{"pyproject.toml": table, **files}) / "pyproject.toml")


def review(settings: Settings) -> Review:
    return conclude_unbuilt(examine(settings.models["m"], settings, Registry()))


def sentence_of(settings: Settings) -> str:
    (finding,) = review(settings).errors
    return finding.sentence


# names


@pytest.mark.parametrize(
    ("file", "text", "config"),
    [
        ("conf/encoder.yaml", "encoder:\n  model: bert-base-uncased\n", "conf/encoder.yaml#encoder.model"),
        ("conf/encoder.toml", 'model = "bert-base-uncased"', "conf/encoder.toml#model"),
        ("sizes.py", 'MODEL = "bert-base-uncased"\n', "sizes:MODEL"),
        ("sizes.py", 'CFG = {"model": {"name": "bert-base-uncased"}}\n', "sizes:CFG#model.name"),
    ],
)
def test_a_name_in_settings_or_in_a_module_is_followed(tmp_path: Path, file: str, text: str, config: str) -> None:
    found = review(declared(tmp_path, config, **{file: text}))
    assert (found.expected and found.expected.unique, found.errors) == (BASE, ())
    (note,) = [each.message for each in found.findings if each.kind == "published-config"]
    assert note.startswith(f"the published config {config} is from the catalogue (")
    assert note.endswith('by the name "bert-base-uncased"')
    found = review(declared(tmp_path, config, **{file: text.replace("base", "large")}))
    assert found.expected
    assert found.expected.unique == LARGE


@pytest.mark.parametrize("name", ["conf", "conf/config.json"])
def test_a_module_may_name_a_file_or_a_folder_of_the_project(tmp_path: Path, name: str) -> None:
    settings = declared(tmp_path, "sizes:MODEL", **{"sizes.py": f"MODEL = {name!r}\n", "conf/config.json": TINY})
    config = read(settings.models["m"], settings)
    assert (config.data, config.reference, config.origin) == (TINY, "conf/config.json", f'"{name}"')


NO_CONFIG = '{{place}}: it is "{}", which names no config; name a place that has a config'.format


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("acme/nowhere", 'pyproject.toml:2: {place} is "acme/nowhere": "acme/nowhere" is not a file, and neither *'),
        (
            "../config.json",
            '../config.json: {place} is "../config.json": the config lies outside the project; copy it *',
        ),
        ("conf/m.json#x", NO_CONFIG("conf/m.json#x")),
        ("", NO_CONFIG("")),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_its_place(tmp_path: Path, name: str, sentence: str) -> None:
    files = {"conf/m.json": {"model": name}, "sizes.py": f"MODEL = {name!r}\n", "config.json": TINY}
    for place in ("conf/m.json#model", "sizes:MODEL"):
        assert fnmatchcase(sentence_of(declared(tmp_path, place, **files)), sentence.format(place=place))


# code


def test_a_place_in_code_is_refused(tmp_path: Path) -> None:
    """Python says a size and runs another in more ways than a reader follows: ``parse_known_args``, ``exec``, …."""
    for config in ("train.py", "train.py#BertConfig", "acme/sizes.py:SMALL", "TRAIN.PY#SMALL", "setup.cfg#model"):
        suffix = PurePosixPath(re.split("[#:]", config)[0]).suffix
        assert sentence_of(declared(tmp_path, config)) == (
            f'pyproject.toml:2: "{config}" names a {suffix} file, and only a run knows its config; write '
            '"module:NAME" to run it, or the name of the config on the hub'
        )
