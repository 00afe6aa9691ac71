"""What a budget may limit beside parameter counts: bytes in a file and in training, FLOPs of a forward pass. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.dtypes import bits_of, bytes_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import is_within
from pytest_bertsize.table.model import BYTES, FLOPS, TRAINING, AsBytes, Flops, Growth, Training
from pytest_bertsize.wording import BadValue, exact, plural, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Buffer
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.inventory import Inventory, Tensor
    from pytest_bertsize.table.model import Limit, Measure

DEFAULT_DTYPE = "float32"
"""What torch and transformers take where a config names none."""
COUNTS = {"unique": "ties once", "stored": "ties written out", "unrolled": "shared layers unrolled"}
"""Which of the totals the bytes are of, in words."""
BUFFERS = ", buffers {}"
EXAMPLE = 'write, for example, "float16"'


class Measured(NamedTuple):
    """A quantity of one model."""

    name: str
    """``bytes``, ``flops``, ``training_bytes`` or ``growth``: what the budget calls it."""
    what: str
    """``float16, ties once``, ``float32, ties once, buffers 4,096``, or ``128 tokens, eager attention, 2 FLOPs a
    multiply-add``."""
    actual: int
    expected: int | None
    """By the closed form; ``None`` where there is none."""
    components: Mapping[str, int] = MappingProxyType({})
    """At every level; empty for bytes."""
    buffers: int = 0
    """Bytes of :attr:`actual` that no closed form says."""
    base: int | None = None
    """At the base; ``None`` where there is none, or where it is not known there."""


class Operations(Protocol):
    """What the helper process says of a forward pass, and of what is no parameter."""

    @property
    def buffers(self) -> Sequence[Buffer]: ...
    @property
    def flops(self) -> Sequence[tuple[str, int]] | None: ...
    @property
    def problems(self) -> Mapping[str, str]: ...


class Subject(NamedTuple):
    """A built model, as far as its measures go."""

    actual: Inventory
    form: ClosedForm | None
    config: Mapping[str, object]
    """With the table's overrides."""
    operations: Operations | None
    """``None`` where nothing was built."""


def measured(limits: Sequence[Limit], subject: Subject) -> list[Measured]:
    """Measure what the limits are about.

    :raises Unusable: with a finding for everything that cannot be measured.
    """
    about: dict[str, Limit] = {}
    found, wrong = [], []
    for limit in limits:
        if isinstance(limit.measure, Growth):
            continue  # what came since the base, which is not known here
        if limit.measure and about.setdefault(limit.component, limit).measure != limit.measure:
            message = f"two limits of {limit.component} differ: {about[limit.component].measure}, and {limit.measure}"
            wrong.append(Finding("config-invalid", message, "write one of them", file=limit.file, line=limit.line))
    for limit in about.values():
        try:
            found.append(_measured(limit.measure, subject))
        except BadValue as bad:
            place = {"file": limit.file, "line": limit.line, "table_key": limit.table_key}
            wrong.append(Finding("config-invalid", bad.message, bad.fix, **place))  # type: ignore[arg-type]
    if wrong:
        raise Unusable(*wrong)
    return found


def _measured(measure: Measure | None, subject: Subject) -> Measured:
    if isinstance(measure, Flops):
        return _flops(measure, subject)
    if isinstance(measure, Training):
        return _training(measure, subject)
    assert isinstance(measure, AsBytes)
    return _bytes(measure, subject)


def _training(measure: Training, subject: Subject) -> Measured:
    said = measure.frozen or measure.dtype or ""
    if subject.config.get("quantization_config") is not None and "float" not in said:
        example = 'budget.training_bytes = { max = "2GB", frozen = "float16" }'
        raise _refuse_quantised(said or "int4", subject.actual, example)
    from pytest_bertsize.closed_forms.training import training_states

    states = training_states(subject.actual, *measure.dtypes)
    expected = training_states(subject.form.inventory, *measure.dtypes).total if subject.form else None
    what = (
        f"AdamW, {measure}: parameters {exact(states.parameters)}, gradients {exact(states.gradients)}, "
        f"moments {exact(states.moments)}, steps of {plural(states.tensors, 'tensor')} {exact(states.steps)}; "
        "no activations"
    )
    return Measured(TRAINING, what, states.total, expected)


def _bytes(measure: AsBytes, subject: Subject) -> Measured:
    if subject.config.get("quantization_config") is not None and "float" not in (measure.dtype or ""):
        example = 'budget.bytes = { max = "440MB", dtype = "float16" }'
        raise _refuse_quantised(measure.dtype or "int4", subject.actual, example)
    dtype = measure.dtype or dtype_of(subject.config)
    if measure.count != "unrolled":
        expected = getattr(subject.form, measure.count if measure.count == "stored" else "total", None)
        actual = getattr(subject.actual, measure.count)
    elif subject.form is None:
        raise BadValue("only a closed form says what shared layers unroll to", 'write count = "stored" or "unique"')
    else:  # a pass through a layer is nothing that a built module says
        expected = subject.form.unrolled
        actual = expected + subject.actual.stored - subject.form.stored
    beside = _buffered(subject.operations.buffers, dtype) if subject.operations else 0
    what = f"{dtype}, {COUNTS[measure.count]}{BUFFERS.format(exact(beside)) if beside else ''}"
    by_form = None if expected is None else bytes_of(expected, dtype) + beside
    return Measured(BYTES, what, bytes_of(actual, dtype) + beside, by_form, buffers=beside)


