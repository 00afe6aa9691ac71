"""A model held against the base: what became of it, what its limits say of that, and which of them were loosened."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_bertsize.base.comparison import Today, compared
from pytest_bertsize.base.loosening import components_moved, lock_loosened, loosened, not_compared
from pytest_bertsize.review import by_structure, measures, measures_at_base
from pytest_bertsize.review.since_base import since_base

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.review.check import Subject
    from pytest_bertsize.review.put_back import Accepted
    from pytest_bertsize.review.review import Review
    from pytest_bertsize.table.model import Model
    from pytest_bertsize.table.settings import Settings


def held(found: Review, subject: Subject, settings: Settings, baseline: Baseline | None, accepted: Accepted) -> Review:
    """The review, with what became of the model, and what was loosened."""
    put_back = accepted.put_back.get(subject.model.name)
    today = Today(subject.model, subject.config, subject.derivation, found.actual, found.components, put_back)
    found = replace(found, comparison=compared(today, baseline))
    if former := baseline.find_former(subject.model.name) if baseline else None:
        found = replace(found, measured=(*measures_at_base.with_base(found, today, former),))
    inventory = found.held if subject.derivation is None else None
    known = partial(by_structure.known, inventory) if inventory else subject.known_components
    found = since_base(found, subject.model, baseline, known)
    moved = _moved(subject.model, baseline, found.actual) if baseline and subject.derivation is None else []
    return replace(found, findings=(*found.findings, *moved, *_loosened(subject, baseline, settings, found.base)))


def _moved(model: Model, baseline: Baseline, actual: Inventory | None) -> list[Finding]:
    """Limits of components that hold less of today's model than by the base's table."""
    former = baseline.find_former(model.name)
    if former is None or actual is None or former.model.components == model.components:
        return []
    asked = [limit.component for limit in model.limits if limit.measure is None and limit.maximum is not None]
    then = by_structure.counted_as(former.model.components, actual, asked)
    return components_moved(former.model, model, baseline.revision, (then, actual), asked)


def _loosened(subject: Subject, baseline: Baseline | None, settings: Settings, base: Inventory | None) -> list[Finding]:
    """What the budget lets pass that the base's did not, or of which nobody can tell."""
    if baseline is None:
        return []
    former = baseline.find_former(subject.model.name)
    if former is None:
        return not_compared(subject.model, baseline)
    dtypes = _dtype(former.model, former.config), _dtype(subject.model, subject.config)
    found = loosened(former.model, subject.model, baseline.revision, dtypes, base)
    if baseline.is_strict and not (settings.lock and settings.lock.strict):
        found += lock_loosened(subject.model, former.model.reason, baseline.revision)
    return [*found, *not_compared(subject.model, baseline)]


def _dtype(model: Model, config: ModelConfig | None) -> str | None:
    """What the config says of its weights, ``None`` where that is not one dtype."""
    try:
        return measures.dtype_of({**config.data, **model.overrides}) if config else None
    except ValueError:
        return None
