"""What the helper process is asked for, about one declared model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.messages import Request
from pytest_bertsize.checkpoint import headers
from pytest_bertsize.review import budget_alone
from pytest_bertsize.table.model import Flops

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    return Request(
        model.name,
        found.family.name,
        architecture.name,
        for_factory(model, config) if own else found.values.for_build,
        dict(found.options),
        architecture.defined_in,
        **_beside(model, settings, adapter),
    )


def without_closed_form(
    model: Model, settings: Settings, config: ModelConfig, registry: Registry, adapter: Adapter | None
) -> Request:
    """A model that is held to its budget alone.

    :raises Unusable: as :func:`~pytest_bertsize.review.budget_alone.clean` does.
    """
    family, architecture = budget_alone.names(model, config, registry)
    clean = budget_alone.clean(model, config)
    given = for_factory(model, config) if model.factory else clean
    return Request(model.name, family, architecture, given, model.options, **_beside(model, settings, adapter))


def for_factory(model: Model, config: ModelConfig) -> dict[str, Any]:
    """The config as the project's own code knows it: by its own names, with the table's overrides."""
    data: dict[str, Any] = config.data if config.by_own_names is None else config.by_own_names
    for key, value in model.overrides.items():
        full = config.names_in_file.get((*config.key_path, key), (*config.key_path, key))
        data = _with(data, full[len(config.key_path) :], value)
    return data


def _with(data: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """A copy with another value at a path."""
    key, *below = path
    return {**data, key: _with(data[key], tuple(below), value) if below else value}


def _beside(model: Model, settings: Settings, adapter: Adapter | None) -> dict[str, Any]:
    """What a class has in common with a function of the project.

    :raises Unusable: for a pickled checkpoint that is not there.
    """
    pickled = model.checkpoint and headers.is_pickled(model.checkpoint)
    lengths = (limit.measure.seq_len for limit in model.limits if isinstance(limit.measure, Flops))
    return {
        "root": str(settings.root.resolve()),
        "factory": model.factory or "",
        "config_given": bool(model.config),
        "adapter": adapter.for_build if adapter else {},
        "checkpoint": str(headers.pickled_path(settings.root, model.checkpoint or "")) if pickled else "",
        "seq_len": next(lengths, 0),
    }
