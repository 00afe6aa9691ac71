"""A run's report files: where they may stand, and what stands there while the run goes on and when it is over."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bertsize import files
from pytest_bertsize.reports import formats, github, json
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable, reason

if TYPE_CHECKING:
    from pytest_bertsize.config.which_release import AskedAbout
    from pytest_bertsize.reports.shape import ModelReport, RunBase, RunReport
    from pytest_bertsize.table.settings import Settings


@dataclass(frozen=True)
class ReportFiles:
    """The files that one run was asked to write."""

    paths: tuple[Path, ...]
    settings: Settings
    base: RunBase | None = None
    """What the run is compared with."""
    step_summary: Path | None = None
    """GitHub's page of the step, to which the report is appended when the run is over."""
    builds: bool = True
    """Whether the run builds what it reports on."""
    asked: AskedAbout | None = None
    """The release of transformers that closed forms are asked about; of a build, its process says which it imported."""
    problems: list[str] = field(default_factory=list)
    """Those that could not be written, a sentence each."""

    @cached_property
    def commit(self) -> str | None:
        """Asked of git where a report is written, which no xdist worker does."""
        from pytest_bertsize.base.git import find_head

        return find_head(self.settings.root)

    def __bool__(self) -> bool:
        return bool(self.paths or self.step_summary)

    @property
    def assumed(self) -> str:
        """The release that was taken for the one that builds, where nothing builds and none is installed."""
        return str(self.asked) if self.asked and self.asked.because and not self.builds else ""

    def report(self, models: Sequence[ModelReport], versions: Mapping[str, str]) -> RunReport:
        said = {"closed_forms_of_transformers": str(self.asked)} if self.asked and not self.builds else {}
        return json.document(models, self.settings, {**said, **versions}, self.commit, self.base, builds=self.builds)

    def write(self, models: Sequence[ModelReport], versions: Mapping[str, str]) -> None:
        """Replace every file by a report of what is known so far; it says that it is incomplete as long as it is."""
        self.problems.clear()
        if not self.paths:
            return
        report = self.report(models, versions)
        for path in self.paths:
            found = formats.format_of(path) or formats.JSON
            with self._told(path):
                text = found.reporter.render(report, self.settings.root)
                files.replace_file(path, text.encode(errors="backslashreplace"))

    def finish(self, models: Sequence[ModelReport], versions: Mapping[str, str]) -> None:
        """Write what the run has found, once it is over."""
        self.write(models, versions)
        if self.step_summary:
            with self._told(self.step_summary):
                github.append_to_summary(self.step_summary, self.report(models, versions))

    @contextlib.contextmanager
    def _told(self, path: Path) -> Iterator[None]:
        """A file that cannot be written is a problem of the run, and not its end."""
        try:
            yield
        except OSError as error:
            self.problems.append(f"the report {path} could not be written: {error.strerror or error}")


def report_files(given: Sequence[str], folder: Path, settings: Settings, option: str) -> ReportFiles:
    """The files that an option names, relative to where the command was called.

    :param option: what messages call the option: ``"--bert-budget-report"``.
    :raises SettingsError: for one that cannot be written, that has another suffix, or that is no report of ours.
    """
    paths = tuple(_report_path(each, folder, settings, option) for each in given)
    return ReportFiles(paths, settings, step_summary=github.summary_path())


def page_path(given: str, folder: Path, kind: formats.Format, example: str, settings: Settings | None = None) -> Path:
    """The page that a command is asked to write by ``--page``.

    :param example: a name for it.
    :param settings: whose models' files are never overwritten; ``None`` where no table is read.
    :raises SettingsError: for one that cannot be written, that has another suffix, or that is no page of this kind.
    """
    said = f"--page={printable(given)}"
    if not given.endswith(formats.PAGE):
        raise SettingsError(f"{said}: the file must end in {formats.PAGE}; write --page={example}")
    return _free(folder / given, kind, settings, said)


def write_page(path: Path, text: str) -> None:
    """Replace a page, at once or not at all.

    :raises SettingsError: where it cannot be written.
    """
    try:
        files.replace_file(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        said = f"the page {printable(str(path))} could not be written: {reason(error)}"
        raise SettingsError(f"{said}; make its folder writable, or name another file") from None


def _report_path(given: str, folder: Path, settings: Settings, option: str) -> Path:
    said = f"{option}={printable(given)}"
    found = formats.format_of(folder / given)
    if found is None:
        raise SettingsError(f"{said}: the file must end in {formats.SUFFIXES}; write {option}=bertsize.json")
    return _free(folder / given, found, settings, said)


def _free(path: Path, kind: formats.Format, settings: Settings | None, said: str) -> Path:
    """:param said: the option with what it was given."""
    try:
        if wrong := _wrong(path, kind, settings):
            raise SettingsError(f"{said}: {wrong}")
    except (OSError, ValueError, RuntimeError) as error:  # a name that is too long, a NUL byte, a loop of symlinks
        raise SettingsError(f"{said}: the path cannot be followed: {reason(error)}; name another file") from None
    return path


def _wrong(path: Path, kind: formats.Format, settings: Settings | None) -> str:
    """Why a report or a page may not stand there, and the way out; ``""`` if it may."""
    if path.is_symlink() or (path.exists() and not path.is_file()) or not path.parent.is_dir():
        return "not a file in an existing folder; create the folder, or name another"
    if settings and _leads_out(path.parent, settings.root):
        return "its folder leads out of the project by a symlink; name another"
    if settings and path.resolve() in _inputs(settings):
        return "that belongs to a model, and is never overwritten; name another file"
    if path.exists() and not formats.may_be_replaced(path, kind):
        return f"that is not {kind.called}, and is not overwritten; name another file"
    return ""


def _inputs(settings: Settings) -> Iterator[Path]:
    adapters = (model.adapter for model in settings.models.values() if isinstance(model.adapter, str))
    models = settings.models.values()
    named_by = (each for model in models for each in (model.file, model.checkpoint, model.tokenizer))
    for location in filter(None, (*named_by, *adapters)):
        named = settings.root / location
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # what leads nowhere is that model's failure
            yield from (each.resolve() for each in (named, *(named / name for name in NAMES)))


def _leads_out(folder: Path, root: Path) -> bool:
    """Whether a folder that is written as one of the project is another one's."""
    written_inside = Path(os.path.abspath(folder)).is_relative_to(root)  # noqa: PTH100  (symlinks left as they are)
    return written_inside and not folder.resolve().is_relative_to(root.resolve())
