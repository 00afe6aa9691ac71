"""What the page of a run says, and what it makes of what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports import headline
from pytest_bertsize.reports.html.page import render
from tests.support import run_reports
from tests.support.parsed_page import Page, words
from tests.support.run_reports import (
    BASE_COMMIT,
    bert,
    failing,
    gone,
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
    from pytest_bertsize.reports.shape import RunBase

NONE = "\N{EN DASH}"


# what it says


def test_a_model_over_its_budget() -> None:
    text = words(failing())
    assert text.count("encoder: 109,514,298 → 147,555,444, +38,041,146 (+34.7 %), ") == 1
    assert text.count("; over its 110M; 3 more findings") == 1
    assert (
        "encoder: BertForMaskedLM from models/encoder/config.json, main (bbbbbbbbbb) → this branch (aaaaaaaaaa)" in text
    )
    assert "Parameters 147,555,444 +38,041,146 against main (+34.7 %)" in text
    assert "Budget 110M 37,555,444 over" in text
    assert "Weights in fp32 590 MB 295 MB in bf16" in text
    assert "Formula check +768 actual against closed form" in text


def test_findings_have_their_severity_in_words_their_place_and_their_way_out() -> None:
    text = words(failing())
    assert (
        "Error total is 147,555,444, 37,555,444 over its limit of 110M (pyproject.toml:11) → its closed form comes first"
        in text
    )
    assert "Warning pruned_heads changes nothing here (config.json:4)" in text
    assert "Note max_position_embeddings is missing, 1,024 is taken" in text


def test_what_changed_and_what_each_key_cost() -> None:
    text = words(failing())
    assert "num_hidden_layers 12 → 14 encoder.feed_forward +9,444,864" in text
    assert f"{run_reports.GROWN['encoder']:+,}" in text
    assert "in the code, not in the config" in text
    assert "How this is known: by 3 builds of today's code." in text


def test_what_would_fit_and_what_the_next_change_would_cost() -> None:
    text = words(failing())
    assert "What would fit num_hidden_layers 14 → 8: 105,027,444" in text
    assert "one more layer num_hidden_layers 14 → 15 +7,087,872" in text


def test_a_layer_unfolds_into_its_tensors() -> None:
    text = words(failing())
    assert "bert.encoder.layer.12-13 ×2 absent → 7,087,872 each" in text
    assert "attention.part0.weight absent 768 × 768 768 × 768" in text


def test_a_model_within_its_budget_that_did_not_change() -> None:
    text = words(passing())
    assert "109,514,298 parameters, as at main; within its 110.2M" in text
    assert "Nothing changed against main: no config key, no count." in text
    assert "as many as at main" in text
    assert "What changed" not in text


def test_a_model_that_did_not_change_has_one_bar() -> None:
    shown = Page(render(run(passing("a"), renamed(failing(), "b")))).of("div")
    bars = [box["aria-label"].partition(":")[0] for box in shown if box.get("role") == "img"]
    assert bars == ["main", "this branch", "this branch"]


def test_of_a_model_that_was_not_counted_nobody_says_that_it_is_as_it_was() -> None:
    model = refused()
    model["base"] = passing()["base"]
    assert "Nothing changed" not in words(model)


def test_the_heading_of_a_model_whose_line_is_the_title_is_its_name() -> None:
    written = render(run(passing("good"), renamed(failing(), "bad")))
    assert 'class="name">bad</span></h2>' in written
    assert 'class="name">good:</span> 109,514,298 parameters, as at main; within its 110.2M</h2>' in written


def test_a_key_that_changed_and_cost_nothing_is_a_change() -> None:
    model = passing()
    assert model["base"]
    model["base"]["changes"] = [{"key": "num_labels", "before": "2", "after": "3", "total": 0, "components": {}}]
    text = words(model)
    assert "Nothing changed" not in text
    assert "num_labels 2 → 3 =" in text


def test_the_symbols_have_their_values() -> None:
    assert "V = 30,522 D = 768 L = 12" in words(passing())


def test_a_component_over_its_budget_is_the_headline_where_the_total_holds() -> None:
    model = reported(bert(12, 512, tied=True), total="120M", head="0.5M")
    assert "encoder: head 622,650, limit 500,000 (+122,650)" in words(model)


def test_a_model_under_its_minimum_is_not_called_over() -> None:
    text = words(reported(bert(12, 512, tied=True), total={"min": "110M"}))
    assert "total 109,514,298, limit 110,000,000 (-485,702)" in text
    assert "485,702 under its minimum" in text
    assert "over budget" not in text


def test_a_minimum_that_holds_leaves_nothing_left() -> None:
    text = words(reported(bert(12, 512, tied=True), total={"min": "100M"}))
    assert "9,514,298 above its minimum" in text
    assert "dashed" not in text


def test_a_model_that_is_another_one_of_the_same_size_is_off_its_closed_form() -> None:
    form = bert(12, 512, tied=True)
    tensors = [t for t in form.inventory.tensors if t.name != "bert.embeddings.LayerNorm.bias"]
    actual = Inventory((*tensors, Tensor("bert.embeddings.LayerNorm.other", (768,), "embeddings.norm")))
    text = words(reported(form, actual, total="120M"))
    assert "encoder: embeddings.norm" in text
    assert "Formula check differs the same count of other tensors" in text


def test_a_budget_by_component() -> None:
    text = words(reported(bert(12, 512, tied=True), embeddings="24M"))
    assert "Budget by component 1 component has a limit, the total none" in text
    assert "dashed" not in text


def test_a_budget_far_away_leaves_the_bars_to_be_seen() -> None:
    text = words(reported(bert(12, 512, tied=True), total="10B"))
    assert "The budget of 10,000,000,000 is far beyond the right edge." in text


# what is missing


def test_a_model_held_to_no_budget() -> None:
    text = words(reported(bert(12, 512, tied=True)))
    assert "109,514,298 parameters; held to no limit" in text
    assert "Budget none report-only: held to no limit" in text
    assert "Left" not in text


def test_without_a_base_no_base_is_spoken_of() -> None:
    text = words(reported(bert(12, 512, tied=True), total="120M"))
    assert "Change" not in text
    assert "Hatched" not in text
    assert "Nothing changed" not in text
    assert "from models/encoder/config.json, commit aaaaaaaaaa" in text


def test_without_a_commit_none_is_named() -> None:
    assert "commit" not in words(plain(passing()), commit=None)
    assert "main (bbbbbbbbbb) → this branch Nothing" in words(passing(), commit=None)


def test_what_is_not_committed_has_no_commit() -> None:
    text = words(passing(), commit=BASE_COMMIT)
    assert "main (bbbbbbbbbb) → the work tree Nothing" in text
    assert f"; work tree on commit {BASE_COMMIT};" in text


def test_a_model_that_code_alone_makes_is_from_no_file() -> None:
    model = plain(passing())
    model["config"] = ""
    assert "encoder: BertForMaskedLM, commit aaaaaaaaaa" in words(model)


def test_a_new_model() -> None:
    text = words(new())
    assert "new: main declares no model fresh" in text
    assert "not at main (bbbbbbbbbb) → this branch" in text
    assert "no count at main" in text
    assert "Hatched" not in text
    assert "Nothing changed" not in text


def test_a_model_that_was_not_built() -> None:
    text = words(not_built())
    assert "broken: BertForMaskedLM cannot be built: no room; try again" in text
    assert "109,514,298 by the closed form, not built" in text
    assert "Error BertForMaskedLM cannot be built: no room → try again" in text


def test_components_that_only_the_closed_form_counts_are_said_to_be_so() -> None:
    model = passing()
    model["built"], model["totals"]["actual"] = False, None
    for row in model["components"]:
        row["actual"] = None
    model["headline"] = headline.of_model(model, "")
    text = words(model)
    assert "Counts are the closed form's: it was not built." in text
    assert "Closed form's count" in text
    assert "as at main, by the closed form, not built; within" in text


def test_a_config_that_was_refused() -> None:
    text = words(refused())
    assert 'hostile: config.json:3: the key "auto_map" runs code; remove it' in text
    assert 'Error the key "auto_map" runs code (config.json:3) → remove it' in text
    assert "Parameters" not in text


def test_a_model_without_a_closed_form() -> None:
    text = words(without_closed_form())
    assert "Formula check not compared held to its budget alone: closed_form = false" in text
    assert "Off formula" not in text
    assert "Closed form" not in text


def test_a_base_that_could_not_be_read() -> None:
    base: RunBase = {
        "revision": "origin/main",
        "commit": None,
        "problem": "git has no such commit: fetch it",
        "removed": [],
        "not_compared": [],
    }
    assert "Not compared with origin/main git has no such commit: fetch it" in words(plain(passing()), base=base)


def test_models_that_are_no_longer_declared() -> None:
    removed = [gone("old", 5000, "6K"), gone("older")]
    base = {"revision": "main", "commit": "b" * 40, "problem": "", "removed": removed, "not_compared": []}
    text = words(passing(), base=base)
    assert "old old.json 5,000 6K" in text
    assert f"older older.json {NONE} {NONE}" in text


# several models


def test_a_page_of_several_models_begins_with_a_list_of_links() -> None:
    found = Page(render(run(passing("good"), renamed(failing(), "bad"))))
    assert "1 of 2 models failed" in found.text
    assert "✗ failed bad 109,514,298 → 147,555,444, +38,041,146 (+34.7 %), " in found.text
    assert "; over its 110M; 3 more findings ✓ passed good 109,514,298 parameters, as at main; within its" in found.text
    assert [link["href"] for link in found.of("a")] == ["#report", "#model-1", "#model-2"]


def test_a_page_of_one_model_has_no_list() -> None:
    assert not Page(render(run(failing()))).of("nav")


def test_a_model_as_it_was_is_a_line_one_that_passed_is_folded_and_one_that_failed_is_open() -> None:
    new: Any = {**passing("new"), "base": None}
    found = Page(render(run(passing("good"), new, renamed(failing(), "bad"))))
    folded = [said for tag, said in found.words if tag == "summary" and " and c" in said]
    assert folded == ["Parameters, budget and components of good", "Components and costs of new"]


def test_nothing_changed_is_said_once_for_all() -> None:
    assert words(passing("a"), passing("b")).count("All 2 models passed; none changed against main") == 1
    assert "with main (bbbbbbbbbb) Nothing changed against main" in words(passing("a"), passing("b"))
    assert "with main (bbbbbbbbbb) Nothing changed" not in words(passing("a"), renamed(failing(), "b"))


# what is not whole


def test_an_incomplete_report_says_so_first() -> None:
    found = Page(render(run(passing(), configured=3, not_checked=["left", "out"], complete=False)))
    top = next(words for tag, words in found.words if tag == "h1")
    assert top == "INCOMPLETE: 2 of 3 models were not checked; none changed against main"
    assert "so it is not a pass. Not checked: left, out." in found.text
    assert found.of("h1")[0]["class"] == "bad"


def test_a_run_that_died_is_incomplete_without_any_model() -> None:
    text = words(configured=1, checked=0, not_checked=["a"], complete=False)
    assert "INCOMPLETE: 1 of 1 models was not checked" in text


def test_a_run_that_did_not_finish_is_incomplete_even_where_every_model_is_there() -> None:
    assert "INCOMPLETE: this run did not finish" in words(passing(), complete=False)
