"""The shape of every report: plain data, which survives the way from an xdist worker, and is what the JSON says."""

from __future__ import annotations

from typing import Literal, TypedDict


class Component(TypedDict):
    """One row: a component at some level, ``total``, or ``trainable`` where a limit names it."""

    name: str
    """``encoder.attention``, ``trainable`` or ``total``."""
    formula: str | None
    """The closed form, as in ``L·(4·D² + 4·D)``; ``None`` where there is none."""
    expected: int | None
    """By the closed form; ``None`` where there is none."""
    actual: int | None
    """Of what was built; ``None`` where nothing was."""
    base: int | None
    """At the base, by the closed form or its lock; ``None`` where there is no base."""
    min: int | None
    """The least that passes; ``None`` for no such limit."""
    max: int | None
    """The most that passes; ``None`` for no such limit."""
    limit: str | None
    """The limit as its author wrote it."""
    layers: int
    """How many identical layers the component is spread over."""
    failed: bool
    """Whether an error is about this very component."""


class Change(TypedDict):
    """What one changed key of the config or table moved; or the code, which no key explains."""

    key: str
    """``num_hidden_layers``, ``options.add_pooling_layer``, ``architecture``, ``model_type``, or ``code``."""
    before: str
    """As JSON writes it; ``""`` for code."""
    after: str
    """As JSON writes it; ``""`` for code."""
    total: int
    """What it adds to the total; negative for what it takes."""
    components: dict[str, int]
    """Every component at every level that it moved."""


class LayerTensor(TypedDict):
    """A tensor of a layer, by its name inside the layer; ``None`` for a side that does not have it."""

    name: str
    """``attention.self.query.weight``."""
    base: list[int] | None
    """Its shape at the base."""
    expected: list[int] | None
    """Its shape by the closed form."""
    actual: list[int] | None
    """Its shape as it was built."""


class Layer(TypedDict):
    """A layer, or several that are alike, in which base, closed form and built model are not the same."""

    name: str
    """``bert.encoder.layer.12``, or ``bert.encoder.layer.0-11`` for twelve that differ alike."""
    times: int
    """How many layers differ alike."""
    base: int | None
    """Parameters of one such layer; ``None`` where there is no base, or where it lacks the layer."""
    expected: int | None
    """By the closed form, of one; ``None`` where it lacks the layer."""
    actual: int | None
    """As built, of one; ``None`` where that lacks the layer."""
    tensors: list[LayerTensor]
    """Those that differ."""


class TensorChange(TypedDict):
    """One thing that became of a model's tensors, however many it is told by."""

    kind: str
    """``new``, ``gone``, ``renamed``, ``replaced``, ``resized``, ``untied``, ``tied``, ``frozen``, ``trained`` or
    ``recast``: of another dtype."""
    name: str
    """Modules or tensors, layers folded: ``bert.encoder.layer[12:14]``."""
    count: int
    """Parameters that it adds; negative for what it takes."""
    said: str
    """A sentence without its full stop."""


class Lock(TypedDict):
    """What the lock has of a model, and what is otherwise."""

    file: str
    """As the table names it."""
    known: bool
    """Whether it has the model."""
    tensors: list[TensorChange]
    """Empty for a model that is as it was accepted."""
    buffers: list[str]
    """What became of buffers that weigh, in words."""
    why: str
    """Whether what it is built from, or with, has changed as well; ``""`` where nothing has."""


class Base(TypedDict):
    """The same model at another revision, by the closed form or by the lock that is committed there."""

    revision: str
    """As it was asked for: ``origin/main``."""
    commit: str
    """The revision's full name."""
    config: str | None
    """``None``: the model is new."""
    by: str
    """What its counts are of: ``closed form`` or ``lock``; ``""`` where there are none."""
    total: int | None
    """``None``: new, or it cannot be counted there; :attr:`said` says which."""
    grown: int
    """Parameters that came, over all components."""
    shrunk: int
    """Parameters that went, not negative; net is ``grown - shrunk``."""
    said: list[str]
    """In words: a new model, a renamed file, a config that moved into a nested object."""
    changes: list[Change]
    tensors: list[TensorChange]
    """Against the base's lock; empty where closed forms are compared, whose keys say it."""
    method: str
    """How it is known what each key moved, where no closed form says it, and why keys stand in one row; or ``""``."""


