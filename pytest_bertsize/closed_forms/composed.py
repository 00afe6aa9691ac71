"""A model made of others: backbones of one class, a folder of modules, or a class of the project around a backbone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.closed_forms import declare
from pytest_bertsize.closed_forms.blocks import STAR, Copies, Term, module
from pytest_bertsize.closed_forms.changes import find_modules, name_tensors, put_below, remove_modules, tie_modules
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS, MOST_LAYERS, ConfigKeys, Size, Values
from pytest_bertsize.config.parts import BY_FACTORY
from pytest_bertsize.findings import Finding, Unusable, find_all
from pytest_bertsize.inventory import find_nearest, group_by_module, levels, parents_first
from pytest_bertsize.table.extra import summands
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig, Module
    from pytest_bertsize.table.extra import Extra
    from pytest_bertsize.table.model import Model

    Find = Callable[[Model, ModelConfig, Registry], tuple[Family, Architecture]]

WHOLE = "SentenceTransformer"
NUM_LABELS = "num_labels"
NO_FAMILY = Family("", ConfigKeys(()), ())  # the family of a class without a config
TASKS = {"feature-extraction": "Model", "fill-mask": "ForMaskedLM"}  # the ends of sentence-transformers' classes
ENCODERS = ("T5EncoderModel", "MT5EncoderModel")  # sentence-transformers uses only the encoder of these families
# modules of sentence-transformers (Reimers and Gurevych 2019, arXiv 1908.10084) beside its transformer, by their
# classes' names: each is a family of one class, whose keys are those of the config in its folder
MODULES = {
    "Dense": declare.family(
        "Dense",
        sizes="I in_features 768, O out_features 768",
        switches="bias true, use_residual false",
        classes="Dense   dense",
        dense="linear     linear I O bias=bias\nresidual   linear I O bias=False   when use_residual and I != O",
    ),
    "LayerNorm": declare.family(
        "LayerNorm", sizes="D dimension 768", classes="LayerNorm   body", body="norm   layer_norm D"
    ),
}


class Part(Struct, frozen=True):
    """One part of a model: one backbone of several, or one module of a folder."""

    name: str
    place: str  # the prefix of the part's keys in the whole model: ctx_model., or nothing
    suffix: str  # the end of the part's symbols in the whole model: _c, or nothing
    path: str
    component: str  # the component around the part's own; if it has none, all its tensors are in this one
    family: Family
    architecture: Architecture
    config: ModelConfig

    @property
    def keys(self) -> ConfigKeys:
        """The keys that the part reads, with their names and symbols in the whole model."""
        own = self.family.keys.below(self.place, self.suffix)
        rules = (*own.rules, *(rule.below(self.place) for rule in self.architecture.rules))
        has_labels = self.architecture.labels and self.place  # without a place they belong to the whole
        labels = [Size(f"{self.place}{NUM_LABELS}", f"{LABELS}{self.suffix}", own.labels)] if has_labels else []
        return replace(own, sizes=(*own.sizes, *labels), rules=rules)

    def own_dims(self, whole: Dims) -> Dims:
        """Return the part's own sizes and switches from those of the whole model."""
        options = {key: value for key, value in whole.switches.items() if key in self.architecture.options}
        own = {key.removeprefix(self.place): each for key, each in whole.switches.items() if key.startswith(self.place)}
        symbols = (*(size.symbol for size in self.family.keys.sizes), LABELS)
        sizes = {each: whole.sizes[f"{each}{self.suffix}"] for each in symbols if f"{each}{self.suffix}" in whole.sizes}
        return Dims(sizes, {**own, **self.architecture.options, **options}, whole.is_symbolic, whole.release)

    def component_of(self, own: str) -> str:
        """Return the name that a component of the part has in the whole model."""
        return ".".join(filter(None, (self.component, own)))

    def list_terms(self, whole: Dims) -> Iterator[Term]:
        """Yield the part's terms with the names and components that they have in the whole model."""
        for term in put_below(self.path, self.architecture.terms(self.own_dims(whole))):
            yield term._replace(component=self.component_of(term.component))

    def locate(self, finding: Finding) -> Finding:
        """Return a finding with the key of the whole model's table: ``overrides.ctx_model.vocab_size``."""
        if not self.place or finding.table_key is None or len(finding.table_key) == 1:
            return finding
        return finding._replace(table_key=("overrides", self.name, *finding.table_key[1:]))


