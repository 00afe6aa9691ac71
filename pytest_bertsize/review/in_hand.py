"""Hold a module that is there already against what a run holds its build against, as far as nothing has to be built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.builder.structure import inventory_of
from pytest_bertsize.findings import Finding
from pytest_bertsize.review.check import Accepted, conclude, place_in_table, train_as
from pytest_bertsize.review.off_closed_form import LIBRARY, compare_with_closed_form
from pytest_bertsize.review.review import Review
from pytest_bertsize.table.limits import Flops, Growth
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.builder.child.in_hand import InHand
    from pytest_bertsize.builder.messages import Built
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.table.limits import Limit
    from pytest_bertsize.table.model import Model

BUILDS = "pytest --bert-budget checks it, where the model is built"
DECLARE = (
    "declare it in a table with its modules beside the library's class (bertsize init) and name that, or check limits "
    "alone: closed_form=False"
)
TIE = "tie them again (model.tie_weights()), or write tie_word_embeddings = false"
KEEP_APART = "make each a module of its own, or declare by factory what makes this model, with tied = { … }"
CHANGED = "the model was changed after it was made, or it was made from another config"


def conclude_in_hand(
    subject: Subject, built: Built | Finding, held: InHand, extra: tuple[Limit, ...], lock: Lock | None
) -> Review:
    """Hold a module against closed form, budget and lock.

    :param built: its list, or why there is none.
    :param extra: limits beside those of the table.
    """
    if isinstance(built, Finding):
        found = Review(subject, (*subject.model.limits, *extra), (built, *subject.findings), in_hand=held.module)
        return _place_all(found)
    found = conclude(subject, built if subject.request else None, extra, Accepted(lock=lock), held.module)
    if subject.model.factory is None:
        found = replace(found, findings=tuple(_mend_in_hand(found, built, held)))
    return _place_all(found)


def note_unchecked(found: Review, declared: Model) -> Review:
    """Return the review with a warning for each thing that the table asks for and that nobody could check here."""
    return _place_all(found.with_findings(*_list_unchecked(declared)))


def name_run(found: Review, run: str) -> Review:
    """Return the review with the command that has made a model in hand in place of its table's, in its ways out.

    :param run: as ``factory`` would say it.
    """
    model = found.subject.model
    was, now = model.init_command, model.replace(factory=run).init_command
    lock = "" if found.is_off_closed_form else f"if that is meant, {now} --write writes its table and its lock"
    fixes = (lock if each.kind == "differs-from-lock" else each.fix.replace(was, now) for each in found.findings)
    return replace(
        found, findings=tuple(each._replace(fix=fix) for each, fix in zip(found.findings, fixes, strict=True))
    )


def _place_all(found: Review) -> Review:
    return replace(found, findings=tuple(place_in_table(each, found.subject) for each in found.findings))


def without_unchecked(model: Model) -> Model:
    """Return a model without what only a run with a build, or with a base, can check."""
    limits = tuple(each for each in model.limits if not isinstance(each.measure, Flops | Growth))
    return model.replace(checkpoint=None, budget=model.budget._replace(limits=limits, passes_already_over=False))


def _list_unchecked(model: Model) -> Iterator[Finding]:
    for limit in model.limits:
        if isinstance(limit.measure, Flops):
            message = "budget.flops is not checked here: it takes a forward pass of a model that is built for it"
            yield limit.make_finding("not-compared", message, BUILDS, "warning")
        elif isinstance(limit.measure, Growth):
            message = f"budget.{limit.component} is not checked here: there is no base"
            yield limit.make_finding("not-compared", message, "pytest --bert-budget-base REV checks it", "warning")
    if model.budget.passes_already_over:
        message = "budget.already_over lets nothing pass here: there is no base that was over a limit already"
        yield Finding("not-compared", message, "", "warning", table_key=("budget", "already_over"))
    if model.checkpoint:
        message = f"its checkpoint {printable(model.checkpoint)} is not compared here"
        yield Finding("checkpoint-differs", message, BUILDS, "warning", table_key=("checkpoint",))


# what a model that is off its closed form was probably made with


def _mend_in_hand(found: Review, built: Built, held: InHand) -> Iterator[Finding]:
    """Yield the findings on a class of the library, with ways out for whoever has made a model of it."""
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
    """Return what probably makes the difference from the closed form, and what to do about it."""
    assert subject.derivation
    form, model = subject.derivation.form, subject.model
    for name, value in subject.derivation.options.items():
        other = form.with_dims(switches={**form.dims.switches, name: not value})
        if not compare_with_closed_form(other, train_as(other, inventory_of(built, other))):
            write = _write_options({**model.options, name: not value}, in_table=bool(model.table_key))
            return f"it is as {form.architecture.name} is with {name} = {str(not value).lower()}: {write}"
    if held.kind == form.architecture.name:
        return CHANGED
    if not model.table_key:
        return f"{held.kind} is a class of your own: {DECLARE}"
    what = f"the model is of the class {held.kind}, and the table declares {form.architecture.name}"
    if not held.is_own:
        return f'{what}: write architecture = "{held.kind}", or hand over the one that is declared'
    inner = f" (model.{held.backbones[0]}?)" if held.backbones else ""
    return f"{what}: hand over the one that is declared{inner}, or declare by factory what makes this one"


def _write_options(options: Mapping[str, bool], *, in_table: bool) -> str:
    if in_table:
        return f"write options = {{ {', '.join(f'{key} = {str(each).lower()}' for key, each in options.items())} }}"
    return f"pass options={{{', '.join(f'{shown(key)}: {each}' for key, each in options.items())}}}"
