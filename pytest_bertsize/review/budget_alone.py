"""A model without a closed form (``closed_form = false``): what its class is built from, and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms import choosing
from pytest_bertsize.config.model_config import NAMED_BY_LABELS
from pytest_bertsize.config.other_keys import beyond_json, of_no_count, refused
from pytest_bertsize.config.values import LARGEST_SIZE, LONGEST_LIST, MOST_LABELS, MOST_LAYERS
from pytest_bertsize.config.vocabulary import INERT, SYNONYMS
from pytest_bertsize.findings import Finding, Unusable, number, printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model


def names(model: Model, config: ModelConfig, registry: Registry) -> tuple[str, str]:
    """The family and the class to build; of what a function of the project builds, as far as anything says so.

    :raises Unusable: for a config that names no class.
    """
    if model.factory:
        said = model.family or config.model_type
        return said if isinstance(said, str) else "", model.architecture or model.factory
    family = choosing.family_name(model, config, registry)
    return family, choosing.architecture_name(model, config, family, registry)


def clean(model: Model, config: ModelConfig) -> dict[str, Any]:
    """What to build from: every key of the config but for those that steer the library itself.

    :raises Unusable: for a config that has a key which is refused, or that asks for too much.
    """
    found = [*_in_file(config), *_in_table(model.overrides)]
    if found:
        raise Unusable(*found)
    keys = {**config.data, **model.overrides}
    return {key: _clean(value) for key, value in keys.items() if key not in INERT and not of_no_count(key)}


def _clean(value: Any) -> Any:
    """Without what nested configs say of number formats and implementations."""
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items() if not of_no_count(key)}
    return value


def _in_file(config: ModelConfig) -> list[Finding]:
    return [
        Finding("config-refused", f"the key {shown(path[-1])} {why}", fix, file=config.file, line=config.line(*path))
        for path, (why, fix) in _wrong(config.data)
    ]


def _in_table(overrides: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding("config-refused", f"overrides.{printable('.'.join(path))} {why}", fix, table_key=("overrides", path[0]))
        for path, (why, fix) in _wrong(overrides)
    ]


def _wrong(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """The path of every key that may not stand in a config, or not with its value; why, and the way out."""
    for key, value in values.items():
        if why := refused(key, value) or _a_name_of_the_library(key):
            yield (key,), (f"is refused: {why}", "remove it")
        elif beyond := beyond_json(value):
            yield (key,), (f"is {beyond}, which no config can say", "write what the config would say")
        elif too_much := _too_much(key, value):
            yield (key,), too_much
        elif isinstance(value, dict) and key not in NAMED_BY_LABELS:
            yield from (((key, *path), said) for path, said in _wrong(value))
        elif isinstance(value, list):
            nested = (_wrong(each) for each in value if isinstance(each, dict))
            yield from (((key, "[]", *path), said) for found in nested for path, said in found)


def _a_name_of_the_library(key: str) -> str:
    return "it is a name of the library's own" if key.startswith("_") and key not in INERT else ""


_SIZES = {name for symbol, names in SYNONYMS.items() for name in names if symbol not in {"P", "T"}}
"""Keys that hold a size in every library; positions and token types may be none."""


def _too_much(key: str, value: object) -> tuple[str, str] | None:
    """Without a closed form, nothing bounds a model before it is built but its single numbers."""
    layers = key in SYNONYMS["L"] or "layers" in key or "blocks" in key
    most = MOST_LABELS if key == "num_labels" else MOST_LAYERS if layers else LARGEST_SIZE
    if type(value) is int and value > most:
        return f"is {number(value)}, more than {most:,}", "write the number that the model has"
    if key in _SIZES and not (type(value) is int and value > 0):
        return f"is {shown(value)}, which is no size", "write a whole number, at least 1"
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        return f"has {len(value):,} entries, more than {LONGEST_LIST:,}", "write those that the model has"
    return None


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
