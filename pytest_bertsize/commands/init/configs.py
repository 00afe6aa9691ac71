"""Find the configs of a project: those whose class is certain, and those left to the user."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from pytest_bertsize.builder.published import find_in, in_catalogue
from pytest_bertsize.config import yaml
from pytest_bertsize.config.parts import LIBRARY, MODULES
from pytest_bertsize.config.source import Disk, in_file
from pytest_bertsize.config.text_files import parse_json
from pytest_bertsize.config.vocabulary import SYNONYMS
from pytest_bertsize.files import LFS_POINTER
from pytest_bertsize.findings import Unusable
from pytest_bertsize.table.model import ADAPTER, NAMES
from pytest_bertsize.table.toml import quoted
from pytest_bertsize.wording import listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.classes import Code
    from pytest_bertsize.commands.init.files import Files
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.findings import Finding

GOOGLES = ("vocab_size", "hidden_size", "num_hidden_layers")
"""Keys of Google's bert_config.json, which names neither a family nor a class."""
ENDS = {
    "SEQ_CLS": ("ForSequenceClassification",),
    "TOKEN_CLS": ("ForTokenClassification",),
    "QUESTION_ANS": ("ForQuestionAnswering",),
    "CAUSAL_LM": ("ForCausalLM", "LMHeadModel"),
    "SEQ_2_SEQ_LM": ("ForConditionalGeneration",),
}
"""The possible ends of a class's name, by PEFT's name of the task."""
LABELLED = ("SEQ_CLS", "TOKEN_CLS")
YOURS = "the class that your code builds"
_SIZES = {name for symbol, names in SYNONYMS.items() if symbol in "VDLAI" for name in names}
_WORTH_READING = re.compile(rb"model_type|layer|vocab|peft_type|sentence_transformers")
_UNNAMEABLE = "*?[#"
"""Characters that no path in a table's ``config`` can have, since they have a special meaning there."""


class Candidate(Struct, frozen=True):
    """A file, a folder or an adapter for which a table can be proposed."""

    reference: str
    """The file or folder that a table names as its config, or a name of the hub."""
    family: str
    architecture: str = ""
    """The class that the table has to name; ``""`` if the config names it."""
    adapter: str = ""

    @property
    def place(self) -> str:
        """Return the file or folder that the table is proposed for."""
        return self.adapter or self.reference


class ByHand(NamedTuple):
    """A config, or a file that may be one, for which no table is proposed."""

    place: str
    """The file, with ``:LINE`` or ``#KEY`` for a place inside it."""
    why: str
    """The reason, and the fix."""

    @property
    def reference(self) -> str:
        """Return the place without its line: the file and, after ``#``, the key of a config in it."""
        return re.sub(r":\d+$", "", self.place)


