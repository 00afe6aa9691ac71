"""A family, its architectures, and the closed form of a model, which counts, lists tensors and writes formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms.blocks import RANK, Term, list_tensors
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import Size
from pytest_bertsize.config.older_releases import EVERYWHERE
from pytest_bertsize.inventory import TOTAL, Inventory, is_within
from pytest_bertsize.release import NEWEST, Release

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.formula import Formula
    from pytest_bertsize.config.keys import ConfigKeys, Rule, Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Tensor


class Architecture(Struct, frozen=True):
    """One model class: its name in transformers and its terms."""

    name: str
    terms: Callable[[Dims], Sequence[Term]]
    labels: bool = False  # True if a count of the class depends on C, the number of labels
    options: Mapping[str, bool] = {}  # constructor arguments that change a count of the class, with their defaults
    defined_in: str = "transformers"  # the module that has the class, which may be the project's own
    rules: tuple[Rule, ...] = ()
    added: Mapping[str, Sequence[str]] = {}  # what a project's table adds to the class, as text, by the table's key
    since: tuple[int, ...] = ()  # the first release of transformers with the class; empty if all known ones have it
    literals: frozenset[int] = frozenset()  # numbers in a project's table, which may or may not mean an equal key

    def changed(self, change: Callable[[Dims, Sequence[Term]], Sequence[Term]], **added: Sequence[str]) -> Self:
        """Return the class with changed terms; ``added`` is the change as text, by the table keys that make it."""
        added = {**self.added, **{key: each for key, each in added.items() if each}}
        return replace(self, terms=lambda dims: change(dims, self.terms(dims)), added=added)


class Family(Struct, frozen=True):
    """A ``model_type``: the config keys that it reads, and its architectures."""

    name: str
    keys: ConfigKeys
    architectures: tuple[Architecture, ...]
    release: Release = NEWEST  # the release of transformers to which keys belong
    since: tuple[int, ...] = ()
    classes: str = ""  # the text of architectures, for reuse by a similar family
    trees: Mapping[str, str] = {}  # the texts of trees, and of parts of trees, by name
    tree_rules: Mapping[str, str | tuple[Rule, ...]] = {}  # further rules of the classes with a tree, by its name
    derive: Callable[[Mapping[str, object]], Mapping[str, object]] | None = None  # adds missing keys

    def at(self, release: Release) -> Self:
        """Return the family as it is in a release of transformers; a release after the newest known one is like it."""
        if release >= NEWEST:
            return self
        return replace(self, keys=self.keys.at(release, EVERYWHERE), release=release)

    def with_keys(self, asked: Iterable[str]) -> Self:
        """Return the family with further sizes; a size is its own symbol, unless that is taken."""
        taken, known = {*self.keys.key_of_symbol, RANK}, {*self.keys.key_of_symbol.values()}
        more = (Size(key, f"{key}_" if key in taken else key, default=None) for key in asked if key not in known)
        return replace(self, keys=replace(self.keys, sizes=(*self.keys.sizes, *more), open=True))

    def of_config(
        self, config: ModelConfig, architecture: Architecture, find: Callable[[str], Sequence[Family]]
    ) -> tuple[Family, Architecture]:
        """Return the family and the class for a config; ``find`` returns the families of a ``model_type``."""
        del config, find
        return self, architecture

    def architecture(self, name: str) -> Architecture | None:
        return next((each for each in self.architectures if each.name == name), None)

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Return the values of the family's keys in a config; raise Unusable with all findings at once."""
        from pytest_bertsize.config.values import merge_overrides, resolve, select_for_build

        if self.derive is None:
            return resolve(self.keys, config, overrides, architecture)
        written = merge_overrides(config, overrides, self.keys.aliases)
        complete = replace(config, data={**config.data, **self.derive(written)})
        values = resolve(self.keys, complete, overrides, architecture)
        return values._replace(for_build=select_for_build(self.keys, written))

    def component_names(self, dims: Dims) -> list[str]:
        """List every component of every architecture, at every level, as in a config with every switch on."""
        on = {**dims.switches, **{switch.key: True for switch in self.keys.switches}}
        distinct = {size.symbol: index for index, size in enumerate(self.keys.sizes, 2)}
        names: dict[str, int] = {}
        for architecture in self.architectures:
            options = dict.fromkeys(architecture.options, True)
            for sizes, switches in ((dims.sizes, dims.switches), (dims.sizes, on), (distinct, on)):
                everything = Dims({"C": 1, **sizes}, {**switches, **options}, release=self.release)
                with suppress(Exception):  # blocks raise anything if the config fits only other classes of the family
                    names |= ClosedForm(architecture, everything).components
        return list(names)


class ClosedForm(Inventory):
    """The inventory of a model from its config alone: counts are sums over terms, not over tensors."""

    def __init__(self, architecture: Architecture, dims: Dims, list_known: Callable[[], Iterable[str]] = tuple) -> None:
        self.architecture, self.dims, self.list_known = architecture, dims, list_known

    def with_dims(self, **changes: Any) -> Self:
        """Return the closed form of the same class with other sizes or switches."""
        return type(self)(self.architecture, replace(self.dims, **changes), self.list_known)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """All terms, with one term for all layers of a list: all counts of this class are sums over terms."""
        return tuple(self.architecture.terms(self.dims))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor by name, one for each copy; a huge model has too many, so check :attr:`total` first."""
        return tuple(list_tensors(self.terms))

    @property
    def counted(self) -> Iterator[tuple[str, bool, int]]:
        return ((each.component, each.trainable, each.owned) for each in self.terms)

    @property
    def total(self) -> int:
        """All parameters, tied ones counted once."""
        return self.unique

    @property
    def tensor_count(self) -> int:
        """The number of :attr:`tensors`."""
        return sum(term.times for term in self.terms)

    @property
    def stored(self) -> int:
        """The total with tied parameters counted under each name."""
        return sum(term.times * term.size for term in self.terms)

    @property
    def unrolled(self) -> int:
        """The total with tied parameters counted under each name, and a shared layer once for each pass through it."""
        return sum(term.passes * term.size for term in self.terms)

    def formulas(self) -> dict[str, Formula]:
        """Return a formula for every component and for the total, with copies factored out: ``L·(4·D² + …)``."""
        from pytest_bertsize.closed_forms.formula import Formulas

        return Formulas(self.dims).by_component(self.symbolic)

    @property
    def symbolic(self) -> Sequence[Term]:
        """The :attr:`terms` with symbols in place of sizes."""
        from pytest_bertsize.closed_forms.symbols import symbolic

        return self.architecture.terms(symbolic(self.dims))

    def layers(self, component: str) -> int:
        """Return the number of copies if it is the same for all terms, else 1; with a frozen term, compare tensors."""
        if not all(term.trainable for term in self.terms):
            return super().layers(component)
        times = {term.times for term in self.terms if is_within(term.component, component)}
        return int(times.pop()) if component != TOTAL and len(times) == 1 else 1
