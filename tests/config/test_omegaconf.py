"""YAML of OmegaConf and hydra: its numbers, and its ``${…}``, which OmegaConf itself resolves, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.commit_files import CommitFiles
from pytest_bertsize.base.project_at_commit import AtCommit
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.config import yaml
from pytest_bertsize.config.source import read, read_file
from pytest_bertsize.config.values import resolve
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.git_projects import repository

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

FIX = 'write the value, say it by overrides, or name a function that composes the config, as in config = "module:make"'


def config_of(folder: Path, text: str, inner: str = "#model", **others: str) -> ModelConfig:
    for name, content in {"m.yaml": text, **others}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return read_file(folder, f"m.yaml{inner}")


def refused(folder: Path, text: str, inner: str = "#model") -> Finding:
    with pytest.raises(Unusable) as unusable:
        config_of(folder, text, inner)
    (finding,) = unusable.value.findings
    return finding


# numbers

NUMBERS = "model:\n  eps: 1e-12\n  large: 1.5E3\n  day: 2024-01-01\n  quoted: '1e-12'\n"


@pytest.mark.parametrize(
    "mark", ["x: ${a}", "_target_: pkg.Model", "x: ???", "# @package _global_", "defaults:\n- _self_"]
)
def test_a_number_without_a_point_is_one_in_a_file_that_is_marked_as_omegaconfs(
    tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "answer_of", None)  # an object without ${…} needs no process
    config = config_of(tmp_path, f"{mark}\n{NUMBERS}")
    assert config.data == {"eps": 1e-12, "large": 1500.0, "day": "2024-01-01", "quoted": "1e-12"}


# what stands for another value

AROUND = """\
sizes: {width: 768, all: [3, 4]}
alias: ${sizes}
which: sizes
here: ${oc.env:HOME}
asked: {x: "???"}
hydra: {run: {dir: "${now:%Y}"}}
model:
  depth: 12
