"""The helper's question to a module's classes: which tensors they declare to be one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

Ties = dict[str, str]
"""Each tied name and its source."""


def declared_ties(model: nn.Module, groups: Collection[Collection[str]]) -> Ties:
    """Of the model's class, else of each class of the library that is in it.

    :param groups: the names of each tensor, in the order in which they are registered.
    """
    if (ties := getattr(model, "all_tied_weights_keys", None)) is not None:
        return dict(ties)
    found: Ties = {}
    for path, module in model.named_modules(remove_duplicate=False):
        ties = getattr(module, "all_tied_weights_keys", None)
        if isinstance(ties, dict):
            found |= {below(path, name): below(path, source) for name, source in ties.items()}
    return found or _listed(model, groups)


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# transformers 4: lists of patterns. What is tied to what became a dict in
# https://github.com/huggingface/transformers/pull/42191


def _listed(model: nn.Module, groups: Collection[Collection[str]]) -> Ties:
    """What classes list as tied: the names that ``save_pretrained`` leaves out where they share a tensor.

    A name that stands alone although its class lists it is declared as well where the class's config ties, so that a
    tie that was lost is seen; one that shares its tensor and that nobody lists is not.
    """
    named = {name: names for names in groups for name in names}
    can_be, has_to_be, sources = _names_listed(model, named)
    found: Ties = {}
    for names in groups:
        free = [name for name in names if name not in can_be]
        owner = next(chain((name for name in names if name in sources), free), next(iter(names)))
        declared = names if len(free) <= 1 else can_be.intersection(names)  # save_pretrained keeps one that is free
        found |= {name: owner for name in declared if name != owner}
    return {**found, **{name: words for name, words in has_to_be.items() if words not in named[name]}}


def _names_listed(model: nn.Module, named: Mapping[str, Collection[str]]) -> tuple[set[str], Ties, set[str]]:
    """What some class lists, of these what its config ties to its word embeddings, and the names of word embeddings.

    Where word embeddings are listed themselves, as those of a Marian that shares none, only its output is known to be
    tied, to one matrix or another.

    :param named: every name, and all names of its tensor.
    """
    can_be: set[str] = set()
    has_to_be: Ties = {}
    sources: set[str] = set()
    for path, module in model.named_modules(remove_duplicate=False):
        if not isinstance(getattr(module, "_tied_weights_keys", None), list):
            continue
        prefix, patterns = below(path, ""), _patterns(module)
        inside = [name for name in named if name.startswith(prefix)]
        listed = [name for name in inside if any(each.search(name[len(prefix) :]) for each in patterns)]
        can_be |= {*listed}
        words, output = (_name_of(model, module, whose) for whose in ("input", "output"))
        if words and getattr(getattr(module, "config", None), "tie_word_embeddings", True):
            sources.add(words)
            alone = {name for name in listed if len(named[name]) == 1}
            tied = alone & {output} if words in listed else alone | ({output} & {*listed})
            has_to_be |= dict.fromkeys(tied, words)
    return can_be, has_to_be, sources


def _patterns(module: Any) -> list[re.Pattern[str]]:
    exact = getattr(module, "_dynamic_tied_weights_keys", None) or ()  # of tie_encoder_decoder, which lists names
    return [re.compile(each) for each in (*module._tied_weights_keys, *map(re.escape, exact))]  # noqa: SLF001


def _name_of(model: nn.Module, module: Any, whose: str) -> str:
    """Of the matrix that a class embeds words by, or gives them out by; ``""`` where it has none."""
    embeddings = getattr(module, f"get_{whose}_embeddings", lambda: None)()
    weight = getattr(embeddings, "weight", None)
    return next((name for name, each in model.named_parameters(remove_duplicate=False) if each is weight), "")


def owner_of(names: Collection[str], declared: Mapping[str, str]) -> str:
    """Of the names of one tensor that which the class declares to be the source, whatever was registered first."""
    sources = (name for name in names if name in declared.values() and name not in declared)
    return next(sources, next(iter(names)))


def shared_names(parameters: Iterable[tuple[str, Any]]) -> list[list[str]]:
    """The names of each tensor, in the order in which they are registered."""
    found: dict[int, list[str]] = {}
    for name, parameter in parameters:
        found.setdefault(id(parameter), []).append(name)
    return [*found.values()]
