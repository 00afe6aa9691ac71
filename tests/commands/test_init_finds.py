"""``init``: which configs of a repository it finds, where it looks, and what it says of the rest."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize import files
from pytest_bertsize.base import git as git_of_project
from pytest_bertsize.commands.console import MISTAKEN
from pytest_bertsize.commands.init import files as search_files
from pytest_bertsize.commands.init import found
from pytest_bertsize.commands.init.command import NOTHING
from pytest_bertsize.files import open_as_it_is
from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE, configs, lay, proposed, said, started

if TYPE_CHECKING:
    from pathlib import Path

BLOOM = {"model_type": "bloom", "architectures": ["BloomForCausalLM"], "hidden_size": 8, "num_hidden_layers": 2}
D2L = {"num_hiddens": 48, "ffn_num_hiddens": 72, "num_heads": 4, "num_blks": 3, "vocab_size": 101, "max_len": 40}
"""A BERT, by the names that "Dive into Deep Learning" has for its sizes."""


# what is a config


@pytest.mark.parametrize(
    "path",
    ["config.json", "bert_config.json", "models/encoder/config.json", "configs/small.json", "some_name.json"],
)
def test_a_json_file_with_the_content_of_a_config_is_one_whatever_its_name(tmp_path: Path, path: str) -> None:
    assert configs(lay(tmp_path, **{path: TINY})) == [path]


def test_a_yaml_file_is_one_as_well(tmp_path: Path) -> None:
    lines = "\n".join(f"{key}: {value}" for key, value in TINY.items())
    assert configs(lay(tmp_path, **{"a.yaml": lines, "b.yml": lines.replace("101", "102")})) == ["a.yaml", "b.yml"]


def test_a_config_in_a_training_file_is_named_by_its_keys(tmp_path: Path) -> None:
    training = {"seed": 1, "model": {"name": "x", "bert_config": TINY}, "optimizer": {"layers": 3}}
    table = proposed(lay(tmp_path, **{"train.json": training}))
    assert [(name, each["config"]) for name, each in table.items()] == [("bert", "train.json#model.bert_config")]


def test_the_parts_of_a_config_are_not_configs_of_their_own(tmp_path: Path) -> None:
    pair = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"]}
    decoder = {**TINY, "is_decoder": True, "add_cross_attention": True}
    assert configs(lay(tmp_path, **{"config.json": {**pair, "encoder": TINY, "decoder": decoder}})) == ["config.json"]


def test_a_folder_of_several_modules_is_one_model(tmp_path: Path) -> None:
    library = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{library}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{library}.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": f"{library}.Dense"},
    ]
    dense = {"in_features": TINY["hidden_size"], "out_features": 9, "bias": False}
    files = {"sbert/modules.json": modules, "sbert/config.json": TINY, "sbert/2_Dense/config.json": dense}
    (table,) = proposed(lay(tmp_path, **files)).values()
    assert table["config"] == "sbert"
    assert table["budget"]["head"] == TINY["hidden_size"] * 9


def test_a_folder_of_modules_that_cannot_be_counted_is_told_and_no_part_of_it_proposed(tmp_path: Path) -> None:
    library = "sentence_transformers.models.Transformer"
    modules = [{"name": "0", "path": "0_T", "type": library}, {"name": "1", "path": "1_X", "type": "mine.Head"}]
    files = {
        "sbert/modules.json": modules,
        "sbert/0_T/config.json": TINY,
        "good/config.json": {**TINY, "vocab_size": 99},
    }
    assert configs(lay(tmp_path, **files)) == ["good/config.json"]
    (line,) = said(tmp_path)
    assert line.startswith('by hand: sbert/modules.json: module "1_X" is of type "mine.Head"')
    assert 'config = "sbert/0_T/config.json"' in line


def test_googles_file_gets_the_family_that_it_does_not_name(tmp_path: Path) -> None:
    (table,) = proposed(lay(tmp_path, **{"bert_config.json": GOOGLE})).values()
    assert (table["family"], table["architecture"]) == ("bert", "BertModel")


def test_a_class_that_is_known_says_the_family(tmp_path: Path) -> None:
    (table,) = proposed(lay(tmp_path, **{"config.json": {**GOOGLE, "architectures": ["RobertaModel"]}})).values()
    assert (table["family"], "architecture" in table) == ("roberta", False)


@pytest.mark.parametrize(
    "content",
    [
        {"model_type": "bert", "model_name_or_path": "out/mine", "max_seq_length": 128, "seed": 1},
        {"hidden_size": 768, "learning_rate": 1e-4, "layers": "all"},
        {"model_type": {"value": "bert"}, "hidden_size": {"value": 768}},
        {"model": D2L},
        [TINY],
        {"layers": [TINY]},
    ],
)
def test_what_only_looks_like_a_config_is_left_alone_without_a_word(tmp_path: Path, content: Any) -> None:
    status, out, err = started(lay(tmp_path, **{"args.json": content}))
    assert (status, out) == (NOTHING, "")
    assert err == (
        "ERROR: no config.json, bert_config.json, JSON or YAML file of a known family was found (what git ignores, "
        "hidden, installed and built folders are not looked into); write, for example, "
        '[tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M"\n'
    )


# what is told, and not proposed


def test_other_kinds_of_models_are_told_in_one_line(tmp_path: Path) -> None:
    others = {"x/config.json": BLOOM, "y/config.json": BLOOM, "z/config.json": {**BLOOM, "model_type": "vit"}}
    lay(tmp_path, **{"config.json": TINY}, **others)
    assert configs(tmp_path) == ["config.json"]
    assert said(tmp_path) == [
        "left out: not of a family that is known: bloom (x/config.json and 1 more), vit (z/config.json)"
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            {**TINY, "architectures": ["MyTagger"]},
            (
                "config.json:2: there is no closed form for \"MyTagger\" in the family 'bert'; what comes nearest is "
                "BertModel, BertForPreTraining or BertForMaskedLM; correct the name, describe a class of your own by "
                'factory, backbone and extra, contribute a closed form (closed_forms = ["sizes/forms.py"]), or write closed_form = false to hold it to its budget alone'
            ),
        ),
        (
            {**TINY, "auto_map": {"AutoModel": "modeling.Own"}},
            (
                'config.json:13: the key "auto_map" is refused: it names code to run in place of the library\'s class; '
                "remove it"
            ),
        ),
        (
            {**TINY, "hidden_size": 50},
            "config.json:7: hidden_size 50 is not a multiple of num_attention_heads 4; write a multiple of 4",
        ),
        (
            '{"model_type": "bert", "hidden_size": 48,',
            "config.json:1: not JSON: Expecting property name enclosed in double quotes at column 42; correct the file",
        ),
        (
            {**GOOGLE, "embedding_size": 16},
            (
                "config.json has a BERT's sizes, no model_type, and keys that a BERT does not have (embedding_size): declare it "
                'by hand with its family, as in family = "albert" or family = "electra" or family = "mobilebert"'
            ),
        ),
        (
            {"vocab_size": 101, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 8},
            'config.json has the sizes of the family gpt2 and no model_type: declare it with family = "gpt2"',
        ),
        (
            {"vocab_size": 101, "n_layers": 2, "d_model": 48, "n_heads": 4},
            (
                "config.json has sizes under names of its own (n_layers, d_model, n_heads) and no model_type: if it is a "
                'BERT, declare it with family = "bert" and keys = { n_layers = "num_hidden_layers", '
                'd_model = "hidden_size", n_heads = "num_attention_heads" }'
            ),
        ),
    ],
)
def test_a_config_that_cannot_be_counted_is_told_with_the_reason(tmp_path: Path, content: Any, reason: str) -> None:
    lay(tmp_path, **{"config.json": content, "good/config.json": {**TINY, "vocab_size": 99}})
    assert configs(tmp_path) == ["good/config.json"]
    assert said(tmp_path) == [f"by hand: {reason}"]


def test_keys_are_proposed_for_the_sizes_that_another_library_calls_so(tmp_path: Path) -> None:
    model = {"model_type": "bert", "vocab_size": 101, "seed": 2, "d_model": 48}
    _, _, err = started(lay(tmp_path, **{"train.json": {"model": model}}))
    assert err.startswith(
        "by hand: train.json#model has names of its own (seed, d_model) and lacks hidden_size, num_hidden_layers, "
        "num_attention_heads, intermediate_size, max_position_embeddings, type_vocab_size: declare it by hand with "
        'keys = { d_model = "hidden_size" } and overrides = { num_hidden_layers = … }, or keys that say which name means '
        "it\n"
    )


def test_names_of_its_own_are_not_taken_for_defaults_of_the_library(tmp_path: Path) -> None:
    model = {"model_type": "bert", "vocab_size": 101, "num_blks": 2, "num_hiddens": 48}
    status, _, err = started(lay(tmp_path, **{"train.json": {"model": model}}))
    assert status == NOTHING
    assert err.startswith(
        "by hand: train.json#model has names of its own (num_blks, num_hiddens) and lacks hidden_size, "
        "num_hidden_layers, num_attention_heads, intermediate_size, max_position_embeddings, type_vocab_size: declare "
        "it by hand with overrides = { hidden_size = … }, or keys that say which name means it\n"
        "ERROR: no config was found that can be declared as it stands"
    )


def test_a_config_among_names_that_nobody_knows_is_found(tmp_path: Path) -> None:
    assert configs(lay(tmp_path, **{"train.json": {**D2L, "teacher": TINY}})) == ["train.json#teacher"]


def test_a_model_that_would_be_red_today_is_told_in_place_of_proposed(tmp_path: Path) -> None:
    vocabulary = "".join(f"token{number}\n" for number in range(200))
    lay(tmp_path, **{"config.json": TINY, "vocab.txt": vocabulary, "b/config.json": {**TINY, "vocab_size": 99}})
    assert configs(tmp_path) == ["b/config.json"]
    (line,) = said(tmp_path)
    assert line.startswith("by hand: config.json: ")
    assert "vocab.txt 200 ids: the highest, 199, has no row" in line


@pytest.mark.parametrize("path", ["a#b.json", "conf[1].json", "what?.json", "x*/config.json"])
def test_a_path_that_a_table_would_read_as_something_else_is_told(tmp_path: Path, path: str) -> None:
    assert said(lay(tmp_path, **{path: TINY}))[0] == (
        f"by hand: {path} has a path that no table can name: rename what has one of * ? [ # in its name"
    )


def test_a_path_that_is_no_text_is_told(tmp_path: Path) -> None:
    try:
        lay(tmp_path, **{os.fsdecode(b"\xff.json"): TINY})
    except OSError:
        pytest.skip("this file system has no such names")
    assert said(tmp_path)[0].startswith(r"by hand: \udcff.json has a path that no table can name")


def test_a_key_with_a_dot_is_told(tmp_path: Path) -> None:
    assert said(lay(tmp_path, **{"a.json": {"v1.0": TINY}}))[0] == (
        "by hand: a.json#v1.0 stands at a key with a dot, which no table can name: rename the key"
    )


# where it looks


@pytest.mark.parametrize(
    "folder",
    [".cache", "a/.hidden/b", "node_modules/x", "build/lib", "dist", "lib/site-packages/transformers"],
)
def test_hidden_installed_and_built_folders_are_not_looked_into(tmp_path: Path, folder: str) -> None:
    lay(tmp_path, **{"config.json": TINY, f"{folder}/config.json": {**TINY, "vocab_size": 99}})
    assert configs(tmp_path) == ["config.json"]


def test_an_environment_is_not_looked_into_whatever_it_is_called(tmp_path: Path) -> None:
    other = {**TINY, "vocab_size": 99}
    lay(tmp_path, **{"config.json": TINY, "my env/pyvenv.cfg": "home = x", "my env/lib/config.json": other})
    assert configs(tmp_path) == ["config.json"]


def test_what_git_ignores_is_not_looked_into_and_what_is_new_is(tmp_path: Path) -> None:
    project = repository(tmp_path)
    other, third = ({**TINY, "vocab_size": size} for size in (99, 98))
    lay(tmp_path, **{".gitignore": "runs/\n", "config.json": TINY, "runs/config.json": other})
    project.commit()
    lay(tmp_path, **{"new/config.json": third})
    assert configs(tmp_path) == ["config.json", "new/config.json"]


@pytest.mark.parametrize("git", ["exec sleep 60", "exit 128"], ids=["too slow", "damaged"])
def test_where_git_does_not_answer_what_it_ignores_is_looked_into_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: str
) -> None:
    root = tmp_path / "clone"
    project = repository(root)
    lay(root, **{".gitignore": "runs/\n", "sub/config.json": TINY, "sub/runs/config.json": {**TINY, "vocab_size": 99}})
    project.commit()
    git_is(git, tmp_path / "bin", monkeypatch)
    assert configs(root / "sub") == ["config.json", "runs/config.json"]
    assert said(root / "sub") == ["git did not answer: what it ignores was looked into as well"]


def test_where_there_is_no_repository_git_need_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, **{"config.json": TINY})
    git_is("exec sleep 60", tmp_path / "bin", monkeypatch)
    assert (configs(tmp_path), said(tmp_path)) == (["config.json"], [])


def git_is(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git on the PATH that does only this, for as long as it is waited for."""
    lay(folder, git=f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git_of_project, "SECONDS", 0.2)


