"""One helper process per run under pytest-xdist too: the controller builds, workers read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_bertsize.builder.messages import Answer, Built, NotBuilt, Why, wrap_result

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
            answers = {name: wrap_result(self.helper.result(name)) for name in self.names}
            (self.folder / "results.json").write_bytes(msgspec.json.encode(answers))
        return (yield)

    def pytest_unconfigure(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def read_results(config: pytest.Config) -> Callable[[str], Built | NotBuilt]:
    """What the controller had built, as a worker reads it when it first needs it."""
    path = Path(config.workerinput[RESULTS])  # type: ignore[attr-defined]  # set by xdist in its workers

    @cache
    def read_answers() -> dict[str, Answer]:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Answer])

    def result(name: str) -> Built | NotBuilt:
        try:
            built, failed = read_answers()[name]
        except OSError as error:
            return NotBuilt(Why.NONSENSE, f"the xdist worker cannot read what was built: {error}")
        return built or failed or NotBuilt(Why.NEVER_ASKED)

    return result
