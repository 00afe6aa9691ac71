"""A declared model and its config → its closed form: what is counted before anything is built, and for a base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_bertsize.builder.limits import MEGABYTE
from pytest_bertsize.closed_forms import ClosedForm, choosing
from pytest_bertsize.closed_forms.own_class import NO_FAMILY, own_class
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.findings import Finding, Unusable, printable
from pytest_bertsize.quantity import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms import Architecture, Family
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model

MOST_PARAMETERS = 10**13
"""More than any model that was ever trained: what is above is a mistake, and is not built."""
MOST_MEMORY = 64 * MEGABYTE
"""By the closed form; what a build takes is watched, and may be a little more."""
BYTES_OF_A_TENSOR = 3_600
"""What a tensor takes on the meta device, with its share of modules and its name: measured, 3.4 to 3.6 KB."""
RANK = "r"
"""The symbol of an adapter's rank (Hu et al. 2021, arXiv 2106.09685)."""
BYTES_OF_A_LABEL = 190
"""transformers writes the name of each into two dictionaries."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The closed form that a model is held to, before its sizes are known."""

    family: Family
    architecture: Architecture
    adapter: Adapter | None = None
    """What goes on the architecture."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """What the config alone says of a model."""

    family: Family
    form: ClosedForm
    values: Values
    options: Mapping[str, bool]
    notes: tuple[Finding, ...] = ()
    """What is to be said of an adapter."""


def derive(model: Model, config: ModelConfig, chosen: Chosen) -> Derivation:
    """The closed form, once it is known to give a count that can be listed and built.

    :raises Unusable: with what is wrong with the config or the table.
    """
    options = choosing.options(model, chosen.architecture)
    values = chosen.family.resolve(config, model.overrides, chosen.architecture)
    dims = Dims(values.sizes, {**values.switches, **options})
    form = _counted(chosen.architecture, dims)
    _refuse_the_absurd(form, config)
    if chosen.adapter is None:
        return Derivation(chosen.family, form, values, options)
    from pytest_bertsize.closed_forms.lora import notes

    alone, form = form, _with_adapter(form, chosen.adapter)
    _refuse_the_absurd(form, config)
    return Derivation(chosen.family, form, values, options, tuple(notes(chosen.adapter, alone.root)))


def choose(model: Model, config: ModelConfig, registry: Registry, adapter: Adapter | None = None) -> Chosen:
    """The closed form of the model's class, with what the table adds to it.

    :raises Unusable: when there is none.
    """
    family, architecture = _class(model, config, registry)
    if model.frozen:
        added = {**architecture.added, "frozen": ", ".join(model.frozen)}
        architecture = replace(architecture, blocks=partial(_frozen, architecture, model), added=added)
    return Chosen(family, architecture, adapter)


def _class(model: Model, config: ModelConfig, registry: Registry) -> tuple[Family, Architecture]:
    """The class, without adapters."""
    if model.factory is None:
        return choosing.closed_form(model, config, registry)
    written = {**config.data, **model.overrides}
    says_nothing = not (model.architecture or model.family or config.model_type or config.architectures)
    if not says_nothing:
        return own_class(model, *choosing.closed_form(model, config, registry), written)
    if model.extra and not model.backbone:
        return own_class(model, NO_FAMILY, None, written)
    message = f"nothing says what {model.factory} consists of"
    fix = 'write architecture = "BertModel" and extra = […], contribute a closed form, or write closed_form = false'
    raise Unusable(Finding("unknown-closed-form", message, fix, table_key=("factory",)))


def _with_adapter(form: ClosedForm, adapter: Adapter) -> ClosedForm:
    architecture = form.architecture
    added = {**architecture.added, "adapter": _in_words(adapter)}
    adapted = replace(architecture, blocks=partial(_adapted, architecture, adapter), added=added)
    return _counted(adapted, replace(form.dims, sizes={**form.dims.sizes, RANK: adapter.r}))


def _in_words(adapter: Adapter) -> str:
    targets = adapter.target_modules if isinstance(adapter.target_modules, str) else ", ".join(adapter.target_modules)
    return f"LoRA on {targets}"


def _frozen(architecture: Architecture, model: Model, dims: Dims) -> Block:
    from pytest_bertsize.closed_forms.freezing import freeze

    try:
        return freeze(architecture.blocks(dims), model.frozen)
    except ValueError as error:
        raise Unusable(Finding("config-invalid", str(error), "correct frozen", table_key=("frozen",))) from None


def _adapted(architecture: Architecture, adapter: Adapter, dims: Dims) -> Block:
    from pytest_bertsize.closed_forms.lora import adapted

    try:
        return adapted(architecture.blocks(dims), adapter, getattr(dims, RANK))
    except ValueError as error:
        raise Unusable(Finding("config-invalid", str(error), "correct the adapter", table_key=("adapter",))) from None


def _counted(architecture: Architecture, dims: Dims) -> ClosedForm:
    """The closed form, once it is known to give a count: a contributed one may not.

    :raises Unusable: with what its blocks raise.
    """
    form = ClosedForm(architecture, dims)
    try:
        form.total  # noqa: B018  (asked, not used)
    except Unusable:
        raise
    except Exception as error:
        message = f"the closed form for {architecture.name} gives no count: {type(error).__name__}: {error}"
        raise Unusable(Finding("unknown-closed-form", printable(message), "correct its blocks")) from error
    return form


def _refuse_the_absurd(form: ClosedForm, config: ModelConfig) -> None:
    """Count by the closed form first: what would take minutes or is no model is never built, nor listed."""
    labels = form.dims.sizes.get(LABELS) or 0
    memory = form.tensor_count * BYTES_OF_A_TENSOR + labels * BYTES_OF_A_LABEL
    if memory > MOST_MEMORY:
        parts = f"{exact(form.tensor_count)} tensors" + (f" and {exact(labels)} labels" if labels else "")
        takes = f"would take {exact(memory // MEGABYTE)} MB to build, more than {MOST_MEMORY // MEGABYTE}"
        message = f"by the closed form this is {parts}, which {takes}"
        raise Unusable(Finding("config-refused", message, "write the layers that the model has", file=config.file))
    if form.unrolled > MOST_PARAMETERS:
        count = form.total if form.total > MOST_PARAMETERS else form.unrolled
        message = f"by the closed form this is {exact(count)} parameters, more than {exact(MOST_PARAMETERS)}"
        raise Unusable(Finding("config-refused", message, "correct its sizes", file=config.file))
