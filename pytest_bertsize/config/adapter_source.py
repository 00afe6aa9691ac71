"""Where a model's adapter is described: PEFT's own adapter_config.json, or the project's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.config import model_config
from pytest_bertsize.files import Place
from pytest_bertsize.findings import printable

if TYPE_CHECKING:
    from pytest_bertsize.base.git import Files
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def read(model: Model, settings: Settings, config: ModelConfig) -> Adapter | None:
    """The adapter of a declared model, ``None`` where it has none.

    :param config: of what it goes on.
    :raises Unusable: for a file that cannot be read, or for what it says.
    """
    if isinstance(model.adapter, str):
        content = Place(settings.root, model.adapter, "adapter_config.json", "config-invalid").content(
            model_config.LARGEST
        )
        return _in_file(model_config.parse(content, printable(model.adapter), ""), model, config)
    return _in_table(model, config)


def read_at(model: Model, files: Files, config: ModelConfig, revision: str) -> Adapter | str | None:
    """The adapter as it was at a revision; or why there is none, as ``lora/adapter_config.json is no file``.

    :raises Unusable: for what its file says.
    """
    if not isinstance(model.adapter, str):
        return _in_table(model, config)
    content = files.read(model.adapter)
    if content is None:
        return f"{printable(model.adapter)} is no file"
    return _in_file(model_config.parse(content, f"{printable(model.adapter)} at {revision}", ""), model, config)


def _in_table(model: Model, config: ModelConfig) -> Adapter | None:
    if model.adapter is None or isinstance(model.adapter, str):
        return None
    from pytest_bertsize.config.adapter import in_table, parse

    return parse(model.adapter, place=in_table, family=_family(model, config), closed_form=model.closed_form)


def _in_file(file: ModelConfig, model: Model, config: ModelConfig) -> Adapter:
    from pytest_bertsize.config.adapter import in_file, parse

    return parse(file.data, place=in_file(file), family=_family(model, config), closed_form=model.closed_form)


def _family(model: Model, config: ModelConfig) -> str:
    said = model.family or config.model_type
    return said if isinstance(said, str) else ""
