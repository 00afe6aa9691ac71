"""The JSON report, schema 1. Other tools read it: keys are added, never renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.reports import headline
from pytest_bertsize.reports.model_report import count_failed, names_not_checked

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import ModelReport, RunBase, RunReport
    from pytest_bertsize.table.settings import Settings

FOR_PAGES = ("latex",)
"""What a model's report holds for other formats: it is what :class:`Component` says already."""
_HARMLESS_IN_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}
"""These stand in texts alone, and mean the same there; a page may take the report in as it is."""


def document(
    models: Sequence[ModelReport],
    settings: Settings,
    versions: Mapping[str, str],
    commit: str | None,
    base: RunBase | None = None,
    *,
    builds: bool = True,
) -> RunReport:
    """The report of one run.

    :param models: those that were checked, in the order in which they are declared.
    :param versions: of the libraries that built them.
    :param commit: the one that is checked out, if there is any.
    :param base: what the run was compared with.
    :param builds: whether the models were built.
    """
    import platform
    from importlib.metadata import version

    not_checked = names_not_checked(models, settings.names)
    python = versions.get("python", platform.python_version())
    found: RunReport = {
        "schema": 1,
        "headline": "",
        "changed": True,
        "mode": "full" if builds else "no-build",
        "versions": {"pytest_bertsize": version("pytest-bertsize"), **versions, "python": python},
        "commit": commit,
        "table_sha256": settings.table_sha256,
        "base": base,
        "configured": len(settings.names),
        "checked": len(models),
        "failed": count_failed(models, base),
        "not_checked": not_checked,
        "models": list(models),
        "complete": not not_checked,
    }
    return {**found, "headline": headline.of_run(found), "changed": headline.is_changed(found)}


def render(report: Mapping[str, Any], _root: Path | None = None) -> str:
    models = [{key: said for key, said in model.items() if key not in FOR_PAGES} for model in report["models"]]
    return json.dumps({**report, "models": models}, ensure_ascii=False, indent=2).translate(_HARMLESS_IN_HTML) + "\n"


def is_ours(content: str) -> bool:
    """Whether it is what :func:`render` has made."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    versions = found.get("versions") if isinstance(found, dict) else None
    return isinstance(versions, dict) and "pytest_bertsize" in versions
