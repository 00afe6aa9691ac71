"""The verdict: inventories and a budget in, findings out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms import ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.check import conclude, conclude_unbuilt, is_equal
from pytest_bertsize.review.review import Measured
from tests.support.bert_reviews import (
    BERT,
    SIZES,
    SWITCHES,
    changed,
    chinese,
    hold,
    only,
    reviewed,
    subject,
    without_form,
)

if TYPE_CHECKING:
    from pytest_bertsize.findings import Kind
    from pytest_bertsize.review.review import Review

# the budget


LIMITS: list[tuple[object, str]] = [
    *((102_290_311, "failed"), (102_290_312, "passed"), ("102.290311M", "failed")),
    *(({"min": 102_290_312}, "passed"), ({"min": 102_290_313}, "failed"), ({"min": "102M", "max": "103M"}, "passed")),
    *(({"exact": 102_290_311}, "failed"), ({"exact": 102_290_312}, "passed"), ({"exact": 102_290_313}, "failed")),
]


@pytest.mark.parametrize(("limit", "verdict"), LIMITS)
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
    assert (found.kind, found.fix) == ("under-budget", "to accept it, write min = 16_622_592")
    assert found.message == "embeddings is 16,622,592, 377,408 under its limit of ≥17,000,000"


def test_a_broken_limit_says_how_to_write_one_that_holds() -> None:
    for limit, accepting in (
        *(("600K", '"614K"'), ({"min": "500K", "max": "600K"}, 'max = "614K"'), ({"exact": "700K"}, "exact = 613_256")),
        ({"min": "700K", "max": "800K"}, 'min = "613K"'),  # rounded up it would be broken again
    ):
        assert only(reviewed(head=limit)).fix == f"to accept it, write {accepting}"


def test_two_limits_on_one_component_both_hold() -> None:
    both = replace(subject(), budget=(*subject(head=613_256).budget, *subject(head=613_255).budget))
    found = hold(both, chinese())
    assert [finding.limit for finding in found.findings] == [613_255]


def test_the_limit_that_is_shown_is_the_tightest() -> None:
    least, more, most, both = {"min": "1K"}, {"min": "2K"}, {"max": "85K"}, {"min": "1K", "max": "90K"}
    for limits, tightest in (((both, most), 1), ((most, both), 0), ((least, both), 1), ((least, more), 1)):
        budget = tuple(limit for each in limits for limit in subject(head=each).budget)
        found = replace(subject(), budget=(*budget, *subject(encoder=1).budget))
        assert found.limit("head") == budget[tightest]
        assert found.limit("pooler") is None


def test_a_limit_on_what_the_class_lacks_would_hold_nothing_unless_it_keeps_it_out() -> None:
    assert only(reviewed(pooler=1_000_000)) == Finding(
        "config-invalid",
        'the budget limits "pooler", which this BertForMaskedLM does not have: the limit would check nothing',
        'remove the limit, or write budget."pooler" = 0 to forbid the component',
        component="pooler",
        file="pyproject.toml",
        line=3,
    )
    assert reviewed(pooler={"exact": 0}).verdict == "passed"


# the closed form


def test_a_thirteenth_layer_is_caught_even_when_the_total_matches() -> None:
    architecture = BERT.architecture("BertForMaskedLM")
    assert architecture
    # one layer is 7,087,872 = 768 × 9,229; the output bias has a parameter for each token, too
    alias = ClosedForm(architecture, Dims(SIZES | {"L": 13, "V": 21128 - 9229}, SWITCHES))
    extra = Tensor("filler", (9229,), "head")
    found = reviewed(Inventory((*alias.tensors, extra)), total={"exact": 102_290_312})
    assert found.actual
    assert found.actual.unique == 102_290_312
    assert {finding.component for finding in found.errors} >= {"encoder", "embeddings.word"}
    layer = next(finding for finding in found.errors if finding.component == "encoder")
    assert layer.message.endswith(": bert.encoder.layer.12 is new: 7,087,872, like the other 12")


# the headline


UNKNOWN = (
    "zh: pyproject.toml:3: the budget names the component \"encodr\", which no bert model has; did you mean 'encoder'?"
)
HEADLINES: list[tuple[dict[str, object], str]] = [
    ({"total": "102M"}, "zh: total 102,290,312, limit 102,000,000 (+290,312)"),
    ({"embeddings": {"min": "17M"}}, "zh: embeddings 16,622,592, limit 17,000,000 (-377,408)"),
    ({"head": 1, "encoder": 1, "embeddings": 1}, "zh: encoder 85,054,464, limit 1 (+85,054,463); 2 more findings"),
    ({"encoder": "85M", "embeddings": 1}, "zh: embeddings 16,622,592, limit 1 (+16,622,591); 1 more finding"),
    ({"encodr": 1, "total": 1}, f"{UNKNOWN}; 1 more finding"),
    ({}, "zh: 102,290,312 parameters"),
]


@pytest.mark.parametrize(("budget", "headline"), HEADLINES)
def test_the_headline_stands_alone(budget: dict[str, object], headline: str) -> None:
    assert reviewed(**budget).headline == headline


def test_the_headline_names_the_closed_form_where_the_budget_holds() -> None:
    unexpected = Tensor("crf.transitions", (18, 18), "unexpected")
    longer = Tensor("bert.embeddings.position_embeddings.weight", (1024, 768), "embeddings.position")
    said = "unexpected is +324, and the closed form has none: crf is new: 324 (transitions 18×18)"
    assert reviewed(changed(crf=unexpected)).headline == f"zh: {said}"
    said = "embeddings.position 786,432, closed form 393,216 (+393,216)"
    assert reviewed(changed(**{longer.name: longer})).headline == f"zh: {said}"


URGENT: tuple[Kind, ...] = (
    *("config-refused", "config-invalid", "unknown-closed-form", "build-failed", "read-otherwise"),
    *("off-closed-form", "over-budget", "under-budget", "over-growth", "untied"),
)


def test_the_headline_is_of_what_kept_the_model_from_being_checked_then_of_its_budget() -> None:
    for first, second in pairwise(URGENT):
        found = (Finding(second, "the second"), Finding(first, "the first"))
        assert replace(subject(), findings=found).headline == "zh: the first; 1 more finding"
    off = [
        Finding("off-closed-form", "", component=name, expected=then, actual=then + 9)
        for name, then in (("a", 1), ("b", 99))
    ]
    off[0] = off[0]._replace(actual=50)
    assert replace(subject(), findings=(*off,)).headline == "zh: a 50, closed form 1 (+49); 1 more finding"
    notes = (Finding("stood-in", "a module is not there", "", "note"), Finding("build-failed", "no lock", "", "note"))
    assert replace(subject(), findings=notes, uncounted=True).headline == "zh: no lock"


def test_what_was_not_built_never_passed_and_has_no_module() -> None:
    unbuilt = subject(total="200M")
    assert unbuilt.verdict == "failed"
    assert unbuilt.headline == "zh: was not built"
    with pytest.raises(RuntimeError, match=r"^zh: was not built$"):
        _ = unbuilt.model
    with pytest.raises(RuntimeError, match=r"^zh: "):
        _ = replace(reviewed(), actual=None).model
    assert type(reviewed().model).__name__ == "BertForMaskedLM"


def test_without_a_closed_form_nothing_passes_but_by_the_tables_own_word() -> None:
    built = replace(subject(total=1), actual=chinese())
    assert without_form(built).verdict == "failed"
    alone = without_form(built, closed_form=False)
    assert alone.verdict == "passed"
    assert replace(alone, actual=None).verdict == "failed"
    assert only(hold(alone, chinese())).kind == "over-budget"


def test_formulas_are_shown_where_a_model_is_off_its_closed_form() -> None:
    name = "bert.embeddings.position_embeddings.weight"
    off = reviewed(changed(**{name: Tensor(name, (1024, 768), "embeddings.position")}))
    assert str(off.formulas["embeddings.position"]) == "P·D"
    assert reviewed().formulas == {}
    assert without_form(off, closed_form=False).formulas == {}


def test_a_budget_may_name_what_the_family_knows_or_where_no_closed_form_does_what_was_built() -> None:
    built = replace(subject(), actual=chinese())
    assert {"pooler", "head.decoder"} <= {*built.known_components}  # no pooler is in this class
    alone = without_form(built, closed_form=False).known_components
    assert {"pooler", "head.decoder"} & {*alone} == {"head.decoder"}


def test_a_repeated_component_says_how_many_layers_its_limit_affords() -> None:
    # 7,087,872 a layer: SOURCES E
    found = only(reviewed(encoder="80M"))
    assert found.fix == 'one layer of it is 7,087,872, so 11 of 12 fit; to accept it, write "86M"'
    assert only(reviewed(encoder={"min": "86M", "max": "90M"})).fix == 'to accept it, write min = "85M"'


PARAMETERS = 102_290_312  # SOURCES D
FLOAT32 = 4 * PARAMETERS
WHAT = "float32, ties once"


def held(limit: object, *measured: Measured) -> Review:
    known = replace(subject(bytes=limit), measured=measured)
    return hold(known, chinese())


def in_bytes(actual: int = FLOAT32, expected: int | None = FLOAT32) -> tuple[Measured, ...]:
    """Behind another measure, which is none of its business."""
    return Measured("flops", "128 tokens", 1, 1), Measured("bytes", WHAT, actual, expected, dtype="float32")


# bytes


def test_bytes_over_their_limit_say_by_how_much_what_would_fit_and_how_to_accept_them() -> None:
    assert only(held("400MB", *in_bytes())) == Finding(
        "over-budget",
        f"bytes is 409,161,248, 9,161,248 over its limit of 400MB ({WHAT})",
        'to accept it, write "410MB"',
        component="bytes",
        actual=409_161_248,
        limit=400_000_000,
        file="pyproject.toml",
        line=3,
    )


def test_bytes_within_their_limit_say_nothing_and_no_more_than_where_nothing_is_known_of_them() -> None:
    assert held("410MB", *in_bytes()).findings == ()
    assert held("1MB").findings == ()
    assert held("1MB", Measured("flops", "128 tokens", 1, 1)).findings == ()


def test_what_is_off_the_closed_form_cannot_be_accepted() -> None:
    first = "fix the difference from the closed form first: a limit cannot accept it"
    assert only(held("200MB", *in_bytes(expected=FLOAT32 - 4))).fix == first
    assert 'write "410MB"' in only(held("200MB", *in_bytes(expected=None))).fix  # a class that has none
    found = reviewed(changed(odd=Tensor("bert.odd", (5,), "encoder")), total="102M")
    assert [each.kind for each in found.findings] == ["off-closed-form", "over-budget"]
    assert found.findings[1].fix == first


def test_other_sizes_are_counted_only_where_the_class_is_as_its_closed_form() -> None:
    over = reviewed(chinese(), total="102M")
    assert over.fits
    assert "one more layer" in [each.what for each in over.costs]
    short = replace(over, subject=replace(over.subject, detail=False))
    assert (short.fits, short.costs) == ((), ())
    found = reviewed(changed(odd=Tensor("bert.odd", (5,), "encoder")), total="102M")
    assert (found.fits, found.costs) == ((), ())


def test_a_class_without_a_closed_form_has_the_components_that_it_builds() -> None:
    for limit in (0, 1):
        found = hold(without_form(subject(adapters=limit), closed_form=False), chinese())
        message = 'the budget names the component "adapters", which BertForMaskedLM does not have'
        assert only(found).message == message


def test_a_limited_component_has_a_row_also_if_the_model_lacks_it() -> None:
    found = reviewed(pooler=0, bytes="1GB").component_names
    assert {*found} - {*reviewed().component_names} == {"pooler"}


def test_a_tensor_that_the_built_class_freezes_is_an_error() -> None:
    frozen = changed(**{NORM: Tensor(NORM, (768,), "", trainable=False)})
    (error,) = conclude(subject().subject, Built(frozen.tensors, TIES)).errors
    assert error.message.endswith("its tensors differ: bert.embeddings.LayerNorm.weight no longer trains: 768")


# nothing is built


def unbuilt(**budget: object) -> Review:
    return conclude_unbuilt(subject().subject, subject(**budget).budget)


def test_the_closed_form_is_held_against_the_budget_where_nothing_is_built() -> None:
    found = unbuilt(total="110M", head="700K")
    assert (found.verdict, found.errors, found.unbuilt) == ("passed", (), True)
    assert found.held is found.expected
    assert found.headline == "zh: 102,290,312 parameters by the closed form, not built"
    assert replace(reviewed(), unbuilt=True).headline == "zh: 102,290,312 parameters by its lock, not built"
    found = unbuilt(total="102M", encodr=1)
    assert [each.kind for each in found.findings] == ["over-budget", "config-invalid"]
    assert (found.verdict, found.unbuilt) == ("failed", True)
    for strict, verdict in ((False, "uncounted"), (True, "failed")):
        found = conclude_unbuilt(without_form(subject(), closed_form=False).subject, strict=strict)
        assert (found.verdict, found.unbuilt, only(found).kind) == (verdict, True, "build-failed")


# what a build agrees with, so that an earlier run's needs no tensors

POOLER = Tensor("bert.pooler.dense.bias", (768,), "")
DECODER, EMBEDDING = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
NORM = "bert.embeddings.LayerNorm.weight"
TIES = {DECODER: EMBEDDING, "cls.predictions.decoder.bias": "cls.predictions.bias"}


@pytest.mark.parametrize(
    ("tensors", "ties", "equal"),
    [
        (chinese(), TIES, True),
        (changed(more=POOLER), TIES, False),
        (changed(**{NORM: None}), TIES, False),
        (changed(**{NORM: Tensor(NORM, (769,), "")}), TIES, False),
        (changed(**{NORM: Tensor(NORM, (768,), "", trainable=False)}), TIES, False),
        (changed(**{DECODER: Tensor(DECODER, (21128, 768), "")}), TIES, False),
        (chinese(), {**TIES, NORM: DECODER}, False),
    ],
    ids=["equal", "a tensor more", "a tensor less", "another shape", "frozen", "a lost tie", "a declared tie more"],
)
def test_a_build_agrees_with_its_closed_form_in_names_shapes_ties_and_what_trains(
    tensors: Inventory, ties: dict[str, str], equal: object
) -> None:
    assert is_equal(chinese(), Built(tensors.tensors, ties)) is equal
