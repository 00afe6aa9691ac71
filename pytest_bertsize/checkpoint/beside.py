"""What stands beside a model's config: its checkpoint and its tokenizer, held against what the config says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.checkpoint import headers, tokenizer
from pytest_bertsize.findings import Finding

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory, Tensor
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings

WORDS = "embeddings.word"


def stored(model: Model, settings: Settings) -> Stored | None:
    """What the declared checkpoint holds; ``None`` where there is none, or where only the helper process reads it.

    :raises Unusable: when it cannot be read.
    """
    if model.checkpoint is None or headers.is_pickled(model.checkpoint):
        return None
    return headers.read(settings.root, model.checkpoint)


def stored_by_helper(model: Model, built: Built) -> Stored | None:
    """What the helper process read of a pickled checkpoint.

    :raises Unusable: when it could not.
    """
    if model.checkpoint is None or not headers.is_pickled(model.checkpoint):
        return None
    if built.stored is None:
        raise headers.refusal(model.checkpoint, built.problems.get("stored", "the helper process said nothing of it"))
    rows = ((name, list(shape), dtype, tied_to) for name, shape, dtype, tied_to in built.stored)
    return headers.from_rows(model.checkpoint, rows)


def differences(found: Stored, actual: Inventory, built: Built) -> list[Finding]:
    """Where the checkpoint is not what was built."""
    from pytest_bertsize.checkpoint.differences import compared

    return compared(found, actual, built.buffers, of="the built model")


def rows(model: Model, settings: Settings, config: ModelConfig, inventory: Inventory) -> list[Finding]:
    """Rows of the word embeddings that the tokenizer has no id for, or ids that have no row.

    The tokenizer is the declared one, else the one in the folder of the config, else the one in that of the checkpoint.
    A file that nobody declared and that is no tokenizer says nothing.
    """
    if model.tokenizer is not None:
        words = _words(inventory)
        if words is None:
            message = "the tokenizer cannot be compared: no component is called embeddings.word"
            return [Finding("config-invalid", message, "remove tokenizer", table_key=("tokenizer",))]
        return _rows(tokenizer.vocabulary(settings.root, model.tokenizer), words)
    for file in (config.file, model.checkpoint):
        found = tokenizer.beside(settings.root, file) if file and (settings.root / file).exists() else None
        words = _words(inventory) if found else None
        if found and words:
            return _rows(tokenizer.vocabulary(settings.root, found), words)
    return []


def _rows(vocabulary: tokenizer.Vocabulary, words: Tensor) -> list[Finding]:
    return tokenizer.rows(vocabulary, words.shape[0], words.shape[1], words.component)


def _words(inventory: Inventory) -> Tensor | None:
    """The table of word embeddings."""
    tables = (tensor for tensor in inventory.tensors if len(tensor.shape) == 2)  # noqa: PLR2004  (rows, width)
    named = (tensor for tensor in tables if tensor.component == WORDS or tensor.component.endswith(f".{WORDS}"))
    return max(named, key=lambda tensor: tensor.shape[0], default=None)
