"""The verdict: inventories and a budget in, findings out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports import model_report
from pytest_bertsize.review import Review, review
from pytest_bertsize.settings import limits_from

SIZES = {"V": 21128, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
BERT = FAMILIES["bert"]


def chinese() -> ClosedForm:
    """bert-base-chinese with its MLM head: SOURCES D."""
    architecture = BERT.architecture("BertForMaskedLM")
    assert architecture
    return ClosedForm(architecture, Dims(SIZES, SWITCHES))


def subject(**budget: object) -> Review:
    names = {name.replace("__", "."): limit for name, limit in budget.items()}
    return Review(
        name="zh",
        family="bert",
        architecture="BertForMaskedLM",
        config="config.json",
        config_sha256="",
        symbols=SIZES,
        expected=chinese().inventory,
        actual=None,
        budget=limits_from(names, file="pyproject.toml", line=3),
        findings=(),
    )


def reviewed(actual: Inventory | None = None, /, **budget: object) -> Review:
    form = chinese()
    return review(
        replace(subject(**budget), formulas=form.formulas()),
        actual or form.inventory,
        known_components=partial(BERT.component_names, form.dims),
    )


def only(found: Review) -> Finding:
    assert len(found.findings) == 1, found.findings
    return found.findings[0]


def changed(**by_name: Tensor | None) -> Inventory:
    """The model's inventory with some tensors replaced, removed or added."""
    tensors = {tensor.name: tensor for tensor in chinese().inventory.tensors}
    for name, tensor in by_name.items():
        tensors.pop(name, None)
        if tensor:
            tensors[tensor.name] = tensor
    return Inventory(tuple(tensors.values()))


# the budget


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (102_290_311, "failed"),
        (102_290_312, "passed"),
        (102_290_313, "passed"),
        ("102.290311M", "failed"),
        ("102.290312M", "passed"),
        ({"min": 102_290_311}, "passed"),
        ({"min": 102_290_312}, "passed"),
        ({"min": 102_290_313}, "failed"),
        ({"exact": 102_290_311}, "failed"),
        ({"exact": 102_290_312}, "passed"),
        ({"exact": 102_290_313}, "failed"),
        ({"min": "102M", "max": "103M"}, "passed"),
    ],
)
def test_integers_decide(limit: object, verdict: str) -> None:
    assert reviewed(total=limit).verdict == verdict


def test_over_budget_says_by_how_much_and_how_to_accept_it() -> None:
    assert only(reviewed(total="102M")) == Finding(
        "over-budget",
        "total is 102,290,312, 290,312 over its limit of 102M",
        'to accept it, write "103M"',
        component="total",
        actual=102_290_312,
        limit=102_000_000,
        file="pyproject.toml",
        line=3,
    )


def test_under_budget_says_by_how_much() -> None:
    found = only(reviewed(embeddings={"min": 17_000_000}))
    assert found.kind == "under-budget"
    assert found.message == "embeddings is 16,622,592, 377,408 under its limit of ≥17,000,000"
    assert found.fix == "to accept it, write min = 16_622_592"


@pytest.mark.parametrize(
    "component", ["trainable", "embeddings", "embeddings.word", "encoder.attention", "head.transform"]
)
def test_every_component_and_both_totals_can_be_limited(component: str) -> None:
    assert only(reviewed(**{component: 1})).component == component


def test_two_limits_on_one_component_both_hold() -> None:
    both = replace(subject(), budget=(*subject(head=613_256).budget, *subject(head=613_255).budget))
    found = review(both, chinese().inventory, known_components=list)
    assert [finding.limit for finding in found.findings] == [613_255]


def test_a_component_that_no_class_of_the_family_has_is_an_error() -> None:
    found = only(reviewed(encodr=1_000_000_000))
    assert found.message == "the budget names the component 'encodr', which no bert model has"
    assert found.fix == "did you mean 'encoder'?"