class Removed(TypedDict):
    """A model that the base declares, and this table does not."""

    name: str
    """``encoder``."""
    config: str
    """As its table named it."""
    total: int | None
    """By the closed form; ``None`` where it cannot be counted."""
    limit: str | None
    """Of its total, as its author wrote it."""
    problem: str
    """Why its table at the base cannot be read; empty where it can."""
    reason: str
    """Why it left, as the table says with this change; empty where it does not."""
    failed: bool
    """Whether a limit may have left with it, and no reason is given: the run fails."""


class RunBase(TypedDict):
    """What a run was compared with."""

    revision: str
    """As it was asked for, or as CI names it: ``origin/main``."""
    commit: str | None
    """``None``: it was not compared, and :attr:`problem` says why."""
    problem: str
    """Why it was not compared; ``""`` where it was."""
    removed: list[Removed]
    """Models that only the base declares."""
    not_compared: list[str]
    """Models of this run that the base has, and that have no count there: each one's own report says why."""


class Cost(TypedDict):
    """What a usual next change would cost."""

    what: str
    """``one more layer``."""
    change: str
    """``num_hidden_layers 12 → 13``."""
    total: int
    """What it adds."""


class Fit(TypedDict):
    """A shape with which the whole budget holds."""

    change: str
    """``hidden_size 768 → 704, num_attention_heads 12 → 11``."""
    overrides: dict[str, int]
    """The same for the table: ``{"hidden_size": 704, "num_attention_heads": 11}``."""
    total: int
    """What the model would count."""


class Choices(TypedDict):
    """By the closed form: what would fit, and what the next change would cost."""

    fits: list[Fit]
    """The nearest to today's first, three at most; empty for a budget that holds."""
    costs: list[Cost]


class FoldedTensor(TypedDict):
    """Tensors that differ only in their layer's index."""

    name: str
    """With ``*`` for the index of its layer: ``bert.encoder.layer.*.attention.self.query.weight``."""
    component: str
    """Where it counts."""
    shape: list[int]
    """Of one of them."""
    layers: int
    """How many there are."""
    expected: int | None
    """By the closed form, all together; ``None`` where it does not know the tensor."""
    actual: int | None
    """As built, all together; ``None`` where the model does not have it."""
    tied_to: str | None
    """The tensor whose storage it shares; ``None`` for one of its own."""
    trainable: bool
    """Whether an optimiser would train it."""


class Measure(TypedDict):
    """A quantity that is no parameter count: what the budget limits, and since a base bytes and FLOPs that changed."""

    name: str
    """``bytes``, ``training_bytes``, ``flops``, ``growth``, or ``growth.head`` of a component."""
    what: str
    """``float16, ties once``, or ``128 tokens, eager attention, 2 FLOPs a multiply-add``."""
    expected: int | None
    """By the closed form; ``None`` where there is none."""
    actual: int | None
    """``None`` where nothing is built."""
    base: int | None
    """At the base; ``None`` where there is none, or where it is not known there."""
    min: int | None
    """The least that passes; ``None`` for no such limit."""
    max: int | None
    """The most that passes; ``None`` for no such limit."""
    limit: str | None
    """The limit as its author wrote it."""
    components: dict[str, int]
    """FLOPs of every component at every level."""
    failed: bool
    """Whether it is outside its limit, or off its closed form."""


class Checkpoint(TypedDict):
    """What the headers of a checkpoint say."""

    file: str
    """Relative to the project's root."""
    tensors: int
    """How many there are."""
    numbers: int
    """Of all tensors, shared storage once."""
    bytes: int
    """Of all tensors, by their dtypes."""


class Totals(TypedDict):
    """Four totals, never mixed.

    Unique (expected and actual), trainable, stored (ties written out), and unrolled: with a copy of a shared layer for
    each pass through it as well, which the closed form says.
    """

    expected: int | None
    """Unique, by the closed form."""
    actual: int | None
    """Unique, of what was built."""
    trainable: int | None
    """Those that an optimiser would train."""
    stored: int | None
    """With ties written out."""
    unrolled: int | None
    """Ties written out, and a copy of a shared layer for each pass."""


