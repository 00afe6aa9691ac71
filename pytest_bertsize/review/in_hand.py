"""Check a module that exists already, as a run checks a build, without building anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.findings import Finding
from pytest_bertsize.review.check import Accepted, conclude, place_findings
from pytest_bertsize.review.review import Review
from pytest_bertsize.table.limits import Flops, Growth, Limit
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.child.in_hand import InHand
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.table.model import Model

BUILDS = "pytest --bert-budget builds the model and checks it"
DECLARE = (
    "declare it in a table with its modules (bertsize init) and pass that table's name, or check only limits: "
    "closed_form=False"
)
TIE = (
    "tie what the class ties and nothing else (model.tie_weights(), or tie_word_embeddings = false), or declare the "
    "function that makes this model as factory, with tied = { … }"
)
CHANGED = "the model was changed after it was made, or it was made from another config"
OPTIONS = "; or with other options ({}): write options in its table, or pass options to check_model"
MOST_NAMED = 5
"""The most options that one message names."""


def conclude_in_hand(
    subject: Subject, built: Built | Finding, held: InHand, extra: tuple[Limit, ...], lock: Lock | None
) -> Review:
    """Compare a module with closed form, budget and lock.

    :param built: the module's inventory, or the finding that says why there is none.
    :param extra: limits in addition to the table's.
    """
    if isinstance(built, Finding):
        found = Review(subject, (*subject.model.limits, *extra), (built, *subject.findings), in_hand=held.module)
        return place_findings(found)
    found = conclude(subject, built if subject.request else None, extra, Accepted(lock=lock), held.module)
    if subject.model.factory is None:
        found = replace(found, findings=tuple(_mend_in_hand(found, held)))
    return found


def note_unchecked(found: Review, declared: Model) -> Review:
    """Add a warning for each check that the table declares and that a module in hand does not allow."""
    return place_findings(found.with_findings(*_list_unchecked(declared)))


def name_run(found: Review, run: str) -> Review:
    """Replace the ``init`` command in the fixes of a review with the one for ``run``, the code that made the model.

    :param run: a command as the key ``factory`` may have it.
    """
    model = found.subject.model
    was, now = model.init_command, model.replace(factory=run).init_command
    lock = "" if found.is_off_closed_form else f"if that is intended, {now} --write writes its table and its lock"
    fixes = (lock if each.kind == "differs-from-lock" else each.fix.replace(was, now) for each in found.findings)
    return replace(
        found, findings=tuple(each._replace(fix=fix) for each, fix in zip(found.findings, fixes, strict=True))
    )


def without_unchecked(model: Model) -> Model:
    """Return a model without the checkpoint and the limits that only a run with a build or a base can check."""
    limits = tuple(each for each in model.limits if not isinstance(each.measure, Flops | Growth))
    return model.replace(checkpoint=None, budget=model.budget._replace(limits=limits, passes_already_over=False))


def _list_unchecked(model: Model) -> Iterator[Finding]:
    for limit in model.limits:
        if isinstance(limit.measure, Flops):
            message = "budget.flops is not checked here: it needs a forward pass of a model built for it"
            yield limit.make_finding("not-compared", message, BUILDS, "warning")
        elif isinstance(limit.measure, Growth):
            message = f"budget.{limit.component} is not checked here: there is no base"
            yield limit.make_finding("not-compared", message, "pytest --bert-budget-base REV checks it", "warning")
    if model.budget.passes_already_over:
        message = "budget.already_over does not apply here: there is no base in which a limit was already exceeded"
        yield Finding("not-compared", message, "", "warning", table_key=("budget", "already_over"))
    if model.checkpoint:
        message = f"its checkpoint {printable(model.checkpoint)} is not compared here"
        yield Finding("checkpoint-differs", message, BUILDS, "warning", table_key=("checkpoint",))


def _mend_in_hand(found: Review, held: InHand) -> Iterator[Finding]:
    """Yield the findings on a model of a library class, with fixes for the code that made the model."""
    fixes = {"off-closed-form": _explain_difference(found.subject, held), "untied": TIE}
    for each in found.findings:
        yield each._replace(fix=fixes.get(each.kind, each.fix))
        if each.kind == "off-closed-form":  # one cause for all components
            fixes["off-closed-form"] = ""


def _explain_difference(subject: Subject, held: InHand) -> str:
    """Return the probable cause of a difference from the closed form, and its fix."""
    form, model = subject.form, subject.model
    if form is None or held.kind == form.architecture.name:
        options = listed(list(subject.derivation.options if subject.derivation else ()), MOST_NAMED)
        return f"{CHANGED}{OPTIONS.format(options) if options else ''}"
    if not model.table_key:
        return f"{held.kind} is a class of your own: {DECLARE}"
    what = f"the model is of the class {held.kind}, and the table declares {form.architecture.name}"
    write = f'write architecture = "{held.kind}"'
    if held.is_own:
        write = "declare the function that makes this one as factory"
    return f"{what}: pass one of that class, or {write}"