class Several(Family, frozen=True, kw_only=True):
    """The family of one model of several parts, which reads the keys of its parts."""

    parts: tuple[Part, ...]

    def list_terms(self, dims: Dims) -> list[Term]:
        """Return the terms of all parts."""
        return [term for part in self.parts for term in part.list_terms(dims)]

    def with_keys(self, asked: Iterable[str]) -> Self:
        """Return the family with the keys ``asked`` of its parts' configs as further sizes."""
        asked, parts = tuple(asked), []
        for part in self.parts:
            own = [key.removeprefix(part.place) for key in asked if key.startswith(part.place)]
            architecture = replace(part.architecture, labels=part.architecture.labels or NUM_LABELS in own)
            parts.append(replace(part, family=part.family.with_keys(own), architecture=architecture))
        return self.with_parts(parts)

    def with_parts(self, parts: Iterable[Part]) -> Self:
        """Return the family with ``parts`` in place of its own."""
        parts = tuple(parts)
        own = [part.keys for part in parts]
        lists = ("sizes", "switches", "choices", "lists", "indices", "divisible", "equal", "rules")
        merged: dict[str, Any] = {name: tuple(each for keys in own for each in getattr(keys, name)) for name in lists}
        return replace(self, parts=parts, keys=ConfigKeys(**merged, open=True))

    def resolve(self, config: ModelConfig, overrides: Mapping[str, object], architecture: Architecture) -> Values:
        """Read each part by the keys of its family; raise Unusable with the findings of all parts."""
        del config, architecture
        names = [part.name for part in self.parts]
        unknown = (key for key in overrides if key not in names and all(part.place for part in self.parts))
        wrong = []
        for key in unknown:
            fix = did_you_mean(key, names, f"write overrides = {{ {names[0]} = {{ … }} }}")
            message = f"overrides.{printable(key)} names no part of the model"
            wrong.append(Finding("config-invalid", message, fix, table_key=("overrides", key)))
        each = find_all((partial(self._resolve_part, part, overrides) for part in self.parts), wrong)
        return Values(
            {f"{symbol}{part.suffix}": size for part, values in each for symbol, size in values.sizes.items()},
            {f"{part.place}{key}": value for part, values in each for key, value in values.switches.items()},
            {part.name: values.for_build for part, values in each},
            tuple(part.locate(finding) for part, values in each for finding in values.findings),
            {f"{part.place}{key}": value for part, values in each for key, value in values.assumed.items()},
            tuple(f"{part.place}{key}" for part, values in each for key in values.unknown),
        )

    def _resolve_part(self, part: Part, overrides: Mapping[str, object]) -> tuple[Part, Values]:
        others = {each.name for each in self.parts if each.place}
        own = overrides.get(part.name, {}) if part.place else {k: v for k, v in overrides.items() if k not in others}
        if not isinstance(own, dict):
            fix = f"write {part.name} = {{ vocab_size = 21128 }}, for example"
            message = f"overrides.{part.name} is {shown(own)}, not a table"
            raise Unusable(Finding("config-invalid", message, fix, table_key=("overrides",)))
        try:
            return part, part.family.resolve(part.config, own, part.architecture)
        except Unusable as unusable:
            raise Unusable(*map(part.locate, unusable.findings)) from None

    def component_names(self, dims: Dims) -> list[str]:
        """Return the components of each part's family, below that part's name."""
        names: dict[str, None] = {}
        for part in self.parts:
            own = [*map(part.component_of, part.family.component_names(part.own_dims(dims))), part.component]
            names |= dict.fromkeys(level for each in own if each for level in levels(each))
        return parents_first(names)


# find the parts