def test_a_file_that_git_knows_and_that_is_gone_is_no_config(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"config.json": TINY, "gone/config.json": {**TINY, "vocab_size": 99}})
    project.commit()
    (tmp_path / "gone" / "config.json").unlink()
    assert (configs(tmp_path), said(tmp_path)) == (["config.json"], [])


def test_a_project_in_a_folder_of_its_repository_is_looked_into_alone(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"config.json": TINY, "sub/config.json": {**TINY, "vocab_size": 99}})
    project.commit()
    assert configs(tmp_path / "sub") == ["config.json"]


def test_a_project_that_git_ignores_whole_is_looked_into(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{".gitignore": "scratch/\n", "scratch/config.json": TINY})
    project.commit()
    assert configs(tmp_path / "scratch") == ["config.json"]


def test_a_repository_in_the_project_is_left_to_itself(tmp_path: Path) -> None:
    project = repository(tmp_path)
    lay(tmp_path, **{"config.json": TINY, "clone/config.json": {**TINY, "vocab_size": 99}})
    project.commit()
    repository(tmp_path / "other")
    lay(tmp_path, **{"other/config.json": {**TINY, "vocab_size": 98}})
    assert configs(tmp_path) == ["config.json", "clone/config.json"]
    assert said(tmp_path) == ["left out: other/, which is a repository of its own"]


