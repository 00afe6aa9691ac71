"""A declared model before its build: read its config, derive its closed form, and request the build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_bertsize.base.declared import Declared, derive_declared, read_declared
from pytest_bertsize.base.lock import Locked, hash_sources, lock_model
from pytest_bertsize.builder.messages import Answered, Module, Request
from pytest_bertsize.checkpoint.tokenizer import check_rows
from pytest_bertsize.closed_forms.derive import Derivation, architecture_name, family_name
from pytest_bertsize.config import source
from pytest_bertsize.config.keys import (
    INERT,
    LARGEST_SIZE,
    LONGEST_LIST,
    MOST_LABELS,
    MOST_LAYERS,
    NAMED_BY_LABELS,
    SYNONYMS,
    explain_refusal,
    withhold_steering_keys,
)
from pytest_bertsize.config.values import merge_overrides
from pytest_bertsize.findings import Finding, Unusable, describe_limit
from pytest_bertsize.inventory import TOTAL, parents_first
from pytest_bertsize.review import build_findings
from pytest_bertsize.table.limits import Flops
from pytest_bertsize.table.model import FOUND, Model
from pytest_bertsize.wording import exact, number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.settings import Settings

_SETTINGS = ("transformer_task", "model_args", "model_kwargs")  # of sentence-transformers, that change the build
# keys that are sizes in every library; the numbers of positions and token types may be None
_SIZES = {name for symbol, names in SYNONYMS.items() for name in names if symbol not in {"P", "T"}}


class Subject(Declared, frozen=True, dict=True, kw_only=True):
    """Everything about a declared model that needs no build."""

    settings: Settings
    family: str = ""
    architecture: str = ""
    detail: bool = True  # True if a report shows the model's tensors, notes, and the costs of next changes
    shows_formulas: bool = False
    published: tuple[Answered, ...] = ()  # the name and origin of the config, if the table names one of the hub
    stored: Stored | None = None  # the tensors of the checkpoint; None if the table declares none
    request: Request | None = None  # the request to build the model; None if the config is refused
    findings: tuple[Finding, ...] = ()
    in_hand: Any = None  # the module that check_model got; None if a run builds the model
    awaits_build: bool = False  # True if the closed form is derived after the build, from the configs of that model

    @property
    def reference(self) -> str:
        """The config in messages, as in ``models/config.json`` or ``train.json#model.bert_config``."""
        return self.config.reference if self.config else printable(self.model.config)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @cached_property
    def component_names(self) -> list[str]:
        """The names of the family's components, and of those that the project adds."""
        if self.derivation is None:
            return []
        form = self.derivation.form
        return parents_first(dict.fromkeys((*self.derivation.family.component_names(form.dims), *form.components)))

    @property
    def sources(self) -> str:
        """A hash of all inputs of the build, as the lock records it."""
        return hash_sources(self.model, self.config, self.request.adapter if self.request else {})

    def to_locked(self, built: Built) -> Locked:
        """Return the built model as the lock records it, with the keys of the closed form that no file has."""
        sizes: dict[str, object] = {}
        if self.derivation and self.model.has_config_of_build:
            prefixes, assumed = build_findings.list_prefixes(self.model), self.derivation.values.assumed
            types = {prefixes[each.path]: each.family for each in built.finished if each.path in prefixes}
            sizes = {f"{prefix}model_type": family for prefix, family in types.items()}
            sizes |= {key: [*each] if isinstance(each, tuple) else each for key, each in assumed.items()}
        return lock_model(built, self.sources, {key: value for key, value in sizes.items() if value is not None})


