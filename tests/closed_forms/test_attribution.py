"""What each changed key moved, against sums by hand and the closed form's own difference."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, Architecture, ClosedForm
from pytest_bertsize.closed_forms.attribution import INSEPARABLE, TOGETHER, Attribution, attribute
from pytest_bertsize.closed_forms.blocks import Term, module
from pytest_bertsize.closed_forms.derive import Derivation
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import Values
from pytest_bertsize.inventory import Inventory, is_within
from tests.support.bert_reviews import BERT, SIZES, SWITCHES
from tests.support.family_configs import Case, case, drawn

ATTENTION, NORM, FEED_FORWARD = "encoder.attention", "encoder.norm", "encoder.feed_forward"
NO_VALUES = Values({}, {}, {}, ())


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


def is_counted(each: Derivation) -> bool:
    """What is drawn at random may be no model of its family."""
    try:
        return each.form.total >= 0
    except Exception:  # noqa: BLE001  (whatever its blocks raise)
        return False


def attributed(before: Derivation, after: Derivation) -> Attribution:
    """Adds up in all, for every component at every level, and from each row's parts to its whole."""
    found = attribute(before, after)
    assert len({row.key for row in found.moved}) == len(found.moved)
    assert sum(row.total for row in found.moved) == after.form.total - before.form.total
    old, new = before.form.components, after.form.components
    for name in {*old, *new, *(name for row in found.moved for name in row.components)}:
        moved = sum(row.components.get(name, 0) for row in found.moved)
        assert moved == new.get(name, 0) - old.get(name, 0), name
    for row in found.moved:
        assert 0 not in row.own.values()
        for name, count in row.components.items():
            assert count == sum(own for inner, own in row.own.items() if is_within(inner, name)), name
        assert sum(count for name, count in row.components.items() if "." not in name) == row.total
    return found


# one key


def test_one_more_layer_is_its_attention_its_norms_and_its_feed_forward_network_and_other_heads_are_nothing() -> None:
    found = attributed(side(), side(A=16, L=13))
    row, heads = found.moved
    assert (row.key, row.before, row.after, row.total) == ("num_hidden_layers", "12", "13", 7_087_872)
    own = {ATTENTION: 4 * 768 * 768 + 4 * 768, FEED_FORWARD: 4_722_432, NORM: 3_072}
    assert (row.own, row.components) == (own, {"encoder": 7_087_872, **own})
    assert (heads.key, heads.total, heads.components, found.method) == ("num_attention_heads", 0, {}, "")


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
    (row,) = attributed(before, after).moved
    assert (row.key, row.before, row.after, row.total) == (key, was, became, moved)


# several keys


def test_each_key_is_counted_alone_and_what_is_left_is_theirs_together() -> None:
    def attention(layers: int, width: int) -> int:
        return layers * (4 * width * width + 4 * width)

    found = attributed(side(), side(L=14, D=832))
    deeper = attention(14, 768) - attention(12, 768)
    wider = attention(12, 832) - attention(12, 768)
    both = attention(14, 832) - attention(12, 768)
    moved = {row.key: row.components for row in found.moved}
    assert [moved[key][ATTENTION] for key in ("num_hidden_layers", "hidden_size", TOGETHER)] == [
        *(deeper, wider, both - deeper - wider)
    ]
    assert moved["hidden_size"]["embeddings.word"] == 21128 * 64
    assert "embeddings.word" not in {**moved["num_hidden_layers"], **moved[TOGETHER]}
    assert (found.moved[-1].key, found.method) == (TOGETHER, "")


# what else can change


def test_labels_that_only_one_of_two_classes_has_are_no_change_of_a_key() -> None:
    classifier = side(CLASSIFIER, C=5)
    (back,) = attributed(classifier, side()).moved
    (row,) = attributed(side(), classifier).moved
    assert (back.key, row.key, row.before, row.after) == (*["architecture"] * 2, '"BertForMaskedLM"', f'"{CLASSIFIER}"')
    assert row.components["pooler"] == 768 * 768 + 768
    assert row.components["head.classifier"] == 768 * 5 + 5


def test_another_family_is_one_change() -> None:
    before = side_of(case("bert", "BertModel", {"num_hidden_layers": 3}))
    found = attributed(before, side_of(case("roberta", "RobertaModel", {"num_hidden_layers": 2, "vocab_size": 100})))
    (row,) = found.moved
    assert (row.key, row.before, row.after, found.method) == ("model_type", '"bert"', '"roberta"', "")


# mixtures of two configs that no closed form counts


def only_square(dims: Dims) -> list[Term]:
    if dims.D != dims.I:
        raise ValueError("the class is square")
    return module("linear", "square", dims.D, dims.I, component="encoder")


def test_keys_that_have_no_count_one_without_the_other_go_together() -> None:
    square = Architecture("Square", only_square)
    before, after = (
        each._replace(form=ClosedForm(square, each.form.dims)) for each in (side(D=n, I=n, L=n) for n in (3, 5))
    )
    found = attributed(before, after)
    (row,) = found.moved
    assert found.method == INSEPARABLE
    assert row.key == "hidden_size, num_hidden_layers, intermediate_size"
    assert (row.before, row.after) == ("3, 3, 3", "5, 5, 5")


# any two


@pytest.mark.parametrize("pairs", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_any_two_configs_of_a_family_add_up_and_a_closed_form_has_the_counts_of_its_tensors(
    family: str, pairs: int
) -> None:
    rng = Random(7)  # noqa: S311
    names = [each.name for each in FAMILIES[family].architectures]
    for _ in range(pairs):
        before, after = (side_of(drawn(family, rng.choice(names), rng)) for _ in range(2))
        dims, other = before.form.dims, after.form.dims.sizes
        some = {symbol: other[symbol] for symbol in rng.sample(list(other), min(3, len(other)))}
        mixed = ClosedForm(before.form.architecture, Dims({**dims.sizes, **some}, dims.switches))
        for end in (after, before._replace(form=mixed)):
            if is_counted(end):
                attributed(before, end)
    for name in names:
        form = drawn(family, name, rng).closed_form()
        flat = Inventory(form.tensors)
        assert sum(form.own.values()) == form.total == form.unique == form["total"] == flat["total"], name
        assert form.trainable == form["trainable"] == flat["trainable"], name
        assert {part: form[part] for part in form.components} == form.components, name
        own = [{part: count for part, count in each.own.items() if count} for each in (form, flat)]
        assert own[0] == own[1], name
