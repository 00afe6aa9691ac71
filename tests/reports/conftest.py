"""The browser of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium import webdriver


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    from tests.support.browsers import chromium  # selenium is slow to import

    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
