"""Sentences that all views share: against the base, what would fit, what comes next, who left."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.reports.report import Choices, Cost, Fit
from pytest_bertsize.reports.sentences import (
    compare_with_base,
    describe_change,
    describe_choices,
    describe_table,
    list_problems,
    name_revision,
)
from tests.support.run_reports import change, compared, free_key, gone, passing

COMMIT = "1a2b3c4d5e" + "6" * 30
TOTAL = 109_514_298


def head(count: int | None = TOTAL, **more: Any) -> str:
    """The first sentence of a changed model that has so many parameters now."""
    model = passing()
    assert model.base
    model.totals.actual, model.base = (
        count,
        replace(model.base, **{"revision": "origin/main", "commit": COMMIT, "said": ["new"], **more}),
    )
    return compare_with_base(model)[0]


@pytest.mark.parametrize(
    ("grown", "shrunk", "said"),
    [
        (7_087_872, 0, "109,514,298 → 116,602,170 (+7,087,872)"),
        (0, 298, "109,514,298 → 109,514,000 (-298)"),
        (1_000, 400, "109,514,298 → 109,514,898 (+600; 1,000 added, 400 removed)"),
        (1_000, 1_000, "109,514,298 → 109,514,298 (0; 1,000 added, 1,000 removed)"),
        (0, 0, "no count changed"),
    ],
)
def test_both_totals_their_difference_and_what_came_and_went(grown: int, shrunk: int, said: str) -> None:
    found = head(TOTAL + grown - shrunk, grown=grown, shrunk=shrunk)
    assert found == f"against origin/main (1a2b3c4d5e): {said}"


def test_without_a_count_on_one_side_only_the_base_is_named() -> None:
    assert head(total=None) == head(None) == "against origin/main (1a2b3c4d5e)"
    model = passing()
    assert compare_with_base(model) == []  # unchanged
    model.totals.actual = None
    assert compare_with_base(model) == []  # not compared, and no more is known


@pytest.mark.parametrize(
    ("revision", "commit", "name"),
    [
        ("main", COMMIT, "main (1a2b3c4d5e)"),
        (COMMIT, COMMIT, "1a2b3c4d5e"),
        ("1a2b3c4", COMMIT, "1a2b3c4"),
        ("origin/a-long-branch", None, "origin/a-long-branch"),
    ],
)
def test_a_commit_is_named_once_and_briefly(revision: str, commit: str | None, name: str) -> None:
    assert name_revision(revision, commit) == name


LAYERS = {"encoder": 7, "encoder.attention": 2, "encoder.norm": 1, "encoder.feed_forward": 4}
MANY = {"a": 1, "b": -50, "c": 3, "d": 4, "e": 2}


@pytest.mark.parametrize(
    ("key", "before", "after", "components", "said"),
    [
        ("layers", "12", "13", LAYERS, "12 → 13: +7 (encoder.feed_forward +4, encoder.attention +2, encoder.norm +1)"),
        ("hidden_size", "768", "1024", MANY, "768 → 1,024: -40 (b -50, d +4, c +3 and 2 more)"),
        ("vocab_size", "1", "2", {"embeddings": 9, "embeddings.word": 9}, "1 → 2: +9 in embeddings.word"),
        ("tie", "true", "false", {"head": 5, "embeddings": -5}, "true → false: 0 (head +5, embeddings -5)"),
        ("num_attention_heads", "12", "16", {}, "12 → 16: 0"),
        ("architecture", '"A"', '"B"', {"head": 5}, "A → B: +5 in head"),
        ("a, b", "3, 4", "5, 6", {"encoder": 5}, "3, 4 → 5, 6: +5 in encoder"),
        ("frozen", '"nothing"', '"bert.embeddings"', {}, "now has bert.embeddings: 0"),
        ("frozen", '"bert.embeddings"', '"nothing"', {}, "no longer has bert.embeddings: 0"),
        ("code", "", "", {"head": 768}, "the code, or a file that it reads: +768 in head"),
        ("together", "", "", {"head": 7}, "these keys together, beyond each of them alone: +7 in head"),
    ],
)
def test_a_changed_key_says_what_it_moved_and_where(
    key: str, before: str, after: str, components: dict[str, int], said: str
) -> None:
    found = describe_change(change(key, before, after, components))
    assert found == (said if key in {"code", "together"} else f"{key} {said}")


def test_what_would_fit_and_what_the_next_change_would_cost() -> None:
    fits = [Fit(change=f"{key} 13 → 12", overrides={key: 12}, total=1_000) for key in ("depth", "width")]
    costs = [Cost(what="one more layer", change="layers 1 → 2", total=7_000)]
    costs.append(Cost(what="tie it", change="ties", total=-769))
    assert describe_choices(Choices(fits=fits, costs=costs)) == {
        "would fit": ["depth 13 → 12 (1,000)", "width 13 → 12 (1,000)"],
        "the next change": ["one more layer (layers 1 → 2) +7,000", "tie it (ties) -769"],
    }
    assert describe_choices(Choices(fits=[], costs=costs[:0])) == describe_choices(None) == {}


ASKED = 'if you meant to remove it, give the reason in the same change: [tool.bertsize.removed] lost = "…"'


def test_a_model_that_is_gone_is_told_with_what_it_was_held_to() -> None:
    removed = [
        gone("old", 1_000, "110M"),
        gone("bare"),
        gone("own", None, "110M", config=""),
        gone("counted", 1_000, config=""),
        gone("nothing", config="", reason="ADR-1"),
    ]
    lost = gone("lost", 1, failed=True)
    assert list(list_problems(compared(removed=[*removed, lost], not_compared=["a", "b"]))) == [
        ("error", f"removed: main declares lost (lost.json, 1 parameters), and this table does not; {ASKED}"),
        ("note", "removed: main declares old (old.json, 1,000 parameters under a limit of 110M)"),
        ("note", "removed: main declares bare (bare.json)"),
        ("note", "removed: main declares own (under a limit of 110M)"),
        ("note", "removed: main declares counted (1,000 parameters)"),
        ("note", "removed: main declares nothing; its reason: ADR-1"),
        ("warning", "not compared with main: a, b"),
    ]


def test_a_changed_key_that_moved_nothing_is_a_difference_from_the_base() -> None:
    model = passing()
    assert not model.differs_from_base
    assert free_key().differs_from_base


def test_what_trains_has_the_share_that_the_table_has() -> None:
    model = passing()
    model.totals.trainable, model.totals.actual = 1_184_261, 125_833_738  # 0.94 %
    assert [*describe_table(model, is_full=False)] == ["1,184,261 of 125,833,738 parameters train (0.9%)"]
