from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    IBertConfig,
    IBertModel,
)

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.checkpoint import headers
from pytest_bertsize.checkpoint.differences import compared
from pytest_bertsize.inventory import Inventory, Tensor

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

BUILT = "the built model"
COMPONENTS = {
    "word_embeddings": "embeddings.word",
    "position_embeddings": "embeddings.position",
    "token_type_embeddings": "embeddings.token_type",
    "pooler": "pooler",
    "cls.predictions.decoder": "head.decoder",
    "cls": "head",
    "classifier": "head.classifier",
}
OTHER = "name the checkpoint that belongs to the config"


def config(**changes: Any) -> BertConfig:
    sizes: dict[str, Any] = {
        "vocab_size": 30,
        "hidden_size": 8,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "max_position_embeddings": 10,
    }
    return BertConfig(**{**sizes, **changes})


def inventory(model: Any) -> Inventory:
    """The model's tensors as the helper process lists them, with components by name."""
    return Inventory(
        tuple(
            Tensor(
                name,
                shape,
                next((c for part, c in COMPONENTS.items() if part in name), "encoder"),
                trainable,
                tied,
            )
            for name, shape, _, trainable, tied in take_inventory(model).tensors
        )
    )


def against(stored: headers.Stored, model: Any, of: str = BUILT) -> list[Finding]:
    return compared(stored, inventory(model), [name for name, _ in model.named_buffers()], of=of)


def saved(model: Any, folder: Path) -> headers.Stored:
    model.save_pretrained(folder)
    return headers.read(folder, ".")


def changed(model: Any, folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> headers.Stored:
    """The checkpoint of a model, its tensors changed by hand."""
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return headers.read(folder, ".")


def said(findings: list[Finding]) -> list[str]:
    assert all(finding.file == "model.safetensors" for finding in findings)
    return [f"{finding.severity} {finding.kind}: {finding.message} → {finding.fix}" for finding in findings]


# none


@pytest.mark.parametrize("model_class", [BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification])
@pytest.mark.parametrize("tied", [True, False])
def test_a_model_s_own_checkpoint_differs_in_nothing(tmp_path: Path, model_class: Any, *, tied: bool) -> None:
    model = model_class(config(tie_word_embeddings=tied))
    assert against(saved(model, tmp_path), model) == []


def test_whichever_name_of_a_shared_tensor_the_file_keeps_it_is_there(tmp_path: Path) -> None:
    model = BertForMaskedLM(config())

    def keep_the_other(tensors: dict[str, torch.Tensor]) -> None:
        tensors["cls.predictions.decoder.weight"] = tensors.pop("bert.embeddings.word_embeddings.weight")

    assert against(changed(model, tmp_path, keep_the_other), model) == []


def test_buffers_may_stand_in_the_file(tmp_path: Path) -> None:
    sizes = {
        "vocab_size": 30,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 12,
    }
    model = IBertModel(IBertConfig(**sizes))
    stored = saved(model, tmp_path)
    assert any(name.endswith("weight_integer") for name in stored.dtypes)
    assert against(stored, model) == []


def test_buffers_that_older_versions_wrote_are_no_difference(tmp_path: Path) -> None:
    model = BertForMaskedLM(config())
    ids = {"bert.embeddings.position_ids": torch.arange(10).reshape(1, 10)}
    stored = changed(model, tmp_path / "bert", lambda tensors: tensors.update(ids))
    assert compared(stored, inventory(model), [], of=BUILT) == []
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=10))
    attention = "transformer.h.0.attn"
    masks = {f"{attention}.bias": torch.ones(1, 1, 10, 10), f"{attention}.masked_bias": torch.tensor(-1e4)}
    assert against(changed(gpt, tmp_path / "gpt", lambda tensors: tensors.update(masks)), gpt) == []


# missing, extra, resized


def test_missing_tensors_are_named_folded_and_counted(tmp_path: Path) -> None:
    model = BertModel(config())

    def drop(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.endswith("output.dense.weight") or name == "pooler.dense.bias"]:
            del tensors[name]

    found = against(changed(model, tmp_path, drop), model)
    assert said(found) == [
        (
            "error checkpoint-differs: 7 tensors of the built model, 488 parameters, are not in the file: "
            "encoder.layer.*.attention.output.dense.weight (×3) (8, 8); encoder.layer.*.output.dense.weight (×3) (8, 12); "
            f"pooler.dense.bias (8) → {OTHER}"
        )
    ]
    assert (found[0].expected, found[0].actual, found[0].component) == (3 * 64 + 3 * 96 + 8, 0, None)


