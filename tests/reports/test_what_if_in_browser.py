"""The what-if page as Chromium runs it: its counts beside Python's, its address, keys and widths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from pytest_bertsize.__main__ import main
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.all_sizes import follow_all_sizes
from pytest_bertsize.reports.html.what_if import SCRIPTS, list_facts, read_script, write_constants
from pytest_bertsize.reports.sentences import NOTHING
from tests.conftest import BERT_BASE
from tests.support.browsers import paper_behind, seen_at, sticks_out
from tests.support.family_configs import drawn
from tests.support.what_ifs import by_python, derived, fitting_values, model_of, odd_values, overriding

if TYPE_CHECKING:
    from selenium import webdriver

pytestmark = pytest.mark.tool

Show: TypeAlias = "Callable[..., webdriver.Chrome]"
WIDTH, LAYERS, HEADS = 1, 2, 3
"""Places of fields."""
TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "110M"
budget.encoder = "85.1M"
"""
SIDE = re.compile(r"\b(encoder|decoder)(\.|: )")
"""Of a pair, whose line or table the reader's message stands at."""
CONFIGS, OF_ONE = 80, 8
"""Of each family, and of each of its models: a model is a script, and its configs are arrays of sizes."""


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
        page, start = follow_all_sizes(derivation), derivation.form.dims.sizes
        written, expected = [], []
        for at in range(OF_ONE):
            other = drawn(family, architecture, rng).values().sizes if at % 4 else None
            values = fitting_values(page, start, other, rng) if other else odd_values(page, start, rng)
            written.append([str(values[symbol]) for symbol in page.free])
            expected.append(by_python(family, architecture, case.config, case.options, overriding(page.free, values)))
        facts = list_facts(page, model_of(architecture, case.options), derivation)
        found.append((write_constants(page, facts), written, expected))
    return found


PLAIN = """
const counts = rows => Object.fromEntries([...rows].map(([name, count]) => [name, String(count)]))
const plain = ({found, rows}) => rows ? counts(rows) : found
"""


