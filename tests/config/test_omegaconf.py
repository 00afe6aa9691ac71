"""YAML of OmegaConf and hydra: a number where they read one, ``${…}`` and ``defaults`` resolved, or refused by name.

What is expected was compared with OmegaConf 2.3.1 (``OmegaConf.to_container(…, resolve=True)``) and hydra 1.3 (``compose``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.baseline import AtCommit
from pytest_bertsize.base.tree import Files
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.config.source import Disk, read, read_file
from pytest_bertsize.config.values import resolve
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings
from tests.support.git_projects import repository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_bertsize.config.model_config import ModelConfig

BERT = "hidden_size: 768\nlayer_norm_eps: 1e-12\nintermediate_size: ${.hidden_size}\nname: bert-${model.hidden_size}\n"


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_what_grows_by_references_is_told_before_it_is_written_out_and_a_package_is_not_without_end(
    tmp_path: Path,
) -> None:
    text = "model:\n  hidden_size: '" + "${a}" * 20_000 + "'\na: " + "x" * 900_000 + "\n"
    why = config_of(tmp_path, {"conf/config.yaml": text}).why_unknown("hidden_size")
    assert why
    assert "larger than 1,048,576 bytes" in why[0]
    deep = f"# @package {'.'.join('a' * 1500)}\nx: 1\n"
    finding = refused(tmp_path, {"conf/config.yaml": "defaults:\n- b\nmodel: {}\n", "conf/b.yaml": deep})
    assert "its package has more than 64 keys" in finding.message


def config_of(folder: Path, files: Mapping[str, str], reference: str = "conf/config.yaml#model") -> ModelConfig:
    return read_file(written(folder, files), reference)


def refused(folder: Path, files: Mapping[str, str], reference: str = "conf/config.yaml#model") -> Finding:
    with pytest.raises(Unusable) as unusable:
        config_of(folder, files, reference)
    (finding,) = unusable.value.findings
    return finding


def test_a_list_among_the_defaults_is_a_mistake_only_for_who_reads_it(tmp_path: Path) -> None:
    files = {"config.yaml": "defaults:\n- callbacks: none\nmodel: {x: 1}\n", "callbacks/none.yaml": "[]\n"}
    files = {f"conf/{name}": text for name, text in files.items()}
    assert config_of(tmp_path, files).data == {"x": 1}
    assert (
        "conf/callbacks/none.yaml: the file holds no object"
        in refused(tmp_path, files, "conf/config.yaml#callbacks").message
    )


# numbers


@pytest.mark.parametrize(
    "mark", ["x: ${a}", "_target_: pkg.Model", "x: ???", "# @package _global_", "defaults:\n- _self_"]
)
def test_a_number_without_a_point_is_one_to_a_file_that_omegaconf_is_meant_to_read(tmp_path: Path, mark: str) -> None:
    config = config_of(tmp_path, {"m.yaml": f"{mark}\neps: 1e-12\nday: 2024-01-01\nquoted: '1e-12'\n"}, "m.yaml")
    assert {key: config.data[key] for key in ("eps", "day", "quoted")} == {
        "eps": 1e-12,
        "day": "2024-01-01",
        "quoted": "1e-12",
    }


@pytest.mark.parametrize("line", ["from omegaconf import OmegaConf", "import hydra", "    from hydra import compose"])
def test_a_project_that_imports_omegaconf_has_its_numbers(tmp_path: Path, line: str) -> None:
    files = {"m.yaml": "eps: 1e-12\n", "pkg/train.py": f"import os\n{line}\n"}
    assert config_of(tmp_path, files, "m.yaml").data == {"eps": 1e-12}


def test_any_other_project_has_those_of_pyyaml(tmp_path: Path) -> None:
    files = {"m.yaml": "eps: 1e-12\n", "train.py": "import yaml  # not import hydra\nimport hydraulics\n"}
    assert config_of(tmp_path, files, "m.yaml").data == {"eps": "1e-12"}


# what stands for another value

VALUES: dict[str, tuple[str, Any]] = {
    "a path from the root": ("${sizes.width}", 768),
    "a path from where it stands": ("${.depth}", 12),
    "a path from above": ("${..sizes.width}", 768),
    "an entry of a list": ("${sizes.all[1]}", 4),
    "an entry of a list, by a dot": ("${sizes.all.1}", 4),
    "an object": ("${sizes}", {"width": 768, "all": [3, 4], "half": 384}),
    "a text with a number in it": ("bert-${sizes.width}-${.depth}", "bert-768-12"),
    "one that stands for another": ("${also}", 768),
    "what lies in one that stands for another": ("${alias.width}", 768),
    "what is none, because of a backslash": ("'\\${sizes}'", "${sizes}"),
}
AROUND = "sizes: {width: 768, all: [3, 4], half: 384}\nalso: ${sizes.width}\nalias: ${sizes}\n"


@pytest.mark.parametrize("what", VALUES)
def test_what_stands_for_another_value_is_that_value(tmp_path: Path, what: str) -> None:
    text, value = VALUES[what]
    config = config_of(tmp_path, {"m.yaml": f"{AROUND}model:\n  depth: 12\n  x: {text}\n"}, "m.yaml#model")
    assert config.data == {"depth": 12, "x": value}
    assert (dict(config.unknown), config.line("x")) == ({}, 6)


UNKNOWN = {
    "${oc.env:WIDTH}": "x is ${oc.env:WIDTH}, which only the resolver oc.env can tell",
    "${mul:2,3}": "x is ${mul:2,3}, which only the resolver mul can tell",
    "a${oc.env:WIDTH}": "x is a${oc.env:WIDTH}, which only the resolver oc.env can tell",
    "${nowhere.width}": "x is ${nowhere.width}, and there is no nowhere.width in m.yaml",
    "${.x}": "x is ${.x}, which leads back to itself",
    "${other}": 'x is ${other}, and other is "${oc.env:WIDTH}", which only the resolver oc.env can tell',
    "${sizes.${.key}}": "x is ${sizes.${.key}}, which has one ${…} in another",
    "w${sizes}": "x is w${sizes}, which puts an object into a text",
    "${....x}": "x is ${....x}, which leads nowhere",
    "???": "x is ???, which hydra asks for on the command line",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_nobody_can_tell_is_told_by_its_name(tmp_path: Path, text: str) -> None:
    files = {"m.yaml": f"{AROUND}other: ${{oc.env:WIDTH}}\nmodel:\n  key: width\n  x: {text}\n"}
    config = config_of(tmp_path, files, "m.yaml#model")
    assert [message for message, _ in config.unknown.values()] == [UNKNOWN[text]]
    assert config.data["x"] == text


def test_values_that_grow_by_each_other_are_refused_before_they_are_large(tmp_path: Path) -> None:
    lines = ["a0: 0123456789", *(f"a{n}: {f'${{a{n - 1}}}' * 10}" for n in range(1, 30))]
    finding = refused(tmp_path, {"m.yaml": "\n".join(lines)}, "m.yaml")
    assert finding.message == "the file has a value which is larger than 1,048,576 bytes with every ${…} written out"


# what is made of it


def model(config: str, **more: Any) -> Model:
    return replace(Model("m", config, "bert", "BertModel", {}, {}, (), ("tool", "bertsize", "models", "m")), **more)


SIZED = "vocab_size: 9\nhidden_size: {}\nnum_hidden_layers: 1\nnum_attention_heads: 1\nintermediate_size: 4\n"
SIZED += "max_position_embeddings: 8\ntype_vocab_size: 2\noutput_dir: ${{oc.env:OUT}}\n"


def test_a_size_that_nobody_can_tell_is_refused_where_it_stands(tmp_path: Path) -> None:
    written(tmp_path, {"m.yaml": SIZED.format("${oc.env:WIDTH}")})
    with pytest.raises(Unusable) as unusable:
        resolve(bert.KEYS, read_file(tmp_path, "m.yaml"), {}, bert.FAMILY.architectures[0])
    (finding,) = unusable.value.findings
    assert finding.sentence == (
        "m.yaml:2: hidden_size is ${oc.env:WIDTH}, which only the resolver oc.env can tell; write the value, say it by "
        'overrides, or name a function that composes the config, as in config = "module:make"'
    )


def test_one_that_the_table_says_is_none_to_refuse(tmp_path: Path) -> None:
    written(tmp_path, {"m.yaml": SIZED.format("${oc.env:WIDTH}")})
    values = resolve(bert.KEYS, read_file(tmp_path, "m.yaml"), {"hidden_size": 4}, bert.FAMILY.architectures[0])
    assert values.sizes["D"] == 4
    assert [each.severity for each in values.findings] == ["warning"], "output_dir, which is ignored"


def test_a_factory_may_read_every_key(tmp_path: Path) -> None:
    written(tmp_path, {"m.yaml": SIZED.format(4)})
    settings = Settings(tmp_path / "pyproject.toml", "", {})
    assert read(model("m.yaml"), settings).data["hidden_size"] == 4
    with pytest.raises(Unusable) as unusable:
        read(model("m.yaml", factory="pkg:build"), settings)
    (finding,) = unusable.value.findings
    assert (finding.place, finding.message) == (
        "m.yaml:8",
        "output_dir is ${oc.env:OUT}, which only the resolver oc.env can tell",
    )


# what hydra composes

Composed = tuple[dict[str, str], dict[str, Any]]
FULL = {"hidden_size": 768, "layer_norm_eps": 1e-12, "intermediate_size": 768, "name": "bert-768"}
COMPOSED: dict[str, Composed] = {
    "a group": ({"config.yaml": "defaults:\n- model: bert\n- _self_\n", "model/bert.yaml": BERT}, FULL),
    "a file that comes last where nothing says when": (
        {"config.yaml": "defaults:\n- model: a\nmodel: {x: 2}\n", "model/a.yaml": "x: 1\ny: 1\n"},
        {"x": 2, "y": 1},
    ),
    "a file that says to come first": (
        {"config.yaml": "defaults:\n- _self_\n- model: a\nmodel: {x: 2}\n", "model/a.yaml": "x: 1\n"},
        {"x": 1},
    ),
    "a file of the same group": (
        {
            "config.yaml": "defaults:\n- model: a\n",
            "model/a.yaml": "defaults:\n- base\n- _self_\nx: 2\n",
            "model/base.yaml": "x: 1\ny: 1\n",
        },
        {"x": 2, "y": 1},
    ),
    "a file that says where it goes": (
        {"config.yaml": "defaults:\n- e: e\n- _self_\n", "e/e.yaml": "# @package _global_\nmodel: {x: 1}\n"},
        {"x": 1},
    ),
    "an entry that says where it goes": (
        {"config.yaml": "defaults:\n- enc@model.q: a\n- enc@model.c: a\n", "enc/a.yaml": "x: 1\n"},
        {"q": {"x": 1}, "c": {"x": 1}},
    ),
    "several of one group": (
        {"config.yaml": "defaults:\n- model: [a, b]\n", "model/a.yaml": "x: 1\ny: 1\n", "model/b.yaml": "y: 2\n"},
        {"x": 1, "y": 2},
    ),
    "groups in a group": (
        {
            "config.yaml": "defaults:\n- model: m\n",
            "model/m.yaml": "defaults:\n- enc: e\n- /act: g\nx: 1\n",
            "model/enc/e.yaml": "h: 1\n",
            "act/g.yaml": "n: gelu\n",
        },
        {"enc": {"h": 1}, "act": {"n": "gelu"}, "x": 1},
    ),
    "an experiment that chooses another": (
        {
            "config.yaml": "defaults:\n- model: large\n- e: small\n",
            "model/large.yaml": "x: 2\n",
            "model/small.yaml": "x: 1\n",
            "e/small.yaml": "# @package _global_\ndefaults:\n- override /model: small\nlr: 1e-3\n",
        },
        {"x": 1},
    ),
    "what need not be there": (
        {"config.yaml": "defaults:\n- optional model: none\n- model: m\n", "model/m.yaml": "x: 1\n"},
        {"x": 1},
    ),
    "what hydra says of itself": (
        {"config.yaml": "defaults:\n- model: m\n- override hydra/job_logging: none\n", "model/m.yaml": "x: 1\n"},
        {"x": 1},
    ),
    "a value that is asked for and was given": (
        {"config.yaml": "defaults:\n- model: m\nmodel:\n  x: ???\n", "model/m.yaml": "x: 1\n"},
        {"x": 1},
    ),
}


@pytest.mark.parametrize("what", COMPOSED)
def test_a_config_is_composed_of_the_files_of_its_defaults(tmp_path: Path, what: str) -> None:
    files, data = COMPOSED[what]
    config = config_of(tmp_path, {f"conf/{name}": text for name, text in files.items()})
    assert (config.data, config.reference) == (data, "conf/config.yaml#model")


def test_a_key_has_the_line_of_the_file_that_says_it(tmp_path: Path) -> None:
    files = {"conf/config.yaml": "defaults:\n- model: a\nmodel:\n  x: 2\n", "conf/model/a.yaml": "x: 1\ny: 1\n"}
    config = config_of(tmp_path, files)
    assert (config.place("x"), config.place("y")) == (("conf/config.yaml", 4), ("conf/model/a.yaml", 2))
    only = config_of(tmp_path, {"conf/config.yaml": "defaults:\n- model: a\n"})
    assert (only.file, only.line("y"), only.reference) == ("conf/model/a.yaml", 2, "conf/config.yaml#model")


def test_a_file_of_the_defaults_that_is_not_there_is_told_where_it_would_count(tmp_path: Path) -> None:
    files = {"conf/config.yaml": "defaults:\n- model: b\n- logger: wandb\nsize: ${logger.x}\nn: 1\n"}
    finding = refused(tmp_path, files)
    assert (finding.place, finding.message) == (
        "conf/config.yaml:2",
        "model: b names conf/model/b.yaml, which is no file here",
    )
    files["conf/model/b.yaml"] = "x: ${n}\n"
    assert config_of(tmp_path, files).data == {"x": 1}, "whatever the logger is"
    files["conf/model/b.yaml"] = "x: ${size}\n"
    ((message, _),) = config_of(tmp_path, files).unknown.values()
    assert message.endswith("and logger: wandb names conf/logger/wandb.yaml, which is no file here")


def test_a_choice_of_the_command_line_is_refused(tmp_path: Path) -> None:
    finding = refused(tmp_path, {"conf/config.yaml": "defaults:\n- model: ???\n"})
    assert finding.message == "of model: ??? only the command line can tell the file"
    assert finding.fix.startswith("name the object in another file, or a function that returns what hydra.compose does")


def test_files_that_name_each_other_are_refused(tmp_path: Path) -> None:
    files = {"conf/config.yaml": "defaults:\n- model: a\n", "conf/model/a.yaml": "defaults:\n- a\nx: 1\n"}
    assert refused(tmp_path, files).message == "its defaults name more than 100 files"


def test_a_file_outside_the_project_is_no_default(tmp_path: Path) -> None:
    written(tmp_path, {"secret.yaml": "x: 1\n"})
    files = {"conf/config.yaml": "defaults:\n- model: ../../../secret\n"}
    found = refused(tmp_path / "project", files)
    assert (found.kind, found.file, found.message) == (
        "config-refused",
        "../secret.yaml",
        "the config lies outside the project",
    )


def test_a_list_of_defaults_that_is_not_hydras_is_a_key_like_others(tmp_path: Path) -> None:
    assert config_of(tmp_path, {"m.yaml": "defaults:\n- 1\n- 2\n"}, "m.yaml").data == {"defaults": [1, 2]}


def test_a_revision_is_composed_of_its_own_files(tmp_path: Path) -> None:
    project = repository(tmp_path)
    project.write("conf/config.yaml", "defaults:\n- model: a\n")
    project.write("conf/model/a.yaml", "x: ${.y}\ny: 1e-3\n")
    project.commit()
    project.write("conf/model/a.yaml", "x: 2\n")
    with Files(project.folder, project.git("rev-parse", "HEAD")) as files:
        then = read(
            model("conf/config.yaml#model"),
            Settings(project.folder / "pyproject.toml", "", {}),
            AtCommit(files, "main"),
        )
    assert (then.data, then.place("x")) == ({"x": 1e-3, "y": 1e-3}, ("conf/model/a.yaml at main", 1))
    assert Disk(project.folder).file("conf/model/none.yaml") is None
