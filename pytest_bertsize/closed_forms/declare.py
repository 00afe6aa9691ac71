"""The notation of a family: its keys in a few lines, and a table of its classes, each a sum of trees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_bertsize.closed_forms.expressions import BadExpression, Evaluate, Scope, compile_size
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, shared_keys
from pytest_bertsize.closed_forms.tree import fill, list_terms, split_words
from pytest_bertsize.config.keys import ACTIVATIONS, LABELS, Choice, ConfigKeys, Ignored, Index, Rule, Size, Switch
from pytest_bertsize.release import NEWEST
from pytest_bertsize.wording import did_you_mean

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Term
    from pytest_bertsize.config.dims import Dims

# The keys of sizes that most families have, by their symbols.
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
# by family, keys that occur in published configs and change no count
INERT: Mapping[str, list[str]] = json.loads(Path(__file__).with_name("inert_keys.json").read_text("utf-8"))
ONLY = "only"  # the first word of sizes, switches, activations or ignored if no key of like is kept

_PART = re.compile(r"(?:(?P<under>[\w.]+)\.)?(?P<tree>\w+)(?:\((?P<arguments>.*)\))?")
_ARGUMENT = re.compile(r"\w\((?P<name>\w+)")
_IGNORED = re.compile(
    r"(?P<keys>\w+(?:, \w+)*)(?: (?P<harmless>\[.*?\]))?(?: in (?P<only>\w+))?(?: costs (?P<cost>[^:]+))?"
    r"(?:: (?P<because>.+?))?(?: -> (?P<fix>.+))?"
)
_SIZE = re.compile(
    r"(?P<symbol>\w+)(?: (?!none\b)(?P<key>[^\W\d]\w*))? (?P<default>none|-?\d+)"
    r"(?P<rest>(?: layers| from -?\d+| or \w+| divides(?: [A-Z]\w*)+)*)"
)
_KEY = re.compile(r'"[^"]*"|\b(?:and|or|not|in|if|else|None|True|False|get|len)\b|\b([a-zA-Z_]\w*)')
_RULE_NAMES = re.compile(r"^ *((?:[A-Z_]+, )*[A-Z_]+)$", re.MULTILINE)
_LABELS = re.compile(rf"(?<![\w.]){LABELS}(?![\w.])")
_OPTION = re.compile(r"(?P<name>\w+)=(?P<default>True|False)")


def family(
    name: str,
    like: Family | str | None = None,
    *,
    classes: str = "",
    trees: Mapping[str, str] | str = MappingProxyType({}),
    since: tuple[int, ...] = (),
    derive: Callable[[Mapping[str, object]], Mapping[str, object]] | None = None,
    tree_rules: Mapping[str, str | tuple[Rule, ...]] = MappingProxyType({}),
    **more: Any,
) -> Family:
    """Return a family from texts.

    :param like: a family, or its name, with the same keys and trees, except for those that other arguments set.
    :param classes: each line has a class and its trees, or only classes, whose trees follow from the ends of their
        names (:data:`~pytest_bertsize.closed_forms.parts.heads.CLASSES`)::

            BertModel, BertForMaskedLM
            BertForPreTraining   bert.body(pooler) + masked_lm + next_sentence   since 4.41
            *ForSome             {under}.body                                    option add_pooling_layer=True

        ``bert.body`` keeps the tree ``body`` under the attribute ``bert``; ``body(pooler)`` gives it an argument. ``*``
        is replaced by the text ``stem``, by default the name of the first class if that is written out, without
        ``Model``, else the family's name with a capital letter, and ``{under}`` by the text ``under``, by default the
        attribute of the first ``body``, else that of ``like`` if it differs from the name of ``like``, else the
        family's name.
    :param trees: trees and parts of trees by name, beside those of ``like``, or the name of a family that has them:
        ``<part>`` or ``{part}`` in a text is replaced by the text with that name.
    :param derive: a function that derives missing keys from the written ones, as the config class does.
    :param tree_rules: more rules by the name of a tree, for classes with this tree, as :func:`read_rules` reads them.
    :param more: further trees, and keys of the config as :func:`read_keys` reads them.
    """
    named = {*ConfigKeys.__struct_fields__, "activations"}
    said = {"inert": INERT.get(name, ()), **{key: more.pop(key) for key in [*more] if key in named}}
    from pytest_bertsize.closed_forms.families import FAMILIES

    like = FAMILIES[like] if isinstance(like, str) else like or Family("", ConfigKeys(()), (), trees=heads.COMMON)
    trees = FAMILIES[trees].trees if isinstance(trees, str) else trees
    keys = read_keys(like.keys, **said)
    first, body = re.match(r"\s*(\w+)Model\b", classes), re.search(r"(\w+)\.body\b", classes)
    own, under = name.replace("-", "_"), like.trees.get("under", "")
    kept = own if under in {"", like.name.replace("-", "_")} else under
    names = {"stem": first[1] if first else name.capitalize(), "under": body[1] if body else kept}
    known = {**like.trees, **trees, **names, **more}
    read = {each: fill(text, **known) for each, text in known.items()}
    rules = {**heads.RULES, **like.tree_rules, **tree_rules}
    asked = {tree: read_rules(text) for tree, text in rules.items()}
    lines = fill(re.sub(r"(?<![^\s,])\*", "{stem}", classes or like.classes), **known).splitlines()
    rows = [row for line in filter(str.strip, lines) for row in _complete_line(line.strip(), read)]
    rows[1:] = sorted(rows[1:], key=_rank)
    absent = dict.fromkeys(["pooler", *(name for row in rows for name in _ARGUMENT.findall(row))], False)
    return Family(
        name,
        keys,
        tuple(_read_class(row, read, absent, asked, keys) for row in rows),
        since=since,
        derive=derive or like.derive,
        classes=classes or like.classes,
        trees=known,
        tree_rules=rules,
    )


def _complete_line(line: str, trees: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each class; trees that ``line`` leaves out follow from the end of the class's name."""
    names, _, said = re.sub(r",\s+", ",", line).partition(" ")
    for name in filter(None, names.split(",")):
        ending = next((each for each in heads.CLASSES if name.endswith(each)), "")
        usual = heads.CLASSES.get(ending, "")
        if ending == "Model" and "body" in trees and "pooler" not in trees["body"]:
            usual = "body"  # it has no pooler to leave out
        language_model = "lm_head" if "lm_head" in trees else "masked_lm"
        yield f"{name} {said or fill(usual, under=trees['under'], language_model=language_model)}"


