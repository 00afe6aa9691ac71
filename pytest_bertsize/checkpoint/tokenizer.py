"""Count the ids of a tokenizer, and compare them with the rows of the word embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import number, plural, reason

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory, Tensor

WORDS = "embeddings.word"
NAMES = ("tokenizer.json", "vocab.txt", "vocab.json")  # the files that list the ids, in the order of the search
ADDED = "added_tokens.json"  # the file beside an older tokenizer's vocab.txt or vocab.json that lists its added tokens
LARGEST = 48 * 1024 * 1024  # the most bytes of a JSON file; the tokenizer.json of Gemma 2 and mmBERT has 34 million
LARGEST_TEXT = 16 * 1024 * 1024  # the most bytes of a vocab.txt; LaBSE's, with 501,153 tokens, has 5 million
MULTIPLES = (8, 16, 32, 64, 128)  # to which rows are often padded, for speed
# the file beside a vocab.txt that fairseq wrote (BERTweet, PhoBERT), and the number of ids that such a vocab.txt lacks:
# ``<s>``, ``<pad>``, ``</s>``, ``<unk>``, ``<mask>``
OF_FAIRSEQ, FAIRSEQ_SPECIALS = "bpe.codes", 5

Id = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]
Ids = Annotated[dict[str, Id], msgspec.Meta(min_length=1)]
Kind = TypeVar("Kind")


class _Added(msgspec.Struct):
    id: Id


class _Model(msgspec.Struct):
    vocab: Ids | Annotated[list[Any], msgspec.Meta(min_length=1)]  # of a Unigram model, the id is the index


class _Tokenizer(msgspec.Struct):
    model: _Model
    added_tokens: list[_Added] | None = None


def check_rows(root: Path, declared: str | None, beside: Iterable[str | None], inventory: Inventory) -> list[Finding]:
    """Compare rows with the ids of the declared tokenizer, else of the first beside one of the files ``beside``."""
    around = (find_beside(root, each) for each in beside if each and (root / each).exists())
    file = declared or next(filter(None, around), None)
    if file is None:
        return []
    named = (each for each in inventory.tensors if f".{each.component}".endswith(f".{WORDS}"))
    tables = (each for each in named if len(each.shape) == 2)  # noqa: PLR2004  (rows, width)
    if words := max(tables, key=lambda tensor: tensor.shape[0], default=None):
        return _compare_rows(*read_vocabulary(root, file), words)
    message = "the tokenizer cannot be compared, because the model has no component embeddings.word"
    return [Finding("config-invalid", message, "remove tokenizer", table_key=("tokenizer",))] if declared else []


def _compare_rows(file: str, ids: int, words: Tensor) -> list[Finding]:
    rows, width = words.shape
    message = f"{words.component} has {plural(rows, 'row')}, and {file} {plural(ids, 'id')}"
    fix = f"write vocab_size = {ids} in the config, or name the tokenizer of this model"
    found = Finding("config-invalid", message, fix, "error", words.component, ids, rows, file=file)
    if rows < ids:
        return [found._replace(message=f"{message}: the highest, {ids - 1:,}, has no row")]
    product = f"{plural(rows - ids, 'row')} of {width:,} = {number((rows - ids) * width)}"
    message = f"{message}: {product} parameters that no token reaches"
    is_padded = any(rows == -(-ids // each) * each for each in MULTIPLES)
    unreached = found._replace(kind="dead-weight", message=message, fix=f"if these rows are no padding, {fix}")
    return [unreached._replace(severity="note" if is_padded else "warning")] if rows > ids else []


def find_beside(root: Path, file: str) -> str | None:
    """Return the tokenizer's file beside a config or checkpoint, or inside it if ``file`` is a folder."""
    whole = os.path.join(root, file)  # noqa: PTH118  (asked often)
    folder = file if os.path.isdir(whole) else os.path.dirname(file)  # noqa: PTH112, PTH120
    found = (os.path.join(folder, name) for name in NAMES)  # noqa: PTH118
    return next((each for each in found if os.path.lexists(os.path.join(root, each))), None)  # noqa: PTH118


def read_vocabulary(root: Path, reference: str) -> tuple[str, int]:
    """Read a tokenizer.json, vocab.txt or vocab.json: return its path in messages, and the highest id plus 1.

    :raises Unusable: if it has no ids.
    """
    place = Place(root, reference, "tokenizer", "config-invalid", table_key="tokenizer")
    if reference.endswith(".txt"):
        size, is_whole = _count_lines(place.text(place.content(LARGEST_TEXT))), False
        size += FAIRSEQ_SPECIALS if place.neighbour(".").has(OF_FAIRSEQ) else 0
    else:
        size, is_whole = _count_ids(place, place.content(LARGEST))
    if not is_whole and place.neighbour(".").has(ADDED):
        added = place.neighbour(ADDED)
        ids = _convert(added, added.json(added.content(LARGEST)), dict[str, Id])
        size = max(size, *(each + 1 for each in ids.values()), 0)
    return place.file, size


@lru_cache(2)
def _count_ids(place: Place, content: bytes) -> tuple[int, bool]:
    """Return the number of ids, and whether added tokens are among them; several models may share a tokenizer."""
    data = place.json(content)
    is_whole = isinstance(data, dict) and isinstance(data.get("model"), dict)  # a vocab.json may have a token "model"
    if not is_whole:
        return max(_convert(place, data, Ids).values()) + 1, False
    found = _convert(place, data, _Tokenizer)
    vocabulary = found.model.vocab
    highest = max(vocabulary.values()) if isinstance(vocabulary, dict) else len(vocabulary) - 1
    return max(highest, *(each.id for each in found.added_tokens or ()), 0) + 1, True


def _convert(place: Place, data: object, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        fix = "write the tokenizer again, with save_pretrained, or name a tokenizer.json, a vocab.txt or a vocab.json"
        place.fail(f"it has no tokens with ids: {reason(error)}", fix)


def _count_lines(text: str) -> int:
    r"""Count lines as ``load_vocab`` of transformers (5.23) does: only ``\n``, ``\r\n`` and ``\r`` end one."""
    return text.count("\n") + text.count("\r") - text.count("\r\n") + (not text.endswith(("\n", "\r")))