def test_symlinks_are_not_followed_and_one_that_is_called_a_config_is_told(tmp_path: Path) -> None:
    root, outside = (
        lay(tmp_path / "project", **{"config.json": TINY}),
        lay(tmp_path / "other", **{"config.json": GOOGLE}),
    )
    (root / "folder").symlink_to(outside)
    (root / "a").mkdir()
    (root / "a" / "config.json").symlink_to(outside / "config.json")
    assert configs(root) == ["config.json"]
    assert said(root) == ["left out: a/config.json, which is a symlink"]


def test_projects_with_a_table_of_their_own_are_left_to_themselves(tmp_path: Path) -> None:
    own = '[tool.bertsize.models.a]\nconfig = "config.json"\nbudget.total = "1M"\n'
    others = {f"{name}/config.json": {**TINY, "vocab_size": 99} for name in "ab"}
    lay(tmp_path, **{"config.json": TINY, "a/pyproject.toml": own, "b/pyproject.toml": own}, **others)
    assert configs(tmp_path) == ["config.json"]
    assert said(tmp_path) == ["left out: a and 1 more, with a [tool.bertsize] in a pyproject.toml below this folder"]


def test_a_search_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_files, "MOST_FILES", 2)
    lay(tmp_path, **{"a.json": [], "b.json": [], "c.json": [], "models/x/config.json": TINY})
    assert configs(tmp_path) == ["models/x/config.json"]
    assert said(tmp_path) == [
        "looked into 2 files (0 MiB in all) and not into 2 more: declare by hand what is in those"
    ]


