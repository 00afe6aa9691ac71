"""The lock as text: what it says, that it says it again, and where it is told to be wrong."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_bertsize.base import lock
from pytest_bertsize.base.lock import BadLock, Locked, merge_accepted, parse_lock, render_lock, render_model
from pytest_bertsize.inventory import Tensor
from tests.support.code_changes import corpus, tree

SMALL = Locked(
    (
        *tree({"layer[0:11].w": [4, 4], "layer[0:11].v": [4], "out.w": [2, 4]}).tensors,
        Tensor("embed.w", (9, 4), "", trainable=False),
        Tensor("head.w", (9, 4), "", trainable=False, tied_to="embed.w"),
    ),
    "sha256:0123456789abcdef",
    "transformers 5.23.0, torch 2.13.0",
)
TEXT = """\
# The tensors of every model, as they were last accepted: bertsize accept --reason "…" writes this file.
# A model is one block. After a merge, keep either side's and run that again.
lock = 1

[models.small]
config = "sha256:0123456789abcdef"
built-with = "transformers 5.23.0, torch 2.13.0"

[models.small.tensors]
"embed.w" = { frozen = [9, 4] }
"head.w" = "embed.w"
"layer[0:11].v" = [4]
"layer[0:11].w" = [4, 4]
"out.w" = [2, 4]
"""


def test_a_lock_is_text_that_git_diffs_well() -> None:
    assert render_lock({"small": SMALL}) == TEXT


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_every_model_of_the_corpus_is_read_as_it_was(case: object) -> None:
    locked = Locked(case.after.tensors)  # type: ignore[attr-defined]
    assert parse_lock(render_lock({"a.b": locked}), "x.lock")["a.b"].is_same(locked)


def test_what_shares_a_tensor_of_its_own_layer_is_folded_with_it() -> None:
    each = tree({"a[0:3].w": [2]}).tensors
    shared = tuple(Tensor(f"b.{index}.w", (2,), "", tied_to=f"a.{index}.w") for index in range(3))
    said = render_model("m", Locked((*each, *shared)))
    assert said.endswith('[models.m.tensors]\n"a[0:3].w" = [2]\n"b[0:3].w" = "a[*].w"\n')
    assert parse_lock(f"lock = 1\n{said}", "x.lock")["m"].is_same(Locked((*each, *shared)))


def test_parameters_that_torch_does_not_see_are_read_as_they_were_and_are_a_difference() -> None:
    hidden = replace(SMALL, hidden={"layers.*.held": ("2 of 3×2",)}, sizes={"b": 1, "a": 2})
    said = render_lock({"small": hidden})
    assert '.sizes]\na = 2\nb = 1\n\n[models.small.hidden]\n"layers.*.held" = ["2 of 3×2"]\n' in said
    assert (parse_lock(said, "x.lock")["small"].is_same(hidden), SMALL.is_same(hidden)) == (True, False)


def test_what_is_accepted_takes_its_place_what_was_not_looked_at_keeps_it_and_what_left_is_gone() -> None:
    newer = replace(SMALL, built_with="transformers 6.0.0")
    other = replace(newer, config="sha256:another")
    before = {"a": SMALL, "b": SMALL, "left": SMALL}
    assert merge_accepted(before, {"a": other, "b": newer, "c": newer}, ["a", "b", "c"]) == {
        "a": other,
        "b": SMALL,
        "c": newer,
    }


ANEW = 'keep one side of each model\'s block, restore x.lock (git checkout -- x.lock), or remove it; then run bertsize accept --reason "…"'


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('"out.w" = [2, 4]', '"out.w" = [2, 4', "x.lock:15: not TOML: "),
        ("[models.small]", "<<<<<<< HEAD\n[models.small]", "x.lock:5: not TOML: "),
        ("[2, 4]", "[2, -4]", "x.lock:14: [2, -4] is not a shape: write [768, 768]"),
        ("{ frozen = [9, 4] }", "{ thawed = [9, 4] }", 'x.lock:10: {"thawed": [9, 4]} is not a shape'),
        ('= "embed.w"', '= "embed"', 'x.lock:11: "embed" is not a tensor of this model, or is tied itself'),
        (
            '"out.w" = [2, 4]',
            '"out.w" = "head.w"',
            'x.lock:14: "head.w" is not a tensor of this model, or is tied itself',
        ),
        ("[models.small.tensors]", "[models.small.sizes]", "x.lock:5: it has no tensors"),
        ('"out.w"', '"out..w"', 'x.lock:14: "out..w" is not a name that a tensor can have'),
        ("layer[0:11].v", "layer[11:0].v", 'x.lock:12: "layer[11:0].v" is not a name: a range goes up'),
        ("layer[0:11].v", "layer[0-11].v", 'x.lock:12: "layer[0-11].v" is not a name: a range is written [0:12]'),
        ("layer[0:11].v", "layer.3.w", 'x.lock:13: this model has the tensor "layer.3.w" twice'),
        ('"out.w"', r'"out\u001b[31m"', r'x.lock:14: "out\u001b[31m" is not a name: a range is written [0:12]'),
        ("[2, 4]", "[1000000000, 1000000000]", "x.lock:14: [1000000000, 1000000000] is not a shape"),
        ("lock = 1", "lock = true", "x.lock:3: its format is true, and this release reads 1"),
        ("lock = 1", "lock = 2", "x.lock:3: its format is 2, and this release reads 1"),
        ("lock = 1", "", "x.lock: not a lock of pytest-bertsize"),
        ("built-with", "builtwith", "x.lock:7: unknown key; did you mean 'built-with'?"),
    ],
)
def test_a_lock_that_is_edited_badly_is_told_with_its_line(written: str, instead: str, said: str) -> None:
    with pytest.raises(BadLock) as bad:
        parse_lock(TEXT.replace(written, instead, 1), "x.lock")
    assert str(bad.value).startswith(said)
    assert ANEW in str(bad.value) or "name a new file" in str(bad.value)


def test_a_lock_of_more_tensors_than_any_project_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "MOST_TENSORS", 9)
    with pytest.raises(BadLock, match=r"x.lock:12: the lock has more than 9 tensors"):
        parse_lock(TEXT, "x.lock")


def test_what_looks_like_a_number_is_sorted_and_read_like_any_name() -> None:
    for digits in ("\N{SUPERSCRIPT TWO}", "\N{FULLWIDTH DIGIT ONE}", "007", "9" * 100):
        locked = Locked(tuple(Tensor(f"list.{each}.w", (2,), "") for each in (digits, "7", "10", "a")))
        assert parse_lock(render_lock({"m": locked}), "x.lock")["m"].is_same(locked)
