"""How many ids a tokenizer gives, and the rows of a table of embeddings that none of them reaches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.wording import number, plural, shown

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory, Tensor

WORDS = "embeddings.word"
NAMES = ("tokenizer.json", "vocab.txt", "vocab.json")
"""The files that say it, in the order in which they are looked for."""
ADDED = "added_tokens.json"
"""What an older tokenizer was extended by, beside its vocab.txt or vocab.json."""
LARGEST = 48 * 1024 * 1024
"""Bytes; the tokenizer.json of Gemma 2, which mmBERT has as well, takes 34 million."""
LARGEST_TEXT = 16 * 1024 * 1024
"""Bytes of a vocab.txt; that of LaBSE, with 501,153 tokens, has 5 million."""
LARGEST_ID = 2**40
"""More than any vocabulary has."""
MULTIPLES = (128, 64, 32, 16, 8)
"""What vocabularies are rounded up to so that matrix products are fast; a larger multiple is a stronger sign."""
COUNTED = re.compile(r"(?:\S++ \d++[^\S\n\r]*+(?:[\n\r]|\Z)(?:[^\S\n\r]*+[\n\r])*+)++[^\S\n\r]*+")
"""A vocab.txt as fairseq writes it, with the count of each token (BERTweet, PhoBERT). Nothing of it is tried twice:
what could be would be remembered for each line."""
AGAIN = "write the tokenizer again, with save_pretrained"
FAIRSEQ_SPECIALS = 5
"""``<s>``, ``<pad>``, ``</s>``, ``<unk>`` and ``<mask>``: BertweetTokenizer gives them ids of their own."""


class Vocabulary(NamedTuple):
    """How many ids there are: the highest one, and 1."""

    file: str
    """As messages show it, relative to the project's root."""
    size: int


def found_beside(root: Path, file: str) -> str | None:
    """The tokenizer's file in the folder of a config or checkpoint (or in that folder), if it has one."""
    around = (os.path.join(root, file), os.path.dirname(os.path.join(root, file)))  # noqa: PTH118, PTH120  (asked often)
    if not any(os.path.lexists(os.path.join(folder, name)) for folder in around for name in NAMES):  # noqa: PTH118
        return None
    place = Place(root, file, "tokenizer", "config-invalid")
    folder = place if place.is_folder() else place.neighbour(".")
    return next((folder.entry(name).reference for name in NAMES if folder.has(name)), None)


def vocabulary(root: Path, reference: str) -> Vocabulary:
    """Read the number of ids from a tokenizer.json, a vocab.txt or a vocab.json, relative to the project's root.

    It is read once in a run, however many models lie beside it.

    :raises Unusable: with one finding that says what is wrong with the file.
    """
    file = root / reference
    found = _read_once(root, reference, (_state(file), _state(file.with_name(ADDED))))
    if not isinstance(found, Vocabulary):
        raise Unusable(*found)
    return found


def _state(file: Path) -> tuple[int, ...]:
    """What changes with the file; empty where there is none."""
    try:
        now = file.stat()
    except (OSError, ValueError):
        return ()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


@lru_cache(64)
def _read_once(root: Path, reference: str, _: tuple[tuple[int, ...], ...]) -> Vocabulary | tuple[Finding, ...]:
    """What it says, or what is wrong with it.

    :param _: what makes it another file.
    """
    try:
        return _read(Place(root, reference, "tokenizer", "config-invalid"))
    except Unusable as unusable:
        return unusable.findings


def _read(place: Place) -> Vocabulary:
    if place.reference.endswith(".txt"):
        size = _lines(place.text(place.content(LARGEST_TEXT)))
    else:
        data = place.json(place.content(LARGEST))
        if not isinstance(data, dict):
            place.fail("the file holds no JSON object", "name a tokenizer.json, a vocab.txt or a vocab.json")
        if "model" in data and isinstance(data["model"], dict):
            return Vocabulary(place.file, _whole(place, data["model"], data.get("added_tokens")))
        if not data:
            place.fail("it has no token", AGAIN)
        size = _ids(place, data)
    return Vocabulary(place.file, max(size, _added_beside(place)))


def _whole(place: Place, model: dict[str, object], added: object) -> int:
    """The ids of a tokenizer.json: those of its model, and those that were added."""
    tokens = model.get("vocab")
    if not isinstance(tokens, dict | list):
        place.fail(f"its model.vocab is {shown(tokens)}, neither an object nor a list", AGAIN)
    if not tokens:
        place.fail("it has no token", AGAIN)
    size = len(tokens) if isinstance(tokens, list) else _ids(place, tokens)  # a list (Unigram): the id is the place
    return max([size, *(identity + 1 for identity in _added(place, added))])


