"""The lock as text: what it says, that it says it again, and where it is told to be wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_bertsize.base.lock import BadLock, Locked, Weight, parse
from pytest_bertsize.base.lock_text import accepted, block, render
from pytest_bertsize.inventory import Tensor
from tests.support.code_changes import corpus, tree

SMALL = Locked(
    (
        *tree({"layer[0:11].w": [4, 4], "layer[0:11].v": [4], "out.w": [2, 4]}).tensors,
        Tensor("embed.w", (9, 4), "", trainable=False),
        Tensor("gate.w", (4, 2), "", dtype="bfloat16"),
        Tensor("gate.b", (4,), "", trainable=False, dtype="float16"),
        Tensor("head.w", (9, 4), "", trainable=False, tied_to="embed.w"),
    ),
    {"pe": Weight(36, "float32")},
    "sha256:0123456789abcdef",
    "transformers 5.23.0, torch 2.13.0",
)
TEXT = """\
# The tensors of every model, as they were last accepted: pytest --bert-budget --bert-budget-update writes this file.
# A model is one block. After a merge, keep either side's and run that again.
lock = 1

[models.small]
config = "sha256:0123456789abcdef"
built-with = "transformers 5.23.0, torch 2.13.0"

[models.small.tensors]
"embed.w" = { frozen = [9, 4] }
"gate.b" = { frozen = [4], dtype = "float16" }
"gate.w" = { shape = [4, 2], dtype = "bfloat16" }
"head.w" = "embed.w"
"layer[0:11].v" = [4]
"layer[0:11].w" = [4, 4]
"out.w" = [2, 4]

