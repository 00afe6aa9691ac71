"""The page as Chromium shows it: lengths, widths, colours, keys and requests. Skipped where there is no Chromium, not in CI."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.reports.html.page import render_page
from pytest_bertsize.reports.report import RunReport
from tests.support.browsers import paper_behind, seen_at, sticks_out
from tests.support.run_reports import (
    bert,
    failing,
    gone,
    large,
    new,
    not_built,
    passing,
    plain,
    refused,
    renamed,
    reported,
    run,
    without_closed_form,
)

if TYPE_CHECKING:
    from selenium import webdriver

    from pytest_bertsize.reports.report import ModelReport

pytestmark = pytest.mark.tool

WIDTHS = (360, 800, 1600)
BARS = """
return [...document.querySelectorAll('.bar')].map(bar => ({
  width: bar.getBoundingClientRect().width,
  cells: [...bar.querySelectorAll('.cell')].map(cell => {
    const box = cell.getBoundingClientRect()
    return {level: cell.parentNode.className, title: cell.title, left: box.left, width: box.width}
  })}))
"""


Show = Callable[..., Any]


@pytest.fixture
def show(browser: webdriver.Chrome, tmp_path: Path) -> Show:
    """Open a page: ``show(models or a report, width=…, scheme="dark", unfolded=True)`` gives the browser."""

    def opened(*what: Any, width: int = 1200, scheme: str = "light", media: str = "", unfolded: bool = False) -> Any:
        report = what[0] if isinstance(what[0], RunReport) else run(*what)
        path = tmp_path / "report.html"
        path.write_text(render_page(report), encoding="utf-8")
        seen_at(browser, width, scheme, media)
        browser.get_log("performance")
        browser.get(path.as_uri())
        if unfolded:
            browser.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")
        return browser

    return opened


def everything() -> RunReport:
    """A page with each kind of model, and each kind of trouble."""
    long = renamed(failing(), "a-model-with-a-name-that-is-longer-than-any-screen-of-a-phone-is-wide-" * 3)
    assert long.base
    long.base.revision = "origin/feature/a-branch-with-a-name-of-more-letters-than-anybody-would-type"
    long.config = "models/" + "a_very_long_folder_name_" * 8 + "/config.json"
    long.components[1].name = "embeddings." + "component_with_a_long_name" * 4
    models = (long, renamed(failing(), "tagger"), passing(), new(), not_built(), refused(), without_closed_form())
    report = run(*models, configured=9, not_checked=["left", "out"], complete=False)
    assert report.base
    removed = [gone("old", 5_000_000_000, "6B", config="models/old/config.json", failed=True)]
    report.base.problem, report.base.removed = "the base has no table of its own", removed
    return report


def too_much() -> RunReport:
    return run(large())


def without_base() -> RunReport:
    return run(plain(failing()))


# lengths


def counts(model: ModelReport, side: str) -> dict[str, int]:
    return {row.name: getattr(row, side) or 0 for row in model.components}


@pytest.mark.parametrize("width", WIDTHS)
def test_cells_are_as_wide_as_their_counts_to_the_pixel_and_lie_side_by_side(show: Show, width: int) -> None:
    model = failing()
    drawn = show(model, width=width).execute_script(BARS)
    assert len(drawn) == 2
    pixels_a_parameter = drawn[1]["width"] / (147_555_444 * 1.02)
    for bar, side in zip(drawn, ("base", "actual"), strict=True):
        known = counts(model, side)
        seen: dict[tuple[str, str], float] = {}
        for (level, name), cells in groupby(bar["cells"], lambda cell: (cell["level"], cell["title"].split(":")[0])):
            seen[level, name] = sum(cell["width"] for cell in cells)
        above = {name for level, name in seen if level.endswith("above")}
        assert above == {"embeddings", "encoder", "head"}
        assert {name for level, name in seen if level.endswith("below")} == {n for n in known if "." in n}
        for (_, name), pixels in seen.items():
            assert pixels == pytest.approx(known[name] * pixels_a_parameter, abs=1), name
        for _, cells in groupby(bar["cells"], lambda cell: cell["level"]):
            row = list(cells)
            for before, after in pairwise(row):
                assert after["left"] == pytest.approx(before["left"] + before["width"], abs=0.1)
            end = row[-1]["left"] + row[-1]["width"] - row[0]["left"]
            assert end == pytest.approx(known["total"] * pixels_a_parameter, abs=1)
    slivers = [cell["width"] for cell in drawn[0]["cells"] if cell["title"].startswith("embeddings.norm:")]
    assert [width < 0.1 for width in slivers] == [True]


@pytest.mark.parametrize(("width", "limit"), [(360, 110_000_000), (800, 1_000_000), (1600, 400_000_000)])
def test_the_dashed_line_stands_at_the_budget(show: Show, width: int, limit: int) -> None:
    shown = show(reported(bert(12, 512, tied=True), total=limit), width=width)
    line, plot = (
        shown.execute_script(f"return document.querySelector('{it}').getBoundingClientRect()")
        for it in (".limit", ".plot")
    )
    at = plot["left"] + plot["width"] * limit / (max(limit, 109_514_298) * 1.02)
    assert (line["left"] + line["right"]) / 2 == pytest.approx(at, abs=1)
    assert line["height"] > 50


# widths


@pytest.mark.parametrize(
    ("width", "what"), [*((width, everything) for width in WIDTHS), (360, too_much), (360, without_base)]
)
def test_nothing_sticks_out_of_the_page(show: Show, width: int, what: Callable[[], RunReport]) -> None:
    shown = show(what(), width=width, unfolded=True)
    assert shown.execute_script("return innerWidth") == width
    assert sticks_out(shown, width) == []


# colours


@pytest.mark.parametrize(("scheme", "what"), [("light", everything), ("dark", everything), ("dark", too_much)])
def test_every_text_is_readable(show: Show, scheme: str, what: Callable[[], RunReport]) -> None:
    paper = paper_behind(show(what(), scheme=scheme, unfolded=True), 200)
    assert (sum(paper) < 1) == (scheme == "dark")


def test_on_paper_it_is_dark_on_white_with_everything_unfolded(show: Show) -> None:
    shown = show(renamed(failing(), "bad"), passing(), scheme="dark", media="print")
    assert paper_behind(shown, 200) == [1, 1, 1]
    hidden = "return [...document.querySelectorAll('details table')].filter(table => !table.checkVisibility()).length"
    assert shown.execute_script("return document.querySelectorAll('details table').length") > 0
    assert shown.execute_script(hidden) == 0
    assert shown.execute_script("return document.querySelector('nav').checkVisibility()") is False


# what leaves the page, and what runs in it


def test_no_request_leaves_the_page_and_the_browser_finds_nothing_to_complain_about(show: Show) -> None:
    shown = show(everything(), unfolded=True)
    sent = [each["message"] for each in shown.get_log("performance") if "Network.requestWillBeSent" in each["message"]]
    assert len(sent) == 1
    assert "report.html" in sent[0]
    shown.get_log("browser")
    shown.refresh()
    assert shown.get_log("browser") == []
    assert shown.execute_script("return document.compatMode") == "CSS1Compat"
