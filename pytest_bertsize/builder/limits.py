"""What building one model may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Request

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What the helper may take before it is killed."""

    importing: float = 120.0
    """Seconds."""
    building: float = 30.0
    """Seconds for one model, from the last answer on."""
    memory: int = 80 * MEGABYTE
    """Bytes for one model, on top of what its class took to import; watched where the system has ``/proc``."""
    own_memory: int = 1024 * MEGABYTE
    """The same for a model that a function of the project builds, which may import what it likes."""

    def of(self, request: Request) -> int:
        """Bytes of memory for one model."""
        return self.own_memory if request.factory else self.memory