def answers(family: str, browser: webdriver.Chrome, page: Path) -> list[tuple[Any, Any]]:
    """The answers of Python and of one page to the same sizes."""
    counting = read_script(SCRIPTS[0])
    scripts, expected = ["'use strict'", PLAIN, "const ANSWERS = []"], []
    for script, written, said in models_of(family):
        run = f"ANSWERS.push(...{json.dumps(written)}.map(judge).map(plain))"
        scripts.append(f"{{{script}\n{counting}\n{run}}}")
        expected += said
    page.write_text(f"<!doctype html><meta charset=utf-8><script>{chr(10).join(scripts)}</script>", "utf-8")
    browser.get(page.as_uri())
    return list(zip(expected, browser.execute_script("return ANSWERS"), strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_page_counts_and_refuses_what_python_does(family: str, browser: webdriver.Chrome, tmp_path: Path) -> None:
    found = answers(family, browser, tmp_path / "page.html")
    assert len(found) == CONFIGS
    counted = 0
    for expected, seen in found:
        if isinstance(expected, list) and "by the closed form this is" in str(expected):
            assert isinstance(seen, dict) or len(expected) > 1  # too large for a build, which the page does not make
        elif isinstance(expected, list):
            said = sorted((SIDE.sub("", message), fix) for message, fix in seen)
            assert said == expected
        else:
            assert isinstance(seen, dict), (seen, expected)
            assert {name: count for name, count in seen.items() if count != "0"} == {
                name: str(count) for name, count in expected.items() if count
            }
            counted += 1
    assert counted > CONFIGS // 10  # or it refuses whatever comes


# how it is used


@pytest.fixture
def show(browser: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Open the page of a declared BERT: ``show(address, width=…, scheme="dark")`` gives the browser."""
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(BERT_BASE), "utf-8")
    Path("pyproject.toml").write_text(TABLE, "utf-8")
    assert main(["explain", "encoder", "--page", "what-if.html"]) == 0

    def opened(address: str = "", width: int = 1100, scheme: str = "light") -> webdriver.Chrome:
        seen_at(browser, width, scheme)
        browser.get("about:blank")
        browser.get_log("performance")
        browser.get_log("browser")
        browser.get(Path("what-if.html").absolute().as_uri() + address)
        return browser

    return opened


def text(shown: webdriver.Chrome, selector: str) -> str:
    found: str = shown.execute_script(f"return document.querySelector('{selector}').innerText")
    return found


def row(shown: webdriver.Chrome, name: str) -> list[str]:
    """The cells of a component, ``encoder`` or ``attention``."""
    cells = "[...tr.cells].map(cell => cell.innerText.trim())"
    script = f"return [...document.querySelectorAll('#parts tr')].map(tr => {cells})"
    return next(cells for cells in shown.execute_script(script) if cells[0].replace("\u200b", "") == name)


def write(shown: webdriver.Chrome, place: int, value: str) -> None:
    field = shown.find_element("id", f"number-{place}")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(value)


def test_it_starts_with_the_counts_of_the_config(show: Show) -> None:
    shown = show()
    # Devlin et al. 2018's BERT-base with its decoder tied: 109,514,298 (README)
    assert text(shown, "#total") == "109,514,298"
    assert text(shown, "#change") == "as in the config"
    assert row(shown, "encoder") == ["encoder", "85,054,464", "77.7%", "", "85.1M", "45,536"]
    assert row(shown, "norm")[2] == "<0.1%"
    assert text(shown, "#keep") == "nothing to keep: these are the sizes of the config"
    assert shown.find_element("id", "reset").get_property("disabled")


def test_a_field_has_marks_of_thousands_until_it_is_written_in_and_takes_them(show: Show) -> None:
    shown = show()
    field = shown.find_element("id", "number-0")
    assert field.get_property("value") == "30,522"
    field.click()
    assert field.get_property("value") == "30522"
    write(shown, 0, "28,996")
    assert text(shown, "#total") == f"{109_514_298 - (30_522 - 28_996) * (768 + 1):,}"  # a row, and a bias of the head
    write(shown, LAYERS, "12,5")
    assert 'num_hidden_layers is "12,5", which is not a whole number' in text(shown, "#refused")
    assert shown.execute_script("return location.hash") == "#vocab_size=28996&num_hidden_layers=12%2C5"


def test_a_field_changes_counts_bytes_budget_and_what_to_keep(show: Show) -> None:
    shown = show()
    write(shown, LAYERS, "14")  # one layer has 12·768² + 13·768 = 7,087,872
    assert text(shown, "#total") == "123,690,042"
    assert text(shown, "#change") == "+14,175,744 (+12.9%) against the config"
    assert text(shown, "#budget") == "Budget\n110M\n13,690,042 beyond it"
    assert row(shown, "total") == ["total", "123,690,042", "100%", "+14,175,744", "110M", "-13,690,042"]
    assert f"{4 * 123_690_042:,}" in text(shown, "#bytes")
    assert "overrides.num_hidden_layers = 14" in text(shown, "#keep").splitlines()
    assert text(shown, ".changed .was") == "12 in the config"


def test_a_slider_is_moved_by_keys_and_stops_where_heads_divide_the_width(show: Show) -> None:
    shown = show()
    slider = shown.find_element("id", f"range-{WIDTH}")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert shown.find_element("id", f"number-{WIDTH}").get_property("value") == "960"  # the next of lcm(64, 12)
    assert slider.get_attribute("aria-valuetext") == "960"
    heads = shown.find_element("id", f"range-{HEADS}")
    heads.send_keys(Keys.ARROW_RIGHT)
    assert shown.find_element("id", f"number-{HEADS}").get_property("value") == "15"  # divides 960, as 13 and 14 do not
    assert text(shown, "#refused") == ""


def test_what_the_class_refuses_is_said_and_not_counted(show: Show) -> None:
    shown = show()
    write(shown, HEADS, "13")
    assert [line for line in text(shown, "#refused").splitlines() if line] == [
        "Not counted: hidden_size 768 is not a multiple of num_attention_heads 13",
        "→ write a multiple of 13",
    ]
    assert text(shown, "#total") == NOTHING
    headings = shown.find_elements("css selector", "#results h2")
    assert headings
    assert not any(heading.is_displayed() for heading in headings)
    write(shown, HEADS, "1e1")
    assert 'num_attention_heads is "1e1", which is not a whole number' in text(shown, "#refused")
    said = text(show("#num_hidden_layers=1001&vocab_size=0"), "#refused")
    assert "vocab_size is 0: a size is at least 1" in said
    assert "num_hidden_layers is 1,001: more than 1,000 layers are not built" in said
    show()
    write(shown, HEADS, "16")
    assert text(shown, "#total") == "109,514,298"


def test_the_address_holds_what_is_set_and_sets_what_it_holds(show: Show) -> None:
    shown = show()
    write(shown, LAYERS, "14")
    assert shown.execute_script("return location.hash") == "#num_hidden_layers=14"
    assert text(show("#num_hidden_layers=14"), "#total") == "123,690,042"
    shown.execute_script("location.hash = '#num_hidden_layers=13'")
    WebDriverWait(shown, 5).until(lambda _: text(shown, "#total") == "116,602,170")
    shown.find_element("id", "reset").click()
    assert (text(shown, "#total"), shown.execute_script("return location.hash")) == ("109,514,298", "")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("#layers=13", "layers=13"),
        ("#num_hidden_layers=1e3", "num_hidden_layers=1e3"),
        ("#num_hidden_layers=13&num_hidden_layers=14", "num_hidden_layers=14"),
        ("#%E0%A4%A=1", "%E0%A4%A=1"),
        ("#__proto__=1", "__proto__=1"),
    ],
)
def test_what_an_address_should_not_hold_is_said_and_left_alone(show: Show, address: str, said: str) -> None:
    shown = show(address)
    assert text(shown, "#unread") == f"Ignored in the address: {said}"
    assert text(shown, "#total") in {"109,514,298", "116,602,170"}


@pytest.mark.parametrize("address", ["#num_hidden_layers=14&hidden_size=1536", "#num_attention_heads=13&x=1"])
@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_sticks_out_of_the_page(show: Show, width: int, address: str) -> None:
    assert sticks_out(show(address, width=width), width) == []


@pytest.mark.parametrize(
    ("scheme", "address"), [("light", "#num_hidden_layers=14"), ("dark", "#num_attention_heads=13&x=1")]
)
def test_every_text_is_readable(show: Show, scheme: str, address: str) -> None:
    shown = show(address, scheme=scheme)
    assert (sum(paper_behind(shown, 50)) < 1) == (scheme == "dark")
    assert shown.get_log("browser") == []
