"""A model of several parts, each with its config and closed form: backbones of one class, or a folder of modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms import declare
from pytest_bertsize.closed_forms.blocks import Term, list_terms
from pytest_bertsize.closed_forms.changes import put_below
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS, ConfigKeys, Rule, Size, Values
from pytest_bertsize.config.parts import BY_FACTORY
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import levels, parents_first
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.config.parts import Module
    from pytest_bertsize.table.model import Model

    Find = Callable[[Model, ModelConfig, Registry], tuple[Family, Architecture]]

WHOLE = "SentenceTransformer"
NUM_LABELS = "num_labels"
TASKS = {"feature-extraction": "Model", "fill-mask": "ForMaskedLM"}
"""What sentence-transformers makes of a config, by the ending of the class."""
ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel"}
"""Families of which it takes the encoder alone."""
MODULES = {
    "Dense": declare.family(
        "Dense",
        declare.keys(
            "I in_features 768, O out_features 768",
            switches="bias true, use_residual false",
        ),
        "Dense   dense",
        {"dense": "linear     linear I O bias=bias\nresidual   linear I O bias=False   when use_residual and I != O"},
    ),
    "LayerNorm": declare.family(
        "LayerNorm", declare.keys("D dimension 768"), "LayerNorm   body", {"body": "norm   layer_norm D"}
    ),
}
"""Modules of sentence-transformers (Reimers and Gurevych 2019, arXiv 1908.10084) beside its transformer, by the names
of their classes: each a family of one class, of the keys of the config in its folder. A residual of another width than
what it is added to has a projection.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One of them."""

    name: str
    """Of its config among the parts."""
    said: str
    """What stands before its keys: ``ctx_model.``, or nothing."""
    suffix: str
    """Of its symbols: ``_c``, or nothing."""
    at: str
    """The path of its module."""
    component: str
    """Where its own components are, or all that it has if it has none of its own."""
    family: Family
    architecture: Architecture

    def symbol(self, own: str) -> str:
        """The whole's, for one of the part's own."""
        return f"{own}{self.suffix}"

    @property
    def sizes(self) -> list[Size]:
        labels = [Size(NUM_LABELS, LABELS, self.family.keys.labels)] if self.architecture.labels else []
        return [*self.family.keys.sizes, *labels]

    @property
    def as_a_whole(self) -> Iterator[Size]:
        """Its sizes as those of the whole."""
        for size in self.sizes:
            if self.said or size.symbol != LABELS:  # which a family has of itself
                yield size._replace(
                    key=f"{self.said}{size.key}", symbol=self.symbol(size.symbol), aliases=(), unread=()
                )

    @property
    def rules(self) -> Iterator[Rule]:
        return (rule.below(self.said) for rule in (*self.family.keys.all_rules, *self.architecture.rules))

    def dims(self, whole: Dims) -> Dims:
        """The whole's sizes and switches as the part's own."""
        options = {key: value for key, value in whole.switches.items() if key in self.architecture.options}
        own = {key.removeprefix(self.said): each for key, each in whole.switches.items() if key.startswith(self.said)}
        numbers = None if whole.numbers is None else self._own(whole.numbers)
        return Dims(self._own(whole.sizes), {**own, **self.architecture.options, **options}, numbers, whole.release)

    def _own(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        symbols = (size.symbol for size in self.sizes)
        return {own: sizes[self.symbol(own)] for own in symbols if self.symbol(own) in sizes}

    def list_terms(self, whole: Dims) -> Iterator[Term]:
        """Yield its terms as those of the whole."""
        for term in put_below(self.at, list_terms(self.architecture.blocks(self.dims(whole)))):
            component = ".".join(filter(None, (self.component, term.component)))
            yield term._replace(component=component)


@dataclass(frozen=True, slots=True)
class Several(Family):
    """The family of one such model: what it reads is what its parts read."""

    parts: tuple[Part, ...]
    tied: tuple[tuple[str, str], ...] = ()
    """Parts that are others, and those that they are, as a table says it."""

    def list_terms(self, dims: Dims) -> list[Term]:
        """Return the terms of all parts."""
        return [term for part in self.parts for term in part.list_terms(dims)]

    def with_keys(self, asked: Iterable[str]) -> Several:
        """The family where further keys of its parts' configs are sizes too, and what else they have is nobody's."""
        asked = tuple(asked)
        return several(self, [_with_keys(part, asked) for part in self.parts])

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Read each part by the keys of its family.

        :raises Unusable: with a finding for everything that is wrong in any.
        """
        del architecture
        found: dict[str, Values] = {}
        wrong: list[Finding] = list(self._unknown(overrides))
        for part in self.parts:
            try:
                own = self._overrides(part, overrides)
                found[part.name] = part.family.resolve(config.parts[part.name], own, part.architecture)
            except Unusable as unusable:
                wrong += [_of_part(finding, part) for finding in unusable.findings]
        if wrong:
            raise Unusable(*wrong)
        each = [(part, found[part.name]) for part in self.parts]
        return Values(
            {part.symbol(symbol): size for part, values in each for symbol, size in values.sizes.items()},
            {f"{part.said}{key}": value for part, values in each for key, value in values.switches.items()},
            {part.name: values.for_build for part, values in each},
            tuple(_of_part(finding, part) for part, values in each for finding in values.findings),
            {f"{part.said}{key}": value for part, values in each for key, value in values.assumed.items()},
            tuple(f"{part.said}{key}" for part, values in each for key in values.unknown),
        )

    def _overrides(self, part: Part, overrides: Mapping[str, object]) -> Mapping[str, object]:
        """:raises Unusable: for one that is no table."""
        if not part.said:
            names = {each.name for each in self.parts if each.said}
            return {key: value for key, value in overrides.items() if key not in names}
        own = overrides.get(part.name, {})
        if not isinstance(own, dict):
            fix = f"write {part.name} = {{ vocab_size = 21128 }}, for example"
            message = f"overrides.{part.name} is {shown(own)}"
            raise Unusable(Finding("config-invalid", message, fix, table_key=("overrides",)))
        return own

    def _unknown(self, overrides: Mapping[str, object]) -> Iterator[Finding]:
        names = [part.name for part in self.parts]
        if all(part.said for part in self.parts):
            for key in overrides:
                if key not in names:
                    fix = did_you_mean(key, names, f"write overrides = {{ {names[0]} = {{ … }} }}")
                    message = f"overrides.{printable(key)} is about none of its parts"
                    yield Finding("config-invalid", message, fix, table_key=("overrides", key))

    def keys_of(self, dims: Dims) -> ConfigKeys:  # noqa: ARG002  (which its own keys say)
        """With what else its parts read, by the names that it has in the whole."""
        own = [part.family.keys.below(part.said) for part in self.parts]
        return replace(
            self.keys,
            switches=tuple(each for keys in own for each in keys.switches),
            choices=tuple(each for keys in own for each in keys.choices),
            lists=tuple(each for keys in own for each in keys.lists),
            indices=tuple(each for keys in own for each in keys.indices),
        )

    def component_names(self, dims: Dims) -> list[str]:
        """What each part's family has, below that part's name."""
        names: dict[str, None] = {}
        for part in self.parts:
            own = part.family.component_names(part.dims(dims))
            inside = [f"{part.component}.{each}" for each in own] if part.component else own
            names |= dict.fromkeys(level for each in (*inside, part.component) if each for level in levels(each))
        return parents_first(names)


