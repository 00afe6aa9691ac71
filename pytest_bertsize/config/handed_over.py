"""What the library's config class is handed: what is written, under the names that are written, and nothing else.

No default and no other name of ours: what a closed form takes for granted may not be what the library does, and both
sides of the comparison would move together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.config.model_config import NAMED_BY_LABELS
from pytest_bertsize.config.other_keys import is_withheld, refused

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import ConfigKeys
    from pytest_bertsize.config.model_config import ModelConfig

LABEL_KEYS = frozenset({"num_labels", *NAMED_BY_LABELS})
"""They say one thing: an override of one replaces them all."""


def handed_over(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object]) -> dict[str, object]:
    """Every key that is written and that the family knows, in the file's order."""
    return seen({key: value for key, value in written(keys, config, overrides).items() if key in keys.known})


def written(keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object]) -> dict[str, object]:
    """The file with the table's overrides, which win by whatever name they call a key."""
    replaced = {keys.aliases.get(key, key) for key in overrides}
    if replaced & LABEL_KEYS:
        replaced |= LABEL_KEYS
    left = {key: value for key, value in config.data.items() if keys.aliases.get(key, key) not in replaced}
    return {**left, **overrides}


def seen(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a config class gets to see of a config: all but what steers the library, in its objects too."""
    return {
        key: _seen_inside(key, value)
        for key, value in config.items()
        if not is_withheld(key) and not refused(key, value)
    }


def _seen_inside(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_seen_inside("", each) for each in value]
    if not isinstance(value, dict) or key in NAMED_BY_LABELS:
        return value
    named = {"model_type": value["model_type"]} if "model_type" in value else {}
    return {**named, **seen(value)}


def unknown(keys: ConfigKeys, config: ModelConfig) -> tuple[str, ...]:
    """Keys of the file that the family does not know; none where the project's own code may read them."""
    if keys.open:
        return ()
    return tuple(key for key in config.data if key not in keys.known and not is_withheld(key))
