"""A closed form as text that reads like the model's own printout: a line for each module, with symbols for its sizes.

    embeddings
      word_embeddings          embedding V D    @embeddings.word
      LayerNorm                layer_norm D     @embeddings.norm
    encoder.layer × L
      attention                                 @encoder.attention
        self
          query, key, value    linear D D
        output.dense           linear D D
        output.LayerNorm       layer_norm D     @encoder.norm
      crossattention                            @encoder.cross_attention   when add_cross_attention
    …

A line encloses the lines that are indented below it, and KIND is one of :data:`KINDS`:

    NAME[, NAME …] [× TIMES]   KIND SIZE … [bias=…]   [@COMPONENT] [when …] [for … in …] [tied …] [passes …] [frozen]

``docs/reference/python.md`` describes the notation. :func:`fill` puts one text into another, in place of a line
``<name>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.closed_forms.blocks import KINDS, STAR, Copies, Term, module
from pytest_bertsize.closed_forms.expressions import BadExpression, Evaluate, Scope, compile_size, count_up

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims

_WORDS = ("when", "for", "tied", "passes", "frozen")
_CLAUSE = re.compile(rf"\s+(?=@|(?:{'|'.join(_WORDS)})\b)")
_MODULE = re.compile(r"(?P<names>[^\s,]+(?:, [^\s,]+)*)(?:\s+×\s+(?P<times>(?:\([^ ]*\)|[^ ])+))?(?:\s+(?P<kind>.+))?")
_TIE = re.compile(r"(?P<leaf>\w+)=(?P<owner>\S+)(?: if (?P<condition>.+))?")
_FOR = re.compile(r"(?P<variables>\w+(?:, \w+)*) in (?P<items>.+)")
_NAMED = re.compile(r"(?P<name>\w+)=(?P<value>[^=].*)")
_VARIABLE = re.compile(r"\{(\w+)\}")
_PLACE = re.compile(r"^(?P<indent> *)<(?P<name>\w+)>$", re.MULTILINE)


class Line(NamedTuple):
    """One line of a tree with the lines that are indented below it."""

    names: tuple[str, ...]
    kind: str  # one of KINDS, or "" for a module that only contains others
    sizes: tuple[Evaluate, ...]
    named: tuple[tuple[str, Evaluate], ...]
    times: Evaluate | None
    start: int
    component: str | None
    condition: Evaluate
    variables: tuple[str, ...]
    items: Evaluate
    ties: tuple[tuple[str, str, Evaluate], ...]  # the tied parameters, each with the owner and the condition of the tie
    passes: Evaluate
    is_frozen: bool
    inside: tuple[Line, ...]


def fill(text: str, /, **parts: str) -> str:
    """Replace ``{name}``, and ``<name>`` on a line of its own, by other texts, which are filled as well."""

    def put_in(found: re.Match[str]) -> str:
        if found["name"] not in parts:
            return found[0]
        others = {name: part for name, part in parts.items() if name != found["name"]}
        kept = (line for line in fill(dedent(parts[found["name"]]), **others).splitlines() if line.strip())
        return "\n".join(f"{found['indent']}{line}" for line in kept)

    filled = _PLACE.sub(put_in, text)
    for name, value in parts.items():
        filled = filled.replace(f"{{{name}}}", value)
    return filled


@cache
def read_tree(text: str) -> tuple[tuple[Line, ...], Mapping[str, Evaluate]]:
    """Return the lines of a tree, and the sizes that ``:=`` names; raise BadExpression for a wrong line."""
    rows: list[tuple[int, str]] = []
    formulas: dict[str, Evaluate] = {}
    for line in filter(str.strip, text.splitlines()):
        name, defines, value = line.partition(":=")
        if defines:
            formulas[name.strip()] = compile_size(value.strip())
        else:
            rows.append((len(line) - len(line.lstrip()), line.strip()))
    return tuple(_read_lines(rows)), formulas


def list_terms(text: str, dims: Dims, name: str = "", **arguments: Any) -> list[Term]:
    """Return the terms of a tree for some sizes and arguments of a class, which keeps it as its attribute ``name``."""
    lines, formulas = read_tree(text)
    root = f"{name}." if name else ""
    known = {name: value for name, value in dims.values.items() if name not in formulas}
    scope, place = Scope({**known, **arguments}, formulas, dims.release), _Place(root, root)
    return [term for line in lines for term in _build_line(line, scope, place)]


class _Place(NamedTuple):
    """The place of a line in a model."""

    path: str  # the path of the module around the line, with a final dot
    root: str  # the attribute under which a class keeps the tree, with a final dot
    component: str = ""
    copies: tuple[Copies, ...] = ()
    trains: bool = True


def _read_lines(rows: list[tuple[int, str]], loop: str = "") -> Iterator[Line]:
    """Read the lines of one depth, each with the lines that are indented below it; ``loop`` is the ``for`` around."""
    while rows:
        (depth, text), *rows = rows
        below = list(takewhile(lambda row, depth=depth: row[0] > depth, rows))  # type: ignore[misc]
        rows = rows[len(below) :]
        try:
            line = _read_line(text)
            if line.variables and loop:
                raise BadExpression(f"a line with 'for' is inside of another line with 'for', {loop!r}")  # noqa: TRY301
        except BadExpression as error:
            raise BadExpression(f"{text!r}: {error}") from None
        yield line._replace(inside=tuple(_read_lines(below, text if line.variables else loop)))


def _read_line(text: str) -> Line:
    module, *said = _CLAUSE.split(f" {text}")
    clauses = {}
    for clause in said:
        word, _, rest = ("@", "", clause[1:]) if clause[0] == "@" else clause.partition(" ")
        clauses[word] = rest.strip()
    found = _MODULE.fullmatch(module.strip() or "-")  # a line that begins with a clause is a group without a name
    if found is None:
        raise BadExpression("the line has no name")
    kind, *words = split_words(found["kind"] or "")
    if kind not in ("", *KINDS):
        raise BadExpression(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    low, dots, high = (found["times"] or "").rpartition("..")
    named = [_NAMED.fullmatch(word) for word in words]
    loop = _FOR.fullmatch(clauses.get("for", ""))
    return Line(
        names=tuple("" if name == "-" else name for name in found["names"].split(", ")),
        kind=kind,
        sizes=tuple(compile_size(word) for word, name in zip(words, named, strict=True) if not name),
        named=tuple((each["name"], compile_size(each["value"])) for each in named if each),
        times=compile_size(f"({high}) - {low}" if dots else high) if high else None,
        start=int(low or 0),
        component=clauses.get("@"),
        condition=compile_size(clauses.get("when", "True")),
        variables=tuple(loop["variables"].split(", ")) if loop else (),
        items=compile_size(loop["items"] if loop else "((),)"),
        ties=tuple(map(_read_tie, split_words(clauses["tied"], ","))) if "tied" in clauses else (),
        passes=compile_size(clauses.get("passes", "None")),
        is_frozen="frozen" in clauses,
        inside=(),
    )


def split_words(text: str, separator: str = " ") -> list[str]:
    """Split a text at each ``separator`` that is not inside of parentheses or brackets."""
    found, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == separator and not depth:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found if each.strip()] or [""]


def _read_tie(text: str) -> tuple[str, str, Evaluate]:
    found = _TIE.fullmatch(text)
    if found is None:
        raise BadExpression(f"{text!r} is not a tie; write a tie as in 'tied weight=shared.weight'")
    return found["leaf"], found["owner"], compile_size(found["condition"] or "True")


def _build_line(line: Line, scope: Scope, place: _Place) -> Iterator[Term]:
    """Yield the terms of a line: one module for each name and each item of its ``for``, if its condition holds."""
    for item in line.items(scope):
        values = item if len(line.variables) != 1 else (item,)
        own = dict(zip(line.variables, values, strict=True))
        inner = Scope({**scope.known, **own}, scope.formulas, scope.release) if own else scope
        if line.condition(inner):
            for name in line.names:
                filled = _VARIABLE.sub(lambda found: str(inner[found[1]]), name) if "{" in name else name  # noqa: B023
                yield from _build_module(filled, line, inner, place)


def _build_module(name: str, line: Line, scope: Scope, place: _Place) -> Iterator[Term]:
    path, root, component, copies, trains = place
    component, trains = line.component or component, trains and not line.is_frozen
    tied = {leaf: owner.replace("~", root) for leaf, owner, condition in line.ties if condition(scope)}
    sizes = tuple(each(scope) for each in line.sizes)
    if line.times is not None:
        name, own = _read_copies(name, line.times, line, scope)
        copies = (*copies, own)
    path = f"{path}{name}"
    if line.kind:
        named = {key: value(scope) for key, value in line.named}
        made = module(line.kind, path, *sizes, component=component, tied=tied, copies=copies, **named)
        yield from made if trains else (term._replace(trainable=False) for term in made)
    for below in line.inside:
        yield from _build_line(below, scope, _Place(f"{path}." if name else path, root, component, copies, trains))


def _read_copies(name: str, evaluate: Evaluate, line: Line, scope: Scope) -> tuple[str, Copies]:
    """Return the name of a repeated module with the star for its index, and its copies."""
    times, start, passes = evaluate(scope), line.start, line.passes(scope)
    keys: tuple[str, ...] = ()
    if isinstance(times, tuple | list | range):
        keys = tuple(dict.fromkeys(map(str, times)))  # a name that occurs twice is one module
        times = len(keys)
    elif STAR in name:
        copies = count_up(start, start + int(times))
        return STAR, Copies(times, start, tuple(name.replace(STAR, str(copy)) for copy in copies), passes)
    return f"{name}.{STAR}" if name else STAR, Copies(times, start, keys, passes)
