"""What a reviewer is told beside the table, as text: what changed against the base, what would fit, what comes next."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.quantity import percent_used
from pytest_bertsize.reports.rows import counted, share
from pytest_bertsize.wording import MOST_NAMED, exact, listed, signed

if TYPE_CHECKING:
    from pytest_bertsize.reports.shape import (
        Base,
        Change,
        Checkpoint,
        Choices,
        FindingRow,
        Measure,
        ModelReport,
        Removed,
        RunBase,
        RunReport,
    )

SHORT = 10
"""Characters of a commit's name that tell it from others."""
MOST_PARTS = 3
"""Components that one key moved, before the rest is counted."""
MOST_FROZEN = 6
"""Parts that do not train, before the rest is counted."""
_OF_THE_RUN = "stood-in"
"""The kind of finding that several models of a run have in common."""
_UNITS = {"flops": "FLOPs"}
"""What a measure is called in a sentence, where that is not what the table calls it."""


def against(base: Base, actual: int | None, measures: Sequence[Measure] = ()) -> str:
    """``against origin/main (1a2b3c4d5e): 102,290,312 → 109,378,184 (+7,087,872)``, and bytes and FLOPs beside it."""
    head = f"against {named(base['revision'], base['commit'])}"
    if base["total"] is None or actual is None:
        return head
    head += " by its lock" if base["by"] == "lock" else ""
    beside = f"; {also}" if (also := beside_parameters(measures)) else ""
    if not base["grown"] and not base["shrunk"]:
        return f"{head}: no count changed{beside}"
    gross = f"; {exact(base['grown'])} came, {exact(base['shrunk'])} went" if base["grown"] and base["shrunk"] else ""
    return f"{head}: {exact(base['total'])} → {exact(actual)} ({signed(actual - base['total'])}{gross}){beside}"


def beside_parameters(measures: Sequence[Measure]) -> str:
    """``bytes +28,351,488 (float32), FLOPs +1,862,270,976 (128 tokens)``; ``""`` where neither changed."""
    changed = [(row, _count(row) - (_count(row) if row["base"] is None else row["base"])) for row in measures]
    return ", ".join(
        f"{_UNITS.get(row['name'], row['name'])} {signed(delta)} ({row['what'].partition(', ')[0]})"
        for row, delta in changed
        if delta
    )


def named(revision: str, commit: str | None) -> str:
    if commit is None or commit.startswith(revision):
        return revision[:SHORT] if commit else revision
    return f"{revision} ({commit[:SHORT]})"


def work_tree(report: RunReport) -> str:
    """``work tree on ``, where the base is the commit that is checked out: what differs from it is not committed."""
    base = report["base"]
    return "work tree on " if base and base["commit"] and base["commit"] == report["commit"] else ""


def head(report: RunReport) -> str:
    """What was checked, beside its base: ``this branch (1a2b3c4d5e)``."""
    if work_tree(report):
        return "the work tree"
    return f"this branch ({report['commit'][:SHORT]})" if report["commit"] else "this branch"


def stand_ins(models: Iterable[ModelReport]) -> list[str]:
    """``encoder, tagger: wandb is not installed, and nothing used it``: each stand-in once, with its models."""
    names: dict[str, list[str]] = {}
    for model in models:
        for finding in model["findings"]:
            if finding["kind"] == _OF_THE_RUN:
                names.setdefault(finding["message"], []).append(model["name"])
    return [f"{listed(those, MOST_NAMED)}: {message}" for message, those in names.items()]


def of_the_model(findings: Iterable[FindingRow]) -> list[FindingRow]:
    """Leave out what :func:`stand_ins` says."""
    return [finding for finding in findings if finding["kind"] != _OF_THE_RUN]


def change(row: Change) -> str:
    """``num_hidden_layers 12 → 13: +7,087,872``, and where it went."""
    return f"{what_changed(row)}: {signed(row['total'])}{_where(row)}"


def what_changed(row: Change) -> str:
    """``num_hidden_layers 12 → 13``."""
    if row["key"] == "code":
        return "in the code, which no key explains"
    if row["key"] == "together":
        return "these keys together, beyond each of them alone"
    return f"{row['key']} {_value(row['before'])} → {_value(row['after'])}"


def _value(written: str) -> str:
    """Numbers as everywhere in a report, words without their quotes."""
    return exact(int(written)) if written.isdecimal() else written.strip('"')


def deepest(components: Collection[str]) -> list[str]:
    """Those that have no other below them."""
    return [name for name in components if not any(other.startswith(f"{name}.") for other in components)]


def _where(row: Change) -> str:
    """The components at the bottom that moved most, where there is more than one."""
    lowest = {name: row["components"][name] for name in deepest(row["components"])}
    if not lowest or (len(lowest) == 1 and row["total"]):
        return f" in {next(iter(lowest))}" if lowest else ""
    largest = sorted(lowest.items(), key=lambda item: -abs(item[1]))
    return f" ({listed([f'{name} {signed(count)}' for name, count in largest], MOST_PARTS)})"


def fits(choices: Choices) -> str:
    """``would fit: num_hidden_layers 13 → 12 (109,514,298)``; ``""`` where nothing has to, or nothing near does."""
    found = [f"{fit['change']} ({exact(fit['total'])})" for fit in choices["fits"]]
    return f"would fit: {'; or '.join(found)}" if found else ""


