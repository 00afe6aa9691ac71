"""One helper process per run under pytest-xdist too: the controller builds, workers read."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder.messages import Built, NotBuilt, message, understood

if TYPE_CHECKING:
    from pytest_bertsize.builder.helper import Helper

RESULTS = "bertsize_results"
"""Key of ``workerinput``: the file in which workers find what was built."""


class Controller:
    """Hands the helper's results to the workers, if there are any."""

    def __init__(self, names: Sequence[str], helper: Helper) -> None:
        self.names = names
        self.helper = helper
        self.folder: Path | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="bertsize-"))
        node.workerinput[RESULTS] = str(self.folder / "results.json")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Workers start and collect while the models are built, and run no test before this hook is through."""
        if self.folder is not None:
            results = {name: message(self.helper.result(name), name) for name in self.names}
            (self.folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
        return (yield)

    def pytest_unconfigure(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def read_results(config: pytest.Config) -> Callable[[str], Built | NotBuilt]:
    """What the controller had built, as a worker reads it when it first needs it."""
    path = Path(config.workerinput[RESULTS])  # type: ignore[attr-defined]  # set by xdist in its workers

    @cache
    def everything() -> dict[str, Any]:
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def result(name: str) -> Built | NotBuilt:
        try:
            return understood(everything()[name], name)
        except OSError as error:
            return NotBuilt(f"the xdist worker cannot read what was built: {error}")

    return result
