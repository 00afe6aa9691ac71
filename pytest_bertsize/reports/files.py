"""The report files of a run; a report replaces only an earlier report of its own format."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize import files
from pytest_bertsize.config.which_release import find_release
from pytest_bertsize.reports import ci, headline
from pytest_bertsize.reports.report import RunReport, to_plain
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import printable, reason

if TYPE_CHECKING:
    from pytest_bertsize.config.which_release import AskedAbout
    from pytest_bertsize.reports.report import ModelReport, RunBase
    from pytest_bertsize.table.settings import Settings

HEAD = 64 * 1024  # the bytes at the start of a file that are read to recognise an earlier report
SUFFIXES = ".json, .md or .html"
# Patterns of the first bytes of a report, by the suffix of its file.
_OURS = {
    ".json": r'\{\s*"schema".*?"versions":\s*\{\s*"pytest_bertsize":',
    ".md": "<!-- pytest-bertsize report -->",
    ".html": r'<!doctype html>.{,400}<meta name="generator" content="pytest-bertsize',
}
_WHAT_IF = r'<!doctype html>.{,400}<meta name="generator" content="bertsize explain'
HARMLESS_IN_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}  # so that a page can include JSON


def render_report(report: RunReport, suffix: str) -> str:
    """Render a report in the format that a file's suffix names; only that format's renderer is imported."""
    if suffix == ".json":  # an HTML page can include it unchanged
        return json.dumps(to_plain(report), ensure_ascii=False, indent=2).translate(HARMLESS_IN_HTML) + "\n"
    if suffix == ".md":
        from pytest_bertsize.reports.markdown import render_page
    else:
        from pytest_bertsize.reports.html.page import render_page
    return render_page(report)


# files of a run


class ReportFiles(Struct, frozen=True, dict=True):
    """The report files of one run."""

    paths: tuple[Path, ...]
    settings: Settings
    base: RunBase | None = None  # the revision that the run compares with
    step_summary: Path | None = None  # the file of GitHub's step summary, to which the report is appended after the run
    builds: bool = True  # true if the run builds its models
    asked: AskedAbout | None = None  # the release that closed forms describe; a run that builds reports its own
    problems: list[str] = []  # one sentence for each file that could not be written

    @cached_property
    def commit(self) -> str | None:
        """The checked-out commit."""
        from pytest_bertsize.base.git import find_commit

        return find_commit(self.settings.root)

    def __bool__(self) -> bool:
        return bool(self.paths or self.step_summary)

    def report_run(self, models: Sequence[ModelReport], versions: Mapping[str, str]) -> RunReport:
        """Return the report of the run over the checked ``models``, with the commit if a file is written."""
        checked, names = {model.name for model in models}, self.settings.models
        not_checked = [name for name in names if name not in checked]
        left = self.base.left_unexplained if self.base else []
        asked = {"closed_forms_of_transformers": str(self.asked)} if self.asked and not self.builds else {}
        known = {"pytest_bertsize": find_release("pytest_bertsize") or "", **asked, **versions}
        run = RunReport(
            schema=1,
            headline="",
            news="",
            changed=True,
            mode="full" if self.builds else "no-build",
            versions={**known, "python": versions.get("python", platform.python_version())},
            commit=self.commit if self else None,
            table_sha256=self.settings.table_sha256,
            base=self.base,
            configured=len(names),
            checked=len(models),
            failed=sum(model.verdict == "failed" for model in models) + len(left),
            not_checked=not_checked,
            models=list(models),
            complete=not not_checked,
        )
        lines = {"headline": headline.describe_run(run), "news": headline.describe_news(run)}
        return replace(run, **lines, changed=headline.has_news(run))

    def write(self, report: RunReport, *, is_final: bool = False) -> None:
        """Replace every file with a report; if ``is_final``, append it to the step summary too."""
        self.problems.clear()
        for path in (*self.paths, *([self.step_summary] if self.step_summary and is_final else [])):
            try:
                if path is self.step_summary:
                    ci.append_to_summary(path, report)
                else:
                    files.replace_file(path, render_report(report, path.suffix).encode(errors="backslashreplace"))
            except OSError as error:  # the run goes on
                self.problems.append(f"the report {path} could not be written: {error.strerror or error}")


def report_files(given: Sequence[str], folder: Path, settings: Settings, option: str) -> ReportFiles:
    """Return the report files that ``option`` names, relative to ``folder``; raise SettingsError if one is refused."""
    paths = []
    for name in given:
        path, written = folder / name, f"{option}={printable(name)}"
        if path.suffix not in _OURS:
            raise SettingsError(f"{written}: the file must end in {SUFFIXES}; write {option}=bertsize.json")
        _check_path(path, "a report of pytest-bertsize", _OURS[path.suffix], settings, written)
        paths.append(path)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return ReportFiles((*paths,), settings, step_summary=Path(summary) if summary else None)


def write_page(given: str, text: str) -> None:
    """Write the page of ``bertsize explain --page`` atomically; raise SettingsError if ``given`` cannot be one."""
    path, written = Path.cwd() / given, f"--page={printable(given)}"
    if not given.endswith(".html"):
        raise SettingsError(f"{written}: the file must end in .html; write --page=what-if.html")
    _check_path(path, "a page of bertsize explain", _WHAT_IF, None, written)
    try:
        files.replace_file(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        problem = f"the page {printable(str(path))} could not be written: {reason(error)}"
        raise SettingsError(f"{problem}; make its folder writable, or name another file") from None


def _check_path(path: Path, called: str, begins: str, settings: Settings | None, written: str) -> None:
    """Refuse a path unless a new file, or one that ``begins`` like ours (in words ``called``), may be written there."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()) or not path.parent.is_dir():
            problem = "this must be a regular file in an existing folder; create the folder, or name another file"
        elif settings and _leads_out(path.parent, settings.root):
            problem = "its folder is a symlink out of the project; name another folder"
        elif settings and path.resolve() in _list_inputs(settings):
            problem = "this file is an input of a model, and is never overwritten; name another file"
        elif path.exists() and (head := _read_head(path)) and not re.match(begins, head, re.DOTALL):
            problem = f"this file is not {called}, and is not overwritten; name another file"
        else:
            return
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, a NUL byte, a loop of symlinks
        problem = f"the path cannot be followed: {reason(error)}; name another file"
    raise SettingsError(f"{written}: {problem}")


def _read_head(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(HEAD).decode("utf-8", "replace")


def _list_inputs(settings: Settings) -> Iterator[Path]:
    """Yield the files from which declared models may be read."""
    for model in settings.models.values():
        for location in filter(None, (model.file, model.checkpoint, model.tokenizer, model.adapter_file)):
            named = settings.root / location
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # the model itself reports a broken path
                yield from (each.resolve() for each in (named, *(named / name for name in NAMES)))


def _leads_out(folder: Path, root: Path) -> bool:
    """Return whether a folder inside the project resolves to one outside it."""
    written_inside = Path(os.path.abspath(folder)).is_relative_to(root)  # noqa: PTH100  (symlinks left as they are)
    return written_inside and not folder.resolve().is_relative_to(root.resolve())
