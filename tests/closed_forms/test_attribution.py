"""What each changed key moved, against sums by hand and the closed form's own difference."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm
from pytest_bertsize.closed_forms.attribution import INSEPARABLE, TOGETHER, Attribution, Moved, attribute
from pytest_bertsize.closed_forms.blocks import Term, module
from pytest_bertsize.closed_forms.derive import Derivation
from pytest_bertsize.config.keys import Values
from pytest_bertsize.config.values import Dims
from pytest_bertsize.inventory import Inventory, is_within
from tests.support.bert_reviews import BERT, SIZES, SWITCHES
from tests.support.family_configs import PAIRS, Case, case, drawn

ATTENTION, NORM, FEED_FORWARD = "encoder.attention", "encoder.norm", "encoder.feed_forward"
NO_VALUES = Values({}, {}, {}, ())
SYMBOLS = {"V": "vocab_size", "D": "hidden_size", "L": "num_hidden_layers", "I": "intermediate_size"}


def side(architecture: Any = "BertForMaskedLM", *, options: Any = None, **changes: Any) -> Derivation:
    """bert-base-chinese with some sizes (by symbol) and switches (by key) changed."""
    found = BERT.architecture(architecture)
    assert found
    sizes = {**SIZES, **{key: value for key, value in changes.items() if key.isupper()}}
    switches = {**SWITCHES, **{key: value for key, value in changes.items() if not key.isupper()}}
    return Derivation(BERT, ClosedForm(found, Dims(sizes, {**switches, **(options or {})})), NO_VALUES, {})


CLASSIFIER = "BertForSequenceClassification"
POOLED, UNPOOLED = (side("BertModel", options={"add_pooling_layer": on}) for on in (True, False))


def side_of(drawn_case: Case) -> Derivation:
    return Derivation(drawn_case.family, drawn_case.closed_form(), NO_VALUES, {})


def with_form(each: Derivation, architecture: Architecture | None = None, dims: Dims | None = None) -> Derivation:
    return each._replace(form=ClosedForm(architecture or each.form.architecture, dims or each.form.dims))


def is_counted(each: Derivation) -> bool:
    """What is drawn at random may be no model of its family."""
    try:
        return each.form.total >= 0
    except Exception:  # noqa: BLE001  (whatever its blocks raise)
        return False


def by_key(found: Attribution) -> dict[str, Moved]:
    keys = [row.key for row in found.moved]
    assert len(keys) == len(set(keys)), keys
    return {row.key: row for row in found.moved}


def assert_adds_up(before: Derivation, after: Derivation, found: Attribution) -> None:
    """In all, for every component at every level, and from each row's parts to its whole."""
    assert sum(row.total for row in found.moved) == after.form.total - before.form.total
    old, new = before.form.components, after.form.components
    names = {*old, *new, *(name for row in found.moved for name in row.components)}
    for name in names:
        moved = sum(row.components.get(name, 0) for row in found.moved)
        assert moved == new.get(name, 0) - old.get(name, 0), name
    for row in found.moved:
        assert 0 not in row.own.values()
        for name, count in row.components.items():
            assert count == sum(own for inner, own in row.own.items() if is_within(inner, name)), name
        tops = [count for name, count in row.components.items() if "." not in name]
        assert sum(tops) == row.total


# one key


def test_one_more_layer_is_its_attention_its_norms_and_its_feed_forward_network() -> None:
    found = attribute(side(), side(L=13))
    (row,) = found.moved
    assert (row.key, row.before, row.after, row.total) == ("num_hidden_layers", "12", "13", 7_087_872)
    assert row.components == {
        "encoder": 7_087_872,
        ATTENTION: 4 * 768 * 768 + 4 * 768,
        FEED_FORWARD: 4_722_432,
        NORM: 3_072,
    }
    assert row.own == {ATTENTION: 2_362_368, FEED_FORWARD: 4_722_432, NORM: 3_072}
    assert found.method == ""


def test_a_key_that_no_count_depends_on_has_a_row_and_moves_nothing() -> None:
    found = by_key(attribute(side(), side(A=16, L=13)))
    assert (found["num_attention_heads"].total, found["num_attention_heads"].components) == (0, {})
    assert found["num_hidden_layers"].total == 7_087_872


@pytest.mark.parametrize(
    ("before", "after", "key", "was", "became", "moved"),
    [
        (side(), side(L=11), "num_hidden_layers", "12", "11", -7_087_872),
        (side(), side(tie_word_embeddings=False), "tie_word_embeddings", "true", "false", 21128 * 769),
        (side(), side(hidden_act="prelu"), "hidden_act", '"gelu"', '"prelu"', 13),
        (side(CLASSIFIER, C=2), side(CLASSIFIER, C=5), "num_labels", "2", "5", 3 * 769),
        (POOLED, UNPOOLED, "options.add_pooling_layer", "true", "false", -(768 * 769)),
    ],
)
def test_a_key_is_told_as_the_file_writes_it(
    before: Derivation, after: Derivation, key: str, was: str, became: str, moved: int
) -> None:
    (row,) = attribute(before, after).moved
    assert (row.key, row.before, row.after, row.total) == (key, was, became, moved)
    assert_adds_up(before, after, attribute(before, after))


