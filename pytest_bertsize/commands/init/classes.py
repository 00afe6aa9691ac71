"""Find the model classes in the project's Python files by ``ast``, without running anything."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.table.toml import inline
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Files

LIBRARIES = ("transformers", "pytorch_transformers", "pytorch_pretrained_bert", "sentence_transformers")
_MODEL = re.compile(r"(?!TF|Flax)\w*(Model|For[A-Z]\w*|LMHead|SentenceTransformer|CrossEncoder)")
_NO_MODEL = re.compile(r"Collator|Dataset|Processor|Tokenizer|Trainer|Config|Output|Arguments")
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:%s)\b" % "|".join(LIBRARIES).encode(), re.MULTILINE)
_SAYS_MODEL = re.compile(rb"transformers|pretrained|\bnn\.Module|torch\.nn|LightningModule")
_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)


class Code:
    """The Python files of a project."""

    def __init__(self, files: Files, registry: Registry) -> None:
        self._files, self._contents = files, dict(files.read_all(files.python))
        families = ((name, family) for name in registry.names for family in registry.families(name))
        architectures = {each.name: name for name, family in families for each in family.architectures}
        self._own_families = {
            architectures[name]: file
            for file, content in reversed(self._contents.items())
            for name in map(bytes.decode, _CLASS.findall(content))
            if name in architectures
        }
        self._trees = sorted(self._parse(), key=lambda each: (each[0].count("/"), each[0]))

    def _parse(self) -> Iterator[tuple[str, ast.Module, dict[str, str]]]:
        """Yield each file that may define a model, its syntax tree, and its names for models of the library."""
        for file, content in self._contents.items():
            if not _SAYS_MODEL.search(content):
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tree = ast.parse(content)
                yield file, tree, dict(_list_models(tree))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._files.left_out.append(printable(file))

    # questions of the configs

    def is_foreign(self, architecture: str) -> bool:
        """Return whether some file imports the library, but no file names ``architecture`` or its Auto class."""
        task = re.search(r"For[A-Z]\w*", architecture)
        words = re.compile(rf"\b({architecture}|AutoModel{task[0] if task else ''}|AutoModelWithLMHead)\b".encode())
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
        definitions = [  # with every name inside, and each part of a dotted name
            (file, node, {*map(_read_name, ast.walk(node))}, known)
            for file, tree, known in self._trees
            for node in tree.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        holding: set[str] = set()
        more = {node.name for _, node, names, known in definitions if names & known.keys()}
        while more - holding:  # directly, then through classes and functions of the project
            holding |= more
            more = {node.name for _, node, names, _ in definitions if names & holding}
        found = [
            (file, node, names) for file, node, names, _ in definitions if node.name in holding and _may_be_model(node)
        ]
        parts = {name for _, node, names in found for name in names - {node.name}}
        whole = [(file, node, names) for file, node, names in found if node.name not in parts] or found
        lines = []
        for file, node, _ in whole:  # with the command, if the module can be imported from the root or src by a name
            module = PurePosixPath(file.removeprefix("src/")).with_suffix("").parts
            module = module[:-1] if module[-1] == "__init__" else module
            is_importable = module and all(map(str.isidentifier, module))
            command = f": bertsize init {'.'.join(module)}:{node.name}" if is_importable else ""
            lines.append(f"{printable(file)}:{node.lineno} defines {node.name}{command}")
        return lines

    def describe_calls(self) -> list[str]:
        """Describe the calls outside model classes that make a model of the library; each model is named once."""
        found: dict[str, str] = {}
        for file, tree, known in self._trees:
            classes = [node for node in ast.walk(tree) if _may_be_model(node)]
            inside = {id(each) for node in classes for each in ast.walk(node)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and id(node) not in inside:
                    made = node.func
                    if isinstance(made, ast.Attribute) and made.attr in {"from_pretrained", "from_config"}:
                        made = made.value
                    text = next((each.value for each in node.args[:1] if isinstance(each, ast.Constant)), None)
                    name = known.get(_read_name(made))
                    what = f"{name} of {inline(printable(text))}" if isinstance(text, str) else f"{name}"
                    if name:
                        found.setdefault(what, f"{printable(file)}:{node.lineno} makes {what}")
        return [*found.values()]


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


def _read_name(node: ast.AST) -> str:
    """Return a name, or the last part of a dotted name; ``""`` for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _may_be_model(node: ast.AST) -> bool:
    """Return whether a class derives from other classes, and none of them is a dataset, a trainer or the like."""
    bases = [_read_name(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return bool(bases) and not any(map(_NO_MODEL.search, bases))
