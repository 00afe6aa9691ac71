"""Find the model classes in the project's Python files by ``ast``, without running anything."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.builder.published import in_catalogue, is_name
from pytest_bertsize.wording import listed, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Files

LIBRARIES = ("transformers", "pytorch_transformers", "pytorch_pretrained_bert", "sentence_transformers")
MOST_PARSED = 4 * 1024 * 1024
"""The most bytes of Python to parse, which takes some seconds."""
_MODULE = re.compile(r"Module|Sequential|LightningModule")
"""Names of the classes of torch and Lightning from which a model derives."""
_MODEL = re.compile(r"(?!TF|Flax)\w*(Model|For[A-Z]\w*|LMHead|SentenceTransformer|CrossEncoder)")
_NO_MODEL = re.compile(r"Collator|Dataset|Processor|Tokenizer|Trainer|Config|Output|Arguments")
_SAYS_LIBRARY = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:%s)\b" % b"|".join(map(str.encode, LIBRARIES)), re.MULTILINE
)
_SAYS_MODEL = re.compile(rb"transformers|pretrained|\bnn\.Module|torch\.nn|LightningModule")
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)
_LOCAL = re.compile(r"\.|~|/|(path|your|output|model|checkpoint|save|data|ckpt|pretrain|result|run|tmp|weight|exp|log)")
"""Beginnings of paths on a disk that look like names of the hub."""


class Call(NamedTuple):
    """A call, outside the project's model classes, that makes a model of the library."""

    file: str
    line: int
    name: str
    """The name of the class in the library."""
    hub_name: str
    """The name on the hub of the model that the call loads; ``""`` if it loads none."""

    @property
    def place(self) -> str:
        return f"{printable(self.file)}:{self.line}"


class Class(NamedTuple):
    """A model class of the project."""

    file: str
    line: int
    name: str
    module: str
    """The module to import the class from; ``""`` if none can be named."""
    folder: str
    """The folder that has to be on Python's path for this import; ``""`` for the root of the project."""
    maker: str
    """The name to call: the class, or a function of its module that returns an instance and needs no argument."""


class _Definition(NamedTuple):
    """A class or a function at the top level of a file."""

    file: str
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    names: set[str]
    """Every name inside the definition, and each part of a dotted name."""
    bases: set[str]
    """The last part of the name of each base class."""
    holds: bool
    """True if a model of the library is among the names."""
    is_module: bool
    """True if a base is a model of the library or a module of torch."""