def test_extra_tensors_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    deeper = BertModel(config(num_hidden_layers=4))
    model = BertModel(config())
    (finding,) = against(saved(deeper, tmp_path), model)
    layer = sum(parameter.numel() for parameter in model.encoder.layer[0].parameters())
    assert finding.message == (
        f"16 tensors of the file, {layer} parameters, have no place in the built model: "
        "encoder.layer.3.attention.output.LayerNorm.bias (8); encoder.layer.3.attention.output.LayerNorm.weight (8); "
        "encoder.layer.3.attention.output.dense.bias (8); encoder.layer.3.attention.output.dense.weight (8, 8); and 12 more"
    )
    assert (finding.expected, finding.actual) == (0, layer)


def test_resized_tensors_have_both_shapes(tmp_path: Path) -> None:
    model = BertModel(config(intermediate_size=20))
    found = against(saved(BertModel(config()), tmp_path), model)
    assert said(found) == [
        (
            "error checkpoint-differs: 9 tensors are of other shapes in the file, -408 parameters: "
            "encoder.layer.*.intermediate.dense.weight (×3) (12, 8) in the file, (20, 8) in the built model; "
            "encoder.layer.*.intermediate.dense.bias (×3) (12) in the file, (20) in the built model; "
            "encoder.layer.*.output.dense.weight (×3) (8, 12) in the file, (8, 20) in the built model "
            "→ write the config that the checkpoint was saved with, or name the checkpoint of this one"
        )
    ]
    assert (found[0].expected, found[0].actual) == (3 * (2 * 160 + 20), 3 * (2 * 96 + 12))


def test_more_rows_in_the_file_are_an_extended_tokenizer(tmp_path: Path) -> None:
    model = BertModel(config())
    found = against(saved(BertModel(config(vocab_size=32)), tmp_path), model)
    assert said(found) == [
        (
            "error checkpoint-differs: 1 tensor is of another shape in the file, +16 parameters: "
            "embeddings.word_embeddings.weight (32, 8) in the file, (30, 8) in the built model "
            "→ 2 more rows of 8 = 16 parameters, as if the tokenizer was extended and the config was not: "
            "write vocab_size = 32 in the config, or save the model with 30 rows"
        )
    ]
    assert found[0].component == "embeddings.word"


def test_a_tied_decoder_that_grew_with_its_table_is_counted_once(tmp_path: Path) -> None:
    copy = {"cls.predictions.decoder.weight": torch.zeros(32, 8)}
    stored = changed(BertForMaskedLM(config(vocab_size=32)), tmp_path, lambda tensors: tensors.update(copy))
    resized, doubled = against(stored, BertForMaskedLM(config()))
    assert resized.message.startswith("2 tensors are of other shapes in the file, +18 parameters: ")
    assert "decoder" not in resized.message
    assert doubled.kind == "dead-weight"


# ties


def test_a_copy_of_a_tied_tensor_is_dead_weight(tmp_path: Path) -> None:
    model = BertForMaskedLM(config())
    copy = {"cls.predictions.decoder.weight": torch.ones(30, 8, dtype=torch.float16)}
    found = against(changed(model, tmp_path, lambda tensors: tensors.update(copy)), model)
    assert said(found) == [
        (
            "warning dead-weight: cls.predictions.decoder.weight is stored a second time, 240 parameters in 480 bytes: "
            "the built model shares it with bert.embeddings.word_embeddings.weight "
            "→ save the model again with save_pretrained, which leaves the copy out; if the two differ, transformers loads "
            "them untied: write tie_word_embeddings = false"
        )
    ]
    assert (found[0].component, found[0].actual) == ("head.decoder", 240)


def test_a_decoder_that_the_file_ties_and_the_model_does_not_is_missing_with_that_reason(tmp_path: Path) -> None:
    found = against(saved(BertForMaskedLM(config()), tmp_path), BertForMaskedLM(config(tie_word_embeddings=False)))
    (finding,) = found
    assert finding.message.startswith("2 tensors of the built model, 270 parameters, are not in the file: ")
    assert finding.fix == (
        "the file looks as saved by a model that ties cls.predictions.decoder.weight to the word embeddings: "
        "write tie_word_embeddings = true in the config, or save the untied model"
    )


# other names


