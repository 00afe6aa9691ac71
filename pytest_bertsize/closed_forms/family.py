"""A family and its architectures: how a closed form is registered, counted, listed and written as a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from pytest_bertsize.closed_forms.blocks import Term, list_tensors
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.older_releases import EVERYWHERE
from pytest_bertsize.inventory import TOTAL, Inventory, levels
from pytest_bertsize.release import NEWEST, Release

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.formula import Formula
    from pytest_bertsize.config.keys import ConfigKeys, Rule, Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Tensor


@dataclass(frozen=True, slots=True)
class Architecture:
    """One model class: its name in transformers and what it consists of."""

    name: str
    terms: Callable[[Dims], Sequence[Term]]
    """Its parameters, of integers or of symbols."""
    labels: bool = False
    """True if its size depends on C, the number of labels."""
    options: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    """Constructor arguments that change its size, with their defaults."""
    defined_in: str = "transformers"
    """The module that has the class, which may be the project's own."""
    rules: tuple[Rule, ...] = ()
    """Rules of this class on the config's values, beside its family's."""
    added: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    """Additions of a project's table to the class, in words by the table's keys."""
    since: tuple[int, ...] = ()
    """The first release of transformers with the class; empty if all known ones have it."""
    literals: frozenset[int] = frozenset()
    """Numbers that a project's table adds as sizes: one that a key has as well may follow it, or not."""


