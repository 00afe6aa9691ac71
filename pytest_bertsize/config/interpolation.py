"""What ``${…}`` stands for in a config of OmegaConf's: another value of the same config, or what nobody can tell here.

The grammar is that of OmegaConf 2.3: ``${a.b}`` from the root, ``${.b}`` and ``${..b}`` from where it stands, and
``${a[0]}`` of a list; alone it is the value itself, within a text its string. A resolver (``${oc.env:HOME}``) is never
called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_bertsize.config.model_config import LARGEST
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Path: TypeAlias = tuple[str, ...]

MISSING = "???"
"""What hydra asks for on the command line."""
LONGEST_CHAIN = 50
"""Values on the way from one to another."""
FIX = 'write the value, say it by overrides, or name a function that composes the config, as in config = "module:make"'
_ONE = re.compile(r"(?<!\\)\$\{([^{}]*)\}")
_PART = re.compile(r"[^.\[\]\s]++|\[[0-9]{1,9}\]")


class Unknown(NamedTuple):
    """Why a value cannot be told."""

    why: str
    """The rest of a sentence about what is written there: ``"which only the resolver oc.env can tell"``."""
    fix: str = FIX


class Resolved(NamedTuple):
    """A value, how much it is with what it stands for written out, and what in it cannot be told."""

    value: object
    size: int
    """Characters, about."""
    unknown: Mapping[Path, Unknown]
    """By path from the value; what is written stays there."""


class CannotBeTold(Exception):
    """A value stays as it is written."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__(unknown.why)
        self.unknown = unknown


@dataclass
class Tree:
    """A whole config, of which a part is asked for."""

    root: object
    where: str
    """What messages call it."""
    missing: Callable[[Path], Unknown | None] = lambda _: None
    """Why a path is not there, if a file that could have had it was not read."""
    _known: dict[Path, Resolved] = field(default_factory=dict)
    _asked: list[Path] = field(default_factory=list)

    def at(self, path: Path) -> Resolved:
        """What stands at a path.

        :raises KeyError: where nothing does.
        """
        if path in self._known:
            return self._known[path]
        if path in self._asked or len(self._asked) > LONGEST_CHAIN * 3:
            raise CannotBeTold(Unknown("which leads back to itself"))
        self._asked.append(path)
        try:
            found = self._resolved(self._raw(path), path)
        finally:
            self._asked.pop()
        if found.size > LARGEST:
            raise CannotBeTold(Unknown(f"which is larger than {LARGEST:,} bytes with every ${{…}} written out"))
        self._known[path] = found
        return found

    def _raw(self, path: Path) -> object:
        node = self.root
        for depth, part in enumerate(path):
            if isinstance(node, str) and _ONE.search(node):
                node = self.at(path[:depth]).value
            if isinstance(node, dict) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdecimal() and int(part) < len(node):
                node = node[int(part)]
            else:
                raise KeyError(path)
        return node

    def _resolved(self, node: object, path: Path) -> Resolved:
        if isinstance(node, dict):
            parts = {(key,): self.at((*path, key)) for key in node}
            value: object = {key: part.value for (key,), part in parts.items()}
        elif isinstance(node, list):
            parts = {(str(index),): self.at((*path, str(index))) for index in range(len(node))}
            value = [part.value for part in parts.values()]
        else:
            return self._scalar(node, path)
        unknown = {(*key, *inner): each for key, part in parts.items() for inner, each in part.unknown.items()}
        size = 1 + sum(len(key[0]) + part.size for key, part in parts.items())
        return Resolved(value, size, unknown)

    def _scalar(self, node: object, path: Path) -> Resolved:
        if node == MISSING:
            asked = Unknown("which hydra asks for on the command line", "say it by overrides")
            return Resolved(node, len(MISSING), {(): asked})
        if not isinstance(node, str) or "${" not in node:
            return Resolved(node, len(str(node)), {})
        try:
            alone = _ONE.fullmatch(node)
            return self._named(alone[1], path) if alone else self._text(node, path)
        except CannotBeTold as cannot:
            return Resolved(node, len(node), {(): cannot.unknown})

    def _text(self, node: str, path: Path) -> Resolved:
        left = _ONE.sub("", node)
        if re.search(r"(?<!\\)\$\{", left):
            raise CannotBeTold(Unknown("which has one ${…} in another"))
        said = {each[1]: self._as_text(each[1], path) for each in _ONE.finditer(node)}
        if len(left) + sum(len(said[each[1]]) for each in _ONE.finditer(node)) > LARGEST:
            raise CannotBeTold(Unknown(f"which is larger than {LARGEST:,} bytes with every ${{…}} written out"))
        text = _ONE.sub(lambda each: said[each[1]], node)
        return Resolved(text.replace(r"\${", "${"), len(text), {})

    def _as_text(self, written: str, path: Path) -> str:
        found = self._named(written, path)
        for unknown in found.unknown.values():
            raise CannotBeTold(unknown)
        if isinstance(found.value, dict | list):
            raise CannotBeTold(Unknown("which puts an object into a text"))
        return str(found.value)

    def _named(self, written: str, path: Path) -> Resolved:
        """What the inside of ``${…}`` means."""
        if ":" in written:
            name = printable(written.partition(":")[0].strip())
            raise CannotBeTold(Unknown(f"which only the resolver {name} can tell"))
        target = _target(written.strip(), path)
        try:
            found = self.at(target)
        except KeyError:
            where = printable(".".join(target))
            raise CannotBeTold(self.missing(target) or Unknown(f"and there is no {where} in {self.where}")) from None
        if () in found.unknown:
            said = f"and {printable('.'.join(target))} is {shown(found.value)}, {found.unknown[()].why}"
            raise CannotBeTold(found.unknown[()]._replace(why=said))
        return found


def _target(written: str, path: Path) -> Path:
    """The path that is meant from where it is written."""
    dots = len(written) - len(written.lstrip("."))
    parts = [part.strip("[]") for part in _PART.findall(written)]
    if not parts or dots > len(path):
        raise CannotBeTold(Unknown("which leads nowhere"))
    above = path[: len(path) - dots] if dots else ()
    return (*above, *parts)