def of_config(model: Model, config: ModelConfig, registry: Registry, find: Find) -> tuple[Several, Architecture]:
    """Return the family and the class of a composed config; ``find`` returns the closed form of one model."""
    if config.modules:
        parts = find_all(partial(_find_module, config, *each, registry) for each in enumerate(config.modules))
    else:
        parts = find_all(partial(_find_backbone, model, config, name, registry, find) for name in config.parts)
    name = ", ".join(dict.fromkeys(part.family.name for part in parts if part.family.name not in MODULES)) or WHOLE
    family = Several(name, ConfigKeys(()), (), release=registry.release, parts=()).with_parts(parts)
    return family, Architecture(
        model.factory or WHOLE,
        family.list_terms,
        labels=any(part.architecture.labels for part in parts if not part.place),
        options={key: value for part in parts for key, value in part.architecture.options.items()},
        added={"backbone": [*model.backbones]} if model.backbones else {"modules": [*config.parts]},
    )


def _find_backbone(model: Model, config: ModelConfig, name: str, registry: Registry, find: Find) -> Part:
    alone = model.replace(architecture=model.classes.get(name, model.architecture), options={})
    found = find(alone, config.parts[name], registry)
    # the shortest beginning that no other name has
    plain, others = re.sub(r"\W", "", name), [re.sub(r"\W", "", each) for each in config.parts if each != name]
    beginnings = (plain[:end] for end in range(1, len(plain)))
    suffix = next((each for each in beginnings if not any(other.startswith(each) for other in others)), plain)
    return Part(name, f"{name}.", f"_{suffix}", name, name, *found, config.parts[name])


def _find_module(config: ModelConfig, index: int, module: Module, registry: Registry) -> Part:
    if module.is_transformer:
        family, architecture = _find_transformer(module, registry)
        path, component = f"{module.at}.auto_model", module.part
    else:
        family, architecture = MODULES[module.kind], MODULES[module.kind].architectures[0]
        path, component = module.at, f"head.{module.part}"
    place, suffix = f"{module.part}.", f"_{index}"
    if module.part == config.primary:
        place, suffix, component = "", "", ""
    return Part(module.part, place, suffix, path, component, family, architecture, config.parts[module.part])


def _find_transformer(module: Module, registry: Registry) -> tuple[Family, Architecture]:
    """:raises Unusable: if there is no closed form for the class that sentence-transformers makes from the config."""
    config, default = module.config, "fill-mask" if module.kind == "MLMTransformer" else "feature-extraction"
    named, task = config.model_type, module.settings.get("transformer_task", default)
    families, ending = registry.families(str(named))[:1], TASKS.get(str(task))
    classes = [(family, each) for family in families for each in family.architectures]
    among = [(family, each) for family, each in classes if ending and each.name.endswith(ending)]
    if not among:
        made = f"sentence-transformers makes from model_type {shown(named)} for the task {shown(task)}"
        message = f"there is no closed form for the class that {made}"
        config.refuse("model_type", message, BY_FACTORY, "unknown-closed-form")
    family, found = min(among, key=lambda each: (each[1].name not in ENCODERS, len(each[1].name)))
    said = {**module.settings.get("model_args", {}), **module.settings.get("model_kwargs", {})}
    return family, replace(found, options={key: said.get(key, value) for key, value in found.options.items()})


# a class of the project


def own_class(
    model: Model, family: Family, backbone: Architecture, written: Mapping[str, object]
) -> tuple[Family, Architecture]:
    """Return the class of the factory, and the family with its keys; ``written`` has those of config and overrides."""
    asked = {
        key: each.name for each in reversed(model.extra) for size in each.written for _, key in summands(size) if key
    }
    family = _with_keys(family, asked, written)
    symbols = {size.key: size.symbol for size in family.keys.sizes}
    symbols.setdefault(NUM_LABELS, LABELS)

    def complete(dims: Dims, terms: Sequence[Term]) -> list[Term]:
        held = tie_modules(remove_modules(put_below(model.backbone, terms), model.without), model.tied)
        beside = [(extra.name, _list_beside(extra, dims, symbols, held)) for extra in model.extra]
        if not dims.is_symbolic:
            _refuse_doubled(held, beside)
        return [*held, *(term for _, terms in beside for term in terms)]

    changed = backbone.changed(
        complete,
        backbone=[model.backbone] if model.backbone else [],
        without=model.without,
        tied=[f"{one} is {other}" for one, other in model.tied.items()],
        extra=[str(each) for each in model.extra],
    )
    sizes = " ".join(str(size) for each in model.extra for size in each.sizes)
    literals = frozenset(map(int, re.findall(r"(?<![\w.])\d+", sizes)))
    return family, replace(changed, labels=backbone.labels or NUM_LABELS in asked, literals=literals)


