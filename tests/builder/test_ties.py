"""What a module's classes declare as tied: a map since transformers 5, lists of patterns before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from pytest_bertsize.builder.child.listing import take_inventory

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built


class Listed(torch.nn.Module):  # type: ignore[misc]
    """A masked LM as transformers 4 has it: its class lists the names that can share a tensor."""

    _tied_weights_keys = ["decoder.weight", "decoder.bias"]  # noqa: RUF012

    def __init__(self, *, ties: bool = True) -> None:
        super().__init__()
        self.config = SimpleNamespace(tie_word_embeddings=ties)
        self.words = torch.nn.Embedding(7, 3)
        self.decoder = torch.nn.Linear(3, 7)
        self.bias = self.decoder.bias
        if ties:
            self.decoder.weight = self.words.weight

    def get_input_embeddings(self) -> Any:
        return self.words

    def get_output_embeddings(self) -> Any:
        return self.decoder


def ties(found: Built) -> dict[str, str]:
    return {tensor.name: tensor.tied_to for tensor in found.tensors if tensor.tied_to}


def test_what_is_listed_and_shared_is_tied_to_what_is_not_listed() -> None:
    found = take_inventory(Listed())
    assert ties(found) == {"decoder.weight": "words.weight", "decoder.bias": "bias"}
    assert found.lost_ties() == []


def test_a_map_that_the_class_declares_is_held_against_the_tensors() -> None:
    model = Listed()
    model.all_tied_weights_keys = {"decoder.weight": "words.weight", "decoder.bias": "bias"}
    assert take_inventory(model).lost_ties() == []
    model.decoder.weight = torch.nn.Parameter(torch.empty(7, 3))
    assert take_inventory(model).lost_ties() == ["decoder.weight"]


def test_an_output_of_its_own_is_a_lost_tie_where_the_config_ties() -> None:
    model = Listed()
    model.decoder.weight = torch.nn.Parameter(torch.empty(7, 3))
    assert take_inventory(model).lost_ties() == ["decoder.weight"]


def test_a_listed_bias_that_stands_alone_is_a_lost_tie_where_the_config_ties() -> None:
    model = Listed()
    model.bias = torch.nn.Parameter(torch.empty(7))
    assert take_inventory(model).lost_ties() == ["decoder.bias"]


def test_a_tie_that_no_class_lists_is_not_declared() -> None:
    model = Listed()
    model.again = torch.nn.Embedding(7, 3)
    model.again.weight = model.words.weight
    assert take_inventory(model).lost_ties() == ["again.weight"]


def test_a_class_of_the_library_in_another_module_declares_below_its_name() -> None:
    model = torch.nn.ModuleDict({"inner": Listed()})
    found = take_inventory(model)
    assert ties(found) == {"inner.decoder.weight": "inner.words.weight", "inner.decoder.bias": "inner.bias"}
    assert found.lost_ties() == []
    model["inner"].decoder.weight = torch.nn.Parameter(torch.empty(7, 3))
    assert take_inventory(model).lost_ties() == ["inner.decoder.weight"]


@pytest.mark.parametrize("name", ["words.weight", "bias"])
def test_names_of_a_tie_of_both_stacks_are_exact(name: str) -> None:
    """``_dynamic_tied_weights_keys``, which ``tie_encoder_decoder`` fills, has names and not patterns."""
    model = Listed()
    model._dynamic_tied_weights_keys = [f"x{name}"]
    assert take_inventory(model).lost_ties() == []


def test_where_word_embeddings_are_listed_only_the_output_has_to_be_tied() -> None:
    """As a Marian that shares no embeddings between its stacks."""

    class Stacks(Listed):
        _tied_weights_keys = ["words.weight", "target.weight", "decoder.weight"]  # noqa: RUF012

        def __init__(self) -> None:
            super().__init__(ties=True)
            self.target = torch.nn.Embedding(7, 3)
            self.decoder = torch.nn.Linear(3, 7, bias=False)
            self.decoder.weight = self.target.weight
            del self.bias

    assert take_inventory(Stacks()).lost_ties() == []
    lost = Stacks()
    lost.decoder.weight = torch.nn.Parameter(torch.empty(7, 3))
    assert take_inventory(lost).lost_ties() == ["decoder.weight"]


def test_an_output_that_is_tied_to_something_else_is_a_lost_tie_as_well() -> None:
    model = Listed()
    model.other = torch.nn.Embedding(7, 3)
    model.decoder.weight = model.other.weight
    assert take_inventory(model).lost_ties() == ["decoder.weight", "other.weight"]
