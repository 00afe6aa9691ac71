"""The configs of a project: what in its files is one, of which family, and what can only be told by hand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config import file_signatures, model_config
from pytest_bertsize.config import yaml as yaml_config
from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.config.other_keys import by_another_name, is_withheld, snake
from pytest_bertsize.config.parts import MODULES
from pytest_bertsize.config.source import read_file
from pytest_bertsize.config.vocabulary import INERT, SYNONYMS
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.closed_forms.family import Family
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.findings import Finding

GOOGLES = ("vocab_size", "hidden_size", "num_hidden_layers")
"""Without a model_type, an object with these keys has the sizes of a BERT, as Google's bert_config.json has."""
SIZES = frozenset("VDLAI")
"""Symbols of which a config has at least one; a script that trains has a max_seq_length as well."""
MOST_CONFIGS = 500
_SYMBOLS = {name: symbol for symbol, names in SYNONYMS.items() for name in names if symbol != LABELS}
_WORDS = (
    re.compile("layer"),
    re.compile("head"),
    re.compile("hidden|emb|model|width"),
    re.compile("ff|feed|inner|inter"),
)
"""What each of the four sizes of a layer, and how many there are, is called by one name or another."""
_ENCODER = re.compile("bert|transformer|encoder|electra", re.IGNORECASE)
_UNREADABLE = "*?[#"
"""Characters of a path that a table would read as something else."""


@dataclass(frozen=True)
class Found:
    """A config of a family that is known."""

    reference: str
    """As a table names it: ``models/config.json``, ``train.json#model.bert_config``."""
    config: ModelConfig
    family: str | None = None
    """What the table has to say, where the file has no model_type."""

    @property
    def file(self) -> str:
        return self.reference.partition("#")[0]

    @cached_property
    def content(self) -> str:
        """What the config says that could matter to a count; equal where one is a copy of the other."""
        data = self.config.data
        left = {name: data[name] for name in data if name not in INERT - {"model_type", "architectures"}}
        return json.dumps(left, sort_keys=True, default=str)


class ByHand(NamedTuple):
    """What is or may be a model, and is not proposed."""

    reference: str
    why: str
    """A sentence that names it."""


@dataclass
class Search:
    """What was found in a project."""

    found: list[Found] = field(default_factory=list)
    by_hand: list[ByHand] = field(default_factory=list)
    jsonnet: list[Finding] = field(default_factory=list)
    """Files that are jsonnet by another name, and speak of a BERT."""
    told: set[tuple[str, ...]] = field(default_factory=set)
    """Names of sizes that were told."""
    others: dict[str, list[str]] = field(default_factory=dict)
    """Configs by their model_type, of families that are not known."""


def search(files: Listed, registry: Registry) -> Search:
    """Look for configs in every file that can hold one."""
    found = Search()
    for file, content in files.read():
        if config := _object(file, content, found):
            _Looking(file, config, found, registry).through(config.data)
        if len(found.found) >= MOST_CONFIGS:
            of_many = 'declare the others by a pattern, as in config = "configs/*.json"'
            why = f"after {len(found.found):,} configs no more were looked for: {of_many}"
            found.by_hand.append(ByHand("", why))
            break
    if found.jsonnet:
        first, *rest = found.jsonnet
        more = f" (and {len(rest)} more)" if rest else ""
        found.by_hand.append(ByHand("", f"{first.sentence}{more}"))
    found.found = list(_with_folders(found, files))
    return found


def _with_folders(search: Search, files: Listed) -> Iterator[Found]:
    """What was found; in place of what stands in a folder of several modules, the folder."""
    folders = {str(PurePosixPath(file).parent) for file in files.files if PurePosixPath(file).name == MODULES}
    told: set[str] = set()
    for folder in sorted(folders - {"."}):
        if not any(each.file.startswith(f"{folder}/") for each in search.found):
            try:
                read_file(files.root, folder)
            except Unusable as unusable:
                search.by_hand += [ByHand(folder, finding.sentence) for finding in unusable.findings[:1]]
    for each in search.found:
        path = PurePosixPath(each.file)
        whole = next((str(above) for above in reversed(path.parents) if str(above) in folders), None)
        if whole is None or "#" in each.reference or path.name not in NAMES:
            yield each
        elif whole not in told:
            told.add(whole)
            try:
                yield Found(whole, read_file(files.root, whole))
            except Unusable as unusable:
                search.by_hand += [ByHand(whole, finding.sentence) for finding in unusable.findings]


