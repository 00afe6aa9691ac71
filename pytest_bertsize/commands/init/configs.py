"""Propose a table for each config whose class is certain and that passes the gate today; list the other configs."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize.builder.published import find_in, in_catalogue
from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.commands.init.classes import Code
from pytest_bertsize.commands.init.files import CONFIGS, Files
from pytest_bertsize.commands.init.project import write_table
from pytest_bertsize.config import yaml
from pytest_bertsize.config.json_and_toml import load_json, parse_json
from pytest_bertsize.config.keys import SYNONYMS
from pytest_bertsize.config.parts import LIBRARY, MODULES
from pytest_bertsize.config.source import Disk, in_file
from pytest_bertsize.files import LFS_POINTER
from pytest_bertsize.findings import Unusable
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import PARAMETERS, parse_count, restated
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.model import ADAPTER, NAMES, YAML
from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.examine import Subject

GOOGLES = ("vocab_size", "hidden_size", "num_hidden_layers")  # keys of Google's bert_config.json
# The possible ends of a class's name, by PEFT's name of the task.
ENDS = {
    "SEQ_CLS": ("ForSequenceClassification",),
    "TOKEN_CLS": ("ForTokenClassification",),
    "QUESTION_ANS": ("ForQuestionAnswering",),
    "CAUSAL_LM": ("ForCausalLM", "LMHeadModel"),
    "SEQ_2_SEQ_LM": ("ForConditionalGeneration",),
}
# Parts of a path that name no model.
SAYS_NOTHING = frozenset(
    {
        *("config", "configs", "configuration", "conf", "cfg", "model", "models", "src", "params", "hparams", "json"),
        *("train", "training", "args", "arguments", "settings", "data", "resources", "assets", "checkpoints"),
    }
)
LONGEST = 100  # the most characters of a model's name
_DIGITS = range(3, 6)  # a limit's digits: rounding to three adds at most 1 %; more than five are hard to read
_SIZES = {name for symbol, names in SYNONYMS.items() if symbol in "VDLAI" for name in names}
_WORTH_READING = re.compile(rb"model_type|layer|vocab|peft_type|sentence_transformers")
_STEP = re.compile(r"(^|/)(checkpoint|ckpt|global_step|step|epoch)[-_]?\d+/", re.IGNORECASE)
# Characters that no path in a table's ``config`` can have: they have a special meaning there, or are no UTF-8.
_UNNAMEABLE = re.compile("[*?[#\ud800-\udfff]")


class Candidate(Struct, frozen=True):
    """A file, a folder or an adapter for which a table can be proposed."""

    reference: str  # the file or folder that a table names as its config, or a name of the hub
    family: str
    architecture: str = ""  # the class that the table has to name; ``""`` if the config names it
    adapter: str = ""

    @property
    def place(self) -> str:
        """The file or folder that the table is proposed for."""
        return self.adapter or self.reference

    def write(self, name: str, limits: Sequence[tuple[str, str]] = ()) -> str:
        """Return the table as TOML."""
        said = {"config": self.reference, "architecture": self.architecture, "adapter": self.adapter}
        return write_table(name, (f"{key} = {inline(value)}" for key, value in said.items() if value), limits)


class Proposal:
    """The tables that are proposed for a project, and the lines to print beside them."""

    def __init__(self, project: Project, registry: Registry) -> None:
        """Read every file that can be a config, and propose a table for each that is not declared yet."""
        self.tables: dict[str, str] = {}  # the proposed tables by the names of their models
        self._project, self._registry, self._root = project, registry, project.settings.root
        self._files = Files(project.settings.root)
        self.code = Code(self._files, registry)
        self._certain: list[Candidate] = []
        # The reason why no table is proposed, with the fix, by place; ``:LINE`` is a line in a file.
        self.by_hand: dict[str, str] = {}
        self._unknown: dict[str, list[str]] = defaultdict(list)  # files of unknown families, by their model_type
        self._parts: set[str] = set()  # configs that a folder of modules or an adapter uses, no models of their own
        self._copies: dict[str, list[str]] = defaultdict(list)  # configs in checkpoints, by the config that they copy
        for file, content in self._files.read_all(self._files.configs):
            if PurePosixPath(file).name in NAMES or _WORTH_READING.search(content):
                self.by_hand |= {file: why} if (why := self._read(file, content)) else {}
        self._declared = {*_list_declared(project)}
        self._propose()
        files = {place: re.sub(r":\d+$", "", place) for place in self.by_hand}
        left = {place for place, file in files.items() if file in self._parts or self._is_declared(file)}
        self.by_hand = {place: why for place, why in self.by_hand.items() if place not in left}

    def describe_by_hand(self) -> list[str]:
        """Write one sentence for all places with the same reason."""
        by_reason: dict[str, list[str]] = defaultdict(list)
        for place, why in self.by_hand.items():
            by_reason[why].append(printable(place))
        return [f"{listed(those, 1)}: {why}" for why, those in by_reason.items()]

    def describe_left_out(self) -> Iterator[str]:
        for original, those in self._copies.items():
            yield f"{listed(those, 1)} in a checkpoint folder, a copy of {printable(original)}"
        for family, those in self._unknown.items():
            yield f"{listed(those, 1)}, of the family {printable(family)}, which is not known"
        if left := self._files.left_out:
            what = "init reads no tests, symlinks, other projects, large files or Python that this one cannot parse"
            yield f"{listed(left, 1)}: {what}"

    # the tables

    def _propose(self) -> None:
        counted: list[tuple[Candidate, Subject, Derivation]] = []
        rest = [each for each in self._certain if each.place not in self._parts]
        for each in sorted(rest, key=lambda each: (each.place.count("/"), each.place)):
            settings = self._project.parse_beside(each.write("model"))
            subject = examine(settings.models["model"], settings, self._registry)
            if subject.derivation and not subject.errors:
                counted.append((each, subject, subject.derivation))
            elif not self._is_declared(each.place):
                self._note_mistake(subject.errors, each.place)
        known: dict[str, str] = {}
        for each, subject, derivation in sorted(counted, key=lambda one: _STEP.search(one[0].place) is not None):
            original = known.setdefault(_describe_shape(derivation), each.place)
            if self._is_declared(each.place):
                continue
            if original != each.place and _STEP.search(each.place):
                self._copies[original].append(printable(each.place))
                continue
            name = make_name(each.place, each.family, {*self._project.settings.models, *self.tables})
            table = each.write(name, [*list_limits(derivation)])
            settings = self._project.parse_beside(table)
            review = conclude_unbuilt(replace(subject, model=settings.models[name], settings=settings))
            if wrong := [*review.errors, *(each for each in review.findings if each.kind == "insensitive-budget")]:
                self.by_hand[each.place] = f"{wrong[0].message}; {wrong[0].fix}"
            else:
                self.tables[name] = table

    def _is_declared(self, place: str) -> bool:
        file, _, inner = place.partition("#")
        return ((self._root / file).resolve(), inner) in self._declared

    def _note_mistake(self, findings: Sequence[Finding], file: str) -> None:
        """Note the first mistake in a config, and the number of the others."""
        first, *rest = findings
        self.by_hand[first.place or file] = f"{first.message}; {first.fix}{f' (and {len(rest)} more)' if rest else ''}"

    # the configs

    def _read(self, file: str, content: bytes) -> str:
        """Note the file as a candidate, or return why its class is uncertain; ``""`` also if it is no config."""
        name = PurePosixPath(file).name
        if _UNNAMEABLE.search(file):
            return "no table can name this path: rename it" if b"model_type" in content else ""
        parse = yaml.parse if file.lower().endswith(YAML) else parse_json
        try:
            if name == MODULES:
                self._read_modules(PurePosixPath(file).parent, load_json(content, printable(file)))
                return ""
            data = parse(content, printable(file), "").data
        except Unusable as unusable:
            is_meant = name in NAMES and (b"hidden_size" in content or content.startswith(LFS_POINTER))
            if is_meant or name in {ADAPTER, MODULES}:
                self._note_mistake(unusable.findings, file)
            return ""
        return self._read_adapter(file, data) if name == ADAPTER else self._read_config(file, data)

    def _read_config(self, file: str, data: dict[str, Any]) -> str:
        family, named = data.get("model_type"), data.get("architectures")
        if family is None and all(type(data.get(key)) is int for key in GOOGLES):
            likely = self._registry.likely(data)[:3]
            families = " or ".join(f'"{each}"' for each in likely)
            why = f"neither a family nor a class is named: declare it with architecture, and with family = {families}"
            return next(filter(None, map(self.code.explain_own, likely)), why)
        is_saved = PurePosixPath(file).name in NAMES or "transformers_version" in data
        if not isinstance(family, str) or not (named or (is_saved and _SIZES & data.keys())):
            return ""
        if not self._registry.families(family):
            self._unknown[family].append(printable(file))
            return ""
        yours = "declare it with architecture, the class that your code builds"
        if not isinstance(named, list) or len(named) != 1:
            return f"{'several classes are' if named else 'no class is'} named: {yours}"
        name = str(named[0])
        if self._registry.find(family, name) is not None and self.code.is_foreign(name):
            return f"no Python file here names {name}: {yours}"
        return self._add(Candidate(file, family))

    def _add(self, candidate: Candidate) -> str:
        """Add a candidate, unless the project has classes of its family."""
        own = self.code.explain_own(candidate.family)
        self._certain += [] if own else [candidate]
        return own

    def _read_adapter(self, file: str, data: dict[str, Any]) -> str:
        self._parts |= {str(PurePosixPath(file).parent / name) for name in NAMES}
        base, task = str(data.get("base_model_name_or_path")), str(data.get("task_type"))
        how = f"declare it with config, architecture and adapter = {inline(file)}"
        unknown = f"its base model or its class is unknown: {how}"
        hub = self._project.settings.hub
        config = None
        if os.path.lexists(self._root / base) or find_in(hub, base) or in_catalogue(base):
            with suppress(Unusable):
                config = in_file(Disk(self._root, hub), base)
        if config is None:
            return unknown
        family = str(config.model_type)
        known = [each.name for found in self._registry.families(family) for each in found.architectures]
        of_task = [name for name in known if name.endswith(ENDS.get(task, ()))]
        mapping = data.get("auto_mapping")
        said = mapping.get("base_model_class") if isinstance(mapping, dict) else None
        certain = [said] if said in known else [name for name in config.architectures if name in of_task]
        if not certain and task not in {"SEQ_CLS", "TOKEN_CLS"}:  # which have a number of labels
            certain = of_task
        if len(certain) != 1:
            return self.code.explain_own(family) or unknown
        return self._add(Candidate(base, family, "" if [*config.architectures] == certain else certain[0], file))

    def _read_modules(self, folder: PurePosixPath, found: object) -> None:
        """Note a folder if it is that of a model of sentence-transformers, with its modules."""
        entries = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        if any(str(each.get("type")).startswith(LIBRARY) for each in entries):
            self._parts |= {str(folder / str(entry.get("path")) / name) for entry in entries for name in NAMES}
            self._certain.append(Candidate(str(folder), "sentence-transformers"))


def _list_declared(project: Project) -> Iterator[tuple[Path, str]]:
    """Yield the file of each declared config or adapter, and the key of a config inside the file, else ``""``."""
    for model in project.settings.models.values():
        inner = model.config.partition("#")[2]
        places = [(model.file, inner), *((f"{model.file}/{name}", inner) for name in NAMES)] if model.file else []
        for name, path in [(model.adapter_file, "")] if model.adapter_file else places:
            with suppress(OSError, RuntimeError, ValueError):  # a NUL byte, a symlink loop: its model's mistake
                yield (project.settings.root / name).resolve(), path


def _describe_shape(derivation: Derivation) -> str:
    """Return the class, and all sizes and switches that change the count, except the number of labels."""
    form, keys = derivation.form, derivation.family.keys
    sizes = {symbol: size for symbol, size in form.dims.sizes.items() if symbol != "C"}
    switches = [each.key for those in (keys.switches, keys.choices, keys.lists) for each in those]
    return str((form.architecture.name, sizes, [(name, form.dims.switches.get(name)) for name in switches]))


# names: from the folder or the file, each unique


def make_name(path: str, family: str, taken: Collection[str]) -> str:
    """Make a new model's name from a path, ``encoder`` for ``models/encoder/config.json``, else from the family."""
    file = PurePosixPath(path)
    is_usual = file.name in {NAMES[0], ADAPTER} or (file.name in NAMES and file.parent.name)
    stem = "" if is_usual else file.name.removesuffix(file.suffix if file.suffix in CONFIGS else "")
    parts = [name for part in (stem, *reversed(file.parent.parts)) if (name := _make_valid(part))]
    telling = [name for name in parts if name.lower() not in SAYS_NOTHING]
    name = telling[0] if telling else _make_valid(family) or "model"
    longer = (f"{other}-{name}"[:LONGEST] for other in (*telling, *parts) if other != name)
    numbered = (f"{name[:90]}-{number}" for number in count(2))
    return next(each for each in chain([name], longer, numbered) if each not in taken)


