"""Count the ids of a tokenizer, and compare them with the rows of the word embeddings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.wording import number, plural, shown

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory, Tensor

WORDS = "embeddings.word"
NAMES = ("tokenizer.json", "vocab.txt", "vocab.json")  # the files that list the ids, in the order of the search
ADDED = "added_tokens.json"  # the file beside an older tokenizer's vocab.txt or vocab.json that lists its added tokens
LARGEST = 48 * 1024 * 1024  # the most bytes of a JSON file; the tokenizer.json of Gemma 2 and mmBERT has 34 million
LARGEST_TEXT = 16 * 1024 * 1024  # the most bytes of a vocab.txt; LaBSE's, with 501,153 tokens, has 5 million
LARGEST_ID = 2**40  # the lowest number that is refused as an id; no real vocabulary reaches it
MULTIPLES = (128, 64, 32, 16, 8)
"""Multiples to which the number of rows is often padded, for speed; a finding names the largest that explains it."""
COUNTED = re.compile(r"(?:\S++ \d++[^\S\n\r]*+(?:[\n\r]|\Z)(?:[^\S\n\r]*+[\n\r])*+)++[^\S\n\r]*+")
"""Pattern of a vocab.txt that fairseq wrote, with the count of each token (BERTweet, PhoBERT). The pattern never
backtracks, because that would take memory for each line."""
AGAIN = "write the tokenizer again, with save_pretrained"
FAIRSEQ_SPECIALS = 5
"""The number of ids that BertweetTokenizer adds to the file's: ``<s>``, ``<pad>``, ``</s>``, ``<unk>``, ``<mask>``."""


class Vocabulary(NamedTuple):
    """The number of ids of a tokenizer: the highest id plus 1."""

    file: str  # the path in messages, relative to the project's root
    size: int


def check_rows(root: Path, declared: str | None, beside: Iterable[str | None], inventory: Inventory) -> list[Finding]:
    """Find rows of the word embeddings without an id of the tokenizer, or ids without a row.

    The tokenizer is the declared one, else the first that is found beside one of the files in ``beside``.

    :param beside: files such as the config, relative to the root; ``None`` for a missing file.
    """
    around = (find_beside(root, each) for each in beside if each and (root / each).exists())
    file = declared or next(filter(None, around), None)
    words = _find_words(inventory) if file else None  # which lists all tensors
    if file and words:
        return _compare_rows(read_vocabulary(root, file), words)
    message = "the tokenizer cannot be compared, because the model has no component embeddings.word"
    return [Finding("config-invalid", message, "remove tokenizer", table_key=("tokenizer",))] if declared else []


def _find_words(inventory: Inventory) -> Tensor | None:
    """Return the table of word embeddings; if there are several, the one with the most rows."""
    tables = (tensor for tensor in inventory.tensors if len(tensor.shape) == 2)  # noqa: PLR2004  (rows, width)
    named = (tensor for tensor in tables if f".{tensor.component}".endswith(f".{WORDS}"))
    return max(named, key=lambda tensor: tensor.shape[0], default=None)


