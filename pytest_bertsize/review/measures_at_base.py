"""Bytes and FLOPs at the base: of those that are limited, and of both where a change of the model has changed them.

Of the base nothing is built: its bytes are those of its parameters, and its FLOPs the closed form's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import flops
from pytest_bertsize.closed_forms.training import training_states
from pytest_bertsize.dtypes import bytes_of
from pytest_bertsize.review import measures
from pytest_bertsize.table.model import BYTES, FLOPS, AsBytes, Flops, Training

if TYPE_CHECKING:
    from pytest_bertsize.base.comparison import Today
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.review.measures import Measured
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Measure, Model

TOKENS = 128
"""Of the text whose forward pass is counted where the budget says no number of them, if the model takes as many."""


def with_base(found: Review, today: Today, former: ModelAtCommit) -> Iterator[Measured]:
    """What is limited, with what it was at the base, and behind it what is not limited and has changed."""
    comparison = found.comparison
    inventory = comparison.inventory if comparison else None
    if comparison is None or inventory is None or found.held is None:
        yield from found.measured
        return
    for each in found.measured:
        limit = found.limit(each.name)
        yield each._replace(base=_at_base(limit.measure, each, former, inventory) if limit else None)
    limited = {each.name for each in found.measured}
    moved = comparison.moved or found.held.unique != inventory.unique
    for beside in (_bytes(found.held, today, former, inventory), _flops(found, today, former) if moved else None):
        if beside and beside.name not in limited and beside.actual != beside.base:
            yield beside


def _at_base(measure: Measure | None, now: Measured, former: ModelAtCommit, inventory: Inventory) -> int | None:
    """As it is measured today; ``None`` where the base does not say it."""
    if isinstance(measure, Flops):
        return _passes(former.derivation, measure.seq_len) if now.expected in {None, now.actual} else None
    if isinstance(measure, Training):
        return training_states(inventory, *measure.dtypes).total
    if not isinstance(measure, AsBytes) or now.buffers:  # nobody has built the base's buffers
        return None
    dtype = measure.dtype or _dtype(former.config, former.model)
    if measure.count == "unrolled":
        count = former.form.unrolled if former.form else None
    else:
        count = inventory.stored if measure.count == "stored" else inventory.unique
    return None if dtype is None or count is None else bytes_of(count, dtype)


def _bytes(held: Inventory, today: Today, former: ModelAtCommit, inventory: Inventory) -> Measured | None:
    now, then = _dtype(today.config, today.model), _dtype(former.config, former.model)
    if now is None or then is None:
        return None
    what, expected = f"{now}, {measures.COUNTS['unique']}", today.derivation.form.total if today.derivation else None
    by_form = None if expected is None else bytes_of(expected, now)
    return measures.Measured(BYTES, what, bytes_of(held.unique, now), by_form, base=bytes_of(inventory.unique, then))


def _flops(found: Review, today: Today, former: ModelAtCommit) -> Measured | None:
    """By the closed form, unless the model that was built is another one."""
    sides = [side for side in (today.derivation, former.derivation) if side]
    tokens = min(TOKENS, *(side.form.dims.sizes.get("P") or TOKENS for side in sides)) if sides else TOKENS
    now, then = _passes(today.derivation, tokens), _passes(former.derivation, tokens)
    if now is None or then is None or (found.actual and found.expected and found.actual.own != found.expected.own):
        return None
    return measures.Measured(FLOPS, f"{measures.of_a_pass(tokens)}, by the closed form", now, now, base=then)


def _passes(derivation: Derivation | None, tokens: int) -> int | None:
    if derivation is None:
        return None
    counted = flops.flops(derivation.form.architecture, derivation.form.dims, seq_len=tokens)
    return None if counted is None else flops.total(counted)


def _dtype(config: ModelConfig | None, model: Model) -> str | None:
    """Of all its weights; ``None`` where the config does not say one."""
    said = {**(config.flat if config else {}), **model.overrides}
    if said.get("quantization_config") is not None:
        return None
    try:
        return measures.dtype_of(said)
    except ValueError:
        return None
