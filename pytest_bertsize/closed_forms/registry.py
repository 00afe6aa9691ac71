"""The closed forms of this package, and those that a project's file or an installed package contributes.

A contributed file is data in the notation of a family:

    [bert]                                      # the config's model_type, or a new one with like = "bert"
    sizes = "W token_width 128"                 # added to the sizes of the family
    classes = "ColBert   bert.body(pooler) + projection"
    defined_in = "colbert"                      # the module that has the classes

    [bert.trees]                                # added to the trees of the family
    projection = "linear   linear D W bias=False   @head.projection"

Such a file contains no code to run: its expressions are parsed (:mod:`pytest_bertsize.closed_forms.expressions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.closed_forms import declare
from pytest_bertsize.closed_forms.expressions import BadExpression
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.tree import Tree
from pytest_bertsize.config.keys import ConfigKeys
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.release import NEWEST
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import did_you_mean, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_bertsize.closed_forms.family import Architecture, Family
    from pytest_bertsize.release import Release
    from pytest_bertsize.table.settings import Settings

GROUP = "pytest_bertsize_closed_forms"
"""The group of entry points in which an installed package names its file: ``acme = "acme_sizes:forms.toml"``."""
LARGEST = 1 << 20
"""The most bytes of one file of closed forms."""


class Registry:
    """Every closed form by family (``model_type``) and architecture (class name)."""

    def __init__(
        self,
        contributed: Iterable[tuple[str, Family]] = (),
        *,
        release: Release = NEWEST,
        installed: Callable[[], Iterable[tuple[str, Family]]] = tuple,
    ) -> None:
        """Add contributions to the built-in closed forms.

        :param contributed: the contributed families, each with the name of its source.
        :param release: the release of transformers.
        :param installed: returns the contributions of installed packages, which are added if nothing else is found.
        :raises BadExpression: if an architecture of a family has a closed form already.
        """
        self.release = release
        self._installed = installed
        self._added: list[tuple[str, Family]] = []
        for origin, family in contributed:
            self._add_family(origin, family)

    def _add_family(self, origin: str, family: Family) -> None:
        builtin = [("pytest-bertsize itself", FAMILIES[family.name])] if family.name in FAMILIES else []
        for other, known in (*builtin, *self._added):
            for each in family.architectures if known.name == family.name else ():
                if known.architecture(each.name):
                    raise BadExpression(
                        f"{origin} contributes a closed form for {each.name} of the family {family.name!r}, "
                        f"and so does {other}: remove one of them"
                    )
        self._added.append((origin, family))

    def without(self, origins: Collection[str]) -> Registry:
        """Return the registry without the contributions from ``origins``."""
        rest = [(origin, family) for origin, family in self._added if origin not in origins]
        return Registry(rest, release=self.release, installed=self._installed)

    @property
    def names(self) -> list[str]:
        """The ``model_type`` of every family."""
        return list(dict.fromkeys([*FAMILIES, *(family.name for _, family in self._added)]))

    def families(self, name: str) -> list[Family]:
        """Return the families of a ``model_type``, the built-in one first."""
        builtin = [FAMILIES[name]] if name in FAMILIES else []  # no file of another family is imported
        known = [*builtin, *(family for _, family in self._added if family.name == name)]
        return [each.at(self.release) for each in known] if known or not self._has_more() else self.families(name)

    def find(self, name: str, architecture: str) -> tuple[Family, Architecture] | None:
        """Return the closed form of one architecture of a family.

        :raises Unusable: if installed packages have two closed forms for one class, or a file that cannot be read.
        """
        known = ((family, family.architecture(architecture)) for family in self.families(name))
        found = next(((family, known) for family, known in known if known), None)
        return self.find(name, architecture) if found is None and self._has_more() else found

    def _has_more(self) -> bool:
        """Add the contributions of installed packages, once, and return whether there were any."""
        installed, self._installed, before = self._installed, tuple, len(self._added)
        try:
            for origin, family in installed():
                self._add_family(origin, family)
        except BadExpression as error:
            message, fix = f"an installed package: {error}", "correct that package, or uninstall it"
            raise Unusable(Finding("unknown-closed-form", message, fix)) from None
        return len(self._added) > before

    def family_of(self, architecture: str) -> Family | None:
        """Return the family that has an architecture of this name."""
        return next((family for family in self._list_all() if family.architecture(architecture)), None)

    def likely(self, data: Mapping[str, object], reference: str = "") -> list[str]:
        """Return the family that reads the most keys of a config without ``model_type``, or all families that tie.

        If several families tie, the config's name decides, else BERT is returned if it is one of these families.

        :param reference: the config's file and the keys that lead to it.
        :returns: an empty list if no family reads any key of the config.
        """
        reads = {
            name: {key for family in self.families(name) for key in family.keys.meaningful | family.keys.inert}
            for name in self.names
        }
        fits = {name: sum(key in keys for key in data) for name, keys in reads.items()}
        most = max(fits.values())
        if not most:
            return []
        best = [name for name, count in fits.items() if count == most]
        words = re.sub(r"[^a-z0-9]+", "-", reference.lower())
        words = re.sub(r"(discriminator|generator)", "electra", words)
        named = [name for name in best if re.sub(r"[^a-z0-9]+", "-", name) in words]
        if named:
            return [max(named, key=len)]
        return ["bert"] if "bert" in best else best

    def nearest(self, architecture: str, family: str = "") -> list[str]:
        """Return the architectures whose names are nearest in spelling, within ``family`` if that family is known."""
        from difflib import get_close_matches

        among = self.families(family) or self._list_all()
        return get_close_matches(architecture, [each.name for known in among for each in known.architectures], n=3)

    def _list_all(self) -> list[Family]:
        return [*FAMILIES.values(), *(family for _, family in self._added)]


# contributed files


def registry_of(settings: Settings | None, release: Release) -> Registry:
    """Return the built-in closed forms with those of the table's files and of installed packages.

    :param settings: ``None`` if no table is read.
    :raises SettingsError: for a file without a closed form, and for two closed forms of one architecture.
    """
    names = settings.closed_forms if settings else ()
    files = [(name, family) for name in names if settings for family in _of_file(settings, name)]
    try:
        return Registry(files, release=release, installed=_of_packages)
    except BadExpression as conflict:
        raise SettingsError(str(conflict)) from None


def _of_file(settings: Settings, name: str) -> Iterator[Family]:
    """:raises SettingsError: for a file that is not a TOML file of the project, or not a closed form."""
    place = settings.place("closed_forms")
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
    """Yield the closed forms of installed packages, which are used for classes that have no other closed form.

    :raises BadExpression: for a file that cannot be read.
    """
    from importlib.metadata import entry_points

    for each in entry_points(group=GROUP):
        origin = f"{each.dist.name if each.dist else each.name} (entry point {each.name})"
        try:
            yield from ((origin, family) for family in families_in(_file_of(each).read_bytes()))
        except (BadExpression, OSError) as error:
            raise BadExpression(f"{origin}: {error}") from None


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
    like = table.get("like", name)
    if "like" in table and like not in FAMILIES:
        raise BadExpression(f"like is {shown(like)}; {did_you_mean(like, [*FAMILIES], 'write a built-in family')}")
    if not table.get("classes", "").strip():
        raise BadExpression('it has no classes; write classes = "NAME   body + head"')
    known, trees = FAMILIES.get(like), table.get("trees", {})
    for text in trees.values():
        assert Tree(text).read
    keys = known.keys if known else ConfigKeys(())
    said = {key: table[key] for key in ("sizes", "switches", "activations") if key in table}
    said["divisible"] = (*keys.divisible, *map(tuple, table.get("divisible", ())))
    try:
        declare.read_keys(ConfigKeys(()), **said)
    except (ValueError, KeyError, IndexError) as error:
        raise BadExpression(f"sizes, switches or activations cannot be read: {error}") from None
    found = declare.family(
        name,
        known,
        classes=table["classes"],
        trees=trees,
        inert=(*keys.inert, *table.get("inert", ())),
        stem=trees.get("stem", known.trees["stem"] if known else ""),
        under=name.replace("-", "_"),
        **said,
    )
    module = table.get("defined_in", "transformers")
    return replace(found, architectures=tuple(replace(each, defined_in=module) for each in found.architectures))
