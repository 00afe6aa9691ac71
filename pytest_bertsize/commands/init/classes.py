"""Find the model classes in the project's Python files by ``ast``, without running anything."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.table.toml import quoted
from pytest_bertsize.wording import printable

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
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:%s)\b" % "|".join(LIBRARIES).encode(), re.MULTILINE)
_SAYS_MODEL = re.compile(rb"transformers|pretrained|\bnn\.Module|torch\.nn|LightningModule")
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)


class _Definition(NamedTuple):
    """A class or a function at the top level of a file."""

    file: str
    line: int
    name: str
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
        self._files, self._contents = files, dict(files.read_all(files.python))
        architectures = {
            each.name: name for name in registry.names for one in registry.families(name) for each in one.architectures
        }
        self._own_families = {
            architectures[name]: file
            for file, content in reversed(self._contents.items())
            for name in map(bytes.decode, _CLASS.findall(content))
            if name in architectures
        }
        self._trees = dict(self._parse())

    def _parse(self) -> Iterator[tuple[str, ast.Module]]:
        """Yield each file that may define a model, with its syntax tree."""
        size = 0
        for file, content in self._contents.items():
            if not _SAYS_MODEL.search(content) or (size := size + len(content)) > MOST_PARSED:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    yield file, ast.parse(content)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._files.left_out.append(printable(file))

    # questions of the configs

    def is_foreign(self, architecture: str) -> bool:
        """Return whether some file imports the library, but no file names ``architecture`` or its Auto class."""
        task = re.search(r"For[A-Z]\w*", architecture)
        auto = f"AutoModel{task[0]}" if task else "AutoModel"
        words = re.compile(rf"\b({architecture}|{auto}|AutoModelWithLMHead)\b".encode())
        contents = self._contents.values()
        return any(map(_IMPORTS.search, contents)) and not any(map(words.search, contents))

    def explain_own(self, family: str) -> str:
        """Return why a config may be for a class of the project; ``""`` if the project has no class of this family."""
        file = self._own_families.get(family)
        what = f"{printable(file or '')} defines classes of the family {family}"
        return f"{what}: if this config is for one of them, declare that class by a factory" if file else ""

    # classes and calls of the project

    def describe_classes(self) -> list[str]:
        """Describe the model classes that contain a model of the library and are not part of another such class."""
        definitions = [each for file, tree in self._trees.items() for each in _list_definitions(file, tree)]
        holding = _reach({each.name for each in definitions if each.holds}, definitions, lambda each: each.names)
        modules = _reach({each.name for each in definitions if each.is_module}, definitions, lambda each: each.bases)
        models = [each for each in definitions if each.name in holding & modules and each.bases]
        parts = {name for each in models for name in each.names - {each.name}}
        whole = [each for each in models if each.name not in parts] or models
        whole.sort(key=lambda each: (each.file.count("/"), each.file, each.line))
        return [f"{printable(each.file)}:{each.line} defines {each.name}{_suggest_command(each)}" for each in whole]

    def describe_calls(self) -> list[str]:
        """Describe the calls outside model classes that make a model of the library; each model is named once."""
        found: dict[str, str] = {}
        for file, tree in sorted(self._trees.items(), key=lambda each: (each[0].count("/"), each[0])):
            known = dict(_list_models(tree))
            for node in _walk_outside_of_classes(tree):
                if isinstance(node, ast.Call) and (name := known.get(_read_maker(node))):
                    text = next((each.value for each in node.args[:1] if isinstance(each, ast.Constant)), None)
                    what = f"{name} of {quoted(printable(text))}" if isinstance(text, str) else name
                    found.setdefault(what, f"{printable(file)}:{node.lineno} makes {what}")
        return [*found.values()]


def _suggest_command(each: _Definition) -> str:
    """Return the command that declares a class, if its module has a name that can be imported from the root or src."""
    parts = PurePosixPath(each.file.removeprefix("src/")).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return f": bertsize init {'.'.join(parts)}:{each.name}" if parts and all(map(str.isidentifier, parts)) else ""


def _list_definitions(file: str, tree: ast.Module) -> Iterator[_Definition]:
    known = dict(_list_models(tree)).keys()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.col_offset == 0:
            names = {name for each in ast.walk(node) if (name := _read_name(each))}
            bases = {_read_name(base) for base in getattr(node, "bases", ())}
            is_module = bool(bases & known) or any(map(_is_module, bases))
            yield _Definition(file, node.lineno, node.name, names, bases, bool(names & known), is_module)


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
        names = {each.name for each in definitions if list_names(each) & reached}
    return reached
