"""The report of a run: typed structs for every view, for JSON, and for the JSON Schema.

``report.schema.json`` and docs/reference/report.md use the descriptions of fields, so these are Markdown and
say ``null``. Keys are added, never renamed: other tools read the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from pytest_bertsize.inventory import TOTAL

Verdict = Literal["passed", "failed", "uncounted"]
NOTES_FOR_REVIEWERS = {"budget-loosened", "differs-from-lock"}  # a reviewer reads them although the model passes


def says(description: str) -> Meta:
    """Describe a field."""
    return Meta(description=description)


class Object(Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of the JSON report."""


class Row(Object):
    """A quantity: its closed form, its built count, and its limit."""

    name: str
    expected: Annotated[int | None, says("The closed form; `null` if there is none.")]
    actual: Annotated[int | None, says("The built count; `null` if nothing was built.")]
    base: Annotated[int | None, says("The count at the base, by the closed form or the lock there; `null` if unknown.")]
    min: Annotated[int | None, says("The least that passes; `null` without such a limit.")]
    max: Annotated[int | None, says("The most that passes; `null` without such a limit.")]
    limit: Annotated[str | None, says("The limit as its author wrote it.")]
    failed: Annotated[bool, says("`true` if an error is about it.")]

    @property
    def known_count(self) -> int | None:
        """The built count, or the closed form if nothing was built."""
        return self.expected if self.actual is None else self.actual

    @property
    def form_delta(self) -> int | None:
        """The built count minus the closed form; ``None`` if one of the two is unknown."""
        return None if self.actual is None or self.expected is None else self.actual - self.expected

    @property
    def base_delta(self) -> int | None:
        """The growth since the base; ``None`` if one of the two counts is unknown."""
        return None if self.known_count is None or self.base is None else self.known_count - self.base

    @property
    def room_left(self) -> int | None:
        """The room under a maximum, or above a minimum; negative if a limit is exceeded, ``None`` without a limit."""
        count = self.known_count or 0
        above = None if self.min is None else count - self.min
        below = None if self.max is None else self.max - count
        return above if below is None or (above or 0) < 0 else below


class Component(Row):
    """A component of any level, or `total`; also `trainable`, if it has a limit."""

    name: Annotated[str, says("`encoder.attention`, `trainable` or `total`.")]
    formula: Annotated[str | None, says("The formula, as in `L·(4·D² + 4·D)`; `null` without a closed form.")]
    latex: Annotated[str | None, says("The formula as LaTeX.")]
    layers: Annotated[int, says("The number of identical layers of the component.")]


class Change(Object):
    """A changed key of the config or table, or changed code, with the parameters that the change adds or removes."""

    key: Annotated[str, says("`num_hidden_layers`, `options.add_pooling_layer`, `architecture`, `model_type`, `code`.")]
    before: Annotated[str, says('As JSON writes it; `""` for code.')]
    after: Annotated[str, says('As JSON writes it; `""` for code.')]
    total: Annotated[int, says("Parameters that it adds to the total; negative if it removes some.")]
    components: Annotated[dict[str, int], says("Parameters by moved component, at every level.")]


class LayerTensor(Object):
    """A tensor of a layer, by its name inside the layer; the shape is `null` on a side that lacks the tensor."""

    name: Annotated[str, says("`attention.self.query.weight`.")]
    base: Annotated[list[int] | None, says("Shape at the base.")]
    expected: Annotated[list[int] | None, says("Shape by the closed form.")]
    actual: Annotated[list[int] | None, says("Built shape.")]


class Layer(Object):
    """A layer in which base, closed form and build differ, or several layers with the same difference."""

    name: Annotated[str, says("`bert.encoder.layer.12`, or `bert.encoder.layer.0-11` for twelve.")]
    times: Annotated[int, says("The number of layers with this difference.")]
    base: Annotated[int | None, says("Parameters of one layer at the base; `null` without a base or layer.")]
    expected: Annotated[int | None, says("Parameters of one layer by the closed form; `null` if it lacks the layer.")]
    actual: Annotated[int | None, says("Built parameters of one layer; `null` if the build lacks it.")]
    tensors: Annotated[list[LayerTensor], says("The tensors that differ.")]