class Code:
    """The Python files of a project."""

    def __init__(self, files: Files, registry: Registry) -> None:
        self._root = files.root
        self._families = {
            architecture.name: family
            for family in registry.names
            for each in registry.families(family)
            for architecture in each.architectures
        }
        self._contents = dict(files.read_all(files.python, "Python"))
        self._trees = dict(self._parse(files))

    def _parse(self, files: Files) -> Iterator[tuple[str, ast.Module]]:
        """Yield each file that may define a model, with its syntax tree."""
        size, unread = 0, []
        for file, content in self._contents.items():
            if not _SAYS_MODEL.search(content):
                continue
            if (size := size + len(content)) > MOST_PARSED:
                files.left_out.append(f"Python files after the first {MOST_PARSED >> 20} MB")
                break
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    yield file, ast.parse(content)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                unread.append(printable(file))
        if unread:
            files.left_out.append(f"{listed(unread, 1)}, which this Python cannot parse")

    # questions of the configs

    @cached_property
    def own_families(self) -> dict[str, str]:
        """Return by family a file that defines a class with the library's name, or is ``modeling_FAMILY.py``."""
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
        """Return whether some file imports the library, but no file names ``architecture`` or its Auto class."""
        task = re.search(r"For[A-Z]\w*", architecture)
        auto = f"AutoModel{task[0]}" if task else "AutoModel"
        words = re.compile(rf"\b({architecture}|{auto}|AutoModelWithLMHead)\b".encode())
        contents = self._contents.values()
        return any(map(_SAYS_LIBRARY.search, contents)) and not any(map(words.search, contents))

    def describe_key(self, key: str) -> str:
        """Return a sentence on a file that names a key unknown to the library; ``""`` if no file names the key."""
        name = re.escape(key)
        words = re.compile(rf"(?i:\w*(?:conf|cfg|config|args|params))\.{name}\b|([\"']){name}\1".encode())
        file = next((path for path, content in self._contents.items() if words.search(content)), "")
        what = f"no class of the library reads the key {shown(key)}, but {printable(file)} names it"
        return f"{what}: if you run a class of your own, declare that class by a factory" if file else ""

    # classes and calls of the project

    @cached_property
    def _models(self) -> dict[str, dict[str, str]]:
        """Return the names that each file gives to models of the library, with the library's own names."""
        return {file: dict(_list_models(tree)) for file, tree in self._trees.items()}

    def list_classes(self) -> list[Class]:
        """Return the model classes that contain a model of the library and are not part of another such class."""
        definitions = [each for file, tree in self._trees.items() for each in self._list_definitions(file, tree)]
        holding = _reach({each.node.name for each in definitions if each.holds}, definitions, lambda each: each.names)
        of_torch = {each.node.name for each in definitions if each.is_module}
        modules = _reach(of_torch, definitions, lambda each: each.bases)
        models = [each for each in definitions if each.node.name in holding & modules and each.bases]
        models = [each for each in models if not (_LOSS.search(each.node.name) or each.node.name in self._families)]
        parts = {name for each in models for name in each.names - {each.node.name}}
        whole = [each for each in models if each.node.name not in parts] or models
        found = []
        for each in whole:
            makers = (other.node.name for other in definitions if other.file == each.file and _makes(other.node, each))
            named = each.file, each.node.lineno, each.node.name, *self._find_import(each.file)
            found.append(Class(*named, next(makers, each.node.name)))
        return sorted(found, key=lambda each: (each.file.count("/"), each))

    def _list_definitions(self, file: str, tree: ast.Module) -> Iterator[_Definition]:
        known = self._models[file]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.col_offset == 0:
                names = {name for each in ast.walk(node) if (name := _read_name(each))}
                bases = {_read_name(base) for base in getattr(node, "bases", ())}
                is_module = bool(bases & known.keys()) or any(map(_is_module, bases))
                yield _Definition(file, node, names, bases, bool(names & known.keys()), is_module)

    def list_calls(self) -> list[Call]:
        """Return the calls outside model classes that make a model of the library; each hub name is listed once."""
        found: dict[object, Call] = {}
        for file, tree in self._trees.items():
            known = self._models[file]
            for node in _walk_outside_of_classes(tree):
                name = known.get(_read_maker(node)) if isinstance(node, ast.Call) else None
                if name and isinstance(node, ast.Call) and not PurePosixPath(file).stem.startswith("convert"):
                    hub_name = self._find_hub_name(file, node)
                    call = Call(file, node.lineno, name, hub_name)
                    found.setdefault(hub_name or (file, name), call)
        return sorted(found.values(), key=lambda each: (each.hub_name != "", each.file.count("/"), each))

    def _find_import(self, file: str) -> tuple[str, str]:
        """Return the module name of a file, and the folder that has to be on Python's path to import it."""
        parts = PurePosixPath(file).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        ways = [(parts[at:], "/".join(parts[:at])) for at in range(len(parts))]
        ways = [each for each in ways if all(map(str.isidentifier, each[0]))]
        usual = next((each for each in ways if each[1] == "src"), ways[0] if ways else ((), ""))
        rest, folder = next((each for each in ways if each[0][0] in self._imported), usual)
        return ".".join(rest), folder

    @cached_property
    def _imported(self) -> set[str]:
        """The top-level names of the modules that the project imports."""
        found = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
        return {name.decode() for content in self._contents.values() for name in found.findall(content)}

    def _find_hub_name(self, file: str, call: ast.Call) -> str:
        """Return the name on the hub that a call loads; ``""`` if it loads a path, or has no literal string."""
        named = [each.value for each in call.keywords if each.arg == "pretrained_model_name_or_path"]
        texts = (each.value for each in (*call.args[:1], *named) if isinstance(each, ast.Constant))
        name = next((text for text in texts if isinstance(text, str)), "")
        is_loaded = isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained"
        if not is_loaded or not is_name(name):
            return ""
        if any(os.path.lexists(folder / name) for folder in (self._root, (self._root / file).parent)):
            return ""
        return name if in_catalogue(name) is not None or ("/" in name and not _LOCAL.match(name.lower())) else ""


def _list_models(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that a file gives to a model of the library, with the library's own name."""
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            yield from ((each.asname or each.name, each.name) for each in node.names if _is_model(each.name))
        elif isinstance(node, ast.Import):
            aliases |= {each.asname or each.name for each in node.names if each.name in LIBRARIES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _read_name(node.value) in aliases and _is_model(node.attr):
            yield node.attr, node.attr


def _is_model(name: str) -> bool:
    return _MODEL.fullmatch(name) is not None and not _NO_MODEL.search(name)


def _is_module(base: str) -> bool:
    return _MODULE.fullmatch(base) is not None or _is_model(base)


def _read_name(node: ast.AST) -> str:
    """Return a name, or the last part of a dotted name; ``""`` for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _read_maker(call: ast.Call) -> str:
    """Return the class that a call makes, directly or by a method of the class."""
    made = call.func
    is_method = isinstance(made, ast.Attribute) and made.attr in {"from_pretrained", "from_config"}
    return _read_name(made.value if is_method and isinstance(made, ast.Attribute) else made)


def _makes(node: ast.AST, definition: _Definition) -> bool:
    """Return whether ``node`` is a function without required arguments that ends in ``return CLASS(…)``."""
    if not isinstance(node, ast.FunctionDef) or not isinstance(node.body[-1], ast.Return):
        return False
    made, taken = node.body[-1].value, node.args
    needed = len(taken.posonlyargs) + len(taken.args) - len(taken.defaults) + taken.kw_defaults.count(None)
    return not needed and isinstance(made, ast.Call) and _read_maker(made) == definition.node.name


def _walk_outside_of_classes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes of a file outside classes that derive from a model or a module of torch."""
    waiting = [tree]
    for node in waiting:
        yield node
        waiting += [
            each
            for each in ast.iter_child_nodes(node)
            if not (isinstance(each, ast.ClassDef) and any(_is_module(_read_name(base)) for base in each.bases))
        ]


def _reach(names: set[str], definitions: list[_Definition], list_names: Callable[[_Definition], set[str]]) -> set[str]:
    """Return ``names``, and the names of all definitions that refer to one of ``names``, directly or indirectly."""
    reached: set[str] = set()
    while names - reached:
        reached |= names
        names = {each.node.name for each in definitions if list_names(each) & reached}
    return reached
