"""What a module's classes declare as tied: a map since transformers 5, lists of patterns before."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from transformers import BertConfig, BertModel, BertPreTrainedModel

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import adapt
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.messages import Untied
from tests.conftest import TINY

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


def test_the_declared_source_owns_a_tie_whichever_is_listed_or_registered_first() -> None:
    listed = Listed()
    listed._tied_weights_keys = ["words.weight", "decoder.bias"]
    assert ties(take_inventory(listed))["decoder.weight"] == "words.weight"
    listed.all_tied_weights_keys = {"words.weight": "decoder.weight"}
    assert ties(take_inventory(listed))["words.weight"] == "decoder.weight"


def test_a_buffer_of_two_names_counts_once() -> None:
    made, held = torch.nn.Linear(3, 2), torch.zeros(5)
    for name in ("mask", "again"):
        made.register_buffer(name, held)
    assert [(each.name, each.numbers) for each in take_inventory(made).buffers] == [("mask", 5), ("again", 0)]


def test_integer_buffers_up_to_a_hundredth_of_the_parameters_are_no_packed_weights() -> None:
    made = torch.nn.Linear(100, 10, bias=False)
    made.register_buffer("codes", torch.zeros(10, dtype=torch.uint8))
    assert take_inventory(made, own=True).buffers[0].numbers == 10
    made.codes = torch.zeros(11, dtype=torch.uint8)
    with pytest.raises(Refused, match="codes is a buffer of 11 numbers of uint8, which may pack several in one"):
        take_inventory(made, own=True)


def declare_a_map(model: Any) -> None:
    model.all_tied_weights_keys = {"decoder.weight": "words.weight", "decoder.bias": "bias"}


def make_an_output(model: Any) -> None:
    model.decoder.weight = torch.nn.Parameter(torch.empty(7, 3))


def make_a_bias(model: Any) -> None:
    model.bias = torch.nn.Parameter(torch.empty(7))


def tie_once_more(model: Any) -> None:
    model.again = torch.nn.Embedding(7, 3)
    model.again.weight = model.words.weight


def tie_to_another(model: Any) -> None:
    model.other = torch.nn.Embedding(7, 3)
    model.decoder.weight = model.other.weight


LOST: dict[str, tuple[list[Callable[[Any], None]], list[str]]] = {
    "a map": ([declare_a_map], []),
    "a map, and an output of its own": ([declare_a_map, make_an_output], ["decoder.weight"]),
    "an output of its own where the config ties": ([make_an_output], ["decoder.weight"]),
    "a listed bias that stands alone": ([make_a_bias], ["decoder.bias"]),
    "a tie that no class lists": ([tie_once_more], ["again.weight"]),
    "an output that is tied to something else": ([tie_to_another], ["decoder.weight", "other.weight"]),
}


@pytest.mark.parametrize(("changes", "lost"), LOST.values(), ids=LOST)
def test_ties_are_lost_that_are_declared_alone_or_made_alone(
    changes: list[Callable[[Any], None]], lost: list[str]
) -> None:
    model = Listed()
    for change in changes:
        change(model)
    assert take_inventory(model).lost_ties() == lost


def test_a_class_of_the_library_in_another_module_declares_below_its_name() -> None:
    model = torch.nn.ModuleDict({"inner": Listed()})
    found = take_inventory(model)
    assert ties(found) == {"inner.decoder.weight": "inner.words.weight", "inner.decoder.bias": "inner.bias"}
    assert found.lost_ties() == []
    make_an_output(model["inner"])
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
    make_an_output(lost)
    assert take_inventory(lost).lost_ties() == ["decoder.weight"]


def test_a_copy_of_a_head_for_an_adapter_keeps_the_tie_inside_it() -> None:
    with torch.device("meta"):
        model = transformers.BertForMaskedLM(BertConfig(**TINY))
    found = take_inventory(adapt(model, {"target_modules": ["query"], "modules_to_save": ["cls"]}))
    copy = "base_model.model.cls.modules_to_save.default.predictions"
    assert ties(found)[f"{copy}.decoder.bias"] == f"{copy}.bias"
    assert found.lost_ties() == []


# ties that a class of the project declares

WORDS = "bert.embeddings.word_embeddings.weight"


class Tagger(BertPreTrainedModel):  # type: ignore[misc]
    """As it was written for transformers 4, which ties its output."""

    def __init__(self, **more: Any) -> None:
        super().__init__(BertConfig(**{**TINY, "num_hidden_layers": 1, **more}))
        with torch.device("meta"):
            self.bert = BertModel(self.config, add_pooling_layer=False)
            self.output = torch.nn.Linear(TINY["hidden_size"], TINY["vocab_size"])
        self.post_init()

    def get_output_embeddings(self) -> Any:
        return self.output


class Mapped(Tagger):
    """As 5 ties it."""

    _tied_weights_keys = {"output.weight": WORDS}  # noqa: RUF012


class OfTheLibrary(Tagger):
    __module__ = "transformers.models.tagger"
    get_output_embeddings = Tagger.get_output_embeddings


BY = "Tagger.get_output_embeddings"
UNTIED: dict[str, tuple[Callable[[], Any], list[Untied]]] = {
    "output": (Tagger, [Untied("output.weight", WORDS, BY)]),
    "a config that does not tie": (lambda: Tagger(tie_word_embeddings=False), []),
    "a dict": (Mapped, []),
    "a class of the library": (OfTheLibrary, []),
    "inside": (lambda: torch.nn.ModuleDict({"of": Tagger()}), [Untied("of.output.weight", f"of.{WORDS}", BY)]),
}


@pytest.mark.parametrize(("made", "untied"), UNTIED.values(), ids=UNTIED)
def test_a_tie_that_transformers_4_makes_and_5_does_not_is_found(made: Callable[[], Any], untied: list[Untied]) -> None:
    assert list(take_inventory(made(), own=True).untied) == untied
