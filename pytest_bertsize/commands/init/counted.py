"""A config, the class that it is counted as, and what its closed form comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.table.model import Model

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.found import Found

GUESSED = "the file names no class: write the one that your code builds, then pytest --bert-budget --bert-budget-update"


@dataclass(frozen=True)
class Counted:
    """A config, the class that it is counted as, and what that comes to."""

    found: Found
    architecture: str | None
    """What the table has to say, where the file names no class or several."""
    because: str
    """Why the table says it."""
    derivation: Derivation
    is_a_guess: bool = False
    """Whether nothing says the class: the file that its author names next may have another top."""

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """What the count depends on, but for the class."""
        dims = self.derivation.form.dims
        sizes = {symbol: size for symbol, size in dims.sizes.items() if symbol != "C"}
        keys = self.derivation.family.keys
        words = (*(each.key for each in keys.choices), *(each.key for each in keys.lists))
        switches = [(name, str(dims.switches.get(name))) for name in (*(each.key for each in keys.switches), *words)]
        return self.derivation.family.name, *sizes.items(), *switches

    @property
    def class_name(self) -> str:
        return self.derivation.form.architecture.name


def counted(found: Found, registry: Registry) -> Counted:
    """Count a config by its closed form.

    :raises Unusable: when there is none, or when the config cannot be used.
    """
    architecture, because = _architecture(found, registry)
    return Counted(found, architecture, because, _derivation(found, architecture, registry), because == GUESSED)


def counted_as(one: Counted, other: Counted, registry: Registry) -> Counted:
    """A config that names no class, counted as the class that a copy of it in a checkpoint names.

    :raises Unusable: when it cannot be.
    """
    derivation = _derivation(one.found, other.class_name, registry)
    because = f"as {other.found.file} says"
    return replace(one, architecture=other.class_name, because=because, derivation=derivation, is_a_guess=False)


def _derivation(found: Found, architecture: str | None, registry: Registry) -> Derivation:
    model = Model("", found.reference, found.family, architecture, {}, {}, (), ())
    return derive(model, found.config, choose(model, found.config, registry))


def _architecture(found: Found, registry: Registry) -> tuple[str | None, str]:
    named = found.config.architectures
    families = registry.families(str(found.config.model_type or found.family))
    known = [each.name for family in families for each in family.architectures]
    if len(named) == 1 or not known:
        return None, ""
    if some := [name for name in named if name in known]:
        return some[0], "one of those that the file names"
    if named:
        return None, ""
    return known[0], GUESSED
