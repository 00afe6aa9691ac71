"""The length of a failing run: one cause is one sentence, and a model that failed is as short as it can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Project = Callable[..., pytest.Pytester]


def declare(count: int, config: str = "config.json", step: int = 0) -> str:
    """Declare models that are within their budgets with three layers of 16,632, and over two of them with four.

    :param step: the difference of their limits of the encoder; with 0, they have one finding in common.
    """
    return "".join(
        f"""
[tool.bertsize.models.m{number}]
config = "{config}"
overrides = {{ vocab_size = {101 + number} }}
budget.total = {59_549 + 49 * number}
budget.encoder = {49_896 + step * number}
"""
        for number in range(count)
    )


@pytest.mark.parametrize(("count", "most"), [(1, 35), (8, 160)])
def test_a_layer_more(
    project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch, count: int, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    result = project(declare(count), {**tiny, "num_hidden_layers": 4}).runpytest("--bert-budget")
    result.assert_outcomes(failed=count)
    assert len(result.outlines) <= most
    assert " ".join(result.stdout.str().split()).count("encoder is 66,528, 16,632 over its limit of 49,896") == 1
    assert not any("would fit:" in line or "the next change:" in line for line in result.outlines)
    result.stdout.fnmatch_lines(["-v shows every component, what would fit, and what the next change costs"])


def test_a_cause_that_forty_have_alike_is_said_once_before_them(project: Project) -> None:
    result = project(declare(40, "none.json")).runpytest("--bert-budget")
    result.assert_outcomes(failed=40)
    assert len(result.outlines) < 100
    said = next(number for number, line in enumerate(result.outlines) if line.startswith("✗ m0, m1, m2"))
    assert "none.json: there is no such file" in " ".join(result.outlines[said : said + 3])
    assert not any("FAILURES" in line for line in result.outlines)


def test_what_one_of_several_has_alone_is_said_where_it_is_drawn(project: Project) -> None:
    alone = '[tool.bertsize.models.alone]\nconfig = "other.json"\nbudget = "report-only"\n'
    result = project(declare(2, "none.json") + alone).runpytest("--bert-budget")
    result.stdout.fnmatch_lines(
        ["*findings of several models*", "✗ m0, m1: *", "*FAILURES*", "*bert budget: alone*", "alone: *other.json*"]
    )
    result.stdout.no_fnmatch_line("*bert budget: m0*")
