"""A headless Chromium for the tests of pages, and what they ask every page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.support.install_chromium import ABSENT, found

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync", "--disable-dev-shm-usage"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update"),
)
_READABLE = 4.5
"""Contrast of text, WCAG 2.2 level AA."""
_STICKING_OUT = """
const scrolls = element => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(element).overflowX)
return [...document.querySelectorAll('body *')].filter(element => {
  if (!element.checkVisibility()) return false
  for (let outer = element.parentElement; outer; outer = outer.parentElement) if (scrolls(outer)) return false
  const box = element.getBoundingClientRect()
  return box.width > 1 && (box.left < -0.5 || box.right > innerWidth + 0.5)
}).map(element => element.outerHTML.slice(0, 200))
"""
_UNREADABLE = """
const number = text => text.match(/[-\\d.]+/g).map(Number)
const colour = text => {
  const parts = number(text.replace(/^color\\(srgb/, ''))
  const scale = text.startsWith('color(srgb') ? 1 : 255
  return {rgb: parts.slice(0, 3).map(part => part / scale), alpha: parts.length > 3 ? parts[3] : 1}
}
const light = rgb => rgb.map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, index) => sum + c * [0.2126, 0.7152, 0.0722][index], 0)
const behind = element => {
  for (let outer = element; outer; outer = outer.parentElement) {
    const style = getComputedStyle(outer)
    if (style.backgroundImage !== 'none') return null
    const found = colour(style.backgroundColor)
    if (found.alpha === 1) return found.rgb
    if (found.alpha > 0) return null
  }
  return null
}
const wrong = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
let looked = 0
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement
  if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue
  looked += 1
  const back = behind(element)
  const [dark, bright] = back ? [light(colour(getComputedStyle(element).color).rgb), light(back)].sort((a, b) => a - b) : [0, 0]
  const ratio = (bright + 0.05) / (dark + 0.05)
  if (ratio < arguments[0]) wrong.push([texts.currentNode.data.trim(), ratio])
}
return [looked, wrong, behind(document.body)]
"""


@contextmanager
def chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """Yield one browser that keeps what it has in a folder; without one skip the test, or fail it in CI."""
    if not (programs := found()):
        (pytest.fail if "CI" in os.environ else pytest.skip)(ABSENT)
    options = Options()
    options.binary_location, driver = programs
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(driver)) as browser:
        yield browser


def seen_at(browser: webdriver.Chrome, width: int, scheme: str = "light", media: str = "") -> None:
    """Let the browser show what is opened next at a width, light or dark, on a screen or printed."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def sticks_out(shown: webdriver.Chrome, width: int) -> list[str]:
    """Return what a page of this width does not hold."""
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width
    found: list[str] = shown.execute_script(_STICKING_OUT)
    return found


def paper_behind(shown: webdriver.Chrome, least: int) -> list[float]:
    """Return the colour of a page, on which every text is readable, and of which there are more than ``least``."""
    looked, wrong, paper = shown.execute_script(_UNREADABLE, _READABLE)
    assert looked > least
    assert wrong == []
    found: list[float] = paper
    return found