class TensorChange(Object):
    """A change of one tensor of a model, or the same change of many tensors."""

    kind: Annotated[str, says("`new`, `gone`, `renamed`, `resized`, `untied`, `tied`, `frozen` or `trained`.")]
    name: Annotated[str, says("Modules or tensors, with folded layers: `bert.encoder.layer[12:14]`.")]
    count: Annotated[int, says("Parameters that it adds; negative if it removes some.")]
    said: Annotated[str, says("The change in words, without a full stop.")]


class Lock(Object):
    """The lock of a model, and the differences of the model from its lock."""

    file: Annotated[str, says("The file, as in the table.")]
    known: Annotated[bool, says("`true` if the file has the model.")]
    tensors: Annotated[list[TensorChange], says("Empty for a model that matches its lock.")]
    why: Annotated[str, says('What else changed: config, table or libraries; or `""`.')]


class Base(Object):
    """The model at the base, counted by its closed form or by the lock of that commit."""

    revision: Annotated[str, says("As requested: `origin/main`.")]
    commit: Annotated[str, says("The full hash of the commit.")]
    config: Annotated[str | None, says("`null`: the model is new.")]
    by: Annotated[str, says('The source of its counts: `closed form` or `lock`; `""` without counts.')]
    is_new: Annotated[bool, says("`true` if the base does not declare the model.")]
    former_name: Annotated[str, says('Its former name at the base; `""` if the name is the same.')]
    total: Annotated[int | None, says("`null`: new, or not counted there; `said` has the reason.")]
    grown: Annotated[int, says("Added parameters, over all components.")]
    shrunk: Annotated[int, says("Removed parameters, not negative; the net change is `grown - shrunk`.")]
    said: Annotated[list[str], says("In words: a new model, a renamed file, a config that moved into a nested object.")]
    changes: list[Change]
    tensors: Annotated[list[TensorChange], says("Changes against the base's lock; empty if closed forms are compared.")]
    method: Annotated[str, says('How costs are found without a closed form, or why keys share a row; or `""`.')]


class Removed(Object):
    """A model that only the base declares."""

    name: Annotated[str, says("`encoder`.")]
    config: Annotated[str, says("Its config or factory in the table.")]
    total: Annotated[int | None, says("The count by the closed form; `null` if it cannot be counted.")]
    limit: Annotated[str | None, says("The limit of its total, as its author wrote it.")]
    problem: Annotated[str, says("Why its table at the base cannot be read; or empty.")]
    reason: Annotated[str, says("The reason in `[tool.bertsize.removed]` for its removal; or empty.")]
    failed: Annotated[bool, says("`true` if it may have had a limit and no reason is given: the run fails.")]


class RunBase(Object):
    """The base of a run: the git revision that the run compares with."""

    revision: Annotated[str, says("As requested, or as CI names it: `origin/main`.")]
    commit: Annotated[str | None, says("`null`: not compared; `problem` has the reason.")]
    problem: Annotated[str, says('Why the run was not compared; or `""`.')]
    removed: Annotated[list[Removed], says("Models that only the base declares.")]
    not_compared: Annotated[list[str], says("Models that cannot be counted at the base; their reports say why.")]

    @property
    def left_unexplained(self) -> list[str]:
        """The names of models that had a limit, and that were removed without a reason."""
        return [model.name for model in self.removed if model.failed]


class Cost(Object):
    """A usual next change of a model, and the parameters that it adds."""

    what: Annotated[str, says("`one more layer`.")]
    change: Annotated[str, says("`num_hidden_layers 12 → 13`.")]
    total: Annotated[int, says("Parameters that it adds.")]


