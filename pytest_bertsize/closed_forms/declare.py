"""The notation of a family: its keys in a few lines, and a table of its classes by the trees that they consist of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.closed_forms.blocks import Block, block
from pytest_bertsize.closed_forms.expressions import BadExpression, Scope, compile_size
from pytest_bertsize.closed_forms.family import Architecture, Deriving, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.unused_keys import USUAL
from pytest_bertsize.closed_forms.tree import Tree, fill
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims

__all__ = ["extend", "family", "fill", "inert_keys", "keys", "read_activations", "read_sizes", "read_switches"]

STANDARD = {
    "V": "vocab_size",
    "D": "hidden_size",
    "L": "num_hidden_layers",
    "A": "num_attention_heads",
    "I": "intermediate_size",
    "P": "max_position_embeddings",
    "T": "type_vocab_size",
    "E": "embedding_size",
    "Q": "num_key_value_heads",
    "S": "head_dim",
}
"""The keys of sizes that most families have, by their symbols."""

_PART = re.compile(r"(?:(?P<under>[\w.]+)\.)?(?P<tree>\w+)(?:\((?P<arguments>.*)\))?")
_COMMA = re.compile(r",(?![^()]*\))")  # outside of parentheses
_OPTION = re.compile(r"(?P<name>\w+)=(?P<default>True|False)")


@cache
def inert_keys() -> Mapping[str, list[str]]:
    """Return the keys of published configs that change no count, by family."""
    found: dict[str, list[str]] = json.loads(Path(__file__).with_name("inert_keys.json").read_text("utf-8"))
    return found


def keys(
    sizes: str, *, switches: str = "", activations: str = "", ignored: str | Mapping[str, Ignored] = "", **more: Any
) -> ConfigKeys:
    """Return what a family reads from its config.

    :param sizes: ``"V 30522, D n_embd 768 or hidden_size, L 12 layers from 0, S none"``: symbol, key unless it is the
        standard one, default (``none`` where the library takes another size instead), ``or`` an alias, ``later`` an
        alias of newer releases, ``layers`` for a number of layers, ``from`` the least value.
    :param switches: ``"tie_word_embeddings true, add_cross_attention false needs is_decoder"``; ``null`` where the
        library takes null for the default.
    :param activations: ``"hidden_act gelu"``.
    :param ignored: names of :data:`~pytest_bertsize.closed_forms.parts.unused_keys.USUAL`, or what is said of each.
    :param more: as :class:`~pytest_bertsize.config.keys.ConfigKeys` has them.
    """
    if isinstance(ignored, str):
        ignored = {key: USUAL[key] for key in filter(None, ignored.split(", "))}
    choices = (*read_activations(activations), *more.pop("choices", ()))
    return ConfigKeys(read_sizes(sizes), read_switches(switches), choices, ignored=ignored, **more)


def extend(like: ConfigKeys, text: str = "", **more: Any) -> ConfigKeys:
    """Return the keys of another family with what differs: sizes, switches and ``more_ignored`` come to its own.

    :param text: sizes as :func:`keys` has them; ``D 1024`` is another default of a size that is there.
    :param more: as :func:`keys` has them; what is no text replaces the other family's.
    """
    found = {size.symbol: size for size in like.sizes}
    for size, words in zip(read_sizes(text), filter(str.strip, text.split(",")), strict=True):
        is_default = len(words.split()) == len(("symbol", "default")) and size.symbol in found
        found[size.symbol] = found[size.symbol]._replace(default=size.default) if is_default else size
    if isinstance(switches := more.get("switches", ()), str):
        more["switches"] = (*like.switches, *read_switches(switches))
    if activations := more.pop("activations", ""):
        more["choices"] = (*read_activations(activations), *more.get("choices", ()))
    if ignored := more.pop("more_ignored", {}):
        more["ignored"] = {**more.get("ignored", like.ignored), **ignored}
    return replace(like, **{"sizes": tuple(found.values()), **more})


def read_sizes(text: str) -> tuple[Size, ...]:
    """Return the sizes of a text such as ``"V 30522, D n_embd 768 or hidden_size"``."""
    return tuple(_size(each.split()) for each in text.split(",") if each.strip())


def _size(words: list[str]) -> Size:
    symbol, *rest = words
    key = STANDARD[symbol] if re.fullmatch(r"none|-?\d+", rest[0]) else rest.pop(0)
    default = None if (said := rest.pop(0)) == "none" else int(said)
    size = Size(key, symbol, default)
    while rest:
        word = rest.pop(0)
        if word == "layers":
            size = size._replace(repeats=True)
        elif word == "from":
            size = size._replace(minimum=int(rest.pop(0)))
        elif word == "or":
            size = size._replace(aliases=(*size.aliases, rest.pop(0)))
        elif word == "later":
            size = size._replace(unread=(*size.unread, rest.pop(0)))
        else:
            raise ValueError(f"a size has no {word!r}: {' '.join(words)}")
    return size


def read_switches(text: str) -> tuple[Switch, ...]:
    """Return the switches of a text such as ``"tie_word_embeddings true"``."""
    found = []
    for each in filter(str.strip, text.split(",")):
        key, default, *rest = each.split()
        needs = rest[rest.index("needs") + 1] if "needs" in rest else ""
        found.append(Switch(key, default={"true": True, "false": False}[default], needs=needs, null="null" in rest))
    return tuple(found)


def read_activations(text: str) -> tuple[Any, ...]:
    """Return the choices of a text such as ``"hidden_act gelu, classifier_activation gelu"``."""
    pairs = (each.split() for each in filter(str.strip, text.split(",")))
    return tuple(hidden_act(None if default == "none" else default, key) for key, default in pairs)


def family(
    name: str,
    keys: ConfigKeys,
    classes: str,
    trees: Mapping[str, str] = MappingProxyType({}),
    *,
    since: tuple[int, ...] = (),
    derive: Callable[[Mapping[str, object]], Mapping[str, object]] | None = None,
    rules: Mapping[str, tuple[Rule, ...]] | None = None,
    **more: str,
) -> Family:
    """Return a family from the text of its classes.

    Each line of ``classes`` is a class, and the trees that it consists of::

        BertModel                      body(pooler=add_pooling_layer)   option add_pooling_layer=True
        BertForMaskedLM                bert.body + masked_lm            since 4.41

    ``bert.body`` keeps the tree ``body`` under the attribute ``bert``; ``body(pooler)`` gives it an argument.

    :param trees: their texts, by the names that ``classes`` has for them, beside those that most families share.
    :param more: trees as well.
    :param derive: sizes that follow from other keys, as :class:`~pytest_bertsize.closed_forms.family.Deriving` has it.
    :param rules: what a class asks on top of its family, by the class's name.
    """
    own = {**trees, **more}
    trees = {**own, **heads.COMMON, **own}  # its own are the first that a message names
    known = {each: Tree(text) for each, text in trees.items()}
    rows = [_Row.read(line, known) for line in classes.splitlines() if line.strip()]
    arguments = {argument for row in rows for part in row.parts for argument in part.arguments}
    architectures = tuple(row.architecture(arguments, (rules or {}).get(row.name, ())) for row in rows)
    keys = replace(keys, inert=frozenset(inert_keys().get(name, ())))
    if derive:
        return Deriving(name, keys, architectures, derive, since=since, classes=classes, trees=trees)
    return Family(name, keys, architectures, since=since, classes=classes, trees=trees)


class _Part(NamedTuple):
    """A tree of a class."""

    under: str
    """The attribute under which the class keeps it; ``""`` for none."""
    tree: Tree
    arguments: Mapping[str, str]
    """What the class gives it: expressions, by name."""

    def blocks(self, dims: Dims, absent: Mapping[str, bool]) -> Block:
        """Build it, with ``False`` for arguments that the class does not give."""
        scope = Scope(dims, {}, {})
        given = {name: compile_size(text)(scope) for name, text in self.arguments.items()}
        return self.tree.blocks(dims, self.under, **{**absent, **given})


class _Row(NamedTuple):
    """One class of a family."""

    name: str
    parts: tuple[_Part, ...]
    options: Mapping[str, bool]
    since: tuple[int, ...]

    @classmethod
    def read(cls, line: str, trees: Mapping[str, Tree]) -> _Row:
        """:raises BadExpression: for a line that names no tree of the family."""
        name, _, rest = line.strip().partition(" ")
        rest, _, since = rest.partition(" since ")
        rest, _, option = rest.partition(" option ")
        options = {found["name"]: found["default"] == "True" for found in _OPTION.finditer(option)}
        parts = tuple(_read_part(each.strip(), trees) for each in rest.split(" + "))
        return cls(name, parts, options, tuple(int(each) for each in since.split(".")) if since else ())

    def architecture(self, arguments: set[str], rules: tuple[Rule, ...]) -> Architecture:
        """Return the class.

        :param arguments: all that some class of the family gives a tree.
        """
        absent = dict.fromkeys(arguments, False)
        parts = self.parts

        def blocks(dims: Dims) -> Block:
            if len(parts) == 1 and not parts[0].under:
                return parts[0].blocks(dims, absent)
            return block("", *(part.blocks(dims, absent) for part in parts))

        has_labels = any(part.tree.has_labels for part in parts)
        return Architecture(self.name, blocks, labels=has_labels, options=self.options, rules=rules, since=self.since)


def _read_part(text: str, trees: Mapping[str, Tree]) -> _Part:
    found = _PART.fullmatch(text)
    if found is None or found["tree"] not in trees:
        raise BadExpression(f"{text!r} names no tree; there are {', '.join(trees)}")
    pairs = (each.strip().partition("=") for each in _COMMA.split(found["arguments"] or "") if each.strip())
    arguments = {name: value or "True" for name, _, value in pairs}
    return _Part(found["under"] or "", trees[found["tree"]], arguments)
