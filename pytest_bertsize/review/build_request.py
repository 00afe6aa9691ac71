"""Make the request to the helper process for one declared model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.messages import Module, Request
from pytest_bertsize.closed_forms import derive
from pytest_bertsize.config.keys import INERT, NAMED_BY_LABELS, SYNONYMS, explain_refusal, withhold_steering_keys
from pytest_bertsize.config.source import of_hub
from pytest_bertsize.config.values import LARGEST_SIZE, LONGEST_LIST, MOST_LABELS, MOST_LAYERS, merge_overrides
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Flops
from pytest_bertsize.wording import number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def ask_with_closed_form(
    model: Model, settings: Settings, config: ModelConfig, found: Derivation, adapter: Adapter | None
) -> Request:
    """Request the build of a model whose size the closed form has bounded."""
    architecture = found.form.architecture
    own = model.factory is not None
    if config.modules:
        modules = tuple(_list_modules(model, config, found))
        common = _list_common(model, settings, None, runs_code=False)
        return Request(model.name, "", architecture.name, {}, {}, modules=modules, **common)
    return Request(
        model.name,
        found.family.name,
        architecture.name,
        make_factory_config(model, config) if own else found.values.for_build,
        dict(found.options),
        architecture.defined_in,
        asked=() if own else tuple(found.values.assumed),
        unknown=() if own else found.values.unknown,
        **_list_common(model, settings, adapter, runs_code=own or architecture.defined_in != "transformers"),
    )


def _list_modules(model: Model, config: ModelConfig, found: Derivation) -> Iterator[Module]:
    """Yield each module of a folder of sentence-transformers, with the config from which the module is built."""
    for_build: dict[str, Any] = found.values.for_build
    written = make_factory_config(model, config)
    for each in config.modules:
        settings = {key: each.settings[key] for key in _SETTINGS if key in each.settings}
        family = str(each.config.model_type) if each.is_transformer else ""
        given = (for_build if each.is_transformer else written)[each.part]
        yield Module(each.kind, each.at, settings, family, given)


_SETTINGS = ("transformer_task", "model_args", "model_kwargs")


def ask_without_closed_form(
    model: Model, settings: Settings, config: ModelConfig, registry: Registry, adapter: Adapter | None
) -> Request:
    """Request a model without a closed form.

    :raises Unusable: for a config that names no class, has a refused key, or is too large.
    """
    common = _list_common(model, settings, adapter, runs_code=model.factory is not None)
    if model.factory:  # the declared class, or a guess
        named = model.family or config.model_type
        family, architecture = named if isinstance(named, str) else "", model.architecture or model.factory
    else:
        family = derive.family_name(model, config, registry)
        architecture = derive.architecture_name(model, config, family, registry)
    from_config = clean_config(model, config)
    given = make_factory_config(model, config) if model.factory else from_config
    return Request(model.name, family, architecture, given, model.options, **common)


def ask_for_factory(model: Model, settings: Settings, adapter: Adapter | None) -> Request:
    """Request the model of a factory without a config."""
    common = _list_common(model, settings, adapter, runs_code=True)
    return Request(model.name, "", model.factory or "", {}, model.options, **common)


def make_factory_config(model: Model, config: ModelConfig) -> dict[str, Any]:
    """Return the config for the project's own code: the keys of the file, with the table's overrides."""
    if config.parts:
        overrides = {name: model.overrides.get(name) for name in config.parts}
        own = {name: each if isinstance(each, dict) else {} for name, each in overrides.items()}
        return {
            name: make_factory_config(model.replace(overrides=own[name]), part) for name, part in config.parts.items()
        }
    data: dict[str, Any] = config.as_written
    for key, value in model.overrides.items():
        full = config.names_in_file.get((*config.key_path, key), (*config.key_path, key))
        data = _put_value(data, full[len(config.key_path) :], value)
    return data


def _put_value(data: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a copy of a config with ``value`` at ``path``."""
    key, *below = path
    return {**data, key: _put_value(data[key], tuple(below), value) if below else value}