def test_a_limit_on_what_the_class_lacks_would_hold_nothing_and_is_an_error() -> None:
    found = only(reviewed(pooler=1_000_000))
    assert (
        found.message == "the budget limits 'pooler', which this BertForMaskedLM does not have: nothing would be held"
    )
    assert found.fix == 'remove it, or write budget."pooler" = 0 to keep it out'


@pytest.mark.parametrize("none", [0, {"exact": 0}, {"max": 0}])
def test_a_limit_of_none_keeps_a_component_out(none: object) -> None:
    assert reviewed(pooler=none).verdict == "passed"


def test_without_a_budget_the_closed_form_still_decides() -> None:
    assert reviewed().verdict == "passed"
    assert model_report(reviewed())["report_only"] is True
    assert reviewed(changed(**{"cls.predictions.bias": None})).verdict == "failed"


# the closed form


def test_a_thirteenth_layer_is_caught_even_when_the_total_matches() -> None:
    architecture = BERT.architecture("BertForMaskedLM")
    assert architecture
    # one layer is 7,087,872 = 768 × 9,229; the output bias has a parameter for each token, too
    alias = ClosedForm(architecture, Dims(SIZES | {"L": 13, "V": 21128 - 9229}, SWITCHES)).inventory
    extra = Tensor("filler", (9229,), "head")
    found = reviewed(Inventory((*alias.tensors, extra)), total={"exact": 102_290_312})
    assert found.actual
    assert found.actual.unique == 102_290_312
    assert {finding.component for finding in found.errors} >= {
        "encoder.attention",
        "encoder.feed_forward",
        "embeddings.word",
    }


def test_an_untied_decoder_is_named_with_what_it_costs() -> None:
    untied = changed(
        **{
            "cls.predictions.decoder.weight": Tensor("cls.predictions.decoder.weight", (21128, 768), "head.decoder"),
            "cls.predictions.decoder.bias": Tensor("cls.predictions.decoder.bias", (21128,), "head.decoder"),
        }
    )
    found = only(reviewed(untied))
    assert found.kind == "off-closed-form"
    assert found.message == (
        "head.decoder is +16,247,432 off the closed form V = 21,128: cls.predictions.decoder.weight is a tensor of its own, "
        "by the closed form it shares bert.embeddings.word_embeddings.weight; cls.predictions.decoder.bias is a tensor of "
        "its own, by the closed form it shares cls.predictions.bias"
    )
    assert (found.expected, found.actual) == (21_128, 21_128 + 21128 * 768 + 21128)


def test_a_missing_a_new_and_a_resized_tensor_are_named() -> None:
    name = "bert.embeddings.position_embeddings.weight"
    actual = changed(
        **{
            name: Tensor(name, (1024, 768), "embeddings.position"),
            "cls.predictions.bias": None,
            "crf": Tensor("crf.transitions", (18, 18), "unexpected"),
        }
    )
    messages = {finding.component: finding.message for finding in reviewed(actual).errors}
    assert messages == {
        "embeddings.position": f"embeddings.position is +393,216 off the closed form D·P = 393,216: {name} is (1,024, 768), "
        "by the closed form (512, 768)",
        "head.decoder": "head.decoder is -21,128 off the closed form V = 21,128: cls.predictions.bias (21,128) is missing "
        "from the built model",
        "unexpected": "unexpected is +324 off the closed form 0: crf.transitions (18, 18) is not in the closed form",
    }


def test_tensors_of_identical_layers_are_named_once() -> None:
    tensors = chinese().inventory.tensors
    without = Inventory(tuple(t for t in tensors if not t.name.endswith("attention.self.key.bias")))
    found = only(reviewed(without))
    assert "bert.encoder.layer.*.attention.self.key.bias (×12) (768) is missing from the built model" in found.message


def test_a_frozen_tensor_differs_although_the_count_does_not() -> None:
    name = "bert.embeddings.LayerNorm.bias"
    found = only(reviewed(changed(**{name: Tensor(name, (768,), "embeddings.norm", trainable=False)})))
    assert found.message == (
        f"embeddings.norm counts as the closed form 2·D = 1,536 but differs within: {name} is frozen, "
        "by the closed form it is not"
    )


