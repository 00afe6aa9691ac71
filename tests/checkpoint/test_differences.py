"""A checkpoint against the model that was built, by the names under which transformers itself loads the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, BertModel

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.loading import find_loading
from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.checkpoint.differences import OTHER_CONFIG, compare_checkpoint
from pytest_bertsize.checkpoint.headers import read_headers

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

Change = Callable[[dict[str, torch.Tensor]], object]
COMPONENTS = {
    "word_embeddings": "embeddings.word",
    "position_embeddings": "embeddings.position",
    "pooler": "pooler",
    "cls.predictions.decoder": "head.decoder",
    "cls": "head",
    "classifier": "head.classifier",
}
TINY = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
BERT = {**TINY, "vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 3, "intermediate_size": 12}
MARIAN: dict[str, Any] = {
    "vocab_size": 40,
    "d_model": 16,
    "max_position_embeddings": 12,
    **dict.fromkeys(("pad_token_id", "decoder_start_token_id"), 1),
    **{f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads", "ffn_dim")},
}
T5 = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
CONFIGS: dict[str, dict[str, Any]] = {
    "NomicBert": TINY,
    "Gte": {**TINY, "num_key_value_heads": 4, "pad_token_id": 0},
    "Esm": {**TINY, "position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 2},
    "Marian": MARIAN,
    "T5": T5,
    "Deberta": {**TINY, "position_biased_input": False},
    "GPT2": {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 12},
    "IBert": TINY,
}


def make(name: str) -> Any:
    model_class = getattr(transformers, name)
    config = next(config for family, config in CONFIGS.items() if name.startswith(family))
    return model_class(model_class.config_class(**config))


def bert(model_class: Any = BertModel, **changes: Any) -> Any:
    return model_class(BertConfig(**{**BERT, "max_position_embeddings": 10, **changes}))


def save(folder: Path, model: Any, change: Change | None = None) -> None:
    """Write the model's own file, its tensors changed by hand."""
    model.save_pretrained(folder)
    if change:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def compare(folder: Path, model: Any, *, is_known: bool = True) -> list[Finding]:
    """Compare the file with the model, as the helper process answers of both.

    :param is_known: whether transformers says how it loads the file; of a class that is none of its own it does not.
    """
    stored = read_headers(folder, ".")
    built = take_inventory(model)
    if is_known:
        built = built._replace(
            loading=find_loading(model, [(each.name, each.shape) for each in stored.inventory.tensors])
        )
    names = [each.name for each in built.tensors]
    components = {name: next((c for part, c in COMPONENTS.items() if part in name), "encoder") for name in names}
    found = [*compare_checkpoint(stored, built, inventory_of(built, components=components))]
    assert all(each.file == stored.file for each in found)
    return found


def said(findings: list[Finding]) -> str:
    """Return what the only finding says, less the words that every difference begins with."""
    (each,) = findings
    lead = "error checkpoint-differs: the file's tensors differ from the built model's: "
    return f"{each.severity} {each.kind}: {each.message} → {each.fix}".removeprefix(lead)


def rename(old: str, new: str) -> Change:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[name.replace(old, new, 1)] = tensors.pop(name)

    return change


def loads_clean(folder: Path, model: Any) -> bool:
    _, info = type(model).from_pretrained(folder, output_loading_info=True)
    return not any(info.values())


# no difference


@pytest.mark.parametrize("model_class", [BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification])
@pytest.mark.parametrize("tied", [True, False])
def test_a_model_s_own_checkpoint_differs_in_nothing(tmp_path: Path, model_class: Any, *, tied: bool) -> None:
    model = bert(model_class, tie_word_embeddings=tied)
    save(tmp_path, model)
    assert [compare(tmp_path, model, is_known=is_known) for is_known in (True, False)] == [[], []]


@pytest.mark.parametrize(
    "name",
    [
        *("NomicBertModel", "NomicBertForMaskedLM", "NomicBertForSequenceClassification"),
        *("GteModel", "GteForMaskedLM", "GteForTokenClassification"),
        *("EsmModel", "EsmForMaskedLM", "EsmForSequenceClassification"),
        *("MarianModel", "MarianMTModel", "T5EncoderModel", "IBertModel"),
    ],
)
def test_what_a_class_saves_is_its_own(tmp_path: Path, name: str) -> None:
    model = make(name)
    save(tmp_path, model)
    assert loads_clean(tmp_path, model) or name == "IBertModel"  # whose buffers are in the file, and loaded
    assert compare(tmp_path, model) == []


