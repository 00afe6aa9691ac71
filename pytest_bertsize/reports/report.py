"""The report of a run: typed structs that every view reads, that JSON is made from, and that a schema describes.

The descriptions of fields are those of ``report.schema.json`` and of docs/reference/report.md, so they are Markdown and
speak of ``null``. Keys are added, never renamed: other tools read the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from pytest_bertsize.inventory import TOTAL

NOTES_FOR_REVIEWERS = {"budget-loosened", "differs-from-lock"}
"""Notes that a reviewer has to read although the model passes."""


def says(description: str) -> Meta:
    """Describe a field."""
    return Meta(description=description)


class Object(Struct, kw_only=True, forbid_unknown_fields=True):
    """An object of the JSON report."""


class Row(Object):
    """A quantity: what the closed form says of it, what was built, and its limit."""

    name: str
    expected: Annotated[int | None, says("By the closed form; `null` where there is none.")]
    actual: Annotated[int | None, says("Of what was built; `null` where nothing was.")]
    base: Annotated[int | None, says("At the base, by the closed form or its lock; `null` where it is not known.")]
    min: Annotated[int | None, says("The least that passes; `null` for no such limit.")]
    max: Annotated[int | None, says("The most that passes; `null` for no such limit.")]
    limit: Annotated[str | None, says("The limit as its author wrote it.")]
    failed: Annotated[bool, says("Whether an error is about it.")]

    @property
    def known_count(self) -> int | None:
        """The number that was built, or the closed form's where nothing was."""
        return self.expected if self.actual is None else self.actual

    @property
    def form_delta(self) -> int | None:
        """The surplus over the closed form; ``None`` where the two are not compared."""
        return None if self.actual is None or self.expected is None else self.actual - self.expected

    @property
    def base_delta(self) -> int | None:
        """The growth since the base; ``None`` where nothing is compared."""
        return None if self.known_count is None or self.base is None else self.known_count - self.base

    @property
    def room_left(self) -> int | None:
        """Room under the limit, or above the lower one; negative by how much a limit is broken."""
        count = self.known_count or 0
        if self.min is not None and count < self.min:
            return count - self.min
        if self.max is not None:
            return self.max - count
        return None if self.min is None else count - self.min


class Component(Row):
    """One row: a component at some level, `total`, or `trainable` where a limit names it."""

    name: Annotated[str, says("`encoder.attention`, `trainable` or `total`.")]
    formula: Annotated[str | None, says("The closed form, as in `L·(4·D² + 4·D)`; `null` where there is none.")]
    latex: Annotated[str | None, says("The same as LaTeX.")]
    layers: Annotated[int, says("How many identical layers the component is spread over.")]


class Change(Object):
    """A changed key of the config or table and what it moved; or the code, which no key explains."""

    key: Annotated[str, says("`num_hidden_layers`, `options.add_pooling_layer`, `architecture`, `model_type`, `code`.")]
    before: Annotated[str, says('As JSON writes it; `""` for code.')]
    after: Annotated[str, says('As JSON writes it; `""` for code.')]
    total: Annotated[int, says("What it adds to the total; negative for what it takes.")]
    components: Annotated[dict[str, int], says("Every component at every level that it moved.")]


class LayerTensor(Object):
    """A tensor of a layer, by its name inside the layer; `null` for a side that does not have it."""

    name: Annotated[str, says("`attention.self.query.weight`.")]
    base: Annotated[list[int] | None, says("Its shape at the base.")]
    expected: Annotated[list[int] | None, says("Its shape by the closed form.")]
    actual: Annotated[list[int] | None, says("Its shape as it was built.")]


class Layer(Object):
    """A layer, or several that are alike, in which base, closed form and built model are not the same."""

    name: Annotated[str, says("`bert.encoder.layer.12`, or `bert.encoder.layer.0-11` for twelve that differ alike.")]
    times: Annotated[int, says("How many layers differ alike.")]
    base: Annotated[int | None, says("Of one layer at the base; `null` where there is no base, or it lacks the layer.")]
    expected: Annotated[int | None, says("By the closed form, of one; `null` where it lacks the layer.")]
    actual: Annotated[int | None, says("As built, of one; `null` where that lacks the layer.")]
    tensors: Annotated[list[LayerTensor], says("Those that differ.")]


