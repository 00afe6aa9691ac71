"""A family as plain values, and read again on the other side: what is a function there is asked for by its place.

What is read comes from a process that has run foreign code, and is checked: a block tree of names, sizes and sums.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pytest_bertsize.closed_forms.blocks import Block, Parameter
from pytest_bertsize.closed_forms.family import Architecture, Deriving, Family
from pytest_bertsize.config.branches import MOST_WAYS, Branch, Condition, End, NeedsNumber, Traced, plain
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import (
    Choice,
    ConfigKeys,
    Ignored,
    Index,
    Listing,
    Refused,
    Rule,
    Size,
    Switch,
)
from pytest_bertsize.config.symbols import Expression, Floor, Monomial, substituted
from pytest_bertsize.release import Release
from pytest_bertsize.wording import number, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_bertsize.closed_forms.blocks import Count, Kind, Node, Reads
    from pytest_bertsize.config.branches import Ways
    from pytest_bertsize.config.symbols import Base

    Ask = Callable[..., Any]
    """Calls a function of the other side: ``ask(block_read, "blocks", 0, ...)``, what reads its answer, its place and
    what it is given."""

DEEPEST = 50
"""Blocks inside one another; the deepest family has a tenth."""


LARGEST_SIZE = 10**18
LARGEST_NUMBER = 10**30
LARGEST_EXPONENT = 64
MOST_SUMMANDS = 200
"""Of one size: the gate multiplies them out for its formulas."""


class Nonsense(ValueError):
    """What was read is no answer."""


# a tree of blocks


def node_said(node: Node) -> list[Any]:
    if isinstance(node, Parameter):
        return [node.name, [_count_said(size) for size in node.shape], node.component, node.trainable, node.tied_to]
    if not isinstance(node, Block):
        raise TypeError(f"{type(node).__name__} is no block")
    counts = [None if each is None else _count_said(each) for each in (node.times, node.passes, node.attends)]
    children = [node_said(each) for each in node.children]
    return [node.name, children, node.component, counts, node.start, list(node.keys), [node.kind, node.reads]]


def block_read(said: object, depth: int = 0) -> Block:
    """:raises Nonsense: for what is no block."""
    match said:
        case [str(name), list(children), component, [times, passes, attends], int(start), list(keys), [kind, reads]]:
            if depth > DEEPEST:
                raise Nonsense(name)
            return Block(
                printable(name),
                tuple(_node_read(each, depth + 1) for each in children),
                None if component is None else _text(component),
                None if times is None else _count_read(times),
                start,
                tuple(map(_text, keys)),
                None if passes is None else _count_read(passes),
                cast("Kind", _text(kind)),
                None if attends is None else _count_read(attends),
                cast("Reads", _text(reads)),
            )
    raise Nonsense(str(said)[:80])


def _node_read(said: object, depth: int) -> Node:
    match said:
        case [str(name), list(shape), str() | None as component, bool(trainable), str() | None as tied_to]:
            sizes = tuple(_count_read(each) for each in shape)
            texts = [each and printable(each) for each in (component, tied_to)]
            return Parameter(printable(name), sizes, texts[0], trainable, texts[1])
    return block_read(said, depth)


def _count_said(count: Count) -> Any:
    """A number, or the summands of an expression: numerator, denominator, and what it has powers of."""
    count = plain(count)
    if isinstance(count, Expression):
        return [
            [*term.number.as_integer_ratio(), [[_base_said(base), exponent] for base, exponent in term.powers]]
            for term in count.terms
        ]
    if type(count) is not int:
        raise TypeError(f"a size is {type(count).__name__}, not a whole number")
    if not 0 <= count <= LARGEST_SIZE:
        raise ValueError(f"a size is {number(count)}, and no size is {'negative' if count < 0 else 'as large'}")
    return count


def _base_said(base: Base) -> Any:
    if isinstance(base, Floor):
        return {"floor": _count_said(base.quotient)}
    return base if isinstance(base, str) else _count_said(base)


def _count_read(said: object, depth: int = 0) -> Any:
    if type(said) is int and 0 <= said <= LARGEST_SIZE:
        return said
    if not isinstance(said, list) or not 0 < len(said) <= MOST_SUMMANDS or depth > DEEPEST:
        raise Nonsense(str(said)[:80])
    return Expression(tuple(_monomial_read(each, depth) for each in said))


def _monomial_read(said: object, depth: int) -> Monomial:
    match said:
        case [int(above), int(below), list(powers)] if below > 0 and max(abs(above), below) <= LARGEST_NUMBER:
            return Monomial(Fraction(above, below), tuple(_power_read(each, depth) for each in powers))
    raise Nonsense(str(said)[:80])


def _power_read(said: object, depth: int) -> tuple[Base, int]:
    match said:
        case [base, int(exponent)] if 0 < abs(exponent) <= LARGEST_EXPONENT:
            return _base_read(base, depth), exponent
    raise Nonsense(str(said)[:80])


def _base_read(said: object, depth: int) -> Base:
    match said:
        case str(name):
            return printable(name)
        case {"floor": quotient}:
            return Floor(_expression_read(quotient, depth))
    return _expression_read(said, depth)


def _expression_read(said: object, depth: int) -> Expression:
    found = _count_read(said, depth + 1)
    if not isinstance(found, Expression):
        raise Nonsense(str(said)[:80])
    return found


# every way that a function of free sizes can go


def ways_said(ways: Ways[Any]) -> Any:
    """:param ways: what they come to is plain already."""
    if isinstance(ways, End):
        return {"end": ways.value}
    then, otherwise = ways_said(ways.then), ways_said(ways.otherwise)
    return {
        "of": _count_said(ways.condition.count),
        "zero": ways.condition.is_zero,
        "then": then,
        "otherwise": otherwise,
    }


def ways_read(end: Callable[[Any], Any], said: object, depth: int = 0) -> Ways[Any]:
    """:param end: makes of the answer what a way comes to; :class:`NeedsNumber` stands where there is none."""
    match said:
        case {"end": found}:
            return End(end(found))
        case {"needs": [*names]}:
            return End(NeedsNumber(map(_text, names)))
        case {"of": count, "zero": bool(is_zero), "then": then, "otherwise": otherwise} if depth < MOST_WAYS:
            condition = Condition(_expression_read(count, 0), is_zero)
            return Branch(condition, ways_read(end, then, depth + 1), ways_read(end, otherwise, depth + 1))
    raise Nonsense(str(said)[:80])


def way_taken(ways: Ways[Any], free: Mapping[str, Traced]) -> Any:
    """What it comes to on the way that the free sizes of this side take; what it asks of them is asked of these.

    :raises NeedsNumber: where it needs one of them.
    """
    while isinstance(ways, Branch):
        value = substituted(ways.condition.count, free)
        ways = ways.then if (value == 0 if ways.condition.is_zero else value > 0) else ways.otherwise
    if isinstance(ways.value, NeedsNumber):
        raise NeedsNumber(ways.value.symbols & free.keys() or free)
    return ways.value


def _with_counts(node: Node, free: Mapping[str, Traced]) -> Any:
    """The same blocks, with the free sizes of this side."""
    if isinstance(node, Parameter):
        return node._replace(shape=tuple(substituted(size, free) for size in node.shape))
    counts = {each: getattr(node, each) for each in ("times", "passes", "attends")}
    there = {each: substituted(count, free) for each, count in counts.items() if count is not None}
    return node._replace(children=tuple(_with_counts(each, free) for each in node.children), **there)


# what blocks are a function of


def dims_said(dims: Dims) -> dict[str, Any]:
    sizes = dims.sizes if dims.numbers is None else dims.numbers
    said = {"sizes": dict(sizes), "switches": dict(dims.switches)}
    return {**said, "symbolic": dims.numbers is not None, "release": [*dims.release]}


def _free(values: Mapping[str, Any]) -> dict[str, Traced]:
    return {name: value for name, value in values.items() if isinstance(value, Traced)}


def dims_read(said: Mapping[str, Any]) -> Dims:
    found = Dims(said["sizes"], values_read(said["switches"]), release=Release(*said["release"]))
    return found.symbolic() if said["symbolic"] else found


def values_read(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples: so the values of a config are, and rules and blocks know them."""
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}


