"""A model held against what it was at the base: in words, component by component, and key by key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from posixpath import normpath
from typing import TYPE_CHECKING

from pytest_bertsize.config.vocabulary import IMPLEMENTATIONS
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.base.baseline import Baseline, Former
    from pytest_bertsize.closed_forms.attribution import Moved
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.table.model import Model

CODE = "code"
"""The row of what no key explains: the class builds something else than its closed form says."""
MOST_NAMED = 6
"""Keys without effect that a sentence names before it counts the rest."""
_IDENTITY = {"architectures", "model_type", "id2label", "label2id", "num_labels", *IMPLEMENTATIONS}


@dataclass(frozen=True)
class Comparison:
    """What a model was at the base, and what became of it."""

    revision: str
    commit: str
    config: str | None
    """The base's own; ``None``: the model is new."""
    inventory: Inventory | None
    """By the closed form; ``None``: new, or it cannot be counted there."""
    said: tuple[str, ...]
    """What a count does not show: a new model, a renamed file."""
    moved: tuple[Moved, ...] = ()
    method: str = ""
    now: Inventory | None = None

    @cached_property
    def _gross(self) -> tuple[int, int]:
        from pytest_bertsize.closed_forms.attribution import came_and_went

        return came_and_went(self.now.own, self.inventory.own) if self.now and self.inventory else (0, 0)

    @property
    def grown(self) -> int:
        """Parameters that came, over all components; net is ``grown - shrunk``."""
        return self._gross[0]

    @property
    def shrunk(self) -> int:
        """Parameters that went."""
        return self._gross[1]


@dataclass(frozen=True, slots=True)
class Today:
    """A model as it is now."""

    model: Model
    config: ModelConfig | None
    derivation: Derivation | None
    actual: Inventory | None


def compared(today: Today, baseline: Baseline | None) -> Comparison | None:
    """Hold a model against the base; ``None`` where the run has none."""
    if baseline is None or baseline.commit is None:
        return None
    former = baseline.former(today.model.name)
    if former is None:
        mistake = baseline.mistake(today.model)
        said = f"new: {baseline.revision} declares no such model"
        if mistake:
            said = f"its table at {baseline.revision} cannot be read"
        return Comparison(baseline.revision, baseline.commit, None, None, (said,))
    moved, method = _moved(former, today)
    expected = today.derivation.form.inventory if today.derivation else None
    return Comparison(
        baseline.revision,
        baseline.commit,
        former.model.config,
        former.form.inventory if former.form else None,
        tuple(_in_words(former, today, baseline.revision, {row.key for row in moved})),
        moved,
        method,
        today.actual or expected,
    )


def _moved(former: Former, today: Today) -> tuple[tuple[Moved, ...], str]:
    """The keys' rows, and behind them the code's."""
    if former.derivation is None or today.derivation is None:
        return (), ""
    from pytest_bertsize.closed_forms.attribution import Moved, Side, attribute, difference

    found = attribute(Side.of(former.derivation), Side.of(today.derivation))
    code = difference(today.actual.own, today.derivation.form.inventory.own) if today.actual else {}
    return (*found.moved, *([Moved(CODE, "", "", code)] if code else [])), found.method


def _in_words(former: Former, today: Today, revision: str, moved: set[str]) -> Iterator[str]:
    """What is no number, and what is none that counts."""
    before, after = former.model, today.model
    if before.name != after.name:
        yield f"renamed: the table at {revision} calls it {before.name}"
    if normpath(before.config) != normpath(after.config):
        yield _config_moved(before.config, after.config, revision)
    if former.problem:
        yield former.problem
    if today.derivation is None and not after.closed_form:
        yield "closed_form = false: no key has a share in what changed"
    if former.config and today.config:
        yield from _without_effect(_written(former.config, before), _written(today.config, after), moved)


def _config_moved(before: str, after: str, revision: str) -> str:
    file, _, inner = after.partition("#")
    now = f"the object {inner} of {file}" if inner else file
    return printable(f"its config was {before} at {revision}, and is {now} now")


def _written(config: ModelConfig, model: Model) -> dict[str, object]:
    return {**config.flat, **model.overrides}


def _without_effect(before: Mapping[str, object], after: Mapping[str, object], moved: set[str]) -> Iterator[str]:
    """Other keys that changed: a reviewer sees that they were looked at."""
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    rest = sorted(key for key in changed if key not in {*moved, *_IDENTITY})
    if rest:
        yield f"also changed, and moved nothing: {listed([*map(printable, rest)], MOST_NAMED)}"