class TensorChange(Object):
    """One change of a model's tensors, however many tensors it is about."""

    kind: Annotated[str, says("`new`, `gone`, `renamed`, `resized`, `untied`, `tied`, `frozen` or `trained`.")]
    name: Annotated[str, says("Modules or tensors, layers folded: `bert.encoder.layer[12:14]`.")]
    count: Annotated[int, says("Parameters that it adds; negative for what it takes.")]
    said: Annotated[str, says("A sentence without its full stop.")]


class Lock(Object):
    """The lock of a model, and what is otherwise."""

    file: Annotated[str, says("As the table names it.")]
    known: Annotated[bool, says("Whether it has the model.")]
    tensors: Annotated[list[TensorChange], says("Empty for a model that is as it was accepted.")]
    why: Annotated[str, says('Whether what it is built from, or with, has changed as well; `""` where nothing has.')]


class Base(Object):
    """The same model at another revision, by the closed form or by the lock that is committed there."""

    revision: Annotated[str, says("As it was asked for: `origin/main`.")]
    commit: Annotated[str, says("The revision's full name.")]
    config: Annotated[str | None, says("`null`: the model is new.")]
    by: Annotated[str, says('What its counts are of: `closed form` or `lock`; `""` where there are none.')]
    is_new: Annotated[bool, says("Whether the base declares no such model.")]
    former_name: Annotated[str, says('What the base calls the model; `""` where it has no other name.')]
    total: Annotated[int | None, says("`null`: new, or it cannot be counted there; `said` says which.")]
    grown: Annotated[int, says("Parameters that came, over all components.")]
    shrunk: Annotated[int, says("Parameters that went, not negative; net is `grown - shrunk`.")]
    said: Annotated[list[str], says("In words: a new model, a renamed file, a config that moved into a nested object.")]
    changes: list[Change]
    tensors: Annotated[list[TensorChange], says("Against the base's lock; empty where closed forms are compared.")]
    method: Annotated[str, says('How costs are known without a closed form, or why keys share a row; or `""`.')]


class Removed(Object):
    """A model that the base declares, and this table does not."""

    name: Annotated[str, says("`encoder`.")]
    config: Annotated[str, says("As its table named it.")]
    total: Annotated[int | None, says("By the closed form; `null` where it cannot be counted.")]
    limit: Annotated[str | None, says("Of its total, as its author wrote it.")]
    problem: Annotated[str, says("Why its table at the base cannot be read; empty where it can.")]
    reason: Annotated[str, says("Why it left, as the table says with this change; empty where it does not.")]
    failed: Annotated[bool, says("Whether a limit may have left with it, and no reason is given: the run fails.")]


class RunBase(Object):
    """The revision that a run was compared with."""

    revision: Annotated[str, says("As it was asked for, or as CI names it: `origin/main`.")]
    commit: Annotated[str | None, says("`null`: it was not compared, and `problem` says why.")]
    problem: Annotated[str, says('Why it was not compared; `""` where it was.')]
    removed: Annotated[list[Removed], says("Models that only the base declares.")]
    not_compared: Annotated[list[str], says("Models that the base has and cannot count; their own reports say why.")]

    @property
    def left_unexplained(self) -> list[str]:
        """Models that left the table with a limit and without a reason."""
        return [model.name for model in self.removed if model.failed]


class Cost(Object):
    """A usual next change, and its cost."""

    what: Annotated[str, says("`one more layer`.")]
    change: Annotated[str, says("`num_hidden_layers 12 → 13`.")]
    total: Annotated[int, says("What it adds.")]


class Fit(Object):
    """A shape with which the whole budget holds."""

    change: Annotated[str, says("`hidden_size 768 → 704, num_attention_heads 12 → 11`.")]
    overrides: Annotated[
        Mapping[str, int | list[str]],
        says('For the table, or the adapter: `{"hidden_size": 704, "num_attention_heads": 11}`, `{"r": 4}`.'),
    ]
    total: Annotated[int, says("What the model would count.")]


