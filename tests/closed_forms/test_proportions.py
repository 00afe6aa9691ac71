"""Notes on a shape: heads, vocabulary, network and positions that are seldom meant."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bertsize.closed_forms.derive import Derivation
from pytest_bertsize.closed_forms.proportions import unusual
from tests.support.family_configs import case

USUAL = {"vocab_size": 30528, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}


def said(family: str, architecture: str, **config: Any) -> tuple[str, ...]:
    found = case(family, architecture, config)
    return unusual(Derivation(found.family, found.closed_form(), found.values(), found.options))


def of_bert(**changes: Any) -> tuple[str, ...]:
    return said("bert", "BertForMaskedLM", **{**USUAL, **changes})


def test_an_ordinary_shape_has_none() -> None:
    assert of_bert() == ()


def test_a_vocabulary_that_is_no_multiple_of_64_has_what_padding_it_costs() -> None:
    cost = 6 * 768 + 6  # rows of the embeddings, and entries of the head's bias
    expected = f"vocab_size 30,522 is no multiple of 64: padded to 30,528 it costs {cost:,} parameters more"
    assert of_bert(vocab_size=30522) == (expected,)


def test_an_untied_decoder_is_padded_too() -> None:
    cost = 6 * (768 + 768 + 2)  # and a second bias
    assert of_bert(vocab_size=30522, tie_word_embeddings=False)[0].endswith(f" it costs {cost:,} parameters more")


def test_33_amino_acids_are_no_vocabulary_of_words() -> None:
    assert said("esm", "EsmModel", vocab_size=33, num_attention_heads=12) == ()


@pytest.mark.parametrize("heads", [3, 6, 8, 12, 24])
def test_heads_of_256_128_96_64_and_32_are_usual(heads: int) -> None:
    assert of_bert(num_attention_heads=heads) == ()


def test_a_head_of_another_width_is_told() -> None:
    (note,) = of_bert(hidden_size=780, intermediate_size=3120)
    assert note == "a head is 780 / 12 = 65 wide: attention is fastest with heads of 32, 64, 80, 96, 128 or 256"


def test_a_width_of_heads_that_is_a_key_of_its_own_is_told_by_it() -> None:
    notes = said("t5", "T5Model", d_model=512, num_heads=8, d_kv=48, d_ff=2048, vocab_size=32128)
    assert notes == ("d_kv is 48: attention is fastest with heads of 32, 64, 80, 96, 128 or 256",)


def test_heads_that_do_not_divide_the_width_are_told_where_the_class_takes_them() -> None:
    sizes = {**USUAL, "hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 6}
    assert said("electra", "ElectraModel", **sizes) == ("num_attention_heads 6 does not divide hidden_size 256",)


@pytest.mark.parametrize(("width", "notes"), [(1535, 1), (1536, 0), (6144, 0), (6145, 1)])
def test_a_network_of_less_than_half_or_more_than_twice_the_usual_ratio_is_told(width: int, notes: int) -> None:
    assert len(of_bert(intermediate_size=width)) == notes


def test_the_ratio_is_said() -> None:
    expected = "intermediate_size 768 is 1 times hidden_size 768: 4 times in most networks"
    assert of_bert(intermediate_size=768) == (expected,)


@pytest.mark.parametrize(("width", "notes"), [(1152, 0), (4096, 0), (1000, 1), (4097, 1)])
def test_of_a_gated_network_8_thirds_are_usual(width: int, notes: int) -> None:
    """ModernBERT's own is 1,152 of 768 (arXiv 2412.13663)."""
    found = said("modernbert", "ModernBertModel", intermediate_size=width)
    assert [note.endswith(": 8/3 times in most gated networks") for note in found] == [True] * notes


def test_networks_that_are_stacked_in_a_layer_count_together() -> None:
    """MobileBERT has four of 512 for a width of 512 (arXiv 2004.02984)."""
    assert said("mobilebert", "MobileBertModel", vocab_size=30528) == ()


def test_positions_behind_the_padding_are_two_fewer_than_their_rows() -> None:
    expected = (
        "positions begin at 2, behind pad_token_id 1: 512 rows are of 510 tokens; max_position_embeddings 514 is of 512"
    )
    assert said("roberta", "RobertaModel", **USUAL, max_position_embeddings=512) == (expected,)
    assert said("roberta", "RobertaModel", **USUAL, max_position_embeddings=514) == ()
    assert (
        "pad_token_id 0: 512 rows are of 511 "
        in said("roberta", "RobertaModel", **USUAL, max_position_embeddings=512, pad_token_id=0)[0]
    )


def test_a_model_for_tests_has_no_notes() -> None:
    assert of_bert(hidden_size=24, num_attention_heads=4, intermediate_size=37, vocab_size=1_001) == ()


def test_a_pair_has_no_width_of_its_own() -> None:
    decoder = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    assert said("encoder-decoder", "EncoderDecoderModel", encoder={"model_type": "bert"}, decoder=decoder) == ()