def _buffered(buffers: Iterable[Buffer], dtype: str) -> int:
    """The bytes of what a checkpoint has beside parameters; what is float32 follows them to another such dtype."""
    follows = "float32" if "float" in dtype else None
    saved = [each for each in buffers if each.saved]
    return sum(bytes_of(each.numbers, dtype) if each.dtype == follows else each.bytes for each in saved)


def _refuse_quantised(dtype: str, actual: Inventory, example: str) -> BadValue:
    """Return why no one dtype gives the bytes of a quantised model, with the two numbers that come nearest."""
    weights = sum(tensor.owned for tensor in actual.tensors if _is_quantised(tensor))
    nearer = bytes_of(weights, dtype) + bytes_of(actual.unique - weights, "float16")
    return BadValue(
        "the config has a quantization_config, which quantises the weights of linear layers alone: with all parameters "
        f"in {dtype} it is {exact(bytes_of(actual.unique, dtype))} bytes, with the others in float16 {exact(nearer)}, "
        "and scales are in neither",
        f"write the dtype that it has before it is quantised, as in {example}",
    )


def _is_quantised(tensor: Tensor) -> bool:
    """Matrices but for embeddings and heads: bitsandbytes, GPTQ and AWQ leave those as they are."""
    kept = is_within(tensor.component, "embeddings") or is_within(tensor.component, "head") or "embed" in tensor.name
    return len(tensor.shape) > 1 and not kept


def of_a_pass(tokens: int) -> str:
    """What is counted: with sdpa, transformers' default, torch's counter misses the attention on a CPU."""
    return f"{exact(tokens)} tokens, eager attention, 2 FLOPs a multiply-add"


def _flops(measure: Flops, subject: Subject) -> Measured:
    form = subject.form
    expected = flops.flops(form.architecture, form.dims, seq_len=measure.seq_len) if form else None
    if subject.operations is None:
        if expected is None:
            raise BadValue("there is no closed form for its FLOPs, and nothing is built")
        return Measured(FLOPS, of_a_pass(measure.seq_len), flops.total(expected), None, expected)
    rows = subject.operations.flops
    if rows is None:
        why = subject.operations.problems.get("flops", "the helper process said nothing of them")
        raise BadValue(f"its FLOPs cannot be counted: {why}")
    components = flops.by_component(rows, subject.actual)
    total = None if expected is None else flops.total(expected)
    return Measured(FLOPS, of_a_pass(measure.seq_len), flops.total(components), total, components)


def off_closed_form(found: Sequence[Measured], form: ClosedForm | None, limits: Sequence[Limit]) -> Iterator[Finding]:
    """Where torch counts other operations than the closed form does; bytes follow from the parameters."""
    for each in found:
        seq_len = next((limit.measure.seq_len for limit in limits if isinstance(limit.measure, Flops)), None)
        if each.name != FLOPS or each.expected in {None, each.actual} or form is None or seq_len is None:
            continue
        expected = flops.flops(form.architecture, form.dims, seq_len=seq_len) or {}
        names = [name for name in {**expected, **each.components} if "." not in name]
        rows = [(name, each.components.get(name, 0), expected.get(name, 0)) for name in names]
        off = "; ".join(
            f"{name} {exact(now)}, by the closed form {exact(then)}" for name, now, then in rows if now != then
        )
        delta = signed(each.actual - (each.expected or 0))
        message = f"flops is {delta} off the closed form {exact(each.expected or 0)}: {off}"
        fix = "the class does not multiply what the config says: check the class, and report it if it is the library's"
        yield Finding("off-closed-form", message, fix, component=FLOPS, expected=each.expected, actual=each.actual)


def dtype_of(config: Mapping[str, object]) -> str:
    """The dtype that a config says its weights have, ``"float32"`` where it says none.

    :param config: as it stands in the file: a model that is built from it on the meta device is always ``"float32"``.
    :raises BadValue: where the config does not say one dtype by name.
    """
    named = {key: config[key] for key in ("dtype", "torch_dtype") if config.get(key) is not None}
    dtypes = {key: _dtype_named(key, value) for key, value in named.items()}
    if len(set(dtypes.values())) > 1:
        both = f'the config says dtype "{dtypes["dtype"]}" and torch_dtype "{dtypes["torch_dtype"]}"'
        raise BadValue(f"{both}: keep one")
    return next(iter(dtypes.values()), DEFAULT_DTYPE)


def _dtype_named(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadValue(f"{key} is {shown(value)}, not the name of a dtype", EXAMPLE)
    if value == "auto":
        raise BadValue(f'{key} is "auto", which is that of the weights, whatever it is', EXAMPLE)
    name = value.removeprefix("torch.")
    try:
        bits_of(name)
    except BadValue as bad:
        raise BadValue(f"{key}: {bad.message}", bad.fix) from None
    return name
