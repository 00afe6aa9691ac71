"""Compare a model with the limits of its budget: parameters, bytes of a file and of training, FLOPs of a forward pass.

Pure. Growth is compared in :mod:`against_base`, because it needs the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.dtypes import bits_of, bytes_of
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.inventory import TOTAL, TRAINABLE, Inventory
from pytest_bertsize.quantity import restated
from pytest_bertsize.review.review import Measured, Review
from pytest_bertsize.table.limits import (
    BYTES,
    FLOPS,
    GROWTH,
    TRAINING,
    AsBytes,
    Flops,
    Growth,
    Limit,
    Measure,
    Training,
    unit_of,
)
from pytest_bertsize.wording import BadValue, did_you_mean, exact, plural, shown, signed

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.closed_forms.family import ClosedForm
    from pytest_bertsize.findings import Kind

CLOSED_FORM_FIRST = "fix the difference from the closed form first: a limit cannot accept it"
COUNTS = {"unique": "ties once", "stored": "ties written out", "unrolled": "shared layers unrolled"}


# quantities other than parameter counts


class Measurable(NamedTuple):
    """The facts about a model from which its quantities are measured."""

    actual: Inventory
    form: ClosedForm | None
    config: Mapping[str, object]  # with the table's overrides
    built: Built | None = None


def measure_limits(limits: Sequence[Limit], model: Measurable) -> list[Measured]:
    """Measure the limited quantities but growth; raise Unusable with a finding for each that cannot be measured."""
    first: dict[str, Limit] = {}
    found, wrong = [], []
    for limit in limits:
        name, measure = limit.component, limit.measure
        if measure is None or isinstance(measure, Growth):
            continue
        before = first.setdefault(name, limit)
        try:
            if before is limit:
                found.append(measure_one(measure, model))
            elif before.measure != measure:
                differ = f"two limits of {name} differ: {before.measure}, and {measure}"
                raise BadValue(differ, "write one of them")  # noqa: TRY301
        except BadValue as bad:
            wrong.append(limit.make_finding("config-invalid", bad.message, bad.fix)._replace(component=None))
    if wrong:
        raise Unusable(*wrong)
    return found


def measure_one(measure: Measure, model: Measurable) -> Measured:
    """Measure one quantity of a model; raise BadValue if it cannot be measured."""
    if isinstance(measure, AsBytes):
        return _measure_bytes(measure, model)
    if isinstance(measure, Flops):
        return _measure_flops(measure, model)
    assert isinstance(measure, Training)
    _refuse_quantised(model, measure.frozen or measure.dtype, TRAINING, 'max = "2GB", frozen = "float16"')
    from pytest_bertsize.closed_forms.training import training_states

    states = training_states(model.actual, *measure.dtypes)
    expected = training_states(model.form, *measure.dtypes).total if model.form else None
    what = (
        f"AdamW, {measure}: parameters {exact(states.parameters)}, gradients {exact(states.gradients)}, "
        f"moments {exact(states.moments)}, steps of {plural(states.tensors, 'tensor')} {exact(states.steps)}; "
        "no activations"
    )
    return Measured(TRAINING, what, states.total, expected)


def _measure_bytes(measure: AsBytes, model: Measurable) -> Measured:
    _refuse_quantised(model, measure.dtype, BYTES, 'max = "440MB", dtype = "float16"')
    form, actual = model.form, model.actual
    if measure.count == "unrolled" and form is None:  # a built module does not show how often a layer runs
        fix = 'write count = "stored" or "unique"'
        raise BadValue("only a closed form gives the unrolled count of shared layers", fix)
    dtype = measure.dtype or dtype_of(model.config)
    saved = [each for each in model.built.buffers if each.saved] if model.built else []
    follows = "float32" if "float" in dtype else None  # a buffer of this dtype is saved in that of the weights
    beside = sum(bytes_of(each.numbers, dtype) if each.dtype == follows else each.bytes for each in saved)
    what = f"{dtype}, {COUNTS[measure.count]}" + (f", buffers {exact(beside)}" if beside else "")
    expected = bytes_of(getattr(form, measure.count), dtype) + beside if form else None  # named like the attribute
    numbers = actual.unique if measure.count == "unique" else actual.stored
    if form and measure.count == "unrolled":
        numbers += form.unrolled - form.stored
    return Measured(BYTES, what, bytes_of(numbers, dtype) + beside, expected, buffers=beside, dtype=dtype)


def _refuse_quantised(model: Measurable, dtype: str | None, name: str, example: str) -> None:
    """Refuse to count a quantised model in one dtype, unless that is a float."""
    if model.config.get("quantization_config") is None or "float" in (dtype or ""):
        return
    raise BadValue(
        "the config has a quantization_config, which quantises only some of the weights, so no dtype gives the bytes",
        f"write the dtype that the weights have before they are quantised, as in budget.{name} = {{ {example} }}",
    )


def _measure_flops(measure: Flops, model: Measurable) -> Measured:
    form, built = model.form, model.built
    # with sdpa, the default of transformers, torch's counter misses attention on a CPU
    what = f"{exact(measure.seq_len)} tokens, eager attention, 2 FLOPs a multiply-add"
    expected = flops.flops(form.architecture, form.dims, seq_len=measure.seq_len) if form else None
    total = None if expected is None else flops.total(expected)
    if form:
        unused = flops.count_unused_positions(form.architecture, model.config)
        positions = form.dims.sizes.get("P") or measure.seq_len + unused
        if measure.seq_len > positions - unused:
            more = f"seq_len {measure.seq_len:,} exceeds its max_position_embeddings {positions:,}"
            more += f", whose first {unused} are never used" if unused else ""
            raise BadValue(f"its FLOPs cannot be counted: {more}")
    if built is None:
        if expected is None or total is None:
            raise BadValue("there is no closed form for its FLOPs, and nothing is built")
        return Measured(FLOPS, what, total, None, expected)
    if built.flops is None:
        why = built.problems.get("flops", "the helper process reported none")
        raise BadValue(f"its FLOPs cannot be counted: {why}")
    components = flops.by_component(built.flops, model.actual)
    return Measured(FLOPS, what, flops.total(components), total, components, by_form=expected or {})


def compare_flops(found: Iterable[Measured]) -> Iterator[Finding]:
    """Compare the FLOPs counted by torch with the closed form; bytes need no comparison, as parameters are compared."""
    for each in found:
        if each.name != FLOPS or each.expected in {None, each.actual}:
            continue
        names = [name for name in {**each.by_form, **each.components} if "." not in name]
        rows = [(name, each.components.get(name, 0), each.by_form.get(name, 0)) for name in names]
        off = "; ".join(f"{name} {exact(now)}, closed form {exact(then)}" for name, now, then in rows if now != then)
        delta = signed(each.actual - (each.expected or 0))
        message = f"flops is {delta} off the closed form {exact(each.expected or 0)}: {off}"
        fix = "the class multiplies other matrices than its config declares: check the config, or report the class"
        yield Finding("off-closed-form", message, fix, component=FLOPS, expected=each.expected, actual=each.actual)


def dtype_of(config: Mapping[str, object]) -> str:
    """Return the dtype of the weights by the config, as a model on the meta device is always ``"float32"``."""
    written = {key: config[key] for key in ("dtype", "torch_dtype") if config.get(key) is not None}
    found = {key: str(value).removeprefix("torch.") for key, value in written.items()}
    for key, dtype in found.items():
        try:
            bits_of(dtype)
        except BadValue as bad:
            raise BadValue(f"{key}: {bad.message}", bad.fix) from None
    if len({*found.values()}) > 1:
        both = f'the config has dtype "{found["dtype"]}" and torch_dtype "{found["torch_dtype"]}"'
        raise BadValue(f"{both}: keep one")
    return next(iter(found.values()), "float32")  # the default of torch and transformers


# the limits


def check_limits(review: Review, actual: Inventory) -> list[Finding]:
    """Return a finding for every limit that ``actual`` does not meet, and for every limit on an unknown component."""
    return [*filter(None, (_check_limit(limit, actual, review) for limit in review.budget))]


def _check_limit(limit: Limit, actual: Inventory, review: Review) -> Finding | None:
    component = limit.component
    if limit.measure:
        measured = review.find_measured(component)
        return _check_bounds(limit, measured.actual, review, actual, measured) if measured else None
    if component not in {TOTAL, TRAINABLE, *actual.components}:
        if component not in review.known_components:
            return refuse_unknown_component(component, limit, review, [BYTES, FLOPS, TRAINING, GROWTH])
        if limit.maximum != 0 and not (review.expected and review.expected.count_of(component)):
            message = f"the budget limits {shown(component)}, which this {review.subject.architecture} does not have"
            fix = f"remove the limit, or write budget.{shown(component)} = 0 to forbid the component"
            return limit.make_finding("config-invalid", f"{message}: the limit would check nothing", fix)
    return _check_bounds(limit, actual.count_of(component), review, actual)


def refuse_unknown_component(component: str, limit: Limit, review: Review, measures: Sequence[str] = ()) -> Finding:
    """Return the finding about a limit on an unknown component; ``measures`` are other names that it may have."""
    family, names = review.subject.family, [TOTAL, TRAINABLE, *measures, *review.known_components]
    lacking = f"no {family} model has" if family else f"{review.subject.architecture} does not have"
    message = f"the budget names the component {shown(component)}, which {lacking}"
    hint = did_you_mean(component, names, f"a budget can name {', '.join(names)}")
    return limit.make_finding("config-invalid", message, hint)


def _check_bounds(
    limit: Limit, count: int, review: Review, actual: Inventory, measured: Measured | None = None
) -> Finding | None:
    """Return a finding if ``count`` is not within the limit; ``measured`` is the quantity, ``None`` for parameters."""
    kind: Kind
    if limit.maximum is not None and count > limit.maximum:
        kind, side, bound = "over-budget", "over", limit.maximum
    elif limit.minimum is not None and count < limit.minimum:
        kind, side, bound = "under-budget", "under", limit.minimum
    else:
        return None
    component, fix = limit.component, ""
    written = f"exact limit of {exact(bound)}" if limit.is_exact else f"limit of {limit}"
    message = f"{component} is {exact(count)}, {exact(abs(count - bound))} {side} its {written}"
    if measured:
        message = f"{message} ({measured.what})"
        is_as_derived = measured.expected in {None, measured.actual}
    else:
        is_free = component == TRAINABLE and review.freezes_at_will and not review.is_off_closed_form
        is_as_derived = is_free or review.expected is None or review.expected.count_of(component) == count
        have = actual.layers(component)
        if have > 1 and kind == "over-budget":
            each = actual.count_of(component) // have
            fix = f"one layer of it is {exact(each)}, so {bound // each} of {have} fit; "
    accept = CLOSED_FORM_FIRST
    if is_as_derived:
        at = limit.bound(kind)
        named = f"{at} = " if isinstance(limit.written, dict) else ""
        accept = f"to accept it, write {named}{restated(count, at, limit.written_at(at), unit_of(component))}"
    return limit.make_finding(kind, message, f"{fix}{accept}", actual=count)._replace(limit=bound)
