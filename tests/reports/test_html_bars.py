"""Bars as numbers; ``test_page_in_browser.py`` measures them."""

from __future__ import annotations

import re

import pytest

from pytest_bertsize.reports.html.bars import bars
from pytest_bertsize.reports.html.page import render
from tests.support import run_reports
from tests.support.run_reports import against, bert, reported, run


def test_a_bar_is_as_long_as_its_parts() -> None:
    counts = {"a": 10, "a.x": 4, "a.y": 5, "b": 30, "total": 50}
    (side,) = bars(counts, None, "", (None, ""), 24).sides
    assert [(cell.name, cell.start, cell.count) for cell in side.above] == [
        ("a", 0, 10),
        ("b", 10, 30),
        ("other", 40, 10),
    ]
    assert [(cell.name, cell.count) for cell in side.below] == [
        ("a.x", 4),
        ("a.y", 5),
        ("a.other", 1),
        ("b", 30),
        ("other", 10),
    ]


def test_what_was_added_is_hatched_and_what_shrank_is_not() -> None:
    now, before = {"a": 10, "b": 5, "c": 7, "total": 22}, {"a": 6, "b": 9, "total": 15}
    _, side = bars(now, before, "main", (None, ""), 24).sides
    assert [(cell.name, cell.count, cell.added) for cell in side.below] == [
        ("a", 6, False),
        ("a", 4, True),
        ("b", 5, False),
        ("c", 7, True),
    ]


def test_the_smallest_of_many_parts_are_drawn_as_one() -> None:
    counts = {**{f"part{n}": n + 1 for n in range(100)}, "total": 5050}
    (side,) = bars(counts, None, "", (None, ""), 24).sides
    assert len(side.above) == 24
    assert side.above[-1].name == "77 others"
    assert sum(cell.count for cell in side.above) == sum(cell.count for cell in side.below) == 5050


@pytest.mark.parametrize(("limit", "beyond"), [(400, False), (401, True), (0, False)])
def test_a_budget_of_more_than_four_times_the_model_is_off_the_scale(limit: int, *, beyond: bool) -> None:
    drawn = bars({"a": 100, "total": 100}, None, "", (limit, str(limit)), 24)
    assert drawn.beyond is beyond
    assert float(drawn.share(100)) < 100


def test_growth_is_length_on_one_scale() -> None:
    model = against(reported(bert(14, 512, tied=True), total="200M"), bert(12, 512, tied=True))
    text = render(run(model))
    before, after = (float(width) for width in re.findall(r'class="side-name"[^>]*width:([\d.]+)%', text))
    assert after / before == pytest.approx((109_514_298 + 2 * run_reports.LAYER) / 109_514_298, rel=1e-5)