def _object(file: str, content: bytes, search: Search) -> ModelConfig | None:
    """What a file says; a file that cannot be read is mentioned if it is likely to be meant for a config."""
    parse = yaml_config.parse if file.lower().endswith(yaml_config.SUFFIXES) else model_config.parse
    try:
        return parse(content, printable(file), "")
    except Unusable as unusable:
        usual = PurePosixPath(file).name in NAMES and (b"hidden_size" in content or file_signatures.by_bytes(content))
        is_list = content.lstrip().startswith((b"[", b"- "))  # of results, perhaps
        is_jsonnet = b"bert" in content.lower() and unusable.findings[0].message == file_signatures.JSONNET.message
        if is_jsonnet:
            search.jsonnet.append(unusable.findings[0])
        elif usual or (b"model_type" in content and not is_list):
            search.by_hand += [ByHand(file, finding.sentence) for finding in unusable.findings]
        return None


class _Looking:
    """For configs in one file."""

    def __init__(self, file: str, whole: ModelConfig, search: Search, registry: Registry) -> None:
        self.file = file
        self.whole = whole
        self.search = search
        self.registry = registry

    def through(self, root: dict[str, object]) -> None:
        """Every object that is a config; what stands inside one belongs to it."""
        waiting: list[tuple[tuple[str, ...], dict[str, object]]] = [((), root)]
        while waiting and len(self.search.found) < MOST_CONFIGS:
            path, data = waiting.pop()
            if not self._is_told(path, data):
                inner = [((*path, name), value) for name, value in data.items() if isinstance(value, dict)]
                waiting += reversed(inner)

    def _is_told(self, path: tuple[str, ...], data: dict[str, object]) -> bool:
        """Add the object to what was found, if it is a config."""
        named = data.get("model_type")
        if named is None:
            return self._without_type(path, data)
        if not isinstance(named, str):
            return False
        usual = not path and PurePosixPath(self.file).name in NAMES
        sized = bool(SIZES & symbols(data).keys()) or {"encoder", "decoder"} <= data.keys()
        if not self.registry.families(named):
            is_config = "architectures" in data or (sized and (usual or "transformers_version" in data))
            if is_config:
                self.search.others.setdefault(named, []).append(self._reference(path))
            return is_config
        if not (usual or sized or "architectures" in data):
            return False  # --model_type of a script
        family = self.registry.families(named)[0]
        if not usual and (own := names_of_its_own(data, family)) and lacks(data, family):
            self._add_own_names(path, own, lacks(data, family), family)
        else:
            self._add(path, data, None)
        return True

    def _without_type(self, path: tuple[str, ...], data: dict[str, object]) -> bool:
        """Google's bert_config.json says no model_type, and neither do the configs of many a training script."""
        if not all(type(data.get(name)) is int for name in GOOGLES):
            return self._under_other_names(path, data)
        by_class = self._family_by_class(data)
        likely = [by_class] if by_class else self.registry.likely(data, self._reference(path))
        family = likely[0]
        known = self.registry.families(family)[0]
        own = [*names_of_its_own(data, known), *(name for name in data if _is_ignored(name, data[name], known))]
        if own or likely[1:]:
            own = own or [name for name in data if name not in self.registry.families("bert")[0].keys.meaningful]
            said = "has a BERT's sizes, no model_type, and keys that a BERT does not have"
            families = " or ".join(f'family = "{name}"' for name in likely[:3])
            self._say(path, f"{said} ({_listed(own)}): declare it by hand with its family, as in {families}")
        else:
            self._add(path, data, family)
        return True

    def _family_by_class(self, data: Mapping[str, object]) -> str:
        named = data.get("architectures")
        names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        return next((found.name for name in names if (found := self.registry.family_of(name))), "")

    def _under_other_names(self, path: tuple[str, ...], data: dict[str, object]) -> bool:
        """Sizes by the names of another library: which model they are of, nobody can tell."""
        found = symbols(data)
        if not {"V", "D", "L"} <= found.keys():
            return self._by_words(path, data)
        meant = {name: SYNONYMS[symbol][0] for symbol, name in found.items() if name != SYNONYMS[symbol][0]}
        family = next(iter(self.registry.likely(data, self._reference(path))), "bert")
        if self.registry.families(family)[0].keys.meaningful >= set(found.values()):
            self._say(
                path, f'has the sizes of the family {family} and no model_type: declare it with family = "{family}"'
            )
            return True
        keys = ", ".join(f"{key(name)} = {quoted(meaning)}" for name, meaning in meant.items())
        said = f"has sizes under names of its own ({_listed(list(meant))}) and no model_type"
        self._say(path, f'{said}: if it is a BERT, declare it with family = "bert" and keys = {{ {keys} }}')
        return True

    def _by_words(self, path: tuple[str, ...], data: dict[str, object]) -> bool:
        """Sizes by words, without a vocabulary, in a file that is called after an encoder: each set of names once."""
        sizes = [
            name for name, value in data.items() if type(value) is int and any(each.search(name) for each in _WORDS)
        ]
        kinds = [each for each in _WORDS if any(each.search(name) for name in sizes)]
        names = tuple(sorted(sizes))
        if len(kinds) < len(_WORDS) or not _ENCODER.search(self._reference(path)) or names in self.search.told:
            return len(kinds) == len(_WORDS) and names in self.search.told
        self.search.told.add(names)
        are_known = set(sizes) <= self.registry.families("bert")[0].keys.meaningful
        said = "has the names of a BERT's sizes" if are_known else "has sizes under names of its own"
        said = f"{said} ({_listed(sizes)}), no vocabulary and no model_type"
        self._say(path, f"{said}: declare what reads it by a factory, with this file as its config")
        return True

    def _add_own_names(self, path: tuple[str, ...], own: list[str], missing: list[str], family: Family) -> None:
        said = f"has names of its own ({_listed(own)}) and lacks {_listed(missing)}"
        meant = {name: size for name in own if (size := by_another_name(name, family.keys)) in missing}
        keys = ", ".join(f"{key(name)} = {quoted(size)}" for name, size in meant.items())
        left = [size for size in missing if size not in meant.values()]
        wrote = [f"keys = {{ {keys} }}"] if keys else []
        wrote += [f"overrides = {{ {key(left[0])} = … }}, or keys that say which name means it"] if left else []
        self._say(path, f"{said}: declare it by hand with {' and '.join(wrote)}")

    def _add(self, path: tuple[str, ...], data: dict[str, object], family: str | None) -> None:
        if any(not part or "." in part for part in path):
            self._say(path, "stands at a key with a dot, which no table can name: rename the key")
        elif any(mark in self.file for mark in _UNREADABLE) or not _is_text(self.file):
            marks = " ".join(_UNREADABLE)
            self._say(path, f"has a path that no table can name: rename what has one of {marks} in its name")
        else:
            config = replace(self.whole, key_path=path, data=data)
            self.search.found.append(Found(self._reference(path), config, family))

    def _say(self, path: tuple[str, ...], what: str) -> None:
        reference = self._reference(path)
        self.search.by_hand.append(ByHand(reference, f"{printable(reference)} {what}"))

    def _reference(self, path: tuple[str, ...]) -> str:
        return f"{self.file}#{'.'.join(path)}" if path else self.file