def test_gpt2_as_published_lacks_the_prefix_of_its_head_and_has_its_mask(tmp_path: Path) -> None:
    def as_published(file: dict[str, torch.Tensor]) -> None:
        rename("transformer.", "")(file)
        file["h.0.attn.bias"] = torch.zeros(1, 1, 12, 12)  # a causal mask

    model = make("GPT2LMHeadModel")
    save(tmp_path, model, as_published)
    assert loads_clean(tmp_path, model)
    assert compare(tmp_path, model) == []


def test_buffers_that_older_versions_wrote_are_no_difference(tmp_path: Path) -> None:
    names = ("embeddings.position_ids", "encoder.layer.0.attn.masked_bias", "decoder.version")
    model = bert()
    save(tmp_path, model, lambda tensors: tensors.update({name: torch.ones(1, 10) for name in names}))
    assert compare(tmp_path, model, is_known=False) == []


# differences


def test_what_is_not_in_the_file_is_named_folded_and_counted(tmp_path: Path) -> None:
    def drop(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if name.endswith("output.dense.weight") or name == "pooler.dense.bias"]:
            del tensors[name]

    model = bert()
    save(tmp_path, model, drop)
    found = compare(tmp_path, model)
    assert said(found) == (
        "encoder.layer[0:3].output.dense.weight is gone: 3 × 96 = 288 (8×12); "
        "encoder.layer[0:3].attention.output.dense.weight is gone: 3 × 64 = 192 (8×8); "
        f"pooler.dense.bias is gone: 8 (8) → {OTHER_CONFIG}"
    )
    assert (found[0].expected, found[0].actual, found[0].component) == (3 * 64 + 3 * 96 + 8, 0, None)


def test_a_layer_more_in_the_file_is_a_difference(tmp_path: Path) -> None:
    save(tmp_path, bert(num_hidden_layers=4))
    model = bert()
    layer = sum(parameter.numel() for parameter in model.encoder.layer[0].parameters())
    found = compare(tmp_path, model)
    assert said(found) == f"encoder.layer.3 is new: {layer}, like the other 3 → {OTHER_CONFIG}"
    assert (found[0].expected, found[0].actual) == (0, layer)


def test_resized_tensors_have_both_sizes(tmp_path: Path) -> None:
    save(tmp_path, bert())
    found = compare(tmp_path, bert(intermediate_size=20))
    inside = "intermediate.dense.bias, intermediate.dense.weight, output.dense.weight"
    assert said(found) == f"encoder.layer[0:3]: 20 → 12 in {inside}, -408 → {OTHER_CONFIG}"
    sizes = 3 * (2 * 160 + 20), 3 * (2 * 96 + 12)
    assert (found[0].expected, found[0].actual, found[0].component) == (*sizes, "encoder")


def test_another_number_of_words_is_a_difference_of_that_component(tmp_path: Path) -> None:
    save(tmp_path, bert(vocab_size=32))
    found = compare(tmp_path, bert())
    assert said(found) == f"embeddings.word_embeddings.weight: 30 → 32, +16 → {OTHER_CONFIG}"
    assert found[0].component == "embeddings.word"


def test_a_converted_tensor_that_does_not_fit_is_still_said(tmp_path: Path) -> None:
    """attn.Wqkv of the file is three matrices of the model: (3·16, 16); (3·12, 16) is three of (12, 16)."""
    model = make("NomicBertModel")
    save(tmp_path, model, lambda file: file.update({"encoder.layers.0.attn.Wqkv.weight": torch.zeros(36, 16)}))
    inside = "q_proj.weight, k_proj.weight, v_proj.weight"
    assert said(compare(tmp_path, model)) == f"layers.0.self_attn: 16 → 12 in {inside}, -192 → {OTHER_CONFIG}"


# ties


def test_a_copy_of_a_tied_tensor_is_dead_weight(tmp_path: Path) -> None:
    copy = {"cls.predictions.decoder.weight": torch.ones(30, 8, dtype=torch.float16)}
    model = bert(BertForMaskedLM)
    save(tmp_path, model, lambda tensors: tensors.update(copy))
    found = compare(tmp_path, model)
    assert said(found) == (
        "warning dead-weight: cls.predictions.decoder.weight is stored a second time, 240 parameters in 480 bytes: "
        "the built model ties it to bert.embeddings.word_embeddings.weight → save the model again with save_pretrained, "
        "which leaves the copy out; if the two differ, transformers loads them untied: write tie_word_embeddings = false"
    )
    assert (found[0].component, found[0].actual) == ("head.decoder", 240)


