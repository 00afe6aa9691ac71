"""YAML as OmegaConf and hydra read it: ``1e-12`` is a number, ``${…}`` another value, ``defaults`` other files.

Nothing of either library is imported, and nothing is run. What hydra composes is what it does for a config without a
command line: https://hydra.cc/docs/advanced/defaults_list/ (1.1 and newer, where a file without ``_self_`` comes last).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.config.hydra import composed
from pytest_bertsize.config.interpolation import CannotBeTold, Tree
from pytest_bertsize.config.model_config import ModelConfig, descend, fail, keys_of, not_plain, text_of
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.config.hydra import Beside, Layer
    from pytest_bertsize.config.interpolation import Unknown

_MARKS = re.compile(
    r"\$\{|^\s*+(?:-\s++)?_target_\s*+:|^\#\s*+@package\b|:[^\S\n]++\?\?\?[^\S\n]*+$|^defaults:[^\S\n]*+(?:\#.*+)?\n\s*+-\s",
    re.MULTILINE,
)
OF_HYDRA = "hydra"
"""What says how hydra itself runs: it is not handed to the code."""
_BY_PYYAML_A_STRING = re.compile(r"(?<![\w.'\"])[-+]?[0-9][0-9_]*+(?:\.[0-9_]*+)?[eE][-+]?[0-9]")


def is_marked(content: bytes) -> bool:
    """Whether a file says what only OmegaConf or hydra understands."""
    return _MARKS.search(content.decode("utf-8", "replace")) is not None


def is_read_otherwise(content: bytes) -> bool:
    """Whether a file without such a mark may mean something else to OmegaConf: ``1e-12``."""
    return _BY_PYYAML_A_STRING.search(content.decode("utf-8", "replace")) is not None


def parse(content: bytes, file: str, inner: str, location: str = "", beside: Beside | None = None) -> ModelConfig:
    """The bytes of a YAML file as a config.

    :param inner: what stands behind the ``#`` of a reference.
    :param location: the file's path, from which the files of its ``defaults`` are looked for.
    :param beside: reads these; ``None``: they are not read.
    :raises Unusable: when it cannot be composed; a value that cannot be told is in :attr:`ModelConfig.unknown`.
    """
    found = composed(content, file, str(PurePosixPath(location).parent), beside)
    key_path = keys_of(inner)
    if hole := found.hole_above(key_path):
        fail(file, *hole)
    tree = Tree(found.merged, found.names, found.missing)
    try:
        whole = tree.at(key_path)
    except KeyError:
        descend(found.merged, key_path, file)
        raise AssertionError("descend refuses what is not there") from None
    except CannotBeTold as cannot:
        fail(file, f"{printable(inner) or 'the file'} has a value {cannot.unknown.why}", cannot.unknown.fix)
    if () in whole.unknown:
        why = whole.unknown[()]
        fail(file, f"{printable(inner)} is {printable(str(whole.value))}, {why.why}", why.fix)
    value: object = whole.value
    for key in reversed(key_path):
        value = {key: value}
    data = _handed_over(descend(value, key_path, file), key_path)
    places = _Places(found.layers, key_path, data, file)
    if odd := not_plain(value):
        fail(file, odd.message, odd.fix, places.line(odd.path))
    unknown = _told(whole.unknown, data, key_path) | found.holes_in(key_path)
    return ModelConfig(
        places.file,
        key_path,
        data,
        text_of(content, file),
        hashlib.sha256(b"".join(found.contents)).hexdigest(),
        places.line,
        unknown=unknown,
        composed_by=file if places.file != file else "",
        place_of=places.place,
    )


def _handed_over(data: dict[str, object], key_path: tuple[str, ...]) -> dict[str, object]:
    """What code is given: not how hydra itself runs."""
    is_whole = not key_path and isinstance(data.get(OF_HYDRA), dict)
    return {key: each for key, each in data.items() if key != OF_HYDRA} if is_whole else data


def _told(
    unknown: Mapping[tuple[str, ...], Unknown], data: dict[str, object], key_path: tuple[str, ...]
) -> dict[tuple[str, ...], tuple[str, str]]:
    """Why each value that cannot be told cannot, by its whole path."""
    return {
        (*key_path, *path): (f"{printable('.'.join(path))} is {_raw(data, path)}, {each.why}", each.fix)
        for path, each in unknown.items()
        if key_path or path[0] in data
    }


def _raw(data: object, path: tuple[str, ...]) -> str:
    for part in path:
        data = data[int(part)] if isinstance(data, list) else data[part] if isinstance(data, dict) else data
    return printable(str(data))


@dataclass
class _Places:
    """Where the keys of an object stand, of which the last file that says one counts."""

    layers: list[Layer]
    key_path: tuple[str, ...]
    data: dict[str, object]
    named: str

    def __post_init__(self) -> None:
        files = {place[0] for key in self.data if (place := self.place((*self.key_path, key)))}
        self.file = files.pop() if len(files) == 1 else self.named

    def line(self, path: tuple[str, ...]) -> int | None:
        place = self.place(path)
        return place[1] if place and place[0] == self.file else None

    def place(self, path: tuple[str, ...]) -> tuple[str, int | None] | None:
        for layer in reversed(self.layers):
            depth = len(layer.package)
            if path[:depth] == layer.package and _has(layer.value, path[depth:]):
                return layer.file, layer.line_of(path[depth:])
        return None


def _has(value: object, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True
