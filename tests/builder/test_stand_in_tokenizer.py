"""A tokenizer that is not there: how many tokens it has and how many are new, and that it fails at any other use."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from transformers import BertTokenizer

from pytest_bertsize.builder import confined
from pytest_bertsize.builder.child import tokenizer
from pytest_bertsize.builder.child.tokenizer import SPECIAL, Tokenizer
from pytest_bertsize.builder.confined import Refused

Use = Callable[..., object]


def stand_in(family: str = "bert", given: Mapping[str, Any] = MappingProxyType({}), **config: Any) -> Any:
    return Tokenizer("acme/tiny", {"model_type": family, "vocab_size": 101, **config}, given)


def test_it_has_as_many_tokens_as_the_config_has_rows_where_its_family_fills_them() -> None:
    for family in SPECIAL:
        assert len(stand_in(family)) == stand_in(family).vocab_size == 101
    assert tokenizer.TAKEN == {"acme/tiny": 101}
    assert stand_in("t5").name_or_path == "acme/tiny"


@pytest.mark.parametrize(
    "unknown",
    [
        stand_in("deberta-v2"),
        stand_in("t5"),
        stand_in("bert", tokenizer_class="XLMRobertaTokenizer"),  # as multilingual MiniLM
        stand_in("bert", vocab_size=None),
        stand_in("bert", vocab_size="101"),
    ],
)
def test_of_another_family_tokenizer_or_vocabulary_the_number_is_not_known(unknown: Any) -> None:
    for use in (len, lambda it: it.vocab_size, lambda it: it.add_tokens(["[E]"])):
        with pytest.raises(Refused, match="is asked for its number of tokens, which a config of the family"):
            use(unknown)
    assert tokenizer.TAKEN == {}


ADDED: dict[str, tuple[Use, int]] = {
    "two markers": (lambda it: it.add_tokens(["[E1]", "[/E1]"]), 2),
    "one twice": (lambda it: it.add_tokens(["<e>", "<e>"]) + it.add_tokens("<e>"), 1),
    "none": (lambda it: it.add_tokens([]), 0),
    "one that its family has": (lambda it: it.add_tokens(["[PAD]", "[SEP]"]), 0),
    "special ones": (lambda it: it.add_special_tokens({"bos_token": "[BOS]", "pad_token": "[PAD]"}), 1),
    "a list of special ones": (lambda it: it.add_special_tokens({"additional_special_tokens": ["{a}", "<|b|>"]}), 2),
}


@pytest.mark.parametrize("how", ADDED)
def test_it_is_as_much_longer_as_tokens_are_new(how: str) -> None:
    add, new = ADDED[how]
    found = stand_in()
    assert add(found) == new
    assert (len(found), found.vocab_size) == (101 + new, 101)
    assert len(copy.deepcopy(found)) == 101 + new  # as of a module that has it


GIVEN: dict[str, tuple[dict[str, Any], int]] = {
    "a list": ({"additional_special_tokens": ["[type]", "[PAD]"]}, 1),
    "a beginning and an end": ({"bos_token": "[BOS]", "eos_token": "[EOS]", "pad_token": None}, 2),
    "another separator": ({"sep_token": "<mysep>"}, 1),
    "what adds no token": ({"use_auth_token": True, "do_lower_case": True}, 0),
}


@pytest.mark.parametrize("how", GIVEN)
def test_tokens_that_from_pretrained_is_given_count_from_the_start(how: str, tmp_path: Path) -> None:
    given, new = GIVEN[how]
    words = [f"word{at}" for at in range(101 - len(SPECIAL["bert"]))]
    (tmp_path / "vocab.txt").write_text("\n".join((*SPECIAL["bert"], *words)), encoding="utf-8")
    assert len(BertTokenizer.from_pretrained(tmp_path, **given)) == 101 + new
    found = stand_in(given=given)
    assert len(found) == 101 + new
    assert (found.add_tokens(["[E1]"]), len(found)) == (1, 102 + new)


@pytest.mark.parametrize("key", ["extra_special_tokens", "vocab_file", "vocab", "entity_token"])
def test_arguments_by_which_only_the_tokenizer_knows_its_length_are_refused_if_it_is_asked(key: str) -> None:
    found = stand_in(given={key: ["[type]"]})
    with pytest.raises(Refused, match=f"is asked for its number of tokens with {key}"):
        len(found)


UNCERTAIN = {
    "house": "bert",  # a word, which a vocabulary may have
    "[unused7]": "bert",
    "<S>": "bert",  # line 105 of the vocab.txt of bert-base-chinese
    "<|endoftext|>": "roberta",  # all 50,257 tokens of GPT-2 are in it, which has this: 50,257 + 4 + 3 + 1 = 50,265
    "<extra_id_0>": "bert",
    "": "bert",
}


@pytest.mark.parametrize("token", UNCERTAIN)
def test_of_a_token_that_may_be_in_the_vocabulary_it_is_not_known_whether_it_is_new(token: str) -> None:
    with pytest.raises(Refused) as refused:
        stand_in(UNCERTAIN[token]).add_tokens(token)
    assert str(refused.value) == (
        f"the tokenizer of 'acme/tiny' is not in the project, and is asked for the token {token!r}, "
        "which its vocabulary may or may not have"
    )


def test_a_token_in_another_case_may_be_the_same_to_a_tokenizer_that_writes_all_in_lower_case() -> None:
    with pytest.raises(Refused, match=r"the token '\[e1\]', which its vocabulary may or may not have"):
        stand_in().add_tokens(["[E1]", "[e1]"])


USES: dict[str, Use] = {
    "the tokens of a text": lambda it: it("a text"),
    "encode": lambda it: it.encode("a text"),
    "pad_token_id": lambda it: it.pad_token_id,
    "convert_tokens_to_ids": lambda it: it.convert_tokens_to_ids("[PAD]"),
    "get_added_vocab": lambda it: it.get_added_vocab(),
    "another padding_side": lambda it: setattr(it, "padding_side", "left"),
}


@pytest.mark.parametrize("what", USES)
def test_any_other_use_fails_with_what_to_put_where(what: str) -> None:
    with pytest.raises(Refused) as refused:
        USES[what](stand_in())
    assert str(refused.value) == f"the tokenizer of 'acme/tiny' is not in the project, and is asked for {what}"
    assert refused.value.fix.endswith(
        '(of a name of the hub: hub = { "acme/tiny" = "models/tiny" } in [tool.bertsize])'
    )
    assert refused.value in confined.REFUSED  # which is looked at where the code catches it
