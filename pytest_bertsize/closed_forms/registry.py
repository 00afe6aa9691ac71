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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms import declare
from pytest_bertsize.closed_forms.expressions import BadExpression
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.tree import read_tree
from pytest_bertsize.config.keys import ConfigKeys
from pytest_bertsize.files import Place
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.release import NEWEST
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pytest_bertsize.closed_forms.family import Architecture, Family
    from pytest_bertsize.release import Release
    from pytest_bertsize.table.settings import Settings

GROUP = "pytest_bertsize_closed_forms"  # entry points that name files: acme = "acme_sizes:forms.toml"
LARGEST = 1 << 20  # the most bytes of one file of closed forms


class Registry:
    """Every closed form by family (``model_type``) and architecture (class name)."""

    def __init__(
        self,
        contributed: Iterable[tuple[str, Family]] = (),
        *,
        release: Release = NEWEST,
        installed: Callable[[], Iterable[tuple[str, Family]]] = tuple,
    ) -> None:
        """Add contributions, each with its source, to the built-in closed forms.

        :param installed: returns the contributions of installed packages, which are added if nothing else is found.
        :raises BadExpression: if an architecture of a family has a closed form already.
        """
        self.release, self._installed = release, installed
        self._added: list[tuple[str, Family]] = []
        for origin, family in contributed:
            self._add_family(origin, family)

    def _add_family(self, origin: str, family: Family) -> None:
        for other, known in self._find_known(family.name):
            if twice := next((each.name for each in family.architectures if known.architecture(each.name)), None):
                said = f"{origin} contributes a closed form for {twice} of the family {family.name!r}"
                raise BadExpression(f"{said}, and so does {other}: remove one of them")
        self._added.append((origin, family))

    def _find_known(self, name: str) -> list[tuple[str, Family]]:
        """Return the families of a ``model_type`` with their sources, the built-in one first."""
        builtin = [("pytest-bertsize itself", FAMILIES[name])] if name in FAMILIES else []  # no other file is imported
        return [*builtin, *(row for row in self._added if row[1].name == name)]

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
        known = [family.at(self.release) for _, family in self._find_known(name)]
        return known if known or not self._has_more() else self.families(name)

    def find(self, name: str, architecture: str) -> tuple[Family, Architecture] | None:
        """Return the closed form of one architecture; raise Unusable for a mistake of an installed package."""
        for family in self.families(name):
            if found := family.architecture(architecture):
                return family, found
        return self.find(name, architecture) if self._has_more() else None

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
        known = (*FAMILIES.values(), *(family for _, family in self._added))
        return next((family for family in known if family.architecture(architecture)), None)

    def likely(self, data: Mapping[str, object]) -> list[str]:
        """Return the family that reads the most keys of a config without ``model_type``; on a tie BERT or all."""
        reads = {
            name: {key for family in self.families(name) for key in family.keys.meaningful | family.keys.inert}
            for name in self.names
        }
        fits = {name: sum(key in keys for key in data) for name, keys in reads.items()}
        most = max(fits.values())
        best = [name for name, count in fits.items() if count == most > 0]
        return ["bert"] if "bert" in best else best


# contributed files


def registry_of(settings: Settings | None, release: Release) -> Registry:
    """Return the built-in closed forms with those of the table's files; raise SettingsError for a wrong file."""
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
    """Yield the closed forms of installed packages; raise BadExpression for a file that cannot be read."""
    from importlib.metadata import entry_points

    for each in entry_points(group=GROUP):
        origin = f"{each.dist.name if each.dist else each.name} (entry point {each.name})"
        try:
            yield from ((origin, family) for family in families_in(_file_of(each).read_bytes()))
        except (BadExpression, OSError) as error:
            raise BadExpression(f"{origin}: {error}") from None


def _file_of(entry: EntryPoint) -> Path:
    """Return the file that an entry point names, without importing its package; raise BadExpression for none."""
    from importlib.util import find_spec

    package, _, name = entry.value.partition(":")
    top, *inner = package.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations or not name.endswith(".toml"):
        raise BadExpression(f"{entry.value} names no file; write package:forms.toml")
    return Path(spec.submodule_search_locations[0], *inner, name)


def families_in(content: bytes) -> Iterator[Family]:
    """Read the families of a file; raise BadExpression with the first mistake of the file."""
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


class _Table(Struct, forbid_unknown_fields=True):
    """The table of a family in a contributed file."""

    classes: Annotated[str, Meta(pattern=r"\S")]
    like: str | None = None
    sizes: str = ""
    switches: str = ""
    activations: str = ""
    divisible: tuple[tuple[str, str], ...] = ()
    inert: tuple[str, ...] = ()
    trees: dict[str, str] = {}
    defined_in: str = "transformers"


def _read_family(name: str, table: object) -> Family:
    try:
        read = msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        known = ", ".join(_Table.__struct_fields__)
        message = f'{printable(str(error))}; the keys are {known}, as in classes = "NAME   body + head"'
        raise BadExpression(message) from None
    if read.like is not None and read.like not in FAMILIES:
        instead = did_you_mean(read.like, [*FAMILIES], "write a built-in family")
        raise BadExpression(f"like is {shown(read.like)}; {instead}")
    like = FAMILIES.get(read.like or name)
    for text in read.trees.values():
        read_tree(text)
    keys = like.keys if like else ConfigKeys(())
    said: dict[str, Any] = {key: getattr(read, key) for key in ("sizes", "switches", "activations")}
    said["divisible"] = (*keys.divisible, *read.divisible)
    try:
        declare.read_keys(ConfigKeys(()), **said)
    except (ValueError, KeyError, IndexError) as error:
        raise BadExpression(f"sizes, switches or activations cannot be read: {error}") from None
    found = declare.family(
        name,
        like,
        classes=read.classes,
        trees=read.trees,
        inert=(*keys.inert, *read.inert),
        stem=read.trees.get("stem", like.trees["stem"] if like else ""),
        under=name.replace("-", "_"),
        **said,
    )
    classes = (replace(each, defined_in=read.defined_in) for each in found.architectures)
    return replace(found, architectures=tuple(classes))