@pytest.mark.parametrize(("rows", "count"), [(32, 2), (31, 1)])
def test_a_copy_that_grew_with_its_table_is_dead_weight_and_one_of_another_shape_a_difference(
    tmp_path: Path, rows: int, count: int
) -> None:
    copy = {"cls.predictions.decoder.weight": torch.zeros(rows, 8)}
    save(tmp_path, bert(BertForMaskedLM, vocab_size=32), lambda tensors: tensors.update(copy))
    differs, *doubled = compare(tmp_path, bert(BertForMaskedLM))
    assert ("cls.predictions.decoder is new: 248" in differs.message) == (count == 1)
    assert [each.kind for each in doubled] == ["dead-weight"] * (count - 1)


# other classes, other names


@pytest.mark.parametrize(
    ("saved_class", "own_class", "count"),
    [
        (BertForMaskedLM, BertModel, None),
        (BertForPreTraining, BertForMaskedLM, None),
        (BertModel, BertForMaskedLM, 64 + 8 + 16 + 30),
        (BertForMaskedLM, None, 270),
    ],
)
def test_a_file_of_another_class_differs_in_its_head_alone(
    tmp_path: Path, saved_class: Any, own_class: Any, count: int | None
) -> None:
    """The last row is a decoder that the file ties and the model does not."""
    save(tmp_path, bert(saved_class))
    (found,) = compare(tmp_path, bert(own_class) if own_class else bert(saved_class, tie_word_embeddings=False))
    assert (found.severity, found.fix) == ("error", OTHER_CONFIG)
    assert "encoder" not in found.message
    assert "word_embeddings" not in found.message
    assert count is None or found.expected == count


@pytest.mark.parametrize("prefix", ["module.", "model.bert."])
def test_a_model_that_was_saved_inside_another_module_is_told_by_its_names(tmp_path: Path, prefix: str) -> None:
    model = bert()
    save(tmp_path, model, rename("", prefix))
    assert not loads_clean(tmp_path, model)
    for is_known in (True, False):
        (found,) = compare(tmp_path, model, is_known=is_known)
        assert f"encoder is now named {prefix}encoder, with the same shapes: " in found.message


def test_old_names_of_a_norm_are_those_of_a_class_that_transformers_loads(tmp_path: Path) -> None:
    def older(tensors: dict[str, torch.Tensor]) -> None:
        rename("LayerNorm.weight", "LayerNorm.gamma")(tensors)
        rename("LayerNorm.bias", "LayerNorm.beta")(tensors)

    model = bert()
    save(tmp_path, model, older)
    assert loads_clean(tmp_path, model)
    assert compare(tmp_path, model) == []
    assert [each.severity for each in compare(tmp_path, model, is_known=False)] == ["error"]


def test_a_second_tensor_for_one_name_is_a_difference(tmp_path: Path) -> None:
    model = bert()
    save(tmp_path, model, lambda tensors: tensors.update({"embeddings.LayerNorm.gamma": torch.ones(8)}))
    assert said(compare(tmp_path, model)).startswith("embeddings.LayerNorm.gamma is new: 8")


POSITIONS = "deberta.embeddings.position_embeddings.weight"
PASSED_OVER = {
    "T5ForConditionalGeneration": "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",  # transformers#2334
    "DebertaV2ForMaskedLM": POSITIONS,
    "DebertaForMaskedLM": POSITIONS,
}


@pytest.mark.parametrize(("name", "tensor"), PASSED_OVER.items(), ids=PASSED_OVER)
def test_what_a_class_passes_over_when_it_loads_is_no_difference(tmp_path: Path, name: str, tensor: str) -> None:
    model = make(name)
    save(tmp_path, model, lambda file: file.update({tensor: torch.zeros(32, 4)}))
    assert loads_clean(tmp_path, model)
    assert compare(tmp_path, model) == []


@pytest.mark.long
def test_a_file_of_thousands_of_other_tensors_is_not_compared_one_by_one(tmp_path: Path) -> None:
    names = [".".join(f"{index}x{level}" for level in range(20)) for index in range(10_001)]
    save_file({name: torch.zeros(8) for name in names}, tmp_path / "model.safetensors")
    (found,) = compare(tmp_path, bert(), is_known=False)
    assert found.message == "the built model does not have 10,001 tensors of the file"
    assert found.actual == 8 * 10_001