def _with_keys(family: Family, asked: Mapping[str, str], written: Mapping[str, object]) -> Family:
    """Return the family with more keys, which the config must have; ``asked`` maps each to its ``extra``."""
    known = {size.key for size in family.keys.sizes} | {NUM_LABELS}
    own = sorted(asked.keys() - known)
    wrong = []
    for key in own:
        if key not in written and not (isinstance(family, Several) and key.endswith(f".{NUM_LABELS}")):
            fix = did_you_mean(key, [*known, *written], f"write {shown(key)} in the config, or a number in its place")
            message = f"the extra {shown(asked[key])} is sized by {shown(key)}, a key that the config does not have"
            wrong.append(Finding("config-invalid", message, fix, table_key=("extra",)))
    if wrong:
        raise Unusable(*wrong)
    return family.with_keys(own)


def _refuse_doubled(held: Sequence[Term], beside: Sequence[tuple[str, Sequence[Term]]]) -> None:
    """:raises Unusable: for an ``extra`` with a tensor that the backbone, or another ``extra``, has already."""
    owners = {name: "the backbone" for name, _ in name_tensors(held)}
    for extra, terms in beside:
        for name, _ in name_tensors(terms):
            if owner := owners.get(name):
                message = f"the extra {shown(extra)} has {name}, and so has {owner}"
                raise Unusable(Finding("config-invalid", message, "remove one of them", table_key=("extra",)))
            owners[name] = "another extra"


def _list_beside(extra: Extra, dims: Dims, symbols: Mapping[str, str], held: Sequence[Term]) -> list[Term]:
    """Return the terms of one ``extra``, once for each layer that its name means."""
    sizes = [_make_size(size, dims, symbols) for size in extra.sizes]
    copies: tuple[Copies, ...] = ()
    if extra.count is not None:
        copies = (Copies(_make_size(extra.count, dims, symbols)),)
        if (count := copies[0].times) > MOST_LAYERS:
            message = f"the extra {shown(extra.name)} is {count:,} modules, more than {MOST_LAYERS:,}"
            raise Unusable(Finding("config-refused", message, "write as many as there are", table_key=("extra",)))
    found: list[Term] = []
    modules = group_by_module((term.name, term.component) for term in held)
    names, (layers, bracket, rest) = [extra.name], extra.name.rpartition("]")
    if bracket:  # a range of a list, such as layer[:6]
        paths = find_modules("extra", f"{layers}]", [name for name, _ in name_tensors(held)])
        names = [f"{path}{rest}" for path in paths]
    for name in names:
        component = extra.component or find_nearest(name, modules, f"head.{name.partition('.')[0]}")
        path = f"{name}.{STAR}" if copies and STAR not in name else name
        found += module(
            extra.block, path, *sizes, component=component, tied=extra.tied, copies=copies, **extra.arguments
        )
    return found


def _make_size(size: int | str, dims: Dims, symbols: Mapping[str, str]) -> Count:
    """Return the value of a size: a number, or the sum in a text, as in ``"2*hidden_size + 16"`` → 2·D + 16."""
    if isinstance(size, int):
        return size
    found: Count = 0
    for times, key in summands(size):
        value: Count | None = dims.sizes[symbols[key]] if key else 1
        if value is None:
            message = f"an extra is sized by {shown(key)}, which is null in the config or missing"
            raise Unusable(Finding("config-invalid", message, "write a number in its place", table_key=("extra",)))
        found += times * value
    return found
