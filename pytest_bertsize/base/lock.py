"""The lock: a text file with the tensors of every model as they were last accepted, which git diffs and people merge.

The file has a block for each model, sorted by the models' names; layers are folded. A block changes only with its
model. The file is read strictly: each mistake is an error with its line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import tomli
from msgspec import Struct

from pytest_bertsize.config.model_config import ModelConfig, not_plain
from pytest_bertsize.differences import compare_inventories
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.folding import (
    STAR,
    escape_name,
    group_indices,
    put_indices,
    split_indices,
    unfold_name,
    write_folded,
)
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.table.reading import Mistake, placed, read_keys, read_value
from pytest_bertsize.table.settings import Settings, SettingsError
from pytest_bertsize.table.toml import key, line_in_toml, quote
from pytest_bertsize.wording import listed, printable, reason, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.commit_files import CommitFiles
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.table.model import Lock as NamedLock
    from pytest_bertsize.table.model import Model

FORMAT = 1
LARGEST_FILE = 8 * 1024 * 1024  # the most bytes of a lock; the lock of a thousand models has 3 MB
MOST_TENSORS = 500_000  # the most tensors of all models of a lock together
MOST_NAMED = 6  # the most differences that one message names; a report file has all of them
ANEW = 'bertsize accept --reason "…"'
HEAD = f"""\
# The tensors of every model, as they were last accepted: {ANEW} writes this file.
# A model is one block. After a merge, keep either side's and run that again.
lock = {FORMAT}
"""


class BadLock(SettingsError):
    """An unreadable lock; the message has its file, line and fix."""


class Locked(Struct, frozen=True):
    """A model as it was last accepted."""

    tensors: tuple[Tensor, ...]  # without components, which today's closed form or table assigns
    config: str = ""  # the hash of everything that the model's table names for the build
    built_with: str = ""  # the libraries that first built these tensors: transformers 5.23.0, torch 2.13.0
    sizes: Mapping[str, Any] = {}  # values of the built backbones by config key; empty if a config file has them
    hidden: Mapping[str, tuple[str, ...]] = {}  # shapes of parameters that torch does not list, by their attribute

    def is_same(self, other: Locked | None) -> bool:
        """Return whether another block is equal, except for the libraries that built it."""
        if other is None or (self.config, self.sizes, self.hidden) != (other.config, other.sizes, other.hidden):
            return False
        return {each.name: each for each in self.tensors} == {each.name: each for each in other.tensors}


class Lock(Struct, frozen=True):
    """The lock of a project."""

    file: str  # the file as the table names it
    strict: bool = False  # True if a difference fails the model
    models: Mapping[str, Locked] = {}
    text: str | None = None  # the content of the file; None if there is no such file yet


# reading


def read_lock(settings: Settings) -> Lock | None:
    """Read the lock that the table names, ``None`` if it names none; raise SettingsError with the line of a mistake."""
    if settings.lock is None:
        return None
    place = Place(settings.root, settings.lock.file, "lock", "config-invalid")
    try:
        text = place.text(place.content(LARGEST_FILE)) if os.path.lexists(place.path) else None
        models = {} if text is None else parse_lock(text, place.file)
    except Unusable as unusable:
        raise SettingsError(f"{settings.place('lock')}: {unusable.findings[0].sentence}") from None
    return Lock(place.file, settings.lock.strict, models, text)


def read_lock_at(files: CommitFiles, named: NamedLock | None) -> Lock | str:
    """Read the lock that the table of a commit names; return the reason if it cannot be read."""
    if named is None:
        return "its table names no lock"
    content = files.read(named.file, LARGEST_FILE)
    if content is None:
        return f"its lock {printable(named.file)} is not committed"
    try:
        return Lock(named.file, named.strict, parse_lock(content.decode("utf-8"), printable(named.file)))
    except UnicodeDecodeError:
        return f"{printable(named.file)} is not UTF-8"
    except BadLock as bad:
        return str(bad)


def lock_model(built: Built, config: str, sizes: Mapping[str, Any]) -> Locked:
    """Return a built model as the lock records it; ``config`` is the hash that :func:`hash_sources` returns."""
    libraries = (("transformers", built.transformers), ("torch", built.torch))
    versions = ", ".join(f"{library} {version}" for library, version in libraries if version)
    return Locked(built.tensors, config, versions, sizes, {each.name: each.shapes for each in built.hidden})


def hash_sources(model: Model, config: ModelConfig | None, adapter: Mapping[str, object]) -> str:
    """Return a hash of everything that the table names for the build: config, class, factory and their arguments."""
    data = None
    if config is not None and not model.has_config_of_build:
        data = {name: part.data for name, part in config.parts.items()} if config.parts else config.data
    made_by = (model.kwargs, model.command or model.factory, model.architecture, model.classes)
    sources = [data, model.overrides, model.options, adapter, *made_by]
    text = json.dumps(sources, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def find_sizes(lock: Lock | str | None, model: Model) -> Locked | None:
    """Return the block of a model whose table names no config, if the lock has its sizes."""
    if not isinstance(lock, Lock) or not model.has_config_of_build:
        return None
    found = lock.models.get(model.name)
    return found if found and found.sizes else None


def refuse_untrue(locked: Locked, model: Model, adapter: Adapter | None, tensors: tuple[Tensor, ...]) -> None:
    """Refuse the sizes in a lock if the model's table has changed since, or if they do not give the lock's tensors."""
    changes = compare_inventories(Inventory(locked.tensors), Inventory(tensors))
    other = [each.sentence for each in changes if not each.is_name_alone]
    if locked.config != hash_sources(model, None, adapter.for_build if adapter else {}):
        problem = "its lock was written for other keys (such as factory, kwargs or options) than its table has"
    elif other:
        problem = f"the sizes in its lock do not match the tensors there: {listed(other, MOST_NAMED, '; ')}"
    else:
        return
    fix = f"build it, and write the lock again: {ANEW}"
    raise Unusable(Finding("unknown-closed-form", problem, fix, table_key=("factory",)))


# parsing


def parse_lock(text: str, file: str) -> dict[str, Locked]:
    """Parse the models of a lock; raise BadLock with the line of the first mistake."""
    restore = f"restore {file} (git checkout -- {file})"
    way_out = f"keep one side of each model's block, {restore}, or remove it; then run {ANEW}"
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise BadLock(f"{file}:{error.lineno}: not TOML: {printable(error.msg)}; {way_out}") from None
    except (RecursionError, ValueError) as error:
        raise BadLock(f"{file}: not TOML: {reason(error)}; {way_out}") from None
    if "lock" not in data:
        raise BadLock(f'{file}: not a lock of pytest-bertsize: name a new file, lock = "bertsize.lock", or {restore}')
    try:
        return _read_models(data)
    except Mistake as mistake:
        place = f"{file}:{found}" if (found := line_in_toml(text, mistake.path)) else file
        raise BadLock(f"{place}: {mistake}; {way_out}") from None


class _Keys(Struct):
    """A table of a lock, each key of which is read by its own function."""


def _read_models(data: Mapping[str, Any]) -> dict[str, Locked]:
    """:raises Mistake: for the first key that is wrong."""
    readers: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("config", "built-with"), partial(read_value, str)),
        "sizes": _read_sizes,
        "hidden": partial(read_value, dict[str, tuple[str, ...]]),
        "tensors": partial(_read_tensors, counter=count(1)),
    }
    found = {}
    read = read_keys(_Keys, data, {"lock": _check_format, "models": partial(read_value, dict[str, Any])})
    for name, written in read.get("models", {}).items():
        with placed("models", name):
            block = read_keys(_Keys, written, readers)
            if not block.get("tensors"):
                raise ValueError("it has no tensors")
            found[name] = Locked(**{key.replace("-", "_"): value for key, value in block.items()})
    return found


def _check_format(written: object) -> None:
    if type(written) is not int or written != FORMAT:
        raise ValueError(f"its format is {shown(written)}, and this release reads {FORMAT}")


def _read_sizes(written: object) -> dict[str, Any]:
    sizes: dict[str, Any] = read_value(dict[str, Any], written)
    if problem := not_plain(sizes):
        raise Mistake(problem.message, *problem.path)
    return sizes


def _read_tensors(written: object, counter: Iterator[int]) -> tuple[Tensor, ...]:
    """:param counter: counts the tensors of all models."""
    found: dict[str, Tensor] = {}
    rows: dict[str, str] = {}
    for row, value in read_value(dict[str, Any], written).items():
        with placed(row):
            for tensor in _read_row(row, value):
                if next(counter) > MOST_TENSORS:
                    raise ValueError(f"the lock has more than {MOST_TENSORS:,} tensors")
                if tensor.name in found:
                    raise ValueError(f"this model has the tensor {shown(tensor.name)} twice")
                found[tensor.name], rows[tensor.name] = tensor, row
    for name, tensor in found.items():
        if tensor.tied_to is not None:
            owner = found.get(tensor.tied_to)
            if owner is None or owner.tied_to:
                raise Mistake(f"{shown(tensor.tied_to)} is not a tensor of this model, or is tied itself", rows[name])
            found[name] = tensor._replace(shape=owner.shape, trainable=owner.trainable)
    return (*found.values(),)


def _read_row(row: str, value: object) -> Iterator[Tensor]:
    """Yield the tensors that a row of a block stands for; a tied tensor has no shape yet."""
    is_frozen = isinstance(value, dict) and value.keys() == {"frozen"}
    shape: Any = value["frozen"] if is_frozen else value  # type: ignore[index]
    owner = value if isinstance(value, str) else None
    if owner is None and not _is_shape(shape):
        instead = "write [768, 768], or the name of the tensor that this one is tied to"
        raise ValueError(f"{shown(value)} is not a shape: {instead}")
    try:
        names = [*unfold_name(row)]
    except ValueError as error:
        raise ValueError(f"{shown(row)} is not a name: {error}") from None
    for name, place in names:
        if "" in name.split(".") or name != printable(name):
            raise ValueError(f"{shown(row)} is not a name that a tensor can have")
        tied_to = None if owner is None else put_indices(owner.split(STAR), place)  # in the same layer
        yield Tensor(name, () if owner else (*shape,), "", not is_frozen, tied_to)


def _is_shape(value: object) -> bool:
    """Return whether a value is the shape of a tensor with at most :data:`LARGEST` parameters."""
    if not isinstance(value, list):
        return False
    return all(type(size) is int and size >= 0 for size in value) and prod(value) <= LARGEST


# writing


def render_lock(models: Mapping[str, Locked]) -> str:
    """Return the whole file, its models sorted by name."""
    return HEAD + "".join(f"\n{render_model(name, models[name])}" for name in sorted(models))


def render_model(name: str, locked: Locked) -> str:
    """Return the block of one model, its tensors sorted by name."""
    made = {"config": locked.config, "built-with": locked.built_with}
    hidden = {each: f"[{', '.join(map(quote, shapes))}]" for each, shapes in locked.hidden.items()}
    rows = sorted(_fold_rows(locked.tensors), key=lambda row: (_split_numbers(row[0]), row[0]))
    tables = {
        "": [(each, quote(value)) for each, value in made.items() if value],
        ".sizes": [(key(size), json.dumps(value)) for size, value in sorted(locked.sizes.items())],
        ".hidden": [(key(each), shapes) for each, shapes in sorted(hidden.items())],
        ".tensors": [(quote(row), value) for row, value in rows],
    }
    return "\n".join(
        f"[models.{key(name)}{table}]\n" + "".join(f"{each} = {value}\n" for each, value in pairs)
        for table, pairs in tables.items()
        if pairs or table in {"", ".tensors"}
    )


def merge_accepted(
    before: Mapping[str, Locked], now: Mapping[str, Locked], declared: Iterable[str]
) -> dict[str, Locked]:
    """Return the lock's models with the newly accepted ones, and without models that are no longer declared."""
    other = {name: locked for name, locked in now.items() if not locked.is_same(before.get(name))}
    return {name: locked for name, locked in before.items() if name in {*declared}} | other