@dataclass(frozen=True, slots=True)
class Family:
    """A ``model_type``: the config keys that it reads and the architectures that are built from them."""

    name: str
    keys: ConfigKeys
    architectures: tuple[Architecture, ...]
    release: Release = field(default=NEWEST, kw_only=True)
    """The one that :attr:`keys` are those of."""
    since: tuple[int, ...] = field(default=(), kw_only=True)
    """The first release with the family; empty if all known ones have it."""
    classes: str = field(default="", kw_only=True, repr=False)
    """The text of :attr:`architectures`, for a similar family."""
    trees: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), kw_only=True, repr=False)
    """The texts of its trees, and the parts of these."""
    arguments: frozenset[str] = field(default=frozenset(), kw_only=True, repr=False)
    """Everything that a class may give a tree."""
    tree_rules: Mapping[str, str | tuple[Rule, ...]] = field(
        default_factory=lambda: MappingProxyType({}), kw_only=True, repr=False
    )
    """Rules of a class with a tree, beside its family's, by the tree."""
    derive: Callable[[Mapping[str, object]], Mapping[str, object]] | None = field(
        default=None, kw_only=True, repr=False
    )
    """From all that is written to what the config class takes for keys that are not, where that follows from others."""

    def at(self, release: Release) -> Self:
        """The family as a release of transformers has it."""
        if release >= NEWEST:  # what is not known yet is taken to be like the newest that is, and compared
            return self
        return replace(self, keys=self.keys.at(release, EVERYWHERE), release=release)

    def of_config(
        self,
        config: ModelConfig,  # noqa: ARG002  (of those that are made of others)
        architecture: Architecture,
        find: Callable[[str], Sequence[Family]] | None = None,  # noqa: ARG002
    ) -> tuple[Family, Architecture]:
        """Return a family and a class of it as a config has them: one that is made of others has those of the config.

        :param find: returns families by their ``model_type``; ``None``: those that are built in.
        """
        return self, architecture

    def architecture(self, name: str) -> Architecture | None:
        return next((each for each in self.architectures if each.name == name), None)

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Return the values of the family's keys in a config.

        :raises Unusable: with a finding for everything that is wrong, all at once.
        """
        from pytest_bertsize.config.values import merge_overrides, resolve, select_for_build

        if self.derive is None:
            return resolve(self.keys, config, overrides, architecture)
        written = merge_overrides(config, overrides, self.keys.aliases)
        complete = replace(config, data={**config.data, **self.derive(written)})
        values = resolve(self.keys, complete, overrides, architecture)
        return values._replace(for_build=select_for_build(self.keys, written))

    def component_names(self, dims: Dims) -> list[str]:
        """List every component of every architecture of the family, at every level: the names that a budget may use.

        Parts that come and go with the config are asked for both ways: every switch on, no two sizes equal.
        """
        on = {**dims.switches, **{switch.key: True for switch in self.keys.switches}}
        distinct = {size.symbol: index for index, size in enumerate(self.keys.sizes, 2)}
        names: dict[str, int] = {}
        for architecture in self.architectures:
            options = dict.fromkeys(architecture.options, True)
            for sizes, switches in ((dims.sizes, dims.switches), (dims.sizes, on), (distinct, on)):
                everything = Dims({"C": 1, **sizes}, {**switches, **options}, release=self.release)
                names |= _list_components(ClosedForm(architecture, everything))
        return list(names)


def _list_components(form: ClosedForm) -> dict[str, int]:
    """None of a class that such a config makes no sense to: another one of the family may still be built from it."""
    try:
        return form.components
    except Exception:  # noqa: BLE001  (whatever the blocks of a family do with a size that is not there)
        return {}


class ClosedForm(Inventory):
    """The inventory of a model by its config alone: counted by its terms, and unrolled for a list of tensors."""

    def __init__(self, architecture: Architecture, dims: Dims, list_known: Callable[[], Iterable[str]] = tuple) -> None:
        self.architecture, self.dims, self.list_known = architecture, dims, list_known

    def with_dims(self, **changes: Any) -> Self:
        """Return the same class with other sizes or switches."""
        return type(self)(self.architecture, replace(self.dims, **changes), self.list_known)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every parameter, no list unrolled: all counts below are sums over these."""
        return tuple(self.architecture.terms(self.dims))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor by name: repeats are unrolled when they are listed, so look at :attr:`total` first."""
        return tuple(list_tensors(self.terms))

    @cached_property
    def own(self) -> dict[str, int]:
        """Parameters of each component itself, without those of the components below it."""
        own: dict[str, int] = {}
        for term in self.terms:
            own[term.component] = own.get(term.component, 0) + term.total
        return own

    @cached_property
    def trainable(self) -> int:
        """Parameters that an optimiser would change."""
        return sum(term.total for term in self.terms if term.trainable)

    @cached_property
    def total(self) -> int:
        """All parameters, tied ones counted once."""
        return sum(term.total for term in self.terms)

    @property
    def unique(self) -> int:
        return self.total

    @property
    def tensor_count(self) -> int:
        """The number of :attr:`tensors`."""
        return sum(term.times for term in self.terms)

    @property
    def stored(self) -> int:
        """The total with ties written out."""
        return sum(term.times * term.size for term in self.terms)

    @property
    def unrolled(self) -> int:
        """The total with ties written out and a copy of a shared layer for each pass through it."""
        return sum(term.passes * term.size for term in self.terms)

    def formulas(self) -> dict[str, Formula]:
        """A formula for every component at every level and for the total: ``{"pooler": D² + D, …}``.

        The terms are made again of symbols; repeats stay factored out, as in ``L·(4·D² + …)``.
        """
        from pytest_bertsize.closed_forms.formula import Formulas

        return Formulas(self.dims).by_component(self.symbolic)

    @property
    def symbolic(self) -> Sequence[Term]:
        """The :attr:`terms` once more, of symbols."""
        from pytest_bertsize.closed_forms.symbols import symbolic

        return self.architecture.terms(symbolic(self.dims))

    def layers(self, component: str) -> int:
        """Count by the copies of its terms, where all of them train: what is frozen may be but some of the layers."""
        repeats = self._repeats.get(component, set())
        if component == TOTAL or not repeats:
            return 1
        if not all(trainable for _, trainable in repeats):
            return super().layers(component)
        return next(iter(repeats))[0] if len(repeats) == 1 else 1

    @cached_property
    def _repeats(self) -> dict[str, set[tuple[int, bool]]]:
        """The numbers of copies that the terms of each component at every level have, and whether these train."""
        found: dict[str, set[tuple[int, bool]]] = {}
        for component, times, trainable in {(each.component, each.times, each.trainable) for each in self.terms}:
            for level in levels(component):
                found.setdefault(level, set()).add((times, trainable))
        return found
