"""Findings about a build besides its counts: keys read differently, ties, buffers, origins of configs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.base.lock import ANEW
from pytest_bertsize.builder.messages import Answered, Buffer, Built, ConfigSaid, Finished, Hidden
from pytest_bertsize.findings import Finding, Kind
from pytest_bertsize.folding import fold_names
from pytest_bertsize.release import NEWEST, Unsupported, read_version
from pytest_bertsize.table.model import ADAPTER, Model
from pytest_bertsize.wording import exact, listed, number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory

LARGE_BUFFERS = 100
"""Buffers are large if they hold more numbers than a hundredth of the parameters."""
REGISTER = "assign each to self in the constructor: a tensor as a Parameter, modules in a ModuleList or ModuleDict"
MOST_NAMED = 5
"""The most names in one message."""


def check_release(derivation: Derivation | None, built: Built) -> list[Finding]:
    """Return an error if the imported release is not the one that the closed form describes."""
    if derivation is None or not built.transformers:
        return []
    asked = min(derivation.family.release, NEWEST)
    try:
        imported = min(read_version(built.transformers), NEWEST)
    except Unsupported as error:
        return [Finding("build-failed", str(error), "build with a release that pytest-bertsize supports")]
    if imported == asked:
        return []
    message = f"transformers {built.transformers} built the model, but the closed form describes {asked}"
    return [Finding("build-failed", message, "keep only one transformers in the environment that builds the model")]


def find_read_otherwise(values: Values, config: ModelConfig, library: ConfigSaid, *, is_off: bool) -> Iterator[Finding]:
    """Find keys that the closed form and the library read differently: a default, an alias, a new meaning.

    A key that the library's config object lacks is reported only if the model differs from its closed form: equal
    tensors show that the code of the class reads the key as the closed form does.
    """
    for key, assumed in values.assumed.items():
        if key in library.said and not _is_same(assumed, library.said[key]):
            otherwise = f"reads {_show_value(library.said[key])}"
        elif key not in library.said and is_off and not _is_none_of_it(assumed):
            otherwise = "has no such key unless the file sets it"
        else:
            continue
        path = tuple(key.split("."))
        message = f"the closed form assumes {printable(key)} {_show_value(assumed)}, {library.by} {otherwise}"
        if _is_written(values.for_build, path):
            fix, line = "report it: the library ignores the value in the file", config.line(*path)
        else:
            fix, line = f"write {shown(path[-1])} with the value that you mean", None
        yield Finding("read-otherwise", message, fix, file=config.file, line=line)
    for key in library.read:  # a key of the file that is not passed on
        message = f"{library.by} reads {printable(key)}, a key that the closed form does not know"
        fix = "add it to the keys of the closed form: as a size, a switch, a choice, or as inert if it changes no count"
        yield Finding("read-otherwise", message, fix, file=config.file, line=config.line(*key.split(".")))


def find_other_configs(
    values: Values, config: ModelConfig, model: Model, finished: Iterable[Finished]
) -> Iterator[Finding]:
    """Find keys whose values differ between the table's config and the config of the finished model.

    Another number of labels in a class of the project is no finding.
    """
    backbones = {name: f"{name}." for name in model.backbones} or {model.backbone: ""}
    for each in (each for each in finished if each.path in backbones):
        place = backbones[each.path]
        for key, assumed in values.assumed.items():
            own = key.removeprefix(place)
            if (
                not key.startswith(place)
                or own not in each.config
                or (model.factory and own == "num_labels")
                or _is_same(assumed, each.config[own])
            ):
                continue
            there = f"{_show_value(each.config[own])} in the config of the finished {each.architecture}"
            message = f"{printable(key)} is {_show_value(assumed)} in {config.reference}, and {there}"
            file, line = config.file, config.line(*key.split("."))
            yield Finding("read-otherwise", message, "correct the one that is wrong", file=file, line=line)


def _is_same(assumed: object, said: object) -> bool:
    if said is None:
        return _is_none_of_it(assumed)
    return (list(assumed) if isinstance(assumed, tuple) else assumed) == said


def _is_none_of_it(assumed: object) -> bool:
    """Return whether ``assumed`` means the same to the library as ``None`` or a missing key."""
    return assumed is False or assumed == ()


def _show_value(value: object) -> str:
    return number(value) if type(value) is int else shown(value)


def _is_written(handed_over: Mapping[str, object], path: tuple[str, ...]) -> bool:
    """Return whether the config that is handed to the build has a key at ``path``."""
    inside: object = handed_over
    for key in path:
        if not isinstance(inside, dict) or key not in inside:
            return False
        inside = inside[key]
    return True


def check_ties(built: Built) -> list[Finding]:
    """Return an error for each class with ties that the build has not made, and one for all other wrong ties."""
    found = []
    for by, path in {each.by: each.path for each in reversed(built.untied)}.items():
        pairs = [each for each in built.untied if (each.by, each.path) == (by, path)]
        prefix = f"{path}." if path else ""
        tied = listed([f"{prefix}{each.name} to {prefix}{each.source}" for each in pairs], MOST_NAMED)
        assigned = listed([f"self.{each.name} = self.{each.source}" for each in pairs], MOST_NAMED)
        message = f"{by} ties {tied}, and transformers {built.transformers}, which built it, has not made that tie"
        by_itself = "transformers 5 ties by the dict _tied_weights_keys in post_init(), 4 by get_output_embeddings()"
        fix = f"assign it in the constructor, {assigned} ({by_itself}); or remove {by}"
        found.append(Finding("untied", message, fix))
    if lost := built.lost_ties():
        named = listed([name for name, _ in fold_names(lost)], MOST_NAMED)
        message = f"{named}: the ties of the built model are not those that its class declares"
        fix = "report it: the class lacks a declared tie, or makes one that it does not declare"
        found.append(Finding("untied", message, fix))
    return found


def check_hidden(built: Built, name: str, lock: Lock | None) -> Iterator[Finding]:
    """Yield an error for parameters that torch does not list, or a note if the lock has just as many of them."""
    known = lock.models[name].hidden if lock and name in lock.models else {}
    if new := [each for each in built.hidden if known.get(each.name) != each.numbers]:
        if lock is None:
            yield Finding("build-failed", describe_hidden(new), REGISTER)
        else:
            fix = f"{REGISTER}; if nothing shall train them, accept it: {ANEW}"
            yield Finding("differs-from-lock", describe_hidden(new), fix, file=lock.file)
    elif built.hidden:
        yield Finding("dead-weight", f"{describe_hidden(built.hidden)}, as in its lock", "", "note")


def describe_hidden(found: Iterable[Hidden]) -> str:
    """Return ``torch does not see these parameters: 16 in held (list)``."""
    named = [f"{each.numbers:,} in {each.name} ({each.kind})" for each in found]
    return f"torch does not see these parameters: {listed(named, MOST_NAMED)}"


def note_large_buffers(actual: Inventory, found: Iterable[Buffer], *, own: bool) -> Iterator[Finding]:
    """Report large buffers: no optimiser trains them, and no parameter budget counts them.

    :param own: whether code of the project makes the buffers, so that its author can change them.
    """
    large = [
        each
        for each in found
        if each.dtype.startswith(("float", "bfloat", "complex")) or (each.saved and each.dtype != "bool")
    ]
    numbers = sum(each.numbers for each in large)
    if LARGE_BUFFERS * numbers > actual.unique:
        large.sort(key=lambda each: -each.numbers)
        named = listed([f"{each.name} {exact(each.numbers)}" for each in large], MOST_NAMED)
        message = f"its buffers hold {exact(numbers)} numbers, which are not parameters: {named}"
        fix = "if they are weights, make them parameters: only budget.bytes counts buffers"
        yield Finding("dead-weight", message, fix if own else "", "warning" if own else "note")


def check_adapter_beside(model: Model, config: ModelConfig, root: Path) -> list[Finding]:
    """Return an error if ``from_pretrained`` would add an adapter that the table does not declare."""
    if model.adapter is not None or model.factory:
        return []
    files = [PurePosixPath(each.file) for each in (*config.parts.values(), config)]
    folders = (each.parent for each in files if each.name == "config.json")
    found = next((path for folder in folders if (root / (path := folder / ADAPTER)).is_file()), None)
    if found is None:
        return []
    away = "move that file to another folder"
    fix = away if config.modules else f'write adapter = "{printable(str(found))}", or {away}'
    message = f"{printable(str(found))} is an adapter, which from_pretrained adds to the model in its folder"
    return [Finding("config-invalid", message, fix, table_key=("config",), elsewhere=(away,))]


def published_config(model: Model, config: ModelConfig) -> tuple[Answered, ...]:
    """Return the published config that the key ``config`` names; nothing if the key names a file."""
    return (Answered(printable(model.config), config.origin, by_hub=config.by_hub),) if config.origin else ()


def note_published_configs(found: Iterable[Answered], key: str) -> list[Finding]:
    """Note the origin of published configs: a name may mean another config on another machine, or tomorrow.

    :param key: ``"config"`` if the table names the configs, ``"factory"`` if the project's code does.
    """
    what = "from_pretrained({!r}) got a config" if key == "factory" else "the published config {} is"
    notes = []
    for each in found:
        kind: Kind = "stood-in" if each.by_hub else "published-config"
        message = f"{what.format(each.name)} from {each.origin}{_describe_tokens(each.tokens)}"
        notes.append(Finding(kind, message, "", "note", table_key=(key,)))
    return notes


def _describe_tokens(number: int | None) -> str:
    return "" if number is None else f", and its tokenizer is assumed to have the {number:,} tokens of its vocab_size"
