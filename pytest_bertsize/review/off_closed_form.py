"""Tensor by tensor: where a built model is not what its closed form says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.base.tensor_changes import DISTINCT, TensorChange, tensor_changes
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import TOTAL, Inventory, Tensor, common, fold, pattern
from pytest_bertsize.wording import exact, listed, plural, printable, signed

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.formula import Formula

LIBRARY = "the class does not build what the config says: check the class, and report it if it is the library's own"
SAY_IT = "say in the table what it has: extra, without, options, frozen"
OWN = f"mend the class, or {SAY_IT}"
AT_ONCE = frozenset({"new", "gone", "renamed", "tied", "untied"})
"""Changes of a whole module, which are told once where they are differences of several tensors."""
MOST_NAMED = 4
"""Tensors that one sentence names before it counts the rest."""
TABLE_WIDTHS = ("D", "E")
"""Of a word table: the model's own width, or that of factorised embeddings."""


def compare(
    expected: Inventory,
    actual: Inventory,
    formulas: Mapping[str, Formula],
    symbols: Mapping[str, int],
    fix: str = LIBRARY,
) -> list[Finding]:
    """A finding for each component whose tensors differ in name, shape, tie or trainability; ``[]`` if none does.

    :param fix: what to write, by whose class it is: :data:`LIBRARY` or :data:`OWN`.
    """
    differing = [*_reasons(expected, actual, own=fix == OWN)]
    if not differing:
        return []
    at_once = dict(_told_at_once(differing, expected, actual))
    told = {name for change in at_once for name in change.tensors}
    reasons: dict[str, list[str]] = {}
    for reason in differing:
        if not told.issuperset(reason.names):
            reasons.setdefault(reason.component, []).append(reason.said)
    found = [
        _finding(component, [change.said], expected, actual, formulas)._replace(fix=fix)
        for change, component in at_once.items()
    ]
    for component, why in reasons.items():
        guess = looks_like(component, expected, actual, symbols, told)
        finding = _finding(component, why, expected, actual, formulas)
        found.append(finding._replace(fix=f"{guess}; {fix}" if guess else fix))
    return found


class _Reason(NamedTuple):
    component: str
    said: str
    names: frozenset[str]


def _told_at_once(
    differing: Sequence[_Reason], expected: Inventory, actual: Inventory
) -> Iterator[tuple[TensorChange, str]]:
    """One change that is many differences, as of a layer more or a second backbone, and the component that it is in."""
    for change in tensor_changes(expected, actual):
        names = {*change.tensors}
        components = {reason.component for reason in differing if names.issuperset(reason.names)}
        sides = [{pattern(name) for name in names if name in side.by_name} for side in (expected, actual)]
        patterns = max(sides, key=len)
        is_whole = len(components) > 1 or (components and any("*" in each for each in patterns))
        if is_whole and change.kind in AT_ONCE and len(patterns) >= DISTINCT:
            yield change, common(components, TOTAL)


def _reasons(expected: Inventory, actual: Inventory, *, own: bool) -> Iterable[_Reason]:
    """What differs.

    :param own: whether the class is the project's: one that has another name for a tensor, or lacks one, differs in
        no parameter, where a class of the library that does has lost a tie.
    """
    yield from _by_component(_without(actual, expected, aliases=not own), "missing from the built model")
    yield from _by_component(_without(expected, actual, aliases=not own), "not in the closed form")
    for tensor in actual.tensors:
        if tensor.name in expected.by_name and (change := _change(expected.by_name[tensor.name], tensor)):
            yield _Reason(tensor.component, change, frozenset((tensor.name,)))


def unexpected(expected: Inventory, actual: Inventory) -> list[Tensor]:
    """What a class of the project's has, and its table does not say."""
    return _without(expected, actual, aliases=False)


def _without(other: Inventory, inventory: Inventory, *, aliases: bool) -> list[Tensor]:
    """The tensors that ``other`` does not have; of those whose owner it has, only where ``aliases`` count as well."""
    return [
        tensor
        for tensor in inventory.tensors
        if tensor.name not in other.by_name and (aliases or tensor.tied_to not in other.by_name)
    ]


def _by_component(tensors: list[Tensor], what: str) -> Iterable[_Reason]:
    names: dict[tuple[str, str, tuple[int, ...]], list[str]] = {}
    for tensor in tensors:
        names.setdefault((pattern(tensor.name), tensor.component, tensor.shape), []).append(tensor.name)
    for each in fold(tensors):
        those = names[each.pattern, each.component, each.shape]
        name = f"{printable(each.pattern)} (×{each.times})" if each.times > 1 else printable(those[0])
        yield _Reason(each.component, f"{name} {_dimensions(each.shape)} is {what}", frozenset(those))


def _change(expected: Tensor, actual: Tensor) -> str:
    name = printable(actual.name)
    if expected.shape != actual.shape:
        return f"{name} is {_dimensions(actual.shape)}, by the closed form {_dimensions(expected.shape)}"
    if expected.tied_to != actual.tied_to:
        return f"{name} {_tie(actual)}, by the closed form it {_tie(expected)}"
    if expected.trainable != actual.trainable:
        now, then = ("trains", "is frozen") if actual.trainable else ("is frozen", "trains")
        return f"{name} {now}, by the closed form it {then}"
    return ""


