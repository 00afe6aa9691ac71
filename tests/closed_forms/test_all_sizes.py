"""A closed form followed for all sizes at once comes to what it counts at each, and refuses what the reader refuses."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, all_sizes
from pytest_bertsize.closed_forms.all_sizes import (
    NOT_WRITTEN,
    ONE_BY_ONE,
    NeedsNumber,
    end_at,
    follow_all_sizes,
    follow_every_way,
    list_ends,
)
from tests.support.what_ifs import by_python, derived, fitting_values, odd_values, overriding

PAIR = {
    "encoder": {"model_type": "bert", "hidden_size": 96},
    "decoder": {"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4, "is_decoder": True},
}
SMALL: dict[str, dict[str, Any]] = {
    "esm": {"vocab_size": 33},
    "encoder-decoder": PAIR,
    "deberta-v2": {"conv_kernel_size": 3, "conv_groups": 2, "position_buckets": 8, "relative_attention": True},
    "opt": {"word_embed_proj_dim": 64},
    "xlnet": {"d_head": 64},
}
"""What a family's default config does not have, or not enough of."""
BRANCHING = {
    "electra": "ElectraForMaskedLM",  # E == D
    "convbert": "ConvBertModel",  # A // R, at least one, and groups
    "deberta-v2": "DebertaV2Model",  # -1 for all distances
    "layoutlmv3": "LayoutLMv3ForTokenClassification",  # fewer than ten labels
    "xlm": "XLMWithLMHeadModel",  # languages
    "opt": "OPTForCausalLM",
    "xlnet": "XLNetModel",
    "encoder-decoder": "EncoderDecoderModel",
}


def assert_every_size_is_followed(family: str, architecture: str, draws: int) -> None:
    config = SMALL.get(family, {})
    derivation = derived(family, architecture, config)
    found = follow_all_sizes(derivation)
    start = derivation.form.dims.sizes
    rng = Random(f"{family} {architecture}")  # noqa: S311
    for _ in range(draws):
        values = rng.choice((odd_values, fitting_values_of))(found, start, rng)
        counted = by_python(family, architecture, config, {}, overriding(found.free, values))
        sizes = {**start, **values}
        if isinstance(counted, list):
            refused = is_outside(counted) or not all(end_at(holds, sizes) for holds in found.rules.values())
            assert refused or isinstance(found.components_at(sizes), str), (counted, values)
        else:
            assert found.components_at(sizes) == {name: n for name, n in counted.items() if name != "total"}, values
            assert all(end_at(holds, sizes) for holds in found.rules.values()), values


def fitting_values_of(found: Any, start: Any, rng: Random) -> dict[str, int]:
    """Every width so many times as large, and a few layers more."""
    other = {
        symbol: size if size is None else size + found.free[symbol].repeats
        for symbol, size in start.items()
        if symbol in found.free
    }
    return fitting_values(found, start, other, rng)


def is_outside(refused: list[tuple[str, str]]) -> bool:
    """What is refused for its own size, which is no rule: the page says it by the reader's words."""
    return any("at least" in message or "more than" in message for message, _ in refused)


@pytest.mark.parametrize(("family", "architecture"), BRANCHING.items())
def test_a_count_that_branches_is_followed_along_both_ways(family: str, architecture: str) -> None:
    assert_every_size_is_followed(family, architecture, 12)


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "architecture"),
    [(family.name, each.name) for family in FAMILIES.values() for each in family.architectures],
)
def test_every_class_of_every_family_is_followed(family: str, architecture: str) -> None:
    assert_every_size_is_followed(family, architecture, 10)


def test_a_projection_is_there_where_two_sizes_differ_and_gone_where_they_do_not() -> None:
    """ELECTRA: E·D + D, of 128 and 256 (the library's defaults), and nothing for 256 and 256."""
    derivation = derived("electra", "ElectraModel", {})
    found, start = follow_all_sizes(derivation), derivation.form.dims.sizes
    assert len(list_ends(found.counts)) == 2
    at_start, equal = (found.components_at({**start, "E": width}) for width in (128, 256))
    assert isinstance(at_start, dict)
    assert isinstance(equal, dict)
    assert at_start["embeddings.projection"] == 128 * 256 + 256
    assert "embeddings.projection" not in equal


def test_a_size_that_the_config_leaves_out_and_one_that_is_asked_for_itself_are_fixed() -> None:
    assert follow_all_sizes(derived("canine", "CanineModel", {})).fixed == {"num_hash_functions": ONE_BY_ONE}
    assert follow_all_sizes(derived("gpt2", "GPT2Model", {})).fixed == {"n_inner": NOT_WRITTEN}


def test_a_pair_has_the_sizes_and_rules_of_both_sides() -> None:
    found = follow_all_sizes(derived("encoder-decoder", "EncoderDecoderModel", PAIR))
    keys = {size.key for size in found.free.values()}
    assert {"encoder.hidden_size", "decoder.hidden_size", "decoder.vocab_size"} <= keys
    assert [rule.keys for rule in found.rules] == [
        ("encoder.hidden_size", "encoder.num_attention_heads"),
        ("decoder.hidden_size", "decoder.num_attention_heads"),
    ]


# a function of sizes


def compared(sizes: Any) -> Any:
    D, E = sizes["D"], sizes["E"]
    return [D < E, D <= E, D > E, D >= E, D == E, D != E, D < 7, D >= 7, bool(D - E), not D % E]


def test_every_comparison_is_followed_both_ways() -> None:
    ways = follow_every_way(compared, "DE")
    for sizes in ({"D": D, "E": E} for D in range(1, 16) for E in range(1, 16)):
        assert end_at(ways, sizes) == compared(sizes)


@pytest.mark.parametrize("function", [range, int, "{:,}".format, {1, 2}.__contains__, lambda size: size**size])
def test_what_needs_the_number_of_a_size_says_so_as_does_a_loop_over_all_values(function: Any) -> None:
    with pytest.raises(NeedsNumber) as needs:
        follow_every_way(lambda sizes: function(sizes["D"]), ("D", "E"))
    assert needs.value.symbols == {"D"}


def test_a_loop_over_all_values_of_a_size_is_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_sizes, "MOST_WAYS", 8)
    with pytest.raises(NeedsNumber):
        follow_every_way(lambda sizes: next(number for number in range(9) if sizes["D"] == number), "D")
