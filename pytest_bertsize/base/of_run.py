"""What a run is held against beside its budgets: a base and a lock. Where it has none, nothing of them is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.base.revision import base_revision
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.table.settings import Settings


def base_of(today: Settings, asked: str | None, registry: Registry, option: str) -> Baseline | None:
    """What a run is compared with, ``None`` where that is nothing.

    :param asked: what the option says, ``None`` where it is not given.
    :param option: what messages call it: ``"--bert-budget-base"``.
    :raises SettingsError: when the revision that was asked for, or its table, cannot be read.
    """
    revision = base_revision(today.root, asked)
    if revision is None:
        return None
    from pytest_bertsize.base.baseline import read

    found = read(today, revision, registry, is_asked_for=asked is not None)
    if asked is not None and found.problem:
        raise SettingsError(f"{option}={printable(asked)}: {found.problem}")
    return found


def lock_of(settings: Settings) -> Lock | None:
    """What the table's lock says; ``None`` where it names none.

    :raises SettingsError: for a lock that cannot be read, with its line.
    """
    if settings.lock is None:
        return None
    from pytest_bertsize.base.locked_models import of_project

    return of_project(settings)
