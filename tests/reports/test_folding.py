"""A thousand models that passed are a few lines; who failed stands first, and nobody is left uncounted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.reports.terminal.folding import MOST_ROWS
from pytest_bertsize.reports.terminal.text import Style, overview
from tests.support.model_reports import component, model

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport

LIMIT = 110_000_000
WIDE = Style(120)


def passed(name: str, size: int = 100_000_000, **more: object) -> ModelReport:
    found = model(component("total", size, maximum=LIMIT), name=name)
    return {**found, "verdict": "passed", **more}  # type: ignore[typeddict-item]


def failed(name: str) -> ModelReport:
    return model(component("total", 111_000_000, maximum=LIMIT), name=name)


def many(count: int, stem: str = "model-") -> list[ModelReport]:
    """The last is the largest."""
    return [passed(f"{stem}{index}", 100_000_000 + index) for index in range(count)]


def test_a_thousand_that_differ_in_a_number_are_one_line() -> None:
    assert (
        overview(many(1000), WIDE)
        == (
            "✓  model-*: 1,000 passed, BertForMaskedLM, 100,000,000 to 100,000,999 parameters, tightest model-999 (+9.9M left)"  # 110,000,000 - 100,000,999 = 9,999,001
        )
    )


def test_those_that_failed_stand_first_and_each_in_its_row() -> None:
    models = [*many(500), failed("broken"), *many(500, "other-"), failed("also")]
    lines = overview(models, WIDE).splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["✗", "broken"], ["✗", "also"]]
    assert [line.split()[1] for line in lines if line.startswith("✓")] == ["model-*:", "other-*:"]


def test_as_long_as_few_have_passed_each_is_a_row_in_its_place() -> None:
    models = [*many(MOST_ROWS), failed("broken")]
    names = [line.split()[1] for line in overview(models, WIDE).splitlines()[1:]]
    assert names == [each["name"] for each in models]


def test_who_asks_for_detail_has_every_row() -> None:
    told = overview(many(100), Style(120, verbosity=1))
    assert len(told.splitlines()) == 1 + 100
    assert "passed" not in told


def test_the_models_of_one_table_are_a_line_under_its_name() -> None:
    names = [chr(ord("a") + index) * 3 for index in range(26)]
    models = [*(passed(f"bert-{name}") for name in names), *many(10)]
    told = overview(models, WIDE, {f"bert-{name}": "bert-{stem}" for name in names})
    assert re.findall(r"✓  (\S+): ([\d,]+) passed", told) == [("bert-*", "26"), ("model-*", "10")]


def test_what_is_like_no_other_keeps_its_row() -> None:
    lines = overview([*many(100), passed("alone"), passed("pair-1"), passed("pair-2")], WIDE).splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["alone", "pair-1", "pair-2", "model-*:"]


def test_many_that_are_not_alike_are_counted_together() -> None:
    letters = [f"{one}{other}" for one in "abcdefgh" for other in "abcdefgh"]
    assert overview([passed(each) for each in letters], WIDE) == (
        "✓  64 models passed, BertForMaskedLM, 100,000,000 parameters, tightest aa (+10M left)"
    )
    told = overview([*many(50), *(passed(each) for each in letters)], WIDE)
    assert re.findall(r"✓  (\S+): ([\d,]+) passed", told) == [("model-*", "50"), ("others", "64")]


def test_a_model_that_is_held_to_nothing_is_never_counted_with_those_that_are() -> None:
    free = [passed(f"model-{index}", report_only=True) for index in range(1000, 1040)]
    held, unheld = re.findall(r"✓  model-\*: .*(?:\n   .*)*", overview([*many(40), *free], WIDE))
    assert (held.split()[2], unheld.split()[2]) == ("40", "40")
    assert ("report-only" in held, "report-only" in unheld) == (False, True)


def test_classes_are_counted_where_there_are_several() -> None:
    models = [passed(f"m{index}", architecture=("BertModel", "BertForMaskedLM")[index % 2]) for index in range(40)]
    assert "m*: 40 passed, 2 classes, 100,000,000 parameters" in overview(models, WIDE)


def test_one_that_is_limited_otherwise_is_said_to_be() -> None:
    by_head = [component("head", 7, maximum=8), component("total", 90_000_000)]
    told = overview([*many(40), passed("model-40", components=by_head)], WIDE)
    assert "1 without a limit of the total" in " ".join(told.split())
    only = [passed(f"m{index}", components=by_head) for index in range(40)]
    assert overview(only, WIDE) == "✓  m*: 40 passed, BertForMaskedLM, 90,000,000 parameters, limited by component"


@pytest.mark.parametrize("style", [Style(60), Style(80, colour=True), Style(80, unicode=False)])
def test_a_line_wraps_under_itself_at_any_width_and_says_the_same(style: Style) -> None:
    told = re.sub(r"\x1b\[[\d;]*m", "", overview(many(1000), style))
    assert all(len(line) < style.width for line in told.splitlines())
    assert " ".join(told.split())[1:] == " ".join(overview(many(1000), WIDE).split())[1:]  # but for the mark