# several keys


def test_each_key_is_counted_alone_and_what_is_left_is_theirs_together() -> None:
    def attention(layers: int, width: int) -> int:
        return layers * (4 * width * width + 4 * width)

    found = attribute(side(), side(L=14, D=832))
    deeper = attention(14, 768) - attention(12, 768)
    wider = attention(12, 832) - attention(12, 768)
    both = attention(14, 832) - attention(12, 768)
    rows = by_key(found)
    assert rows["num_hidden_layers"].components[ATTENTION] == deeper
    assert rows["hidden_size"].components[ATTENTION] == wider
    assert rows[TOGETHER].components[ATTENTION] == both - deeper - wider
    assert rows["hidden_size"].components["embeddings.word"] == 21128 * 64
    assert "embeddings.word" not in rows["num_hidden_layers"].components
    assert "embeddings.word" not in rows[TOGETHER].components
    assert [row.key for row in found.moved][-1] == TOGETHER
    assert found.method == ""


# what else can change


def test_labels_that_only_one_of_two_classes_has_are_no_change_of_a_key() -> None:
    classifier = side("BertForSequenceClassification", C=5)
    for before, after in ((side(), classifier), (classifier, side())):
        found = attribute(before, after)
        assert [row.key for row in found.moved] == ["architecture"]
        assert_adds_up(before, after, found)
    (row,) = attribute(side(), classifier).moved
    assert (row.before, row.after) == ('"BertForMaskedLM"', '"BertForSequenceClassification"')
    assert row.components["pooler"] == 768 * 768 + 768
    assert row.components["head.classifier"] == 768 * 5 + 5


def test_another_family_is_one_change() -> None:
    before = side_of(case("bert", "BertModel", {"num_hidden_layers": 3}))
    after = side_of(case("roberta", "RobertaModel", {"num_hidden_layers": 2, "vocab_size": 100}))
    found = attribute(before, after)
    (row,) = found.moved
    assert (row.key, row.before, row.after, found.method) == ("model_type", '"bert"', '"roberta"', "")
    assert_adds_up(before, after, found)


# mixtures of two configs that no closed form counts


def only_square(dims: Dims) -> list[Term]:
    if dims.D != dims.I:
        raise ValueError("the class is square")
    return module("linear", "square", dims.D, dims.I, component="encoder")


def test_keys_that_have_no_count_one_without_the_other_go_together() -> None:
    square = Architecture("Square", only_square)
    before, after = (with_form(side(D=width, I=width, L=width), architecture=square) for width in (3, 5))
    found = attribute(before, after)
    (row,) = found.moved
    assert found.method == INSEPARABLE
    assert row.key == "hidden_size, num_hidden_layers, intermediate_size"
    assert (row.before, row.after) == ("3, 3, 3", "5, 5, 5")
    assert row.components == {"encoder": 30 - 12}
    assert_adds_up(before, after, found)


def test_lists_of_another_length_add_up_too() -> None:
    before = side_of(case("funnel", "FunnelModel", {"block_sizes": [4, 4, 4], "block_repeats": [1, 2, 1]}))
    after = side_of(case("funnel", "FunnelModel", {"block_sizes": [2, 3], "block_repeats": [2, 2]}))
    found = attribute(before, after)
    assert {key for row in found.moved for key in row.key.split(", ")} == {"block_sizes", "block_repeats"}
    assert_adds_up(before, after, found)


# any two


@pytest.mark.parametrize("pairs", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_any_two_configs_of_a_family_add_up(family: str, pairs: int) -> None:
    rng = Random(7)  # noqa: S311
    names = [architecture for name, architecture in PAIRS if name == family]
    for _ in range(pairs):
        before = side_of(drawn(family, rng.choice(names), rng))
        base = drawn(family, rng.choice(names), rng)
        after = side_of(base)
        dims = before.form.dims
        mixed = with_form(before, dims=Dims({**dims.sizes, **_some(after.form.dims.sizes, rng)}, dims.switches))
        for end in (after, mixed):
            if is_counted(end):
                assert_adds_up(before, end, attribute(before, end))


def _some(sizes: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    return {symbol: sizes[symbol] for symbol in rng.sample(list(sizes), min(3, len(sizes)))}


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_closed_form_and_its_inventory_say_the_same_by_any_name(family: str) -> None:
    rng = Random(11)  # noqa: S311
    for name in (architecture for of, architecture in PAIRS if of == family):
        form = drawn(family, name, rng).closed_form()
        flat = Inventory(form.tensors)
        assert sum(form.own.values()) == form.total == form["total"] == flat["total"]
        assert form.trainable == form["trainable"] == flat["trainable"]
        assert {part: form[part] for part in form.components} == form.components
        assert {part: count for part, count in form.own.items() if count} == {
            part: count for part, count in flat.own.items() if count
        }
