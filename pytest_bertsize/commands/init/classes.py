"""Find the model classes that the project's Python makes: where each is called, and where it is defined."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.builder.published import in_catalogue, is_name
from pytest_bertsize.commands.init.names import Names, Origin, Source, Use, parse
from pytest_bertsize.wording import listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Files

LIBRARIES = ("transformers", "pytorch_transformers", "pytorch_pretrained_bert", "sentence_transformers")
MAKERS = frozenset({"from_pretrained", "from_config", "load_from_checkpoint"})
"""Methods of a class that make one."""
MOST_PARSED = 4 * 1024 * 1024
"""Bytes of Python, which take some seconds."""
_MODULE = re.compile(r"torch\.nn\.(\w+\.)*(Module|Sequential)|(pytorch_lightning|lightning)\.(\w+\.)*LightningModule")
_MODEL = re.compile(r"(?!TF|Flax)\w*(Model|For[A-Z]\w*|LMHead|SentenceTransformer|CrossEncoder)")
_NO_MODEL = re.compile(r"Collator|Dataset|Processor|Tokenizer|Trainer|Config|Output|Arguments")
_SAYS_LIBRARY = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:%s)\b" % b"|".join(map(str.encode, LIBRARIES)), re.MULTILINE
)
_SAYS_MODEL = re.compile(rb"transformers|pretrained|\bnn\.Module|torch\.nn|LightningModule|import[ \t]+\*")
_WORD = re.compile(rb"\b[A-Za-z_]\w*")
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)
_TRAINS = re.compile(r"train|tun(e|ing)|(^|_)(run|main|fit)", re.IGNORECASE)
_LOCAL = re.compile(r"\.|~|/|(path|your|output|model|checkpoint|save|data|ckpt|pretrain|result|run|tmp|weight|exp|log)")
"""First folders of paths on somebody's disk, which could be names of the hub by their letters."""


class Call(NamedTuple):
    """A place at which a class is made."""

    file: str
    line: int
    name: str
    """The class as it is written there, perhaps by an alias."""
    maker: str = ""
    """``.from_pretrained`` and the like, where one is called."""

    @property
    def place(self) -> str:
        return f"{printable(self.file)}:{self.line}"

    @property
    def rank(self) -> tuple[object, ...]:
        """Scripts that train come first, those near the root before others."""
        return not _TRAINS.search(PurePosixPath(self.file).stem), self.file.count("/"), self.file, self.line


class Class(NamedTuple):
    """A model class."""

    origin: Origin
    line: int
    """Its class statement; 0 for a class of a library."""
    call: Call | None
    """The likeliest of the places that make it; ``None`` where no call names it."""
    module: str
    """The module that it is imported from where it is made; ``""`` where none can be named."""
    folder: str
    """The folder in which that module is looked for; ``""`` for the root of the project."""

    @property
    def name(self) -> str:
        return self.origin.name.rpartition(".")[2]

    @property
    def rank(self) -> tuple[object, ...]:
        """The project's own classes that are made come first, the likeliest before others."""
        return self.call is None, not self.origin.file, self.call.rank if self.call else (), self.origin


