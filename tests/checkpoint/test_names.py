"""Files whose names are not the model's, and that transformers loads without a word: its own rules are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.loading import find_loading
from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.checkpoint import headers
from pytest_bertsize.checkpoint.differences import compared

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.findings import Finding

TINY = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
GTE = {**TINY, "num_key_value_heads": 4, "pad_token_id": 0}
ESM = {**TINY, "position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 2}
MARIAN: dict[str, Any] = {
    "vocab_size": 40,
    "d_model": 16,
    "max_position_embeddings": 12,
    **dict.fromkeys(("pad_token_id", "decoder_start_token_id"), 1),
    **{f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads", "ffn_dim")},
}
T5 = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
DEBERTA = {**TINY, "position_biased_input": False}
GPT2 = {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 12}
BY_FAMILY: dict[str, dict[str, Any]] = {"NomicBert": TINY, "Gte": GTE, "Esm": ESM, "Marian": MARIAN, "T5": T5}


def built(model: Any, stored: headers.Stored) -> Built:
    """What the helper process answers of the model and of the file."""
    filed = [(tensor.name, tensor.shape) for tensor in stored.inventory.tensors]
    return take_inventory(model)._replace(loading=find_loading(model, filed))


def against(folder: Path, model: Any) -> list[Finding]:
    stored = headers.read(folder, ".")
    found = built(model, stored)
    return compared(
        stored, inventory_of(found), [each.name for each in found.buffers], of="the model", loading=found.loading
    )


def made(name: str, config: dict[str, Any]) -> Any:
    model_class = getattr(transformers, name)
    return model_class(model_class.config_class(**config))


def changed(folder: Path, model: Any, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """The model's own file, its tensors changed by hand."""
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def renamed(old: str, new: str) -> Callable[[dict[str, torch.Tensor]], object]:
    def rename(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[name.replace(old, new, 1)] = tensors.pop(name)

    return rename


def loads_clean(folder: Path, model: Any) -> bool:
    _, said = type(model).from_pretrained(folder, output_loading_info=True)
    return not any(said.values())


@pytest.mark.parametrize(
    "name",
    [
        *("NomicBertModel", "NomicBertForMaskedLM", "NomicBertForSequenceClassification"),
        *("GteModel", "GteForMaskedLM", "GteForTokenClassification"),
        *("EsmModel", "EsmForMaskedLM", "EsmForSequenceClassification"),
        *("MarianModel", "MarianMTModel", "T5EncoderModel"),
    ],
)
def test_what_a_class_saves_is_its_own(tmp_path: Path, name: str) -> None:
    config = next(config for family, config in BY_FAMILY.items() if name.startswith(family))
    model = made(name, config)
    model.save_pretrained(tmp_path)
    assert loads_clean(tmp_path, model)
    assert against(tmp_path, model) == []


def test_a_converted_tensor_that_does_not_fit_is_still_said(tmp_path: Path) -> None:
    """attn.Wqkv of the file is three matrices of the model: (3·16, 16); (3·12, 16) is three of (12, 16)."""
    model = made("NomicBertModel", TINY)
    changed(tmp_path, model, lambda file: file.update({"encoder.layers.0.attn.Wqkv.weight": torch.zeros(36, 16)}))
    (finding,) = against(tmp_path, model)
    assert finding.message == (
        "3 tensors are of other shapes in the file, -192 parameters: "
        "layers.0.self_attn.q_proj.weight (12, 16) in the file, (16, 16) in the model; "
        "layers.0.self_attn.k_proj.weight (12, 16) in the file, (16, 16) in the model; "
        "layers.0.self_attn.v_proj.weight (12, 16) in the file, (16, 16) in the model"
    )


def test_gpt2_as_published_lacks_the_prefix_of_its_head(tmp_path: Path) -> None:
    model = made("GPT2LMHeadModel", GPT2)

    def as_published(file: dict[str, torch.Tensor]) -> None:
        renamed("transformer.", "")(file)
        file["h.0.attn.bias"] = torch.zeros(1, 1, 12, 12)  # a causal mask

    changed(tmp_path, model, as_published)
    assert loads_clean(tmp_path, model)
    assert against(tmp_path, model) == []


def test_a_prefix_that_is_not_the_class_s_own_is_said(tmp_path: Path) -> None:
    model = made("GPT2LMHeadModel", GPT2)
    changed(tmp_path, model, renamed("transformer.", "module.transformer."))
    assert not loads_clean(tmp_path, model)
    missing, extra, _ = against(tmp_path, model)
    assert (
        missing.fix
        == extra.fix
        == (
            'the file\'s names begin with "module.": saved inside another module; save the model itself, as in '
            "model.module.save_pretrained(…), or write the architecture that saved it"
        )
    )


@pytest.mark.parametrize(
    ("name", "config", "tensor"),
    [
        pytest.param(
            *(
                "T5ForConditionalGeneration",
                T5,
                "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
            ),
            id="t5, transformers#2334",
        ),
        pytest.param("DebertaV2ForMaskedLM", DEBERTA, "deberta.embeddings.position_embeddings.weight", id="deberta-v2"),
        pytest.param("DebertaForMaskedLM", DEBERTA, "deberta.embeddings.position_embeddings.weight", id="deberta"),
    ],
)
def test_what_a_class_passes_over_when_it_loads_is_a_note(
    tmp_path: Path, name: str, config: dict[str, Any], tensor: str
) -> None:
    model = made(name, config)
    changed(tmp_path, model, lambda file: file.update({tensor: torch.zeros(32, 4)}))
    assert loads_clean(tmp_path, model)
    (finding,) = against(tmp_path, model)
    assert finding.severity == "note"
    assert finding.message == (
        "1 tensor of the file, 128 parameters, is none of the model, whose class says that they are left out when it "
        f"loads: {tensor} (32, 4)"
    )


def test_what_no_class_passes_over_is_one_too_many(tmp_path: Path) -> None:
    model = made("T5ForConditionalGeneration", T5)
    changed(tmp_path, model, lambda file: file.update({"decoder.final_layer_norm.bias": torch.zeros(16)}))
    assert [finding.severity for finding in against(tmp_path, model)] == ["error"]


def test_a_model_that_is_no_class_of_transformers_has_no_rules_of_it() -> None:
    assert find_loading(torch.nn.Linear(2, 2), [("weight", (2, 2))]) is None
