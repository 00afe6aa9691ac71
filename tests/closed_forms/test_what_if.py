"""What the next change would cost, and what a budget would not notice: by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.what_if import Cost, find_insensitive_budget, list_costs
from pytest_bertsize.table.settings import limits_from
from tests.closed_forms.test_shapes import derived
from tests.closed_forms.test_shapes import masked_lm as summed
from tests.support.family_configs import case

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.table.limits import Limit

ZH = {"vocab_size": 21128}  # the library's other defaults are BERT-base's
TOTAL = 102_290_312
LAYER = 7_087_872


def bert(architecture: str = "BertForMaskedLM", options: dict[str, bool] | None = None, **changes: Any) -> Derivation:
    """bert-base-chinese with some keys changed."""
    return derived(case("bert", architecture, {**ZH, **changes}, **(options or {})))


def budget(**limits: Any) -> tuple[Limit, ...]:
    return limits_from(
        {name.replace("__", "."): limit for name, limit in limits.items()}, file="pyproject.toml", line=5
    )


def cost(derivation: Derivation, what: str) -> Cost:
    found = [each for each in list_costs(derivation) if each.what == what]
    assert len(found) == 1, list_costs(derivation)
    return found[0]


# what the next change would cost


def masked_lm(V: int, D: int, L: int, I: int) -> int:  # noqa: E741, N803
    rest = {"max_position_embeddings": 512, "type_vocab_size": 2}
    return summed({"vocab_size": V, "hidden_size": D, "num_hidden_layers": L, "intermediate_size": I, **rest})


def test_64_more_hidden_units_are_one_more_head_and_a_feed_forward_network_four_times_as_wide() -> None:
    assert bert().form.total == TOTAL == masked_lm(21128, 768, 12, 3072)
    found = cost(bert(), "64 more hidden units")
    assert found.total == masked_lm(21128, 832, 12, 4 * 832) - TOTAL
    assert set(found.change.split(", ")) >= {"num_attention_heads 12 → 13"}
    assert "hidden_size 768 → 832" in found.change
    assert "intermediate_size 3,072 → 3,328" in found.change


@pytest.mark.parametrize("model", [bert(hidden_size=780), bert(intermediate_size=3001)], ids=["heads", "networks"])
def test_a_width_that_heads_or_networks_do_not_follow_has_no_cost(model: Derivation) -> None:
    assert not [each for each in list_costs(model) if "hidden units" in each.what]


PAIR = "tie_word_embeddings true → false", "tie_word_embeddings false → true"
POOLER = 768 * 768 + 768


@pytest.mark.parametrize(
    ("model", "what", "change", "total"),
    [
        (bert(), "one more layer", "num_hidden_layers 12 → 13", LAYER),
        (bert(), "1,000 more tokens", "vocab_size 21,128 → 22,128", 769_000),  # rows, and the bias of the head
        (bert("BertModel"), "1,000 more tokens", "vocab_size 21,128 → 22,128", 768_000),
        (bert(tie_word_embeddings=False), "1,000 more tokens", "vocab_size 21,128 → 22,128", 1000 * (768 + 768 + 2)),
        (bert(), "512 more positions", "max_position_embeddings 512 → 1,024", 512 * 768),
        (bert(), "untie the decoder", PAIR[0], 21128 * 769),
        (bert(tie_word_embeddings=False), "tie the decoder", PAIR[1], -21128 * 769),
        (bert("BertModel"), "without the pooler", "options.add_pooling_layer true → false", -POOLER),
    ],
)
def test_the_next_change_costs_its_sum(model: Derivation, what: str, change: str, total: int) -> None:
    assert cost(model, what) == Cost(what, change, total)


def test_a_pooler_can_be_left_out_only_where_it_is_an_option() -> None:
    without = bert("BertModel", options={"add_pooling_layer": False})
    for derivation in (without, bert(), bert("BertForSequenceClassification")):
        assert "without the pooler" not in [each.what for each in list_costs(derivation)]


def test_a_layer_that_is_shared_costs_nothing_and_is_not_told() -> None:
    albert = derived(case("albert", "AlbertModel", {"num_hidden_layers": 12, "num_hidden_groups": 1}))
    assert not [each for each in list_costs(albert) if "num_hidden_layers" in each.change]
    assert all("num_hidden_layers" not in note.message for note in find_insensitive_budget(albert, budget(total="1B")))


def test_each_stack_of_two_has_a_layer_of_its_own() -> None:
    bart = derived(case("bart", "BartModel", {}))
    layers = [each for each in list_costs(bart) if each.what.startswith("one more layer")]
    assert [each.what for each in layers] == ["one more layer (encoder_layers)", "one more layer (decoder_layers)"]
    assert [each.change for each in layers] == ["encoder_layers 12 → 13", "decoder_layers 12 → 13"]
    assert layers[0].total < layers[1].total  # cross-attention


# what a budget would not notice


@pytest.mark.parametrize(
    ("limits", "component"),
    [
        ({"embeddings": "17M", "total": "110M"}, "total"),
        ({"encoder": "100M", "embeddings": "17M"}, "encoder"),
        ({"embeddings": "17M", "pooler": 0}, "embeddings"),
    ],
)
def test_a_budget_that_one_more_layer_would_pass_is_a_note_at_the_total_or_the_first_limit(
    limits: dict[str, Any], component: str
) -> None:
    (note,) = find_insensitive_budget(bert(), budget(**limits))
    assert (note.kind, note.severity) == ("insensitive-budget", "note")
    assert (note.component, note.place) == (component, "pyproject.toml:5")
    assert note.message == "one more layer (num_hidden_layers 12 → 13, +7,087,872) would pass every limit"
    assert note.fix == "write budget.total = 102_290_312, which the next layer exceeds"


@pytest.mark.parametrize(("room", "notes"), [(0, 0), (LAYER - 1, 0), (LAYER, 1), (LAYER + 1, 1)])
def test_a_limit_notices_a_layer_that_is_one_parameter_more_than_its_room(room: int, notes: int) -> None:
    assert len(find_insensitive_budget(bert(), budget(total=TOTAL + room))) == notes


NOTICING: list[dict[str, Any]] = [{"encoder": "86M"}, {"encoder__attention": 28_348_416}, {"trainable": TOTAL}]


@pytest.mark.parametrize("limits", [*NOTICING, {"encoder__norm": {"exact": 36_864}}])
def test_a_part_that_notices_a_layer_is_enough(limits: dict[str, Any]) -> None:
    assert find_insensitive_budget(bert(), budget(total="1B", **limits)) == []
