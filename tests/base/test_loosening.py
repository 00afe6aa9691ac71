"""A limit that lets more pass than it did at the base fails, unless the same change says why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.git_projects import GitProject, committed

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

MODEL = """
[tool.bertsize.models.fits]
config = "config.json"
{budget}
"""
LINE_OF_BUDGET = 5
"""Behind the line [tool.pytest.ini_options], an empty one and the two of the model."""

LOOSENED = {
    "max raised": ('budget.total = "60K"', 'budget.total = "90K"', ["60K", "90K", "30,000 more"]),
    "min lowered": ("budget.total = {min = 50_000}", "budget.total = {min = 40_000}", ["50,000", "40,000"]),
    "min taken away": ("budget.total = {min = 5_000, max = 60_000}", "budget.total = 60_000", ["5,000-60,000"]),
    "max taken away": ("budget.total = {min = 9, max = 60_000}", "budget.total = {min = 9}", ["9-60,000", "≥9"]),
    "exact became max": ("budget.total = {exact = 59_549}", "budget.total = 59_549", ["=59,549", " 59,549"]),
    "exact became a range": (
        "budget.total = {exact = 59_549}",
        "budget.total = {min = 59_000, max = 60_000}",
        ["=59,549", "59,000-60,000", "451 more"],
    ),
    "limit removed": ('budget.total = "90K"\nbudget.head = 3_000', 'budget.total = "90K"', ["head", "3,000"]),
    "report-only": ('budget.total = "60K"', 'budget = "report-only"', ["total", "60K", "report-only"]),
    "closed_form = false": (
        'budget.total = "60K"',
        'closed_form = false\nbudget.total = "60K"',
        ["closed_form = false"],
    ),
    "more bytes": ('budget.bytes = "300kB"', 'budget.bytes = "300_001B"', ["300kB", "300_001B", "1 more"]),
    "a narrower dtype": (
        'budget.bytes = {max = "300kB", dtype = "float32"}',
        'budget.bytes = {max = "300kB", dtype = "float16"}',
        ["300kB (float32, unique) at main and is 300kB (float16, unique) now"],
    ),
    "a narrower dtype than the default": (
        'budget.bytes = "300kB"',
        'budget.bytes = {max = "300kB", dtype = "bfloat16"}',
        ["300kB (the dtype of the config, unique) at main and is 300kB (bfloat16, unique) now"],
    ),
    "a narrower dtype, and a limit that is not by as much": (
        'budget.bytes = {max = "300kB", dtype = "float32"}',
        'budget.bytes = {max = "150_001B", dtype = "float16"}',
        ["300kB (float32, unique) at main and is 150_001B (float16, unique) now"],
    ),
    "at least as many bytes of a wider dtype": (
        'budget.bytes = {min = "20kB", dtype = "float16"}',
        'budget.bytes = {min = "20kB", dtype = "float32"}',
        ["≥20kB (float16, unique) at main and is ≥20kB (float32, unique) now"],
    ),
    "unrolled became stored": (
        'budget.bytes = {max = "300kB", count = "unrolled"}',
        'budget.bytes = {max = "300kB", count = "stored"}',
        ["(the dtype of the config, unrolled) at main", "(the dtype of the config, stored) now"],
    ),
    "stored became unique": (
        'budget.bytes = {max = "300kB", count = "stored"}',
        'budget.bytes = {max = "300kB", count = "unique"}',
        ["(the dtype of the config, stored) at main", "(the dtype of the config, unique) now"],
    ),
    "fewer tokens": (
        'budget.flops = {max = "1G", seq_len = 30}',
        'budget.flops = {max = "1G", seq_len = 29}',
        ["1G (30 tokens) at main and is 1G (29 tokens) now"],
    ),
    "at least as many FLOPs of more tokens": (
        "budget.flops = {min = 1_000, seq_len = 30}",
        "budget.flops = {min = 1_000, seq_len = 31}",
        ["≥1,000 (30 tokens) at main and is ≥1,000 (31 tokens) now"],
    ),
    "growth raised": ('budget.growth = "1%"', 'budget.growth = "1.01%"', ["growth", "1%", "1.01%"]),
    "growth taken away": (
        'budget.total = "90K"\nbudget.growth = 0',
        'budget.total = "90K"',
        ["limits growth to 0, and this table does not"],
    ),
    "growth of a part taken away": (
        "budget.growth = { total = 0, head = 0 }",
        "budget.growth = 0",
        ["limits growth.head to 0, and this table does not"],
    ),
    "growth alone, and then report-only": (
        'budget.growth = "1%"',
        'budget = "report-only"',
        ["limits growth 1%, and this table says report-only"],
    ),
    "a share became a count that is more": ('budget.growth = "1%"', "budget.growth = 596", ["1%", "596"]),
    "a count became a share that is more": ("budget.growth = 594", 'budget.growth = "1%"', ["594", "1%"]),
    "what was over already passes": (
        'budget.total = "90K"',
        'budget.already_over = "pass"\nbudget.total = "90K"',
        ['already_over = "pass" passes'],
    ),
    "more bytes in training": ('budget.training_bytes = "1MB"', 'budget.training_bytes = "1.1MB"', ["1MB", "1.1MB"]),
    "trained in half of the bits": (
        'budget.training_bytes = "1MB"',
        'budget.training_bytes = { max = "1MB", dtype = "bfloat16" }',
        ["1MB (float32) at main and is 1MB (bfloat16) now"],
    ),
    "frozen in half of the bits": (
        'budget.training_bytes = "1MB"',
        'budget.training_bytes = { max = "1MB", frozen = "bfloat16" }',
        ["1MB (float32) at main and is 1MB (float32, frozen bfloat16) now"],
    ),
}
NOT_LOOSENED = {
    "nothing": ("budget.total = 60_000", "budget.total = 60_000"),
    "max lowered": ("budget.total = 60_000", "budget.total = 59_549"),
    "min raised": ("budget.total = {min = 5}", "budget.total = {min = 6}"),
    "report-only got a budget": ('budget = "report-only"', "budget.total = 60_000"),
    "closed_form = false taken away": ("closed_form = false\nbudget.total = 60_000", "budget.total = 60_000"),
    "the default dtype written out": ('budget.bytes = "300kB"', 'budget.bytes = {max = "300kB", dtype = "float32"}'),
    "half of the bytes at half of the width": (
        'budget.bytes = {max = "300kB", dtype = "float32"}',
        'budget.bytes = {max = "150kB", dtype = "float16"}',
    ),
    "at least as many bytes of a narrower dtype": (
        'budget.bytes = {min = "20kB", dtype = "float32"}',
        'budget.bytes = {min = "20kB", dtype = "float16"}',
    ),
    "unique became stored": ('budget.bytes = "300kB"', 'budget.bytes = {max = "300kB", count = "stored"}'),
    "growth added": ('budget.total = "90K"', 'budget.total = "90K"\nbudget.growth = 0'),
    "growth lowered": ('budget.growth = "1%"', 'budget.growth = "0.99%"'),
    "a share became a count that is no more": ('budget.growth = "1%"', "budget.growth = 595"),
    "trained in more bits": (
        'budget.training_bytes = { max = "1MB", dtype = "bfloat16" }',
        'budget.training_bytes = "1MB"',
    ),
    "at least as many FLOPs of fewer tokens": (
        "budget.flops = {min = 1_000, seq_len = 31}",
        "budget.flops = {min = 1_000, seq_len = 30}",
    ),
}


def changed(folder: Path, tiny: dict[str, Any], before: str, after: str) -> GitProject:
    found = committed(folder, tiny, MODEL.format(budget=before))
    found.declare(MODEL.format(budget=after))
    return found


def loosened(project: GitProject, name: str = "fits") -> list[Finding]:
    return [finding for finding in project.review(name).findings if finding.kind == "budget-loosened"]


@pytest.mark.parametrize(("before", "after", "said"), LOOSENED.values(), ids=LOOSENED)
def test_a_loosened_limit_is_an_error_with_its_line_and_both_values(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, said: list[str]
) -> None:
    (found,) = loosened(changed(tmp_path, tiny, before, after))
    assert found.severity == "error"
    assert found.place == f"pyproject.toml:{LINE_OF_BUDGET}"
    assert [part for part in ["main", *said] if part not in found.message] == []
    assert "reason = " in found.fix


@pytest.mark.parametrize(("before", "after", "said"), [*LOOSENED.values()][::5], ids=[*LOOSENED][::5])
def test_with_a_reason_of_the_same_change_it_is_a_note_that_shows_the_reason(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, said: list[str]
) -> None:
    review = changed(tmp_path, tiny, before, f'{after}\nreason = "a head for ranking"').review()
    (found,) = [finding for finding in review.findings if finding.kind == "budget-loosened"]
    assert found.severity == "note"
    assert "a head for ranking" in f"{found.message} {found.fix}"
    assert [part for part in said if part not in found.message] == []
    assert [finding for finding in review.findings if finding.severity == "error"] == []


@pytest.mark.parametrize(("before", "after"), NOT_LOOSENED.values(), ids=NOT_LOOSENED)
def test_what_lets_no_more_pass_is_nothing_to_say(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str
) -> None:
    assert loosened(changed(tmp_path, tiny, before, after)) == []


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [("more labels", "more labels", "error"), ("more labels", "a new head", "note"), ("more labels", "", "error")],
    ids=["the same", "another", "taken away"],
)
def test_a_reason_counts_only_where_it_came_with_the_change(
    tmp_path: Path, tiny: dict[str, Any], before: str, after: str, severity: str
) -> None:
    old, new = (f'budget.total = "{limit}"\nreason = "{why}"' for limit, why in (("60K", before), ("70K", after)))
    (found,) = loosened(changed(tmp_path, tiny, old, new if after else 'budget.total = "70K"'))
    assert found.severity == severity
    assert ("its reason is still the base's: write another, or add to it" in found.fix) == (before == after)


@pytest.mark.parametrize("blank", [" ", r"\u200b", r"\ufe0f", r"\u2060"])
def test_a_reason_with_a_blank_more_is_the_same(tmp_path: Path, tiny: dict[str, Any], blank: str) -> None:
    before, after = 'budget.total = "60K"\nreason = "x"', f'budget.total = "70K"\nreason = "x{blank}"'
    project = changed(tmp_path, tiny, before, after)
    (found,) = loosened(project)
    assert found.severity == "error"


def test_each_loosened_limit_is_found_on_its_own_line(tmp_path: Path, tiny: dict[str, Any]) -> None:
    before = 'budget.total = "60K"\nbudget.head = 3_000\nbudget.encoder = 50_000'
    project = changed(tmp_path, tiny, before, 'budget.total = "70K"\nbudget.head = 2_900\nbudget.encoder = 50_001')
    found = [(finding.component, finding.line) for finding in loosened(project)]
    assert found == [("total", LINE_OF_BUDGET), ("encoder", LINE_OF_BUDGET + 2)]


def test_a_config_that_cannot_be_counted_does_not_hide_a_loosened_limit(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path, {**tiny, "hidden_size": 47}, MODEL.format(budget="budget.total = 60_000"))
    project.write("config.json", tiny)
    project.declare(MODEL.format(budget="budget.total = 70_000"))
    assert [finding.severity for finding in loosened(project)] == ["error"]


F32, F16, DEFAULT = '{max = "1MB", dtype = "float32"}', '{max = "1MB", dtype = "float16"}', '"1MB"'


@pytest.mark.parametrize(
    ("before", "config", "after", "config_now", "is_loosened"),
    [
        (F32, {}, DEFAULT, {"dtype": "float16"}, True),
        (F16, {}, DEFAULT, {"torch_dtype": "float16"}, False),
        (DEFAULT, {"dtype": "float16"}, F16, {}, False),
        (DEFAULT, {"dtype": "bfloat16"}, F32, {}, False),
        (DEFAULT, {}, F16, {"dtype": "float16"}, True),
        (DEFAULT, {}, DEFAULT, {"dtype": "float16"}, False),
        (DEFAULT, {"dtype": "auto"}, F32, {}, True),
        (DEFAULT, {"dtype": "float16", "torch_dtype": "float32"}, F16, {}, True),
    ],
)
def test_the_default_dtype_is_that_of_the_config_and_unknown_where_that_names_none(
    tmp_path: Path,
    tiny: dict[str, Any],
    before: str,
    config: dict[str, str],
    after: str,
    config_now: dict[str, str],
    *,
    is_loosened: bool,
) -> None:
    project = committed(tmp_path, {**tiny, **config}, MODEL.format(budget=f"budget.bytes = {before}"))
    project.write("config.json", {**tiny, **config_now})
    project.declare(MODEL.format(budget=f"budget.bytes = {after}"))
    assert bool(loosened(project)) == is_loosened


def test_a_config_that_nobody_could_read_names_no_dtype(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path, tiny)
    project.write("config.json", "{")
    project.base_on(MODEL.format(budget=f"budget.bytes = {DEFAULT}"))
    project.write("config.json", tiny)
    project.declare(MODEL.format(budget=f"budget.bytes = {F32}"))
    assert [finding.severity for finding in loosened(project)] == ["error"]