def _rank(row: str) -> int:
    """Return the place of a class in every list of its family's classes: by its head, with unusual heads first."""
    name = row.partition(" ")[0]
    return next((at for at, head in enumerate(heads.CLASSES) if head != "Model" and head in name), -1)


def _read_class(
    row: str,
    trees: Mapping[str, str],
    absent: Mapping[str, bool],
    asked: Mapping[str, tuple[Rule, ...]],
    keys: ConfigKeys,
) -> Architecture:
    """Read the line of one class.

    :param absent: ``False`` for every argument that a class may give to a tree.
    :param asked: rules by the name of a tree, for the classes with this tree.
    """
    row, _, since = row.partition(" since ")
    row, _, option = row.partition(" option ")
    name, _, composition = row.partition(" ")
    parts = [_read_part(each.strip(), trees) for each in composition.split(" + ")]
    rules = (rule for _, tree, _ in parts for rule in asked.get(tree, ()))

    def list_own(dims: Dims) -> list[Term]:
        found, scope = [], Scope(dims.values, {}, dims.release)
        for under, tree, given in parts:
            arguments = {**absent, **{name: value(scope) for name, value in given.items()}}
            found += list_terms(trees[tree], dims, under, **arguments)
        return found

    return Architecture(
        name,
        list_own,
        labels=any(_LABELS.search(trees[tree]) for _, tree, _ in parts),
        options={found["name"]: found["default"] == "True" for found in _OPTION.finditer(option)},
        # a shared tree has rules on keys that this family may not read
        rules=tuple(rule for rule in rules if {*rule.keys} <= {*keys.own, "num_labels"}),
        since=tuple(map(int, since.split("."))) if since else (),
    )


