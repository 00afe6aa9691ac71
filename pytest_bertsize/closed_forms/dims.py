"""What a closed form is a function of: the config's sizes by their symbol, its switches by their key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Dims:
    """``dims.V``, ``dims.D``, … are integers, or sympy symbols when a formula is shown; switches are always known."""

    sizes: Mapping[str, Any]
    """By symbol: ``{"V": 30522, "D": 768, …}``, in the order in which they are shown."""
    switches: Mapping[str, Any]
    """By key: ``{"tie_word_embeddings": True, "hidden_act": "gelu", "add_pooling_layer": True, …}``."""

    def __getattr__(self, name: str) -> Any:
        for table in (self.sizes, self.switches):
            if name in table:
                return table[name]
        raise AttributeError(f"no size or switch {name!r}; there are {', '.join([*self.sizes, *self.switches])}")

    def symbolic(self) -> Dims:
        """The same switches, with a positive integer symbol for every size."""
        from sympy import Symbol

        return Dims({name: Symbol(name, positive=True, integer=True) for name in self.sizes}, self.switches)
