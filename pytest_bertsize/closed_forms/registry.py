"""The closed forms of this package, and those that a project or an installed package contributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.release import NEWEST

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import Architecture, Family
    from pytest_bertsize.release import Release


class Conflict(Exception):
    """Two closed forms for one architecture."""


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
        :raises Conflict: if an architecture of a family has a closed form already.
        """
        self.release = release
        self._installed = installed
        self._contributed: list[tuple[str, Family]] = []
        self._origins: dict[tuple[str, str], str] = {}
        for origin, family in contributed:
            self._add_family(origin, family)

    def _add_family(self, origin: str, family: Family) -> None:
        builtin = FAMILIES.get(family.name)
        for each in family.architectures:
            is_builtin = builtin and builtin.architecture(each.name)
            other = "pytest-bertsize itself" if is_builtin else self._origins.get((family.name, each.name))
            if other:
                raise Conflict(
                    f"{origin} contributes a closed form for {each.name} of the family {family.name!r}, "
                    f"and so does {other}: remove one of them"
                )
            self._origins[family.name, each.name] = origin
        self._contributed.append((origin, family))

    def without(self, origins: Collection[str]) -> Registry:
        """Return the registry without the contributions from ``origins``."""
        rest = [(origin, family) for origin, family in self._contributed if origin not in origins]
        return Registry(rest, release=self.release, installed=self._installed)

    @property
    def names(self) -> list[str]:
        """The ``model_type`` of every family."""
        return list(dict.fromkeys([*FAMILIES, *(family.name for _, family in self._contributed)]))

    def families(self, name: str) -> list[Family]:
        """Return the families of a ``model_type``, the built-in one first."""
        builtin = [FAMILIES[name]] if name in FAMILIES else []
        known = (*builtin, *(family for _, family in self._contributed if family.name == name))
        if not known and self._has_more():
            return self.families(name)
        return [family.at(self.release) for family in known]

    def find(self, name: str, architecture: str) -> tuple[Family, Architecture] | None:
        """Return the closed form of one architecture of a family.

        :raises Unusable: if installed packages have two closed forms for one class, or a file that cannot be read.
        """
        known = ((family, family.architecture(architecture)) for family in self.families(name))
        found = next(((family, known) for family, known in known if known), None)
        return self.find(name, architecture) if found is None and self._has_more() else found

    def _has_more(self) -> bool:
        """Add the contributions of installed packages, once, and return whether there were any."""
        installed, self._installed = self._installed, tuple
        found = [*installed()]
        try:
            for origin, family in found:
                self._add_family(origin, family)
        except Conflict as conflict:
            raise Unusable(Finding("unknown-closed-form", str(conflict))) from None
        return bool(found)

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
        return [*FAMILIES.values(), *(family for _, family in self._contributed)]
