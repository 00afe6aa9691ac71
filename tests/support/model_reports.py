"""Model reports, as reports in the terminal and the ledger are given them."""

from __future__ import annotations

from typing import Any

from pytest_bertsize.reports.report import Component, FindingRow, ModelReport, Totals


def component(
    name: str, actual: int, expected: int | None = None, maximum: int | None = None, **more: Any
) -> Component:
    expected = actual if expected is None else expected
    failed = actual != expected or (maximum is not None and actual > maximum)
    limit = None if maximum is None else f"{maximum:,}"
    return Component(
        name=name,
        formula=more.get("formula"),
        latex=None,
        expected=expected,
        actual=actual,
        base=None,
        min=None,
        max=maximum,
        limit=limit,
        layers=more.get("layers", 1),
        failed=failed,
    )


def model(*components: Component, findings: list[FindingRow] | None = None, name: str = "encoder") -> ModelReport:
    total = components[-1]
    return ModelReport(
        name=name,
        family="bert",
        architecture="BertForMaskedLM",
        config="models/config.json",
        config_sha256="",
        published=[],
        verdict="failed",
        headline=f"{name}: total {total.actual:,}, limit {total.limit}",
        report_only=False,
        built=True,
        closed_form=True,
        symbols={"V": 30522, "D": 768},
        totals=Totals(expected=1, actual=1, trainable=1, stored=1, unrolled=1),
        components=list(components),
        measures=[],
        frozen=[],
        checkpoint=None,
        tensors=[],
        layers=[],
        base=None,
        lock=None,
        choices=None,
        findings=findings or [],
    )


def finding(message: str, fix: str = "", severity: str = "error", kind: str = "over-budget") -> FindingRow:
    return FindingRow(
        kind=kind,
        severity=severity,
        component=None,
        message=message,
        fix=fix,
        expected=None,
        actual=None,
        limit=None,
        base=None,
        file="pyproject.toml",
        line=11,
    )
