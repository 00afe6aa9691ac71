"""The early start of the helper process: it imports torch while pytest loads conftests and the gate."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.memory import FOLDER, Memory
from pytest_bertsize.builder.own_process import environment
from pytest_bertsize.reports.ci import sign_of_ci
from pytest_bertsize.table.interpreter import may_be_named

if TYPE_CHECKING:
    from pytest_bertsize.review.gate import Gate
    from pytest_bertsize.table.settings import SettingsError

Surroundings = tuple[dict[str, str], str]  # environment and working directory, which a process inherits
EARLY = pytest.StashKey[tuple[Helper, Surroundings]]()  # a helper that started before any conftest
GATE: pytest.StashKey[Gate | SettingsError] = pytest.StashKey()


def start_early(config: pytest.Config) -> None:
    """Start the helper process as soon as the command line is known, except in a worker of xdist."""
    if "PYTEST_XDIST_WORKER" not in os.environ and _builds_here(config, config.known_args_namespace):
        config.stash[EARLY] = _make_helper(config, config.known_args_namespace), (environment(), os.getcwd())  # noqa: PTH109  (as it is)


def take_helper(config: pytest.Config) -> Helper:
    """Return the early helper, or a new one if a conftest changed the environment that it inherited."""
    if EARLY in config.stash:
        helper, inherited = config.stash[EARLY]
        if inherited == (environment(), os.getcwd()):  # noqa: PTH109
            return helper
        helper.stop()  # a conftest changed the environment
    return _make_helper(config, config.option)


def _make_helper(config: pytest.Config, given: Namespace) -> Helper:
    """Return a helper that ends with the run; start it now if the run probably builds and the store has no build."""
    memory = _find_memory(config, given)
    helper = Helper(memory=memory)
    config.add_cleanup(helper.stop)
    if memory and getattr(given, "cacheclear", False):
        memory.clear()  # pytest clears its own folder, which --bert-budget-cache may not be in
    if not (memory and memory.has_entries()) and _builds_here(config, given):
        helper.start()
    return helper


def _find_memory(config: pytest.Config, given: Namespace) -> Memory | None:
    """Return the store of earlier builds; none in a run that changes budgets and, unless its folder is named, in CI."""
    if given.bert_budget_no_cache or given.bert_budget_update or given.bert_budget_tighten:
        return None
    if given.bert_budget_cache:
        return Memory(config.invocation_params.dir / given.bert_budget_cache)
    if sign_of_ci() or not config.pluginmanager.has_plugin("cacheprovider"):
        return None
    folder = os.path.expandvars(os.path.expanduser(config.getini("cache_dir")))  # noqa: PTH111
    return Memory(config.rootpath / folder / FOLDER)


def _builds_here(config: pytest.Config, given: Namespace) -> bool:
    """Guess from the options and the table's text whether models are built."""
    if given.bert_budget_no_build or given.collectonly or given.bert_budget_python:
        return False
    return not may_be_named(config.rootpath / "pyproject.toml")
