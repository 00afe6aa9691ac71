"""The head that sums a sequence up in one vector, and the ``summary_…`` keys that it reads: XLM and those after it."""

from __future__ import annotations

from pytest_bertsize.config.keys import Choice, Rule, Switch, hidden_act


def choices(place: str, function: str | None = None) -> tuple[Choice, Choice]:
    """Where in the sequence the vector is taken from, which changes no count, and what is applied to it.

    :param place: default of ``summary_type``.
    :param function: default of ``summary_activation``.
    """
    places = frozenset({"last", "first", "mean", "cls_index", "attn"})
    return Choice("summary_type", place, places), hidden_act(function, "summary_activation")


SWITCHES = (Switch("summary_use_proj", default=True), Switch("summary_proj_to_labels", default=True))

NO_ATTENTION = Rule(
    ("summary_type",),
    lambda values: values["summary_type"] != "attn",
    'summary_type is "attn", which the class refuses: it was never written',
    'write "cls_index", for example',
)
