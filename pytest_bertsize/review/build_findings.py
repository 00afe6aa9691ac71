"""Findings about a build besides its counts: keys read differently, ties, buffers, origins of configs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.base.lock import ANEW
from pytest_bertsize.findings import Finding, Kind
from pytest_bertsize.folding import fold_names
from pytest_bertsize.release import NEWEST, Unsupported, read_version
from pytest_bertsize.table.model import ADAPTER, Model
from pytest_bertsize.wording import exact, listed, number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.messages import Answered, Buffer, Built, ConfigSaid, Finished, Hidden
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory

LARGE_BUFFERS = 100  # buffers are large if they hold more numbers than a hundredth of the parameters
REGISTER = "assign each to self in the constructor: a tensor as a Parameter, modules in a ModuleList or ModuleDict"
MOST_NAMED = 5  # the most names in one message


def check_release(derivation: Derivation | None, built: Built) -> list[Finding]:
    """Return an error if the imported release is not the one that the closed form describes."""
    if derivation is None or not built.transformers:
        return []
    asked = min(derivation.family.release, NEWEST)
    try:
        if min(read_version(built.transformers), NEWEST) == asked:
            return []
    except Unsupported as error:
        return [Finding("build-failed", str(error), "build with a release that pytest-bertsize supports")]
    message = f"transformers {built.transformers} built the model, but the closed form describes {asked}"
    return [Finding("build-failed", message, "keep only one transformers in the environment that builds the model")]


def find_read_otherwise(values: Values, config: ModelConfig, library: ConfigSaid, *, is_off: bool) -> Iterator[Finding]:
    """Find keys that the closed form and the library read differently: a default, an alias, a new meaning.

    A key that the library's config object lacks is reported only if the model differs from its closed form: equal
    tensors show that the code of the class reads the key as the closed form does.
    """
    for key, assumed in values.assumed.items():
        is_known, said = key in library.said, library.said.get(key)
        if _is_same(assumed, said) or not (is_known or is_off):
            continue
        otherwise = f"reads {_show_value(said)}" if is_known else "has no such key unless the file sets it"
        path = key.split(".")
        message = f"the closed form assumes {printable(key)} {_show_value(assumed)}, {library.by} {otherwise}"
        fix = f"write {shown(path[-1])} with the value that you mean; if the library ignores it, report that"
        yield Finding("read-otherwise", message, fix, file=config.file, line=config.line(*path))
    for key in library.read:  # a key of the file that is not passed on
        message = f"{library.by} reads {printable(key)}, a key that the closed form does not know"
        fix = "add it to the keys of the closed form: as a size, a switch, a choice, or as inert if it changes no count"
        yield Finding("read-otherwise", message, fix, file=config.file, line=config.line(*key.split(".")))


def list_prefixes(model: Model) -> dict[str, str]:
    """Return the prefix of each backbone's keys, by the backbone's path in the model; one backbone's have none."""
    return {name: f"{name}." for name in model.backbones} or {model.backbone: ""}


def find_other_configs(
    values: Values, config: ModelConfig, model: Model, finished: Iterable[Finished]
) -> Iterator[Finding]:
    """Find keys whose values differ between the table's config and the config of the finished model.

    Another number of labels in a class of the project is no finding.
    """
    prefixes = list_prefixes(model)
    for each in (each for each in finished if each.path in prefixes):
        for key, assumed in values.assumed.items():
            own = key.removeprefix(prefixes[each.path])
            is_there = key.startswith(prefixes[each.path]) and own in each.config
            if is_there and not (model.factory and own == "num_labels") and not _is_same(assumed, each.config[own]):
                there = f"{_show_value(each.config[own])} in the config of the finished {each.architecture}"
                message = f"{printable(key)} is {_show_value(assumed)} in {config.reference}, and {there}"
                file, line = config.file, config.line(*key.split("."))
                yield Finding("read-otherwise", message, "correct the one that is wrong", file=file, line=line)


def _is_same(assumed: object, said: object) -> bool:
    """Return whether the library says what is ``assumed``; ``None``, as a missing key, means false or nothing."""
    if said is None:
        return assumed is False or assumed == ()
    return (list(assumed) if isinstance(assumed, tuple) else assumed) == said