class Fit(Object):
    """Other sizes with which the model passes its whole budget."""

    change: Annotated[str, says("`hidden_size 768 → 704, num_attention_heads 12 → 11`.")]
    overrides: Annotated[Mapping[str, int | list[str]], says('For `overrides` or the adapter: `{"hidden_size": 704}`.')]
    total: Annotated[int, says("The parameters of the model with that shape.")]


class Choices(Object):
    """Sizes that would fit the budget, and the costs of usual next changes; the closed form gives both."""

    fits: Annotated[list[Fit], says("At most three, the nearest to today's first; empty if the budget passes.")]
    costs: list[Cost]


class FoldedTensor(Object):
    """Tensors whose names differ only in the index of the layer."""

    name: Annotated[str, says("The name, with `*` for the index: `bert.encoder.layer.*.attention.self.query.weight`.")]
    component: Annotated[str, says("The component that counts it.")]
    shape: Annotated[list[int], says("The shape of one tensor.")]
    layers: Annotated[int, says("The number of layers.")]
    expected: Annotated[int | None, says("Parameters of all layers by the closed form; `null` if it lacks the tensor.")]
    actual: Annotated[int | None, says("Built parameters of all layers; `null` if the build lacks the tensor.")]
    tied_to: Annotated[str | None, says("The tensor whose storage it shares; `null` if it has its own.")]
    trainable: Annotated[bool, says("`true` if an optimiser trains it.")]


class Measure(Row):
    """A quantity other than parameters that has a limit; bytes and FLOPs also if they changed since the base."""

    name: Annotated[str, says("`bytes`, `training_bytes`, `flops`, `growth`, or `growth.head` of a component.")]
    what: Annotated[str, says("`float16, ties once`, or `128 tokens, eager attention, 2 FLOPs a multiply-add`.")]
    components: Annotated[dict[str, int], says("FLOPs by component, at every level.")]


class Checkpoint(Object):
    """The sizes in the headers of a checkpoint."""

    file: Annotated[str, says("Relative to the project's root.")]
    tensors: Annotated[int, says("The number of tensors.")]
    numbers: Annotated[int, says("Numbers in all tensors, shared storage once.")]
    bytes: Annotated[int, says("Bytes of all tensors by their dtypes.")]


class Totals(Object):
    """The total of a model, counted in several ways."""

    expected: Annotated[int | None, says("Unique parameters by the closed form.")]
    actual: Annotated[int | None, says("Unique built parameters; with `no-build` those of the lock, or `null`.")]
    trainable: Annotated[int | None, says("Parameters that an optimiser trains.")]
    stored: Annotated[int | None, says("Parameters with a copy of each tied tensor.")]
    unrolled: Annotated[int | None, says("`stored`, with a copy of a shared layer for each pass through it.")]


class FindingRow(Object):
    """A finding."""

    kind: Annotated[str, says("One of the kinds on the page of findings.")]
    severity: Annotated[str, says("`error` fails the model; `warning`; `note`.")]
    component: Annotated[str | None, says("The component, `encoder.attention` or `total`; `null` for the whole model.")]
    message: Annotated[str, says("What is wrong, with exact values.")]
    fix: Annotated[str, says('What to write instead, or `""`.')]
    expected: Annotated[int | None, says("The closed form.")]
    actual: Annotated[int | None, says("The count.")]
    limit: Annotated[int | None, says("The exceeded bound.")]
    base: Annotated[int | None, says("The count at the base, if it already exceeded the limit.")]
    file: Annotated[str | None, says("The file, relative to the project's root.")]
    line: Annotated[int | None, says("The 1-based line in that file.")]
    in_headline: Annotated[bool, says("`true` for the error in the model's headline.")]

    @property
    def place(self) -> str:
        """The file with its line, as in ``pyproject.toml:8``, or the file alone."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file or ""


class PublishedConfig(Object):
    """A config of the hub. The key `config` or the project's code names it."""

    name: Annotated[str, says("The name: `bert-base-uncased`.")]
    origin: Annotated[str, says("A file of the project, or catalogue or hub cache with source or revision.")]
    tokens: Annotated[int | None, says("Tokens that its tokenizer is assumed to have; `null` if nothing is assumed.")]


