"""The lines at the end of a run: what is said after the models, in which order and colour, and when it is not said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pytest_bertsize.config.which_release import AskedAbout
from pytest_bertsize.release import NEWEST
from pytest_bertsize.reports.drawing import Style
from pytest_bertsize.reports.files import ReportFiles
from pytest_bertsize.reports.outcome import Line, Outcome, name_unchecked, summarize_run
from pytest_bertsize.reports.report import Measure
from pytest_bertsize.reports.sentences import describe_run
from pytest_bertsize.table.limits import NAMED
from tests.support.ledger_alone import VERSIONS, declared, found, warning
from tests.support.run_reports import blank, compared, finding, gone, passing, run

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunBase

COUNT = Line("1 configured, 1 checked, 0 failed")
NONE_CHECKED = Line("1 configured, 0 checked, 0 failed")
COUNT_OF_FAILED = Line("1 configured, 1 checked, 1 failed")
OVER = Line("-v shows every component, what would fit, and what the next change costs")
HEADLINE_OF_FAILED = Line("encoder: total 1,090, limit 1,000")
HEADLINE = Line("encoder: total 1,090, limit 2,000")
"""As ``found`` has it."""
ACCEPT = Line('→ to accept these counts: bertsize accept --project project --reason "…"')


def outcome(*models: ModelReport, base: RunBase | None = None, excuse: str = "", builds: bool = True) -> Outcome:
    asked = AskedAbout(NEWEST, "5.23", "as the table says: none is installed")
    files = ReportFiles((), declared("encoder"), base, builds=builds, asked=asked)
    return Outcome(models, VERSIONS, files, excuse)


def lines(of: Outcome, verbosity: int = 0, *, accepting: bool = False) -> list[Line]:
    """Return all lines but the overview, which there is where a model has not failed."""
    told = [*summarize_run(of, Style(80, verbosity=verbosity), accepting=accepting)]
    is_first = verbosity > 0 or (verbosity == 0 and any(each.verdict != "failed" for each in of.checked))
    return told[1:] if is_first else told


LEFT = compared(removed=[gone("old", failed=True)])
"""A model left with a limit, and without a word."""


def over_budget() -> ModelReport:
    return found("encoder", "failed", finding("encoder: total 1,090 exceeds the budget of 1,000"))


NOT_COMPARED = HEADLINE._replace(text=f"{HEADLINE.text}; not compared with main")
NO_BASE = "! not compared with main: there is no such revision"
UNTOLD = "against main (bbbbbbbbbb): no count changed"


UNCOMPARED = [Line(UNTOLD), Line("! not compared with main: encoder"), COUNT, HEADLINE]
GONE = Line("- removed: main declares old (old.json); its reason: ADR-14")
WITH_REASON = compared(removed=[gone("old", reason="ADR-14")])
PROBLEM = compared(problem="there is no such revision")


@pytest.mark.parametrize(
    ("of", "told", "status"),
    [
        (outcome(found("encoder")), [COUNT], 0),
        (outcome(), [NONE_CHECKED, Line("NOT CHECKED: encoder", "red")], 1),
        (outcome(excuse="listed"), [NONE_CHECKED, Line("NOT CHECKED: encoder: listed", "yellow")], 0),
        (outcome(over_budget(), excuse="listed"), [ACCEPT, OVER, COUNT_OF_FAILED, HEADLINE_OF_FAILED], 1),
        (outcome(found("encoder"), base=compared()), [Line(UNTOLD), COUNT, HEADLINE], 0),
        (outcome(found("encoder"), base=PROBLEM), [Line(NO_BASE), COUNT, NOT_COMPARED], 0),
        (outcome(found("encoder"), base=compared(not_compared=["encoder"])), UNCOMPARED, 0),
        (outcome(found("encoder"), base=WITH_REASON), [GONE, COUNT, HEADLINE], 0),
    ],
    ids=["nothing", "not checked", "excuse", "failed", "as it was", "no base", "not compared", "left with a word"],
)
def test_a_run_says_what_was_not_checked_or_compared_and_who_left_and_counts_its_models(
    of: Outcome, told: list[Line], status: int
) -> None:
    assert [*lines(of), *name_unchecked(of)] == told
    assert of.status == status


def test_a_model_that_left_without_a_word_is_red_and_fails_the_run() -> None:
    left = outcome(found("encoder"), base=LEFT)
    first, last, headline = lines(left)
    assert first.colour == "red"
    assert first.text.endswith(
        'if you meant to remove it, give the reason in the same change: [tool.bertsize.removed] old = "…"'
    )
    assert last == Line("1 configured, 1 checked, 0 failed, 1 removed without a reason")
    assert headline == Line("1 model left the table without a reason: old")
    assert (left.report.failed, left.status) == (1, 1)
    unbuilt = outcome(found("encoder"), base=LEFT, builds=False)
    assert lines(unbuilt)[-1].text.endswith("\nby the closed form: nothing was built")


def test_the_way_to_accept_names_the_folder_that_the_command_would_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = finding("encoder: total 1,090 exceeds the budget of 1,000")
    settings = declared("encoder", root=tmp_path / "a b")
    told = outcome(found("encoder", "failed", over))
    told = replace(told, reports=replace(told.reports, settings=settings))
    for folder, project in ("a b", ""), ("a b/deep", ""), (".", " --project 'a b'"), ("c", " --project '../a b'"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        assert Line(f'→ to accept these counts: bertsize accept{project} --reason "…"') in lines(told)


# the way to accept


def test_where_budgets_alone_are_broken_and_somebody_looks_there_is_the_command_that_raises_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ACCEPT in lines(outcome(over_budget()))
    assert ACCEPT not in lines(outcome(over_budget()), accepting=True)  # it raises them itself
    off = replace(finding("encoder: off"), kind="off-closed-form")
    assert ACCEPT not in lines(outcome(found("encoder", "failed", off)))
    service = replace(finding("encoder: 400 MB"), component="bytes", limit=NAMED["github-file"])
    of_service, of_project = (
        [blank(Measure, name="bytes", limit=written)] for written in ("github-file", f"{NAMED['github-file']}")
    )
    over_service = found("encoder", "failed", service)
    assert ACCEPT not in lines(outcome(replace(over_service, measures=of_service)))
    assert ACCEPT in lines(outcome(replace(over_service, measures=of_project)))  # of the same number
    both = found("encoder", "failed", service, finding("encoder: total"))
    assert ACCEPT in lines(outcome(replace(both, measures=of_service)))
    monkeypatch.setenv("CI", "true")
    assert ACCEPT not in lines(outcome(over_budget()))


# the release


def test_a_release_that_is_assumed_is_said_where_nothing_is_built() -> None:
    said = Line("closed forms are those of transformers 5.23 (as the table says: none is installed)")
    unbuilt = outcome(found("encoder"), builds=False)
    assert said in lines(unbuilt)
    assert said not in lines(unbuilt, verbosity=-1)
    assert said not in lines(outcome(found("encoder")))
    installed = replace(unbuilt.reports, asked=AskedAbout(NEWEST, "5.23.0"))
    assert not any("closed forms are" in line.text for line in lines(replace(unbuilt, reports=installed)))


# builds of earlier runs


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ((None, 1), "; 1 built before, 1 second ago"),
        ((59, 3), "; built before, 59 seconds ago"),
        ((60,), "; built before, 1 minute ago"),
        ((7_199,), "; built before, 1 hour ago"),
        ((200_000,), "; built before, 2 days ago"),
        ((None,), ""),
    ],
)
def test_what_was_built_before_is_counted_with_its_age(ages: tuple[int | None, ...], said: str) -> None:
    report = run(*(replace(passing(), seconds_ago=age) for age in ages))
    assert describe_run(report).partition("0 failed")[2] == said


# what passed


def test_what_became_of_it_since_the_base_is_told_where_its_table_is_not() -> None:
    model = passing()
    assert model.base
    model.base.said = ["its config was renamed"]
    of = outcome(model)
    told = Line("→ encoder against main (bbbbbbbbbb): no count changed\n    its config was renamed")
    assert lines(of)[0] == told
    assert told not in lines(of, verbosity=1)


def test_its_table_is_told_where_it_is_asked_for_and_there_is_one() -> None:
    of = outcome(found("encoder"))
    first, *rest = lines(of, verbosity=1)
    assert "total" in first.text
    assert rest == lines(of)
    told = [*summarize_run(outcome(over_budget()), Style(80, verbosity=1), accepting=False)]
    assert "✗  encoder" in told[0].text
    uncounted = replace(found("encoder"), verdict="uncounted", components=[])
    assert lines(outcome(uncounted), verbosity=1) == lines(outcome(uncounted))


def test_warnings_of_what_passed_are_told_in_no_colour() -> None:
    told = lines(outcome(found("encoder", "passed", warning("the key x is ignored"))))
    assert told[0].colour == ""
    assert told[0].text.startswith("! encoder: the key x is ignored (config.json:4)")


# what stood in


def stood_in(name: str, *messages: str) -> ModelReport:
    return found(name, "passed", *(finding(each, severity="note", kind="stood-in") for each in messages))


def test_what_stood_in_is_said_once_for_all_models_unless_the_run_is_to_be_quiet() -> None:
    several = outcome(stood_in("encoder", "no wandb", "no apex"), found("b"), stood_in("c", "no wandb"))
    told = [line for line in lines(several) if "no " in line.text]
    assert told == [Line("- encoder, c: no wandb\n- encoder: no apex")]
    assert "".join(line.text for line in lines(several, verbosity=1)).count("no wandb") == 1
    assert not [line for line in lines(several, verbosity=-1) if "no wandb" in line.text]


def test_of_very_many_it_is_said_how_many_more_there_are() -> None:
    several = outcome(stood_in("encoder", *(f"no {each}" for each in range(42))))
    (said,) = (line.text for line in lines(several) if "no 0" in line.text)
    assert said.splitlines()[39:] == ["- encoder: no 39", "- 2 more stand-ins in the JSON report"]
