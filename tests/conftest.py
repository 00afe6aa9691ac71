"""Shared by all tests."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import PathDistribution, distributions
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import pytest_bertsize
from pytest_bertsize.builder import helper
from pytest_bertsize.reports import ci
from tests.support.warm_helper import Warm, command, started

pytest_plugins = ["pytester"]

# Nothing here is timed. Under tox, which is what gates a merge, the same examples are drawn each time; at the desk new ones.
settings.register_profile(
    "bertsize",
    deadline=None,
    derandomize="TOX_ENV_NAME" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("bertsize")


def pytest_collection(session: pytest.Session) -> None:
    """Import the BERT classes, rich and our own modules once in a process that runs tests, which xdist's controller does not.

    pytester restores ``sys.modules`` after each inner run, and neither torch nor rich can be imported twice.
    """
    if not session.config.pluginmanager.has_plugin("dsession"):
        others = ("tomlkit", "rich.box", "rich.console", "rich.table", "transformers.models.bert.modeling_bert")
        ours = (each.name for each in pkgutil.walk_packages(pytest_bertsize.__path__, "pytest_bertsize."))
        for name in (*others, *(each for each in ours if "__main__" not in each and ".child" not in each)):
            importlib.import_module(name)


BERT_BASE: dict[str, Any] = {
    "architectures": ["BertForMaskedLM"],
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
"""bert-base-uncased (Devlin et al. 2018, table 1 and the published config.json)."""


TINY: dict[str, Any] = {
    **BERT_BASE,
    "vocab_size": 101,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 72,
    "max_position_embeddings": 40,
    "type_vocab_size": 5,
}
"""A BERT that is built in a few milliseconds; no size of it equals another. 59,549 parameters: 7,104 in its embeddings,
49,896 in its encoder, 2,549 in its head."""

TABLE = """
    [tool.bertsize.models.fits]
    config = "config.json"
    budget.total = "60K"
    [tool.bertsize.models.bursts]
    config = "config.json"
    budget.head = 2_548
    """
"""Over that model."""
FITS = TABLE.partition("[tool.bertsize.models.bursts]")[0]
BOUNDED = TABLE.replace('"60K"', '{ min = 59_000, max = "60K" }')


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the CI, the width and the colours of who runs these tests: the gate that they run would read them."""
    terminal = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS")
    for name in os.environ:
        if name.startswith(("GITHUB_", "CI_")) or name in {*ci.VARIABLES, *terminal}:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True, scope="session")
def what_is_installed() -> Iterator[None]:
    """Read the metadata of all that is installed once: each inner run looks through it for plugins, a third of its time."""
    known = cache(lambda _: [*distributions()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "importlib.metadata.distributions",
            lambda **context: distributions(**context) if context else known(tuple(sys.path)),
        )
        patch.setattr(PathDistribution, "read_text", cache(PathDistribution.read_text))
        yield


OTHERS = ("randomly", "html", "metadata", "pytest_cov", "rerunfailures", "anyio")
"""Plugins that are installed here: together they cost an inner run more than pytest and ours do."""


def without_others(*but: str) -> str:
    return " ".join(f"-p no:{name}" for name in OTHERS if name not in but)


@pytest.fixture(autouse=True)
def others_plugins_wait(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins that we have to get along with stay out of inner runs until a test wants them."""
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # which discards what is set before
    monkeypatch.setenv("PYTEST_ADDOPTS", without_others())


alone_and_spread = pytest.mark.parametrize(
    "workers", [pytest.param([], id="alone"), pytest.param(["-n2"], id="-n2", marks=pytest.mark.process)]
)
"""The same run in one process, and with xdist's workers."""


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The process that helpers are forked from (tests/support/warm_helper.py); it starts with the first."""
    with tempfile.TemporaryDirectory() as folder:
        warm = Warm(f"{folder}/socket")
        yield warm
        warm.stop()


@pytest.fixture(autouse=True)
def warm_helper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, warm: Warm) -> None:
    """Helpers of runs in this process, and of pytester's in one of their own, do not import torch again."""
    if "cold_helper" in request.fixturenames:
        return
    monkeypatch.setattr(helper, "start_process", partial(started, warm))
    if "pytester" in request.fixturenames:
        pytester = request.getfixturevalue("pytester")
        monkeypatch.setattr(pytester, "_getpytestargs", lambda: tuple(command(warm, "-m", "pytest")))


@pytest.fixture(autouse=True, scope="session")
def measured_to_the_end() -> Iterator[None]:
    """Let what is killed as soon as it has answered first say what it ran, where coverage is measured."""
    with pytest.MonkeyPatch.context() as patch:
        if "COVERAGE_PROCESS_CONFIG" in os.environ:
            from tests.support.measured import end_when_written

            patch.setattr("pytest_bertsize.builder.own_process.end_process", end_when_written)
        yield


@pytest.fixture
def cold_helper() -> None:
    """Start the helper's process by the real command, so that it imports everything, for a test of just that."""


@pytest.fixture
def tiny() -> dict[str, Any]:
    return {**TINY}


Project = Callable[..., pytest.Pytester]


@pytest.fixture
def project(pytester: pytest.Pytester, tiny: dict[str, Any]) -> Project:
    """Lay a project out: ``project(table, config, **files)``; the configs are ``config.json`` and what else is named."""

    def lay(table: str, config: dict[str, Any] | str | None = None, **files: str) -> pytest.Pytester:
        written = config if isinstance(config, str) else json.dumps(tiny if config is None else config, indent=2)
        Path("config.json").write_text(written, encoding="utf-8")
        Path("pyproject.toml").write_text("[tool.pytest.ini_options]\n" + textwrap.dedent(table), encoding="utf-8")
        for name, text in files.items():
            Path(f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return pytester

    return lay