def examine(
    model: Model, settings: Settings, registry: Registry, built: Built | None = None, locked: Locked | None = None
) -> Subject:
    """Read the config and derive the closed form. Mistakes become findings, never exceptions.

    :param built: the built model, if its table takes sizes from the build.
    :param locked: the model in the lock, if nothing is built.
    """
    known = Subject(model, settings=settings, family=model.family or "", architecture=model.architecture or "")
    try:
        if model.has_config_of_build and built is None and not locked:
            adapter = source.read_adapter(model, source.read_locked(model, {}), source.Disk(settings.root))
            request = _ask_for_build(model, settings, adapter)
            return replace(known, architecture=model.factory or "", request=request, awaits_build=True)
        config = source.read_finished(model, built.finished) if built else read_declared(model, settings, locked)
        named = (Answered(printable(model.config), config.origin, by_hub=config.by_hub),) if config.origin else ()
        known = replace(known, config=config, published=named)
        if model.checkpoint is not None:
            from pytest_bertsize.checkpoint.headers import read_headers

            known = replace(known, stored=read_headers(settings.root, model.checkpoint))
        known = _derive(known, config, registry, locked)
    except Unusable as unusable:
        findings = unusable.findings
        return replace(known, findings=_add_built(findings, model, built) if built else findings)
    except Exception as error:  # noqa: BLE001  (any error of a config fails its model, not the run)
        message = printable(f"the gate itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=known.reference)
        return replace(known, findings=(finding,))
    published = build_findings.note_published_configs(known.published, "config")
    beside_config = build_findings.check_adapter_beside(model, config, settings.root)
    return replace(known, findings=(*published, *beside_config, *known.findings))


def _derive(known: Subject, config: ModelConfig, registry: Registry, locked: Locked | None) -> Subject:
    """Add to a subject its closed form, if the table does not switch that off, and the request to build it."""
    model, settings = known.model, known.settings
    if model.closed_form:
        found = derive_declared(model, config, registry, locked, source.Disk(settings.root))
        family, architecture = found.family.name, found.form.architecture.name
        request = _ask_with_closed_form(model, settings, config, found)
        beside = check_rows(settings.root, model.tokenizer, (config.file, model.checkpoint), found.form)
        known = replace(known, derivation=found, findings=(*found.values.findings, *found.notes, *beside))
    else:
        if model.factory:  # the declared class, or a guess
            family = model.family or (config.model_type if isinstance(config.model_type, str) else "")
            architecture = model.architecture or model.factory
        else:
            family = family_name(model, config, registry)
            architecture = architecture_name(model, config, family, registry)
        from_config = clean_config(model, config)
        given = make_factory_config(model, config) if model.factory else from_config
        adapter = source.read_adapter(model, config, source.Disk(settings.root))
        request = _ask_for_build(model, settings, adapter, family=family, architecture=architecture, config=given)
        said = f"{architecture} is compared only with its budget: closed_form = false"
        note = Finding("unknown-closed-form", said, "", "note", table_key=("closed_form",))
        said = f"there is a closed form for {architecture}, and closed_form = false turns it off"
        warning = note._replace(message=said, fix="remove closed_form = false", severity="warning")
        notes = (note, warning) if registry.find(family, architecture) else (note,)
        known = replace(known, findings=notes)
    filed = tuple((each.name, each.shape) for each in known.stored.inventory.tensors) if known.stored else ()
    request = request._replace(filed=filed)
    return replace(known, family=family, architecture=model.factory or architecture, request=request)


def _add_built(findings: tuple[Finding, ...], model: Model, built: Built) -> tuple[Finding, ...]:
    """Add the size of the built model to the first finding, and the ``init`` command if that can correct the table."""
    first, *others = findings
    total = sum(each.owned for each in built.tensors)
    limit = next((each.maximum for each in model.limits if each.component == TOTAL), None)
    counted = f"{TOTAL} {exact(total)}" if limit is None else describe_limit(TOTAL, total, limit)
    is_written = first.kind == "unknown-closed-form" or (first.table_key or ("",))[0] in FOUND
    fix = first.fix
    if model.init_command and is_written:
        fix = f"if that is intended, {model.init_command} --write rewrites its table; else {fix}"
    return first._replace(message=f"{first.message}; it is built with {counted}", fix=fix), *others


# the request to the helper process


def _ask_for_build(model: Model, settings: Settings, adapter: Adapter | None, **more: Any) -> Request:
    """Request a model; code of the project may read configs by their published names.

    :param more: the fields that follow from the config or from the closed form.
    """
    lengths = (limit.measure.seq_len for limit in model.limits if isinstance(limit.measure, Flops))
    asked = Request(
        model.name,
        "",
        model.factory or "",
        {},
        model.options,
        root=str(settings.real_root),
        factory=model.factory or "",
        command=model.command,
        declared=model.name if model.factory else None,
        config_given=model.has_config,
        kwargs=model.kwargs,
        adapter=adapter.for_build if adapter else {},
        seq_len=next(lengths, 0),
        device=model.build.device,
        seconds=model.build.seconds or 0.0,
        memory=model.build.memory or 0,
    )._replace(**more)
    return asked._replace(paths=settings.import_paths, hub=source.of_hub(settings)) if asked.runs_own_code else asked


def _ask_with_closed_form(model: Model, settings: Settings, config: ModelConfig, found: Derivation) -> Request:
    """Request the build of a model whose size the closed form has bounded."""
    architecture, own = found.form.architecture, model.factory is not None
    for_build: dict[str, Any] = found.values.for_build
    if config.modules:  # a folder of sentence-transformers: each module is built from its own config
        written, modules = make_factory_config(model, config), []
        for each in config.modules:
            options = {key: each.settings[key] for key in _SETTINGS if key in each.settings}
            family = str(each.config.model_type) if each.is_transformer else ""
            given = (for_build if each.is_transformer else written)[each.part]
            modules.append(Module(each.kind, each.at, options, family, given))
        return _ask_for_build(model, settings, None, architecture=architecture.name, options={}, modules=(*modules,))
    return _ask_for_build(
        model,
        settings,
        found.adapter,
        family=found.family.name,
        architecture=architecture.name,
        config=make_factory_config(model, config) if own else for_build,
        options=dict(found.options),
        module=architecture.defined_in,
        asked=() if own else tuple(found.values.assumed),
        unknown=() if own else found.values.unknown,
    )


def make_factory_config(model: Model, config: ModelConfig) -> dict[str, Any]:
    """Return the config for the project's own code: the keys of the file, with the table's overrides."""
    if config.parts:
        given = {name: model.overrides.get(name) for name in config.parts}
        own = {name: model.replace(overrides=each if isinstance(each, dict) else {}) for name, each in given.items()}
        return {name: make_factory_config(own[name], part) for name, part in config.parts.items()}
    data: dict[str, Any] = config.as_written
    for key, value in model.overrides.items():
        data = _put_value(data, config.name_in_file(key), value)
    return data


def _put_value(data: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a copy of a config with ``value`` at ``path``."""
    key, *below = path
    return {**data, key: _put_value(data[key], tuple(below), value) if below else value}


def clean_config(model: Model, config: ModelConfig) -> dict[str, Any]:
    """Return the config to build from, without keys that configure the library; raise Unusable for a refused one."""
    runs_code = model.factory is not None
    found = [
        Finding("config-refused", f"the key {shown(path[-1])} {why}", fix, file=config.file, line=config.line(*path))
        for path, (why, fix) in _find_wrong(config.data, are_of_the_project=runs_code)
    ]
    for path, (why, fix) in _find_wrong(model.overrides):
        key = printable(".".join(path))
        found.append(Finding("config-refused", f"overrides.{key} {why}", fix, table_key=("overrides", path[0])))
    if found:
        raise Unusable(*found)
    return withhold_steering_keys(merge_overrides(config, model.overrides))


def _find_wrong(
    values: Mapping[str, Any], *, are_of_the_project: bool = False, depth: int = 0
) -> Iterator[tuple[tuple[str, ...], tuple[str, str]]]:
    """Yield path, reason and fix of each refused key; inner keys that only the project reads may begin with ``_``."""
    for key, value in values.items():
        is_private = key.startswith("_") and key not in INERT and not (are_of_the_project and depth)
        if why := explain_refusal(key, value) or ("the library uses this name itself" if is_private else ""):
            yield (key,), (f"is refused: {why}", "remove it")
        elif too_much := _explain_size(key, value):
            yield (key,), too_much
        elif key not in NAMED_BY_LABELS:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    found = _find_wrong(each, are_of_the_project=are_of_the_project, depth=depth + 1)
                    yield from (((key, *(["[]"] * isinstance(value, list)), *path), said) for path, said in found)


def _explain_size(key: str, value: object) -> tuple[str, str] | None:
    """Return why a value is no possible size, and the fix: without a closed form, nothing else bounds a build."""
    layers = key in SYNONYMS["L"] or "layers" in key or "blocks" in key
    most = MOST_LABELS if key == "num_labels" else MOST_LAYERS if layers else LARGEST_SIZE
    if type(value) is int and value > most:
        return f"is {number(value)}, more than {most:,}", "write the number that the model has"
    if key in _SIZES and not (type(value) is int and value > 0):
        return f"is {shown(value)}, which is not a size", "write a whole number, at least 1"
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        return f"has {len(value):,} entries, more than {LONGEST_LIST:,}", "write the entries that the model has"
    return None
