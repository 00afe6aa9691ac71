"""A declared model, today's or a commit's: read its config, and derive its closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_bertsize.base.lock import Locked, refuse_untrue
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.config import source

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.config.reader import Reader
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


class Declared(Struct, frozen=True):
    """A model as a table declares it, with what its config alone says about it."""

    model: Model
    config: ModelConfig | None = None  # None if the config cannot be read
    derivation: Derivation | None = None  # None if no closed form counts the model, or the config is refused

    @property
    def form(self) -> ClosedForm | None:
        return self.derivation.form if self.derivation else None

    @property
    def written_keys(self) -> dict[str, object]:
        """The keys and values of the config, with the table's overrides."""
        return {**(self.config.flat if self.config else {}), **self.model.overrides}


def read_declared(model: Model, today: Settings, locked: Locked | None, reader: Reader | None = None) -> ModelConfig:
    """Read the config of a model; if only a build has it, from the sizes in the model's block of the lock."""
    return source.read_locked(model, locked.sizes) if locked else source.read(model, today, reader)


def derive_declared(
    model: Model, config: ModelConfig, registry: Registry, locked: Locked | None, reader: Reader
) -> Derivation:
    """Derive the closed form of a model; raise Unusable if none applies, or the lock's block is not true."""
    adapter = source.read_adapter(model, config, reader)
    found = derive(model, config, choose(model, config, registry), adapter)
    if locked:
        refuse_untrue(locked, model, adapter, found.form.tensors)
    return found
