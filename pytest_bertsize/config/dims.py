"""What a closed form is a function of: the config's sizes by their symbol, its switches by their key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_bertsize.release import NEWEST, Release


@dataclass(frozen=True, slots=True)
class Dims:
    """``dims.V``, ``dims.D``, … are integers, or symbols when a formula is shown; switches are always known."""

    sizes: Mapping[str, Any]
    """By symbol: ``{"V": 30522, "D": 768, …}``, in the order in which they are shown; ``None`` where left out."""
    switches: Mapping[str, Any]
    """By key: ``{"tie_word_embeddings": True, "hidden_act": "gelu", "add_pooling_layer": True, …}``."""
    numbers: Mapping[str, Any] | None = None
    """The integers behind symbols."""
    release: Release = NEWEST
    """Of transformers: what it builds by these sizes has changed over the years."""

    def __getattr__(self, name: str) -> Any:
        for table in (self.sizes, self.switches):
            if name in table:
                return table[name]
        raise AttributeError(f"no size or switch {name!r}; there are {', '.join([*self.sizes, *self.switches])}")

    @property
    def known(self) -> Dims:
        """The same with integers, for what has to be decided: ``dims.known.E != dims.known.D``."""
        return self if self.numbers is None else replace(self, sizes=self.numbers, numbers=None)

    @property
    def given(self) -> dict[str, Any]:
        """The sizes that are not left out."""
        return {symbol: size for symbol, size in self.sizes.items() if size is not None}

    def number(self, count: Any) -> int:
        """Return the number that an integer or an expression of the symbols comes to."""
        if self.numbers is None or isinstance(count, int):
            return int(count)
        return int(count.at(self.numbers))
