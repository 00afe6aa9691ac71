"""The shape of every report: plain data, which survives the way from an xdist worker, and is what the JSON says."""

from __future__ import annotations

from typing import Literal, TypedDict


class Component(TypedDict):
    """One row: a component at some level, ``total``, or ``trainable`` where a limit names it."""

    name: str
    formula: str | None
    expected: int | None
    actual: int | None
    base: int | None
    min: int | None
    max: int | None
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
    total: int
    components: dict[str, int]
    """Every component at every level that it moved."""


class LayerTensor(TypedDict):
    """A tensor of a layer, by its name inside the layer; ``None`` for a side that does not have it."""

    name: str
    base: list[int] | None
    expected: list[int] | None
    actual: list[int] | None


class Layer(TypedDict):
    """A layer, or several that are alike, in which base, closed form and built model are not the same."""

    name: str
    """``bert.encoder.layer.12``, or ``bert.encoder.layer.0-11`` for twelve that differ alike."""
    times: int
    base: int | None
    """Parameters of one such layer; ``None`` where there is no base, or where it lacks the layer."""
    expected: int | None
    actual: int | None
    tensors: list[LayerTensor]
    """Those that differ."""


class Base(TypedDict):
    """The same model at another revision, by the closed form."""

    revision: str
    """As it was asked for: ``origin/main``."""
    commit: str
    config: str | None
    """``None``: the model is new."""
    total: int | None
    """``None``: new, or it cannot be counted there; :attr:`said` says which."""
    grown: int
    """Parameters that came, over all components."""
    shrunk: int
    """Parameters that went, not negative; net is ``grown - shrunk``."""
    said: list[str]
    """In words: a new model, a renamed file, a config that moved into a nested object."""
    changes: list[Change]
    method: str
    """How several keys share what they moved together; ``""`` where one key or none changed."""


class Removed(TypedDict):
    """A model that the base declares, and this table does not."""

    name: str
    config: str
    total: int | None
    limit: str | None
    """Of its total, as its author wrote it."""


class RunBase(TypedDict):
    """What a run was compared with."""

    revision: str
    commit: str | None
    """``None``: it was not compared, and :attr:`problem` says why."""
    problem: str
    removed: list[Removed]


class Cost(TypedDict):
    """What a usual next change would cost."""

    what: str
    """``one more layer``."""
    change: str
    """``num_hidden_layers 12 → 13``."""
    total: int


class Fit(TypedDict):
    """The largest value of one key with which the whole budget holds, all others left as they are."""

    key: str
    now: int
    largest: int | None
    """``None``: with no value of this key alone."""
    total: int | None


class Choices(TypedDict):
    """By the closed form: what would fit, and what the next change would cost."""

    fits: list[Fit]
    """Empty for a budget that holds."""
    costs: list[Cost]


class FoldedTensor(TypedDict):
    """Tensors that differ only in their layer's index."""

    name: str
    component: str
    shape: list[int]
    layers: int
    expected: int | None
    actual: int | None
    tied_to: str | None
    trainable: bool


class Measure(TypedDict):
    """A quantity of a model that its budget limits and that is no parameter count."""

    name: str
    """``bytes`` or ``flops``."""
    what: str
    """``float16, ties once``, or ``128 tokens``."""
    expected: int | None
    """By the closed form; ``None`` where there is none."""
    actual: int | None
    """``None`` where nothing is built."""
    min: int | None
    max: int | None
    limit: str | None
    """The limit as its author wrote it."""
    components: dict[str, int]
    """FLOPs of every component at every level."""
    failed: bool


class Checkpoint(TypedDict):
    """What the headers of a checkpoint say."""

    file: str
    tensors: int
    numbers: int
    """Of all tensors, shared storage once."""
    bytes: int


class Totals(TypedDict):
    """Four totals, never mixed.

    Unique (expected and actual), trainable, stored (ties written out), and unrolled: by the closed form, with a copy of
    a shared layer for each pass through it as well.
    """

    expected: int | None
    actual: int | None
    trainable: int | None
    stored: int | None
    unrolled: int | None


class FindingRow(TypedDict):
    """A finding without the key that leads to its line."""

    kind: str
    severity: str
    component: str | None
    message: str
    fix: str
    expected: int | None
    actual: int | None
    limit: int | None
    file: str | None
    line: int | None


class ModelReport(TypedDict):
    """One element of ``models`` in the JSON report, schema 1."""

    name: str
    family: str
    architecture: str
    config: str
    config_sha256: str
    verdict: Literal["passed", "failed"]
    headline: str
    report_only: bool
    built: bool
    """``False``: the run builds nothing, and counts are what the closed form says."""
    closed_form: bool
    """``False``: not compared with a closed form, by the table's own word."""
    symbols: dict[str, int]
    totals: Totals
    components: list[Component]
    measures: list[Measure]
    """What the budget limits beside parameter counts."""
    frozen: list[str]
    """Parts that do not train, in words; empty where everything does."""
    checkpoint: Checkpoint | None
    """``None``: the table declares none, or it could not be read."""
    tensors: list[FoldedTensor]
    layers: list[Layer]
    """Those in which something differs."""
    base: Base | None
    """``None``: the run was not asked to compare with a revision."""
    choices: Choices | None
    findings: list[FindingRow]


class RunReport(TypedDict):
    """The whole of the JSON report, schema 1: what all report files are made from."""

    schema: int
    mode: Literal["full", "no-build"]
    versions: dict[str, str]
    commit: str | None
    table_sha256: str
    base: RunBase | None
    """``None``: the run was not asked to compare with a revision."""
    configured: int
    checked: int
    failed: int
    not_checked: list[str]
    models: list[ModelReport]
    complete: bool
