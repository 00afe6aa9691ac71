"""Model reports, as reports in the terminal and the ledger are given them."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

from pytest_bertsize.reports.report import Component, FindingRow, ModelReport, Totals

Row = TypeVar("Row", bound=Struct)
LISTS = ("published", "components", "measures", "frozen", "tensors", "layers", "findings")


def blank(kind: type[Row], /, **said: Any) -> Row:
    return kind(**{**dict.fromkeys(kind.__struct_fields__), **said})


def component(
    name: str, actual: int, expected: int | None = None, maximum: int | None = None, **more: Any
) -> Component:
    expected = actual if expected is None else expected
    failed = actual != expected or (maximum is not None and actual > maximum)
    limit = None if maximum is None else f"{maximum:,}"
    counts = {"expected": expected, "actual": actual, "max": maximum, "limit": limit, "failed": failed}
    return blank(Component, name=name, **{"layers": 1, **counts, **more})


def model(*components: Component, findings: list[FindingRow] | None = None, name: str = "encoder") -> ModelReport:
    total = components[-1]
    return blank(
        ModelReport,
        name=name,
        family="bert",
        architecture="BertForMaskedLM",
        config="models/config.json",
        config_sha256="",
        verdict="failed",
        headline=f"{name}: total {total.actual:,}, limit {total.limit}",
        report_only=False,
        built=True,
        closed_form=True,
        symbols={"V": 30522, "D": 768},
        totals=Totals(expected=1, actual=1, trainable=1, stored=1, unrolled=1),
        **{**{each: [] for each in LISTS}, "components": [*components], "findings": findings or []},
    )


def finding(message: str, fix: str = "", severity: str = "error", kind: str = "over-budget") -> FindingRow:
    place = {"file": "pyproject.toml", "line": 11, "in_headline": False}
    return blank(FindingRow, kind=kind, severity=severity, message=message, fix=fix, **place)