def _read_part(text: str, trees: Mapping[str, str]) -> tuple[str, str, Mapping[str, Evaluate]]:
    """Return the attribute under which a class keeps a tree, the tree's name, and the arguments of the tree."""
    found = _PART.fullmatch(text)
    if found is None or found["tree"] not in trees:
        known = [each for each, tree in trees.items() if " " in tree]
        instead = did_you_mean(found["tree"] if found else text, known, f"the trees are {', '.join(known)}")
        raise BadExpression(f"{text!r} names no tree; {instead}")
    pairs = (each.partition("=") for each in split_words(found["arguments"] or "", ",") if each)
    return found["under"] or "", found["tree"], {name: compile_size(value or "True") for name, _, value in pairs}


# keys


def read_keys(like: ConfigKeys, sizes: str = "", switches: str = "", activations: str = "", **more: Any) -> ConfigKeys:
    """Return the keys that a family reads from its config: those of ``like``, with the changes in the other arguments.

    Sizes, switches, choices and ignored keys replace those of the same name; any other argument replaces the old value.

    :param sizes: ``"V 30522, D n_embd 768 or hidden_size, L 12 layers from 0, S none"``: a size has its symbol,
        its key unless that is the standard one, and its default (``none`` if the library uses another size instead).
        Then follow ``or`` with an alias, ``layers`` for a number of layers, ``from`` with the least value, ``divides``
        with the sizes that must be its multiples. ``D 1024`` changes the default of a known size.
    :param switches: ``"tie_word_embeddings true, add_cross_attention false needs is_decoder"``; a switch ends with
        ``null`` if the library reads null as the default.
    :param activations: ``"hidden_act gelu"``.
    :param more: as in :class:`~pytest_bertsize.config.keys.ConfigKeys`, but with texts for ``indices``
        (``"pad_token_id 0"``), ``rules`` (:func:`read_rules`) and ``ignored`` (:func:`read_ignored`).
    """
    known = {} if sizes.startswith(ONLY) else {size.symbol: size for size in like.sizes}
    known |= {size.symbol: size for size in (_read_size(each, known) for each in _split(sizes))}
    functions = ((key, None if default == "none" else default) for key, default in map(str.split, _split(activations)))
    choices = (*(Choice(key, default, ACTIVATIONS) for key, default in functions), *more.pop("choices", ()))
    kept = () if switches.startswith(ONLY) else like.switches
    chosen = () if activations.startswith(ONLY) else like.choices
    divisible, ignored = more.pop("divisible", like.divisible), more.pop("ignored", "")
    pairs = (each.partition(" divides ") for each in _split(sizes))
    divides = [(known[of].key, known[divisor.split()[0]].key) for divisor, _, others in pairs for of in others.split()]
    found = replace(
        like,
        sizes=tuple(known.values()),
        switches=tuple({each.key: each for each in (*kept, *map(_read_switch, _split(switches)))}.values()),
        choices=tuple({each.key: each for each in (*chosen, *choices)}.values()),
        divisible=tuple(dict.fromkeys((*divisible, *divides))),
        indices=tuple(Index(key, int(default)) for key, default in map(str.split, _split(more.pop("indices", ""))))
        or like.indices,
        rules=read_rules(more.pop("rules")) if "rules" in more else like.rules,
        ignored={**({} if ignored.startswith(ONLY) else like.ignored), **read_ignored(ignored.removeprefix(ONLY))},
        inert=frozenset(more.pop("inert", like.inert)),
    )
    return replace(found, **more)


def _split(text: str) -> Iterator[str]:
    return filter(None, (" ".join(each.split()) for each in text.removeprefix(ONLY).split(",")))