def costs(choices: Choices) -> str:
    """``the next change: one more layer +7,087,872, 64 more hidden units +18,074,240``."""
    if not choices["costs"]:
        return ""
    each = (f"{cost['what']} {signed(cost['total'])}" for cost in choices["costs"])
    return f"the next change: {', '.join(each)}"


def removed(base: RunBase) -> Iterator[str]:
    """Models that left, and nothing is amiss with it."""
    for model in base["removed"]:
        if not model["failed"]:
            reason = f"; its reason: {model['reason']}" if model["reason"] else ""
            yield f"{_removed(model, base)}{reason}"


def left_without_a_word(base: RunBase) -> Iterator[str]:
    """Models that left with their limits, and what to write where that is meant."""
    for model in base["removed"]:
        if model["failed"]:
            yield f"{_removed(model, base)}, and this table does not; {say_why(model)}"


def say_why(model: Removed) -> str:
    """``[tool.bertsize.removed] encoder = "…"``."""
    name = model["name"] if re.fullmatch(r"[\w-]+", model["name"], re.ASCII) else f'"{model["name"]}"'
    return f'if that is meant, say why in the same change: [tool.bertsize.removed] {name} = "…"'


def _removed(model: Removed, base: RunBase) -> str:
    return f"removed: {base['revision']} declares {model['name']}{_as_it_was(model)}"


def _as_it_was(model: Removed) -> str:
    """`` (encoder.json, 102,290,312 parameters under a limit of 103M)``, of which nothing has to be known."""
    if model["problem"]:
        return f" (its table there cannot be read: {model['problem']})"
    what = [model["config"]] if model["config"] else []
    what += [] if model["total"] is None else [f"{exact(model['total'])} parameters"]
    limit = [f"under a limit of {model['limit']}"] if model["limit"] else []
    return f" ({' '.join([*filter(None, [', '.join(what)]), *limit])})" if what or limit else ""


def differs(model: ModelReport) -> bool:
    """Whether there is anything to say of a model against its base."""
    base = model["base"]
    moved = ("said", "changes", "tensors", "grown", "shrunk")
    return base is not None and any(base[what] for what in moved)  # type: ignore[literal-required]


def limited_by(model: ModelReport) -> str:
    """What is limited where the total is not: ``by component``, or ``by bytes``."""
    by_component = any(row["limit"] for row in model["components"])
    named = [row["name"] for row in model["measures"] if row["limit"]]
    return f"by {' and '.join(named)}" if named and not by_component else "by component"


def limited_measures(model: ModelReport) -> list[Measure]:
    """Bytes and FLOPs that the budget names; the others are told where they changed."""
    return [row for row in model["measures"] if row["limit"]]


def _count(row: Measure) -> int:
    """What is measured or, where nothing is built, what the closed form says."""
    return counted(row) or 0


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


def embedding(model: ModelReport) -> str:
    """``embedding 23,837,184 (21.8%), non-embedding 85,677,114 (78.2%), of it the head 622,650 (0.6%)``.

    As scaling laws divide a model (Kaplan et al. 2020, arXiv 2001.08361, section 2.1); ``""`` without embeddings.
    """
    counts = {row["name"]: counted(row) or 0 for row in model["components"]}
    whole = counts.get(TOTAL)
    embedded, head = (_of_every(part, counts) for part in ("embeddings", "head"))
    if not whole or not embedded:
        return ""
    rest = whole - embedded
    said = [f"embedding {_of(embedded, whole)}", f"non-embedding {_of(rest, whole)}"]
    return ", ".join([*said, *([f"of it the head {_of(head, whole)}"] if head else [])])


def _of_every(part: str, counts: Mapping[str, int]) -> int:
    """A component, of every backbone where there are several, but none that is a part of another such."""
    found = [name for name in counts if name.rpartition(".")[2] == part]
    return sum(counts[name] for name in found if not any(name.startswith(f"{outer}.") for outer in found))


def _of(count: int, whole: int) -> str:
    return f"{exact(count)} ({share(count, whole)})"


def trains(model: ModelReport) -> str:
    """``294,912 of 109,778,690 parameters train (0.3%); frozen: …``; ``""`` where all of them do."""
    totals = model["totals"]
    trainable, actual = totals["trainable"], totals["actual"] if model["built"] else totals["expected"]
    if trainable is None or not actual or trainable == actual:
        return ""
    frozen = f"; frozen: {listed(model['frozen'], MOST_FROZEN)}" if model["frozen"] else ""
    return f"{exact(trainable)} of {exact(actual)} parameters train ({share(trainable, actual)}){frozen}"


def checkpoint(row: Checkpoint) -> str:
    """``model.safetensors holds 102,290,312 numbers in 199 tensors, 409,161,248 bytes``."""
    numbers, tensors = exact(row["numbers"]), exact(row["tensors"])
    return f"{row['file']} holds {numbers} numbers in {tensors} tensors, {exact(row['bytes'])} bytes"


def sentences(model: ModelReport) -> Iterator[str]:
    """All of it, for a report that does not draw measures in its table."""
    for row in limited_measures(model):
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