def _show_value(value: object) -> str:
    return number(value) if type(value) is int else shown(value)


def check_ties(built: Built) -> Iterator[Finding]:
    """Yield an error for each tie that the build has not made, and one for all other wrong ties."""
    by_itself = "transformers 5 ties by the dict _tied_weights_keys in post_init(), 4 by this method"
    for name, source, by in built.untied:
        ties = f"{by} ties {name} to {source}"
        message = f"{ties}, and transformers {built.transformers}, which built it, has not made that tie"
        fix = f"assign the one to the other in the constructor ({by_itself}); or remove {by}"
        yield Finding("untied", message, fix)
    if lost := built.lost_ties():
        named = listed(fold_names(lost), MOST_NAMED)
        message = f"{named}: the ties of the built model are not those that its class declares"
        fix = "report it: the class lacks a declared tie, or makes one that it does not declare"
        yield Finding("untied", message, fix)


def check_hidden(built: Built, name: str, lock: Lock | None) -> Iterator[Finding]:
    """Yield an error for parameters that torch does not list, or a note if the lock has the same."""
    known = lock.models[name].hidden if lock and name in lock.models else {}
    if new := [each for each in built.hidden if known.get(each.name) != each.shapes]:
        if lock is None:
            yield Finding("build-failed", describe_hidden(new), REGISTER)
        else:
            fix = f"{REGISTER}; if nothing shall train them, accept it: {ANEW}"
            yield Finding("differs-from-lock", describe_hidden(new, known), fix, file=lock.file)
    elif lock and (gone := sorted(known.keys() - {each.name for each in built.hidden})):
        where = listed(gone, MOST_NAMED)
        message = f"the lock has parameters in {where} that torch does not see, and the model has none there"
        yield Finding("differs-from-lock", message, f"if that is intended, accept it: {ANEW}", file=lock.file)
    elif built.hidden:
        yield Finding("dead-weight", f"{describe_hidden(built.hidden)}, as in its lock", "", "note")


def describe_hidden(found: Iterable[Hidden], known: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """Return ``torch does not see these parameters: 16 in held (list)``.

    :param known: the shapes that the lock has; those that differ are named.
    """
    named = []
    for each in found:
        now, was = {*each.shapes}, {*(known or {}).get(each.name, ())}
        new, gone = (listed(sorted(shapes), MOST_NAMED) or "nothing" for shapes in (now - was, was - now))
        differ = f": {new}, where the lock has {gone}" if was else ""
        named.append(f"{each.numbers:,} in {each.name} ({each.kind}){differ}")
    return f"torch does not see these parameters: {listed(named, MOST_NAMED)}"


def note_large_buffers(actual: Inventory, found: Iterable[Buffer], *, own: bool) -> Iterator[Finding]:
    """Report large buffers: no optimiser trains them, and no parameter budget counts them.

    :param own: whether code of the project makes the buffers, so that its author can change them.
    """
    floats = ("float", "bfloat", "complex")
    large = [each for each in found if each.dtype.startswith(floats) or (each.saved and each.dtype != "bool")]
    numbers = sum(each.numbers for each in large)
    if LARGE_BUFFERS * numbers > actual.unique:
        largest = sorted(large, key=lambda each: -each.numbers)
        named = listed([f"{each.name} {exact(each.numbers)}" for each in largest], MOST_NAMED)
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


def note_published_configs(found: Iterable[Answered], key: str) -> Iterator[Finding]:
    """Note the origin of published configs: a name may mean another config on another machine, or tomorrow.

    :param key: ``"config"`` if the table names the configs, ``"factory"`` if the project's code does.
    """
    what = "from_pretrained({!r}) got a config" if key == "factory" else "the published config {} is"
    for each in found:
        kind: Kind = "stood-in" if each.by_hub else "published-config"
        message = f"{what.format(each.name)} from {each.origin}"
        if each.tokens is not None:
            message += f", and its tokenizer is assumed to have the {each.tokens:,} tokens of its vocab_size"
        yield Finding(kind, message, "", "note", table_key=(key,))
