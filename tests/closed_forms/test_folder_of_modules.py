"""A folder that sentence-transformers saves: each of its modules counted by its own config, and built by another route."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.closed_forms.attribution import attribute
from pytest_bertsize.config import parts
from pytest_bertsize.config.source import Disk
from pytest_bertsize.findings import Unusable
from tests.support.formulas import assert_formulas_count
from tests.support.own_classes import BERT, POOLER, TINY, concluded, errors, examined, passing

if TYPE_CHECKING:
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

TABLE = '[tool.bertsize.models.sbert]\nconfig = "sbert"\nbudget = "report-only"\n'
DENSE = {"in_features": 4, "out_features": 3, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}
POOLING = {"word_embedding_dimension": 4, "pooling_mode_mean_tokens": True}


def saved(folder: Path, *modules: tuple[str, str, dict[str, Any] | None], **files: Any) -> Path:
    """A folder with these modules: each its path, its type, and the config that lies there."""
    sbert = folder / "sbert"
    for path, _, config in modules:
        (sbert / path).mkdir(parents=True, exist_ok=True)
        if config is not None:
            (sbert / path / "config.json").write_text(json.dumps(config))
    kinds = [kind if "." in kind else f"sentence_transformers.models.{kind}" for _, kind, _ in modules]
    named = [{"idx": at, "name": str(at), "path": path, "type": kinds[at]} for at, (path, *_) in enumerate(modules)]
    for name, content in {"modules": named, **files}.items():
        (sbert / f"{name}.json").write_text(json.dumps(content))
    return sbert


def usual(folder: Path, **dense: Any) -> Path:
    return saved(
        folder, ("", "Transformer", TINY), ("1_Pooling", "Pooling", POOLING), ("2_Dense", "Dense", {**DENSE, **dense})
    )


def subject(folder: Path, table: str = TABLE) -> Subject:
    return examined(folder, table)


def checked(folder: Path, table: str = TABLE) -> Review:
    """Derived from the folder, and built of it by the helper's own code."""
    return concluded(subject(folder, table), instantiate)


def test_every_module_of_the_folder_counts_and_the_transformers_rows_are_its_own(tmp_path: Path) -> None:
    usual(tmp_path)
    review = checked(tmp_path)
    actual = passing(review)
    assert actual.unique == BERT + POOLER + 4 * 3 + 3
    assert actual["head.2_Dense"] == 4 * 3 + 3
    assert actual["pooler"] == POOLER
    assert actual["embeddings.word"] == 11 * 4
    assert (review.subject.architecture, review.subject.reference) == ("SentenceTransformer", "sbert/modules.json")


def test_a_dense_that_grows_fails_by_its_name_and_the_transformers_file_alone_is_the_transformer(
    tmp_path: Path,
) -> None:
    usual(tmp_path, out_features=30)
    review = checked(tmp_path, TABLE.replace('budget = "report-only"', 'budget."head.2_Dense" = 15'))
    assert review.headline == "sbert: head.2_Dense 150, limit 15 (+135)"
    form = subject(tmp_path, TABLE.replace('"sbert"', '"sbert/config.json"')).form
    assert form is not None
    assert form.total == BERT + POOLER


MODULES: dict[str, tuple[str, dict[str, Any], int]] = {
    "dense without bias": ("Dense", {**DENSE, "bias": False}, 4 * 3),
    "dense with a residual": ("Dense", {**DENSE, "use_residual": True}, 4 * 3 + 3 + 4 * 3),
    "dense with a residual as it is": ("Dense", {**DENSE, "out_features": 4, "use_residual": True}, 4 * 4 + 4),
    "norm": ("LayerNorm", {"dimension": 4}, 8),
}


@pytest.mark.parametrize("case", MODULES)
def test_each_kind_of_module_is_what_torch_makes_of_its_config(tmp_path: Path, case: str) -> None:
    kind, config, count = MODULES[case]
    saved(tmp_path, ("0_Transformer", "Transformer", TINY), ("1_It", kind, config), ("2_Normalize", "Normalize", None))
    review = checked(tmp_path)
    actual = passing(review)
    assert actual["head.1_It"] == count
    assert actual.unique == BERT + POOLER + count
    form = review.subject.form
    assert form is not None
    assert_formulas_count(form)


def test_the_class_of_the_transformer_is_what_the_task_asks_for(tmp_path: Path) -> None:
    sparse = "sentence_transformers.sparse_encoder.models.MLMTransformer"
    saved(tmp_path, ("", sparse, TINY), ("1_S", "SpladePooling", {}))
    assert passing(checked(tmp_path))["head.decoder"] == 11  # its bias
    saved(tmp_path, ("", "Transformer", TINY), sentence_bert_config={"transformer_task": "fill-mask"})
    assert errors(checked(tmp_path)) == []
    saved(tmp_path, ("", "Transformer", TINY), sentence_bert_config={"model_args": {"add_pooling_layer": False}})
    assert passing(checked(tmp_path)).unique == BERT
    saved(tmp_path, ("", "Transformer", TINY), sentence_bert_config={"transformer_task": "text-ranking"})
    assert errors(subject(tmp_path))[0].endswith('makes from model_type "bert" for the task "text-ranking"')


@pytest.mark.parametrize("family", ["t5", "electra", "mpnet", "distilbert", "xlm-roberta", "modernbert"])
def test_the_transformer_may_be_of_any_family(tmp_path: Path, family: str) -> None:
    own = {
        "distilbert": {"dim": 4, "hidden_dim": 6, "n_layers": 2, "n_heads": 2, "vocab_size": 11},
        "t5": {"d_model": 4, "d_kv": 2, "d_ff": 6, "num_layers": 2, "num_heads": 2, "vocab_size": 11},
    }
    ids = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
    usual_of_all = {key: value for key, value in TINY.items() if key != "architectures"} | ids
    saved(tmp_path, ("", "Transformer", {**own.get(family, usual_of_all), "model_type": family}))
    assert errors(checked(tmp_path)) == []


