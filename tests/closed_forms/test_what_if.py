"""What would fit, what the next change would cost, and what a budget would not notice: by hand and by brute force."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm, Family
from pytest_bertsize.closed_forms.derive import Chosen, Derivation, derive
from pytest_bertsize.closed_forms.what_if import Cost, Fit, Variants, costs, fits, insensitive
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.model_config import ModelConfig
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import Limit, Model
from pytest_bertsize.table.settings import limits_from
from tests.support.bert_reviews import SIZES
from tests.support.family_configs import PAIRS, Case, case, drawn

ZH = {
    "vocab_size": 21128,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
TOTAL = 102_290_312
LAYER = 7_087_872
SMALL = {**dict.fromkeys(ZH, 6), "vocab_size": 203, "hidden_size": 24, "num_attention_heads": 4, "type_vocab_size": 3}


def derived(found: Case) -> Derivation:
    return Derivation(found.family, found.closed_form(), found.values(), found.options)


def bert(architecture: str = "BertForMaskedLM", options: dict[str, bool] | None = None, **changes: Any) -> Derivation:
    """bert-base-chinese with some keys changed."""
    return derived(case("bert", architecture, {**ZH, **changes}, **(options or {})))


def small(**changes: Any) -> Derivation:
    return derived(case("bert", "BertForMaskedLM", {**SMALL, **changes}))


def budget(**limits: Any) -> tuple[Limit, ...]:
    return limits_from(
        {name.replace("__", "."): limit for name, limit in limits.items()}, file="pyproject.toml", line=5
    )


def cost(derivation: Derivation, what: str) -> Cost:
    found = [each for each in costs(derivation) if each.what == what]
    assert len(found) == 1, costs(derivation)
    return found[0]


def largest(derivation: Derivation, **limits: Any) -> dict[str, int | None]:
    return {fit.key: fit.largest for fit in fits(derivation, budget(**limits))}


# what the next change would cost


def masked_lm(V: int, D: int, L: int, I: int, P: int, T: int) -> int:  # noqa: E741, N803
    """BertForMaskedLM with its decoder tied, summed as in the paper."""
    embeddings = (V + P + T) * D + 2 * D
    layer = 4 * (D * D + D) + (D * I + I) + (I * D + D) + 2 * (2 * D)
    head = (D * D + D) + 2 * D + V
    return embeddings + L * layer + head


def test_one_more_layer() -> None:
    assert bert().form.total == TOTAL == masked_lm(21128, 768, 12, 3072, 512, 2)
    assert cost(bert(), "one more layer") == Cost("one more layer", "num_hidden_layers 12 → 13", LAYER)


def test_64_more_hidden_units_are_one_more_head_and_a_feed_forward_network_four_times_as_wide() -> None:
    found = cost(bert(), "64 more hidden units")
    assert found.total == masked_lm(21128, 832, 12, 4 * 832, 512, 2) - TOTAL
    assert set(found.change.split(", ")) >= {"num_attention_heads 12 → 13"}
    assert "hidden_size 768 → 832" in found.change
    assert "intermediate_size 3,072 → 3,328" in found.change


def test_64_more_hidden_units_are_one_more_head_where_the_old_number_of_heads_would_divide_them_too() -> None:
    large = bert(hidden_size=1024, num_attention_heads=16, intermediate_size=4096, num_hidden_layers=24)
    found = cost(large, "64 more hidden units")
    assert "hidden_size 1,024 → 1,088" in found.change
    assert "num_attention_heads 16 → 17" in found.change
    assert found.total == masked_lm(21128, 1088, 24, 4352, 512, 2) - large.form.total


def test_the_width_goes_to_the_next_multiple_where_heads_are_of_another_width() -> None:
    (found,) = [each for each in costs(bert(hidden_size=780)) if "hidden units" in each.what]
    assert found.what == "72 more hidden units"
    assert "hidden_size 780 → 852" in found.change
    assert "num_attention_heads" not in found.change
    assert "intermediate_size" not in found.change
    assert found.total == masked_lm(21128, 852, 12, 3072, 512, 2) - masked_lm(21128, 780, 12, 3072, 512, 2)


def test_1000_more_tokens_are_rows_of_the_embeddings_and_of_the_bias_of_the_head() -> None:
    assert cost(bert(), "1,000 more tokens") == Cost("1,000 more tokens", "vocab_size 21,128 → 22,128", 769_000)
    assert cost(bert("BertModel"), "1,000 more tokens").total == 768_000
    assert cost(bert(tie_word_embeddings=False), "1,000 more tokens").total == 1000 * (768 + 768 + 2)


def test_512_more_positions() -> None:
    change = "max_position_embeddings 512 → 1,024"
    assert cost(bert(), "512 more positions") == Cost("512 more positions", change, 512 * 768)


def test_untying_the_decoder_and_tying_it() -> None:
    untied = 21128 * 768 + 21128
    change = "tie_word_embeddings true → false"
    assert cost(bert(), "untie the decoder") == Cost("untie the decoder", change, untied)
    found = cost(bert(tie_word_embeddings=False), "tie the decoder")
    assert found == Cost("tie the decoder", "tie_word_embeddings false → true", -untied)


def test_a_model_without_a_decoder_has_nothing_to_untie() -> None:
    assert not [each for each in costs(bert("BertModel")) if "tie" in each.what]


def test_a_pooler_can_be_left_out_where_it_is_an_option() -> None:
    found = cost(bert("BertModel"), "without the pooler")
    assert found == Cost("without the pooler", "options.add_pooling_layer true → false", -(768 * 768 + 768))
    without = bert("BertModel", options={"add_pooling_layer": False})
    for derivation in (without, bert(), bert("BertForSequenceClassification")):
        assert "without the pooler" not in [each.what for each in costs(derivation)]


def test_a_layer_that_is_shared_costs_nothing_and_is_not_told() -> None:
    albert = derived(case("albert", "AlbertModel", {"num_hidden_layers": 12, "num_hidden_groups": 1}))
    assert not [each for each in costs(albert) if "num_hidden_layers" in each.change]


def test_each_stack_of_two_has_a_layer_of_its_own() -> None:
    bart = derived(case("bart", "BartModel", {}))
    layers = [each for each in costs(bart) if each.what.startswith("one more layer")]
    assert [each.what for each in layers] == ["one more layer (encoder_layers)", "one more layer (decoder_layers)"]
    assert [each.change for each in layers] == ["encoder_layers 12 → 13", "decoder_layers 12 → 13"]
    assert layers[0].total < layers[1].total  # cross-attention


def test_sizes_that_have_to_be_equal_change_together_and_both_are_told() -> None:
    squeeze = derived(case("squeezebert", "SqueezeBertModel", {}))
    variants = Variants(squeeze)
    for key in ("hidden_size", "embedding_size"):
        form = variants.varied(**{key: 1536})
        assert form is not None
        assert [form.dims.sizes[variants.sizes[each].symbol] for each in ("hidden_size", "embedding_size")] == [
            1536
        ] * 2
    (found,) = [each for each in costs(squeeze) if "hidden units" in each.what]
    assert "embedding_size 768 → 832" in found.change


# what would fit


def brute_force(derivation: Derivation, key: str, limits: tuple[Limit, ...], step: int) -> int | None:
    """One value after the other, from now down, each a closed form of its own."""
    symbol = {size.key: size.symbol for size in derivation.family.keys.sizes}[key]
    heads = derivation.form.dims.sizes["A"]
    for value in range(derivation.form.dims.sizes[symbol] - 1, 0, -1):
        sizes = {**derivation.form.dims.sizes, symbol: value}
        if value % step or (symbol == "D" and value % heads):
            continue
        form = ClosedForm(derivation.form.architecture, Dims(sizes, derivation.form.dims.switches))
        if all(within(limit, form.inventory[limit.component]) for limit in limits):
            return value
    return None


def within(limit: Limit, count: int) -> bool:
    return (limit.minimum is None or limit.minimum <= count) and (limit.maximum is None or count <= limit.maximum)


STEPS = {"vocab_size": 8, "hidden_size": 4}
MATTERS = ["vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size"]
MATTERS += ["max_position_embeddings", "type_vocab_size"]


@pytest.mark.parametrize("part", [0.2, 0.5, 0.7, 0.9, 0.97, 0.999])
def test_each_key_fits_at_the_value_that_brute_force_finds(part: float) -> None:
    model = small()
    limits = budget(total=int(model.form.total * part))
    found = {fit.key: fit for fit in fits(model, limits)}
    assert list(found) == MATTERS
    for key, fit in found.items():
        assert fit.largest == brute_force(model, key, limits, STEPS.get(key, 1)), key
        if fit.largest is not None:
            changed = small(**{key: fit.largest})
            assert (fit.now, fit.total) == (SMALL[key], changed.form.total)
            assert changed.form.total <= int(model.form.total * part)


@pytest.mark.parametrize(
    "limits",
    [
        {"embeddings": 4_000, "encoder": 20_000},
        {"total": 20_000, "embeddings": {"min": 4_500}},
        {"total": {"min": 15_000, "max": 17_000}},
        {"encoder.attention": 10_000, "embeddings.position": {"exact": 144}},
        {"trainable": 18_000, "head": 900},
    ],
)
def test_several_limits_have_to_hold_at_once(limits: dict[str, Any]) -> None:
    model = small()
    written = limits_from(limits, file="pyproject.toml", line=5)
    found = fits(model, written)
    assert found
    for fit in found:
        assert fit.largest == brute_force(model, fit.key, written, STEPS.get(fit.key, 1)), fit


def test_a_limit_that_two_parts_break_leaves_no_value_of_one_key_alone() -> None:
    found = largest(small(), embeddings__token_type=24, embeddings__position=24)
    assert found["type_vocab_size"] is None
    assert found["max_position_embeddings"] is None
    assert found["hidden_size"] == 4


def test_what_does_not_fit_alone_has_no_total() -> None:
    (fit,) = [fit for fit in fits(bert(), budget(total="1M")) if fit.key == "type_vocab_size"]
    assert fit == Fit("type_vocab_size", 2, None, None)


def test_bert_base_one_layer_over_has_a_layer_less_or_is_narrower() -> None:
    found = largest(bert(num_hidden_layers=13), total=TOTAL)
    assert found["num_hidden_layers"] == 12
    assert found["hidden_size"] is not None
    assert found["hidden_size"] % 12 == 0
    assert found["vocab_size"] is not None
    assert found["vocab_size"] % 8 == 0


def test_a_key_that_no_broken_limit_depends_on_is_left_out() -> None:
    assert set(largest(small(), embeddings__position=100)) == {"hidden_size", "max_position_embeddings"}
    assert "num_attention_heads" not in largest(small(), total=1_000)
    labelled = derived(case("bert", "BertForSequenceClassification", {**SMALL, "num_labels": 9}))
    assert largest(labelled, head=100)["num_labels"] == 4  # 4·24 + 4 = 100
    assert "num_labels" not in largest(labelled, encoder=100)


@pytest.mark.parametrize("limits", [{}, {"total": TOTAL}, {"total": {"min": TOTAL + 1}}, {"encoder": "86M"}])
def test_a_budget_that_is_not_exceeded_needs_no_value_that_fits(limits: dict[str, Any]) -> None:
    assert fits(bert(), budget(**limits)) == ()


def test_a_size_at_its_least_can_be_no_smaller() -> None:
    found = largest(small(num_hidden_layers=1), encoder=10)
    assert found.get("num_hidden_layers") is None
    assert found["hidden_size"] is None


def test_an_embedding_that_needs_no_projection_at_one_width_fits_there() -> None:
    """ELECTRA projects its embeddings, E·D + D, unless they are as wide as its layers."""
    sizes = {"vocab_size": 8, "embedding_size": 40, "hidden_size": 32, "num_attention_heads": 1}
    sizes |= {"num_hidden_layers": 1, "intermediate_size": 4, "max_position_embeddings": 1, "type_vocab_size": 1}
    model = derived(case("electra", "ElectraModel", sizes))
    at_width = derived(case("electra", "ElectraModel", {**sizes, "embedding_size": 32})).form.total
    below = derived(case("electra", "ElectraModel", {**sizes, "embedding_size": 31})).form.total
    assert at_width < below < model.form.total
    assert largest(model, total=at_width)["embedding_size"] == 32


# every family


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_class_has_costs_and_values_that_fit(family: str) -> None:
    rng = Random(5)  # noqa: S311
    for name in (architecture for of, architecture in PAIRS if of == family):
        model = derived(drawn(family, name, rng))
        for each in costs(model):
            assert each.total > 0 or each.what.startswith(("tie ", "without ")), (name, each)
        limits = limits_from({"total": model.form.total * 3 // 4, "embeddings": 10**6}, file="pyproject.toml", line=1)
        for fit in fits(model, limits):
            if fit.largest is not None:
                assert fit.largest < fit.now, (name, fit)
                form = Variants(model).varied(**{fit.key: fit.largest})
                assert form is not None
                assert fit.total is not None
                assert form.total == fit.total <= model.form.total * 3 // 4, (name, fit)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_value_that_fits_is_one_that_brute_force_finds(family: str) -> None:
    rng = Random(6)  # noqa: S311
    name = next(architecture for of, architecture in PAIRS if of == family)
    model = derived(drawn(family, name, rng))
    limits = limits_from({"total": model.form.total * 7 // 8}, file="pyproject.toml", line=1)
    variants = Variants(model)
    for fit in fits(model, limits):
        size = variants.sizes[fit.key]
        forms = {
            value: variants.varied(**{fit.key: value})
            for value in range(max(size.minimum, 1) if size.repeats else size.minimum, fit.now)
            if value % 8 == 0 or size.symbol != "V"
        }
        holding = [value for value, form in forms.items() if form and form.total <= model.form.total * 7 // 8]
        assert fit.largest == max(holding, default=None), (name, fit)


# what a budget would not notice


def test_a_limit_that_one_more_layer_would_pass_is_a_note_with_both_numbers_and_its_place() -> None:
    (note,) = insensitive(bert(), budget(total="110M"))
    assert (note.kind, note.severity, note.component, note.place) == (
        "insensitive-budget",
        "note",
        "total",
        "pyproject.toml:5",
    )
    assert note.message == "one more layer (num_hidden_layers 12 → 13, +7,087,872) would pass every limit"
    assert note.fix == "total has 7,709,688 left; a limit below 109,378,184 would notice it"


@pytest.mark.parametrize(("room", "notes"), [(0, 0), (LAYER - 1, 0), (LAYER, 1), (LAYER + 1, 1)])
def test_a_limit_notices_a_layer_that_is_one_parameter_more_than_its_room(room: int, notes: int) -> None:
    assert len(insensitive(bert(), budget(total=TOTAL + room))) == notes


@pytest.mark.parametrize(
    "limits",
    [
        {"total": "1B", "encoder": "86M"},
        {"total": "1B", "encoder__attention": 28_348_416},
        {"total": "1B", "trainable": TOTAL},
        {"total": "1B", "encoder__norm": {"exact": 36_864}},
    ],
)
def test_a_part_that_notices_a_layer_is_enough(limits: dict[str, Any]) -> None:
    assert insensitive(bert(), budget(**limits)) == []


def test_a_budget_of_parts_that_grow_by_no_layer_is_told_to_limit_the_total() -> None:
    (note,) = insensitive(bert(), budget(embeddings="17M", pooler=0))
    assert "would pass every limit" in note.message
    assert note.fix == "write budget.total = 102_290_312, which the next layer breaks"


def test_where_the_total_has_no_limit_the_part_that_would_grow_is_named() -> None:
    (note,) = insensitive(bert(), budget(embeddings="17M", encoder="100M"))
    assert (note.component, note.place) == ("encoder", "pyproject.toml:5")
    assert note.fix == "encoder has 14,945,536 left; a limit below 92,142,336 would notice it"


def test_a_budget_that_is_over_already_is_not_insensitive() -> None:
    assert insensitive(bert(), budget(total="1M")) == []


def test_a_layer_that_costs_nothing_is_nothing_to_notice() -> None:
    albert = derived(case("albert", "AlbertModel", {"num_hidden_layers": 12, "num_hidden_groups": 1}))
    assert all("num_hidden_layers" not in note.message for note in insensitive(albert, budget(total="1B")))


# from a declared model to its closed form


def declared(**changes: Any) -> Model:
    told: dict[str, Any] = {"name": "m", "config": "config.json", "family": None, "architecture": None}
    told |= {"overrides": {}, "options": {}, "limits": (), "table_key": ("tool", "bertsize", "models", "m")}
    return Model(**{**told, **changes})


def config(**keys: Any) -> ModelConfig:
    data = {"model_type": "bert", **ZH, **keys}
    return ModelConfig("config.json", (), data, json.dumps(data), "")


def chosen(name: str = "BertModel") -> Chosen:
    architecture = FAMILIES["bert"].architecture(name)
    assert architecture
    return Chosen(FAMILIES["bert"], architecture)


def test_a_model_is_derived_from_its_config_its_overrides_and_its_options() -> None:
    model = declared(overrides={"num_hidden_layers": 2}, options={"add_pooling_layer": False})
    found = derive(model, config(), chosen())
    assert found.form.dims.sizes["L"] == 2
    assert dict(found.options) == {"add_pooling_layer": False}
    assert found.form.total == (21128 + 512 + 2 + 2) * 768 + 2 * LAYER
    assert {symbol: found.form.dims.sizes[symbol] for symbol in SIZES} == {**SIZES, "L": 2}


def test_more_parameters_than_any_model_has_are_refused_before_anything_is_built() -> None:
    with pytest.raises(Unusable) as refused:
        derive(declared(), config(vocab_size=10**9, hidden_size=14_400), chosen())
    (found,) = refused.value.findings
    assert (found.kind, found.place) == ("config-refused", "config.json")
    assert "more than 10,000,000,000,000" in found.message


def test_a_contributed_closed_form_that_raises_gives_no_count() -> None:
    def broken(_: Dims) -> Any:
        raise ZeroDivisionError("no heads")

    architecture = Architecture("Broken", broken)
    family = Family("bert", FAMILIES["bert"].keys, (architecture,))
    with pytest.raises(Unusable) as refused:
        derive(declared(), config(), Chosen(family, architecture))
    (found,) = refused.value.findings
    assert (found.kind, found.fix) == ("unknown-closed-form", "correct its blocks")
    assert found.message == "the closed form for Broken gives no count: ZeroDivisionError: no heads"
