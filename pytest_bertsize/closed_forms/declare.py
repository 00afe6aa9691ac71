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

from pytest_bertsize.closed_forms.expressions import BadExpression, Scope, compile_size
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.ignored import USUAL
from pytest_bertsize.closed_forms.tree import Tree, fill
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Term

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
_IGNORED = re.compile(
    r"(?P<key>\w+)(?: (?P<harmless>\[.*?\]))?(?: costs (?P<cost>[^:]+))?(?:: (?P<because>.+?))?(?: -> (?P<fix>.+))?"
)
_KEY = re.compile(r'"[^"]*"|\b(?:and|or|not|in|if|else|None|True|False|get|len)\b|\b([a-zA-Z_]\w*)')
_STEM = re.compile(r"(?m)^\s*\*")
_OPTION = re.compile(r"(?P<name>\w+)=(?P<default>True|False)")


@cache
def inert_keys() -> Mapping[str, list[str]]:
    """Return the keys of published configs that change no count, by family."""
    found: dict[str, list[str]] = json.loads(Path(__file__).with_name("inert_keys.json").read_text("utf-8"))
    return found


def keys(
    sizes: str,
    *,
    switches: str = "",
    activations: str = "",
    rules: str | tuple[Rule, ...] = "",
    ignored: str | Mapping[str, Ignored] = "",
    **more: Any,
) -> ConfigKeys:
    """Return what a family reads from its config.

    :param sizes: ``"V 30522, D n_embd 768 or hidden_size, L 12 layers from 0, S none"``: symbol, key unless it is the
        standard one, default (``none`` where the library takes another size instead), ``or`` an alias, ``later`` an
        alias of newer releases, ``layers`` for a number of layers, ``from`` the least value, ``divides`` other sizes.
    :param switches: ``"tie_word_embeddings true, add_cross_attention false needs is_decoder"``; ``null`` where the
        library takes null for the default.
    :param activations: ``"hidden_act gelu"``.
    :param rules: as :func:`read_rules` has them.
    :param ignored: as :func:`read_ignored` has them.
    :param more: as :class:`~pytest_bertsize.config.keys.ConfigKeys` has them.
    """
    choices = (*read_activations(activations), *more.pop("choices", ()))
    more["divisible"] = (*read_divisible(sizes), *more.get("divisible", ()))
    more |= {"rules": read_rules(rules), "ignored": read_ignored(ignored)}
    return ConfigKeys(read_sizes(sizes), read_switches(switches), choices, **more)


def extend(like: ConfigKeys, text: str = "", **more: Any) -> ConfigKeys:
    """Return the keys of another family with what differs: sizes, switches and ignored keys come to its own.

    :param text: sizes as :func:`keys` has them; ``D 1024`` is another default of a size that is there.
    :param more: as :func:`keys` has them; rules, what is no text, and switches after ``only`` replace what there is.
    """
    found = {size.symbol: size for size in like.sizes}
    for size, words in zip(read_sizes(text), filter(str.strip, text.split(",")), strict=True):
        is_default = len(words.split()) == len(("symbol", "default")) and size.symbol in found
        found[size.symbol] = found[size.symbol]._replace(default=size.default) if is_default else size
    if isinstance(switches := more.get("switches", ()), str):
        kept = () if switches.startswith("only ") else like.switches
        more["switches"] = (*kept, *read_switches(switches.removeprefix("only ")))
    if activations := more.pop("activations", ""):
        more["choices"] = (*read_activations(activations), *more.get("choices", ()))
    if "rules" in more:
        more["rules"] = read_rules(more["rules"])
    more["ignored"] = {**like.ignored, **read_ignored(more.get("ignored", ""))}
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
        elif word == "divides":
            rest.clear()
        elif word == "from":
            size = size._replace(minimum=int(rest.pop(0)))
        elif word == "or":
            size = size._replace(aliases=(*size.aliases, rest.pop(0)))
        elif word == "later":
            size = size._replace(unread=(*size.unread, rest.pop(0)))
        else:
            raise ValueError(f"a size has no {word!r}: {' '.join(words)}")
    return size


