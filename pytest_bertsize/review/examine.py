"""A declared model before its build: read its config, derive its closed form, and request the build."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.base.lock import Locked, hash_sources, lock_model, refuse_untrue
from pytest_bertsize.checkpoint.tokenizer import check_rows
from pytest_bertsize.closed_forms.derive import Derivation, choose, derive
from pytest_bertsize.config import source
from pytest_bertsize.findings import Finding, Unusable, describe_limit
from pytest_bertsize.inventory import TOTAL, Inventory, parents_first
from pytest_bertsize.review import build_findings, build_request
from pytest_bertsize.table.model import FOUND, Model
from pytest_bertsize.wording import exact, printable

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Answered, Built, Request
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.config.adapter import Adapter
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.table.settings import Settings


class Subject(Struct, frozen=True, dict=True):
    """Everything about a declared model that needs no build."""

    model: Model
    settings: Settings
    family: str = ""
    architecture: str = ""
    detail: bool = True
    """True if a report shows the model's tensors, notes, and the costs of next changes."""
    shows_formulas: bool = False
    config: ModelConfig | None = None
    published: tuple[Answered, ...] = ()
    """The name and origin of the model's config, if the table names a config of the hub."""
    stored: Stored | None = None
    """The tensors of the model's checkpoint; ``None`` if the table declares none."""
    derivation: Derivation | None = None
    """The closed form and its sizes; ``None`` without a closed form, or if the config is refused."""
    request: Request | None = None
    """The request to build the model; ``None`` if the config is refused."""
    findings: tuple[Finding, ...] = ()
    awaits_build: bool = False
    """True if the closed form is derived after the build, from the configs of the built model."""

    @property
    def form(self) -> ClosedForm | None:
        return self.derivation.form if self.derivation else None

    @property
    def expected(self) -> Inventory | None:
        """The inventory by the closed form."""
        return self.form

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
        return parents_first({*self.derivation.family.component_names(form.dims), *form.components})

    def _list_sizes_of(self, built: Built) -> dict[str, object]:
        """Return the keys that the closed form reads from a built model because no file has them."""
        if not (self.derivation and self.model.has_config_of_build):
            return {}
        backbones = {each: f"{each}." for each in self.model.backbones} or {self.model.backbone: ""}
        families = {
            f"{backbones[each.path]}model_type": each.family for each in built.finished if each.path in backbones
        }
        assumed = {key: value for key, value in self.derivation.values.assumed.items() if value is not None}
        return {**families, **{key: list(each) if isinstance(each, tuple) else each for key, each in assumed.items()}}

    @property
    def sources(self) -> str:
        """A hash of all inputs of the build, as the lock records it."""
        return hash_sources(self.model, self.config, self.request.adapter if self.request else {})

    def to_locked(self, built: Built) -> Locked:
        """Return the built model as the lock records it."""
        return lock_model(built, self.sources, self._list_sizes_of(built))

    @property
    def written_keys(self) -> dict[str, object]:
        """The keys and values of the config, with the table's overrides."""
        return {**(self.config.flat if self.config else {}), **self.model.overrides}


def examine(
    model: Model,
    settings: Settings,
    registry: Registry,
    *,
    formulas: bool = False,
    detail: bool = True,
    built: Built | None = None,
    locked: Locked | None = None,
) -> Subject:
    """Read the config and derive the closed form. Mistakes become findings, never exceptions.

    :param registry: all closed forms.
    :param formulas: whether a report shows formulas.
    :param detail: whether a report shows tensors, notes, and the costs of next changes.
    :param built: the built model, if its table takes sizes from the build.
    :param locked: the model in the lock, if nothing is built.
    """
    known = Subject(model, settings, model.family or "", model.architecture or "", detail, formulas)
    try:
        if model.has_config_of_build and built is None and not locked:
            adapter = _read_adapter(model, settings, source.read_locked(model, {}))
            request = build_request.ask_for_factory(model, settings, adapter)
            return replace(known, architecture=model.factory or "", request=request, awaits_build=True)
        if locked:
            config = source.read_locked(model, locked.sizes)
        else:
            config = source.read_finished(model, built.finished) if built else source.read(model, settings)
        known = replace(known, config=config, published=build_findings.published_config(model, config))
        adapter = _read_adapter(model, settings, config)
        if model.checkpoint is not None:
            from pytest_bertsize.checkpoint.headers import read_headers

            known = replace(known, stored=read_headers(settings.root, model.checkpoint))
        if model.closed_form:
            chosen = choose(model, config, registry, adapter)
            known = replace(known, family=chosen.family.name, architecture=model.factory or chosen.architecture.name)
            found = derive(model, config, chosen)
            request = build_request.ask_with_closed_form(model, settings, config, found, adapter)
            if locked:
                refuse_untrue(locked, model, adapter, found.form.tensors)
            files = (config.file, model.checkpoint)
            beside = check_rows(settings.root, model.tokenizer, files, found.form)
            known = replace(known, derivation=found, findings=(*found.values.findings, *found.notes, *beside))
        else:
            request = build_request.ask_without_closed_form(model, settings, config, registry, adapter)
            notes = build_request.note_missing_form(request.family, request.architecture, registry)
            architecture = model.factory or request.architecture
            known = replace(known, family=request.family, architecture=architecture, findings=notes)
    except Unusable as unusable:
        findings = unusable.findings
        return replace(known, findings=_add_built(findings, model, built) if built else findings)
    except Exception as error:  # noqa: BLE001  (any error of a config fails its model, not the run)
        message = printable(f"the gate itself failed on this config: {type(error).__name__}: {error}")
        finding = Finding("config-invalid", message, "report it, with the config", file=known.reference)
        return replace(known, findings=(finding,))
    stored = tuple((each.name, each.shape) for each in known.stored.inventory.tensors) if known.stored else ()
    published = build_findings.note_published_configs(known.published, "config")
    beside_config = build_findings.check_adapter_beside(model, config, settings.root)
    findings = (*published, *beside_config, *known.findings)
    return replace(known, request=request._replace(filed=stored), findings=findings)


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


def _read_adapter(model: Model, settings: Settings, config: ModelConfig) -> Adapter | None:
    if model.adapter is None:
        return None
    from pytest_bertsize.config.adapter import adapter_of

    return adapter_of(model, settings, config)