def _make_valid(part: str) -> str:
    """Return a part of a path as a valid test id, without an ending such as ``-config``."""
    name = re.sub(r"[^\w.+@-]+", "-", part)
    name = re.sub(r"[._-]conf(ig)?$", "", name, flags=re.IGNORECASE)
    return re.sub(r"^\W+|-+$", "", name)[:LONGEST]


# limits a little above today's counts, as an author writes them


def list_limits(derivation: Derivation) -> Iterator[tuple[str, str]]:
    """Yield limits on the total and top-level components, lower than one more layer needs; 0 for absent ones."""
    form, variants = derivation.form, Variants(derivation)
    deeper = [varied for _, varied in variants.deepened()]
    parts = [name for name, count in form.components.items() if "." not in name and count]
    for component in (TOTAL, *([TRAINABLE] if "adapters" in parts else []), *parts):
        larger = [each.count_of(component) for each in deeper if each.count_of(component) > form.count_of(component)]
        yield component, write_limit_above(form.count_of(component), min(larger, default=None))
    known = derivation.family.component_names(form.dims)
    yield from ((name, "0") for name in known if "." not in name and name not in parts)


def write_limit_above(count: int, too_much: int | None = None) -> str:
    """Return ``'"110M"'`` for ``109_482_240``: round up to as few digits as keep the limit below ``too_much``."""
    for digits in _DIGITS if count >= 10 ** _DIGITS[0] else ():
        limit = restated(count, "max", f"1.{'0' * (digits - 1)}K", PARAMETERS)
        if too_much is None or parse_count(limit.strip('"')) < too_much:
            return limit
    return f"{count:_}"
