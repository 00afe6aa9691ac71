"""The one line that every report begins with: numbers, per cent, the largest cause, the verdict; and when there is news."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.reports import ci, headline
from pytest_bertsize.reports.html.page import render_page as page
from pytest_bertsize.reports.markdown import render_page as markdown
from pytest_bertsize.reports.report import FindingRow, TensorChange
from pytest_bertsize.reports.sentences import show_percent, show_share
from tests.support.parsed_page import Page
from tests.support.run_reports import (
    LAYER,
    against,
    bert,
    change,
    compared,
    failing,
    finding,
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
    model = reported(bert(layers, 512, tied=True), name=name, **budget)
    changes = [change("num_hidden_layers", "12", str(layers), {"encoder": added})]
    return against(model, bert(12, 512, tied=True), changes=changes)


# one model


def retold(model: ModelReport, failure: str = "", **base: Any) -> str:
    """The line of a model that has changed, and of which the base may say something else."""
    if base and model.base:
        model.base = replace(model.base, **base)
    return headline.describe_model(model, failure)


MORE = "2 more findings"


@pytest.mark.parametrize(
    ("budget", "verdict"),
    [
        ({"total": "110M"}, "total 116,602,170, limit 110,000,000 (+6,602,170)"),
        ({"total": "120M"}, "within its 120M"),
        ({"total": "116M", "head": 1, "encoder": 1}, f"total 116,602,170, limit 116,000,000 (+602,170); {MORE}"),
        ({"total": {"min": "120M"}}, "total 116,602,170, limit 120,000,000 (-3,397,830)"),
        ({"total": {"exact": BASE + LAYER}}, "exactly its 116,602,170"),
        ({"total": {"min": "100M"}}, "above its 100M"),
        ({"total": {"min": "100M", "max": "120M"}}, "within its 100M-120M"),
        ({"head": "0.6M", "total": "120M"}, "head 622,650, limit 600,000 (+22,650)"),
        ({"head": "1M"}, "within its budget"),
        ({}, "compared with no limit"),
    ],
)
def test_the_verdict_is_against_the_budget_as_its_author_wrote_it(budget: dict[str, Any], verdict: str) -> None:
    assert grown(**budget).headline.partition("12 → 13; ")[2] == verdict


def over(component: str = "total", **more: Any) -> FindingRow:
    return replace(finding("over"), component=component, kind="over-budget", **more)


def test_a_limit_that_the_base_exceeded_already_is_named_although_the_model_passes() -> None:
    model = grown(total="110M")
    model.verdict, model.findings = "passed", [over("head", base=8, limit=6, severity="warning")]
    assert retold(model).endswith("12 → 13; over its limit of head, already 2 over at main")


WITHIN, OVER = (reported(bert(layers, 512, tied=True), total="110M") for layers in (12, 13))
"""Compared with no base."""


def unbuilt() -> ModelReport:
    model = grown(total="120M")
    model.built, model.totals.actual = False, None
    return replace(model, headline=retold(model))


TENSORS = [TensorChange(kind="new", name="l.12", count=1, said="")]
HEADS = [change("heads", "12", "8", {})]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (WITHIN.headline, "encoder: 109,514,298 parameters; within its 110M"),
        (OVER.headline, "encoder: total 116,602,170, limit 110,000,000 (+6,602,170)"),
        (passing().headline, "encoder: 109,514,298 parameters, as at main; within its 110.2M"),
        (new().headline, "fresh: 109,514,298 parameters, new; within its 120M"),
        (not_built().headline, "broken: BertForMaskedLM cannot be built: no room; try again"),
        (refused().headline, 'hostile: config.json:3: the key "auto_map" runs code; remove it'),
        (without_closed_form().headline, "; within its 120M, not compared with a closed form"),
        (retold(passing(), total=None), "encoder: 109,514,298 parameters, not compared with main; "),
        (unbuilt().headline, "12 → 13, by the closed form, not built; "),
        (failing().headline, ", tie_word_embeddings true → false and 3 more; head.decoder 23,502,708, closed form "),
        (retold(grown(total="120M"), changes=[]), "(+6.5%), encoder.feed_forward +4,722,432 and 2 more; "),
        (retold(grown(total="120M"), changes=[], tensors=TENSORS), "(+6.5%), new l.12; "),
        (retold(passing(), changes=HEADS), "parameters, as many as at main, heads 12 → 8; within its 110.2M"),
    ],
)
def test_a_line_says_what_is_known_which_cause_is_the_largest_and_what_is_not_known(line: str, said: str) -> None:
    assert said in line


def test_a_change_and_a_share_in_per_cent_are_never_rounded_to_nothing() -> None:
    changes = {LAYER: "+6.5%", -LAYER: "-6.5%", 1: "<0.1%", -1: "<0.1%", 3 * BASE: "+300.0%"}
    assert {change: show_percent(change, BASE) for change in changes} == changes
    shares = {23_837_184: "21.8%", BASE: "100%", 1: "<0.1%", 0: "0%", None: ""}
    assert {part: show_share(part, BASE) for part in shares} == shares
    assert show_share(1, 0) == ""


# several models


OVER_LIMIT = "total 123,690,042, limit 110,000,000 (+13,690,042)"


def test_of_several_that_failed_three_and_the_worst_are_named() -> None:
    deeper = [grown(layers=13 + more, total="110M") for more in (0, 1)]
    line = run(*(renamed(deeper[n % 2], f"model-{n}") for n in range(40))).headline
    assert line == f"40 of 40 models failed: model-0, model-1, model-2 and 37 more; worst: model-1, {OVER_LIMIT}"


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (grown(total="120M", head=1), "head 622,650, limit 1 (+622,649)"),
        (grown(total={"min": "120M"}), "total 116,602,170, limit 120,000,000 (-3,397,830)"),
        (refused(), "config-refused"),
        (not_built(), "build-failed"),
    ],
    ids=["component", "minimum", "refused", "not built"],
)
def test_what_fails_a_model_is_said_in_a_few_words(model: ModelReport, why: str) -> None:
    assert run(passing("a"), model).headline.endswith(f"; {why}")


def unread() -> ModelReport:
    return replace(renamed(refused(), "b"), base=passing().base)


def other_name() -> ModelReport:
    model = passing("b")
    return replace(model, headline=retold(model, former_name="a", said=["renamed: the table at main calls it a"]))


def loosened(component: str | None = None) -> ModelReport:
    model = passing()
    raised = finding("the limit was 110M", severity="note", kind="budget-loosened")
    model.findings = [replace(raised, component=component)]
    return replace(model, headline=retold(model))


def deeper(name: str, total: str) -> ModelReport:
    return grown(name, 13 if total == "110M" else 14, total=total)


LONG = "c: 109,514,298 → 123,690,042, +14,175,744 (+12.9%), num_hidden_layers 12 → 14; within its 130M"
OWN = "b: 109,514,298 → 116,602,170, +7,087,872 (+6.5%), num_hidden_layers 12 → 13; total 116,602,170, limit 110,000,000 (+6,602,170)"
OTHER = "b: 109,514,298 parameters, as at main, renamed: the table at main calls it a; within its 110.2M"
LOOSER = "encoder: 109,514,298 parameters, as at main; within its 110.2M; loosened here: its budget"
NOTHING = compared(problem="git has no such commit")
LEFT = compared(removed=[gone("old", failed=True), gone("older")])
UNCHECKED = "INCOMPLETE: 2 of 3 models were not checked"
TWO, ONE = "All 2 models passed", "none changed since main"
SAME = (passing("a"), passing("b"))


@pytest.mark.parametrize(
    ("report", "line", "news"),
    [
        (run(SAME[0], grown("b", total="120M"), deeper("c", "130M")), "All 3 models passed", f"2 changed; {LONG}"),
        (
            run(SAME[0], deeper("b", "110M")),
            f"1 of 2 models failed: b; {OWN.partition('13; ')[2]}",
            f"1 changed; {OWN}",
        ),
        (run(SAME[0], unread()), "1 of 2 models failed: b; config-refused", "1 unchanged since main"),
        (run(passing("c"), other_name()), TWO, f"1 changed; {OTHER}"),
        (run(SAME[0], loosened("total")), TWO, f"{ONE}; encoder: loosened here: total"),
        (run(loosened()), LOOSER, ""),
        (run(replace(WITHIN, name="a"), WITHIN), TWO, ""),
        (run(passing(), base=LEFT, failed=1), "1 model left the table without a reason: old", f"{ONE}; 1 removed"),
        (run(passing(), configured=3, not_checked=["b", "c"], complete=False), UNCHECKED, ONE),
        (run(configured=1, not_checked=["a"], complete=False), "INCOMPLETE: 1 of 1 models was not checked", ""),
        (run(passing(), complete=False), "INCOMPLETE: this run did not finish", ONE),
        (run(*SAME, mode="no-build"), TWO, f"{ONE}; by the closed form: nothing was built"),
        (run(SAME[0], without_closed_form()), TWO, f"{ONE}; 1 not compared with a closed form"),
        (run(SAME[0], new()), TWO, f"{ONE}; 1 new"),
        (run(SAME[0], new("b"), base=compared(not_compared=["b"])), TWO, f"{ONE}; 1 not compared with main"),
        (run(*SAME, base=NOTHING), TWO, "not compared with main"),
    ],
)
def test_the_first_line_is_the_verdict_and_the_second_what_changed_or_was_not_compared(
    report: RunReport, line: str, news: str
) -> None:
    assert (report.headline, report.news) == (line, news)


# when there is news


def noted(severity: str = "note") -> ModelReport:
    model = passing()
    model.findings = [finding("one more layer would pass", severity=severity, kind="insensitive-budget")]
    return model


@pytest.mark.parametrize(
    ("report", "has_news"),
    [
        (run(passing()), False),
        (run(*SAME), False),
        (run(noted()), False),
        (run(WITHIN), False),
        (run(grown(total="120M")), True),
        (run(passing("a"), failing()), True),
        (run(new()), True),
        (run(noted("warning")), True),
        (run(loosened()), True),
        (run(passing(), configured=2, not_checked=["b"], complete=False), True),
        (run(passing(), base=NOTHING), True),
        (run(passing(), base=compared(removed=[gone("old")])), True),
        (run(passing(), without_closed_form()), True),
        (run(refused()), True),
    ],
)
def test_anything_but_what_is_as_it_was_is_news(report: RunReport, *, has_news: bool) -> None:
    assert report.changed is has_news


# where it stands


def test_every_report_begins_with_the_same_line() -> None:
    report = run(grown(total="110M"))
    line = report.headline
    assert markdown(report).splitlines()[2] == f"## ❌ {line}"
    found = Page(page(report))
    tops = ["".join(each.split()) for tag, each in found.words if tag in {"title", "h1"}]  # "%" is on the number's line
    assert tops == ["".join(f"{line} (model size)".split()), "".join(line.split())]
    assert ci.list_commands(report, "")[0] == f"::notice title=bertsize::{line.replace('%', '%25')}"


def test_of_many_models_those_that_are_as_they_were_are_counted_and_not_shown() -> None:
    many = [renamed(SAME[0], f"m{n}") for n in range(38)]
    _, line, news, foot = markdown(run(*many)).strip().split("\n\n")
    assert (line, news) == ("## ✅ All 38 models passed", ONE)
    assert "38 configured, 38 checked, 0 failed; compared with main (bbbbbbbbbb); " in foot
    written = markdown(run(*many, grown("a", total="130M"), renamed(noted("warning"), "b")))
    assert "\n38 more models passed without a change.\n" in written
    assert [line.split()[2] for line in written.splitlines() if line.startswith("### ")] == ["a:", "b:"]
