"""What the page of a run says, and what it makes of what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports import headline
from pytest_bertsize.reports.html.page import Bars, find_bars, render_page
from tests.support.parsed_page import Page, words
from tests.support.run_reports import (
    BASE_COMMIT,
    base_of,
    bert,
    compared,
    component,
    failing,
    free_key,
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
    saying,
    without_closed_form,
)
from tests.support.run_reports import model as one_model

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunReport


# what it says, and what it makes of what is missing


def limited(**budget: Any) -> ModelReport:
    return reported(bert(12, 512, tied=True), **budget)


def other_tensors() -> ModelReport:
    """Another model of the same size."""
    form = bert(12, 512, tied=True)
    tensors = [t for t in form.tensors if t.name != "bert.embeddings.LayerNorm.bias"]
    other = Tensor("bert.embeddings.LayerNorm.other", (768,), "embeddings.norm")
    return reported(form, Inventory((*tensors, other)), total="120M")


def unbuilt() -> ModelReport:
    model = passing()
    model.built, model.totals.actual = False, None
    for row in model.components:
        row.actual = None
    return replace(model, headline=headline.describe_model(model, ""))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (failing(), " 3 more findings BertForMaskedLM, models/encoder/config.json; V = 30,522, D = 768, "),
        (failing(), "Parameters 147,555,444 +38,041,146 against main (+34.7%)"),
        (failing(), "Budget 110M 37,555,444 beyond it"),
        (failing(), "Weights in fp32 590 MB 295 MB in bf16"),
        (failing(), "Closed form +768"),
        (failing(), "Error total is 147,555,444, 37,555,444 over its limit of 110M (pyproject.toml:11) → fix the "),
        (failing(), "Warning pruned_heads changes nothing here (config.json:4)"),
        (failing(), "What changed against main (bbbbbbbbbb): 109,514,298 → 147,555,444 (+38,041,146) tie_word"),
        (failing(), "Would fit num_hidden_layers 14 → 8 (105,027,444)"),
        (failing(), "one more layer (num_hidden_layers 14 → 15) +7,087,872"),
        (
            failing(),
            "Layer Base Closed form Actual bert.encoder.layer.12-13 ×2, each none 7,087,872 7,087,872 … attention.part0",
        ),
        (failing(), "attention.part0.weight none 768×768 768×768"),
        (limited(total={"min": "110M"}), "Budget ≥110M 485,702 beyond it"),
        (other_tensors(), "Closed form other tensors"),
        (limited(embeddings="24M"), "Budget embeddings 24M 162,816 left"),
        (limited(total="120M"), "Closed form matches tensor by tensor"),
        (limited(), "Budget report-only Weights"),
        (new(), "What changed against main (bbbbbbbbbb) new: main declares no model fresh"),
        (not_built(), "109,514,298 by the closed form, not built"),
        (unbuilt(), "Closed form not compared it was not built"),
        (refused(), 'Error the key "auto_map" runs code (config.json:3) → remove it'),
        (without_closed_form(), "Closed form not compared the budget alone is"),
    ],
)
def test_a_model_has_what_is_known_of_it(model: ModelReport, said: str) -> None:
    assert said in words(model)


@pytest.mark.parametrize(
    ("model", "unsaid"),
    [
        (replace(refused(), base=passing().base), "Nothing changed"),  # it was not counted
        (free_key(), "Nothing changed"),
        (new(), "Nothing changed|hatched"),
        (limited(total="120M"), "Nothing changed|hatched|Vs base"),
        (limited(embeddings="24M"), "dashed"),
        (limited(total="10B"), "dashed"),
        (limited(), "Left"),
        (refused(), "Parameters"),
        (without_closed_form(), "Vs formula"),
    ],
)
def test_a_model_has_nothing_of_what_there_is_not(model: ModelReport, unsaid: str) -> None:
    assert not re.search(unsaid, words(model))


# the run

BAD, GOOD = renamed(failing(), "bad"), passing("good")
NO_BASE = compared(revision="origin/main", commit=None, problem="git has no such commit: fetch it")
LEFT = compared(removed=[gone("old", 5000, "6K"), gone("older")])
LOST = run(passing(), configured=3, not_checked=["left", "out"], complete=False)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (run(passing(), commit=BASE_COMMIT), f"; work tree on commit {BASE_COMMIT};"),
        (run(plain(passing()), base=NO_BASE), "not compared with origin/main: git has no such commit: fetch it"),
        (
            run(passing(), base=LEFT),
            "old (old.json, 5,000 parameters under a limit of 6K) removed: main declares older (older.json) ",
        ),
        (run(GOOD, BAD), "✗ failed bad 109,514,298 → 147,555,444, +38,041,146 (+34.7%), "),
        (run(GOOD, BAD), "; 3 more findings ✓ passed good 109,514,298 parameters, as at main; within its"),
        (LOST, "NOT CHECKED: left, out; this report does not cover every model, so it is no pass"),
    ],
)
def test_a_run_has_what_is_known_of_it(report: RunReport, said: str) -> None:
    assert said in Page(render_page(report)).text


def test_what_is_broken_is_marked_in_its_cell_and_a_column_that_says_nothing_is_left_out() -> None:
    failed, passed = render_page(run(failing())), render_page(run(passing()))
    assert '<td class="n left bad">-230K</td>' in failed  # 24M - 24,230,400
    assert '<td class="n vs-formula bad">+768</td>' in failed
    assert '<td class="n left">+769K</td>' in failed
    assert "Vs formula" in passed
    assert "Closed form</th>" not in passed
    assert passed == render_page(run(passing()))  # the same bytes for the same report


def test_a_page_of_several_models_has_links_to_them_and_bars_of_what_changed() -> None:
    found = Page(render_page(run(GOOD, BAD)))
    assert [link["href"] for link in found.of("a")] == ["#report", "#model-1", "#model-2"]
    assert not Page(render_page(run(failing()))).of("nav")
    bars = [box["aria-label"].partition(":")[0] for box in found.of("div") if box.get("role") == "img"]
    assert bars == ["main", "this branch", "this branch"]
    assert "commit" not in words(plain(passing()), commit=None)


def test_findings_stand_before_what_changed_and_what_is_as_it_was_is_folded() -> None:
    new = replace(passing("new"), base=None)
    found = Page(render_page(run(passing("good"), new, renamed(failing(), "bad"))))
    folded = [said for tag, said in found.words if tag == "summary" and " and c" in said]
    assert folded == ["Parameters, budget and components of good"]
    said = words(failing())
    places = [
        said.index(each) for each in ("Closed form +768", "Error total is", "What changed", "Where the parameters")
    ]
    assert places == sorted(places)


# bars as numbers; ``test_page_in_browser.py`` measures them


def bars_of(now: dict[str, int], before: dict[str, int] | None = None, limit: int | None = None) -> Bars:
    rows = [component(name, count, maximum=limit if name == "total" else None) for name, count in now.items()]
    model = one_model(*rows)
    model.totals.actual = now["total"]
    if before:
        for row in rows:
            row.base = before.get(row.name)
        model.base = base_of(config="", total=before["total"])
    found = find_bars(model)
    assert found
    return found


def test_a_bar_is_as_long_as_its_parts() -> None:
    (side,) = bars_of({"a": 10, "a.x": 4, "a.y": 5, "b": 30, "total": 50}).sides
    above = [("a", 0, 10), ("b", 10, 30), ("other", 40, 10)]
    assert [(cell.name, cell.start, cell.size) for cell in side.above] == above
    below = [("a.x", 4), ("a.y", 5), ("a.other", 1), ("b", 30), ("other", 10)]
    assert [(cell.name, cell.size) for cell in side.below] == below


def test_what_was_added_is_hatched_and_what_shrank_is_not() -> None:
    _, side = bars_of({"a": 10, "b": 5, "c": 7, "total": 22}, {"a": 6, "b": 9, "total": 15}).sides
    below = [("a", 6, False), ("a", 4, True), ("b", 5, False), ("c", 7, True)]
    assert [(cell.name, cell.size, cell.added) for cell in side.below] == below


@pytest.mark.parametrize(("limit", "beyond"), [(400, False), (401, True), (0, False)])
def test_a_budget_of_more_than_four_times_the_model_is_off_the_scale(limit: int, *, beyond: bool) -> None:
    drawn = bars_of({"a": 100, "total": 100}, limit=limit)
    assert drawn.limit == (None if beyond else limit)
    assert float(drawn.share(100)) < 100


def every_report() -> Iterator[RunReport]:
    models = (failing(), passing(), new(), not_built(), refused(), without_closed_form())
    yield from (run(model) for model in models)
    yield run(renamed(failing(), "tagger"), *models[1:])
    yield run(configured=2, checked=0, not_checked=["a", "b"], complete=False)


# what every page is


@pytest.mark.parametrize("report", [*every_report()])
def test_nothing_is_loaded_or_run_links_and_labels_lead_somewhere_and_headings_leave_no_level_out(
    report: RunReport,
) -> None:
    text = render_page(report)
    assert not re.search(r"https?:|url\(|@import|\bsrc=|<script|<link|<img|<iframe|\son\w+=", text)
    found = Page(text)
    policy = next(meta["content"] for meta in found.of("meta") if "http-equiv" in meta)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert {link["href"][0] for link in found.of("a")} == {"#"}
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [a["aria-labelledby"] for _, a in found.tags if "aria-labelledby" in a]
    assert {*named, *(link["href"][1:] for link in found.of("a"))} <= set(ids)
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_screen_reader_finds_its_way() -> None:
    found = Page(render_page(run(failing(), passing("other"))))
    assert found.of("html")[0]["lang"] == "en"
    assert [len(found.of(tag)) for tag in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    assert len(found.of("caption")) == len(found.of("table"))
    assert all(cell["scope"] in {"row", "col"} for cell in found.of("th"))
    scrolling = [box for box in found.of("div") if box.get("class") == "scroll"]
    assert all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-labelledby"] for box in scrolling)
    assert len(scrolling) == len(found.of("table"))


# foreign text


HOSTILE = "<script>alert(1)</script>"
NASTY = "\"quoted\" 'single' <b>bold</b> [link](javascript:1) `code` **x** {{ 7 * 7 }} {% raw %} &amp; \u202e\n## x"


def test_foreign_text_is_text() -> None:
    foreign = f"{HOSTILE}/{NASTY}"
    report = run(saying(foreign), passing(), not_checked=[HOSTILE], configured=3, complete=False)
    removed = [gone(NASTY, 1, NASTY, config=HOSTILE, problem=NASTY, reason=HOSTILE), gone(HOSTILE, failed=True)]
    report.base = compared(revision=foreign, commit=None, problem=foreign, removed=removed)
    report.versions[HOSTILE] = NASTY
    text = render_page(report)
    found = Page(text)
    assert not found.of("script")
    assert HOSTILE in found.text
    assert HOSTILE not in text
    assert "<b>bold" not in text
    assert "{{ 7 * 7 }}" in unescape(text)
    assert "\"quoted\" 'single' <b>bold</b>" in found.text
    assert "\u202e" not in text
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)


# how large it is


def test_of_too_much_of_everything_it_says_what_is_left_out() -> None:
    model = large()
    model.findings[0].message = "long " * 100_000
    text = render_page(run(model))
    assert len(text.encode()) < 200_000
    left_out = re.findall(r"([\d,]+) more (\w+) in the JSON report", Page(text).text)
    entries = {"components": len(model.components) - 60, "findings": len(model.findings) - 24}
    entries |= {"changes": 260, "rows": 17 * 1_000 - 100}  # of 300, and of 1,000 layers with 16 tensors each
    assert {(what, int(count.replace(",", ""))) for count, what in left_out} == {*entries.items()}


def test_the_total_and_a_component_that_failed_are_never_left_out() -> None:
    model = large(layers=1)
    for row in model.components:
        row.failed = row.name == "part49.piece199"
    text = words(model)
    assert "failed: piece199" in text
    assert "total V" in text
