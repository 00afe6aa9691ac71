"""The arguments of a closed form: the config's sizes by symbol, its switches by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pytest_bertsize.release import NEWEST, Release


class Dims(Struct, frozen=True):
    """``dims.V``, ``dims.D``, … are integers, or symbols when a formula is shown; switches are always known."""

    sizes: Mapping[str, Any]
    """Sizes by symbol: ``{"V": 30522, "D": 768, …}``, in the order of reports; ``None`` if left out."""
    switches: Mapping[str, Any]
    """Switches by key: ``{"tie_word_embeddings": True, "hidden_act": "gelu", "add_pooling_layer": True, …}``."""
    is_symbolic: bool = False
    """True if the sizes are symbols (:mod:`pytest_bertsize.closed_forms.symbols`)."""
    release: Release = NEWEST
    """The release of transformers: its builds by these sizes have changed over the years."""

    def __getattr__(self, name: str) -> Any:
        for table in (self.sizes, self.switches):
            if name in table:
                return table[name]
        raise AttributeError(f"no size or switch {name!r}; there are {', '.join([*self.sizes, *self.switches])}")

    @property
    def given(self) -> dict[str, Any]:
        """Return the sizes that are not left out."""
        return {symbol: size for symbol, size in self.sizes.items() if size is not None}
