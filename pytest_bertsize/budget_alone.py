"""A model without a closed form (``closed_form = false``): what its class is built from, and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize import choosing
from pytest_bertsize.build import Request
from pytest_bertsize.config_other_keys import refused
from pytest_bertsize.config_values import MOST_LABELS
from pytest_bertsize.config_vocabulary import INERT
from pytest_bertsize.findings import Finding, Unusable, number, printable, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.model_config import ModelConfig
    from pytest_bertsize.settings import Model


def request(model: Model, config: ModelConfig, registry: Registry) -> Request:
    """What to build: every key of the config goes to the class, but for those that steer the library itself.

    :raises Unusable: for a config that names no class, or that has a key which is refused.
    """
    family = choosing.family_name(model, config, registry)
    architecture = choosing.architecture_name(model, config, family, registry)
    _check_keys(model, config)
    keys = {**config.data, **model.overrides}
    clean = {key: value for key, value in keys.items() if key not in INERT}
    return Request(model.name, family, architecture, clean, model.options)


def _check_keys(model: Model, config: ModelConfig) -> None:
    found = [
        *_of_file(config),
        *(
            Finding(
                "config-refused",
                f"overrides.{printable(key)} is refused: {why}",
                "remove it",
                table_key=("overrides", key),
            )
            for key, why in _refused(model.overrides).items()
        ),
    ]
    labels = {**config.data, **model.overrides}.get("num_labels")
    if isinstance(labels, int) and labels > MOST_LABELS:
        message = f"num_labels is {number(labels)}, more than {MOST_LABELS:,}"
        found.append(Finding("config-refused", message, "write the number that the model has", file=config.file))
    if found:
        raise Unusable(*found)


def _of_file(config: ModelConfig) -> list[Finding]:
    return [
        Finding(
            "config-refused",
            f"the key {shown(key)} is refused: {why}",
            "remove it",
            file=config.file,
            line=config.line(key),
        )
        for key, why in _refused(config.data).items()
    ]


def _refused(keys: Mapping[str, object]) -> dict[str, str]:
    return {key: why for key in keys if (why := refused(key))}


def noted(family: str, architecture: str, registry: Registry) -> tuple[Finding, ...]:
    """What every report of such a model says, and more where there is a closed form after all."""
    note = Finding(
        "unknown-closed-form",
        f"{architecture} is held to its budget alone: closed_form = false",
        "",
        "note",
        table_key=("closed_form",),
    )
    if registry.find(family, architecture) is None:
        return (note,)
    there_is = Finding(
        "unknown-closed-form",
        f"there is a closed form for {architecture}, and closed_form = false keeps it from being compared",
        "remove closed_form = false",
        "warning",
        table_key=("closed_form",),
    )
    return (there_is,)
