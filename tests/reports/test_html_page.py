"""What every page is: one file, well formed, small, and harmless whatever it quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_bertsize import __version__
from pytest_bertsize.reports.html.page import render
from tests.support.parsed_page import Page, words
from tests.support.run_reports import (
    failing,
    gone,
    large,
    new,
    not_built,
    passing,
    refused,
    renamed,
    run,
    without_closed_form,
)

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport

HOSTILE = "<script>alert(1)</script>"
NASTY = (
    "\"quoted\" 'single' <b>bold</b> [link](javascript:1) `code` **strong** {{ 7 * 7 }} {% raw %} &amp; \u202e\n## x"
)


def every_page() -> Iterator[str]:
    yield render(run(failing()))
    yield render(run(passing()))
    yield render(run(new()))
    yield render(run(not_built()))
    yield render(run(refused()))
    yield render(run(without_closed_form()))
    yield render(run(renamed(failing(), "tagger"), passing(), new(), not_built(), refused(), without_closed_form()))
    yield render(run(configured=2, checked=0, not_checked=["a", "b"], complete=False))


# what every page is


def test_a_page_says_in_its_first_lines_that_it_is_ours() -> None:
    text = render(run(passing()))
    assert text.startswith("<!doctype html>\n")
    assert f'<meta name="generator" content="pytest-bertsize {__version__}">' in text[:400]


def test_nothing_is_loaded_and_nothing_runs() -> None:
    for text in every_page():
        assert not re.search(r"https?:|url\(|@import|\bsrc=|<script|<link|<img|<iframe|\son\w+=", text)
        found = Page(text)
        policy = next(meta["content"] for meta in found.of("meta") if "http-equiv" in meta)
        assert policy == "default-src 'none'; style-src 'unsafe-inline'"
        assert {link["href"][0] for link in found.of("a")} == {"#"}


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render(run(failing(), passing("b"))) == render(run(failing(), passing("b")))


def test_every_link_and_every_label_leads_to_something_that_is_there_once() -> None:
    for text in every_page():
        found = Page(text)
        ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        named = [a["aria-labelledby"] for _, a in found.tags if "aria-labelledby" in a]
        assert {*named, *(link["href"][1:] for link in found.of("a"))} <= set(ids)


def test_headings_leave_no_level_out_and_there_is_one_at_the_top() -> None:
    for text in every_page():
        levels = [int(tag[1]) for tag, _ in Page(text).tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_screen_reader_finds_its_way() -> None:
    found = Page(render(run(failing(), passing("other"))))
    assert found.of("html")[0]["lang"] == "en"
    assert [len(found.of(tag)) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    assert len(found.of("caption")) == len(found.of("table"))
    assert all(cell["scope"] in {"row", "col"} for cell in found.of("th"))
    scrolling = [box for box in found.of("div") if box.get("class") == "scroll"]
    assert all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-labelledby"] for box in scrolling)
    assert len(scrolling) == len(found.of("table"))


def test_a_bar_is_spoken_with_its_numbers() -> None:
    spoken = [box["aria-label"] for box in Page(render(run(failing()))).of("div") if box.get("role") == "img"]
    assert len(spoken) == 2
    assert spoken[0].startswith("main: 109,514,298 parameters, 485,702 below the budget of 110,000,000. embeddings ")
    assert "37,555,444 over the budget of 110,000,000" in spoken[1]
    assert "encoder 99,230,208 (of it attention 33,073,152, norm 43,008, feed_forward 66,114,048)" in spoken[1]


# foreign text


def hostile() -> ModelReport:
    """Foreign text wherever a file, a class or a command line has a say."""
    model = failing()
    model |= {"name": HOSTILE, "architecture": NASTY, "config": f"{HOSTILE}/{NASTY}", "family": NASTY}
    model["components"][1]["name"] = f"embeddings.{HOSTILE}"
    model["components"][2]["formula"] = HOSTILE
    model["components"][3]["limit"] = NASTY
    model["symbols"] = {HOSTILE: 1, "D": 768}
    assert model["base"]
    assert model["choices"]
    model["base"] |= {
        "revision": HOSTILE,
        "config": NASTY,
        "said": [HOSTILE, NASTY],
        "method": NASTY,
        "commit": HOSTILE,
    }
    model["base"]["changes"][0] |= {"key": HOSTILE, "before": NASTY, "after": HOSTILE, "components": {NASTY: 3}}
    model["choices"]["costs"][0] |= {"what": HOSTILE, "change": NASTY}
    model["choices"]["fits"][0]["change"] = HOSTILE
    model["layers"][0]["name"] = HOSTILE
    model["layers"][0]["tensors"][0]["name"] = NASTY
    model["findings"][0] |= {"message": NASTY, "fix": HOSTILE, "file": HOSTILE}
    return model


def test_foreign_text_is_text() -> None:
    report = run(hostile(), passing(), not_checked=[HOSTILE], configured=3, complete=False)
    words = {"config": HOSTILE, "problem": NASTY, "reason": HOSTILE}
    removed = [gone(NASTY, 1, NASTY, **words), gone(HOSTILE, failed=True)]
    report["base"] = {"revision": NASTY, "commit": None, "problem": HOSTILE, "removed": removed, "not_compared": []}
    report["versions"][HOSTILE] = NASTY
    text = render(report)
    found = Page(text)
    assert not found.of("script")
    assert HOSTILE in found.text
    assert HOSTILE not in text
    assert "<b>bold" not in text
    assert "{{ 7 * 7 }}" in unescape(text)
    assert "\"quoted\" 'single' <b>bold</b>" in found.text
    assert "\u202e" not in text
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)


def test_a_text_of_any_length_leaves_the_page_small() -> None:
    model = failing()
    model["findings"][0]["message"] = "long " * 100_000
    assert len(render(run(model)).encode()) < 32_000


# how large it is


def test_a_page_of_one_model_is_small() -> None:
    assert len(render(run(failing())).encode()) < 32_000


def test_a_page_of_a_model_with_too_much_of_everything_is_less_than_64_kb_and_says_what_is_left_out() -> None:
    text = render(run(large()))
    assert len(text.encode()) < 64_000
    left_out = re.findall(
        r"(\d+) more (components|findings|keys|tensors|entries) are in the JSON report", Page(text).text
    )
    assert {what for _, what in left_out} == {"components", "findings", "keys", "tensors", "entries"}


def test_what_is_left_out_and_what_is_shown_are_all_there_is() -> None:
    model = large()
    found = Page(render(run(model)))
    rows = [row for row in found.of("tr") if row.get("class", "").startswith("d")]
    components = re.search(r"(\d+) more components", found.text)
    layers = re.search(r"(\d+) more entries", found.text)
    assert components
    assert layers
    assert len(rows) + int(components[1]) == len(model["components"])
    assert len(found.of("details")) + int(layers[1]) == 1000


def test_the_total_and_a_component_that_failed_are_never_left_out() -> None:
    model = large()
    for row in model["components"]:
        row["failed"] = row["name"] == "part49.piece199"
    text = words(model)
    assert "failed: part49.piece199" in text
    assert "total V" in text