class ModelReport(Object):
    """The report of one model: an element of `models` in the JSON report, schema 1."""

    name: Annotated[str, says("The name of its table, which is the test's id.")]
    family: Annotated[str, says("The config's `model_type`.")]
    architecture: Annotated[str, says("The class, or the factory.")]
    config: Annotated[str, says("The file: `models/config.json` or `train.json#model`.")]
    config_sha256: Annotated[str, says('SHA-256 of the config; `""` if it could not be read.')]
    published: Annotated[list[PublishedConfig], says("Configs that are named by their name on the hub.")]
    verdict: Annotated[Verdict, says("`failed` for any error; `uncounted` if nothing counts the model.")]
    headline: Annotated[str, says("The model's size, its change since the base with the cause, and the verdict.")]
    report_only: Annotated[bool, says("`true` if the table sets no limit.")]
    built: Annotated[bool, says("`false` if the run builds nothing: the closed form counts, else the lock.")]
    seconds_ago: Annotated[int | None, says("Seconds since an earlier run built it; `null` if this run did.")]
    closed_form: Annotated[bool, says("`false` if the table declares `closed_form = false`.")]
    symbols: Annotated[dict[str, int], says('The config\'s sizes by their letter: `{"V": 30522, "D": 768}`.')]
    totals: Annotated[Totals, says("Totals of the whole model.")]
    components: Annotated[list[Component], says("Every level, parents first; a limited `trainable`; `total` last.")]
    measures: Annotated[list[Measure], says("Other limited quantities; bytes and FLOPs that changed since the base.")]
    frozen: Annotated[list[str], says("Frozen parts, in words; empty if everything trains.")]
    checkpoint: Annotated[Checkpoint | None, says("`null` if the table declares none, or it could not be read.")]
    tensors: Annotated[list[FoldedTensor], says("Tensors, folded over layers.")]
    layers: Annotated[list[Layer], says("Layers that differ.")]
    base: Annotated[Base | None, says("`null` without a base.")]
    lock: Annotated[Lock | None, says("`null` if the table names none, or the model was not counted.")]
    choices: Annotated[Choices | None, says("`null` without a closed form.")]
    findings: Annotated[list[FindingRow], says("Errors, warnings and notes.")]

    @property
    def parameter_count(self) -> int | None:
        """Unique built parameters; if nothing is built, those of the closed form, else of the lock."""
        return self.totals.actual if self.built or not self.closed_form else self.totals.expected

    @property
    def counted_by(self) -> Literal["build", "lock", "closed form"]:
        return "closed form" if self.totals.actual is None else "build" if self.built else "lock"

    @property
    def total_row(self) -> Component | None:
        return next((row for row in self.components if row.name == TOTAL), None)

    @property
    def own_findings(self) -> list[FindingRow]:
        """The findings except those on stand-ins (for missing modules), which a report lists once for all models."""
        return [finding for finding in self.findings if finding.kind != "stood-in"]

    @property
    def limited_measures(self) -> list[Measure]:
        return [row for row in self.measures if row.limit]

    @property
    def limited_by(self) -> str:
        """The limit of the total, else of the component with the least room, else words such as ``by bytes``."""
        if (row := self.tightest_row) and row.limit:
            return row.limit if row is self.total_row else f"{row.name} {row.limit}"
        named = [row.name for row in self.limited_measures]
        return "report-only" if self.report_only else f"by {' and '.join(named)}" if named else "by component"

    @property
    def tightest_row(self) -> Component | None:
        """The total if it has a limit, else the component with the least room."""
        limited = [row for row in self.components if row.room_left is not None]
        return min(limited, key=lambda row: (row.name != TOTAL, row.room_left or 0), default=None)

    @property
    def room_left(self) -> int | None:
        """Room under the tightest limit; ``None`` without a limit."""
        return self.tightest_row.room_left if self.tightest_row else None

    def list_rows(self, most: int, *, is_full: bool) -> list[Component]:
        """Return the ``most`` most urgent components: the total, then those that fail, differ, changed or have a limit.

        Unless ``is_full``, a deeper component must be one of these or a parent, and an empty one must matter.
        """

        def rank(row: Component) -> tuple[bool, ...]:
            return row.name != TOTAL, not row.failed, not row.form_delta, not row.base_delta, not row.limit

        matters = {row.name for row in self.components if not all(rank(row)) or "." not in row.name}
        matters |= {name.rpartition(".")[0] for name in matters}
        matters &= {row.name for row in self.components if row.known_count or not all(rank(row)[:4])}
        rows = [row for row in self.components if is_full or row.name in matters]
        first = sorted(range(len(rows)), key=lambda index: (*rank(rows[index]), "." in rows[index].name))
        return [rows[index] for index in sorted(first[:most])]

    @property
    def base_delta(self) -> int | None:
        """The growth since the base; ``None`` if nothing is compared."""
        count, base = self.parameter_count, self.base
        return None if count is None or base is None or base.total is None else count - base.total

    @property
    def differs_from_base(self) -> bool:
        base = self.base
        return base is not None and any((base.said, base.changes, base.tensors, base.grown, base.shrunk))

    @property
    def is_unchanged(self) -> bool:
        """Return whether the model was compared and no key, count or tensor changed."""
        differs = self.differs_from_base or any(row.base_delta for row in self.components)
        return self.base_delta is not None and not differs

    @property
    def is_quiet(self) -> bool:
        """Return whether a reviewer has nothing to read: the model passed, unchanged and without a warning."""
        told = any(each.severity != "note" or each.kind in NOTES_FOR_REVIEWERS for each in self.findings)
        differs = any(row.form_delta for row in self.components)
        return self.verdict == "passed" and self.is_unchanged and not told and not differs


