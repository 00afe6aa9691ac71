"""A marker that is nearly ours, and that nobody has registered: it would check nothing, and say nothing."""

from __future__ import annotations

import re
from difflib import get_close_matches

import pytest


def refuse(names: dict[str, pytest.Item], config: pytest.Config) -> None:
    """Refuse the run; in an xdist worker, which cannot, fail the test that carries the marker.

    :param names: of markers that have something of ours in their name, each with a test that carries it.
    :raises pytest.UsageError: with the test's place and what was probably meant.
    """
    registered = {re.split(r"[:(]", line)[0].strip() for line in config.getini("markers")}
    for name, item in names.items():
        if name not in registered and get_close_matches(name, ["bert_budget"], cutoff=0.8):
            path, line, _ = item.location
            stop(f"{path}:{(line or 0) + 1}: unknown marker {name!r}; did you mean 'bert_budget'?", item, config)


def stop(message: str, item: pytest.Item, config: pytest.Config) -> None:
    """Refuse the run for what came up when tests were collected.

    :raises pytest.UsageError: but in a worker, which fails the test in its place.
    """
    if not hasattr(config, "workerinput"):
        raise pytest.UsageError(message)
    config.pluginmanager.register(_Failing(item, message))


class _Failing:
    """Fails one test before any mark of it can have it skipped."""

    def __init__(self, item: pytest.Item, message: str) -> None:
        self.item = item
        self.message = message

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item is self.item:
            pytest.fail(self.message, pytrace=False)