class Configs:
    """The configs of a project."""

    def __init__(self, files: Files, registry: Registry, code: Code, hub: Mapping[str, str]) -> None:
        """Read every file that can be a config.

        :param hub: the table's ``hub``: files of the project by names of the hub.
        """
        self.certain: list[Candidate] = []
        self.by_hand: list[ByHand] = []
        self.others: dict[str, list[str]] = defaultdict(list)
        """Files of unknown families, by their model_type."""
        self._root, self._registry, self._code, self._hub = files.root, registry, code, hub
        self._of_others: set[str] = set()
        """Configs that are not models of their own, because a folder of modules or an adapter uses them."""
        for file, content in files.read_all(files.configs, "JSON and YAML"):
            if PurePosixPath(file).name in NAMES or _WORTH_READING.search(content):
                self._read(file, content)
        self.certain = [each for each in self.certain if each.place not in self._of_others]
        self.by_hand = [each for each in self.by_hand if each.reference not in self._of_others]

    def _read(self, file: str, content: bytes) -> None:
        name = PurePosixPath(file).name
        if name == MODULES:
            self._read_modules(file, content)
            return
        parse = yaml.parse if file.lower().endswith(yaml.SUFFIXES) else parse_json
        try:
            data = parse(content, printable(file), "").data
        except Unusable as unusable:
            is_meant = name in NAMES and (b"hidden_size" in content or content.startswith(LFS_POINTER))
            if is_meant or name == ADAPTER:
                self.by_hand.append(explain(unusable.findings, file))
            return
        if not _can_be_named(file):
            if "model_type" in data:
                self._leave_by_hand(
                    file, f"no table can name this path: rename the part with one of {' '.join(_UNNAMEABLE)} in it"
                )
        elif name == ADAPTER:
            self._read_adapter(file, data)
        elif not self._read_config(file, data):
            self._read_inner(file, data)

    def _leave_by_hand(self, place: str, why: str) -> None:
        self.by_hand.append(ByHand(place, why))

    def _read_config(self, file: str, data: dict[str, object]) -> bool:
        """Return whether the top level of a file is a config; if it is, note the file."""
        family, named = data.get("model_type"), data.get("architectures")
        if family is None and all(type(data.get(key)) is int for key in GOOGLES):
            likely = self._registry.likely(data, file)[:3]
            families = " or ".join(f'"{each}"' for each in likely)
            why = f"neither a family nor a class is named: declare it with architecture, and with family = {families}"
            self._leave_by_hand(file, next(filter(None, map(self._explain_own, likely)), why))
            return True
        is_saved = PurePosixPath(file).name in NAMES or "transformers_version" in data
        if not isinstance(family, str) or not (named or (is_saved and _SIZES & data.keys())):
            return False
        if not self._registry.families(family):
            self.others[family].append(file)
        elif why := self._explain_doubt(family, named):
            self._leave_by_hand(file, why)
        else:
            self.certain.append(Candidate(file, family))
        return True

    def _explain_doubt(self, family: str, named: object) -> str:
        """Return why the class of a config, whose family is known, is uncertain; ``""`` if it is certain."""
        if not named:
            return f"no class is named: declare it with architecture, {YOURS}"
        if not isinstance(named, list) or len(named) != 1:
            return f"several classes are named: declare it with architecture, {YOURS}"
        name = str(named[0])
        if self._registry.find(family, name) is not None and self._code.is_foreign(name):
            return f"no Python file here names {name}: declare it with architecture, {YOURS}"
        return self._explain_own(family)

    def _explain_own(self, family: str) -> str:
        """Return why a config may be for a class of the project; ``""`` if the project has no class of this family."""
        file = self._code.own_families.get(family)
        what = f"{printable(file or '')} defines classes of the family {family}"
        return f"{what}: if this config is for one of them, declare that class by a factory" if file else ""

    def _read_inner(self, file: str, data: dict[str, object]) -> None:
        """Note the configs of known families inside a file, but no config inside another config."""
        waiting: list[tuple[str, object]] = [*data.items()]
        for path, value in waiting:
            if not isinstance(value, dict):
                continue
            family = value.get("model_type")
            if not (isinstance(family, str) and _SIZES & value.keys()):
                waiting += [(f"{path}.{key}", each) for key, each in value.items() if "." not in key]
            elif self._registry.families(family):
                why = f"a config of the family {family} inside a file: if your code builds it, declare it by this place"
                self._leave_by_hand(f"{file}#{path}", why)

    def _read_adapter(self, file: str, data: dict[str, Any]) -> None:
        self._of_others |= {str(PurePosixPath(file).parent / name) for name in NAMES}
        base, task = data.get("base_model_name_or_path"), data.get("task_type")
        config = self._read_base(base) if isinstance(base, str) else None
        if config is None:
            where = "is neither in the project nor in the catalogue"
            why = f"its base model, {shown(base)}, {where}: declare it with config, architecture and adapter"
            self._leave_by_hand(file, why)
            return
        family = str(config.model_type)
        known = [each.name for found in self._registry.families(family) for each in found.architectures]
        of_task = [name for name in known if name.endswith(ENDS.get(str(task), ()))]
        said = (data.get("auto_mapping") or {}).get("base_model_class")
        certain = [said] if said in known else [name for name in config.architectures if name in of_task]
        certain = certain or (of_task if task not in LABELLED else [])
        if own := self._explain_own(family):
            self._leave_by_hand(file, own)
        elif len(certain) == 1:
            architecture = "" if [*config.architectures] == certain else certain[0]
            self.certain.append(Candidate(str(base), family, architecture, file))
        else:
            likely = f" = {quoted(of_task[0])}" if of_task else ""
            labels = ", overrides = { num_labels = … }" if task in LABELLED else ""
            keys = f"config = {quoted(str(base))}, architecture{likely}{labels} and adapter = {quoted(file)}"
            self._leave_by_hand(file, f"its class and its number of labels are unknown: declare it with {keys}")

    def _read_base(self, base: str) -> ModelConfig | None:
        """Return the config of an adapter's base model, from the project or the catalogue, else ``None``."""
        is_known = os.path.lexists(self._root / base) or find_in(self._hub, base) or in_catalogue(base)
        try:
            return in_file(Disk(self._root, self._hub), base) if base and is_known else None
        except Unusable:
            return None

    def _read_modules(self, file: str, content: bytes) -> None:
        """Note the folder of ``file`` if the file lists the modules of a model of sentence-transformers."""
        try:
            entries = json.loads(content)
        except (ValueError, RecursionError):
            return
        entries = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
        if not any(str(each.get("type")).startswith(LIBRARY) for each in entries):
            return
        folder = PurePosixPath(file).parent
        for entry in entries:
            self._of_others |= {str(folder / str(entry.get("path")) / name) for name in NAMES}
        if _can_be_named(file):
            self.certain.append(Candidate(str(folder), "sentence-transformers"))


def explain(findings: Sequence[Finding], file: str) -> ByHand:
    """Return the line for an unusable config: its first mistake, and the number of the others."""
    first, *rest = findings
    more = f" (and {len(rest)} more)" if rest else ""
    return ByHand(first.place or file, f"{first.message}; {first.fix}{more}")


def describe_by_hand(places: Iterable[ByHand]) -> list[str]:
    """Write one sentence for all places with the same reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in places:
        by_reason[each.why].append(printable(each.place))
    return [f"{listed(those, 1)}: {why}" for why, those in by_reason.items()]


def describe_others(others: Mapping[str, list[str]]) -> Iterator[str]:
    """Write one sentence for all configs of unknown families."""
    named = (f"{printable(name)} ({listed([*map(printable, places)], 1)})" for name, places in others.items())
    if others:
        yield f"configs of unknown families: {', '.join(named)}"


def _can_be_named(path: str) -> bool:
    """Return whether a table can name a path: the path is UTF-8, and has none of the characters :data:`_UNNAMEABLE`."""
    return not any(mark in _UNNAMEABLE or "\ud800" <= mark <= "\udfff" for mark in path)
