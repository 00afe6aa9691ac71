"""A family whose config class fills in what a file leaves out, and not always with the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.family import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_bertsize.closed_forms.family import Architecture
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig


@dataclass(frozen=True, slots=True)
class Deriving(Family):
    """A family with keys whose default follows from other keys."""

    derive: Callable[[Mapping[str, object]], Mapping[str, object]]
    """From all that is written to what the config class takes for keys that are not."""

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """What a config says, and what follows from it."""
        follows = self.derive({**config.data, **overrides})
        return Family.resolve(self, replace(config, data={**config.data, **follows}), overrides, architecture)
