"""What stands beside the table as text: against the base, what would fit, what comes next."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bertsize.reports.sentences import against, change, costs, differs, fits, named, removed, trains
from pytest_bertsize.reports.shape import Base, Change, Choices, RunBase
from tests.support.run_reports import failing, gone, new, not_built, passing

COMMIT = "1a2b3c4d5e" + "6" * 30


def base(**changes: Any) -> Base:
    told: dict[str, Any] = {"revision": "origin/main", "commit": COMMIT, "config": "config.json", "total": 102_290_312}
    told |= {
        "grown": 7_087_872,
        "shrunk": 0,
        "said": [],
        "changes": [],
        "method": "",
        "by": "closed form",
        "tensors": [],
    }
    return {**told, **changes}  # type: ignore[typeddict-item]


def moved(key: str, before: str, after: str, **components: int) -> Change:
    named_parts = {name.replace("__", "."): count for name, count in components.items()}
    total = sum(count for name, count in named_parts.items() if "." not in name)
    return Change(key=key, before=before, after=after, total=total, components=named_parts)


def test_growth_is_both_totals_and_their_difference() -> None:
    said = "against origin/main (1a2b3c4d5e): 102,290,312 → 109,378,184 (+7,087,872)"
    assert against(base(), 109_378_184) == said


def test_shrinking_is_negative() -> None:
    assert against(base(grown=0, shrunk=312), 102_290_000).endswith(": 102,290,312 → 102,290,000 (-312)")


def test_what_came_and_what_went_are_told_apart() -> None:
    said = against(base(grown=1_000, shrunk=400), 102_290_912)
    assert said.endswith(": 102,290,312 → 102,290,912 (+600; 1,000 came, 400 went)")


def test_what_came_and_went_in_the_same_amount_is_not_no_change() -> None:
    said = against(base(grown=1_000, shrunk=1_000), 102_290_312)
    assert said.endswith(": 102,290,312 → 102,290,312 (0; 1,000 came, 1,000 went)")


def test_no_count_changed() -> None:
    said = "against origin/main (1a2b3c4d5e): no count changed"
    assert against(base(grown=0), 102_290_312) == said


def test_without_a_count_on_one_side_only_the_base_is_named() -> None:
    assert against(base(total=None, grown=0), 102_290_312) == "against origin/main (1a2b3c4d5e)"
    assert against(base(), None) == "against origin/main (1a2b3c4d5e)"


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
    assert named(revision, commit) == name


def test_a_changed_key_with_the_parts_at_the_bottom_that_moved_most() -> None:
    parts = {"encoder__attention": 2_362_368, "encoder__norm": 3_072, "encoder__feed_forward": 4_722_432}
    row = moved("num_hidden_layers", "12", "13", encoder=7_087_872, **parts)
    assert change(row) == (
        "num_hidden_layers 12 → 13: +7,087,872 "
        "(encoder.feed_forward +4,722,432, encoder.attention +2,362,368, encoder.norm +3,072)"
    )


def test_more_than_three_parts_are_counted() -> None:
    row = moved("hidden_size", "768", "832", a=1, b=-50, c=3, d=4, e=2)
    assert change(row) == "hidden_size 768 → 832: -40 (b -50, d +4, c +3 and 2 more)"


def test_one_part_is_told_without_its_number_twice() -> None:
    row = moved("vocab_size", "21128", "30522", embeddings=768, embeddings__word=768)
    assert change(row) == "vocab_size 21,128 → 30,522: +768 in embeddings.word"


def test_parts_that_cancel_out_are_told() -> None:
    row = moved("tie_word_embeddings", "true", "false", head=5, embeddings=-5)
    assert change(row) == "tie_word_embeddings true → false: 0 (head +5, embeddings -5)"


def test_a_key_that_moved_nothing() -> None:
    assert change(moved("num_attention_heads", "12", "16")) == "num_attention_heads 12 → 16: 0"


def test_words_have_no_quotes() -> None:
    row = moved("architecture", '"BertModel"', '"BertForMaskedLM"', head=5)
    assert change(row) == "architecture BertModel → BertForMaskedLM: +5 in head"


def test_several_keys_that_go_together() -> None:
    row = moved("hidden_size, num_hidden_layers", "3, 4", "5, 6", encoder=5)
    assert change(row) == "hidden_size, num_hidden_layers 3, 4 → 5, 6: +5 in encoder"


def test_what_the_code_moved_has_no_values() -> None:
    assert change(moved("code", "", "", head=768)) == "in the code, which no key explains: +768 in head"


def fitting(**totals: int) -> Choices:
    found = [{"change": f"{key} 13 → 12", "overrides": {key: 12}, "total": total} for key, total in totals.items()]
    return {"fits": found, "costs": []}  # type: ignore[typeddict-item]


def test_several_shapes_that_would_fit_are_a_choice() -> None:
    said = fits(fitting(num_hidden_layers=109_514_298, vocab_size=110_000_000))
    assert said == "would fit: num_hidden_layers 13 → 12 (109,514,298); or vocab_size 13 → 12 (110,000,000)"


def test_nothing_has_to_fit_where_no_budget_is_broken() -> None:
    assert fits(fitting()) == ""


def test_what_the_next_change_would_cost() -> None:
    rows = [
        {"what": "one more layer", "change": "", "total": 7_087_872},
        {"what": "tie the decoder", "change": "", "total": -769},
    ]
    choices: Any = {"fits": [], "costs": rows}
    assert costs(choices) == "the next change: one more layer +7,087,872, tie the decoder -769"


def test_no_next_change_is_no_sentence() -> None:
    assert costs({"fits": [], "costs": []}) == ""


def test_a_model_that_is_gone_is_told_with_what_it_was_held_to() -> None:
    run: RunBase = {
        "revision": "main",
        "commit": COMMIT,
        "problem": "",
        "removed": [
            gone("old", 1_000, "110M"),
            gone("bare"),
            gone("own", None, "110M", config=""),
            gone("counted", 1_000, config=""),
            gone("nothing", config=""),
        ],
        "not_compared": [],
    }
    assert list(removed(run)) == [
        "removed: main declares old (old.json, 1,000 parameters under a limit of 110M)",
        "removed: main declares bare (bare.json)",
        "removed: main declares own (under a limit of 110M)",
        "removed: main declares counted (1,000 parameters)",
        "removed: main declares nothing",
    ]


def test_only_what_is_not_as_it_was_is_worth_a_line() -> None:
    assert differs(failing())
    assert differs(new())
    assert not differs(passing())
    assert not differs(not_built())


def test_a_changed_key_is_worth_a_line_even_where_it_moved_nothing() -> None:
    model = passing()
    assert model["base"]
    model["base"]["changes"] = [moved("num_attention_heads", "12", "16")]
    assert differs(model)


def test_what_trains_has_the_share_that_the_table_has() -> None:
    model = passing()
    model["totals"] |= {"trainable": 1_184_261, "actual": 125_833_738}  # 0.94 %
    assert trains(model) == "1,184,261 of 125,833,738 parameters train (0.9%)"
