"""Which tensor of a checkpoint is which of the model's: names change by release, by prefix, by transformers' rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from pytest_bertsize.wording import LONGEST

if TYPE_CHECKING:
    from pytest_bertsize.checkpoint.headers import Stored
    from pytest_bertsize.inventory import Inventory, Loading, Tensor

MOST_TRIED = 50
"""Names by which a common prefix is looked for."""
MOST_LEVELS = 4
"""Dotted parts of a prefix."""

RENAMED = (
    (re.compile(r"LayerNorm\.gamma$"), "LayerNorm.weight"),
    (re.compile(r"LayerNorm\.beta$"), "LayerNorm.bias"),
    (re.compile(r"\.weight_g$"), ".parametrizations.weight.original0"),
    (re.compile(r"\.weight_v$"), ".parametrizations.weight.original1"),
)
"""Old names that transformers renames when it loads: "legacy" in its conversion_mapping.py (5.23)."""

_DOT = re.compile(r"\.")


@dataclass(frozen=True, slots=True)
class Names:
    """The file's tensors under the model's names."""

    tensors: Mapping[str, Tensor]
    """By the model's name, in the order of the file."""
    renamed: tuple[str, ...]
    """Old names in the file that transformers renames."""
    prefix: str
    """What all names on one side have in front, or nothing."""
    prefixed: Literal["file", "model"] = "file"
    passed_over: tuple[Tensor, ...] = ()
    """Tensors of the file that transformers leaves out when it loads them."""


def aligned(stored: Stored, model: Inventory) -> Names:
    """Old names as they are renamed, and a prefix on one side taken away or added."""
    filed, known = stored.inventory.by_name, model.by_name
    new_names = {name: new_name(name) for name in filed}
    side: Literal["file", "model"] = "file"
    prefix = _prefix(list(new_names.values()), known)
    if not prefix:
        side, prefix = "model", _prefix(list(known), set(new_names.values()))

    def model_name(name: str) -> str:
        other = name.removeprefix(prefix) if side == "file" else f"{prefix}{name}"
        return name if name in known or other in filed else other

    tensors: dict[str, Tensor] = {}
    renamed = []
    for name, tensor in filed.items():
        plain, new = model_name(name), model_name(new_names[name])
        if plain not in known and new in known and new_names[name] not in filed:
            renamed.append(name)
            tensors[new] = tensor
        else:
            tensors[plain] = tensor
    return Names(tensors, tuple(renamed), prefix, side)


def as_loaded(stored: Stored, model: Inventory, loading: Loading) -> Names:
    """Names as transformers loads them: a second tensor for one name keeps its own, and is one too many."""
    filed, here = stored.inventory.by_name, aligned(stored, model)
    tensors: dict[str, Tensor] = {}
    for name, known_as, shape in sorted(loading.rows, key=lambda row: row[0] != row[1]):
        if known_as is not None and name in filed:
            tensors[name if known_as in tensors else known_as] = filed[name]._replace(shape=shape)
    passed_over = tuple(filed[name] for name, known_as, _ in loading.rows if known_as is None and name in filed)
    return replace(here, tensors=tensors, renamed=(), passed_over=passed_over)


def new_name(name: str) -> str:
    for old, new in RENAMED:
        if old.search(name):
            return old.sub(new, name)
    return name


def _prefix(longer: list[str], shorter: Collection[str]) -> str:
    """What most of the ``longer`` names have in front of ``shorter`` ones; ``""`` where most are the same."""
    tried = Counter(
        name[: dot.end()]
        for name in longer[:MOST_TRIED]
        for dot in islice(_DOT.finditer(name, 0, LONGEST), MOST_LEVELS)
    )
    best, most = "", sum(name in shorter for name in longer)
    for prefix, _ in tried.most_common(MOST_TRIED):
        hits = sum(name.startswith(prefix) and name[len(prefix) :] in shorter for name in longer)
        if hits > most:
            best, most = prefix, hits
    return best if 2 * most >= min(len(longer), len(shorter)) else ""
