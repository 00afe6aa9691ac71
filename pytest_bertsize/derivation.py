"""A declared model and its config → its closed form: what is counted before anything is built, and for a base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_bertsize import choosing
from pytest_bertsize.build import MEGABYTE, Limits
from pytest_bertsize.closed_forms import ClosedForm
from pytest_bertsize.closed_forms.dims import Dims
from pytest_bertsize.config_keys import LABELS
from pytest_bertsize.findings import Finding, Unusable, printable
from pytest_bertsize.quantity import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms import Architecture, Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config_keys import Values
    from pytest_bertsize.model_config import ModelConfig
    from pytest_bertsize.settings import Model

MOST_PARAMETERS = 10**13
"""More than any model that was ever trained: what is above is a mistake, and is not built."""
MOST_MEMORY = Limits().memory
BYTES_OF_A_TENSOR = 3_600
"""What a tensor takes on the meta device, with its share of modules and its name: measured, 3.4 to 3.6 KB."""
BYTES_OF_A_LABEL = 190
"""transformers writes the name of each into two dictionaries."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The closed form that a model is held to, before its sizes are known."""

    family: Family
    architecture: Architecture


@dataclass(frozen=True, slots=True)
class Derivation:
    """What the config alone says of a model."""

    family: Family
    form: ClosedForm
    values: Values
    options: Mapping[str, bool]


def derive(model: Model, config: ModelConfig, chosen: Chosen) -> Derivation:
    """The closed form, once it is known to give a count that can be listed and built.

    :raises Unusable: with what is wrong with the config or the table.
    """
    options = choosing.options(model, chosen.architecture)
    values = chosen.family.resolve(config, model.overrides, chosen.architecture)
    form = _counted(chosen.architecture, Dims(values.sizes, {**values.switches, **options}))
    _refuse_the_absurd(form, config)
    return Derivation(chosen.family, form, values, options)


def choose(model: Model, config: ModelConfig, registry: Registry) -> Chosen:
    """:raises Unusable: when there is no closed form for the model."""
    return Chosen(*choosing.closed_form(model, config, registry))


def _counted(architecture: Architecture, dims: Dims) -> ClosedForm:
    """The closed form, once it is known to give a count: a contributed one may not.

    :raises Unusable: with what its blocks raise.
    """
    form = ClosedForm(architecture, dims)
    try:
        form.total  # noqa: B018  (asked, not used)
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
