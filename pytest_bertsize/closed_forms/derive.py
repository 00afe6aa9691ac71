"""Derive the closed form of a declared model, or of the same model at a base, from its config without a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from msgspec.structs import replace

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.closed_forms.blocks import RANK
from pytest_bertsize.closed_forms.expressions import BadExpression
from pytest_bertsize.closed_forms.family import Architecture, ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import LABELS, Size
from pytest_bertsize.findings import Finding, Option, Unusable
from pytest_bertsize.wording import exact, is_name, nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.keys import ConfigKeys, Rule, Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model

MOST_PARAMETERS = 10**13  # no trained model has as many parameters, so a larger one is a mistake
MOST_MEMORY = 64 * MEGABYTE  # the most bytes that a closed form may predict for a build, unless the table allows more
BYTES_OF_A_TENSOR = 3_600  # on the meta device, with its name and its share of modules (measured: 3.4 to 3.6 KB)
BYTES_OF_A_LABEL = 190  # bytes that a label takes: transformers writes the name of a label into two dictionaries
CORRECT = (
    "correct the name; describe a class of your own by the keys factory, backbone and extra; contribute a closed form "
    '(closed_forms = ["sizes/forms.toml"]); '
    "or write closed_form = false to check its budget alone"
)
CORRECT_IT = ("correct the name, or name a model that has a closed form",)
NAME_ANOTHER = 'name a model\'s config, or the object in the file that is one, as in "train.yaml#model"'


class Derivation(NamedTuple):
    """A model as its config alone describes it."""

    family: Family
    form: ClosedForm
    values: Values
    options: Mapping[str, bool]
    notes: tuple[Finding, ...] = ()
    adapter: Adapter | None = None
    alone: ClosedForm | None = None  # the model without its adapter; None if the model has no adapter

    @property
    def sizes(self) -> dict[str, Size]:
        """Every size by its symbol, including the number of labels if there is one."""
        labels = {LABELS: Size("num_labels", LABELS, self.family.keys.labels)} if LABELS in self.form.dims.sizes else {}
        return {**labels, **{size.symbol: size for size in self.family.keys.sizes}}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The conditions that the class sets for its sizes."""
        return (*self.family.keys.all_rules, *self.form.architecture.rules)


def derive(
    model: Model, config: ModelConfig, chosen: tuple[Family, Architecture], adapter: Adapter | None = None
) -> Derivation:
    """Return the closed form of a model and the values of its config; refuse a model that is too large to build."""
    family, architecture = chosen
    options = constructor_arguments(model, architecture)
    values = family.resolve(config, model.overrides, architecture)
    dims = Dims(values.sizes, {**values.switches, **options}, release=family.release)
    form = _count_form(architecture, dims, partial(family.component_names, dims))
    _refuse_the_absurd(form, config, model, family.keys)
    if adapter is None:
        counted_once = tuple(
            Finding("untied", f"{printable(one)} is tied to {printable(other)}, and is counted with it", "", "note")
            for one, other in model.tied.items()
            if {one, other} <= {*model.backbones}
        )
        return Derivation(family, form, values, options, counted_once)
    from pytest_bertsize.closed_forms.lora import list_notes

    alone, form = form, with_adapter(form, adapter)
    _refuse_the_absurd(form, config, model, family.keys)
    return Derivation(family, form, values, options, tuple(list_notes(adapter, alone.terms)), adapter, alone)


def choose(model: Model, config: ModelConfig, registry: Registry) -> tuple[Family, Architecture]:
    """Return the family and the class of a model, with the table's additions; raise Unusable if there is none."""
    family, architecture = _find_class(model, config, registry)

    def freeze(dims: Dims, terms: Sequence[Term]) -> Sequence[Term]:
        from pytest_bertsize.closed_forms.changes import freeze_modules

        return terms if dims.is_symbolic else freeze_modules(terms, model.frozen)  # no formula shows what trains

    return family, architecture.changed(freeze, frozen=model.frozen) if model.frozen else architecture


def _find_class(model: Model, config: ModelConfig, registry: Registry) -> tuple[Family, Architecture]:
    """Return the family and the class of a model, without its adapter."""
    if model.factory is None and not config.parts:
        return closed_form_of(model, config, registry)
    from pytest_bertsize.closed_forms.composed import NO_FAMILY, of_config, own_class

    if config.parts:
        found = of_config(model, config, registry, closed_form_of)
        return own_class(model, *found, config.flat) if model.factory else found
    written = {**config.data, **model.overrides}
    if model.architecture or model.family or config.model_type or config.architectures:
        return own_class(model, *closed_form_of(model, config, registry), written)
    if model.extra and not model.backbone:
        return own_class(model, NO_FAMILY, Architecture(model.factory or "", lambda _: []), written)
    message = f"neither the table nor a config names a model class for {model.factory}"
    by_hand = 'write architecture = "BertModel" and extra = […]'
    finds = f"{model.init_command} --write writes its table; or" if model.init_command else f"{by_hand},"
    fix = f"{finds} contribute a closed form, or write closed_form = false"
    raise Unusable(Finding("unknown-closed-form", message, fix, table_key=("factory",)))