# a family


def family_said(family: Family, release: Release) -> dict[str, Any]:
    """All of it but its functions.

    :param release: of transformers, whose keys they are.
    :raises TypeError: for a family that reads its config in a way of its own.
    """
    if type(family) not in {Family, Deriving}:
        raise TypeError(f"{type(family).__name__}: only Family and Deriving can be contributed by a file")
    keys = family.keys.at(release)
    return {
        "name": family.name,
        "derives": isinstance(family, Deriving),
        "since": [*family.since],
        "keys": _keys_said(keys),
        "architectures": [
            {
                "name": each.name,
                "labels": each.labels,
                "options": dict(each.options),
                "defined_in": each.defined_in,
                "rules": [_rule_said(rule) for rule in each.rules],
                "since": [*each.since],
                "flops": each.flops,
            }
            for each in family.architectures
        ],
    }


def family_read(said: Mapping[str, Any], ask: Ask) -> Family:
    """The family, whose functions are those of the other side.

    :param ask: of this family.
    :raises KeyError, TypeError, ValueError: for what is none.
    """
    keys = _keys_read(said["keys"], ask)
    architectures = tuple(_architecture_read(each, ask, at) for at, each in enumerate(said["architectures"]))
    named: dict[str, Any] = {
        "since": tuple(map(int, said["since"])),
    }
    name = _text(said["name"])
    if said["derives"]:
        return Deriving(
            name, keys, architectures, derive=lambda written: ask(values_read, "derive", dict(written)), **named
        )
    return Family(name, keys, architectures, **named)