"""
VALUES: dict[str, object] = {
    "${sizes.width}": 768,
    "${.depth}": 12,
    "${..sizes.all[1]}": 4,
    "${sizes}": {"width": 768, "all": [3, 4]},
    "bert-${sizes.width}-${.depth}": "bert-768-12",
    "${${which}.width}": 768,
    "\\${sizes}": "${sizes}",
}
UNKNOWN = {
    "${oc.env:HOME}": "Unsupported interpolation type oc.env",
    "${here}": "Unsupported interpolation type oc.env",
    "${elsewhere.width}": "Interpolation key 'elsewhere.width' not found",
    "${asked}": "Missing mandatory value: x",
    "???": "Missing mandatory value: model.",
}


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> ModelConfig:
    """Every value above and below, resolved by one process."""
    lines = (f"  k{index}: {text}\n" for index, text in enumerate([*VALUES, *UNKNOWN]))
    return config_of(tmp_path_factory.mktemp("resolved"), AROUND + "".join(lines))


@pytest.mark.parametrize("text", VALUES)
def test_what_stands_for_another_value_is_that_value(resolved: ModelConfig, text: str) -> None:
    index = [*VALUES].index(text)
    assert (resolved.data[f"k{index}"], resolved.why_unknown(f"k{index}")) == (VALUES[text], None)
    assert resolved.line(f"k{index}") == 9 + index


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_only_a_run_has_is_not_known_and_no_text(resolved: ModelConfig, text: str) -> None:
    key = f"k{len(VALUES) + [*UNKNOWN].index(text)}"
    said = resolved.why_unknown(key)
    assert said
    assert said[0].startswith(f"{key} is {text}, which OmegaConf does not resolve: {UNKNOWN[text]}")
    assert said[1] == FIX


def test_without_omegaconf_each_value_that_needs_it_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "omegaconf.py").write_text("raise ImportError", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    config = config_of(tmp_path, "model:\n  x: ${.y}\n  y: 1\n")
    said = "x is ${.y}, which OmegaConf does not resolve: it is not installed", f"pip install omegaconf, {FIX}"
    assert (config.data["y"], dict(config.unknown)) == (1, {("model", "x"): said})


HOSTILE = {
    "time": (
        "\n".join(["a0: 0123456789", *(f"a{n}: {f'${{a{n - 1}}}' * 10}" for n in range(1, 30))]),
        ("it was not done ",),
    ),
    "memory": (  # its own limit stops the process, or the gate that looks at it from outside: whichever is first
        f"a0: {'x' * 500_000}\na1: {'${a0}' * 100}\na2: {'${a1}' * 100}",
        ("MemoryError", "it took more than 1,024 MB of memory"),
    ),
    "no grammar": ("b: 1\na: ${b", ("no viable alternative",)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_given_up(what: str) -> None:
    text, why = HOSTILE[what]
    key, _, last = text.rpartition("\n")[2].partition(": ")
    seconds = 2.0 if what == "time" else 60.0
    _, unknown = yaml.resolve(text, {key: last}, (), "m.yaml", yaml.ALLOWED._replace(seconds=seconds))
    assert unknown[key,][0].partition("which OmegaConf does not resolve: ")[2].startswith(why)


# what is made of it


def model(config: str, **more: Any) -> Model:
    return Model(
        name="m",
        config=config,
        family="bert",
        architecture="BertModel",
        budget=Budget(),
        table_key=("tool", "bertsize", "models", "m"),
        **more,
    )


SIZED = "vocab_size: 9\nhidden_size: {}\nnum_hidden_layers: 1\nnum_attention_heads: 1\nintermediate_size: 4\n"
SIZED += "max_position_embeddings: 8\ntype_vocab_size: 2\noutput_dir: ${{oc.env:OUT}}\n"


def test_a_size_that_only_a_run_has_is_refused_where_it_stands_unless_the_table_says_it(tmp_path: Path) -> None:
    config = config_of(tmp_path, SIZED.format("${oc.env:WIDTH}"), "")
    with pytest.raises(Unusable) as unusable:
        resolve(bert.KEYS, config, {}, bert.BERT.architectures[0])
    (finding,) = unusable.value.findings
    said = "hidden_size is ${oc.env:WIDTH}, which OmegaConf does not resolve: Unsupported interpolation type oc.env"
    assert finding.sentence == f"m.yaml:2: {said}; {FIX}"
    values = resolve(bert.KEYS, config, {"hidden_size": 4}, bert.BERT.architectures[0])
    assert values.sizes["D"] == 4
    assert [each.severity for each in values.findings] == ["warning"], "output_dir, which is ignored"


def test_a_revision_is_resolved_by_its_own_text(tmp_path: Path) -> None:
    project = repository(tmp_path)
    project.write("m.yaml", "model:\n  x: ${.y}\n  y: 1e-3\n")
    project.commit()
    project.write("m.yaml", "model:\n  x: 2\n")
    with CommitFiles(project.folder, project.git("rev-parse", "HEAD")) as files:
        today = Settings(project.folder / "pyproject.toml", "", {})
        then = read(model("m.yaml#model"), today, AtCommit(files, "main"))
    assert (then.data, then.file, then.line("x")) == ({"x": 1e-3, "y": 1e-3}, "m.yaml at main", 2)


# what hydra composes


@pytest.mark.parametrize(
    ("defaults", "named"), [("\n- model: bert\n- _self_", '{"model": "bert"}'), (" [_self_, base]", '"base"')]
)
@pytest.mark.parametrize("inner", ["", "#model"])
def test_a_file_that_hydra_composes_of_others_is_refused(tmp_path: Path, defaults: str, named: str, inner: str) -> None:
    finding = refused(tmp_path, f"# hydra\ndefaults:{defaults}\nmodel:\n  x: 1\n", inner)
    assert (finding.place, finding.message) == (
        "m.yaml:2",
        f"its defaults name {named}, and only hydra composes such files",
    )
    assert finding.fix.startswith('name a function of the project that does, as in config = "module:make": it returns ')
