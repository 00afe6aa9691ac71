"""Where the configs of a model are from that are named as the hub names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_bertsize.builder.messages import Answered
from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model


def of_table(model: Model, config: ModelConfig) -> tuple[Answered, ...]:
    """The name that ``config`` says, where that is no file."""
    return (Answered(printable(model.config), config.origin),) if config.origin else ()


def notes(found: Iterable[Answered], key: str) -> list[Finding]:
    """What every report says of them: the same name may mean another config on another machine, or tomorrow.

    :param key: of the model's table, by which they were named.
    """
    what = "from_pretrained({!r}) was answered with a config" if key == "factory" else "the published config {} is"
    return [
        Finding(
            "published-config",
            f"{what.format(each.name)} from {each.origin}{_tokens(each.tokens)}",
            "",
            "note",
            table_key=(key,),
        )
        for each in found
    ]


def _tokens(number: int | None) -> str:
    return "" if number is None else f", and its tokenizer taken to have the {number:,} tokens of its vocab_size"
