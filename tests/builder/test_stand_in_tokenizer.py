"""What is asked of a tokenizer that is not there: its tokens and ids, as far as the config and the family say them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_bertsize.builder.child.tokenizer import StandIn
from pytest_bertsize.builder.confined import Refused


def stand_in(family: str = "bert", **said: Any) -> Any:
    return StandIn("acme/tiny", {"model_type": family, "vocab_size": 101, **said}, {})


def test_its_special_tokens_are_those_of_its_family_and_what_is_added() -> None:
    tokenizer = stand_in()
    tokenizer.add_tokens(["[E1]", "[E2]"])
    # Devlin et al. 2018's vocab.txt
    assert tokenizer.all_special_tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[E1]", "[E2]"]


def test_the_id_of_a_token_that_is_added_is_behind_those_of_the_vocabulary() -> None:
    tokenizer = stand_in()
    tokenizer.add_special_tokens({"additional_special_tokens": ["[E1]"], "bos_token": "[BOS]"})
    assert tokenizer.convert_tokens_to_ids(["[E1]", "[BOS]"]) == [101, 102]
    assert tokenizer.bos_token_id == 102


def test_the_id_of_another_is_what_the_config_says() -> None:
    tokenizer = stand_in(pad_token_id=7)
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id) == (7, None)  # a tokenizer of BERT has no such token


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (lambda each: each.mask_token_id, "mask_token_id"),
        (lambda each: each.convert_tokens_to_ids("house"), "the id of the token 'house'"),
        (lambda each: setattr(each, "pad_token", "house"), "whether it has the token 'house'"),
        (lambda each: each.get_vocab(), "get_vocab"),
        (lambda each: each("a text"), "the tokens of a text"),
        (lambda each: each.encode("a text")[0] + 1, "the tokens of a text"),
    ],
)
def test_what_only_the_tokenizer_itself_knows_is_refused_with_what_to_put_where(asked: Any, what: str) -> None:
    with pytest.raises(Refused) as refused:
        asked(stand_in())
    assert str(refused.value) == f"the tokenizer of 'acme/tiny' is asked for {what}, and it is not in the project"
    assert refused.value.fix == "put its tokenizer.json beside the config that hub names for 'acme/tiny'"


def test_a_token_may_stand_for_another_that_it_has_and_has_its_id_then() -> None:
    """Usual with GPT-2, which has nothing to pad with."""
    tokenizer = stand_in("gpt2", eos_token_id=100)
    tokenizer.pad_token = tokenizer.eos_token
    assert (tokenizer.pad_token, tokenizer.pad_token_id) == ("<|endoftext|>", 100)


def test_of_a_family_whose_rows_are_not_its_tokens_neither_number_nor_names_are_known() -> None:
    tokenizer = stand_in("deberta-v2")
    for asked in (lambda: len(tokenizer), lambda: tokenizer.pad_token):
        with pytest.raises(Refused):
            asked()


def test_it_can_be_copied_as_a_module_that_keeps_it_is() -> None:
    tokenizer = stand_in()
    tokenizer.add_tokens(["[E1]"])
    assert len(copy.copy(tokenizer)) == 102