def test_a_file_of_hundreds_of_configs_ends_it_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "MOST_CONFIGS", 3)
    lay(tmp_path, **{f"{name}.json": {**TINY, "vocab_size": 100 + n} for n, name in enumerate("ab")})
    lay(tmp_path, **{"c.json": {f"x{n}": {**TINY, "vocab_size": 200 + n} for n in range(3)}, "d.json": TINY})
    assert configs(tmp_path) == ["a.json", "b.json", "c.json#x0"]
    assert said(tmp_path) == [
        (
            "by hand: after 3 configs no more were looked for: declare the others by a pattern, as in config = "
            '"configs/*.json"'
        )
    ]


def test_so_does_a_search_through_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_files, "MOST_FOLDERS", 3)
    lay(tmp_path, **{"config.json": TINY}, **{f"{name}/x.json": [] for name in "abcdef"})
    assert said(tmp_path) == ["looked through 3 folders and not through more: declare by hand what is there"]


def test_a_file_larger_than_a_config_is_none(tmp_path: Path) -> None:
    large = {**TINY, "vocab_size": 99, "text": "layer " * 200_000}
    lay(tmp_path, **{"config.json": TINY, "data.json": large, "b/config.json": large})
    assert configs(tmp_path) == ["config.json"]
    assert said(tmp_path) == ["b/config.json is larger than 1,048,576 bytes, and was not read"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(path: str, flags: int) -> int:
        if str(path).endswith("b/config.json"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_as_it_is(path, flags)

    monkeypatch.setattr(files, "open_as_it_is", opened)
    lay(tmp_path, **{"config.json": TINY, "b/config.json": {**TINY, "vocab_size": 99}})
    assert configs(tmp_path) == ["config.json"]
    assert said(tmp_path) == ["b/config.json cannot be read: Permission denied"]


def test_a_mistake_in_the_table_is_no_search(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": '[tool.bertsize.models.a]\nconfig = "config.json"\n'})
    assert started(tmp_path)[0] == MISTAKEN
