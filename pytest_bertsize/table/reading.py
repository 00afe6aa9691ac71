"""Convert a table to a struct: key by key in the author's order, up to the first mistake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from pytest_bertsize.wording import did_you_mean, shown

_EXPECTED = {str: "a string", bool: "true or false", int: "a whole number", tuple: "a list", dict: "a table"}


class Mistake(ValueError):
    """A mistake in a table, with the path of its key inside that table."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


class Key(NamedTuple):
    """An annotation that says how a key is read. An annotation that is a function only checks the converted value."""

    read: Callable[[Any], Any] | None = None  # a function that converts the written value in place of msgspec
    written: Any = None  # the type of the value as written, if it differs from the type of the struct's field
    says: str = ""  # the end of the message for a text that does not match the pattern of the key's type
    missing: str = ""  # the message for a table without the key


@contextmanager
def placed(*path: str) -> Iterator[None]:
    """Put a key before the path of a mistake that is raised inside the block."""
    try:
        yield
    except ValueError as error:
        raise Mistake(str(error), *path, *getattr(error, "path", ())) from None


@lru_cache
def keys_of(kind: type[Struct]) -> Mapping[str, FieldInfo]:
    """Return the keys that a table may have: all fields of its struct except those that we set ourselves."""
    beside: Collection[str] = getattr(kind, "BESIDE", ())
    return {field.name: field for field in fields(kind) if field.name not in beside}


def read_keys(kind: type[Struct], written: object, others: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
    """Return the converted values of a table by their keys, of which ``others`` reads some."""
    if not isinstance(written, dict):
        raise Mistake(name_no_table(written))
    keys, others = keys_of(kind), others or {}
    values = {}
    for key, value in written.items():
        with placed(key):
            if key in others:
                values[key] = others[key](value)
            else:
                refuse_unknown(key, [*others, *keys])
                values[key] = read_value(keys[key].type, value)
    for key, field in keys.items():
        if field.required and key not in written:
            raise Mistake(_describe(field.type).missing, key)
    return values


def name_no_table(value: object) -> str:
    """Explain that a value is not a table; a header in ``[[ ]]`` makes a list of tables."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return f"{shown(value)} is a list of tables: write one table, with [NAME] in place of [[NAME]]"
    return f"{shown(value)} is not a table"


def refuse_unknown(key: str, known: Collection[str]) -> None:
    if key not in known:
        there_are = f"the keys are {', '.join(known)}"
        raise ValueError(f"unknown key; {did_you_mean(key, known, there_are)}")


def read_value(kind: Any, value: Any) -> Any:
    """Convert one value; raise ValueError for a wrong one, with the value and what to write instead."""
    beside = getattr(kind, "__metadata__", ())
    plain = get_args(kind)[0] if beside else kind
    described = _describe(kind)
    if described.read:
        return described.read(value)
    if described.written:
        return read_value(described.written, value)
    origin, inner = get_origin(plain), get_args(plain)
    if origin in {Union, UnionType}:
        kinds = {_find_base(each): each for each in inner if each is not NoneType}
        base = tuple if isinstance(value, list) else type(value)
        if base not in kinds and len(kinds) > 1:
            raise Mistake(f"{shown(value)} is neither {' nor '.join(_EXPECTED[each] for each in kinds)}")
        found = read_value(kinds.get(base, inner[0]), value)
    elif origin in {dict, tuple}:
        found = _read_container(plain, beside, value)
    elif _is_struct(plain):
        found = plain(**read_keys(plain, value))
    else:
        try:
            found = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            raise ValueError(_name_expected(plain, beside, value)) from None
    for check in (each for each in beside if callable(each)):
        check(found)
    return found


def _describe(kind: Any) -> Key:
    return next((each for each in reversed(getattr(kind, "__metadata__", ())) if isinstance(each, Key)), Key())


def _read_container(plain: Any, beside: Collection[Any], value: Any) -> Any:
    inner, is_table = get_args(plain), get_origin(plain) is dict
    if not isinstance(value, dict if is_table else list):
        raise Mistake(_name_expected(plain, beside, value))
    if not value and any(isinstance(each, Meta) for each in beside):
        raise ValueError(f"an empty {'table' if is_table else 'list'} has no effect")
    if isinstance(value, dict):
        return {read_value(inner[0], key): _read_placed(inner[1], each, key) for key, each in value.items()}
    return tuple(_read_placed(inner[0], each, str(index)) for index, each in enumerate(value))


def _find_base(kind: Any) -> Any:
    """Return the class of a written value: ``dict`` for ``Annotated[dict[str, int], …]`` and for a struct."""
    plain = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    return dict if _is_struct(plain) else get_origin(plain) or plain


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _read_placed(kind: Any, value: object, key: str) -> Any:
    with placed(key):
        return read_value(kind, value)


def _name_expected(plain: Any, beside: Iterable[Any], value: object) -> str:
    says = next((each.says for each in beside if isinstance(each, Key) and each.says), "")
    may_be_empty = not any(isinstance(each, Meta) and each.min_length for each in beside)
    if says and isinstance(value, str) and (value or may_be_empty):
        return f"{shown(value)} {says}"
    if value == "":
        return "an empty string has no effect"
    if get_origin(plain) is Literal:
        return f"{shown(value)} is not one of {', '.join(map(shown, get_args(plain)))}"
    limits = next((each for each in beside if isinstance(each, Meta) and each.le), None)
    if limits and type(value) is int:
        return f"{shown(value)} is not a number from {limits.ge:,} to {limits.le:,}"
    expected = _EXPECTED[get_origin(plain) or plain]
    if expected == "a table":
        return name_no_table(value)
    return f"{shown(value)} is not {expected}"