def _tie(tensor: Tensor) -> str:
    return f"shares {printable(tensor.tied_to)}" if tensor.tied_to else "is a tensor of its own"


def _dimensions(shape: tuple[int, ...]) -> str:
    return f"({', '.join(exact(size) for size in shape)})"


def _finding(
    component: str, reasons: list[str], expected: Inventory, actual: Inventory, formulas: Mapping[str, Formula]
) -> Finding:
    delta = actual[component] - expected[component]
    formula = formulas.get(component)
    by = (
        f"the closed form {formula} = {exact(expected[component])}"
        if formula
        else f"the closed form {exact(expected[component])}"
    )
    count = f"{component} is {signed(delta)} off {by}" if delta else f"{component} counts as {by} but differs within"
    named = listed(reasons, MOST_NAMED, "; ", last="; and ")
    return Finding(
        "off-closed-form",
        f"{count}: {named}",
        component=component,
        expected=expected[component],
        actual=actual[component],
    )


# what it looks like


@dataclass(frozen=True, slots=True)
class _Differing:
    """The tensors of one component in which the built model and the closed form part."""

    came: Sequence[Tensor]
    """Owned by the built model, and by the closed form not there or tied to another."""
    went: Sequence[Tensor]
    resized: Sequence[tuple[Tensor, Tensor]]
    """As the closed form has it, and as it was built."""


def looks_like(
    component: str,
    expected: Inventory,
    actual: Inventory,
    symbols: Mapping[str, int],
    told: Collection[str] = frozenset(),
) -> str:
    """``perhaps an untied decoder: … is V·D = 23,440,896 of its own``; ``""`` where nothing comes to mind.

    :param symbols: the config's sizes, as in ``{"V": 30522, "D": 768}``.
    :param told: tensors that are explained already.
    """
    found = _differing(component, expected, actual, told)
    guesses = [*_untied(found, symbols), *_dense(found, symbols), *_rows(found, symbols)]
    return f"perhaps {'; perhaps '.join(guesses)}" if guesses else ""


def _differing(component: str, expected: Inventory, actual: Inventory, told: Collection[str]) -> _Differing:
    def owns(side: Inventory, tensor: Tensor) -> bool:
        other = side.by_name.get(tensor.name)
        return other is not None and other.tied_to is None

    def of(side: Inventory) -> list[Tensor]:
        here = (tensor for tensor in side.tensors if tensor.component == component and tensor.name not in told)
        return [tensor for tensor in here if tensor.tied_to is None]

    return _Differing(
        [tensor for tensor in of(actual) if not owns(expected, tensor)],
        [tensor for tensor in of(expected) if not owns(actual, tensor)],
        [
            (expected.by_name[tensor.name], tensor)
            for tensor in of(actual)
            if owns(expected, tensor) and expected.by_name[tensor.name].shape != tensor.shape
        ],
    )


def _untied(found: _Differing, symbols: Mapping[str, int]) -> Iterator[str]:
    """V·D more is a decoder with a matrix of its own, V·D less one that shares it."""
    for what, tensors in (("an untied decoder", found.came), ("a decoder that is tied after all", found.went)):
        for width in TABLE_WIDTHS:
            for tensor in tensors:
                if "V" in symbols and tensor.shape == (symbols["V"], symbols.get(width)):
                    yield f"{what}: {printable(tensor.name)} is V·{width} = {exact(tensor.size)}"


def _dense(found: _Differing, symbols: Mapping[str, int]) -> Iterator[str]:
    """D² + D is a pooler, or another dense layer."""
    width = symbols.get("D")
    for what, tensors in (
        ("a pooler or a dense layer more", found.came),
        ("no pooler, or a dense layer less", found.went),
    ):
        names = {tensor.name: tensor.shape for tensor in tensors}
        square = [tensor for tensor in tensors if tensor.name.endswith(".weight") and tensor.shape == (width, width)]
        with_bias = [each for each in square if names.get(f"{each.name.removesuffix('weight')}bias") == (width,)]
        for row in fold(with_bias):
            times = f" (×{row.times})" if row.times > 1 else ""
            each = row.shape[0] * row.shape[1] + row.shape[0]
            yield f"{what}: {printable(row.pattern.removesuffix('.weight'))}{times} is D² + D = {exact(each)}"


def _rows(found: _Differing, symbols: Mapping[str, int]) -> Iterator[str]:
    """k·D more is a table with k rows more."""
    for before, after in found.resized:
        if len(after.shape) != 2 or len(before.shape) != 2 or before.shape[1] != after.shape[1]:  # noqa: PLR2004
            continue
        rows, width = after.shape[0] - before.shape[0], after.shape[1]
        symbol = next((name for name in TABLE_WIDTHS if symbols.get(name) == width), "")
        said = f"{plural(abs(rows), 'row')} {'more' if rows > 0 else 'fewer'}"
        product = f"{exact(abs(rows))}·{symbol or exact(width)}"
        yield f"{said}: {printable(after.name)}, {product} = {exact(abs(rows) * width)}"
