"""The process in which OmegaConf resolves ``${…}`` in the text of a YAML file, without resolvers or network."""

from __future__ import annotations

import json
from typing import Any

from pytest_bertsize.builder.confined import answer_one_question, limit_memory


def main() -> None:
    answer_one_question(lambda asked: resolve_paths(asked["text"], asked["paths"]))


def resolve_paths(text: str, paths: list[list[str]]) -> dict[str, Any]:
    """Return as ``answers`` the ``value`` of each path or ``why`` it has none; if all fail, return only ``why``."""
    try:
        from omegaconf import OmegaConf
        from omegaconf.basecontainer import BaseContainer
    except ImportError:
        return {"why": "it is not installed", "first": "pip install omegaconf, "}
    BaseContainer._resolvers.clear()  # noqa: SLF001  (there is no public list of them)
    limit_memory()
    try:
        config = OmegaConf.create(text)
    except Exception as error:  # noqa: BLE001  (of PyYAML's, of the grammar of ``${…}``)
        return {"why": _first_line(error)}
    return {"answers": [_resolve_path(config, path) for path in paths]}


def _resolve_path(config: Any, path: list[str]) -> dict[str, Any]:
    from omegaconf import ListConfig, OmegaConf

    try:
        for key in path:
            config = config[int(key) if isinstance(config, ListConfig) else key]
        is_config = OmegaConf.is_config(config)
        value = OmegaConf.to_container(config, resolve=True, throw_on_missing=True) if is_config else config
        json.dumps(value)
    except Exception as error:  # noqa: BLE001  (OmegaConf's, and whatever a hostile file provokes)
        return {"why": _first_line(error)}
    return {"value": value}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


if __name__ == "__main__":
    main()
