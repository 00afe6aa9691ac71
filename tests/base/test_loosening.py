"""A limit that lets more pass than it did at the base fails, unless the same change says why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.review import Accepted
from tests.conftest import TINY
from tests.support.desk import as_base, lay
from tests.support.git_projects import committed

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.review import Review

MODEL = """
[tool.bertsize.models.fits]
config = "config.json"
{budget}
"""
LINE_OF_BUDGET = 5
"""Behind the line [tool.pytest.ini_options], an empty one and the two of the model."""

LOOSENED = """
total = "60K"                           | total = "90K"                           | 60K; 90K; 30,000 more
total = {min=50_000}                    | total = {min=40_000}                    | 50,000; 40,000
total = {min=5_000, max=60_000}         | total = 60_000                          | 5,000-60,000
total = {min=9, max=60_000}             | total = {min=9}                         | 9-60,000; ≥9
total = {exact=59_549}                  | total = 59_549                          | =59,549 at main and is 59,549 now
total = {exact=59_549}                  | total = {min=59_000, max=60_000}        | =59,549; 59,000-60,000; 451 more
total = "90K", head = 3_000             | total = "90K"                           | limits head to 3,000
total = "60K"                           | report-only                             | total 60K; report-only
total = "60K"                           | closed_form = false, total = "60K"      | closed_form = false
bytes = {max="9kB", dtype="float32"}    | bytes = {max="9kB", dtype="float16"}    | (float32, unique) at; (float16, unique)
bytes = "9kB"                           | bytes = {max="9kB", dtype="bfloat16"}   | 9kB (the dtype of the config, unique) at
bytes = {max="8kB", dtype="float32"}    | bytes = {max="4_001B", dtype="float16"} | 8kB (float32; 4_001B (float16
bytes = {min="2kB", dtype="float16"}    | bytes = {min="2kB", dtype="float32"}    | ≥2kB (float16; ≥2kB (float32
bytes = {max="9kB", count="unrolled"}   | bytes = {max="9kB", count="stored"}     | config, unrolled) at; config, stored) now
bytes = {max="9kB", count="stored"}     | bytes = {max="9kB", count="unique"}     | config, stored) at; config, unique) now
flops = {max="1G", seq_len=30}          | flops = {max="1G", seq_len=29}          | 1G (30 tokens) at; 1G (29 tokens) now
flops = {min=9, seq_len=30}             | flops = {min=9, seq_len=31}             | ≥9 (30 tokens) at; ≥9 (31 tokens) now
growth = "1%"                           | growth = "1.01%"                        | growth was 1% at; 1.01%
total = "90K", growth = 0               | total = "90K"                           | limits growth to 0, and this table does not
growth = "1%"                           | report-only                             | limits growth 1%; report-only
growth = "1%"                           | growth = 596                            | 1% at; 596
growth = 594                            | growth = "1%"                           | 594 at; 1%
growth = 596                            | growth = 597                            | 596 at; 597
bytes = {max="8kB", dtype="float32"}    | bytes = {max="4kB", dtype="float16"}    | 8kB (float32; 4kB (float16
flops = {max="1G", seq_len=30}          | flops = {max="1G", seq_len=31}          | 1G (30 tokens) at; 1G (31 tokens) now
total = "90K"                           | already_over = "pass", total = "90K"    | already_over = "pass" passes
training_bytes = "1MB"                  | training_bytes = "1.1MB"                | 1MB at; 1.1MB
training_bytes = "1MB" | training_bytes = {max="1MB", dtype="bfloat16"}  | 1MB (float32) at; 1MB (bfloat16) now
training_bytes = "1MB" | training_bytes = {max="1MB", frozen="bfloat16"} | (float32, frozen bfloat16) now
"""
"""A budget at the base, one that lets more pass, and what its message says."""
NOT_LOOSENED = """
report-only                             | total = 60_000
closed_form = false, total = 60_000     | total = 60_000
total = "90K"                           | total = "90K", growth = 0
total = 60_000                          | total = 59_549
total = {min=5}                         | total = {min=6}
bytes = {max="9kB", dtype="float16"}    | bytes = {max="9kB", dtype="float16"}
bytes = {max="9kB", dtype="float16"}    | bytes = {max="8kB", dtype="float16"}
growth = 596                            | growth = 595
growth = "1%"                           | growth = "0.99%"
"""


def rows(table: str) -> list[tuple[str, ...]]:
    """Each cell that is a budget as the line of a model's table."""
    cells = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return [(budget_of(before), budget_of(after), *said) for before, after, *said in cells]


def budget_of(cell: str) -> str:
    if cell == "report-only":
        return 'budget = "report-only"'
    off, _, limits = cell.rpartition("closed_form = false, ")
    return f"budget = {{ {limits} }}" + ("\nclosed_form = false" if limits != cell else off)


def changed(folder: Path, before: str, after: str, then: Any = None, now: Any = None) -> Review:
    """Review a change of the budget, and of the keys of a config, without a build."""
    tables = (f"[tool.pytest.ini_options]\n{MODEL.format(budget=budget)}" for budget in (before, after))
    was, settings = (
        lay(folder / side, table, {**TINY, **(keys or {})})
        for side, table, keys in zip(("base", "change"), tables, (then, now), strict=True)
    )
    return conclude(examine(settings.models["fits"], settings, Registry()), None, accepted=Accepted(as_base(was)))


def loosened(review: Review) -> list[Finding]:
    return [finding for finding in review.findings if finding.kind == "budget-loosened"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for side in ("base", "change"):
        (tmp_path / side).mkdir()
    return tmp_path


@pytest.mark.parametrize(("before", "after", "said"), rows(LOOSENED))
def test_a_loosened_limit_is_an_error_with_its_line_and_both_values_unless_a_new_reason_makes_it_a_note(
    folder: Path, before: str, after: str, said: str
) -> None:
    (found,) = loosened(changed(folder, before, after))
    assert found.severity == "error"
    assert found.place == f"pyproject.toml:{LINE_OF_BUDGET + ('closed_form' in after)}"
    assert [part for part in ["main", *said.split("; ")] if part not in found.message] == []
    assert "reason = " in found.fix
    review = changed(folder, before, f'{after}\nreason = "a head for ranking"')
    (note,) = loosened(review)
    assert (note.severity, note.message, note.fix) == ("note", found.message, 'its reason: "a head for ranking"')
    assert review.errors == ()


@pytest.mark.parametrize(("before", "after"), rows(NOT_LOOSENED))
def test_what_lets_no_more_pass_is_nothing_to_say(folder: Path, before: str, after: str) -> None:
    assert loosened(changed(folder, before, after)) == []
    assert loosened(changed(folder, after, after)) == []


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        ("more labels", "more labels", "error"),
        ("more labels", "a new head", "note"),
        *(("x", f"x{blank}", "error") for blank in (" ", r"\u200b", r"\ufe0f", r"\u2060")),
        ("more labels", "", "error"),
    ],
)
def test_a_reason_counts_only_where_it_came_with_the_change(
    folder: Path, before: str, after: str, severity: str
) -> None:
    old, new = (f'budget.total = "{limit}"\nreason = "{why}"' for limit, why in (("60K", before), ("70K", after)))
    (found,) = loosened(changed(folder, old, new if after else 'budget.total = "70K"'))
    assert found.severity == severity
    is_same = severity == "error" and after != ""
    assert ("its reason is still the base's: write another, or add to it" in found.fix) == is_same


@pytest.mark.parametrize("key", ["checkpoint", "tokenizer"])
def test_a_file_that_is_compared_no_more_is_loosened(folder: Path, key: str) -> None:
    limit = 'budget.total = "60K"'
    (found,) = loosened(changed(folder, f'{limit}\n{key} = "x.file"', limit))
    assert found.message == f"main compares it with the {key} x.file, and this table does not"
    assert loosened(changed(folder, limit, f'{limit}\n{key} = "x.file"')) == []


def test_each_loosened_limit_is_found_on_its_own_line(folder: Path) -> None:
    before = 'budget.total = "60K"\nbudget.head = 3_000\nbudget.encoder = 50_000'
    found = loosened(changed(folder, before, 'budget.total = "70K"\nbudget.head = 2_900\nbudget.encoder = 50_001'))
    assert {each.component: each.line for each in found} == {"total": LINE_OF_BUDGET, "encoder": LINE_OF_BUDGET + 2}


def test_another_dtype_in_the_config_is_no_other_limit(folder: Path) -> None:
    limit = 'budget.bytes = "1MB"'
    assert loosened(changed(folder, limit, limit, {}, {"dtype": "float16"})) == []


@pytest.mark.parametrize("config", [{**TINY, "hidden_size": 47}, "{"], ids=["refused", "no JSON"])
def test_a_config_that_cannot_be_counted_does_not_hide_a_loosened_limit(tmp_path: Path, config: Any) -> None:
    project = committed(tmp_path, config, MODEL.format(budget='budget.bytes = "1MB"'))
    project.write("config.json", TINY)
    project.declare(MODEL.format(budget='budget.bytes = "2MB"'))
    assert [finding.severity for finding in loosened(project.review())] == ["error"]