# what moved, overrides, the command line


def test_a_key_that_moved_is_told_with_the_module_that_has_it(tmp_path: Path) -> None:
    usual(tmp_path)
    before = subject(tmp_path)
    usual(tmp_path, out_features=5)
    after = subject(tmp_path)
    assert before.derivation is not None
    assert after.derivation is not None
    (row,) = attribute(before.derivation, after.derivation).moved
    assert (row.key, dict(row.own)) == ("2_Dense.out_features", {"head.2_Dense": 2 * 4 + 2})


def test_overrides_are_of_the_transformer_or_of_the_module_that_they_name(tmp_path: Path) -> None:
    usual(tmp_path)
    actual = passing(checked(tmp_path, f"{TABLE}overrides = {{ vocab_size = 12, 2_Dense = {{ out_features = 2 }} }}\n"))
    assert (actual["embeddings.word"], actual["head.2_Dense"]) == (12 * 4, 4 * 2 + 2)


# what is refused


TORCHES = "sentence_transformers.models.LSTM"


@pytest.mark.parametrize("written", ["pylate.models.Dense.Dense", TORCHES])
def test_any_other_module_is_refused_by_its_type_and_sent_to_a_factory(tmp_path: Path, written: str) -> None:
    saved(tmp_path, ("", "Transformer", TINY), ("1_It", written, None))
    (found,) = subject(tmp_path).errors
    assert found.kind == "unknown-closed-form"
    assert found.sentence == (
        f'sbert/modules.json: module "1_It" is of type "{written}", for which there is no closed form; '
        'write factory = "module:function" and closed_form = false in place of config, with a function that returns the '
        'SentenceTransformer, or name the transformer alone, as in config = "sbert/config.json"'
    )


OUTPUTS = "the key out_features is missing, and a file without model_type has to be complete"


@pytest.mark.parametrize(
    ("config", "times", "message", "place"),
    [
        (None, 1, "there is no such file, and a Dense needs it", "1_Dense/config.json"),
        ({**DENSE, "out_features": "3"}, 1, 'out_features is "3", which is not a whole number', "1_Dense/config.json"),
        ({"in_features": 4}, 1, OUTPUTS, "1_Dense/config.json"),
        (DENSE, 2, "two of its modules have the same path", "modules.json"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_its_name(
    tmp_path: Path, config: dict[str, Any] | None, times: int, message: str, place: str
) -> None:
    saved(tmp_path, ("", "Transformer", TINY), *[("1_Dense", "Dense", config)] * times)
    (found,) = subject(tmp_path).errors
    assert (found.message, found.file) == (message, f"sbert/{place}")


def module_0(kind: str, path: str) -> str:
    return json.dumps([{"name": "0", "type": f"sentence_transformers.models.{kind}", "path": path}])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "it does not list modules: Expected `array`, got `object`"),
        ("[]", "it does not list modules: Expected `array` of length >= 1"),
        ("[3]", "it does not list modules: Expected `object`, got `int` - at `$[0]`"),
        (module_0("Dense", "../x"), "it does not list modules: Expected `str` matching regex *"),
        (module_0("Pooling", "1"), "none of its modules has parameters"),
        (f"{module_0('Pooling', '1')[:-1]}, {module_0('Dense', '2')[1:]}", "two modules have the same name"),
    ],
)
def test_a_list_of_modules_that_is_none_is_a_mistake(tmp_path: Path, content: str, message: str) -> None:
    (usual(tmp_path) / "modules.json").write_text(content)
    (found,) = subject(tmp_path).errors
    assert fnmatchcase(found.message, message.replace("[", "[[]"))
    assert found.file == "sbert/modules.json"


@pytest.mark.parametrize(
    "said",
    [
        'architecture = "BertModel"',
        'family = "bert"',
        'adapter = { r = 2, target_modules = ["query"] }',
        'checkpoint = "sbert"',
        "closed_form = false",
        'budget.flops = { max = "1G", seq_len = 8 }',
    ],
)
def test_what_is_about_one_class_is_refused_and_the_way_to_its_transformer_told(tmp_path: Path, said: str) -> None:
    usual(tmp_path)
    table = TABLE.replace('budget = "report-only"\n', "") if "budget" in said else TABLE
    (found,) = subject(tmp_path, f"{table}{said}\n").errors
    assert "several modules (sbert/modules.json)" in found.message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"config_args": {"num_hidden_layers": 24}}, 'config_args sets "num_hidden_layers" when the model loads'),
        ({"model_args": {"num_hidden_layers": 24}}, 'model_args sets "num_hidden_layers" when the model loads'),
        ({"model_args": [1]}, "model_args is [1], not an object"),
        ({"model_args": {"add_pooling_layer": "x"}}, 'add_pooling_layer is "x"'),
    ],
)
def test_what_changes_the_transformer_as_it_is_loaded_is_refused(
    tmp_path: Path, said: dict[str, Any], message: str
) -> None:
    saved(tmp_path, ("", "Transformer", TINY), sentence_bert_config=said)
    with pytest.raises(Unusable) as unusable:
        parts.of_folder((tmp_path / "sbert/modules.json").read_bytes(), "sbert", Disk(tmp_path))
    assert unusable.value.findings[0].message == message
