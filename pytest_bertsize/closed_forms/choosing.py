"""Which family, which architecture, which constructor arguments: what the table and the config's own words say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pytest_bertsize.findings import Finding, Kind, Unusable, did_you_mean, is_name, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms import Architecture, Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.model import Model

CONTRIBUTE = (
    "describe a class of your own by factory, backbone and extra, contribute a closed form (hook "
    "pytest_bertsize_closed_forms), or write closed_form = false to hold it to its budget alone"
)
CORRECT = f"correct the name, {CONTRIBUTE}"


def family_name(model: Model, config: ModelConfig, registry: Registry) -> str:
    """The file's ``model_type``, or the table's ``family`` where the file has none; never a guess.

    :raises Unusable: when neither says, or they say different things.
    """
    said = config.model_type
    if said is None and model.family is None:
        known = registry.family_of(model.architecture or next(iter(config.architectures), ""))
        message = f"{config.reference} has no model_type, as is usual for Google's bert_config.json"
        example = known.name if known else "bert"
        raise Unusable(Finding("config-invalid", message, f'write family = "{example}"', table_key=()))
    if said is not None and model.family is not None and said != model.family:
        message = f"family is {shown(model.family)}, and {config.reference} says model_type {shown(said)}"
        raise Unusable(Finding("config-invalid", message, "remove family from the table", table_key=("family",)))
    if said is not None and not (isinstance(said, str) and is_name(said)):
        config.refuse("model_type", f"model_type is {shown(said)}, which is no name", 'write "bert", for example')
    return said or model.family or ""


def architecture_name(model: Model, config: ModelConfig, family: str, registry: Registry) -> str:
    """The table's ``architecture``, or the file's only one.

    :raises Unusable: when there is none, or more than one.
    """
    if model.architecture is not None:
        return model.architecture
    if len(config.architectures) == 1:
        return _class_name(config)
    says = f"names {len(config.architectures):,} architectures" if config.architectures else "names no architecture"
    known = [each.name for found in registry.families(family) for each in found.architectures]
    example = next(iter([*(name for name in config.architectures if name in known), *known]), "BertModel")
    message = f"{config.reference} {says}, and neither does the table"
    raise Unusable(Finding("config-invalid", message, f'write architecture = "{example}", for example', table_key=()))


def _class_name(config: ModelConfig) -> str:
    (name,) = config.architectures
    if not is_name(name):
        fix = 'write the name of the class, as in "BertModel"'
        config.refuse("architectures", f"architectures names {shown(name)}, which is no class", fix)
    return name


def closed_form(model: Model, config: ModelConfig, registry: Registry) -> tuple[Family, Architecture]:
    """What a declared model is checked against.

    :raises Unusable: when there is no closed form for it, with the nearest that there are and both ways out.
    """
    family = family_name(model, config, registry)
    if not registry.families(family):
        _no_such_family(model, config, family, registry)
    name = architecture_name(model, config, family, registry)
    return registry.find(family, name) or _no_such_architecture(model, config, family, name, registry)


def _no_such_family(model: Model, config: ModelConfig, family: str, registry: Registry) -> NoReturn:
    message = f"there is no closed form for the family {shown(family)}"
    key = "family" if config.model_type is None else "model_type"
    if nearest := did_you_mean(family, registry.names):
        _refuse(key, f"{message}; the nearest is {nearest!r}", CORRECT, model, config)
    named = model.architecture or next(iter(config.architectures), "")
    like = registry.nearest(named)
    also = f"; what comes nearest to {shown(named)} is {_listed(like)}" if like else ""
    _refuse(key, f"{message}{also}", CONTRIBUTE, model, config)


def _no_such_architecture(model: Model, config: ModelConfig, family: str, name: str, registry: Registry) -> NoReturn:
    key = "architectures" if model.architecture is None else "architecture"
    near = registry.nearest(name, family)
    if other := registry.family_of(name):
        message = f"{shown(name)} is of the family {other.name!r}, and the config of {family!r}"
        _refuse(
            key,
            message,
            f"did you mean {near[0]!r}?" if near else "correct one of them",
            model,
            config,
            "config-invalid",
        )
    known = near or [each.name for found in registry.families(family) for each in found.architectures][:3]
    message = (
        f"there is no closed form for {shown(name)} in the family {family!r}; what comes nearest is {_listed(known)}"
    )
    _refuse(key, message, CORRECT, model, config)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _refuse(
    key: str, message: str, fix: str, model: Model, config: ModelConfig, kind: Kind = "unknown-closed-form"
) -> NoReturn:
    """:raises Unusable: at the key of the table that says it, else at the config's."""
    if getattr(model, key, None) is not None:
        raise Unusable(Finding(kind, message, fix, table_key=(key,)))
    config.refuse(key, message, fix, kind)


def options(model: Model, architecture: Architecture) -> dict[str, bool]:
    """The constructor arguments with their defaults.

    :raises Unusable: when the class has no such argument.
    """
    unknown = [key for key in model.options if key not in architecture.options]
    if unknown:
        known = ", ".join(architecture.options)
        fix = f"it takes {known}" if known else f"remove it: {architecture.name} takes none"
        message = "options.{}: {} has no such constructor argument"
        raise Unusable(
            *(
                Finding("config-invalid", message.format(key, architecture.name), fix, table_key=("options", key))
                for key in unknown
            )
        )
    return {**architecture.options, **model.options}