class Choices(Object):
    """Shapes that would fit and costs of the next changes, by the closed form."""

    fits: Annotated[list[Fit], says("The nearest to today's first, three at most; empty for a budget that holds.")]
    costs: list[Cost]


class FoldedTensor(Object):
    """Tensors that differ only in their layer's index."""

    name: Annotated[str, says("With `*` for the layer's index: `bert.encoder.layer.*.attention.self.query.weight`.")]
    component: Annotated[str, says("Where it counts.")]
    shape: Annotated[list[int], says("Of one of them.")]
    layers: Annotated[int, says("How many there are.")]
    expected: Annotated[int | None, says("By the closed form, all together; `null` where it does not know the tensor.")]
    actual: Annotated[int | None, says("As built, all together; `null` where the model does not have it.")]
    tied_to: Annotated[str | None, says("The tensor whose storage it shares; `null` for one of its own.")]
    trainable: Annotated[bool, says("Whether an optimiser would train it.")]


class Measure(Row):
    """A quantity that is no parameter count: what the budget limits, and since a base bytes and FLOPs that changed."""

    name: Annotated[str, says("`bytes`, `training_bytes`, `flops`, `growth`, or `growth.head` of a component.")]
    what: Annotated[str, says("`float16, ties once`, or `128 tokens, eager attention, 2 FLOPs a multiply-add`.")]
    components: Annotated[dict[str, int], says("FLOPs of every component at every level.")]


class Checkpoint(Object):
    """A checkpoint, by its headers."""

    file: Annotated[str, says("Relative to the project's root.")]
    tensors: Annotated[int, says("How many there are.")]
    numbers: Annotated[int, says("Of all tensors, shared storage once.")]
    bytes: Annotated[int, says("Of all tensors, by their dtypes.")]


class Totals(Object):
    """Totals, never mixed."""

    expected: Annotated[int | None, says("Unique, by the closed form.")]
    actual: Annotated[
        int | None, says("Unique, of what was built; with `no-build` what the lock has, where it counts.")
    ]
    trainable: Annotated[int | None, says("Those that an optimiser would train.")]
    stored: Annotated[int | None, says("With a copy of each tied tensor.")]
    unrolled: Annotated[int | None, says("As `stored`, with a copy of a shared layer for each pass through it.")]


