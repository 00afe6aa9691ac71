"""The gate in pytest: a declared model as a test item; a Review becomes pass or fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.plugin.refusals import refuse_tables_beside_tests
from pytest_bertsize.review.gate import Gate
from pytest_bertsize.table.settings import SettingsError

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Review


GATE = pytest.StashKey[Gate | SettingsError]()
REVIEW = pytest.StashKey["Review"]()


class BudgetFailure(Exception):
    """A review that did not pass: a test failure without a traceback."""

    def __init__(self, review: Review) -> None:
        super().__init__(review.headline)
        self.review = review


# declared models as test items


class Collector:
    """Collects the declared models whatever ``testpaths`` and the command line say."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BudgetFile | None:
        if file_path != self.gate.settings.path:
            return None
        return BudgetFile.from_parent(parent, path=file_path, gate=self.gate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        refuse_tables_beside_tests(session.config, items)
        if not any(isinstance(item, BudgetItem) for item in items):
            file = BudgetFile.from_parent(session, path=self.gate.settings.path, gate=self.gate)
            items.extend(session.genitems(file))


class BudgetFile(pytest.File):
    """The project's pyproject.toml."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def collect(self) -> Iterator[pytest.Item]:
        for name in self.gate.settings.names:
            yield BudgetItem.from_parent(self, name=name, gate=self.gate)


class BudgetItem(pytest.Item):
    """One declared model: ``pyproject.toml::NAME``."""

    def __init__(self, *, gate: Gate, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gate = gate

    def runtest(self) -> None:
        hold(self, self.gate.review(self.name))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The headline: pytest need not draw a traceback that nobody is shown."""
        failure = excinfo.value
        return failure.review.headline if isinstance(failure, BudgetFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"bert budget: {self.name}"


def hold(item: pytest.Item, review: Review) -> None:
    item.stash[REVIEW] = review
    if review.verdict == "failed":
        raise BudgetFailure(review)
