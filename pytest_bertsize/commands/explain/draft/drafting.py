"""A class built at several sizes: what each key of its config does to it, and the draft that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_bertsize.builder.messages import Built, NotBuilt
from pytest_bertsize.commands.explain.draft.folding import Drawing, Otherwise, Part, module_of
from pytest_bertsize.config.model_config import NAMED_BY_LABELS
from pytest_bertsize.config.other_keys import is_withheld
from pytest_bertsize.config.vocabulary import INERT, PASSED, SYNONYMS
from pytest_bertsize.findings import Finding, Unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Changed: TypeAlias = "Mapping[str, Any]"
"""Keys of a config with other values than they have."""
Ask: TypeAlias = "Callable[[Sequence[Changed]], Sequence[Built | NotBuilt]]"
"""Builds the class once for each."""

LABELS = "num_labels"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a draft says."""

    root: Part
    sizes: Mapping[str, int]
    """The keys that it follows, with the value that each has in the config."""
    unfitted: Mapping[str, tuple[str, ...]]
    """What is a number for want of a size, and the keys that move it."""
    fixed: Mapping[str, Any]
    """Keys that it does not follow: at another value the class is refused, or is another."""
    inert: tuple[str, ...]
    """Keys that change nothing."""
    is_checked: bool
    """Whether a build at which all keys have changed at once is what it says."""


def drafted(data: Mapping[str, Any], ask: Ask) -> Draft:
    """Build a class as its config says, with each key changed, and with many at once.

    :param data: the config.
    :raises Unusable: where the class is not built from the config as it is.
    """
    tries = [{key: value} for key, old in _with_labels(data).items() for value in _others(key, old)]
    base, *built = ask([{}, *(_as_config(data, each) for each in tries)])
    if isinstance(base, NotBuilt):
        raise Unusable(Finding("build-failed", f"it could not be built: {base.reason}", base.fix))
    answers: dict[str, list[tuple[Any, Built]]] = {key: [] for each in tries for key in each}
    for each, result in zip(tries, built, strict=True):
        if isinstance(result, Built):
            ((key, value),) = each.items()
            answers[key].append((value, result))
    _refuse_unsaid_labels(data, base, answers)
    return _Drafting(_with_labels(data), base, answers, ask, data).draft()


def _refuse_unsaid_labels(data: Mapping[str, Any], base: Built, answers: dict[str, list[tuple[Any, Built]]]) -> None:
    """Their number may be the library's default, or the class's own."""
    if LABELS in _said(data):
        return
    if any(each.tensors != base.tensors for _, each in answers.pop(LABELS, ())):
        message = f"the class is sized by {LABELS}, which the config does not say"
        raise Unusable(Finding("config-invalid", message, f"write {LABELS} in the config"))