def _of_part(finding: Finding, part: Part) -> Finding:
    """``overrides.vocab_size`` → ``overrides.ctx_model.vocab_size``."""
    if not part.said or finding.table_key is None or len(finding.table_key) == 1:
        return finding
    return finding._replace(table_key=("overrides", part.name, *finding.table_key[1:]))


def _with_keys(part: Part, asked: tuple[str, ...]) -> Part:
    own = [key.removeprefix(part.said) for key in asked if key.startswith(part.said)]
    labels = part.architecture.labels or NUM_LABELS in own
    taken = {size.symbol for size in part.family.keys.sizes} | {LABELS}
    known = {size.key for size in part.family.keys.sizes} | {NUM_LABELS}
    more = tuple(Size(key, f"{key}_" if key in taken else key, default=None) for key in own if key not in known)
    keys = replace(part.family.keys, sizes=(*part.family.keys.sizes, *more), open=True)
    return replace(part, family=replace(part.family, keys=keys), architecture=replace(part.architecture, labels=labels))


def several(like: Several, parts: Iterable[Part]) -> Several:
    """The family of these parts."""
    parts = tuple(parts)
    keys = ConfigKeys(
        tuple(size for part in parts for size in part.as_a_whole),
        divisible=tuple(pair for part in parts for pair in part.family.keys.below(part.said).divisible),
        equal=(*(pair for part in parts for pair in part.family.keys.below(part.said).equal), *_one_twice(like, parts)),
        rules=tuple(rule for part in parts for rule in part.rules),
        open=True,
    )
    return replace(like, parts=parts, keys=keys)


