"""What hydra composes of a config and the files that its ``defaults`` name: which files, in which order, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from pytest_bertsize.config import yaml
from pytest_bertsize.config.interpolation import MISSING, Unknown
from pytest_bertsize.config.model_config import DEEPEST, fail, text_of
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_bertsize.config.by_hub_name import Found

    Path: TypeAlias = tuple[str, ...]

SELF, GLOBAL, HERE = "_self_", "_global_", "_here_"
MOST_FILES = 100
COMPOSE = (
    'name the object in another file, or a function that returns what hydra.compose does, as in config = "module:make"'
)
_HEADER = re.compile(r"(?:[^\S\n]*+(?:\#(?![^\S\n]*+@package\b).*+)?\n)*+\#[^\S\n]*+@package[^\S\n]++(\S+)")
_CHOICE = re.compile(r"(?:(override|optional)\s+)?([^@\s]+)(?:@(\S+))?")
_FLOAT = re.compile(
    r"""^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)
    |\.[0-9_]+(?:[eE][-+][0-9]+)?
    |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
"""As ``omegaconf/_utils.py`` (2.3) has it, ``get_yaml_loader``."""
_TAG = "tag:yaml.org,2002:"
_OTHERS = {f"{_TAG}float", f"{_TAG}timestamp"}


class Loader(yaml.LOADER):  # type: ignore[misc]
    """PyYAML's as OmegaConf changes it: more is a number, and nothing a date."""

    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's own name)
        first: [each for each in resolvers if each[0] not in _OTHERS]
        for first, resolvers in yaml.LOADER.yaml_implicit_resolvers.items()
    }


Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+0123456789."))


class Beside(Protocol):
    """Reads a file that a config names."""

    def __call__(self, location: str) -> Found | None:
        """``None`` where there is none."""


class Layer(NamedTuple):
    """What one file says, and where it goes."""

    package: Path
    value: Mapping[str, object]
    file: str
    line_of: Callable[[Path], int | None]


class _Default(NamedTuple):
    """One entry of a ``defaults`` list."""

    word: str
    """``override``, ``optional`` or ``""``."""
    group: str
    """As written; ``""`` for a file of the same group."""
    package: str | None
    names: Sequence[object]
    line: int
    written: str


def composed(content: bytes, file: str, folder: str, beside: Beside | None) -> Composition:
    """A config with all that its ``defaults`` name.

    :param folder: the folder of hydra's configs, in which the file is.
    """
    found = Composition(beside, folder)
    found.add(content, file)
    if found.chosen:  # by a file that may have come later than the one in whose place it puts another
        found = Composition(beside, folder, chosen=found.chosen)
        found.add(content, file)
    return found


