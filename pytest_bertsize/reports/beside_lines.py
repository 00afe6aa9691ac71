"""What a report says in words beside the components: bytes, FLOPs, what trains, and a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.quantity import exact, percent_used, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.reports.shape import Checkpoint, Measure, ModelReport

MOST_PARTS = 6
"""Of what does not train, before the rest is counted."""


def limited_by(model: ModelReport) -> str:
    """What is limited where the total is not: ``by component``, or ``by bytes``."""
    by_component = any(row["limit"] for row in model["components"])
    named = [row["name"] for row in model["measures"] if row["limit"]]
    return f"by {' and '.join(named)}" if named and not by_component else "by component"


def _count(row: Measure) -> int:
    """What is measured or, where nothing is built, what the closed form says."""
    return (row["expected"] if row["actual"] is None else row["actual"]) or 0


def measure(row: Measure) -> str:
    """``bytes 219,028,596 (float16, ties once), limit 440MB: 50% of it``."""
    limit = f", limit {row['limit']}" if row["limit"] else ""
    actual, expected, count = row["actual"], row["expected"], _count(row)
    used = f": {percent_used(count, row['max'])} of it" if row["max"] is not None else ""
    off = "" if actual is None or expected in {None, actual} else signed(actual - (expected or 0))
    return f"{row['name']} {exact(count)} ({row['what']}){limit}{used}" + (
        f"; {off} off its closed form" if off else ""
    )


def parts(row: Measure) -> str:
    """Where a forward pass multiplies: ``encoder.attention 7,549,747,200 (34%), …``; ``""`` for bytes."""
    lowest = [name for name in row["components"] if not any(each.startswith(f"{name}.") for each in row["components"])]
    shares = (
        f"{name} {exact(row['components'][name])} ({_share(row['components'][name], _count(row))})" for name in lowest
    )
    return ", ".join(shares)


def _share(part: int, whole: int) -> str:
    percent = 100 * part // whole if whole else 0
    return f"{percent}%" if percent else "<1%"


def trains(model: ModelReport) -> str:
    """``294,912 of 109,778,690 parameters train (0.3%); frozen: …``; ``""`` where all of them do."""
    totals = model["totals"]
    trainable, actual = totals["trainable"], totals["actual"] if model["built"] else totals["expected"]
    if trainable is None or not actual or trainable == actual:
        return ""
    tenths = -(-1000 * trainable // actual)
    rest = len(model["frozen"]) - MOST_PARTS
    named = ", ".join(model["frozen"][:MOST_PARTS]) + (f" and {rest} more" if rest > 0 else "")
    frozen = f"; frozen: {named}" if named else ""
    return f"{exact(trainable)} of {exact(actual)} parameters train ({tenths / 10:g}%){frozen}"


def checkpoint(row: Checkpoint) -> str:
    """``model.safetensors holds 102,290,312 numbers in 199 tensors, 409,161,248 bytes``."""
    numbers, tensors = exact(row["numbers"]), exact(row["tensors"])
    return f"{row['file']} holds {numbers} numbers in {tensors} tensors, {exact(row['bytes'])} bytes"


def sentences(model: ModelReport) -> Iterator[str]:
    """All of it, for a report that does not draw measures in its table."""
    for row in model["measures"]:
        yield measure(row)
        if text := parts(row):
            yield f"{row['name']} by component: {text}"
    yield from beside(model)


def beside(model: ModelReport) -> Iterator[str]:
    """What trains, and the checkpoint."""
    if text := trains(model):
        yield text
    if model["checkpoint"]:
        yield checkpoint(model["checkpoint"])
