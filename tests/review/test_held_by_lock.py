"""Findings about one model's differences from the lock: their words, and whose change it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.base.lock import Lock, Locked, render_lock
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.review.against_lock import AgainstLock, compare_with_lock
from tests.support.bert_reviews import subject as bert

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review

FILE = "locks/bertsize.lock"
ANEW = "pytest --bert-budget --bert-budget-update"
ACCEPT = f"if that is meant, accept it: {ANEW}"
BEFORE = Locked(
    tuple(Tensor(f"part{at}.weight", (at + 2, 3), "part") for at in range(8)),
    "sha256:1",
    "transformers 5.23.0, torch 2.13.0",
)


def found(
    now: Locked, *, before: Locked | None = BEFORE, unbuilt: bool = False, strict: bool = False, is_there: bool = True
) -> Review:
    models = {"own": before} if before else {}
    lock = Lock(FILE, strict, models, render_lock(models) if is_there else None)
    known = bert()
    subject = replace(known.subject, model=replace(known.subject.model, name="own"))
    return compare_with_lock(replace(known, subject=subject, unbuilt=unbuilt), now, lock)


def without(*names: str) -> Locked:
    return replace(BEFORE, tensors=tuple(each for each in BEFORE.tensors if each.name not in names))


def one(review: Review) -> Finding:
    (finding,) = review.findings
    return finding


# whether it has the model


def test_what_is_as_it_was_accepted_says_so_and_nothing_else() -> None:
    review = found(BEFORE)
    assert review.findings == ()
    assert review.locked == AgainstLock(FILE, is_there=True)
    assert (review.locked.changes, review.locked.why) == ((), "")


@pytest.mark.parametrize(("strict", "severity"), [(False, "note"), (True, "error")])
def test_a_lock_without_the_model_says_how_to_write_it_there(*, strict: bool, severity: str) -> None:
    review = found(BEFORE, before=None, strict=strict)
    assert one(review) == Finding(
        "differs-from-lock",
        f"{FILE} does not have this model",
        f"have it written there: {ANEW}",
        severity,  # type: ignore[arg-type]
        file=FILE,
    )
    assert review.locked == AgainstLock(FILE, is_there=False)


def test_a_lock_that_is_no_file_yet_has_no_place() -> None:
    finding = one(found(BEFORE, before=None, is_there=False))
    assert finding.message == f"there is no {FILE}, which the table names as its lock"
    assert (finding.fix, finding.severity, finding.file) == (f"have it written: {ANEW}", "note", None)


# tensors


def test_six_differences_are_named_and_the_rest_is_counted() -> None:
    said = one(found(replace(BEFORE, tensors=()))).message
    assert "part7 is gone: 27 (weight 9×3); part6 is gone: " in said  # the largest first
    assert "; part2 is gone: 12 (weight 4×3) and 2 more (" in said
    assert "part1" not in said


def test_what_counts_is_told_where_nothing_is_built_without_a_word_on_whose_change_it_is() -> None:
    more = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("pool.weight", (8, 8), "pool")))
    review = found(more, unbuilt=True)
    assert one(review).message == f"it is not as {FILE} has it: pool is new: 64 (weight 8×8)"
    assert _changes(review)[0].count == 64
    assert review.locked
    assert review.locked.why == ""
    untied = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("x.weight", (2, 3), "part", tied_to="part0.weight")))
    freed = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("x.weight", (2, 3), "part")))
    assert [each.kind for each in _changes(found(freed, before=untied, unbuilt=True))] == ["untied"]


def _changes(review: Review) -> tuple:  # type: ignore[type-arg]
    assert review.locked
    return review.locked.changes


# whose change it is


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"config": "sha256:2"}, "what it is built from has changed as well"),
        ({"config": "sha256:2", "built_with": "x"}, "what it is built from has changed as well"),
        (
            {"built_with": "transformers 6.0.0"},
            f"what it is built from is the same; it was built with {BEFORE.built_with}, and is with transformers 6.0.0",
        ),
    ],
)
def test_what_else_has_changed_is_said_with_it(changed: dict[str, str], why: str) -> None:
    assert one(found(replace(without("part0.weight"), **changed))).message.endswith(f" ({why})")  # type: ignore[arg-type]


def test_of_code_alone_it_is_said_that_there_is_no_config() -> None:
    before, now = (replace(each, config="") for each in (BEFORE, without("part0.weight")))
    said = one(found(now, before=before)).message
    assert said.endswith(" (it is built from code alone: the code has changed)")