class Code:
    """The Python of a project."""

    def __init__(self, files: Files, registry: Registry) -> None:
        self._root = files.root
        self._families = {
            architecture.name: family
            for family in registry.names
            for each in registry.families(family)
            for architecture in each.architectures
        }
        self._contents = dict(files.read_all(files.python, "Python"))
        self._sources = self._parse(files)
        self._names = Names(self._sources, self._contents)
        self._derived: dict[Origin, bool] = {}

    def _parse(self, files: Files) -> dict[str, Source]:
        """Parse what may define a model, then what names a class that is defined there."""
        found: dict[str, Source] = {}
        unread: list[str] = []
        waiting, size = dict(self._contents), 0
        some = [file for file, content in waiting.items() if _SAYS_MODEL.search(content)]
        while some and size <= MOST_PARSED:
            for file in some:
                content = waiting.pop(file)
                if (size := size + len(content)) > MOST_PARSED:
                    files.left_out.append(f"files of Python behind the first {MOST_PARSED >> 20} MB of them")
                    break
                if source := parse(content):
                    found[file] = source
                else:
                    unread.append(printable(file))
            classes = {name.encode() for source in found.values() for name in source.classes}
            some = [file for file, content in waiting.items() if not classes.isdisjoint(_WORD.findall(content))]
        if unread:
            files.left_out.append(f"{listed(unread, 1)}, which this Python cannot parse")
        return found

    # what the configs ask

    @cached_property
    def own_families(self) -> dict[str, str]:
        """Families of which the project has classes by the library's names, and a file that defines one."""
        found: dict[str, str] = {}
        for file, content in self._contents.items():
            names = (name.decode() for name in _CLASS.findall(content))
            families = [self._families[name] for name in names if name in self._families]
            if named := re.fullmatch(r"modeling_(\w+)", PurePosixPath(file).stem):
                families += [each for each in self._families.values() if re.sub(r"\W", "_", each) == named[1]]
            for family in families:
                found.setdefault(family, file)
        return found

    def is_foreign(self, architecture: str) -> bool:
        """Tell whether files use the library, and none names a class or the Auto class which makes it."""
        task = re.search(r"For[A-Z]\w*", architecture)
        auto = f"AutoModel{task[0]}" if task else "AutoModel"
        words = re.compile(rf"\b({architecture}|{auto}|AutoModelWithLMHead)\b".encode())
        contents = self._contents.values()
        return any(map(_SAYS_LIBRARY.search, contents)) and not any(map(words.search, contents))

    def describe_key(self, key: str) -> str:
        """Say which file reads a key that the library's class does not; ``""`` where none does."""
        name = re.escape(key)
        words = re.compile(rf"(?i:\w*(?:conf|cfg|config|args|params))\.{name}\b|([\"']){name}\1".encode())
        file = next((path for path, content in self._contents.items() if words.search(content)), "")
        what = f"no class of the library reads the key {shown(key)}, and {printable(file)} names it"
        return f"{what}: if you run a class of your own, declare that class by a factory" if file else ""

    # what is made

    def _is_module(self, origin: Origin | None) -> bool:
        """Follow the bases of a class to torch's module."""
        if origin is None:
            return False
        if not origin.file:
            return _MODULE.fullmatch(origin.name) is not None or _is_model_of_library(origin)
        if origin not in self._derived:
            self._derived[origin] = False  # where classes derive from each other in a circle
            self._derived[origin] = any(map(self._is_module, self._resolve_bases(origin)))
        return self._derived[origin]

    def _resolve_bases(self, origin: Origin) -> list[Origin | None]:
        statement = self._sources[origin.file].classes.get(origin.name)
        return [self._names.resolve(origin.file, base) for base in statement.bases] if statement else []

    @cached_property
    def _classes(self) -> list[Origin]:
        return [Origin(file, name) for file, source in self._sources.items() for name in source.classes]

    @cached_property
    def _resolved(self) -> list[tuple[str, Use, Origin, bool]]:
        """Every use that stands for something, and whether it is the whole of what is called."""
        found = []
        for file, source in self._sources.items():
            for use in source.uses:
                chain = use.chain[:-1] if len(use.chain) > 1 and use.chain[-1] in MAKERS else use.chain
                for end in range(len(chain), 0, -1):
                    if origin := self._names.resolve(file, chain[:end], use.owner):
                        found.append((file, use, origin, end == len(chain)))
                        break
        return found

    @cached_property
    def _models(self) -> set[Origin]:
        """Classes of the project that derive from a module, and hold a model of the library or make what does."""
        users: dict[Origin, set[Origin]] = defaultdict(set)
        holding: list[Origin] = []
        held = [(Origin(file, use.owner), used) for file, use, used, _ in self._resolved if use.owner]
        for owner, used in (*held, *((each, base) for each in self._classes for base in self._resolve_bases(each))):
            if used and (_is_model_of_library(used) or (used.name in self._families and self._is_module(used))):
                holding.append(owner)
            elif used and used.file:
                users[used].add(owner)
        reached: set[Origin] = set()
        while holding:
            if (each := holding.pop()) not in reached:
                reached.add(each)
                holding += users[each]
        return {
            each
            for each in reached.intersection(self._classes)
            if self._is_module(each) and not _LOSS.search(each.name)
        }

    def list_classes(self) -> list[Class]:
        """Every model class that is made outside of other modules, the project's own and the likeliest first.

        Behind them those that no call names and none derives from, such as those of a table of classes.
        """
        calls: dict[Origin, list[Call | None]] = defaultdict(list)
        mentioned: set[Origin | None] = {base for each in self._classes for base in self._resolve_bases(each)}
        for file, use, origin, is_whole in self._resolved:
            if not use.is_call:
                mentioned.discard(origin)
            elif is_whole and (origin in self._models or self._is_of_library(origin, use, file)):
                owner = Origin(file, use.owner)
                is_outside = owner == origin or not self._is_module(owner)
                calls[origin].append(_read_call(file, use) if is_outside else None)
        vendored = {each.file for each in self._classes if each.name in self._families}
        found = []
        for origin in {*self._models, *calls}:
            call = min(filter(None, calls[origin]), key=lambda each: each.rank, default=None)
            is_left = not calls[origin] and origin not in mentioned and origin.file not in vendored
            if (call or is_left) and not origin.name.endswith("PreTrainedModel"):
                line = self._sources[origin.file].classes[origin.name].line if origin.file else 0
                found.append(Class(origin, line, call, *self._find_import(origin, call.file if call else "")))
        return sorted(found, key=lambda each: each.rank)

    def _is_of_library(self, origin: Origin, use: Use, file: str) -> bool:
        """Tell a model of the library that has no name of the hub here, and is not made to convert a checkpoint."""
        is_elsewhere = PurePosixPath(file).stem.startswith("convert") or self._is_of_hub(use, file)
        return _is_model_of_library(origin) and not is_elsewhere

    def _find_import(self, origin: Origin, caller: str) -> tuple[str, str]:
        """Find the module from which a class is imported where it is made, and the folder of that module."""
        if not origin.file:
            return origin.name.rpartition(".")[0], ""
        path, imported = PurePosixPath(origin.file), self._sources[caller].imported if caller else set()
        folders = [each for each in self._names.list_folders(caller) if path.parts[: len(each)] == each]
        for folder in folders:
            parts = path.with_suffix("").parts[len(folder) :]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            is_meant = origin.file == caller or {*parts[:1]} & imported or folder == folders[-1]
            if is_meant and parts and all(map(str.isidentifier, parts)):
                return ".".join(parts), "/".join(folder)
        return "", ""

    def list_hub_names(self) -> dict[str, Call]:
        """Names of the hub that a model is made by, each with the likeliest place."""
        found: dict[str, Call] = {}
        for file, use, origin, is_whole in self._resolved:
            if is_whole and self._is_of_hub(use, file) and self._is_module(origin):
                call = _read_call(file, use)
                found[use.said] = min(call, found.get(use.said, call), key=lambda each: each.rank)
        return dict(sorted(found.items(), key=lambda each: each[1].rank))

    def _is_of_hub(self, use: Use, file: str) -> bool:
        """Tell a call that loads what a string names from one that loads a path of the project."""
        name, folders = use.said, (self._root, (self._root / file).parent)
        if use.chain[-1] != "from_pretrained" or not is_name(name):
            return False
        if any(os.path.lexists(folder / name) for folder in folders):
            return False
        return in_catalogue(name) is not None or ("/" in name and not _LOCAL.match(name.lower()))


def _read_call(file: str, use: Use) -> Call:
    *_, name = use.chain if len(use.chain) == 1 or use.chain[-1] not in MAKERS else use.chain[:-1]
    return Call(file, use.line, name, f".{use.chain[-1]}" if name != use.chain[-1] else "")


def _is_model_of_library(origin: Origin) -> bool:
    if origin.file:
        return False
    library, *modules, name = origin.name.split(".") if "." in origin.name else (origin.name, "")
    if library not in LIBRARIES or _NO_MODEL.search(name):
        return False
    in_modeling = any(each.startswith("modeling") for each in modules)
    return re.fullmatch(r"(?!TF|Flax)[A-Z]\w*" if in_modeling else _MODEL, name) is not None
