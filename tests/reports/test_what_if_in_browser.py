"""The what-if page as Chromium runs it: its counts beside Python's, its address, keys and widths."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.everywhere import everywhere
from pytest_bertsize.reports.html.what_if import SCRIPTS, constants, source
from tests.support.browsers import chromium
from tests.support.family_configs import drawn
from tests.support.what_ifs import by_python, derived, fitting_values, model_of, odd_values, overriding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium import webdriver

pytestmark = pytest.mark.tool

CONFIGS, OF_ONE = 400, 40
"""Of each family, and of each of its models: a model is a script, and its configs are arrays of sizes."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


# what it counts


def models_of(family: str) -> list[tuple[str, list[list[str]], list[Any]]]:
    """Scripts, what is written into each one's fields, and what Python says to it."""
    rng = Random(family)  # noqa: S311
    found = []
    for number in range(CONFIGS // OF_ONE):
        architectures = FAMILIES[family].architectures
        architecture = architectures[number % len(architectures)].name
        case = drawn(family, architecture, rng)
        derivation = derived(family, architecture, case.config, case.options)
        page, start = everywhere(derivation), derivation.form.dims.sizes
        written, expected = [], []
        for at in range(OF_ONE):
            other = drawn(family, architecture, rng).values().sizes if at % 4 else None
            values = fitting_values(page, start, other, rng) if other else odd_values(page, start, rng)
            written.append([str(values[symbol]) for symbol in page.free])
            expected.append(by_python(family, architecture, case.config, case.options, overriding(page.free, values)))
        found.append((constants(page, model_of(architecture, case.options), derivation), written, expected))
    return found


PLAIN = """
const counts = rows => Object.fromEntries([...rows].map(([name, count]) => [name, String(count)]))
const plain = ({found, rows}) => rows ? counts(rows) : found
"""


@pytest.fixture(scope="module")
def answers(browser: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, Any]]]:
    """Of every family, what Python and what one page say to the same sizes."""
    counting = source(SCRIPTS[0])
    scripts, expected = ["'use strict'", PLAIN, "const ANSWERS = []"], []
    for family in FAMILIES:
        for script, written, said in models_of(family):
            run = f"ANSWERS.push({json.dumps(written)}.map(judge).map(plain))"
            scripts.append(f"{{{script}\n{counting}\n{run}}}")
            expected.append((family, said))
    path = tmp_path_factory.mktemp("what-if") / "all.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><script>{chr(10).join(scripts)}</script>", "utf-8")
    browser.get(path.as_uri())
    seen = browser.execute_script("return ANSWERS")
    assert len(seen) == len(expected)
    found: dict[str, list[tuple[Any, Any]]] = {}
    for (family, said), answered in zip(expected, seen, strict=True):
        found.setdefault(family, []).extend(zip(said, answered, strict=True))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_counts_and_refuses_what_python_does(family: str, answers: dict[str, list[tuple[Any, Any]]]) -> None:
    assert len(answers[family]) == CONFIGS
    counted = 0
    for expected, seen in answers[family]:
        if isinstance(expected, list):
            assert sorted(map(tuple, seen)) == expected
        else:
            assert isinstance(seen, dict), (seen, expected)
            assert {name: count for name, count in seen.items() if count != "0"} == {
                name: str(count) for name, count in expected.items() if count
            }
            counted += 1
    assert counted > CONFIGS // 10  # or it refuses whatever comes