def _fold_rows(tensors: Iterable[Tensor]) -> Iterator[tuple[str, str]]:
    """Yield each name with its layers folded, and its shape or the tensor that it is tied to."""
    groups: dict[tuple[str, str, bool], list[tuple[int, ...]]] = {}
    for tensor in tensors:
        template, place = split_indices(escape_name(tensor.name))
        owner, owners_place = split_indices(escape_name(tensor.tied_to or ""))
        is_of_layer = bool(owner and place) and owners_place == place
        shape = f"[{', '.join(map(str, tensor.shape))}]"
        value = shape if tensor.trainable else f"{{ frozen = {shape} }}"
        if owner:
            value = owner if is_of_layer else quote(escape_name(tensor.tied_to or ""))
        groups.setdefault((template, value, is_of_layer), []).append(place)
    for (template, value, is_of_layer), places in groups.items():
        for box in group_indices(places):
            yield write_folded(template, box), quote(write_folded(value, box, STAR)) if is_of_layer else value


def _split_numbers(name: str) -> list[str | tuple[int, str]]:
    """Split a name into words and numbers, so that ``layer.9`` sorts before ``layer.10``."""
    parts = re.split(r"0*([0-9]+)", name)
    return [(len(part), part) if at % 2 else part for at, part in enumerate(parts)]
