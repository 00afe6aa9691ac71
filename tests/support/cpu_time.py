"""What the tests cost: the CPU time of their processes and of those that they start, file by file.

With ``--cpu-time`` it is printed at the end, beside that of an import of BERT: their ratio depends on no machine.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.warm_helper import Warm

MEASURE = [sys.executable, "-c", "from transformers import BertForMaskedLM"]
KEY = "cpu_time"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-time", action="store_true", help="say what the tests cost, file by file")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cpu-time"):
        config.pluginmanager.register(CpuTime(config))


class CpuTime:
    """Of one process that runs tests; that of xdist's controller adds up what its workers say."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.by_file: defaultdict[str, float] = defaultdict(float)
        self.warm: Warm | None = None
        self.before = self.taken()

    def taken(self) -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in both) + (self.warm.cpu_time() if self.warm else 0.0)

    def add(self, what: str) -> None:
        now = self.taken()
        self.by_file[what] += now - self.before
        self.before = now

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        found = yield
        self.add(item.nodeid.partition("::")[0])
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        found = yield
        if fixturedef.argname == "warm":
            self.warm = found
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        found = yield
        self.by_file["start and collection"] += self.taken()
        self.before = self.taken()
        return found

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[KEY] = dict(self.by_file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for what, seconds in node.workeroutput.get(KEY, {}).items():
            self.by_file[what] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(MEASURE, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        unit = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        terminalreporter.section("CPU time, in seconds and in imports of BERT")
        rows = sorted(self.by_file.items(), key=lambda row: -row[1])
        for name, seconds in [*rows, ("all", sum(self.by_file.values()))]:
            terminalreporter.write_line(f"{seconds:8.1f} {seconds / unit:7.1f}  {name}")
