"""What training keeps, against what AdamW has after a step: the bytes of parameters, gradients and states."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers

from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.inventory import Inventory, Tensor
from tests.closed_forms.test_lora import adapter, expected_of
from tests.support.family_configs import case

if TYPE_CHECKING:
    from torch import nn

SIZES = {"vocab_size": 30, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
SIZES |= {"intermediate_size": 20, "max_position_embeddings": 16, "type_vocab_size": 2}


def expected(architecture: str = "BertForSequenceClassification") -> Inventory:
    return case("bert", architecture, SIZES).closed_form()


def built(architecture: str = "BertForSequenceClassification") -> Any:
    return getattr(transformers, architecture)(transformers.BertConfig(**SIZES))


def kept(module: nn.Module, context: Any = None) -> int:
    """Bytes of a model, of its gradients and of every state of AdamW, once it has made a step."""
    optimizer = torch.optim.AdamW([each for each in module.parameters() if each.requires_grad])
    with context or nullcontext():
        found = module(torch.arange(6).reshape(1, 6))[0].sum()
    found.backward()
    optimizer.step()
    parameters = [*module.parameters()]
    gradients = [each.grad for each in parameters if each.grad is not None]
    states = [state for of_one in optimizer.state.values() for state in of_one.values()]
    assert len(states) == 3 * len(gradients)  # step, exp_avg, exp_avg_sq
    return sum(each.numel() * each.element_size() for each in (*parameters, *gradients, *states))


def test_in_float32_adamw_keeps_16_bytes_a_parameter_and_4_a_tensor() -> None:
    inventory = expected()
    states = training_states(inventory)
    assert states.total == 16 * inventory.unique + 4 * len(inventory.tensors)
    assert (states.parameters, states.gradients, states.moments) == tuple(n * inventory.unique for n in (4, 4, 8))
    assert kept(built()) == states.total
    assert kept(built(), torch.autocast("cpu", torch.bfloat16)) == states.total, "autocast keeps what float32 does"
    half = training_states(inventory, "bfloat16", "bfloat16")
    assert half.total == 8 * inventory.unique + 4 * len(inventory.tensors), "all but the steps are half"
    assert kept(built().to(torch.bfloat16)) == half.total


def test_a_tied_tensor_is_trained_once() -> None:
    inventory = expected("BertForMaskedLM")
    assert kept(built("BertForMaskedLM")) == training_states(inventory).total
    assert training_states(inventory).tensors == len(inventory.tensors) - 2  # the decoder's weight and bias


@pytest.mark.parametrize(("dtype", "name"), [(torch.float32, "float32"), (torch.bfloat16, "bfloat16")])
def test_under_lora_what_is_frozen_costs_its_own_bytes_and_the_adapters_are_float32(
    dtype: torch.dtype, name: str
) -> None:
    import peft

    data: dict[str, Any] = {"r": 3, "target_modules": ["query", "value"]}
    inventory = expected_of(case("bert", "BertModel", SIZES, add_pooling_layer=False), adapter(**data))
    model = built("BertModel").to(dtype)
    model.pooler = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transformers, for what PEFT asks it
        adapted = peft.get_peft_model(model, peft.LoraConfig(**data))
    assert kept(adapted) == training_states(inventory, "float32", name).total


def test_what_is_frozen_may_be_quantised() -> None:
    frozen, trained = Tensor("a", (10, 10), "encoder", trainable=False), Tensor("b", (3,), "head")
    assert training_states(Inventory((frozen, trained)), "float32", "int4").total == 50 + 16 * 3 + 4