def _read_size(text: str, known: Mapping[str, Size]) -> Size:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a size")
    symbol, key, said, rest = found.groups()
    default = None if said == "none" else int(said)
    if symbol in known and not key and not rest:
        return known[symbol]._replace(default=default)
    least, aliases = re.search(r" from (-?\d+)", rest), tuple(re.findall(r" or (\w+)", rest))
    minimum = int(least[1]) if least else 1
    return Size(key or STANDARD[symbol], symbol, default, repeats=" layers" in rest, minimum=minimum, aliases=aliases)


def _read_switch(text: str) -> Switch:
    key, default, *rest = text.split()
    needs = rest[rest.index("needs") + 1] if "needs" in rest else ""
    return Switch(key, default={"true": True, "false": False}[default], needs=needs, null="null" in rest)


def read_ignored(text: str) -> Mapping[str, Ignored]:
    """Return the ignored keys of a text, in which a line names usual keys or describes keys::

        pruned_heads, embedding_size
        block_repeats [1, null] costs L*D when is_size: positions are relative -> write block_sizes
        num_blocks, num_layers: block_sizes sets them

    A name in capitals stands for the lines of this name in
    :data:`~pytest_bertsize.closed_forms.parts.shared_keys.GROUPS`.
    Values in brackets make no finding; ``in ForMaskedLM`` limits the cost to classes whose names end with it. In a
    cost, ``value`` is the value in the file; ``is_size``, ``is_true`` and ``is_false`` test this value, and
    ``heads`` is the number of heads in it if it is a value of ``pruned_heads``.
    """
    found: dict[str, Ignored] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        row = _IGNORED.fullmatch(line)
        if row and ("[" in line or ": " in line):
            said: dict[str, Any] = {name: row[name] for name in ("because", "fix") if row[name]}
            said["harmless"] = tuple(json.loads(row["harmless"] or "[]"))
            said["only"] = tuple(filter(None, [row["only"]]))
            found |= dict.fromkeys(row["keys"].split(", "), Ignored(cost=_read_cost(row["cost"]), **said))
        else:
            for key in line.split(", "):
                found |= (
                    read_ignored(shared_keys.GROUPS[key]) if key in shared_keys.GROUPS else {key: _read_usual()[key]}
                )
    return found


@cache
def _read_usual() -> Mapping[str, Ignored]:
    return read_ignored(shared_keys.USUAL)


def _read_cost(text: str | None) -> Callable[[Any, Dims], int | None] | None:
    if text is None:
        return None
    count, decide = map(compile_size, text.split(" when "))

    def cost(value: Any, dims: Dims) -> int | None:
        says = {"is_true": value is True, "is_false": value is False, "is_size": type(value) is int and value > 0}
        values = {**dims.values, "value": value, "heads": shared_keys.count_heads(value), **says}
        scope = Scope(values, {}, dims.release)
        return int(count(scope)) if decide(scope) else None

    return cost


def read_rules(text: str | tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules of a text, three lines for each: a condition on keys, the message if it fails, the fix.

    A line of names in capitals stands for rules of :data:`~pytest_bertsize.closed_forms.parts.shared_keys.RULES`.
    A message points to the first key of the condition, or to ``KEY`` if the condition is written ``KEY: CONDITION``.
    """
    if not isinstance(text, str):
        return text
    filled = _RULE_NAMES.sub(lambda found: "".join(shared_keys.RULES[name] for name in found[1].split(", ")), text)
    lines = [line.strip() for line in filled.splitlines() if line.strip()]
    return tuple(_read_rule(*lines[at : at + 3]) for at in range(0, len(lines), 3))


def _read_rule(condition: str, message: str, fix: str) -> Rule:
    *first, condition = condition.split(": ")
    holds = compile_size(condition)
    keys = tuple(dict.fromkeys((*first, *filter(None, _KEY.findall(condition)))))
    return Rule(keys, lambda values: holds(Scope(values, {}, NEWEST)), message, fix)