def read_divisible(text: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of keys, of which the first must be a multiple of the second: ``"D 768, A 12 divides D"``."""
    keys = {size.symbol: size.key for size in read_sizes(text)}
    rows = (each.split() for each in text.split(",") if " divides " in each)
    return tuple((keys[of], keys[row[0]]) for row in rows for of in row[row.index("divides") + 1 :])


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


def read_ignored(text: str | Mapping[str, Ignored]) -> Mapping[str, Ignored]:
    """Return the ignored keys of a text: a line of usual ones by their names, or a line for one that has its own::

        pruned_heads, embedding_size
        block_repeats [1, null] costs L*D when is_size: positions are relative -> write block_sizes

    Values in brackets are no reason to say so; ``value`` is what the file has, ``is_size`` says that it may be a size,
    ``is_true`` and ``is_false`` that it is one of these.
    """
    if not isinstance(text, str):
        return text
    found: dict[str, Ignored] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        row = _IGNORED.fullmatch(line)
        if row and ("[" in line or ": " in line):
            said: dict[str, Any] = {name: row[name] for name in ("because", "fix") if row[name]}
            said["harmless"] = tuple(json.loads(row["harmless"] or "[]"))
            found[row["key"]] = Ignored(cost=_read_cost(row["cost"]), **said)
        else:
            found |= {key: USUAL[key] for key in line.split(", ")}
    return found


def _read_cost(text: str | None) -> Callable[[Any, Dims], int | None] | None:
    if text is None:
        return None
    count, decide = map(compile_size, text.split(" when "))

    def cost(value: Any, dims: Dims) -> int | None:
        says = {"is_true": value is True, "is_false": value is False, "is_size": type(value) is int and value > 0}
        scope = Scope(dims, {}, {"value": value, **says})
        return int(count(scope)) if decide(scope) else None

    return cost


def read_rules(text: str | tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules of a text, three lines each: a condition of keys, what is wrong without it, what to write.

    The first key of a condition is the one whose line is told; ``KEY: CONDITION`` names another.
    """
    if not isinstance(text, str):
        return text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(_read_rule(*lines[at : at + 3]) for at in range(0, len(lines), 3))


def _read_rule(condition: str, message: str, fix: str) -> Rule:
    *first, condition = condition.split(": ")
    holds = compile_size(condition)
    names = filter(None, _KEY.findall(condition))
    return Rule(
        tuple(dict.fromkeys((*first, *names))), lambda values: holds(Scope(Dims({}, {}), {}, values)), message, fix
    )


def family(
    name: str,
    keys: ConfigKeys,
    classes: str,
    parts: Mapping[str, str] = MappingProxyType({}),
    *,
    since: tuple[int, ...] = (),
    derive: Callable[[Mapping[str, object]], Mapping[str, object]] | None = None,
    rules: Mapping[str, str | tuple[Rule, ...]] = MappingProxyType({}),
    **more: str,
) -> Family:
    """Return a family from the text of its classes.

    Each line of ``classes`` is a class, and the trees that it consists of::

        BertModel                      body(pooler=add_pooling_layer)   option add_pooling_layer=True
        BertForMaskedLM                bert.body + masked_lm            since 4.41

    ``bert.body`` keeps the tree ``body`` under the attribute ``bert``; ``body(pooler)`` gives it an argument.

    :param parts: texts of trees by the names that ``classes`` has for them, and of what they are put together from: a
        ``<part>`` or ``{part}`` in one is another. In what families share, ``*`` is the part ``stem``, with which the
        names of their classes begin, and ``{under}`` the attribute of the body, by default the family's name.
    :param more: parts as well, in place of those.
    :param derive: sizes that follow from other keys, as :class:`~pytest_bertsize.closed_forms.family.Family` has it.
    :param rules: what a class with a tree asks on top of its family, by the tree, as :func:`read_rules` has them.
    """
    own = {**parts, **more}
    stem = own.pop("stem", "")
    filled = {"under": name.replace("-", "_"), **own}
    own.pop("under", "")
    classes = _STEM.sub(stem, fill(classes, **filled))
    texts = {**own, **heads.COMMON, **own}  # its own are the first that a message names
    known = {each: Tree(fill(text, **filled)) for each, text in texts.items()}
    rows = [_Class.read(line, known) for line in classes.splitlines() if line.strip()]
    used = {part.tree for row in rows for part in row.parts}
    trees = {each: tree.text for each, tree in known.items() if each in heads.COMMON or tree in used}
    absent = dict.fromkeys((argument for row in rows for part in row.parts for argument in part.arguments), False)
    common = {each: read_rules(text) for each, text in heads.RULES.items()}
    # a shared tree asks nothing of a key that the family does not read
    common = {each: tuple(rule for rule in asked if {*rule.keys} <= {*keys.own}) for each, asked in common.items()}
    asked = {**common, **{each: read_rules(text) for each, text in rules.items()}}
    architectures = tuple(row.architecture(absent, asked) for row in rows)
    keys = replace(keys, inert=frozenset(inert_keys().get(name, ())))
    return Family(name, keys, architectures, since=since, classes=classes, trees=trees, derive=derive)


class _Part(NamedTuple):
    """A tree of a class."""

    under: str
    """The attribute under which the class keeps it; ``""`` for none."""
    name: str
    tree: Tree
    arguments: Mapping[str, str]
    """What the class gives it: expressions, by name."""

    def terms(self, dims: Dims, absent: Mapping[str, bool]) -> list[Term]:
        """Return its parameters, with ``False`` for arguments that the class does not give."""
        scope = Scope(dims, {}, {})
        given = {name: compile_size(text)(scope) for name, text in self.arguments.items()}
        return self.tree.terms(dims, self.under, **{**absent, **given})


class _Class(NamedTuple):
    """One class of a family."""

    name: str
    parts: tuple[_Part, ...]
    options: Mapping[str, bool]
    since: tuple[int, ...]

    @classmethod
    def read(cls, line: str, trees: Mapping[str, Tree]) -> _Class:
        """:raises BadExpression: for a line that names no tree of the family."""
        name, _, rest = line.strip().partition(" ")
        rest, _, since = rest.partition(" since ")
        rest, _, option = rest.partition(" option ")
        options = {found["name"]: found["default"] == "True" for found in _OPTION.finditer(option)}
        parts = tuple(_read_part(each.strip(), trees) for each in rest.split(" + "))
        return cls(name, parts, options, tuple(int(each) for each in since.split(".")) if since else ())

    def architecture(self, absent: Mapping[str, bool], asked: Mapping[str, tuple[Rule, ...]]) -> Architecture:
        """Return the class.

        :param absent: all arguments that some class of the family gives a tree.
        :param asked: rules of the classes that have a tree, by its name.
        """
        parts, rules = self.parts, tuple(rule for part in self.parts for rule in asked.get(part.name, ()))
        return Architecture(
            self.name,
            lambda dims: [term for part in parts for term in part.terms(dims, absent)],
            labels=any(part.tree.has_labels for part in parts),
            options=self.options,
            rules=rules,
            since=self.since,
        )


def _read_part(text: str, trees: Mapping[str, Tree]) -> _Part:
    found = _PART.fullmatch(text)
    if found is None or found["tree"] not in trees:
        raise BadExpression(f"{text!r} names no tree; there are {', '.join(trees)}")
    pairs = (each.strip().partition("=") for each in _COMMA.split(found["arguments"] or "") if each.strip())
    arguments = {name: value or "True" for name, _, value in pairs}
    return _Part(found["under"] or "", found["tree"], trees[found["tree"]], arguments)