def with_adapter(form: ClosedForm, adapter: Adapter) -> ClosedForm:
    """Return a model's closed form with an adapter on it; raise Unusable if the adapter does not fit the model."""
    targets = adapter.target_modules if isinstance(adapter.target_modules, str) else ", ".join(adapter.target_modules)

    def adapt(dims: Dims, terms: Sequence[Term]) -> list[Term]:
        from pytest_bertsize.closed_forms.lora import add_adapter

        try:
            return add_adapter(terms, adapter, getattr(dims, RANK))
        except ValueError as error:
            finding = Finding("config-invalid", str(error), "correct the adapter", table_key=("adapter",))
            raise Unusable(finding) from None

    adapted = form.architecture.changed(adapt, adapter=[f"LoRA on {targets}"])
    return _count_form(adapted, replace(form.dims, sizes={**form.dims.sizes, RANK: adapter.r}), form.list_known)


def _count_form(architecture: Architecture, dims: Dims, list_known: Callable[[], Iterable[str]]) -> ClosedForm:
    """Return the closed form if it gives a count; a contributed one may fail."""
    form = ClosedForm(architecture, dims, list_known)
    try:
        if form.total >= 0:
            return form
        why = f"its total is {form.total:,}"
    except Unusable:
        raise
    except Exception as error:  # noqa: BLE001  (blocks raise anything for sizes that they cannot use)
        why = str(error) if isinstance(error, BadExpression) else f"{type(error).__name__}: {error}"
    message = f"the closed form for {architecture.name} gives no count: {why}"
    raise Unusable(Finding("unknown-closed-form", printable(message), "correct its text"))