class FindingRow(Object):
    """A finding without the key that leads to its line."""

    kind: Annotated[str, says("One of those that the page on findings lists.")]
    severity: Annotated[str, says("`error` fails the model; `warning`; `note`.")]
    component: Annotated[str | None, says("What it is about: `encoder.attention`, `total`; `null` for the model.")]
    message: Annotated[str, says("What is wrong, with exact values.")]
    fix: Annotated[str, says('What to write instead; `""` where there is nothing to write.')]
    expected: Annotated[int | None, says("By the closed form.")]
    actual: Annotated[int | None, says("What was counted.")]
    limit: Annotated[int | None, says("The bound that does not hold.")]
    base: Annotated[int | None, says("What it was at the base, where the limit was broken there already.")]
    file: Annotated[str | None, says("Where it is said, relative to the project's root.")]
    line: Annotated[int | None, says("The 1-based line in that file.")]
    in_headline: Annotated[bool, says("Whether it is the error that the model's headline names.")]

    @property
    def place(self) -> str:
        """``pyproject.toml:8``, or the file alone; ``""`` without one."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file or ""


class PublishedConfig(Object):
    """A config that was named as the hub names it, by `config` or by code of the project."""

    name: Annotated[str, says("As it was asked for: `bert-base-uncased`.")]
    origin: Annotated[str, says("A project's file, the catalogue with its source, or the hub cache with its revision.")]
    tokens: Annotated[int | None, says("Of its tokenizer; `null` where nobody asked, or it is in the project.")]


class ModelReport(Object):
    """One element of `models` in the JSON report, schema 1."""

    name: Annotated[str, says("As its table calls it: the test's id.")]
    family: Annotated[str, says("The config's `model_type`.")]
    architecture: Annotated[str, says("The class, or the project's function that builds it.")]
    config: Annotated[str, says("Where it was read: `models/config.json` or `train.json#model`.")]
    config_sha256: Annotated[str, says('Of the config\'s bytes; `""` for one that could not be read.')]
    published: Annotated[list[PublishedConfig], says("Origins of configs that were named as the hub names them.")]
    verdict: Annotated[
        Literal["passed", "failed", "uncounted"],
        says("`failed` for any error; `uncounted` where nothing is built, and nothing else counts the model."),
    ]
    headline: Annotated[str, says("Model, size, what changed since the base and by which key, and the verdict.")]
    report_only: Annotated[bool, says("Whether the table sets no limit.")]
    built: Annotated[bool, says("`false`: the run builds nothing: counts are the closed form's, else the lock's.")]
    closed_form: Annotated[bool, says("`false`: not compared with a closed form, by the table's own word.")]
    symbols: Annotated[dict[str, int], says('The config\'s sizes by their letter: `{"V": 30522, "D": 768}`.')]
    totals: Annotated[Totals, says("Of the whole model.")]
    components: Annotated[list[Component], says("Every level, parents first; `trainable` if limited; `total` last.")]
    measures: Annotated[list[Measure], says("What else is limited; bytes and FLOPs that changed since the base.")]
    frozen: Annotated[list[str], says("Parts that do not train, in words; empty where everything does.")]
    checkpoint: Annotated[Checkpoint | None, says("`null`: the table declares none, or it could not be read.")]
    tensors: Annotated[list[FoldedTensor], says("Folded over layers.")]
    layers: Annotated[list[Layer], says("Those in which something differs.")]
    base: Annotated[Base | None, says("`null`: the run was not asked to compare with a revision.")]
    lock: Annotated[Lock | None, says("`null`: the table names none, or the model was not counted.")]
    choices: Annotated[Choices | None, says("`null` where there is no closed form to ask.")]
    findings: Annotated[list[FindingRow], says("Errors, warnings and notes.")]

    @property
    def parameter_count(self) -> int | None:
        """Unique parameters as built; where nothing is built by the closed form, else by the lock."""
        return self.totals.actual if self.built or not self.closed_form else self.totals.expected

    @property
    def counted_by(self) -> Literal["build", "lock", "closed form"]:
        return "closed form" if self.totals.actual is None else "build" if self.built else "lock"

    @property
    def total_row(self) -> Component | None:
        return next((row for row in self.components if row.name == TOTAL), None)

    @property
    def own_findings(self) -> list[FindingRow]:
        """Findings without the stand-ins, which several models of a run have in common."""
        return [finding for finding in self.findings if finding.kind != "stood-in"]

    @property
    def limited_measures(self) -> list[Measure]:
        return [row for row in self.measures if row.limit]

    @property
    def limited_by(self) -> str:
        """The limit of the total as its author wrote it, else the only one, else what is limited: ``by bytes``."""
        if (row := self.tightest_row) and row.limit:
            return row.limit if row is self.total_row else f"{row.name} {row.limit}"
        named = [row.name for row in self.limited_measures]
        by_measure = named and not any(row.limit for row in self.components)
        return "report-only" if self.report_only else f"by {' and '.join(named)}" if by_measure else "by component"

    @property
    def tightest_row(self) -> Component | None:
        """The total if it has a limit, else the component whose limit leaves least."""
        if self.total_row and self.total_row.limit:
            return self.total_row
        limited = [row for row in self.components if row.room_left is not None]
        return min(limited, key=lambda row: row.room_left or 0, default=None)

    @property
    def room_left(self) -> int | None:
        """Room that the tightest limit leaves; ``None`` without one."""
        return self.tightest_row.room_left if self.tightest_row else None

    @property
    def chosen_rows(self) -> list[Component]:
        """Components of the first level, and below it those that have a limit, differ or changed."""
        rows = self.components
        names = {row.name for row in rows if "." not in row.name or row.limit or row.form_delta or row.base_delta}
        names |= {name.rpartition(".")[0] for name in names}
        return [row for row in rows if row.name in names]

    @property
    def base_delta(self) -> int:
        """Parameters that came since the base; 0 where nothing is compared."""
        count, base = self.parameter_count, self.base
        return 0 if count is None or base is None or base.total is None else count - base.total

    @property
    def is_compared(self) -> bool:
        """Tell whether the model was counted, here and at the base."""
        return self.parameter_count is not None and self.base is not None and self.base.total is not None

    @property
    def differs_from_base(self) -> bool:
        """Tell whether there is anything to say of the model against its base."""
        base = self.base
        return base is not None and any((base.said, base.changes, base.tensors, base.grown, base.shrunk))

    @property
    def is_unchanged(self) -> bool:
        """Tell whether the model was compared and no key, count or tensor is another one."""
        return self.is_compared and not self.differs_from_base and not any(row.base_delta for row in self.components)

    @property
    def is_quiet(self) -> bool:
        """Tell whether a reviewer has nothing to read: the model passed, is as it was, and nothing warns of it."""
        told = any(each.severity != "note" or each.kind in NOTES_FOR_REVIEWERS for each in self.findings)
        told = told or any(row.form_delta for row in self.components)
        return self.verdict == "passed" and self.is_unchanged and not told


class RunReport(Object):
    """The whole of the JSON report, schema 1: what all report files are made from."""

    schema: Annotated[int, says("1.")]
    headline: Annotated[str, says("Of one model its own line; of several who failed, and the worst of them.")]
    news: Annotated[str, says("Of several models: what changed since the base, and what was not compared.")]
    changed: Annotated[bool, says("Whether there is news: a failure, what was not checked or compared, a change.")]
    mode: Annotated[Literal["full", "no-build"], says("`no-build`: counts are those of closed forms and locks.")]
    versions: Annotated[
        dict[str, str],
        says(
            "Of pytest_bertsize, transformers, torch and python; with `no-build` in place of both libraries "
            "`closed_forms_of_transformers`: the installed release, or which is assumed and why."
        ),
    ]
    commit: Annotated[str | None, says("The full name of the one that is checked out; `null` outside of a repository.")]
    table_sha256: Annotated[str, says("Of what [tool.bertsize] says, however it is laid out.")]
    base: Annotated[RunBase | None, says("`null`: the run was not asked to compare with a revision.")]
    configured: Annotated[int, says("Models that the table declares.")]
    checked: Annotated[int, says("Those that this report is about.")]
    failed: Annotated[int, says("Those that failed, and those of `base` that left with a limit and without a reason.")]
    not_checked: Annotated[list[str], says("The names of the others.")]
    models: Annotated[list[ModelReport], says("In the order of their declaration.")]
    complete: Annotated[bool, says("Whether every declared model was checked; last, so that a file cut off lacks it.")]

    @property
    def not_counted(self) -> list[str]:
        """Models that neither a closed form nor a lock counts, where nothing is built."""
        return [model.name for model in self.models if model.verdict == "uncounted"]

    @property
    def only_model(self) -> ModelReport | None:
        """The model of a run that has no other; ``None`` where there is more to say than its own headline."""
        one = self.complete and self.configured == len(self.models) == 1
        return self.models[0] if one and not (self.base and self.base.left_unexplained) else None


def urgent_rows(rows: Sequence[Component], most: int) -> list[Component]:
    """Return the rows that a review needs: the total, what fails, differs or changed, then what has a limit."""

    def order(index: int) -> tuple[bool, ...]:
        row = rows[index]
        has = (row.name == TOTAL, row.failed, row.form_delta, row.base_delta, row.limit is not None)
        return *(not each for each in has), "." in row.name

    return [rows[index] for index in sorted(sorted(range(len(rows)), key=order)[:most])]


def to_plain(report: Object) -> dict[str, Any]:
    """Return the report as dicts, lists, texts and numbers, as JSON and a message of pytest-xdist hold it."""
    plain: dict[str, Any] = msgspec.to_builtins(report)
    return plain


def model_from_plain(plain: dict[str, Any]) -> ModelReport:
    return msgspec.convert(plain, ModelReport)
