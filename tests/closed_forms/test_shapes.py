"""Shapes under a budget: legal ones alone, each counted by the closed form itself, the nearest to today's first."""

from __future__ import annotations

import time
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, flops
from pytest_bertsize.closed_forms.derive import Derivation
from pytest_bertsize.closed_forms.shapes import Found, Shape, Wish, find_fitting_shapes, find_shapes
from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.limits import Flops, Limit
from pytest_bertsize.table.settings import limits_from
from tests.support.family_configs import PAIRS, Case, case

BASE = {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
BASE |= {"intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2}
MASKED_LM = 109_514_298
"""BertForMaskedLM of these sizes (SOURCES C)."""
LAYER = 7_087_872


def derived(found: Case) -> Derivation:
    return Derivation(found.family, found.closed_form(), found.values(), found.options)


def bert(**changes: Any) -> Derivation:
    return derived(case("bert", "BertForMaskedLM", {**BASE, **changes}))


def under(derivation: Derivation, *keep: str, most: int = 10, **limits: Any) -> Found:
    """What a search says, 64 being the step."""
    return find_shapes(derivation, limits_from(limits, file="x", line=1), Wish(frozenset(keep)), most=most)


def of_flops(most: int) -> Limit:
    return Limit("flops", None, most, most, "x", measure=Flops(128))


def near(derivation: Derivation, **limits: Any) -> list[dict[str, int]]:
    """What a report says."""
    return [dict(shape.changes) for shape in find_fitting_shapes(derivation, limits_from(limits, file="x", line=1))]


def masked_lm(sizes: dict[str, int]) -> int:
    """BertForMaskedLM with its decoder tied, summed as in the paper."""
    V, D, L, I = (  # noqa: E741
        sizes[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size")
    )
    rows = V + sizes["max_position_embeddings"] + sizes["type_vocab_size"]
    layer = 4 * (D * D + D) + 2 * D * I + I + D + 4 * D
    return rows * D + 2 * D + L * layer + (D * D + D) + 2 * D + V


@cache
def under_60_million() -> tuple[Shape, ...]:
    return under(bert(), total="60M", most=50).shapes


# what is proposed


def test_a_layer_too_many_is_left_out_first() -> None:
    deeper = bert(num_hidden_layers=13)
    assert deeper.form.total == MASKED_LM + LAYER
    first, *others = under(deeper, total=MASKED_LM).shapes
    assert (dict(first.changes), first.said) == ({"num_hidden_layers": 12}, "num_hidden_layers 13 → 12")
    assert first.form.total == MASKED_LM
    assert others


def test_every_shape_is_whole_heads_of_64_and_multiples_of_64_and_counts_to_what_the_paper_sums_to() -> None:
    found = under_60_million()
    assert len(found) > 20
    for shape in found:
        sizes = {**BASE, **shape.changes}
        assert shape.form.total == masked_lm(sizes) <= 60_000_000
        assert sizes["hidden_size"] == 64 * sizes["num_attention_heads"]
        assert sizes["intermediate_size"] % 64 == 0
        assert sizes["hidden_size"] % 64 == 0


def test_no_shape_is_as_large_as_another_in_every_size() -> None:
    shapes = [{**BASE, **shape.changes} for shape in under_60_million()]
    for one, other in permutations(shapes, 2):
        assert any(one[key] > other[key] for key in one), (one, other)


def test_the_nearest_shapes_come_first_and_each_takes_all_that_a_limit_lets_it_take() -> None:
    shapes = [dict(shape.changes) for shape in under(bert(), total="105M").shapes]
    assert shapes[:3] == [
        {"intermediate_size": 2816},
        {"num_hidden_layers": 11, "intermediate_size": 3200},
        {"num_hidden_layers": 13, "hidden_size": 704, "num_attention_heads": 11, "intermediate_size": 2816},
    ]
    assert {"vocab_size": 24640} in shapes


@pytest.mark.parametrize(
    ("head", "widths"), [(None, [640, 704, 832]), (96, [576, 768, 960]), (80, [640, 960])], ids=str
)
def test_a_head_keeps_its_width_or_gets_the_wished_one(head: int | None, widths: list[int]) -> None:
    found = find_shapes(bert(), limits_from({"total": "105M"}, file="x", line=1), Wish(head=head), most=30).shapes
    sizes = [{**BASE, **shape.changes} for shape in found]
    assert all(each["hidden_size"] == (head or 64) * each["num_attention_heads"] for each in sizes)
    assert {each["hidden_size"] for each in sizes} >= set(widths)


def test_a_width_without_heads_of_the_wished_width_is_refused() -> None:
    with pytest.raises(Unusable, match="no width of the search has a whole number of heads of 333 units"):
        find_shapes(bert(), limits_from({"total": "105M"}, file="x", line=1), Wish(head=333), most=3)


def test_a_limit_on_flops_holds_too_where_there_is_a_closed_form_of_them() -> None:
    limits = [of_flops(22 * 10**9), *limits_from({"total": "110M"}, file="x", line=1)]
    found = find_shapes(bert(), limits, Wish(), most=10)
    assert len(found.shapes) == 10
    for shape in found.shapes:
        assert 0 < (flops.count_flops(shape.form, 128) or 0) <= 22 * 10**9
        assert shape.form.total <= 110 * 10**6
    with pytest.raises(Unusable, match="there is no closed form for the FLOPs of DebertaModel"):
        find_shapes(derived(case("deberta", "DebertaModel", {})), limits, Wish(), most=10)


def test_what_is_kept_is_as_it_is() -> None:
    kept = ("vocab_size", "num_hidden_layers", "max_position_embeddings")
    found = under(bert(num_hidden_layers=13), *kept, total="110M")
    assert not found.shapes[0].changes.keys() & {*kept}
    assert found.varied == ("hidden_size", "num_attention_heads", "intermediate_size")


def test_a_size_that_no_limit_depends_on_does_not_change() -> None:
    found = under(bert(), embeddings="20M")
    assert found.varied == (
        "hidden_size",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
    )
    assert {"hidden_size": 640, "num_attention_heads": 10, "intermediate_size": 2560} in [
        dict(each.changes) for each in found.shapes
    ]
    assert not any("num_hidden_layers" in each.changes for each in found.shapes)


def test_a_list_with_an_entry_for_each_layer_keeps_the_number_of_layers() -> None:
    small = {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 2}
    for config, varies in (({"num_hidden_layers": 2}, True), (small, False)):
        found = under(derived(case("qwen3", "Qwen3Model", config)), total="200M")
        assert ("num_hidden_layers" in found.varied) is varies


def test_a_size_that_is_equal_to_a_kept_one_is_kept() -> None:
    """SqueezeBERT's embeddings are as wide as its layers."""
    model = derived(case("squeezebert", "SqueezeBertModel", {}))
    for keep, varies in (((), True), (("embedding_size",), False)):
        found = under(model, *keep, total=model.form.total * 9 // 10)
        assert any("hidden_size" in shape.changes for shape in found.shapes) is varies


def test_positions_keep_what_their_family_adds_to_them() -> None:
    """RoBERTa begins to count at 2 (fairseq's padding): 514 rows are 512 positions."""
    small = derived(case("roberta", "RobertaModel", {**BASE, "max_position_embeddings": 514}))
    (position,) = near(small, **{"embeddings.position": 512 * 768})[:1]
    assert position == {"max_position_embeddings": 450}


def test_a_vocabulary_that_its_padding_would_not_be_in_is_not_proposed() -> None:
    """ModernBERT pads with 50283, which a vocabulary of 50,240 does not have."""
    model = derived(case("modernbert", "ModernBertModel", {}))
    total = model.form.total - 100 * 768
    assert "vocab_size" not in {key for shape in under(model, total=total).shapes for key in shape.changes}


# a report


def test_a_report_shows_three_shapes_at_most_and_each_holds_the_whole_budget() -> None:
    deeper = bert(num_hidden_layers=13)
    found = near(deeper, total="110M", encoder="80M")
    assert len(found) == 3
    for changes in found:
        form = Variants(deeper).varied(**changes)
        assert form is not None
        assert form.total <= 110_000_000
        assert form["encoder"] <= 80_000_000


@pytest.mark.parametrize("limits", [{}, {"total": "110M"}, {"total": {"min": "110M"}}, {"bytes": "1MB"}])
def test_a_budget_that_no_count_is_over_needs_none(limits: dict[str, Any]) -> None:
    assert near(bert(), **limits) == []


def test_a_model_of_absurd_sizes_is_searched_as_fast_as_any() -> None:
    absurd = bert(vocab_size=10**9, hidden_size=64_000, num_attention_heads=1_000, num_hidden_layers=1_000)
    start = time.process_time()
    near(absurd, total="1B")
    assert time.process_time() - start < 1


# every family


OFTEN = ("bert", "electra", "modernbert", "squeezebert", "xlnet", "t5", "bart", "encoder-decoder")
"""Each is read, or put together, in another way."""


def by_default(family: str, name: str, **changes: int) -> Derivation:
    """As its config class has it, but for what that has no default for."""
    side = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    pair = {"encoder": {"model_type": "bert"}, "decoder": side}
    needed: dict[str, dict[str, Any]] = {"encoder-decoder": pair, "esm": {"vocab_size": 33}}
    return derived(case(family, name, {**needed.get(family, {}), **changes}))


@pytest.mark.parametrize(
    "family", [pytest.param(each, marks=() if each in OFTEN else pytest.mark.long) for each in FAMILIES]
)
def test_the_reader_of_a_config_takes_every_shape(family: str) -> None:
    name = next(architecture for of, architecture in PAIRS if of == family)
    model = by_default(family, name)
    limits = limits_from({"total": model.form.total * 3 // 4}, file="x", line=1)
    found: tuple[Shape, ...] = find_fitting_shapes(model, limits)
    for shape in found:
        assert by_default(family, name, **shape.changes).form.total == shape.form.total <= model.form.total * 3 // 4
