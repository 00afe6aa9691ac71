"""What each kind of finding means, and what to do about it: for whoever meets one in a report."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.findings import Kind, Severity


@dataclass(frozen=True, slots=True)
class KindOfFinding:
    """One kind; the finding itself says which component, key or tensor it is about, with exact values."""

    severities: tuple[Severity, ...]
    """Those that it can have; an error fails its model."""
    means: str
    fix: str


ERROR: tuple[Severity, ...] = ("error",)

KINDS: Mapping[Kind, KindOfFinding] = MappingProxyType(
    {
        "over-budget": KindOfFinding(
            ERROR,
            "A component, `total`, `trainable`, `bytes` or `flops` is more than its limit lets pass.",
            "Undo the change that moved it, or change a size to what the report says would fit. If the model is "
            "meant to be larger, accept it: `pytest --bert-budget --bert-budget-update`.",
        ),
        "under-budget": KindOfFinding(
            ERROR,
            "It is less than the limit's `min` or `exact` asks for: a part is gone, or trains no longer.",
            "Bring the part back. If it is meant to be gone, accept it: `pytest --bert-budget --bert-budget-update`.",
        ),
        "off-closed-form": KindOfFinding(
            ERROR,
            "What was built is not what the config says by the closed form: tensors are missing, extra, of another "
            "shape, tied or frozen otherwise. The message names them, and what they look like (an untied decoder, a "
            "dense layer, more rows).",
            "For a class of your own, say what it has in `extra` or `frozen`. For a class of transformers, look at its "
            "version: the closed forms are those of the releases that the page on families names.",
        ),
        "unknown-closed-form": KindOfFinding(
            ("error", "warning", "note"),
            "There is no closed form for the architecture, or for something that the adapter asks for. A note where "
            "`closed_form = false` says so; a warning where that key keeps a closed form from being compared.",
            "Name the class that comes nearest, contribute a closed form, or write `closed_form = false` to hold the "
            "model to its budget alone. For the warning, remove that key.",
        ),
        "config-invalid": KindOfFinding(
            ERROR,
            "The config, or a file that belongs to it, cannot be read, lacks a key, or has a value that is none; or "
            "the table names a key, a component, an option or a family that there is not.",
            "Correct the line that the message names; it says what to write.",
        ),
        "config-refused": KindOfFinding(
            ERROR,
            "The config is well formed, and is not given to the library: it steers the library itself (`auto_map`), "
            "lies outside the project, or is larger than any model.",
            "Remove the key, copy the file into the project, or write the size that the model has.",
        ),
        "ignored-key": KindOfFinding(
            ("warning",),
            "A key looks as if it changed the count, and does not; or no key of the family has its name. With what "
            "it would have cost, where that is known.",
            "Remove it, or write the key that was meant.",
        ),
        "defaulted-key": KindOfFinding(
            ("warning",),
            "A key that decides on the size is missing, and the library uses its default.",
            "Write the key with the value that is meant: a default may change with the library.",
        ),
        "build-failed": KindOfFinding(
            ERROR,
            "The model was not built: its class or its factory raised, hung, ended its process, took too much memory "
            "or asked for the network.",
            "Mend what the message quotes. A value that the class refuses is corrected in the config.",
        ),
        "untied": KindOfFinding(
            ERROR,
            "Which tensors the built model shares is not what its class declares.",
            "Report it, to transformers and here: either the class has lost a tie, or torch has.",
        ),
        "checkpoint-differs": KindOfFinding(
            ("error", "warning", "note"),
            "The checkpoint has not the tensors that the config says: missing, extra, of another shape, or no "
            "checkpoint at all. A warning where nothing was built to compare it with; a note where its names are "
            "those of an older release, which transformers renames.",
            "Name the config that the checkpoint was saved with, or save the model again.",
        ),
        "dead-weight": KindOfFinding(
            ("warning", "note"),
            "Numbers that are paid for and not used: rows that no token reaches, a pooler beside a pooler, a tied "
            "tensor that is stored twice, a head that an adapter leaves untrained, a large buffer. A note where that "
            "is usual.",
            "Follow the message if the numbers are not wanted; nothing has to be done.",
        ),
        "budget-loosened": KindOfFinding(
            ("error", "note"),
            "The table lets more pass than that of the base: a larger limit, one that is gone, `report-only`, "
            "`closed_form = false`, a checkpoint that is no longer compared. A note where `reason` changed with it.",
            'Say why in the same change, `reason = "…"`, or take the change of the budget back.',
        ),
        "insensitive-budget": KindOfFinding(
            ("note",),
            "One more layer would pass every limit of the model.",
            "Write a limit below the number that the message names; `pytest --bert-budget --bert-budget-tighten` does, "
            "where the limit's own decimals can say one.",
        ),
    }
)
"""In the order of :data:`~pytest_bertsize.findings.Kind`."""
