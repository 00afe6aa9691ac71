"""Write the output of ``explain``, ``diff``, ``fit`` and ``log``: a document for the terminal, facts for JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.commands.console import read_style
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.drawing import draw_marked, draw_title
from pytest_bertsize.reports.terminal import list_findings
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.commands.named_model import Explained


def draw_document(models: Mapping[str, Explained], table: str, notes: Iterable[str], lines: Sequence[str] = ()) -> str:
    """Draw a heading for each model, by its prefix, the table, ``lines``, which do not wrap, notes and warnings."""
    style = read_style(sys.stdout)
    above = []
    for mark, model in models.items():
        options = {key: str(value).lower() for key, value in model.model.options.items()}
        said = " ".join(f"{name}={value}" for name, value in {**options, **model.form.dims.given}.items())
        above.append(draw_title(f"{mark}{model.form.architecture.name}", f"{model.config.reference}  {said}", style))
        if model.config.origin:  # a name of the hub led to it
            above.append(draw_marked("   from ", model.config.origin, style, "dim"))
    below = [draw_marked("- ", note, style, "dim") for note in notes]
    findings = dict.fromkeys(finding for model in models.values() for finding in model.derivation.values.findings)
    below += list_findings([*findings], style)
    return "\n".join([*above, "", table, "", *lines, *([""] if lines else []), *below])


def list_facts(model: Explained) -> dict[str, Any]:
    """Return the facts of a model for JSON, with the versions that reproduce them."""
    form, formulas = model.form, model.form.formulas()
    names = {size.symbol: size.key for size in model.derivation.family.keys.sizes}
    given = form.dims.given.items()
    return {
        "family": model.derivation.family.name,
        "architecture": form.architecture.name,
        "config": model.config.reference,
        "config_sha256": model.config.sha256,
        "options": dict(model.model.options),
        "symbols": {symbol: {"key": names.get(symbol, symbol), "value": size} for symbol, size in given},
        "total": form.total,
        "trainable": form.trainable,
        "training_bytes": training_states(form).total,
        "components": [
            {"name": name, "formula": formulas[name].text, "latex": formulas[name].latex, "parameters": count}
            for name, count in {**form.components, TOTAL: form.total}.items()
            if name in formulas
        ],
        "versions": list_versions(model.derivation.family.release),
    }


def list_versions(transformers: object) -> dict[str, str]:
    return {"pytest_bertsize": version("pytest-bertsize"), "transformers": str(transformers)}


def write_source(model: Explained) -> str:
    """Return the config's file with its hash, and the versions of this package and of transformers."""
    tools = f"pytest-bertsize {version('pytest-bertsize')}, transformers {model.derivation.family.release}"
    return f"{printable(model.config.reference)} (sha256 {model.config.sha256}); {tools}"


def write_json(document: Mapping[str, Any]) -> str:
    return json.dumps({"schema": 1, **document}, indent=2, ensure_ascii=True)