@dataclass
class _Drafting:
    data: Mapping[str, Any]
    base: Built
    answers: Mapping[str, Sequence[tuple[Any, Built]]]
    """By key, of each value at which the class was built."""
    ask: Ask
    written: Mapping[str, Any]
    """The config as it stands in the file."""

    def draft(self) -> Draft:
        moving = [key for key, found in self.answers.items() if any(self._differs(each) for _, each in found)]
        sizes = [key for key in moving if type(self.data[key]) is int]
        sizes, drawing, _ = self._alone(sizes)
        points, builds = self._points(sizes)
        together = self._together(sizes, drawing.unfitted.values())
        all_at_once = {self._key(each) for each in together if len(each) == len(sizes)}
        for changed, result in zip(together, self._asked(together), strict=True):
            if isinstance(result, Built):
                points.append({**points[0], **changed})
                builds.append(result)
        root, drawing = self._drawn(points, builds, 1 + sum(len(self.answers[key]) for key in sizes))
        left = {self._key(point) for point in drawing.points}
        known = {*INERT, *PASSED}
        inert = [key for key, found in self.answers.items() if found and key not in moving and key != LABELS]
        held = {key: value for key, value in self.written.items() if key not in {*sizes, *inert, *NAMED_BY_LABELS}}
        fixed = {key: value for key, value in held.items() if key in moving or not (key in known or is_withheld(key))}
        fixed.pop(LABELS, None)
        unfitted = {**drawing.unfitted}
        if LABELS in moving and LABELS not in sizes:
            sizes, unfitted = [*sizes, LABELS], {**unfitted, "other tensors": (LABELS,)}
        return Draft(
            root,
            {key: self.data[key] for key in self.data if key in sizes},
            unfitted,
            fixed,
            tuple(key for key in inert if key not in known and not is_withheld(key)),
            len(sizes) < 2 or bool(all_at_once & left),  # noqa: PLR2004  (of one there is nothing to change at once)
        )

    def _key(self, changed: Changed) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((key, value) for key, value in changed.items() if value != self.data[key]))

    def _differs(self, other: Built) -> bool:
        return other.tensors != self.base.tensors

    def _asked(self, together: Sequence[Changed]) -> Sequence[Built | NotBuilt]:
        return self.ask([_as_config(self.written, each) for each in together]) if together else []

    def _points(self, sizes: Sequence[str]) -> tuple[list[dict[str, int]], list[Built]]:
        """The config as it is, and with each of the sizes changed."""
        first = {key: self.data[key] for key in sizes}
        points, builds = [first], [self.base]
        for key in sizes:
            for value, built in self.answers[key]:
                points.append({**first, key: value})
                builds.append(built)
        return points, builds

    def _alone(self, sizes: list[str]) -> tuple[list[str], Drawing, Part]:
        """The keys that can be followed, each by itself: at another value of the rest the class has other tensors."""
        while True:
            points, builds = self._points(sizes)
            drawing = Drawing(points, self.base.kinds)
            try:
                root = drawing.root([module_of(each.tensors) for each in builds])
            except Otherwise as otherwise:
                point = points[otherwise.at]
                sizes = [key for key in sizes if point[key] == points[0][key]]
            else:
                return sizes, drawing, root

    def _together(self, sizes: Sequence[str], sets: Iterable[tuple[str, ...]]) -> list[dict[str, int]]:
        """Several keys at once: all of them, in two ways, and each few that move the same axis."""
        few = dict.fromkeys(tuple(sorted(each)) for each in sets if len(each) > 1)
        asked = [self._changed(keys, at) for keys in (sizes, *few) for at in (0, 1)]
        return [each for at, each in enumerate(asked) if len(each) > 1 and each not in asked[:at]]

    def _changed(self, keys: Iterable[str], at: int) -> dict[str, int]:
        return {key: self.answers[key][min(at, len(self.answers[key]) - 1)][0] for key in keys}

    def _drawn(self, points: list[dict[str, int]], builds: list[Built], singles: int) -> tuple[Part, Drawing]:
        """Without the points at which the class has other tensors, though no key changes them by itself."""
        while True:
            drawing = Drawing([*points], self.base.kinds)
            try:
                return drawing.root([module_of(each.tensors) for each in builds]), drawing
            except Otherwise as otherwise:
                at = max(otherwise.at, singles)
                del points[at], builds[at]


# keys and their values


def _said(data: Mapping[str, Any]) -> dict[str, int]:
    """The number of labels, where the config says it."""
    if type(data.get(LABELS)) is int:
        return {LABELS: data[LABELS]}
    named = next((data[key] for key in NAMED_BY_LABELS if isinstance(data.get(key), dict) and data[key]), None)
    return {LABELS: len(named)} if named else {}


def _with_labels(data: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in data.items() if key not in NAMED_BY_LABELS}
    return {**rest, LABELS: None, **_said(data)}


def _as_config(data: Mapping[str, Any], changed: Changed) -> dict[str, Any]:
    """With a number of labels, their names too."""
    if LABELS not in changed:
        return {**changed}
    names = {str(index): f"LABEL_{index}" for index in range(changed[LABELS])}
    named = {"id2label": names, "label2id": {name: int(index) for index, name in names.items()}}
    found = {**changed, **{key: named[key] for key in named if key in data}}
    if LABELS not in data and "id2label" in data:
        del found[LABELS]
    return found


def _others(key: str, value: object) -> list[Any]:
    """Other values that a class may take: a width keeps what divides it, a number of layers stays small."""
    if key == LABELS and value is None:
        return [3]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        few = value <= 0 or key in SYNONYMS["L"] or "layers" in key or "blocks" in key
        return [value + 1, value + 2, value + 3] if few else [2 * value, 3 * value, value + 1]
    if isinstance(value, float):
        return [value / 2, value * 2] if value else [0.5, 0.25]
    return []