def _refuse_the_absurd(form: ClosedForm, config: ModelConfig, model: Model, keys: ConfigKeys) -> None:
    """Refuse a model that is too large by its closed form, before it is built or listed, at the key of its size."""
    labels, most = form.dims.sizes.get(LABELS) or 0, max(MOST_MEMORY, (model.build.memory or 0) * 4 // 5)
    memory = form.tensor_count * BYTES_OF_A_TENSOR + labels * BYTES_OF_A_LABEL
    if memory > most:
        parts = f"{exact(form.tensor_count)} tensors" + (f" and {exact(labels)} labels" if labels else "")
        takes = f"{exact(memory // MEGABYTE)} MB to build, more than {exact(most // MEGABYTE)} MB"
        message = f"by the closed form this is {parts}, which would take {takes}"
        what, symbol = "layers", _find_largest(form, lambda term: term.times)
    elif form.unrolled > MOST_PARAMETERS:
        count = form.total if form.total > MOST_PARAMETERS else form.unrolled
        message = f"by the closed form this is {exact(count)} parameters, more than {exact(MOST_PARAMETERS)}"
        what, symbol = "size", _find_largest(form, lambda term: term.passes * term.size)
    else:
        return
    key, fix = keys.key_of_symbol.get(symbol), f"write the {what} that the model has"
    if key is None:
        raise Unusable(Finding("config-refused", message, "correct its sizes", file=config.file))
    names = [key, *(alias for alias, own in keys.aliases.items() if own == key)]
    written = next((name for place in (model.overrides, config.data) for name in names if name in place), key)
    message = f"{written} is {exact(form.dims.sizes[symbol] or 0)}: {message}"
    if written in model.overrides:
        raise Unusable(Finding("config-refused", message, fix, table_key=("overrides", written)))
    config.refuse(written, message, fix, "config-refused")


def _find_largest(form: ClosedForm, count: Callable[[Term], Count]) -> str:
    """Return the symbol of the largest size in the largest term; ``""`` if that term has numbers alone."""
    from pytest_bertsize.closed_forms.symbols import symbols_of, terms_of

    most = max(form.terms, key=count)
    symbols = next((symbols_of(terms_of(count(term))) for term in form.symbolic if term.name == most.name), frozenset())
    return max(sorted(symbols), key=lambda symbol: form.dims.sizes[symbol] or 0, default="")


# family, class and constructor arguments, from the table and the config


def closed_form_of(model: Model, config: ModelConfig, registry: Registry) -> tuple[Family, Architecture]:
    """Return the closed form of a declared model; raise Unusable, with the nearest names, if there is none."""
    named = family_name(model, config, registry)
    if not (families := registry.families(named)):
        nearest = nearest_to(named, registry.names)
        message = f"there is no closed form for the family {shown(named)}"
        message += f"; the nearest is {nearest!r}" if nearest else ""
        _refuse("family", Finding("unknown-closed-form", message, CORRECT, elsewhere=CORRECT_IT), model, config)
    name = architecture_name(model, config, named, registry)
    found = registry.find(named, name)
    if found is None:
        from difflib import get_close_matches

        classes = [each.name for family in families for each in family.architectures]
        nearest = ", ".join(get_close_matches(name, classes, n=3) or classes[:3])
        message = f"there is no closed form for {shown(name)} in the family {named!r}; the nearest class is {nearest}"
        _refuse("architecture", Finding("unknown-closed-form", message, CORRECT, elsewhere=CORRECT_IT), model, config)
    family, architecture = found
    if family.release < (since := max(family.since, architecture.since)):
        first = ".".join(map(str, since))
        message = f"transformers {family.release} has no {name}, which came with {first}"
        fix = f"write another class, or run transformers {first} or newer"
        _refuse("architecture", Finding("unknown-closed-form", message, fix), model, config)
    return family.of_config(config, architecture, registry.families)


def family_name(model: Model, config: ModelConfig, registry: Registry) -> str:
    """Return the file's ``model_type``, or the table's ``family`` if the file has none; never a guess."""
    said = config.model_type
    if said is None and model.family is None:
        known = registry.family_of(model.architecture or next(iter(config.architectures), ""))
        likely = [known.name] if known else registry.likely(config.data)
        if not likely:
            message = f"{config.reference} has no model_type, and no key that any family reads"
            raise Unusable(Finding("config-invalid", message, NAME_ANOTHER, table_key=()))
        message = f"{config.reference} has no model_type, as is usual for Google's bert_config.json"
        or_one_of = f", or {', '.join(map(shown, likely[1:]))}" if likely[1:] else ""
        elsewhere = ("write ", Option("family", likely[0]), or_one_of)
        fix = f'write family = "{likely[0]}"{or_one_of}'
        raise Unusable(Finding("config-invalid", message, fix, table_key=(), elsewhere=elsewhere))
    if said is None or said == model.family:
        return model.family or ""
    if model.family is not None:
        message = f"{config.reference} has model_type {shown(said)}, but family is {shown(model.family)}"
        fix, remove = "remove family from the table", ("remove ", Option("family"))
        raise Unusable(Finding("config-invalid", message, fix, table_key=("family",), elsewhere=remove))
    if not (isinstance(said, str) and is_name(said)):
        config.refuse("model_type", f"model_type is {shown(said)}, which is not a name", 'write "bert", for example')
    return said


def architecture_name(model: Model, config: ModelConfig, family: str, registry: Registry) -> str:
    """Return the table's ``architecture``, else the only architecture in the file."""
    names = config.architectures
    if not model.architecture and len(names) != 1:
        says = f"names {len(names):,} architectures" if names else "names no architecture"
        classes = [each.name for found in registry.families(family) for each in found.architectures]
        classes = classes or ["BertModel"]
        message, fix = f"{config.reference} {says}", f'write architecture = "{classes[0]}", for example'
        write = ("write ", Option("architecture"), f" with one of {', '.join(classes)}")
        raise Unusable(Finding("config-invalid", message, fix, table_key=(), elsewhere=write))
    named = model.architecture or names[0]
    if not (model.architecture or is_name(named)):
        message = f"architectures names {shown(named)}, which is not a class"
        config.refuse("architectures", message, 'write the name of the class, as in "BertModel"')
    return named


def _refuse(key: str, finding: Finding, model: Model, config: ModelConfig) -> NoReturn:
    """:raises Unusable: always, at the key in the table if the table has it, else at the key in the config."""
    if getattr(model, key) is not None:
        raise Unusable(finding._replace(table_key=(key,)))
    in_config = {"family": "model_type", "architecture": "architectures"}[key]
    config.refuse(in_config, finding.message, finding.fix, finding.kind, elsewhere=finding.elsewhere)


def constructor_arguments(model: Model, architecture: Architecture) -> dict[str, bool]:
    """Return the constructor arguments of a class, with the table's values or their defaults."""
    unknown = [key for key in model.options if key not in architecture.options]
    if unknown:
        known = ", ".join(architecture.options)
        fix = f"write one that it has: {known}" if known else f"remove it: {architecture.name} has none"
        message = f"{architecture.name} has no constructor argument {{}}"
        raise Unusable(
            *(Finding("config-invalid", message.format(shown(key)), fix, table_key=("options", key)) for key in unknown)
        )
    return {**architecture.options, **model.options}