def symbols(data: Mapping[str, object]) -> dict[str, str]:
    """The sizes that an object has, by symbol, and the names that it has for them."""
    found: dict[str, str] = {}
    for name, value in data.items():
        if type(value) is int and (symbol := _SYMBOLS.get(snake(name))):
            found.setdefault(symbol, name)
    return found


def names_of_its_own(data: Mapping[str, object], family: Family) -> list[str]:
    """Whole numbers that the family knows nothing of: they may be its sizes under other names."""
    known = family.keys.known
    return [name for name, value in data.items() if type(value) is int and name not in known and not is_withheld(name)]


def _is_ignored(name: str, value: object, family: Family) -> bool:
    """Whether a whole number is one that the family ignores, and another family would not."""
    ignored = family.keys.all_ignored.get(name)
    return ignored is not None and type(value) is int and value not in ignored.harmless


def lacks(data: Mapping[str, object], family: Family) -> list[str]:
    """The sizes that a file does not say, and for which the library would take a number of its own."""
    sizes = [size for size in family.keys.sizes if size.default is not None]
    return [size.key for size in sizes if not {size.key, *size.aliases} & data.keys()]


def _listed(names: list[str]) -> str:
    return listed([*map(printable, names)], 6)


def _is_text(path: str) -> bool:
    """Whether a path can be written in TOML, which is UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def folded(others: Mapping[str, list[str]]) -> Iterator[str]:
    """One line for all configs of families that are not known."""
    said = (f"{printable(name)} ({listed([*map(printable, places)], 1)})" for name, places in others.items())
    if others:
        yield f"left out: not of a family that is known: {', '.join(said)}"
