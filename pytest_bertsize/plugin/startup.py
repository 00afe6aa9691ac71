"""How a run is opened: by ``--bert-budget`` for every declared model, or by tests with the marker or the fixture.

The helper process starts first: it imports torch while conftests are loaded, and the gate itself is imported here.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from pytest_bertsize.builder.confined import collector_paused
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.own_process import environment
from pytest_bertsize.table.model import may_be_named

OPENED = pytest.StashKey[bool]()


class Early(NamedTuple):
    """A helper that was started before any conftest was loaded, and what it has inherited."""

    helper: Helper
    environment: Mapping[str, str]
    folder: str


EARLY = pytest.StashKey[Early]()


def start_early(config: pytest.Config) -> None:
    """Start the helper process as soon as the command line is known; a worker of xdist has none."""
    if "PYTEST_XDIST_WORKER" not in os.environ and _builds_here(config, config.known_args_namespace):
        config.stash[EARLY] = Early(_start_helper(config), environment(), os.getcwd())  # noqa: PTH109  (as it is)


def open_for_run(config: pytest.Config) -> None:
    """Arm the whole run: ``--bert-budget``.

    :raises pytest.UsageError: for any mistake in the table or in an option.
    """
    config.stash[OPENED] = True
    helper = None if hasattr(config, "workerinput") else _take_helper(config)
    with collector_paused():
        from pytest_bertsize.plugin import session

        session.arm_run(config, helper)


def open_for_tests(config: pytest.Config) -> None:
    """Arm the tests that carry the marker or use the fixture; a mistake in the table is theirs to report.

    Markers and fixtures may come up late: what is armed already is left as it is.
    """
    if OPENED in config.stash:
        return
    config.stash[OPENED] = True
    helper = _take_helper(config)
    from pytest_bertsize.plugin import session

    session.arm_tests(config, helper)


def _take_helper(config: pytest.Config) -> Helper:
    """The helper of the run, which is started where there is something to build by this interpreter."""
    early = config.stash.get(EARLY, None)
    if early and (early.environment, early.folder) == (environment(), os.getcwd()):  # noqa: PTH109
        return early.helper
    if early:  # a conftest has changed what the process would have inherited
        early.helper.stop()
    return _start_helper(config) if _builds_here(config, config.option) else _new_helper(config)


def _builds_here(config: pytest.Config, given: Namespace) -> bool:
    """Whether models are built, as far as the options say, and the table by a glance."""
    if given.bert_budget_no_build or given.collectonly or given.bert_budget_python:
        return False
    return not may_be_named(config.rootpath / "pyproject.toml")


def _start_helper(config: pytest.Config) -> Helper:
    helper = _new_helper(config)
    helper.start()
    return helper


def _new_helper(config: pytest.Config) -> Helper:
    """One that does not outlive the run, however that ends."""
    helper = Helper()
    config.add_cleanup(helper.stop)
    return helper
