"""Where a run's report files go: an existing folder, a known suffix, and never over an input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_bertsize.settings import Settings


def report_paths(given: Sequence[str], folder: Path, settings: Settings, option: str) -> list[Path]:
    """The files that an option names, relative to where the command was called.

    :param option: what messages call the option: ``"--bert-budget-report"``.
    :raises SettingsError: for one that cannot be written, that has another suffix, or that is an input.
    """
    return [_report_path(each, folder, settings, option) for each in given]


def _report_path(given: str, folder: Path, settings: Settings, option: str) -> Path:
    path = folder / given
    if not given or path.suffix != ".json":
        raise SettingsError(f"{option}={given}: the file must end in .json; write {option}=bertsize.json")
    if path.is_symlink() or path.is_dir() or not path.parent.is_dir():
        raise SettingsError(f"{option}={given}: not a file in an existing folder; create the folder, or name another")
    inputs = {(settings.root / model.config.partition("#")[0]).resolve() for model in settings.models.values()}
    if path.resolve() in inputs:
        raise SettingsError(
            f"{option}={given}: that is a model's config, which is never overwritten; name another file"
        )
    return path
