"""What the helper process is asked for, about one declared model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.messages import Module, Request
from pytest_bertsize.closed_forms import derive
from pytest_bertsize.config.handed_over import seen, written
from pytest_bertsize.config.keys import ConfigKeys
from pytest_bertsize.config.model_config import NAMED_BY_LABELS
from pytest_bertsize.config.other_keys import beyond_json, refused
from pytest_bertsize.config.source import of_hub
from pytest_bertsize.config.values import LARGEST_SIZE, LONGEST_LIST, MOST_LABELS, MOST_LAYERS
from pytest_bertsize.config.vocabulary import INERT, SYNONYMS
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.model import Flops
from pytest_bertsize.wording import number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def with_closed_form(
    model: Model, settings: Settings, config: ModelConfig, found: Derivation, adapter: Adapter | None
) -> Request:
    """A model that the closed form has bounded."""
    architecture = found.form.architecture
    own = model.factory is not None
    if config.modules:
        return _of_modules(model, settings, config, found)
    return Request(
        model.name,
        found.family.name,
        architecture.name,
        for_factory(model, config) if own else found.values.for_build,
        dict(found.options),
        architecture.defined_in,
        asked=() if own else tuple(found.values.assumed),
        unknown=() if own else found.values.unknown,
        **_beside(model, settings, adapter, runs_code=own or architecture.defined_in != "transformers"),
    )


def _of_modules(model: Model, settings: Settings, config: ModelConfig, found: Derivation) -> Request:
    """What the folder's own files write, module by module, and nothing that the closed form takes for granted."""
    given: dict[str, Any] = found.values.for_build
    modules = [
        Module(
            each.kind,
            each.at,
            {key: each.settings[key] for key in _SETTINGS if key in each.settings},
            str(each.config.model_type) if each.is_transformer else "",
            given[each.part] if each.is_transformer else for_part(each.part, model, config),
        )
        for each in config.modules
    ]
    architecture = found.form.architecture.name
    beside = _beside(model, settings, None, runs_code=False)
    return Request(model.name, "", architecture, {}, {}, modules=tuple(modules), **beside)


_SETTINGS = ("transformer_task", "model_args", "model_kwargs")


def for_part(name: str, model: Model, config: ModelConfig) -> dict[str, Any]:
    """One part's config as its own code knows it, with the table's overrides of it."""
    overrides = model.overrides.get(name, {})
    return for_factory(replace(model, overrides=overrides if isinstance(overrides, dict) else {}), config.parts[name])


def without_closed_form(
    model: Model, settings: Settings, config: ModelConfig, registry: Registry, adapter: Adapter | None
) -> Request:
    """A model that is held to its budget alone.

    :raises Unusable: as :func:`~pytest_bertsize.review.build_request.clean` does.
    """
    family, architecture = names(model, config, registry)
    from_config = clean(model, config)
    given = for_factory(model, config) if model.factory else from_config
    beside = _beside(model, settings, adapter, runs_code=model.factory is not None)
    return Request(model.name, family, architecture, given, model.options, **beside)


def for_factory(model: Model, config: ModelConfig) -> dict[str, Any]:
    """The config as the project's own code knows it: by its own names, with the table's overrides."""
    if config.parts:
        return {name: for_part(name, model, config) for name in config.parts}
    data: dict[str, Any] = config.as_written
    for key, value in model.overrides.items():
        full = config.names_in_file.get((*config.key_path, key), (*config.key_path, key))
        data = _with(data, full[len(config.key_path) :], value)
    return data


def _with(data: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """A copy with another value at a path."""
    key, *below = path
    return {**data, key: _with(data[key], tuple(below), value) if below else value}


def _beside(model: Model, settings: Settings, adapter: Adapter | None, *, runs_code: bool) -> dict[str, Any]:
    """What a class has in common with a function of the project.

    :param runs_code: whether code of the project builds it, which may ask for configs by name.
    """
    lengths = (limit.measure.seq_len for limit in model.limits if isinstance(limit.measure, Flops))
    return {
        "root": str(settings.real_root),
        "factory": model.factory or "",
        "config_given": bool(model.config or model.backbones),
        "config_may_be_read": bool(model.backbones),
        "adapter": adapter.for_build if adapter else {},
        "seq_len": next(lengths, 0),
        "hub": of_hub(settings) if runs_code else {},
        "device": model.build.device,
        "seconds": model.build.seconds or 0.0,
        "memory": model.build.memory or 0,
    }


def names(model: Model, config: ModelConfig, registry: Registry) -> tuple[str, str]:
    """The family and the class to build; of what a function of the project builds, as far as anything says so.

    :raises Unusable: for a config that names no class.
    """
    if model.factory:
        said = model.family or config.model_type
        return said if isinstance(said, str) else "", model.architecture or model.factory
    family = derive.family_name(model, config, registry)
    return family, derive.architecture_name(model, config, family, registry)


def clean(model: Model, config: ModelConfig) -> dict[str, Any]:
    """What to build from: every key of the config but for those that steer the library itself.

    :raises Unusable: for a config that has a key which is refused, or that asks for too much.
    """
    found = [*_in_file(config, runs_code=model.factory is not None), *_in_table(model.overrides)]
    if found:
        raise Unusable(*found)
    return seen(written(ConfigKeys(()), config, model.overrides))


def _in_file(config: ModelConfig, *, runs_code: bool) -> list[Finding]:
    return [
        Finding("config-refused", f"the key {shown(path[-1])} {why}", fix, file=config.file, line=config.line(*path))
        for path, (why, fix) in _wrong(config.data, are_of_the_project=runs_code)
    ]


def _in_table(overrides: Mapping[str, Any]) -> list[Finding]:
    return [
        Finding("config-refused", f"overrides.{printable('.'.join(path))} {why}", fix, table_key=("overrides", path[0]))
        for path, (why, fix) in _wrong(overrides)
    ]


def _wrong(
    values: Mapping[str, Any], *, are_of_the_project: bool = False, depth: int = 0
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """The path of every key that may not stand in a config, or not with its value; why, and the way out.

    :param are_of_the_project: whether its own code reads them, which calls by ``_name`` what it likes below the top.
    """
    inner = partial(_wrong, are_of_the_project=are_of_the_project, depth=depth + 1)
    for key, value in values.items():
        if why := refused(key, value) or ("" if are_of_the_project and depth else _a_name_of_the_library(key)):
            yield (key,), (f"is refused: {why}", "remove it")
        elif beyond := beyond_json(value):
            yield (key,), (f"is {beyond}, which no config can say", "write what the config would say")
        elif too_much := _too_much(key, value):
            yield (key,), too_much
        elif isinstance(value, dict) and key not in NAMED_BY_LABELS:
            yield from (((key, *path), said) for path, said in inner(value))
        elif isinstance(value, list):
            nested = (inner(each) for each in value if isinstance(each, dict))
            yield from (((key, "[]", *path), said) for found in nested for path, said in found)


def _a_name_of_the_library(key: str) -> str:
    return "it is a name of the library's own" if key.startswith("_") and key not in INERT else ""


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


_SIZES = {name for symbol, names in SYNONYMS.items() for name in names if symbol not in {"P", "T"}}
"""Keys that hold a size in every library; positions and token types may be none."""
