"""A run is armed: every declared model is examined, and what there is to build is asked for."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.base.run_base import check_interpreter, read_base, read_lock, replace_interpreter
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.config.which_release import asked_about
from pytest_bertsize.plugin import ledger, refusals, xdist
from pytest_bertsize.plugin.failures import Attachments
from pytest_bertsize.plugin.items import GATE, Collector
from pytest_bertsize.plugin.selection import Selection, may_run_nothing
from pytest_bertsize.reports.from_review import report_base
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.table.model import Growth
from pytest_bertsize.table.settings import SettingsError, load
from pytest_bertsize.wording import MOST_NAMED, listed

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.review.accept import Verb
    from pytest_bertsize.table.settings import Settings


LEDGER = pytest.StashKey[ledger.Ledger]()


def arm_run(config: pytest.Config, helper: Helper | None) -> None:
    """Examine every declared model, and have it checked by an item of its own.

    What is registered has no name, so that no ``-p no:NAME`` takes a part of the gate away.

    :param helper: ``None`` in a worker of xdist, which reads what its controller had built.
    :raises pytest.UsageError: for any mistake in the table or in an option.
    """
    builds = not config.getoption("bert_budget_no_build")
    try:
        verb = _read_verb(config)
        refusals.refuse_other_tables(config)
        python, option = config.getoption("bert_budget_python"), "--bert-budget-python"
        settings = replace_interpreter(load(refusals.table_path(config)), python, option)
        lock = _read_lock(settings, verb)
        asked = asked_about(settings)
        registry = registry_of(settings, asked.release)
        base = read_base(settings, config.getoption("bert_budget_base"), registry, "--bert-budget-base")
        check_interpreter(settings, python, base, option, builds=builds)
        reports = replace(ledger.report_files_of(config, settings), base=report_base(base), builds=builds, asked=asked)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    if helper and builds and settings.interpreter:
        helper.build_with(settings.interpreter.path, settings.interpreter.written)
    detail = bool(reports) or config.get_verbosity() > 0
    result = helper.result if helper else xdist.read_results(config)
    mode = Mode(formulas=bool(reports), detail=detail, verb=verb)
    gate = Gate(settings, registry, result if builds else None, base, mode, lock)
    selection = Selection(config)
    config.pluginmanager.register(selection)
    if helper:
        config.stash[LEDGER] = ledger.Ledger(config, settings, helper.versions, reports, selection)
        config.pluginmanager.register(config.stash[LEDGER])
        config.pluginmanager.register(xdist.Controller([*gate.requests], helper))
        _ask_helper(helper, gate, config)
    if verb and helper:
        from pytest_bertsize.plugin import update

        rewriter = update.Rewriter(settings, verb, lock)
        config.stash[LEDGER].rewriter = rewriter
        config.pluginmanager.register(rewriter)
    config.stash[GATE] = gate
    config.pluginmanager.register(Collector(gate))
    config.pluginmanager.register(Attachments())


def _read_verb(config: pytest.Config) -> Verb | None:
    """What the run is to do with budgets.

    :raises SettingsError: when it may do nothing with them.
    """
    if not (config.getoption("bert_budget_update") or config.getoption("bert_budget_tighten")):
        return None
    from pytest_bertsize.plugin import update

    return update.verb_of_run(config)


def _read_lock(settings: Settings, verb: Verb | None) -> Lock | None:
    """What the table's lock says.

    :raises SettingsError: for one that cannot be read, and where what the run is to change cannot be replaced.
    """
    if verb:
        from pytest_bertsize.table import rewrite

        rewrite.refuse_another(settings.path, settings.text)
    lock = read_lock(settings)
    if verb == "update" and lock:
        from pytest_bertsize.table import rewrite

        rewrite.refuse_another(settings.root / lock.file, lock.text)
    return lock


def arm_tests(config: pytest.Config, helper: Helper) -> None:
    """Examine every declared model for the tests that name one."""
    config.pluginmanager.register(Attachments())
    try:
        settings = load(refusals.table_path(config))
        check_interpreter(settings, None, None, "", builds=True)
        registry = registry_of(settings, asked_about(settings).release)
        base = read_base(settings, None, registry, "--bert-budget-base") if _needs_base(settings) else None
        gate = Gate(settings, registry, helper.result, base, lock=read_lock(settings))
    except SettingsError as error:
        helper.stop()
        config.stash[GATE] = error
        return
    if settings.interpreter:
        helper.build_with(settings.interpreter.path, settings.interpreter.written)
    _ask_helper(helper, gate, config)
    config.stash[GATE] = gate


def _needs_base(settings: Settings) -> bool:
    """Whether what the table limits is not known without one."""
    return any(isinstance(limit.measure, Growth) for limit in settings.limits.values())


def status_of_run(config: pytest.Config) -> int:
    """The exit status of a run that pytest itself takes to be good: ``--help`` and ``--fixtures`` run nothing."""
    found = config.stash.get(LEDGER, None)
    if found is None and may_run_nothing(config):
        return pytest.ExitCode.OK
    if found is None:
        sys.stderr.write("NOT CHECKED: pytest did not start, and no model was checked\n")
        return pytest.ExitCode.TESTS_FAILED
    if (names := found.outcome.report.not_checked) and not found.told:
        sys.stderr.write(f"NOT CHECKED: {listed(names, MOST_NAMED)}\n")
    return found.status


def _ask_helper(helper: Helper, gate: Gate, config: pytest.Config) -> None:
    if not config.getoption("collectonly"):
        helper.ask([*gate.requests.values()])