@dataclass
class Composition:
    """A config on its way through the files that it names."""

    beside: Beside | None
    folder: str
    layers: list[Layer] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    merged: dict[str, object] = field(default_factory=dict)
    chosen: dict[tuple[str, str | None], Sequence[object]] = field(default_factory=dict)
    """Groups of which a file says ``override``, and what it chooses; the outermost counts."""
    _holes: dict[Path, tuple[str, str, int]] = field(default_factory=dict)
    """By package: what could not be read into it."""

    @property
    def names(self) -> str:
        """What messages call it."""
        files = list(dict.fromkeys(layer.file for layer in self.layers))
        return files[0] if len(files) == 1 else f"{files[-1]} and the files of its defaults"

    def add(self, content: bytes, file: str, group: str = "", package: Path = ()) -> None:
        """One file, and before or after it those that it names.

        :param group: the folder of hydra's that it is of.
        :param package: the keys that lead to where it goes.
        """
        if len(self.contents) >= MOST_FILES:
            fail(file, f"its defaults name more than {MOST_FILES} files", COMPOSE)
        self.contents.append(content)
        text = text_of(content, file)
        document = yaml.Document(file, Loader)
        root = document.composed(text) if re.search(r"^[^\S\n]*+[^#\s]", text, re.MULTILINE) else None
        value = {} if root is None else document.value(root, ()).value
        if not isinstance(value, dict):
            return self._no_object(file, package)
        own = Layer(package, value, file, partial(document.line_of, root))
        defaults = _defaults(document, root, value) if root is not None else None
        if defaults is None:
            self._merge(own)
            return None
        own = own._replace(value={key: each for key, each in value.items() if key != "defaults"})
        for each in defaults:
            if each.word == "override":
                self.chosen.setdefault((_absolute(group, each.group), each.package), each.names)
        for each in defaults:
            if each.names == [SELF]:
                self._merge(own)
            elif each.word != "override":
                self._default(each, group, package)
        if not any(each.names == [SELF] for each in defaults):
            self._merge(own)
        return None

    def _no_object(self, file: str, package: Path) -> None:
        """A list, such as of no callbacks: a mistake for who reads the key that it is at."""
        message, fix = "the file holds no object", "name a model's config"
        if not package:
            fail(file, message, fix)
        self._holes[package] = f"of {file}: {message}", fix, 1

    def _default(self, each: _Default, group: str, package: Path) -> None:
        inner = _absolute(group, each.group)
        names = self.chosen.get((inner, each.package), each.names)
        for name in names:
            bare, folder = str(name), inner
            if not each.group and isinstance(name, str) and "/" in name:
                folder = _absolute(group, bare.rpartition("/")[0])
                place, bare = _below(package, bare.rpartition("/")[0]), bare.rpartition("/")[2]
            else:
                place = _below(package, each.group)
            if not isinstance(name, str) or name == MISSING or "${" in name:
                self._hole(place, each, f"of {each.written} only the command line can tell the file")
                continue
            path = normpath(join(self.folder, folder, bare if bare.endswith(yaml.SUFFIXES) else f"{bare}.yaml"))
            found = self.beside(path) if self.beside else None
            if found is None:
                if each.word != "optional":
                    self._hole(place, each, f"{each.written} names {printable(path)}, which is no file here")
                continue
            said = each.package or _header(found.content)
            if said is not None:
                place = _packaged(package, folder, said)
            self.add(found.content, found.file, folder, place)

    def _hole(self, package: Path, each: _Default, why: str) -> None:
        self._holes.setdefault(package, (why, COMPOSE, each.line))

    def _merge(self, layer: Layer) -> None:
        if len(layer.package) > DEEPEST:
            fail(layer.file, f"its package has more than {DEEPEST} keys, one in another", COMPOSE)
        self.layers.append(layer)
        value: Any = layer.value
        for key in reversed(layer.package):
            value = {key: value}
        self.merged = _together(self.merged, value)

    def hole_above(self, path: Path) -> tuple[str, str, int] | None:
        """Why an object may lack more than one of its keys."""
        return next((hole for package, hole in self._holes.items() if path[: len(package)] == package), None)

    def holes_in(self, path: Path) -> dict[Path, tuple[str, str]]:
        """The keys of an object that another file would say."""
        return {at: hole[:2] for at, hole in self._holes.items() if at[: len(path)] == path}

    def missing(self, path: Path) -> Unknown | None:
        """Why a path is not there, where another file could have had it."""
        hole = self.hole_above(path)
        return Unknown(f"and {hole[0]}", hole[1]) if hole else None


def _defaults(document: yaml.Document, root: Any, value: Mapping[str, object]) -> list[_Default] | None:
    """The entries of a list that hydra would take for one; ``None`` for a file that has none."""
    listed = value.get("defaults")
    if not isinstance(listed, list) or not listed:
        return None
    nodes = document.at(root, ("defaults",)).value
    found = [_default_of(each, node.start_mark.line + 1) for each, node in zip(listed, nodes, strict=True)]
    return None if None in found else [each for each in found if each]


def _default_of(entry: object, line: int) -> _Default | None:
    if isinstance(entry, str):
        name, at, package = entry.partition("@")
        word, name = ("optional", name[9:].strip()) if name.startswith("optional ") else ("", name)
        return _Default(word, "", package if at else None, [name], line, printable(entry))
    if not isinstance(entry, dict) or len(entry) != 1:
        return None
    ((key, names),) = entry.items()
    parts = _CHOICE.fullmatch(key)
    if parts is None or not isinstance(names, str | list | None):
        return None
    listed = [] if names is None else names if isinstance(names, list) else [names]
    return _Default(parts[1] or "", parts[2], parts[3], listed, line, printable(f"{key}: {names}"))


def _absolute(group: str, written: str) -> str:
    return written[1:] if written.startswith("/") else normpath(join(group, written)) if written or group else ""


def _below(package: Path, group: str) -> Path:
    return (*package, *filter(None, group.split("/")))


def _header(content: bytes) -> str | None:
    """``# @package _global_`` above everything else."""
    found = _HEADER.match(content.decode("utf-8", "replace"))
    return found[1] if found else None


def _packaged(package: Path, group: str, written: str) -> Path:
    """Where a file goes that says so, or whose entry does."""
    parts = [*package]
    for part in written.split("."):
        if part == GLOBAL:
            parts = []
        elif part == "_group_":
            parts += filter(None, group.split("/"))
        elif part != HERE:
            parts.append(part)
    return tuple(parts)


def _together(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Two objects as OmegaConf merges them: what is asked for on the command line takes nothing away."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            found[key] = _together(old, value)
        elif value != MISSING or key not in found:
            found[key] = value
    return found