def _list_common(model: Model, settings: Settings, adapter: Adapter | None, *, runs_code: bool) -> dict[str, Any]:
    """Return the fields that all requests have; code of the project may read configs by their published names."""
    lengths = (limit.measure.seq_len for limit in model.limits if isinstance(limit.measure, Flops))
    return {
        "root": str(settings.real_root),
        "factory": model.factory or "",
        "command": model.command,
        "declared": model.name if model.factory else None,
        "config_given": model.has_config,
        "kwargs": model.kwargs,
        "paths": settings.import_paths if runs_code else (),
        "adapter": adapter.for_build if adapter else {},
        "seq_len": next(lengths, 0),
        "hub": of_hub(settings) if runs_code else {},
        "device": model.build.device,
        "seconds": model.build.seconds or 0.0,
        "memory": model.build.memory or 0,
    }


def clean_config(model: Model, config: ModelConfig) -> dict[str, Any]:
    """Return the config to build from, without keys that configure the library itself.

    :raises Unusable: for a config that has a refused key, or is too large.
    """
    runs_code = model.factory is not None
    found = [
        Finding("config-refused", f"the key {shown(path[-1])} {why}", fix, file=config.file, line=config.line(*path))
        for path, (why, fix) in _find_wrong(config.data, are_of_the_project=runs_code)
    ]
    for path, (why, fix) in _find_wrong(model.overrides):
        key = printable(".".join(path))
        found.append(Finding("config-refused", f"overrides.{key} {why}", fix, table_key=("overrides", path[0])))
    if found:
        raise Unusable(*found)
    return withhold_steering_keys(merge_overrides(config, model.overrides))


def _find_wrong(
    values: Mapping[str, Any], *, are_of_the_project: bool = False, depth: int = 0
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """Yield path, reason and fix of each refused key; inner keys that only the project reads may begin with ``_``."""
    inner = partial(_find_wrong, are_of_the_project=are_of_the_project, depth=depth + 1)
    for key, value in values.items():
        is_private = key.startswith("_") and key not in INERT and not (are_of_the_project and depth)
        if why := explain_refusal(key, value) or ("the library uses this name itself" if is_private else ""):
            yield (key,), (f"is refused: {why}", "remove it")
        elif too_much := _explain_size(key, value):
            yield (key,), too_much
        elif isinstance(value, dict) and key not in NAMED_BY_LABELS:
            yield from (((key, *path), said) for path, said in inner(value))
        elif isinstance(value, list):
            nested = (inner(each) for each in value if isinstance(each, dict))
            yield from (((key, "[]", *path), said) for found in nested for path, said in found)


def _explain_size(key: str, value: object) -> tuple[str, str] | None:
    """Return why a value is no possible size, and the fix: without a closed form, nothing else bounds a build."""
    layers = key in SYNONYMS["L"] or "layers" in key or "blocks" in key
    most = MOST_LABELS if key == "num_labels" else MOST_LAYERS if layers else LARGEST_SIZE
    if type(value) is int and value > most:
        return f"is {number(value)}, more than {most:,}", "write the number that the model has"
    if key in _SIZES and not (type(value) is int and value > 0):
        return f"is {shown(value)}, which is not a size", "write a whole number, at least 1"
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        return f"has {len(value):,} entries, more than {LONGEST_LIST:,}", "write the entries that the model has"
    return None


def note_missing_form(family: str, architecture: str, registry: Registry) -> tuple[Finding, ...]:
    """Note that a model is not compared with a closed form; warn if its class has a closed form."""
    note = f"{architecture} is compared only with its budget: closed_form = false"
    found = Finding("unknown-closed-form", note, "", "note", table_key=("closed_form",))
    if registry.find(family, architecture) is None:
        return (found,)
    there_is = f"there is a closed form for {architecture}, and closed_form = false turns it off"
    return found, found._replace(message=there_is, fix="remove closed_form = false", severity="warning")


_SIZES = {name for symbol, names in SYNONYMS.items() for name in names if symbol not in {"P", "T"}}
"""Keys that are sizes in every library, without positions and token types, which may be ``None``."""