def _one_twice(like: Several, parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
    """The sizes of parts that are one module: another size of the one is another of the other."""
    sizes = {part.name: {f"{part.said}{size.key}" for size in part.family.keys.sizes} for part in parts}
    for one, other in like.tied:
        for key in sizes.get(one, ()):
            if (twin := f"{other}{key.removeprefix(one)}") in sizes.get(other, ()):
                yield key, twin


# which parts there are


def of_config(model: Model, config: ModelConfig, registry: Registry, find: Find) -> tuple[Several, Architecture]:
    """The family and the class of a config that is put together.

    :param find: the closed form of one model.
    :raises Unusable: where there is no closed form for one of its parts.
    """
    found = _of_folder(config, registry) if config.modules else _of_backbones(model, config, registry, find)
    parts: list[Part] = []
    wrong: list[Finding] = []
    for each in found:
        if isinstance(each, Part):
            parts.append(each)
        else:
            wrong += each.findings
    if wrong:
        raise Unusable(*wrong)
    name = ", ".join(dict.fromkeys(part.family.name for part in parts if part.family.name not in MODULES)) or WHOLE
    empty = Several(name, ConfigKeys(()), (), release=registry.release, parts=(), tied=(*model.tied.items(),))
    family = several(empty, parts)
    options = {key: value for part in parts for key, value in part.architecture.options.items()}
    added = {"backbone": [*model.backbones]} if model.backbones else {"modules": [*config.parts]}
    return family, Architecture(
        model.factory or WHOLE,
        family.list_terms,
        labels=any(part.architecture.labels for part in parts if not part.said),
        options=options,
        added=added,
    )


def _of_backbones(model: Model, config: ModelConfig, registry: Registry, find: Find) -> Iterator[Part | Unusable]:
    for name, own in config.parts.items():
        alone = model.replace(architecture=model.classes.get(name, model.architecture), options={})
        try:
            family, architecture = find(alone, own, registry)
            yield Part(name, f"{name}.", f"_{_short(name, config.parts)}", name, name, family, architecture)
        except Unusable as unusable:
            yield unusable


def _short(name: str, names: Iterable[str]) -> str:
    """As much of a name as tells it from the others, for its symbols."""
    plain = {each: re.sub(r"\W", "", each) for each in names}
    others = [plain[each] for each in plain if each != name]
    lengths = range(1, len(plain[name]) + 1)
    return next(
        (plain[name][:end] for end in lengths if not any(each.startswith(plain[name][:end]) for each in others)),
        plain[name],
    )


def _of_folder(config: ModelConfig, registry: Registry) -> Iterator[Part | Unusable]:
    for index, module in enumerate(config.modules):
        is_primary = module.part == config.primary
        said, suffix = ("", "") if is_primary else (f"{module.part}.", f"_{index}")
        if not module.is_transformer:
            family = MODULES[module.kind]
            yield Part(module.part, said, suffix, module.at, f"head.{module.part}", family, family.architectures[0])
            continue
        try:
            family, architecture = _transformer(module, registry)
        except Unusable as unusable:
            yield unusable
        else:
            component = "" if is_primary else module.part
            yield Part(module.part, said, suffix, f"{module.at}.auto_model", component, family, architecture)


def _transformer(module: Module, registry: Registry) -> tuple[Family, Architecture]:
    """:raises Unusable: where there is no closed form for what sentence-transformers makes of the config."""
    config, default = module.config, "fill-mask" if module.kind == "MLMTransformer" else "feature-extraction"
    named, task = config.model_type, module.settings.get("transformer_task", default)
    families = registry.families(named) if isinstance(named, str) else []
    ending = TASKS.get(task) if isinstance(task, str) else None
    if not families or ending is None:
        what = f"model_type is {shown(named)}" if not families else f"its transformer_task is {shown(task)}"
        message = f"{what}, for which there is no closed form in a folder of modules"
        config.refuse("model_type", message, BY_FACTORY, "unknown-closed-form")
    among = [each for each in families[0].architectures if each.name.endswith(ending)]
    exact = ENCODERS.get(families[0].name, "") if ending == "Model" else ""
    found = next((each for each in among if each.name == exact), None) or min(
        among, key=lambda each: len(each.name), default=None
    )
    if found is None:
        message = f"there is no closed form for the class that sentence-transformers makes of {shown(named)}"
        config.refuse("model_type", message, BY_FACTORY, "unknown-closed-form")
    said = {**module.settings.get("model_args", {}), **module.settings.get("model_kwargs", {})}
    options = {key: said.get(key, value) for key, value in found.options.items()}
    return families[0], replace(found, options=options)