def _added(place: Place, added: object) -> Iterator[int]:
    if not isinstance(added, list | None):
        place.fail(f"its added_tokens is {shown(added)}, not a list", AGAIN)
    for entry, token in enumerate(added or [], 1):
        identity = token.get("id") if isinstance(token, dict) else None
        if not _is_id(identity):
            place.fail(f"entry {entry:,} of added_tokens is {shown(token)}, without an id", AGAIN)
        yield identity


def _ids(place: Place, ids: dict[str, object]) -> int:
    """The highest id, and 1."""
    highest = -1
    for token, identity in ids.items():
        if not _is_id(identity):
            place.fail(f"the token {shown(token)} has the id {shown(identity)}", "write a whole number from 0")
        highest = max(highest, identity)
    return highest + 1


def _is_id(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < LARGEST_ID


def _lines(text: str) -> int:
    r"""Lines as ``load_vocab`` of transformers' tokenization_bert.py (5.23) counts them.

    It reads with universal newlines: ``\n``, ``\r\n`` and ``\r`` end a line; U+2028 and U+0085 stand in tokens of it.
    """
    lines = text.count("\n") + text.count("\r") - text.count("\r\n") + (not text.endswith(("\n", "\r")))
    return lines + FAIRSEQ_SPECIALS if COUNTED.fullmatch(text) else lines


def _added_beside(place: Place) -> int:
    if not place.neighbour(".").has(ADDED):
        return 0
    other = place.neighbour(ADDED)
    data = other.json(other.content(LARGEST))
    if not isinstance(data, dict):
        other.fail("the file holds no JSON object", AGAIN)
    return _ids(other, data)


def rows(vocabulary: Vocabulary, rows: int, width: int | None, component: str = "embeddings.word") -> list[Finding]:
    """A finding where a table has more rows than there are ids, or fewer."""
    spare = rows - vocabulary.size
    if not spare:
        return []
    has = f"{component} has {plural(rows, 'row')}, and {vocabulary.file} {plural(vocabulary.size, 'id')}"
    if spare < 0:
        cost = f", {number(-spare * width)} parameters more" if width else ""
        return [
            Finding(
                "config-invalid",
                f"{has}: the highest, {vocabulary.size - 1:,}, has no row",
                f"write vocab_size = {vocabulary.size} in the config{cost}, or name the tokenizer of this model",
                component=component,
                expected=vocabulary.size,
                actual=rows,
                file=vocabulary.file,
            )
        ]
    return [_spare(vocabulary, rows, width, component, has)]


def _spare(vocabulary: Vocabulary, rows: int, width: int | None, component: str, has: str) -> Finding:
    spare = rows - vocabulary.size
    cost = f" of {width:,} = {number(spare * width)} parameters" if width else ""
    unused = f"{has}: {plural(spare, 'row')}{cost} that no token reaches"
    multiple = next((each for each in MULTIPLES if rows == -(-vocabulary.size // each) * each), None)
    return Finding(
        "dead-weight",
        f"{unused}; the vocabulary rounded up to a multiple of {multiple}" if multiple else unused,
        f"nothing has to be done: it is padding, as it seems; without it write vocab_size = {vocabulary.size}"
        if multiple
        else f"write vocab_size = {vocabulary.size} in the config, or name the tokenizer of this model",
        severity="note" if multiple else "warning",
        component=component,
        expected=vocabulary.size,
        actual=rows,
        file=vocabulary.file,
    )


def rows_beside(root: Path, declared: str | None, beside: Iterable[str | None], inventory: Inventory) -> list[Finding]:
    """Rows of the word embeddings that the tokenizer has no id for, or ids that have no row.

    The tokenizer is the declared one, else the one that stands beside the first of some files, such as the config.
    A file that nobody declared and that is no tokenizer says nothing.

    :param beside: relative to the root; ``None`` for one that there is not.
    """
    if declared is not None:
        words = _words(inventory)
        if words is None:
            message = "the tokenizer cannot be compared: no component is called embeddings.word"
            return [Finding("config-invalid", message, "remove tokenizer", table_key=("tokenizer",))]
        return _rows_of(vocabulary(root, declared), words)
    for file in beside:
        found = found_beside(root, file) if file and (root / file).exists() else None
        words = _words(inventory) if found else None
        if found and words:
            return _rows_of(vocabulary(root, found), words)
    return []


def _rows_of(vocabulary: Vocabulary, words: Tensor) -> list[Finding]:
    return rows(vocabulary, words.shape[0], words.shape[1], words.component)


def _words(inventory: Inventory) -> Tensor | None:
    """The table of word embeddings."""
    tables = (tensor for tensor in inventory.tensors if len(tensor.shape) == 2)  # noqa: PLR2004  (rows, width)
    named = (tensor for tensor in tables if tensor.component == WORDS or tensor.component.endswith(f".{WORDS}"))
    return max(named, key=lambda tensor: tensor.shape[0], default=None)
