"""The setup of a run: examine every declared model, and request the builds."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from pytest_bertsize.base.lock import read_lock
from pytest_bertsize.base.run_base import NONE, open_project, read_base
from pytest_bertsize.builder.messages import Built, NotBuilt
from pytest_bertsize.plugin.failures import Attachments
from pytest_bertsize.plugin.items import Collector, refuse_other_tables, table_path
from pytest_bertsize.plugin.ledger import Ledger, Rewriter
from pytest_bertsize.plugin.selection import RESULTS, Selection, is_lenient, only_lists
from pytest_bertsize.plugin.startup import GATE
from pytest_bertsize.reports.ci import refuse_ci
from pytest_bertsize.reports.files import report_files
from pytest_bertsize.reports.from_review import report_base
from pytest_bertsize.reports.outcome import name_unchecked
from pytest_bertsize.review.accept import Verb, check_reason, read_lock_to_change
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.table.limits import Growth
from pytest_bertsize.table.settings import SettingsError

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper

LEDGER = pytest.StashKey[Ledger]()


def arm_run(config: pytest.Config, helper: Helper | None) -> None:
    """Examine every declared model; register its items, and plugins. Without a helper, xdist's controller builds."""
    builds = not config.getoption("bert_budget_no_build")
    try:
        verb = read_verb(config)
        reason = check_reason(config.getoption("bert_budget_reason"), "--bert-budget-reason")
        refuse_other_tables(config)
        base, python = config.getoption("bert_budget_base"), config.getoption("bert_budget_python")
        project = open_project(table_path(config), base, python, "--bert-budget-", builds=builds)
        settings = project.settings
        lock = read_lock_to_change(settings, verb) if verb else read_lock(settings)
        written, folder = config.getoption("bert_budget_report"), config.invocation_params.dir
        files = report_files(written, folder, settings, "--bert-budget-report")
        reports = replace(files, base=report_base(project.base), builds=builds, asked=project.about)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    detail, strict = bool(reports) or config.get_verbosity() > 0, config.getoption("bert_budget_strict")
    mode = Mode(formulas=bool(reports), detail=detail, verb=verb, strict=strict, reason=reason)
    result = helper.result if helper else read_results(config)
    config.stash[GATE] = gate = Gate(project, result if builds else None, mode, lock)
    selection, plugins = Selection(config), list[object]()
    if helper:
        rewriter = Rewriter(settings, verb, lock, reason) if verb else None
        config.stash[LEDGER] = Ledger(selection, helper.versions, reports, rewriter)
        controller = Controller([*gate.find_requests(gate.settings.models)], helper)
        plugins = [*filter(None, [rewriter]), config.stash[LEDGER], controller]
        _ask_helper(helper, gate, config)
    for each in (*plugins, selection, Collector(), Attachments()):  # without names: no ``-p no:NAME`` disables them
        config.pluginmanager.register(each)


def read_verb(config: pytest.Config) -> Verb | None:
    """Return what the run does to budgets, or ``None``; raise SettingsError for options that exclude each other."""
    verbs: list[Verb] = [verb for verb in get_args(Verb) if config.getoption(f"bert_budget_{verb}")]
    if config.getoption("bert_budget_reason") is not None and "update" not in verbs:
        raise SettingsError("--bert-budget-reason needs --bert-budget-update: it is the reason for raising a budget")
    if not verbs:
        return None
    option = f"--bert-budget-{verbs[0]}"
    if verbs[1:]:
        both = f"{option} and --bert-budget-tighten"
        raise SettingsError(f"{both}: one raises budgets and the other lowers them; use only one of the two options")
    if config.getoption("bert_budget_no_build"):
        raise SettingsError(f"{option} needs a build: only a built count may change a budget")
    refuse_ci(option)
    return verbs[0]


def arm_tests(config: pytest.Config, helper: Helper) -> None:
    """Examine every declared model, for tests that name one."""
    config.pluginmanager.register(Attachments())
    try:
        project = open_project(table_path(config), NONE, None, "", builds=True)
        settings = project.settings
        if any(isinstance(limit.measure, Growth) for limit in settings.limits.values()):
            project = project._replace(base=read_base(settings, None, project.registry, "--bert-budget-base"))
        config.stash[GATE] = gate = Gate(project, helper.result, lock=read_lock(settings))
    except SettingsError as error:
        helper.stop()
        config.stash[GATE] = error
    else:
        _ask_helper(helper, gate, config)


def _ask_helper(helper: Helper, gate: Gate, config: pytest.Config) -> None:
    if helper.memory and not config.getoption("bert_budget_cache"):
        with contextlib.suppress(OSError):  # a folder that may not be written: nothing is remembered
            config.cache.mkdir("bertsize")  # with its .gitignore
    if not config.getoption("collectonly"):
        gate.request_builds(helper, gate.settings.models)


def status_of_run(config: pytest.Config) -> int:
    """Return the status of a run without tests, such as ``--help`` and ``--fixtures``."""
    found = config.stash.get(LEDGER, None)
    if found is None:
        if only_lists(config) or is_lenient(config):
            return pytest.ExitCode.OK
        sys.stderr.write("NOT CHECKED: pytest did not start, and no model was checked\n")
        return pytest.ExitCode.TESTS_FAILED
    if not found.terminal:
        sys.stderr.write("".join(f"{line.text}\n" for line in name_unchecked(found.outcome)))
    return found.status


# pytest-xdist: the controller builds, its workers read


class Controller:
    """Passes the helper's results to the workers."""

    def __init__(self, names: Sequence[str], helper: Helper) -> None:
        self.names, self.helper = names, helper
        self.folder: Path | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="bertsize-"))
            node.config.add_cleanup(partial(shutil.rmtree, self.folder, ignore_errors=True))
        node.workerinput[RESULTS] = str(self.folder / "results.json")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Wait for the builds; workers start and collect meanwhile, but run no test before this hook ends."""
        if self.folder is not None:
            found = {name: self.helper.result(name) for name in self.names}
            kinds = Built, NotBuilt
            by_kind = [{name: each for name, each in found.items() if isinstance(each, kind)} for kind in kinds]
            (self.folder / "results.json").write_bytes(msgspec.json.encode(by_kind))
        return (yield)


def read_results(config: pytest.Config) -> Callable[[str], Built | NotBuilt]:
    """Return a function that reads the controller's builds when a worker's test first needs one."""
    path = Path(config.workerinput[RESULTS])  # type: ignore[attr-defined]  # set by xdist in its workers

    @cache
    def read_all() -> dict[str, Built | NotBuilt]:
        built, failed = msgspec.json.decode(path.read_bytes(), type=tuple[dict[str, Built], dict[str, NotBuilt]])
        return {**built, **failed}

    def result(name: str) -> Built | NotBuilt:
        try:
            return read_all()[name]
        except OSError as error:
            return NotBuilt(f"the xdist worker cannot read the builds: {error}")

    return result
