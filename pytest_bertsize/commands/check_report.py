"""Whether a JSON report says what it is taken to say: whole, and of this commit, this table and these configs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_bertsize import __version__
from pytest_bertsize.base import git as repository
from pytest_bertsize.config import source
from pytest_bertsize.findings import Unusable
from pytest_bertsize.reports.json import SCHEMA
from pytest_bertsize.table.settings import Settings, SettingsError, load
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_bertsize.table.model import Model

GOOD, FOUND, MISTAKEN = 0, 1, 2
"""Exit status: a sound report of a run that passed; refused, or of one that failed; a mistake in the command."""
LARGEST = 256 * 1024 * 1024
"""Bytes; a report of 1,000 models has 30 MB."""


@dataclass(frozen=True, slots=True)
class ReportOrder:
    """What the command line asks for."""

    report: Path
    root: Path
    """The folder of the pyproject.toml."""
    commit: str | None = None
    """The commit that the report has to be of; the one that is checked out, where it is not said."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Finding(_Strict):
    severity: Literal["error", "warning", "note"]


class _Model(_Strict):
    name: str
    verdict: Literal["passed", "failed"]
    config_sha256: str
    findings: list[_Finding]


class _Versions(_Strict):
    pytest_bertsize: str


class _Report(_Strict):
    """What is looked at of a report; other keys are for other readers."""

    schema_: int = Field(alias="schema")
    mode: str
    versions: _Versions
    commit: str | None
    table_sha256: str
    configured: int
    checked: int
    failed: int
    not_checked: list[str]
    models: list[_Model]
    complete: bool


def check_report(order: ReportOrder, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """Say what a report is worth.

    :returns: the exit status.
    """
    try:
        settings = load(order.root / "pyproject.toml")
    except SettingsError as error:
        print(f"ERROR: {error}", file=err)
        return MISTAKEN
    try:
        report = _read(order.report)
    except _NoReport as error:
        reasons = [str(error)]
    else:
        reasons = [*_reasons(report, settings, order)]
    name = printable(str(order.report))
    for reason in reasons:
        print(f"REFUSED {name}: {reason}", file=out)
    if reasons:
        return FOUND
    commit = f"; commit {report.commit}" if report.commit else ""
    print(f"{name}: {report.configured} configured, {report.checked} checked, {report.failed} failed{commit}", file=out)
    return FOUND if report.failed else GOOD


class _NoReport(Exception):
    """The file is missing, or it is something else."""


def _read(path: Path) -> _Report:
    try:
        if not path.is_file():
            raise _NoReport("there is no such file")
        if path.stat().st_size > LARGEST:
            raise _NoReport(f"it is larger than {LARGEST:,} bytes")
        return _Report.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise _NoReport(f"it is no whole report: {_first(error.errors()[0])}") from None
    except (OSError, ValueError) as error:
        raise _NoReport(f"it cannot be read: {printable(str(error))}") from None


def _first(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    return printable(f"{where}: {error['msg']}" if where else error["msg"])


def _reasons(report: _Report, settings: Settings, order: ReportOrder) -> Iterator[str]:
    """Everything that keeps a report from being taken for one of this project as it stands."""
    if report.schema_ != SCHEMA:
        yield f"its schema is {report.schema_}, and this is schema {SCHEMA}"
    if report.versions.pytest_bertsize != __version__:
        version = printable(report.versions.pytest_bertsize)
        yield f"it was written by pytest-bertsize {version}, and this is {__version__}"
    if report.mode != "full":
        yield f"its mode is {shown(report.mode)}: nothing was built, and no closed form compared with a build"
    commit = order.commit or repository.commit(settings.root)
    if report.commit != commit:
        yield f"it is of {_named(report.commit)}, and this is {_named(commit)}"
    if report.table_sha256 != settings.table_sha256:
        yield f"it is of another [tool.bertsize] than {settings.file} has now"
    yield from _holes(report, settings)
    for model in report.models:
        declared = settings.models.get(model.name)
        if declared and not _is_of_its_config(model.config_sha256, declared, settings):
            config = printable(declared.config)
            yield f"{printable(model.name)}: it is of another {config} than there is now"


def _named(commit: str | None) -> str:
    return f"commit {printable(commit)}" if commit else "no commit"


def _holes(report: _Report, settings: Settings) -> Iterator[str]:
    """What was configured and not checked, and counts that do not add up."""
    names = [model.name for model in report.models]
    missing = [name for name in settings.names if name not in names]
    if missing:
        yield f"NOT CHECKED: {', '.join(missing)}"
    if not report.complete or report.not_checked:
        yield "it says itself that it is incomplete"
    unknown = [name for name in names if name not in settings.models]
    if unknown or len(set(names)) != len(names):
        yield f"it is of models that are not declared, or twice of one: {shown(unknown or names)}"
    failed = [model for model in report.models if model.verdict == "failed"]
    if (report.configured, report.checked, report.failed) != (len(settings.names), len(names), len(failed)):
        counts = f"{report.configured} configured, {report.checked} checked, {report.failed} failed"
        found = f"{len(names)} of {len(settings.names)}, {len(failed)} of them failed"
        yield f"it says {counts}, and has {found}"
    passed = [model for model in report.models if model.verdict == "passed"]
    if any(finding.severity == "error" for model in passed for finding in model.findings):
        yield "a model with an error is said to have passed"


def _is_of_its_config(sha256: str, model: Model, settings: Settings) -> bool:
    """Whether a model's config is now what it was; one that is made by code is as its commit is, and not made here."""
    if model.is_made_by_code or not model.config:
        return True
    try:
        return source.read(model, settings).sha256 == sha256
    except Unusable:
        return not sha256
