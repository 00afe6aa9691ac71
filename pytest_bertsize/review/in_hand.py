"""Check a module that exists already, as a run checks a build, without building anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.findings import Finding
from pytest_bertsize.review.check import Accepted, conclude, place_in_table, train_as
from pytest_bertsize.review.off_closed_form import LIBRARY, compare_with_closed_form
from pytest_bertsize.review.review import Review
from pytest_bertsize.table.limits import Flops, Growth, Limit
from pytest_bertsize.wording import printable, shown

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
TIE = "tie them again (model.tie_weights()), or write tie_word_embeddings = false"
KEEP_APART = (
    "make each a module of its own, or declare the function that makes this model as factory, with tied = { … }"
)
CHANGED = "the model was changed after it was made, or it was made from another config"


def conclude_in_hand(
    subject: Subject, built: Built | Finding, held: InHand, extra: tuple[Limit, ...], lock: Lock | None
) -> Review:
    """Compare a module with closed form, budget and lock.

    :param built: the module's inventory, or the finding that says why there is none.
    :param extra: limits in addition to the table's.
    """
    if isinstance(built, Finding):
        found = Review(subject, (*subject.model.limits, *extra), (built, *subject.findings), in_hand=held.module)
        return _place_all(found)
    found = conclude(subject, built if subject.request else None, extra, Accepted(lock=lock), held.module)
    if subject.model.factory is None:
        found = replace(found, findings=tuple(_mend_in_hand(found, built, held)))
    return _place_all(found)


def note_unchecked(found: Review, declared: Model) -> Review:
    """Add a warning for each check that the table declares and that a module in hand does not allow."""
    return _place_all(found.with_findings(*_list_unchecked(declared)))


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


def _place_all(found: Review) -> Review:
    return replace(found, findings=tuple(place_in_table(each, found.subject) for each in found.findings))


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


# probable causes of a difference from the closed form


def _mend_in_hand(found: Review, built: Built, held: InHand) -> Iterator[Finding]:
    """Yield the findings on a model of a library class, with fixes for the code that made the model."""
    cause = _explain_difference(found.subject, built, held) if found.is_off_closed_form else ""
    for each in found.findings:
        if each.kind == "off-closed-form":
            guess = each.fix.partition(LIBRARY)[0]
            yield each._replace(fix=f"{guess}{cause}".removesuffix("; "))
            cause = ""
        elif each.kind == "untied":
            names = {*built.lost_ties()}
            is_parted = any(tensor.name in names and not tensor.tied_to for tensor in built.tensors)
            yield each._replace(fix=TIE if is_parted else KEEP_APART)
        else:
            yield each


def _explain_difference(subject: Subject, built: Built, held: InHand) -> str:
    """Return the probable cause of a difference from the closed form, and its fix."""
    assert subject.derivation
    form, model = subject.derivation.form, subject.model
    for name, value in subject.derivation.options.items():
        other = form.with_dims(switches={**form.dims.switches, name: not value})
        if not compare_with_closed_form(other, train_as(other, inventory_of(built, other))):
            write = _write_options({**model.options, name: not value}, in_table=bool(model.table_key))
            return f"it matches {form.architecture.name} with {name} = {str(not value).lower()}: {write}"
    if held.kind == form.architecture.name:
        return CHANGED
    if not model.table_key:
        return f"{held.kind} is a class of your own: {DECLARE}"
    what = f"the model is of the class {held.kind}, and the table declares {form.architecture.name}"
    if not held.is_own:
        return f'{what}: write architecture = "{held.kind}", or pass a model of the declared class'
    inner = f" (model.{held.backbones[0]}?)" if held.backbones else ""
    return f"{what}: pass a model of the declared class{inner}, or declare the function that makes this one as factory"


def _write_options(options: Mapping[str, bool], *, in_table: bool) -> str:
    if in_table:
        return f"write options = {{ {', '.join(f'{key} = {str(each).lower()}' for key, each in options.items())} }}"
    return f"pass options={{{', '.join(f'{shown(key)}: {each}' for key, each in options.items())}}}"
