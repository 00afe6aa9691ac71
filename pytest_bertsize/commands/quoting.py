"""What ``explain``, ``diff`` and ``fit`` say of a model in Markdown and JSON, with what repeats it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.commands.named_model import Explained

SCHEMA = 1


def facts(chosen: Explained) -> dict[str, Any]:
    """Return what JSON says of a model."""
    form, formulas = chosen.form, chosen.form.formulas()
    names = {size.symbol: size.key for size in chosen.derivation.family.keys.sizes}
    sizes = {symbol: size for symbol, size in form.dims.sizes.items() if size is not None}
    counts = {**form.components, TOTAL: form.total}
    return {
        "family": chosen.derivation.family.name,
        "architecture": form.architecture.name,
        "config": chosen.config.reference,
        "config_sha256": chosen.config.sha256,
        "options": dict(chosen.asked),
        "symbols": {symbol: {"key": names.get(symbol, symbol), "value": size} for symbol, size in sizes.items()},
        "total": form.total,
        "trainable": form.trainable,
        "training_bytes": training_states(form.inventory).total,
        "components": [
            {"name": name, "formula": formulas[name].text, "latex": formulas[name].latex, "parameters": count}
            for name, count in counts.items()
            if name in formulas
        ],
        "versions": {
            "pytest_bertsize": version("pytest-bertsize"),
            "transformers": str(chosen.derivation.family.release),
        },
    }


def source(said: Mapping[str, Any]) -> str:
    """Return the file with its hash, and the versions."""
    versions = said["versions"]
    tools = f"pytest-bertsize {versions['pytest_bertsize']}, transformers {versions['transformers']}"
    return f"{printable(said['config'])} (sha256 {said['config_sha256']}); {tools}"


def json_text(said: Mapping[str, Any]) -> str:
    return json.dumps(said, indent=2, ensure_ascii=True)
