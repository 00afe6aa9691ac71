"""The one line that every report begins with: numbers, per cent, the largest cause, the verdict; and when there is news."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.reports import ci, headline
from pytest_bertsize.reports.html.page import render_page as page
from pytest_bertsize.reports.markdown import render_page as markdown
from pytest_bertsize.reports.report import Change, FindingRow, TensorChange
from pytest_bertsize.reports.sentences import show_percent, show_share
from tests.support.model_reports import finding
from tests.support.parsed_page import Page
from tests.support.run_reports import (
    LAYER,
    against,
    bert,
    compared,
    failing,
    gone,
    new,
    not_built,
    passing,
    refused,
    renamed,
    reported,
    run,
    without_closed_form,
)

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunReport

BASE = 109_514_298
"""bert-base-uncased with its head for masked words: BertForMaskedLM of Devlin et al. 2018, table 1."""


def grown(name: str = "encoder", layers: int = 13, **budget: Any) -> ModelReport:
    """A layer deeper than at the base."""
    added = (layers - 12) * LAYER
    change = Change(key="num_hidden_layers", before="12", after=str(layers), total=added, components={"encoder": added})
    model = reported(bert(layers, 512, tied=True), name=name, **budget)
    return against(model, bert(12, 512, tied=True), changes=[change])


# one model


def test_it_says_the_change_in_numbers_and_per_cent_the_largest_cause_and_the_verdict() -> None:
    assert grown(total="110M").headline == (
        "encoder: 109,514,298 → 116,602,170, +7,087,872 (+6.5 %), num_hidden_layers 12 → 13; over its 110M"
    )
    assert grown(total="120M").headline.endswith("num_hidden_layers 12 → 13; within its 120M")


@pytest.mark.parametrize(
    ("budget", "verdict"),
    [
        ({"total": "110M"}, "over its 110M"),
        ({"total": {"max": "110M"}, "head": 1, "encoder": "90M"}, "over its 110M; 2 more findings"),
        ({"total": {"min": "120M"}}, "under its 120M"),
        ({"total": {"exact": BASE}}, "over its 109,514,298"),
        ({"total": {"exact": BASE + LAYER}}, "exactly its 116,602,170"),
        ({"total": {"min": "100M"}}, "above its 100M"),
        ({"total": {"min": "100M", "max": "120M"}}, "within its 100M-120M"),
        ({"head": "0.6M", "total": "120M"}, "head 622,650, limit 600,000 (+22,650)"),
        ({"head": "1M"}, "within its budget"),
        ({}, "held to no limit"),
    ],
)
def test_the_verdict_is_against_the_budget_as_its_author_wrote_it(budget: dict[str, Any], verdict: str) -> None:
    assert grown(**budget).headline.partition("12 → 13; ")[2] == verdict


@pytest.mark.parametrize(
    ("component", "budget", "verdict"),
    [
        ("total", {"total": "110M"}, "over its 110M, already 2 over at main"),
        ("total", {"total": {"exact": BASE}}, "over its 109,514,298, already 2 over at main"),
        ("head", {"total": "120M", "head": "0.6M"}, "over its limit of head, already 2 over at main"),
    ],
)
def test_a_limit_that_the_base_broke_and_that_is_let_pass_is_not_held(
    component: str, budget: dict[str, Any], verdict: str
) -> None:
    model = grown(**budget)
    model.verdict, model.findings = "passed", [over(component, base=8, limit=6, severity="warning")]
    assert headline.describe_model(model, "", "").endswith(f"; {verdict}")


def test_a_limit_that_the_base_had_broken_is_said_to_be_where_it_fails() -> None:
    model = grown(total="109M")
    model.findings = [over(limit=109_000_000, base=BASE)]
    assert headline.describe_model(model, "", "").endswith("; over its 109M, already 514,298 over at main")


def over(component: str = "total", **more: Any) -> FindingRow:
    return replace(finding("over"), component=component, kind="over-budget", **more)


def test_what_kept_a_model_from_being_checked_is_told_before_a_limit() -> None:
    model = grown(total="110M")
    model.findings.insert(0, finding("V is none", kind="config-invalid"))
    assert headline.describe_model(model, "", "V is none; 1 more finding").endswith("; V is none; 1 more finding")


WITHIN, OVER = (reported(bert(layers, 512, tied=True), total="110M") for layers in (12, 13))
"""Compared with no base."""


def unbuilt() -> ModelReport:
    model = grown(total="120M")
    model.built, model.totals.actual = False, None
    return replace(model, headline=headline.describe_model(model, "", ""))


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (WITHIN, "encoder: 109,514,298 parameters; within its 110M"),
        (OVER, "encoder: total 116,602,170, limit 110,000,000 (+6,602,170)"),
        (passing(), "encoder: 109,514,298 parameters, as at main; within its 110.2M"),
        (new(), "fresh: 109,514,298 parameters, new; within its 120M"),
        (not_built(), "broken: BertForMaskedLM cannot be built: no room; try again"),
        (refused(), 'hostile: config.json:3: the key "auto_map" runs code; remove it'),
        (without_closed_form(), "own: 109,514,298 parameters; within its 120M, not compared with a closed form"),
    ],
)
def test_a_line_says_what_is_known_and_what_is_not(model: ModelReport, line: str) -> None:
    assert model.headline == line


def test_what_the_base_cannot_count_and_what_was_not_built_says_so() -> None:
    model = passing()
    assert model.base
    model.base.total = None
    lost = headline.describe_model(model, "", "")
    assert lost.startswith("encoder: 109,514,298 parameters, not compared with main; ")
    assert "12 → 13, by the closed form, not built; " in unbuilt().headline


def test_of_several_keys_the_one_that_moved_most_is_named_and_the_others_are_counted() -> None:
    assert ", tie_word_embeddings true → false and 3 more; over its 110M; " in failing().headline


def test_where_no_key_says_it_the_tensors_do_and_else_the_components() -> None:
    model = grown(total="120M")
    assert model.base
    model.base.changes = []
    assert "(+6.5 %), encoder.feed_forward +4,722,432 and 2 more; " in headline.describe_model(model, "", "")
    model.base.tensors = [TensorChange(kind="new", name="bert.encoder.layer.12", count=LAYER, said="it is new")]
    assert "(+6.5 %), new bert.encoder.layer.12; " in headline.describe_model(model, "", "")


def test_a_key_that_moved_nothing_is_named_all_the_same() -> None:
    model = passing()
    assert model.base
    model.base.changes = [Change(key="num_attention_heads", before="12", after="8", total=0, components={})]
    assert headline.describe_model(model, "", "") == (
        "encoder: 109,514,298 parameters, as many as at main, num_attention_heads 12 → 8; within its 110.2M"
    )


@pytest.mark.parametrize(
    ("change", "before", "said"),
    [(LAYER, BASE, "+6.5 %"), (-LAYER, BASE, "-6.5 %"), (1, BASE, "<0.1 %"), (-1, BASE, "<0.1 %"), (9, 3, "+300.0 %")],
)
def test_a_change_in_per_cent_is_never_rounded_to_nothing(change: int, before: int, said: str) -> None:
    assert show_percent(change, before) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(23_837_184, BASE, "21.8%"), (BASE, BASE, "100%"), (1, BASE, "<0.1%"), (0, BASE, "0%"), (None, 1, ""), (1, 0, "")],
)
def test_a_share_of_the_total(part: int | None, whole: int, said: str) -> None:
    assert show_share(part, whole) == said


# several models


def test_of_several_it_says_how_many_changed_the_net_and_the_largest() -> None:
    report = run(passing("a"), grown("b", total="120M"), grown("c", 14, total="130M"))
    assert report.headline == (
        "All 3 models passed; 2 changed, net +21,263,616 (+6.5 %); "
        "c: 109,514,298 → 123,690,042, +14,175,744 (+12.9 %), num_hidden_layers 12 → 14; within its 130M"
    )


def test_failures_come_first_and_who_changed_more_is_named_behind_them() -> None:
    report = run(grown("a", 14, total="130M"), grown("b", total="110M"))
    assert report.headline == (
        "1 of 2 models failed; 2 changed, net +21,263,616 (+9.7 %); "
        "b: 109,514,298 → 116,602,170, +7,087,872 (+6.5 %), num_hidden_layers 12 → 13; over its 110M; "
        "the most changed is a, +14,175,744"
    )


def test_of_one_that_changed_its_own_line_says_the_net() -> None:
    assert run(passing("a"), grown("b", total="110M")).headline == (
        "1 of 2 models failed; 1 changed; "
        "b: 109,514,298 → 116,602,170, +7,087,872 (+6.5 %), num_hidden_layers 12 → 13; over its 110M"
    )


def test_a_model_that_was_not_counted_is_not_said_to_be_as_it_was() -> None:
    unread = renamed(refused(), "b")
    unread.base = passing().base
    report = run(passing("a"), unread)
    assert unread.is_unchanged is False
    assert report.headline.startswith("1 of 2 models failed; 1 as at main; b: ")


def test_that_nothing_was_built_is_said_once() -> None:
    said = run(passing("a"), renamed(unbuilt(), "b"), mode="no-build").headline
    assert said.endswith("12 → 13, by the closed form, not built; within its 120M")
    assert "nothing was built" not in said


def test_a_renamed_model_is_named_and_says_what_it_was_called() -> None:
    model = passing("b")
    assert model.base
    model.base.former_name, model.base.said = "a", ["renamed: the table at main calls it a"]
    model.headline = headline.describe_model(model, "", "")
    assert run(passing("c"), model).headline == (
        "All 2 models passed; 1 changed; "
        "b: 109,514,298 parameters, as at main, renamed: the table at main calls it a; within its 110.2M"
    )


def test_a_limit_that_was_raised_for_a_reason_is_told_although_all_passed() -> None:
    model = loosened()
    model.findings[0].component = "total"
    model.headline = headline.describe_model(model, "", "")
    assert run(passing("a"), model).headline == (
        "All 2 models passed; none changed against main; "
        "encoder: 109,514,298 parameters, as at main; within its 110.2M; loosened here: total"
    )
    model.findings[0].component = None
    assert headline.describe_model(model, "", "").endswith("; its budget is loosened here")


def test_without_a_base_it_is_the_sum_and_the_verdict() -> None:
    models = [reported(bert(12, 512, tied=True), name=name, total="110M") for name in ("a", "b")]
    assert run(*models).headline == "All 2 models passed; 219,028,596 parameters"


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (
            run(passing(), configured=3, not_checked=["b", "c"], complete=False),
            "INCOMPLETE: 2 of 3 models were not checked; none changed against main",
        ),
        (run(configured=1, checked=0, not_checked=["a"], complete=False), "INCOMPLETE: 1 of 1 models was not checked"),
        (run(passing(), complete=False), "INCOMPLETE: this run did not finish; none changed against main"),
        (run(passing("a"), passing("b"), mode="no-build"), "by the closed form: nothing was built"),
        (run(passing("a"), without_closed_form()), "1 not compared with a closed form"),
        (run(passing("a"), new()), "none changed against main; 1 new"),
        (run(failing(), passing("b"), failed=2), "2 of 2 models failed"),
    ],
)
def test_what_is_no_pass_is_said_in_the_line(report: RunReport, said: str) -> None:
    assert said in report.headline
    assert report.complete or "passed" not in report.headline


def test_what_was_not_compared_and_what_left_is_said_in_the_line() -> None:
    assert run(passing(), base=compared(problem="git has no such commit")).headline.endswith("; not compared with main")
    assert "; 1 not compared with main" in run(passing("a"), new("b"), base=compared(not_compared=["b"])).headline
    left = compared(removed=[gone("old", failed=True), gone("older")])
    assert run(passing(), base=left, failed=1).headline == (
        "1 model left the table without a reason: old; none changed against main; 1 removed"
    )


# when there is news


def warned(name: str = "encoder") -> ModelReport:
    model = passing(name)
    model.findings = [finding("pruned_heads changes nothing here", severity="warning")]
    return model


def loosened() -> ModelReport:
    model = passing()
    model.findings = [finding("the limit was 110M", severity="note", kind="budget-loosened")]
    return model


def noted() -> ModelReport:
    model = passing()
    model.findings = [finding("one more layer would pass", severity="note", kind="insensitive-budget")]
    return model


@pytest.mark.parametrize("report", [run(passing()), run(passing("a"), passing("b")), run(noted()), run(WITHIN)])
def test_all_as_it_was_is_no_news(report: RunReport) -> None:
    assert report.changed is False


@pytest.mark.parametrize(
    "report",
    [
        run(grown(total="120M")),
        run(passing("a"), failing()),
        run(new()),
        run(warned()),
        run(loosened()),
        run(passing(), configured=2, not_checked=["b"], complete=False),
        run(passing(), base=compared(problem="git has no such commit")),
        run(passing(), base=compared(removed=[gone("old")])),
        run(passing(), without_closed_form()),
        run(refused()),
    ],
    ids=["changed", "failed", "new", "warned", "loosened", "incomplete", "no base", "removed", "not compared", "alone"],
)
def test_anything_else_is(report: RunReport) -> None:
    assert report.changed is True


# where it stands


def test_every_report_begins_with_the_same_line() -> None:
    report = run(grown(total="110M"))
    line = report.headline
    assert markdown(report).splitlines()[2] == f"## ✗ {line}"
    found = Page(page(report))
    tops = ["".join(each.split()) for tag, each in found.words if tag in {"title", "h1"}]  # "%" is on the number's line
    assert tops == ["".join(f"{line} (model size)".split()), "".join(line.split())]
    assert ci.list_commands(report, "")[0] == f"::notice title=bertsize::{line.replace('%', '%25')}"


def test_forty_unchanged_models_are_one_line_of_markdown() -> None:
    written = markdown(run(*(passing(f"m{n}") for n in range(40))))
    mark, line, foot = written.strip().split("\n\n")
    assert line == "## ✓ All 40 models passed; none changed against main"
    assert (mark, foot[:5], len(written.encode()) < 400) == ("<!-- pytest-bertsize report -->", "<sub>", True)
    assert "40 configured, 40 checked, 0 failed. Compared with `main` (`bbbbbbbbbbbb`)" in foot


def test_of_many_models_those_that_are_as_they_were_are_counted_and_not_shown() -> None:
    written = markdown(run(*(passing(f"m{n}") for n in range(38)), grown("a", total="130M"), warned("b")))
    assert "\n38 models more passed, and nothing of them changed.\n" in written
    assert [line.split()[2] for line in written.splitlines() if line.startswith("### ")] == ["a", "b:"]
