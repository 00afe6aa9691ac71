"""Limits on bytes and FLOPs are held like those on parameters; and a review of what nobody has built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.base.comparison import Comparison
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.measures import Measured
from tests.support.bert_reviews import changed, chinese, hold, only, reviewed, subject, without_form

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

PARAMETERS = 102_290_312  # SOURCES D
FLOAT32 = 4 * PARAMETERS
WHAT = "float32, ties once"


def held(limit: object, *measured: Measured) -> Review:
    known = replace(subject(bytes=limit), measured=measured)
    return hold(known, chinese().inventory)


def in_bytes(actual: int = FLOAT32, expected: int | None = FLOAT32) -> tuple[Measured, ...]:
    """Behind another measure, which is none of its business."""
    return Measured("flops", "128 tokens", 1, 1), Measured("bytes", WHAT, actual, expected, dtype="float32")


# bytes


def test_bytes_over_their_limit_say_by_how_much_what_would_fit_and_how_to_accept_them() -> None:
    assert only(held("400MB", *in_bytes())) == Finding(
        "over-budget",
        f"bytes is 409,161,248, 9,161,248 over its limit of 400MB ({WHAT})",
        'as float16 it is 204,580,624, which fits; to accept it, write "410MB"',
        component="bytes",
        actual=409_161_248,
        limit=400_000_000,
        file="pyproject.toml",
        line=3,
    )


def test_a_limit_with_a_name_is_told_with_its_number() -> None:
    assert "over its limit of pypi-file (104,857,600)" in only(held("pypi-file", *in_bytes())).message
    assert "its limit of 200MB (" in only(held("200MB", *in_bytes())).message


def test_bytes_within_their_limit_say_nothing_and_no_more_than_where_nothing_is_known_of_them() -> None:
    assert held("410MB", *in_bytes()).findings == ()
    assert held("1MB").findings == ()
    assert held("1MB", Measured("flops", "128 tokens", 1, 1)).findings == ()


def test_bytes_that_are_not_the_closed_forms_cannot_be_accepted() -> None:
    found = only(held("200MB", *in_bytes(expected=FLOAT32 - 4)))
    assert found.fix == "its closed form comes first: what is off it cannot be accepted"
    assert 'write "410MB"' in only(held("200MB", *in_bytes(expected=None))).fix  # a class that has none


# whose class it is


def test_a_count_that_is_off_the_closed_form_cannot_be_accepted_either() -> None:
    more = Tensor("bert.odd", (5,), "encoder")
    found = reviewed(changed(odd=more), total="102M")
    assert [each.kind for each in found.findings] == ["off-closed-form", "over-budget"]
    assert found.findings[1].fix == "its closed form comes first: what is off it cannot be accepted"


# what the budget names


def test_what_a_class_without_a_closed_form_does_not_have_is_kept_out_by_a_zero() -> None:
    assert without_closed_form("adapters", 0).findings == ()
    assert only(without_closed_form("adapters", 1)).message.endswith("BertForMaskedLM does not have")


def without_closed_form(component: str, limit: int) -> Review:
    return hold(without_form(subject(**{component: limit}), closed_form=False), chinese().inventory)


def test_the_components_of_the_base_are_there_as_well_and_measures_are_none() -> None:
    gone = Inventory((Tensor("bert.pooler.dense.bias", (768,), "pooler"),))
    known = replace(subject(bytes="1GB"), comparison=Comparison("main", "a1b2c3", "config.json", gone, ()))
    assert known.base is gone
    assert "pooler" in known.component_names
    assert "bytes" not in known.component_names


# nothing is built


def unbuilt(**budget: object) -> Review:
    return conclude_unbuilt(subject().subject, subject(**budget).budget)


def test_the_closed_form_is_held_against_the_budget_where_nothing_is_built() -> None:
    found = unbuilt(total="110M", head="700K")
    assert (found.verdict, found.errors, found.unbuilt) == ("passed", (), True)
    assert found.held is found.expected
    assert found.headline == "zh: 102,290,312 parameters by the closed form, not built"


def test_a_limit_that_the_closed_form_breaks_fails_as_that_which_a_build_breaks() -> None:
    found = unbuilt(total="102M", encodr=1)
    assert [each.kind for each in found.findings] == ["over-budget", "config-invalid"]
    assert found.findings[0].message == "total is 102,290,312, 290,312 over its limit of 102M"
    assert (found.verdict, found.unbuilt) == ("failed", True)


def test_what_has_no_closed_form_fails_where_nothing_is_built() -> None:
    found = conclude_unbuilt(without_form(subject(), closed_form=False).subject)
    assert (found.verdict, found.unbuilt, only(found).kind) == ("failed", True, "build-failed")
