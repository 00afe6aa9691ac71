"""The lock: a file with the tensors of every model as they were last accepted. Text that git diffs and people merge.

One model a block, sorted by name; layers are folded; nothing in a block changes unless its model does. Read strictly:
what is written by hand and means nothing is a mistake with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn, TypeGuard

import tomli

from pytest_bertsize.base.ranges import STAR, unescaped, unfolded
from pytest_bertsize.inventory import FLOAT32, Tensor
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.wording import printable, reason, shown

FORMAT = 1
LARGEST_FILE = 8 * 1024 * 1024
"""Bytes of a lock: a thousand models have 3 MB."""
MOST_AXES = 64
"""As torch has it."""
MOST_TENSORS = 500_000
"""Of all models together."""
ANEW = "pytest --bert-budget --bert-budget-update"
_MARKERS = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?=[ \r]|$)", re.MULTILINE)
_DTYPE = re.compile(r"[a-z][a-z0-9_]{0,39}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEYS = {"config", "built-with", "tensors", "buffers"}


class BadLock(Exception):
    """A lock that cannot be read; the message has its file and line, and what to write."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A buffer that weighs: numbers that a model holds and that are no parameters."""

    numbers: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Locked:
    """One model as it was last accepted."""

    tensors: tuple[Tensor, ...]
    """Without components: those are of today."""
    buffers: Mapping[str, Weight] = field(default_factory=dict)
    config: str = ""
    """Hash of all that it is built from beside code; ``""`` where that is nothing."""
    built_with: str = ""
    """``transformers 5.23.0, torch 2.13.0``: as these tensors were first built."""

    def is_as(self, other: Locked | None) -> bool:
        """Whether the two say the same, whatever built them."""
        if other is None or (self.config, dict(self.buffers)) != (other.config, dict(other.buffers)):
            return False
        return {each.name: each for each in self.tensors} == {each.name: each for each in other.tensors}


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock says of all models."""

    file: str
    """As the table names it."""
    strict: bool = False
    """Whether a difference fails the model."""
    models: Mapping[str, Locked] = field(default_factory=dict)
    text: str | None = None
    """``None``: there is no such file yet."""


def parse(text: str, file: str) -> dict[str, Locked]:
    """The models of a lock.

    :param file: what messages call it.
    :raises BadLock: with the line, for whatever it should not say.
    """
    if marker := _MARKERS.search(text):
        line = text.count("\n", 0, marker.start()) + 1
        raise BadLock(
            f"{file}:{line}: a merge conflict is left in it ({marker[0]}): keep one side of each model's block, "
            f"and run {ANEW}"
        )
    if text.startswith("\ufeff"):
        raise BadLock(f"{file}: it begins with a byte order mark, which no TOML has; save it without one")
    try:
        data = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError, ValueError) as error:
        at = f":{error.lineno}" if isinstance(error, tomli.TOMLDecodeError) else ""
        said = printable(error.msg) if isinstance(error, tomli.TOMLDecodeError) else reason(error)
        raise BadLock(f"{file}{at}: not TOML: {said}; {_mend(file)}") from None
    return _Reader(text, file).models(data)


def key_of(name: str) -> str:
    """As a header of a lock has it."""
    return name if _BARE.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def line_of(text: str, key: Sequence[str]) -> int | None:
    """The line of a key, else of the block that it is in; ``None`` where a lock has been written otherwise.

    Its lines are as :mod:`~pytest_bertsize.base.lock_text` writes them, of which a large one has more than a reader of
    any TOML gets through in the time of a run.
    """
    headers = {f"[{'.'.join(map(key_of, key[:depth]))}]": depth for depth in range(1, len(key) + 1)}
    starts = tuple(f"{each}{end}" for each in (key[-1], quoted(key[-1])) for end in (" ", "="))
    found: int | None = None
    inside = deepest = 0
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if line.startswith("["):
            inside = headers.get(line, -1)
            if inside > deepest:
                found, deepest = number, inside
        elif inside == len(key) - 1 and line.startswith(starts):
            return number
    return found


def _mend(file: str) -> str:
    return f"take {file} from git again (git checkout -- {file}), or remove it, and run {ANEW}"


class _Reader:
    """Checks a lock key by key."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.count = 0

    def models(self, data: Mapping[str, Any]) -> dict[str, Locked]:
        if "lock" not in data:
            raise BadLock(
                f"{self.file}: this is no lock of pytest-bertsize: name a file of its own, or remove this one"
            )
        if type(data["lock"]) is not int or data["lock"] != FORMAT:
            self._fail(("lock",), f"it is of the format {shown(data['lock'])}, and this release reads {FORMAT}")
        self._known(data, {"lock", "models"}, ())
        models = self._table(data.get("models", {}), ("models",))
        return {
            name: self._model(self._table(said, ("models", name)), ("models", name)) for name, said in models.items()
        }

    def _model(self, said: Mapping[str, Any], key: tuple[str, ...]) -> Locked:
        self._known(said, _KEYS, key)
        for text in ("config", "built-with"):
            if not isinstance(value := said.get(text, ""), str) or value != printable(value):
                self._fail((*key, text), f"{text} is {shown(value)}, and no text of a line")
        tensors = self._tensors(self._table(said.get("tensors", {}), (*key, "tensors")), (*key, "tensors"))
        buffers = self._buffers(self._table(said.get("buffers", {}), (*key, "buffers")), (*key, "buffers"))
        if not tensors:
            self._fail(key, "it has no tensors")
        return Locked(tensors, buffers, said.get("config", ""), said.get("built-with", ""))

    def _tensors(self, said: Mapping[str, Any], key: tuple[str, ...]) -> tuple[Tensor, ...]:
        found: dict[str, Tensor] = {}
        lines: dict[str, tuple[str, ...]] = {}
        for written, value in said.items():
            for tensor in self._row(written, value, (*key, written)):
                if tensor.name in found:
                    self._fail((*key, written), f"{shown(tensor.name)} stands there twice")
                found[tensor.name], lines[tensor.name] = tensor, (*key, written)
        return tuple(self._with_owner(each, found, lines[each.name]) for each in found.values())

    def _row(self, written: str, value: object, key: tuple[str, ...]) -> Iterator[Tensor]:
        shape, trains, dtype = _taken_apart(value)
        if isinstance(shape, str) and shape is value:
            for name, place in self._names(written, key):
                yield Tensor(name, (), "", tied_to=_at(shape, place))
        elif _is_shape(shape):
            for name, _ in self._names(written, key):
                yield Tensor(name, (*shape,), "", trains, dtype=dtype)
        else:
            self._fail(
                key, f"{shown(value)} is no shape: it is written [768, 768], or as the name of the tensor that it is"
            )

    def _names(self, written: str, key: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
        try:
            for found in unfolded(written):
                self.count += 1
                if self.count > MOST_TENSORS:
                    self._fail(key, f"these are more than {MOST_TENSORS:,} tensors")
                if "" in found[0].split(".") or found[0] != printable(found[0]):
                    self._fail(key, f"{shown(written)} is no name that a tensor has")
                yield found
        except ValueError as error:
            self._fail(key, f"{shown(written)} is no name: {error}")

    def _with_owner(self, tensor: Tensor, found: Mapping[str, Tensor], key: tuple[str, ...]) -> Tensor:
        if tensor.tied_to is None:
            return tensor
        owner = found.get(tensor.tied_to)
        if owner is None or owner.tied_to:
            self._fail(key, f"{shown(tensor.tied_to)} is no tensor with a shape of this model")
        return owner._replace(name=tensor.name, tied_to=owner.name)

    def _buffers(self, said: Mapping[str, Any], key: tuple[str, ...]) -> dict[str, Weight]:
        found: dict[str, Weight] = {}
        for written, value in said.items():
            weight = _weight(value)
            if weight is None:
                message = f'{shown(value)} is no buffer: it is written {{ numbers = 512, dtype = "float32" }}'
                self._fail((*key, written), message)
            for name, _ in self._names(written, (*key, written)):
                if found.setdefault(name, weight) is not weight:
                    self._fail((*key, written), f"{shown(name)} stands there twice")
        return found

    def _table(self, value: object, key: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._fail(key, f"{shown(value)} is no table")
        return value

    def _known(self, said: Iterable[str], keys: set[str], at: tuple[str, ...]) -> None:
        for key in said:
            if key not in keys:
                self._fail((*at, key), f"a lock says nothing by {shown(key)}: there are {', '.join(sorted(keys))}")

    def _fail(self, key: tuple[str, ...], message: str) -> NoReturn:
        line = line_of(self.text, key)
        raise BadLock(f"{self.file}{f':{line}' if line else ''}: {message}; {_mend(self.file)}")


def _is_shape(value: object) -> TypeGuard[list[int]]:
    """Whether it is one of a tensor that is no larger than any model."""
    if not isinstance(value, list) or len(value) > MOST_AXES:
        return False
    return all(type(size) is int and 0 <= size <= LARGEST for size in value) and prod(value) <= LARGEST


def _weight(value: object) -> Weight | None:
    if not isinstance(value, dict) or value.keys() != {"numbers", "dtype"}:
        return None
    numbers, dtype = value["numbers"], value["dtype"]
    is_one = type(numbers) is int and 0 <= numbers <= LARGEST and isinstance(dtype, str) and _DTYPE.fullmatch(dtype)
    return Weight(numbers, dtype) if is_one else None


def _taken_apart(value: object) -> tuple[object, bool, str]:
    """A shape, whether it trains, and its dtype: ``[9, 4]``, or a table of what is not as everywhere."""
    if isinstance(value, dict) and value.keys() in ({"frozen"}, {"frozen", "dtype"}, {"shape", "dtype"}):
        trains, dtype = "shape" in value, value.get("dtype", FLOAT32)
        if isinstance(dtype, str) and _DTYPE.fullmatch(dtype):
            return value["shape" if trains else "frozen"], trains, dtype
    return value, True, FLOAT32


def _at(owner: str, place: Sequence[int]) -> str:
    """``layer[*].w`` in the third layer → ``layer.2.w``; the name as it is, where it has no star."""
    first, *rest = owner.split(STAR)
    name = first
    for index, part in zip(place, rest, strict=False):
        name += f"{'.' if name else ''}{index}{part}"
    return unescaped(name)
