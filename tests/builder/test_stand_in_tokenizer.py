"""A tokenizer that is not there: how many tokens it has and how many are new, and that it fails at any other use."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from pytest_bertsize.builder import confined
from pytest_bertsize.builder.child import stand_ins
from pytest_bertsize.builder.child.stand_ins import SPECIAL, Tokenizer
from pytest_bertsize.builder.confined import Refused

Use = Callable[..., object]


def stand_in(family: str = "bert", **config: Any) -> Any:
    return Tokenizer("acme/tiny", {"model_type": family, "vocab_size": 101, **config})


@pytest.mark.parametrize("family", SPECIAL)
def test_it_has_as_many_tokens_as_the_config_has_rows_where_its_family_fills_them(family: str) -> None:
    assert len(stand_in(family)) == stand_in(family).vocab_size == 101
    assert stand_ins.TAKEN == {"acme/tiny": 101}


def test_it_has_the_name_that_it_was_asked_for_by() -> None:
    assert stand_in("t5").name_or_path == "acme/tiny"
    assert stand_ins.TAKEN == {}


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
    assert stand_ins.TAKEN == {}


ADDED: dict[str, tuple[Use, int]] = {
    "two markers": (lambda it: it.add_tokens(["[E1]", "[/E1]"]), 2),
    "one twice": (lambda it: it.add_tokens(["<e>", "<e>"]) + it.add_tokens("<e>"), 1),
    "none": (lambda it: it.add_tokens([]), 0),
    "one that its family has": (lambda it: it.add_tokens(["[PAD]", "[SEP]"]), 0),
    "special ones": (lambda it: it.add_special_tokens({"bos_token": "[BOS]", "pad_token": "[PAD]"}), 1),
    "a list of special ones": (lambda it: it.add_special_tokens({"additional_special_tokens": ["{a}", "<|b|>"]}), 2),
    "special ones in another case": (
        lambda it: it.add_special_tokens({"additional_special_tokens": ["<A>", "<a>"]}),
        2,
    ),
}


@pytest.mark.parametrize("how", ADDED)
def test_it_is_as_much_longer_as_tokens_are_new(how: str) -> None:
    add, new = ADDED[how]
    found = stand_in()
    assert add(found) == new
    assert (len(found), found.vocab_size) == (101 + new, 101)
    assert len(copy.deepcopy(found)) == 101 + new  # as of a module that has it


def test_of_a_marker_it_says_whether_it_was_added() -> None:
    found = stand_in()
    assert "[E1]" not in found.get_added_vocab()
    found.add_tokens(["[E1]"])
    assert "[E1]" in found.get_added_vocab()
    assert "[PAD]" in found.get_added_vocab()


UNCERTAIN = {
    "house": "bert",  # a word, which a vocabulary may have
    "[unused7]": "bert",
    "<S>": "bert",  # line 105 of the vocab.txt of bert-base-chinese
    "<|endoftext|>": "roberta",  # all 50,257 tokens of GPT-2 are in it, which has this: 50,257 + 4 + 3 + 1 = 50,265
    "<extra_id_0>": "bert",
    "": "bert",
}


@pytest.mark.parametrize("token", UNCERTAIN)
@pytest.mark.parametrize("use", [Tokenizer.add_tokens, lambda it, token: token in it.get_added_vocab()])
def test_of_a_token_that_may_be_in_the_vocabulary_it_is_not_known_whether_it_is_new(use: Use, token: str) -> None:
    with pytest.raises(Refused) as refused:
        use(stand_in(UNCERTAIN[token]), token)
    assert str(refused.value) == (
        f"the tokenizer of 'acme/tiny' is asked for whether its vocabulary has the token {token!r}, and is not in the project"
    )


def test_a_token_in_another_case_may_be_the_same_to_a_tokenizer_that_writes_all_in_lower_case() -> None:
    with pytest.raises(Refused, match=r"whether its vocabulary has the token '\[e1\]'"):
        stand_in().add_tokens(["[E1]", "[e1]"])


USES: dict[str, Use] = {
    "the tokens of a text": lambda it: it("a text"),
    "encode": lambda it: it.encode("a text"),
    "pad_token_id": lambda it: it.pad_token_id,
    "convert_tokens_to_ids": lambda it: it.convert_tokens_to_ids("[PAD]"),
    "its added tokens": lambda it: it.get_added_vocab()["[PAD]"],
    "another padding_side": lambda it: setattr(it, "padding_side", "left"),
}


@pytest.mark.parametrize("what", USES)
def test_any_other_use_fails_with_what_to_put_where(what: str) -> None:
    with pytest.raises(Refused) as refused:
        USES[what](stand_in())
    assert str(refused.value) == f"the tokenizer of 'acme/tiny' is asked for {what}, and is not in the project"
    first = "" if what.startswith("another") else "make the model above that line, or "
    assert refused.value.fix == (
        f"{first}put its config.json and its tokenizer.json into a folder, and name it: "
        'hub = { "acme/tiny" = "models/tiny" } in [tool.bertsize]'
    )
    assert refused.value in confined.REFUSED  # which is looked at where the code catches it