def _compare_rows(vocabulary: Vocabulary, words: Tensor) -> list[Finding]:
    ids, (rows, width) = vocabulary.size, words.shape
    has = f"{words.component} has {plural(rows, 'row')}, and {vocabulary.file} {plural(ids, 'id')}"
    multiple = next((each for each in MULTIPLES if rows == -(-ids // each) * each), 0)
    if rows < ids:
        kind, severity = "config-invalid", "error"
        message = f"{has}: the highest, {ids - 1:,}, has no row"
        cost = f" ({number((ids - rows) * width)} parameters more)"
    else:
        kind, severity = "dead-weight", "note" if multiple else "warning"
        spare = f"{plural(rows - ids, 'row')} of {width:,} = {number((rows - ids) * width)} parameters"
        message, cost = f"{has}: {spare} that no token reaches", ""
    fix = f"write vocab_size = {ids} in the config{cost}, or name the tokenizer of this model"
    if rows > ids and multiple:
        message += f"; the rows are the ids rounded up to a multiple of {multiple}"
        fix = f"nothing has to be done if this is padding; if it is not, write vocab_size = {ids}"
    found = Finding(kind, message, fix, severity, words.component, ids, rows, file=vocabulary.file)  # type: ignore[arg-type]
    return [found] if rows != ids else []


def find_beside(root: Path, file: str) -> str | None:
    """Return the tokenizer's file beside a config or checkpoint, or inside it if ``file`` is a folder."""
    around = (os.path.join(root, file), os.path.dirname(os.path.join(root, file)))  # noqa: PTH118, PTH120  (asked often)
    if not any(os.path.lexists(os.path.join(folder, name)) for folder in around for name in NAMES):  # noqa: PTH118
        return None
    place = Place(root, file, "tokenizer", "config-invalid")
    folder = place if place.is_folder() else place.neighbour(".")
    return next((folder.entry(name).reference for name in NAMES if folder.has(name)), None)


def read_vocabulary(root: Path, reference: str) -> Vocabulary:
    """Read the number of ids from a tokenizer.json, a vocab.txt or a vocab.json, relative to the project's root.

    A run reads each file once, even if several models share it.

    :raises Unusable: with one finding about the file.
    """
    file = root / reference
    found = _read_once(root, reference, (_read_state(file), _read_state(file.with_name(ADDED))))
    if not isinstance(found, Vocabulary):
        raise Unusable(*found)
    return found


def _read_state(file: Path) -> tuple[int, ...]:
    """Return values that differ after the file is changed; ``()`` if there is no file."""
    try:
        now = file.stat()
    except (OSError, ValueError):
        return ()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


@lru_cache(64)
def _read_once(root: Path, reference: str, _: tuple[tuple[int, ...], ...]) -> Vocabulary | tuple[Finding, ...]:
    """Return the number of ids, or the findings about the file.

    :param _: the values of :func:`_read_state`; if they differ, the file is read again.
    """
    place = Place(root, reference, "tokenizer", "config-invalid", table_key="tokenizer")
    try:
        if reference.endswith(".txt"):
            counts = _count_lines(place.text(place.content(LARGEST_TEXT))), _count_added_beside(place)
        else:
            data = _read_object(place, "name a tokenizer.json, a vocab.txt or a vocab.json")
            if isinstance(model := data.get("model"), dict):
                counts = _count_model(place, model.get("vocab")), _count_added(place, data.get("added_tokens"))
            else:
                counts = _count_model(place, data), _count_added_beside(place)
    except Unusable as unusable:
        return unusable.findings
    return Vocabulary(place.file, max(counts))


def _read_object(place: Place, fix: str) -> dict[str, object]:
    data = place.json(place.content(LARGEST))
    if not isinstance(data, dict):
        place.fail("the file is not a JSON object", fix)
    return data


def _count_model(place: Place, tokens: object) -> int:
    if not isinstance(tokens, dict | list):
        place.fail(f"its model.vocab is {shown(tokens)}, neither an object nor a list", AGAIN)
    if not tokens:
        place.fail("it has no token", AGAIN)
    if isinstance(tokens, list):  # Unigram: the id is the index
        return len(tokens)
    return _count_ids(place, tokens)


def _count_added(place: Place, added: object) -> int:
    if not isinstance(added, list | None):
        place.fail(f"its added_tokens is {shown(added)}, not a list", AGAIN)
    ids = [token.get("id") if isinstance(token, dict) else None for token in added or []]
    for entry, (token, identity) in enumerate(zip(added or [], ids, strict=True), 1):
        if not _is_id(identity):
            place.fail(f"entry {entry:,} of added_tokens is {shown(token)}, without an id", AGAIN)
    return max(filter(_is_id, ids), default=-1) + 1


def _count_added_beside(place: Place) -> int:
    other = place.neighbour(ADDED)
    return _count_ids(other, _read_object(other, AGAIN)) if place.neighbour(".").has(ADDED) else 0


def _count_ids(place: Place, ids: dict[str, object]) -> int:
    for token, identity in ids.items():
        if not _is_id(identity):
            place.fail(f"the token {shown(token)} has the id {shown(identity)}", "write a whole number from 0")
    return max(filter(_is_id, ids.values()), default=-1) + 1


def _is_id(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < LARGEST_ID


def _count_lines(text: str) -> int:
    r"""Count lines as ``load_vocab`` of transformers' tokenization_bert.py (5.23) does.

    It reads with universal newlines: ``\n``, ``\r\n`` and ``\r`` end a line; U+2028 and U+0085 are parts of a token.
    """
    lines = text.count("\n") + text.count("\r") - text.count("\r\n") + (not text.endswith(("\n", "\r")))
    return lines + FAIRSEQ_SPECIALS if COUNTED.fullmatch(text) else lines
