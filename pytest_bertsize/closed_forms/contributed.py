"""Closed forms that a file of the project or an installed package contributes: data in the notation of a family.

    [bert]                                      # the config's model_type, or a new one with like = "bert"
    sizes = "W token_width 128"                 # added to the sizes of the family
    classes = "ColBert   bert.body(pooler) + projection"
    defined_in = "colbert"                      # the module that has the classes

    [bert.trees]                                # added to the trees of the family
    projection = "linear   linear D W bias=False   @head.projection"

Such a file contains no code to run: its expressions are parsed (:mod:`pytest_bertsize.closed_forms.expressions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.closed_forms import declare
from pytest_bertsize.closed_forms.expressions import BadExpression
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.registry import Conflict, Registry
from pytest_bertsize.closed_forms.tree import Tree
from pytest_bertsize.config.keys import ConfigKeys
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.release import Release
    from pytest_bertsize.table.settings import Settings

KEY = "closed_forms"
GROUP = "pytest_bertsize_closed_forms"
"""The group of entry points in which an installed package names its file: ``acme = "acme_sizes:forms.toml"``."""
LARGEST = 1 << 20
"""The most bytes of one file of closed forms."""


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


KEYS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(
        ("like", "sizes", "switches", "activations", "classes", "defined_in"),
        (lambda value: isinstance(value, str), "{key} is {value}, not a text"),
    ),
    "divisible": (
        lambda value: isinstance(value, list) and all(map(_are_texts, value)) and {*map(len, value)} <= {2},
        '{key} is {value}; write [["hidden_size", "num_attention_heads"]]',
    ),
    "inert": (_are_texts, '{key} is {value}, not a list of keys; write inert = ["token_dropout"]'),
    "trees": (lambda value: isinstance(value, dict) and _are_texts([*value.values()]), "{key} is not a table of texts"),
}
"""The keys of a family's table, each with a test of its value's type and the message for a value that fails it."""


def registry_of(settings: Settings | None, release: Release) -> Registry:
    """Return the built-in closed forms with those of the table's files and of installed packages.

    :param settings: ``None`` if no table is read.
    :raises SettingsError: for a file without a closed form, and for two closed forms of one architecture.
    """
    names = settings.closed_forms if settings else ()
    try:
        files = [(name, family) for name in names if settings for family in _of_file(settings, name)]
        return Registry(files, release=release, installed=_of_packages)
    except Conflict as conflict:
        raise SettingsError(str(conflict)) from None


def _of_file(settings: Settings, name: str) -> Iterator[Family]:
    """:raises SettingsError: for a file that is not a TOML file of the project, or not a closed form."""
    place = settings.place(KEY)
    if not name.endswith(".toml"):
        raise SettingsError(f'{place}: {shown(name)} is not a TOML file; name one, as in closed_forms = ["forms.toml"]')
    try:
        with Place(settings.root, name, "file of closed forms", "config-invalid").opened() as stream:
            content = stream.read(LARGEST + 1)
        yield from families_in(content)
    except Unusable as unusable:
        raise SettingsError(f"{place}: {unusable.findings[0].sentence}") from None
    except BadExpression as error:
        raise SettingsError(f"{place}: {shown(name)}: {error}") from None


def _of_packages() -> Iterator[tuple[str, Family]]:
    """Yield the closed forms of installed packages, which are used for classes that have no other closed form."""
    from importlib.metadata import entry_points

    for each in entry_points(group=GROUP):
        origin = f"{each.dist.name if each.dist else each.name} (entry point {each.name})"
        try:
            yield from ((origin, family) for family in families_in(_file_of(each).read_bytes()))
        except (BadExpression, OSError) as error:
            message = f"an installed package: {origin}: {error}"
            raise Unusable(Finding("unknown-closed-form", message, "correct that package, or uninstall it")) from None


def _file_of(entry: EntryPoint) -> Path:
    """Return the file that an entry point names, without importing its package.

    :raises BadExpression: for a package without a folder, and for a file whose name does not end in ``.toml``.
    """
    from importlib.util import find_spec

    package, _, name = entry.value.partition(":")
    top, *inner = package.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations or not name.endswith(".toml"):
        raise BadExpression(f"{entry.value} names no file; write package:forms.toml")
    return Path(spec.submodule_search_locations[0], *inner, name)


def families_in(content: bytes) -> Iterator[Family]:
    """Read the families of a file.

    :raises BadExpression: with the first mistake of the file.
    """
    import tomli

    if len(content) > LARGEST:
        raise BadExpression(f"it is larger than {LARGEST:,} bytes")
    try:
        tables = tomli.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadExpression(f"it is not TOML: {error}") from None
    if not tables:
        raise BadExpression('it has no table; write a table [MODEL_TYPE] with the keys "classes" and "trees"')
    for name, table in tables.items():
        try:
            yield _read_family(name, table)
        except BadExpression as error:
            raise BadExpression(f"[{name}]: {error}") from None


def _read_family(name: str, table: object) -> Family:
    if not isinstance(table, dict):
        raise BadExpression(f'it is {shown(table)}, not a table with the keys "classes" and "trees"')
    for key, value in table.items():
        if key not in KEYS:
            instead = did_you_mean(key, KEYS, f"the keys are {', '.join(KEYS)}")
            raise BadExpression(f"{shown(key)} is not a key; {instead}")
        fits, message = KEYS[key]
        if not fits(value):
            raise BadExpression(message.format(key=key, value=shown(value)))
    like = table.get("like", name if name in FAMILIES else None)
    if like is not None and like not in FAMILIES:
        raise BadExpression(f"like is {shown(like)}; {did_you_mean(like, [*FAMILIES], 'write a built-in family')}")
    known = FAMILIES[like] if like else None
    for text in table.get("trees", {}).values():
        assert Tree(text).read
    inert = (*(known.keys.inert if known else ()), *table.get("inert", ()))
    said = {key: table[key] for key in ("sizes", "switches", "activations") if key in table}
    if "divisible" in table:
        said["divisible"] = (*(known.keys.divisible if known else ()), *map(tuple, table["divisible"]))
    if not table.get("classes", "").strip():
        raise BadExpression('it has no classes; write classes = "NAME   body + head"')
    try:
        declare.read_keys(ConfigKeys(()), **said)
    except (ValueError, KeyError, IndexError) as error:
        raise BadExpression(f"sizes, switches or activations cannot be read: {error}") from None
    trees = table.get("trees", {})
    stem = trees.get("stem", known.trees["stem"] if known else "")
    found = declare.family(
        name,
        known,
        classes=table["classes"],
        trees=trees,
        inert=inert,
        stem=stem,
        under=name.replace("-", "_"),
        **said,
    )
    module = table.get("defined_in", "transformers")
    return replace(found, architectures=tuple(replace(each, defined_in=module) for each in found.architectures))