def test_old_names_that_transformers_renames_are_a_note(tmp_path: Path) -> None:
    model = BertModel(config())

    def older(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            tensors[old] = tensors.pop(name)

    assert said(against(changed(model, tmp_path, older), model)) == [
        (
            "note checkpoint-differs: 14 tensors have names of older versions, which transformers renames when it loads: "
            "embeddings.LayerNorm.beta is embeddings.LayerNorm.bias "
            "→ nothing has to be done; save the model again to have the new names"
        )
    ]


@pytest.mark.parametrize(
    ("model_class", "ends"),
    [
        (BertForMaskedLM, "ForMaskedLM"),
        (BertForPreTraining, "ForPreTraining"),
        (BertForSequenceClassification, "ForSequenceClassification or …ForTokenClassification"),
    ],
)
def test_a_class_with_a_head_is_told_by_its_names(tmp_path: Path, model_class: Any, ends: str) -> None:
    findings = against(saved(model_class(config()), tmp_path), BertModel(config()))
    assert {finding.fix for finding in findings} == {
        (
            'the file\'s names begin with "bert.": saved by a class with a head; '
            f"write the architecture that saved it, which ends in …{ends}"
        )
    }
    named = [finding.message.partition(":")[2] for finding in findings]
    assert not any("encoder" in each or "word_embeddings" in each for each in named)


def test_a_class_without_a_head_is_told_by_its_names(tmp_path: Path) -> None:
    findings = against(saved(BertModel(config()), tmp_path), BertForMaskedLM(config()))
    assert [finding.message.split(":")[0] for finding in findings] == [
        "5 tensors of the built model, 118 parameters, are not in the file",
        "2 tensors of the file, 72 parameters, have no place in the built model",
    ]
    assert {finding.fix for finding in findings} == {
        (
            'the file\'s names lack "bert.": saved by the class without a head; write the architecture that saved it, as in '
            'architecture = "BertModel", or name the checkpoint of this one'
        )
    }


def test_another_head_on_the_same_body_is_told_by_its_names(tmp_path: Path) -> None:
    findings = against(saved(BertForPreTraining(config()), tmp_path), BertForMaskedLM(config()))
    assert said(findings) == [
        (
            "error checkpoint-differs: 4 tensors of the file, 90 parameters, have no place in the built model: "
            "bert.pooler.dense.bias (8); bert.pooler.dense.weight (8, 8); cls.seq_relationship.bias (2); "
            "cls.seq_relationship.weight (2, 8) "
            "→ the file looks as saved by a class that ends in …ForPreTraining: write that architecture"
        )
    ]


def test_a_model_that_was_saved_inside_another_module_is_told_by_its_names(tmp_path: Path) -> None:
    model = BertModel(config())
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file({f"module.{name}": tensor for name, tensor in tensors.items()}, tmp_path / "model.safetensors")
    assert said(against(headers.read(tmp_path, "."), model)) == [
        (
            'error checkpoint-differs: the names in the file begin with "module.", those in the built model do not '
            '→ the file\'s names begin with "module.": saved inside another module; save the model itself, as in '
            "model.module.save_pretrained(…), or write the architecture that saved it"
        )
    ]


def test_a_name_with_and_without_the_prefix_is_not_lost(tmp_path: Path) -> None:
    model = BertModel(config())
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    both = {f"bert.{name}": tensor for name, tensor in tensors.items()} | {"pooler.dense.bias": torch.zeros(8)}
    save_file(both, tmp_path / "model.safetensors")
    messages = [finding.message for finding in against(headers.read(tmp_path, "."), model)]
    assert messages == [
        "1 tensor of the file, 8 parameters, has no place in the built model: bert.pooler.dense.bias (8)"
    ]


def test_a_file_of_another_model_altogether_stays_short(tmp_path: Path) -> None:
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=10))
    findings = against(saved(gpt, tmp_path), BertModel(config()))
    assert [finding.kind for finding in findings] == ["checkpoint-differs"] * 2
    assert all("more" in finding.message and len(finding.message) < 400 for finding in findings)
    assert {finding.fix for finding in findings} == {OTHER}


def test_hostile_names_cost_no_time() -> None:
    names = [f"{'a.' * 1000}{number}" for number in range(20_000)]
    tensors = tuple(Tensor(name, (1,) * 64, "") for name in names)
    stored = headers.Stored("model.safetensors", Inventory(tensors), dict.fromkeys(names, "F32"))
    (missing, extra) = compared(stored, inventory(BertModel(config())), [], of=BUILT)
    assert (missing.actual, extra.actual) == (0, 20_000)
    assert max(len(missing.message), len(extra.message)) < 1500
