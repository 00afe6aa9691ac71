"""Replace a size in a config, to learn which shapes of a class depend on it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

Changes = tuple[tuple[str, Any, Any], ...]  # a key, its value in a config that is changed, and another one


@contextlib.contextmanager
def vary_configs(changes: Changes) -> Iterator[None]:
    """Change configs when they are read by name, and when a model of transformers is made from one.

    The config object itself is changed, so that code that reads it after the model is made sees the other size too.
    """
    if not changes or "transformers" not in sys.modules:
        yield
        return
    from transformers import PretrainedConfig
    from transformers.modeling_utils import PreTrainedModel

    make, read = vars(PreTrainedModel)["__init__"], PretrainedConfig.get_config_dict

    def init(self: Any, config: Any, *arguments: Any, **named: Any) -> None:
        for key, was, value in changes:
            if getattr(config, key, None) == was:
                setattr(config, key, value)
        make(self, config, *arguments, **named)

    def get_config_dict(_: Any, /, *arguments: Any, **named: Any) -> Any:
        found, rest = read(*arguments, **named)
        return vary(found, changes), rest

    with (
        patch.object(PreTrainedModel, "__init__", init),
        patch.object(PretrainedConfig, "get_config_dict", classmethod(get_config_dict)),
    ):
        yield


def vary(config: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    values = {key: value for key, was, value in changes if config.get(key) == was}
    return {**config, **values}