def test_equal_counts_of_different_shape_differ() -> None:
    name = "cls.predictions.transform.dense.weight"
    assert reviewed(changed(**{name: Tensor(name, (384, 1536), "head.transform")})).verdict == "failed"


# the headline


@pytest.mark.parametrize(
    ("budget", "headline"),
    [
        ({"total": "102M"}, "zh: total 102,290,312, limit 102,000,000 (+290,312)"),
        ({"embeddings": {"min": "17M"}}, "zh: embeddings 16,622,592, limit 17,000,000 (-377,408)"),
        ({"head": 1, "total": 1}, "zh: total 102,290,312, limit 1 (+102,290,311); 1 more finding"),
        (
            {"head": 1, "encoder": 1, "pooler": 0, "embeddings": 1},
            "zh: encoder 85,054,464, limit 1 (+85,054,463); 2 more findings",
        ),
        (
            {"encodr": 1, "total": 1},
            (
                "zh: pyproject.toml:3: the budget names the component 'encodr', which no bert model has; "
                "did you mean 'encoder'?; 1 more finding"
            ),
        ),
        ({}, "zh: 102,290,312 parameters"),
    ],
)
def test_the_headline_stands_alone(budget: dict[str, object], headline: str) -> None:
    assert reviewed(**budget).headline == headline


def test_the_headline_names_the_closed_form_where_the_budget_holds() -> None:
    actual = changed(crf=Tensor("crf.transitions", (18, 18), "unexpected"))
    assert reviewed(actual).headline == "zh: unexpected 324, closed form 0 (+324)"


def test_what_was_not_built_never_passed() -> None:
    unbuilt = subject(total="200M")
    assert unbuilt.verdict == "failed"
    assert unbuilt.headline == "zh: was not built"
    with pytest.raises(RuntimeError, match="zh: was not built"):
        _ = unbuilt.model


def test_warnings_fail_nothing() -> None:
    warned = replace(subject(), findings=(Finding("ignored-key", "the key x is ignored", severity="warning"),))
    assert review(warned, chinese().inventory, known_components=list).verdict == "passed"


# what a count by hand forgets: SOURCES A, and its list at the end


@pytest.mark.parametrize(
    ("component", "claim", "forgot"),
    [
        (
            "encoder.attention",
            2_359_296,
            "that is one layer without its biases: ×12 is 28,311,552, and the biases are 36,864",
        ),
        ("encoder.attention", 2_362_368, "that is one layer: ×12 is 28,348,416"),
        ("encoder.feed_forward", 56_623_104, "that is without the biases, which are 46,080"),
        ("head", 0, "that leaves out head.decoder 21,128, head.transform 592,128"),
        ("total", 102_290_312 - 613_256, "that is without the head, which is 613,256"),
        ("total", 102_290_312 - 393_216, "that is without the embeddings.position, which is 393,216"),
        ("total", 118_537_744, "that counts tied tensors twice, 16,247,432 too many"),
        ("total", 102_290_311, "to accept it, write exact = 102_290_312"),
    ],
)
def test_a_usual_mistake_is_recognised_from_its_number(component: str, claim: int, forgot: str) -> None:
    assert only(reviewed(**{component: {"exact": claim}})).fix == forgot


def test_a_total_that_is_the_sum_of_wrong_parts_is_off_by_as_much() -> None:
    parts = {"embeddings": {"exact": 16_622_592}, "encoder": {"exact": 85_054_464}, "head": {"exact": 600_000}}
    found = reviewed(**parts, total={"exact": 16_622_592 + 85_054_464 + 600_000})
    assert found.errors[-1].fix == "that is the sum of the other limits, and off by as much as they are: head +13,256"


def test_a_repeated_component_says_how_many_layers_its_limit_affords() -> None:
    # 7,087,872 a layer: SOURCES E
    found = only(reviewed(encoder="80M"))
    assert found.fix == 'one layer of it is 7,087,872, so 11 of 12 fit; to accept it, write "86M"'
