"""The sizes and switches of a model, from which a closed form makes its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pytest_bertsize.release import NEWEST, Release


class Dims(Struct, frozen=True):
    """Sizes and switches of a model: ``dims.V``, ``dims.D``, … are integers, or symbols when a formula is shown."""

    sizes: Mapping[str, Any]  # by symbol, in the order of reports: {"V": 30522, "D": 768, …}; None if there is none
    switches: Mapping[str, Any]  # by key: {"tie_word_embeddings": True, "hidden_act": "gelu", …}
    is_symbolic: bool = False  # true if the sizes are symbols (``pytest_bertsize.closed_forms.symbols``)
    release: Release = NEWEST  # the release of transformers: releases build different tensors from the same sizes

    def __getattr__(self, name: str) -> Any:
        for table in (self.sizes, self.switches):
            if name in table:
                return table[name]
        raise AttributeError(f"no size or switch {name!r}; the names are {', '.join([*self.sizes, *self.switches])}")

    @property
    def values(self) -> dict[str, Any]:
        """The sizes by symbol, and the switches by key."""
        return {**self.sizes, **self.switches}

    @property
    def given(self) -> dict[str, Any]:
        """Return the sizes without those that are ``None``."""
        return {symbol: size for symbol, size in self.sizes.items() if size is not None}