def _blocks_asked(ask: Ask, at: int, dims: Dims) -> Block:
    free = _free(dims.sizes)
    if not free:
        return cast("Block", ask(block_read, "blocks", at, dims_said(dims)))
    known = {name: size for name, size in dims.sizes.items() if name not in free}
    asked = dims_said(replace(dims, sizes=known, numbers=None))
    ways = ask(partial(ways_read, block_read), "ways", list(free), "blocks", at, asked)
    made: Block = _with_counts(way_taken(ways, free), free)
    return made


def _architecture_read(said: Mapping[str, Any], ask: Ask, at: int) -> Architecture:
    return Architecture(
        _text(said["name"]),
        lambda dims: _blocks_asked(ask, at, dims),
        labels=bool(said["labels"]),
        options={_text(name): bool(value) for name, value in said["options"].items()},
        defined_in=_text(said["defined_in"]),
        rules=tuple(_rule_read(each, ask, ("rule", at, number)) for number, each in enumerate(said["rules"])),
        since=tuple(map(int, said["since"])),
        flops=bool(said["flops"]),
    )


def _keys_said(keys: ConfigKeys) -> dict[str, Any]:
    return {
        "sizes": [each._asdict() for each in keys.sizes],
        "switches": [each._asdict() for each in keys.switches],
        "choices": [
            {
                "key": each.key,
                "default": each.default,
                "words": sorted(each.words),
                "null": each.null,
                "taken_for": dict(each.taken_for),
            }
            for each in keys.choices
        ],
        "lists": [{**each._asdict(), "of": each.of.__name__, "words": sorted(each.words)} for each in keys.lists],
        "indices": [each._asdict() for each in keys.indices],
        "divisible": keys.divisible,
        "equal": keys.equal,
        "rules": [_rule_said(each) for each in keys.rules],
        "ignored": {
            key: {**each._replace(cost=None)._asdict(), "cost": each.cost is not None}
            for key, each in keys.ignored.items()
        },
        "labels": keys.labels,
        "inert": sorted(keys.inert),
        "open": keys.open,
        "refused": {key: each._asdict() for key, each in keys.refused.items()},
    }


def _keys_read(said: Mapping[str, Any], ask: Ask) -> ConfigKeys:
    kinds = {int.__name__: int, str.__name__: str}
    return ConfigKeys(
        sizes=tuple(Size(**values_read(each)) for each in said["sizes"]),
        switches=tuple(Switch(**each) for each in said["switches"]),
        choices=tuple(Choice(**values_read(each)) for each in said["choices"]),
        lists=tuple(Listing(**{**values_read(each), "of": kinds[each["of"]]}) for each in said["lists"]),
        indices=tuple(Index(**each) for each in said["indices"]),
        divisible=_pairs(said["divisible"]),
        equal=_pairs(said["equal"]),
        rules=tuple(_rule_read(each, ask, ("rule", None, number)) for number, each in enumerate(said["rules"])),
        ignored={_text(key): _ignored_read(key, each, ask) for key, each in said["ignored"].items()},
        labels=int(said["labels"]),
        inert=frozenset(map(_text, said["inert"])),
        open=bool(said["open"]),
        refused={_text(key): Refused(**values_read(each)) for key, each in said["refused"].items()},
    )


def _pairs(said: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((_text(one), _text(other)) for one, other in said)


def _rule_said(rule: Rule) -> dict[str, Any]:
    return {"keys": rule.keys, "message": rule.message, "fix": rule.fix}


def _rule_read(said: Mapping[str, Any], ask: Ask, place: tuple[Any, ...]) -> Rule:
    keys = tuple(map(_text, said["keys"]))

    def holds(values: Mapping[str, Any]) -> bool:
        free = _free(values)
        if not free:
            return bool(ask(bool, *place, dict(values)))
        known = {key: value for key, value in values.items() if key not in free}
        return bool(way_taken(ask(partial(ways_read, bool), "ways", list(free), *place, known), free))

    return Rule(keys, holds, _text(said["message"]), _text(said["fix"]))


def _ignored_read(key: str, said: Mapping[str, Any], ask: Ask) -> Ignored:
    def cost(value: Any, dims: Dims) -> int | None:
        cost: int | None = ask(_cost_read, "cost", key, value, dims_said(dims))
        return cost

    read = Ignored(**{**values_read(said), "cost": None})
    return read._replace(cost=cost) if said["cost"] else read


def _cost_read(said: object) -> int | None:
    return None if said is None else int(cast("int", said))


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise Nonsense(str(said)[:80])
    return printable(said)
