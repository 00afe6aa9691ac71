"""How a run is opened: by ``--bert-budget`` for every declared model, or by tests with the marker or the fixture.

The helper process starts first: it imports torch while the gate itself is imported here.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.table.interpreter import may_be_named

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENED = pytest.StashKey[bool]()


def open_for_run(config: pytest.Config) -> None:
    """Arm the whole run: ``--bert-budget``.

    :raises pytest.UsageError: for any mistake in the table or in an option.
    """
    config.stash[OPENED] = True
    is_worker = hasattr(config, "workerinput")
    helper = None if is_worker else _started(config, builds=not config.getoption("bert_budget_no_build"))
    with _collector_paused():
        from pytest_bertsize.plugin import session

        session.arm_run(config, helper)


def open_for_tests(config: pytest.Config) -> None:
    """Arm the tests that carry the marker or use the fixture; a mistake in the table is theirs to report.

    Markers and fixtures may come up late: what is armed already is left as it is.
    """
    if OPENED in config.stash:
        return
    config.stash[OPENED] = True
    helper = _started(config, builds=True)
    from pytest_bertsize.plugin import session

    session.arm_tests(config, helper)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """What is imported stays, and looking through it for garbage again and again takes a tenth of the time.

    It is put with what is old, as if the collector had looked through it twice, unless somebody has frozen something.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _started(config: pytest.Config, *, builds: bool) -> Helper:
    helper = Helper()
    config.add_cleanup(helper.stop)
    named = config.getoption("bert_budget_python") or may_be_named(config.rootpath / "pyproject.toml")
    if builds and not named and not config.getoption("collectonly"):
        helper.start()
    return helper