class FindingRow(TypedDict):
    """A finding without the key that leads to its line."""

    kind: str
    """One of those that the page on findings lists."""
    severity: str
    """``error`` fails the model; ``warning``; ``note``."""
    component: str | None
    """What it is about: ``encoder.attention``, ``total``; ``None`` for the model as a whole."""
    message: str
    """What is wrong, with exact values."""
    fix: str
    """What to write instead; ``""`` where there is nothing to write."""
    expected: int | None
    """By the closed form."""
    actual: int | None
    """What was counted."""
    limit: int | None
    """The bound that does not hold."""
    file: str | None
    """Where it is said, relative to the project's root."""
    line: int | None
    """The 1-based line in that file."""


class PublishedConfig(TypedDict):
    """A config that was named as the hub names it, by ``config`` or by code of the project."""

    name: str
    """As it was asked for: ``bert-base-uncased``."""
    origin: str
    """A file of the project, the catalogue with its source, or the hub cache with its revision."""
    tokens: int | None
    """That its tokenizer was taken to have; ``None`` where nobody asked, or the tokenizer is in the project."""


class ModelReport(TypedDict):
    """One element of ``models`` in the JSON report, schema 1."""

    name: str
    """As its table calls it: the test's id."""
    family: str
    """The config's ``model_type``."""
    architecture: str
    """The class, or the project's function that builds it."""
    config: str
    """Where it was read: ``models/config.json`` or ``train.json#model``."""
    config_sha256: str
    """Of the config's bytes; ``""`` for one that could not be read."""
    published: list[PublishedConfig]
    """Where its configs are from that were named as the hub names them."""
    verdict: Literal["passed", "failed"]
    """``failed`` for any error."""
    headline: str
    """One line that stands alone: model, size, what became of it since the base and by which key, and the verdict."""
    report_only: bool
    """Whether it is held to no limit."""
    built: bool
    """``False``: the run builds nothing, and counts are what the closed form says."""
    closed_form: bool
    """``False``: not compared with a closed form, by the table's own word."""
    symbols: dict[str, int]
    """The config's sizes by their letter: ``{"V": 30522, "D": 768}``."""
    latex: dict[str, str]
    """Each formula, by its text, as Markdown shows it."""
    totals: Totals
    """Of the whole model."""
    components: list[Component]
    """Every level, parents first; ``trainable`` where it is limited, and ``total`` last."""
    measures: list[Measure]
    """What the budget limits beside parameter counts, and of bytes and FLOPs what changed since the base."""
    frozen: list[str]
    """Parts that do not train, in words; empty where everything does."""
    checkpoint: Checkpoint | None
    """``None``: the table declares none, or it could not be read."""
    tensors: list[FoldedTensor]
    """Folded over layers."""
    layers: list[Layer]
    """Those in which something differs."""
    base: Base | None
    """``None``: the run was not asked to compare with a revision."""
    lock: Lock | None
    """``None``: the table names none, or the model was not counted."""
    choices: Choices | None
    """``None`` where there is no closed form to ask."""
    findings: list[FindingRow]
    """Errors, warnings and notes."""


class RunReport(TypedDict):
    """The whole of the JSON report, schema 1: what all report files are made from."""

    schema: int
    """1."""
    headline: str
    """One line that stands alone: of one model its own; of several how many failed and changed, the net, the worst."""
    changed: bool
    """Whether there is anything to tell: a failure, what was not checked or compared, what is not as at the base."""
    mode: Literal["full", "no-build"]
    """``no-build``: counts are what the closed forms say."""
    versions: dict[str, str]
    """Of pytest_bertsize, transformers, torch and python; with ``no-build`` in place of both libraries
    ``closed_forms_of_transformers``: the installed release, or which is assumed and why."""
    commit: str | None
    """The one that is checked out, by its full name; ``None`` outside of a repository."""
    table_sha256: str
    """Of what [tool.bertsize] says, however it is laid out."""
    base: RunBase | None
    """``None``: the run was not asked to compare with a revision."""
    configured: int
    """Models that the table declares."""
    checked: int
    """Those that this report is about."""
    failed: int
    """Those of them that failed, and those of :attr:`base` that left the table with a limit and without a reason."""
    not_checked: list[str]
    """The names of the others."""
    models: list[ModelReport]
    """In the order of their declaration."""
    complete: bool
    """Whether every declared model was checked; last in the file, so that one that is cut off lacks it."""
