"""Closed forms that conftest files and installed plugins contribute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.contributed.asked import registry_of
from pytest_bertsize.closed_forms.contributed.hook import HOOK, NoForms, families_in
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.release import Release
    from pytest_bertsize.table.settings import Settings


def registry(config: pytest.Config, settings: Settings, release: Release) -> Registry:
    """The built-in closed forms, those that the table names, and those that the run's plugins contribute.

    :param release: of transformers, that they are asked about.

    :raises SettingsError: when two are for the same architecture, or one is no closed form at all.
    """
    return registry_of(settings, release, _contributed(config))


def _contributed(config: pytest.Config) -> Iterator[tuple[str, Family]]:
    """Ask each plugin on its own, to know who says what."""
    manager = config.pluginmanager
    for implementation in getattr(config.hook, HOOK).get_hookimpls():
        others = [plugin for plugin in manager.get_plugins() if plugin is not implementation.plugin]
        name = _name(implementation.plugin_name, config)
        for family in _asked(manager.subset_hook_caller(HOOK, others), name):
            yield name, family


def _asked(hook: Callable[[], list[object]], origin: str) -> list[Family]:
    try:
        answers = hook()
    except Exception as error:
        message = printable(f"{origin}: {HOOK} raised {type(error).__name__}: {error}")
        raise SettingsError(message) from error
    try:
        return [family for answer in answers for family in families_in(answer)]
    except NoForms as none:
        raise SettingsError(f"{origin}: {none}") from None


def _name(plugin: str, config: pytest.Config) -> str:
    """``tests/conftest.py`` for a conftest, which pytest registers under its full path."""
    path = Path(plugin)
    inside = path.is_absolute() and path.is_relative_to(config.rootpath)
    return printable(str(path.relative_to(config.rootpath)) if inside else plugin)