[models.small.buffers]
"pe" = { numbers = 36, dtype = "float32" }
"""


def test_a_lock_is_text_that_git_diffs_well() -> None:
    assert render({"small": SMALL}) == TEXT


def test_what_is_written_is_read_as_it_was() -> None:
    found = parse(TEXT, "bertsize.lock")
    assert found["small"].is_as(SMALL)
    assert found["small"].built_with == SMALL.built_with
    assert render(found) == TEXT


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_every_model_of_the_corpus_is_read_as_it_was(case: object) -> None:
    locked = Locked(case.after.tensors)  # type: ignore[attr-defined]
    assert parse(render({"a.b": locked}), "x.lock")["a.b"].is_as(locked)


def test_what_shares_a_tensor_of_its_own_layer_is_folded_with_it() -> None:
    each = tree({"a[0:3].w": [2]}).tensors
    shared = tuple(Tensor(f"b.{index}.w", (2,), "", tied_to=f"a.{index}.w") for index in range(3))
    said = block("m", Locked((*each, *shared)))
    assert said.endswith('[models.m.tensors]\n"a[0:3].w" = [2]\n"b[0:3].w" = "a[*].w"\n')
    assert parse(f"lock = 1\n{said}", "x.lock")["m"].is_as(Locked((*each, *shared)))


@pytest.mark.parametrize("name", ["0.weight", "odd[1:2].w", "a%5Bb.w", "layer.007.w", "w.0", "a.10.b.9.w"])
def test_a_name_of_any_kind_is_read_as_it_was(name: str) -> None:
    locked = Locked((Tensor(name, (), ""),))
    assert parse(render({"m": locked}), "x.lock")["m"].is_as(locked)


def test_one_layer_more_is_one_line_a_tensor() -> None:
    """And no line of another model: what a reviewer sees in the diff."""
    before = Locked(tree({"layer[0:2].w": [4], "out.w": [2]}).tensors)
    after = Locked(tree({"layer[0:3].w": [4], "out.w": [2]}).tensors)
    both = render({"a": before, "b": before}).splitlines(), render({"a": after, "b": before}).splitlines()
    assert [pair for pair in zip(*both, strict=True) if pair[0] != pair[1]] == [
        ('"layer[0:2].w" = [4]', '"layer[0:3].w" = [4]')
    ]


def test_what_is_accepted_takes_its_place_what_was_not_looked_at_keeps_it_and_what_left_is_gone() -> None:
    newer = replace(SMALL, built_with="transformers 6.0.0")
    other = replace(newer, config="sha256:another")
    before = {"a": SMALL, "b": SMALL, "left": SMALL}
    assert accepted(before, {"a": other, "c": newer}, ["a", "b", "c"]) == {"a": other, "b": SMALL, "c": newer}


def test_another_release_alone_changes_no_line() -> None:
    newer = replace(SMALL, built_with="transformers 6.0.0")
    assert render(accepted({"a": SMALL}, {"a": newer}, ["a"])) == render({"a": SMALL})


ANEW = "take x.lock from git again (git checkout -- x.lock), or remove it, and run pytest --bert-budget --bert-budget-update"


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('"out.w" = [2, 4]', '"out.w" = [2, 4', "x.lock:18: not TOML: "),
        ("[2, 4]", "[2, -4]", "x.lock:16: [2, -4] is no shape: it is written [768, 768]"),
        ("[2, 4]", "[2, true]", "x.lock:16: [2, true] is no shape"),
        ("[2, 4]", "2", "x.lock:16: 2 is no shape"),
        ("{ frozen = [9, 4] }", "{ thawed = [9, 4] }", 'x.lock:10: {"thawed": [9, 4]} is no shape'),
        ("shape = [4, 2],", "", 'x.lock:12: {"dtype": "bfloat16"} is no shape'),
        (', dtype = "bfloat16"', "", 'x.lock:12: {"shape": [4, 2]} is no shape'),
        ('"bfloat16"', '"b float\\n16"', 'x.lock:12: {"shape": [4, 2], "dtype": "b float\\n16"} is no shape'),
        ('"bfloat16"', "16", "x.lock:12: "),
        ("{ shape = [4, 2],", '{ shape = "embed.w",', "x.lock:12: "),
        ('= "embed.w"', '= "embed"', 'x.lock:13: "embed" is no tensor with a shape of this model'),
        ('= "embed.w"', '= "head.w"', 'x.lock:13: "head.w" is no tensor with a shape of this model'),
        ("layer[0:11].v", "layer[11:0].v", 'x.lock:14: "layer[11:0].v" is no name: a range goes up'),
        ("layer[0:11].v", "layer[0:999999].v", "x.lock:14: "),
        ("layer[0:11].v", "layer[0-11].v", 'x.lock:14: "layer[0-11].v" is no name: a range is written [0:12]'),
        ("layer[0:11].v", "layer.3.w", 'x.lock:15: "layer.3.w" stands there twice'),
        ("lock = 1", "lock = 2", "x.lock:3: it is of the format 2, and this release reads 1"),
        ("lock = 1", "", "x.lock: this is no lock of pytest-bertsize"),
        ("built-with", "builtwith", 'x.lock:7: a lock says nothing by "builtwith"'),
        ('"float32" }', "32 }", "x.lock:19: "),
        ("[models.small.buffers]", "[models.small.bufers]", 'x.lock:18: a lock says nothing by "bufers"'),
    ],
)
def test_a_lock_that_is_edited_badly_is_told_with_its_line(written: str, instead: str, said: str) -> None:
    with pytest.raises(BadLock) as bad:
        parse(TEXT.replace(written, instead, 1), "x.lock")
    assert str(bad.value).startswith(said)
    assert ANEW in str(bad.value) or "remove this one" in str(bad.value)


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> branch", "||||||| base"])
def test_a_merge_conflict_is_told_by_name(marker: str) -> None:
    with pytest.raises(BadLock, match=r"^x\.lock:5: a merge conflict is left in it \(.{7,9}\): keep one side"):
        parse(TEXT.replace("[models.small]", f"{marker}\n[models.small]", 1), "x.lock")


def test_two_blocks_of_one_model_are_a_mistake() -> None:
    with pytest.raises(BadLock, match=r"^x\.lock:21: not TOML: "):
        parse(f"{TEXT}\n{block('small', SMALL)}", "x.lock")