class RunReport(Object):
    """The whole JSON report, schema 1, from which all report files are made."""

    schema: Annotated[int, says("1.")]
    headline: Annotated[str, says("The model's headline; for several models, which of them failed, and the worst.")]
    news: Annotated[str, says("For several models, what changed since the base and what was not compared.")]
    changed: Annotated[bool, says("`true` if a model failed, changed, or was not checked, counted or compared.")]
    mode: Annotated[Literal["full", "no-build"], says("`no-build`: counts are those of closed forms and locks.")]
    versions: Annotated[
        dict[str, str],
        says(
            "Releases of our own, of the libraries and of Python; with `no-build`, the one that closed forms are for."
        ),
    ]
    commit: Annotated[str | None, says("The full hash of the checked-out commit; `null` outside a repository.")]
    table_sha256: Annotated[str, says("SHA-256 of the values in [tool.bertsize], independent of their layout.")]
    base: Annotated[RunBase | None, says("`null` without a base.")]
    configured: Annotated[int, says("The number of declared models.")]
    checked: Annotated[int, says("The number of models in this report.")]
    failed: Annotated[int, says("The number of failed models, including those in `base.removed` that fail.")]
    not_checked: Annotated[list[str], says("Names of the declared models that were not checked.")]
    models: Annotated[list[ModelReport], says("Models in the order of declaration.")]
    complete: Annotated[bool, says("`true` if every model was checked; last, so that a truncated file lacks it.")]

    @property
    def not_counted(self) -> list[str]:
        """Models that neither a closed form nor a lock counts in a run without a build."""
        return [model.name for model in self.models if model.verdict == "uncounted"]

    @property
    def only_model(self) -> ModelReport | None:
        """The model of a run of one model; ``None`` if there are others, unchecked or removed without a reason."""
        one = self.complete and self.configured == len(self.models) == 1
        return self.models[0] if one and not (self.base and self.base.left_unexplained) else None


def to_plain(report: Object) -> dict[str, Any]:
    """Return the report as dicts, lists, strings and numbers, for JSON and pytest-xdist."""
    return dict(msgspec.to_builtins(report))


def model_from_plain(plain: dict[str, Any]) -> ModelReport:
    return msgspec.convert(plain, ModelReport)
