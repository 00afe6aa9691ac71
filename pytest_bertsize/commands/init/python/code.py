"""The Python of a project: its files, what each imports from where, and which of its classes are models."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config.python_nodes import dotted
from pytest_bertsize.config.python_source import NotPython, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.commands.init.python.settings_files import SettingsFiles
    from pytest_bertsize.config.flows import Statement

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Scope = tuple[ast.AST, ...]
"""The classes and functions around a place, from the outside."""
LIBRARIES = ("transformers", "pytorch_transformers", "pytorch_pretrained_bert", "adapters")
MOST_HOPS = 8
"""From a name to where it is defined, through files that hand it on; from a class to that of its bases that tells."""
LAST = re.compile(
    r"(^|/)(tests?|testing|docs?|examples?|demos?|notebooks?|benchmarks?|third_party|legacy|deprecated|setup\.py"
    r"|(test_|convert_|demo_)[^/]*|[^/]*(_test|_demo)\.py|conftest\.py)(/|$)"
)
"""Files whose models come after those of others."""

_SERVES = re.compile(r"(predict|infer|eval|serv|export|convert|generate)[^/]*\.py$", re.IGNORECASE)
"""Scripts that load what others have trained, often with options that say less."""


class Origin(NamedTuple):
    """Where a name is defined."""

    module: Module | None
    """``None``: elsewhere than in the project."""
    name: str
    """In the module; the whole dotted path of what is elsewhere."""
    folder: str = ""
    """From which the project's own module is imported."""

    @property
    def of_library(self) -> str:
        """The name of a class of transformers, or of what it was called before."""
        is_library = self.module is None and self.name.partition(".")[0] in LIBRARIES
        return self.name.rpartition(".")[2] if is_library else ""


@dataclass(eq=False)
class Module:
    """One file."""

    file: str
    source: Source
    comes_last: bool = False
    """Whether it is a test, an example, or of a copy of a library."""

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """Local names, and what they stand for; ``.`` before what is relative."""
        found = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                start = "." * node.level + (node.module or "")
                for alias in node.names:
                    between = "" if start.endswith(".") else "."
                    found[alias.asname or alias.name] = f"{start}{between}{alias.name}"
        return found

    @cached_property
    def stars(self) -> list[str]:
        """The modules of which all names are imported."""
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.ImportFrom))
        return ["." * n.level + (n.module or "") for n in nodes if any(alias.name == "*" for alias in n.names)]

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        return {node.name: node for node in _top(self.source.tree.body) if isinstance(node, ast.ClassDef)}

    @cached_property
    def functions(self) -> Mapping[str, ast.FunctionDef]:
        return {node.name: node for node in _top(self.source.tree.body) if isinstance(node, ast.FunctionDef)}

    @cached_property
    def parses_dataclasses(self) -> bool:
        """Whether its options are fields of dataclasses."""
        nodes = (each for each in ast.walk(self.source.tree) if isinstance(each, ast.Attribute))
        return any("into_dataclasses" in each.attr for each in nodes)

    @cached_property
    def is_script(self) -> bool:
        tests = (node.test for node in self.source.tree.body if isinstance(node, ast.If))
        return any("__name__" in ast.unparse(test) for test in tests)

    def is_constant(self, name: str) -> bool:
        """Whether a name is set at the top of the file, from where it can be imported."""
        is_other = name in self.classes or name in self.functions or name in self.source.of_options
        return bool(self.dotted) and not is_other and name in self.source.places

    def quoted(self, statement: Statement) -> str:
        """``train.py:7: config.num_labels = 3``, on one line."""
        what = ast.unparse(statement)[:60].replace("\n", " ")
        return f"{self.file}:{statement.lineno}: {what}"

    @property
    def dotted(self) -> str:
        """As it is imported from the root; ``""`` where it cannot be."""
        path = PurePosixPath(self.file)
        parts = path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts
        return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else ""


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a file, those under an ``if`` or a ``try`` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            for block in ("body", "orelse"):
                yield from _top(getattr(statement, block, []))


@dataclass
class Code:
    """All files."""

    modules: dict[str, Module] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    folder: str = ""
    """In which all of the project is, where that is not its root; with a slash behind it."""
    settings: SettingsFiles | None = None
    """What its scripts are run with."""
    _kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(default_factory=set)
    """Files, and names that were looked for in them on the way to where one is defined: files may import each other."""

    def add(self, file: str, content: bytes) -> None:
        try:
            source = Source.of(content.decode("utf-8", "replace"))
            self.modules[file] = Module(file, source, self.comes_last(file))
        except NotPython:
            self.unread.append(file)

    def comes_last(self, file: str) -> bool:
        """Whether a file is a test, an example or the like, seen from the folder in which all of the project is."""
        return LAST.search(file.removeprefix(self.folder)) is not None

    def look_into_the_one_folder(self) -> None:
        """Where nothing stands outside of ``examples``, that is the project."""
        tops = {file.partition("/")[0] for file in self.modules if "/" in file}
        if len(tops) == 1 and all(each.comes_last for each in self.modules.values()):
            self.folder = f"{tops.pop()}/"
            for file, module in self.modules.items():
                module.comes_last = self.comes_last(file)

    def put_copies_last(self) -> None:
        """A folder with a copy of transformers has no models of the project."""
        for file in [each for each in self.modules if each.endswith("/modeling_utils.py")]:
            folder = file.removesuffix("modeling_utils.py")
            copied = ("modeling_bert.py", "models/bert/modeling_bert.py")
            if any(f"{folder}{each}" in self.modules for each in copied):
                for each in (module for name, module in self.modules.items() if name.startswith(folder)):
                    each.comes_last = True

    @cached_property
    def in_order(self) -> list[Module]:
        """Files that are run before those of tests and examples, and what trains before what loads it again."""

        def order(each: Module) -> tuple[object, ...]:
            return each.comes_last, _SERVES.search(each.file) is not None, not each.is_script, each.file

        return sorted(self.modules.values(), key=order)

    @cached_property
    def calls(self) -> Mapping[str, list[tuple[Module, ast.Call, Scope]]]:
        """Every call of what no test calls, by the last name of what is called, with the scope around it."""
        found: dict[str, list[tuple[Module, ast.Call, Scope]]] = {}
        for module in (each for each in self.in_order if not each.comes_last):
            for call, scope in _calls(module.source.tree, ()):
                found.setdefault(dotted(call.func).rpartition(".")[2], []).append((module, call, scope))
        return found

    def imports(self, one: Module, other: Module) -> bool:
        """Whether a file imports something of another by itself."""
        last = other.dotted.rpartition(".")[2]
        return bool(last) and any(last in path.split(".") for path in one.imports.values())

    def origin(self, module: Module, name: str, hops: int = 0) -> Origin | None:
        """Where a dotted name of a file is defined; ``None`` for what nobody can tell."""
        if not hops:
            self._asked.clear()
        if hops > MOST_HOPS or (module.file, name) in self._asked:
            return None
        self._asked.add((module.file, name))
        first, _, rest = name.partition(".")
        is_set = first in module.source.places and not rest and first not in module.imports
        if first in module.classes or first in module.functions or is_set:
            return Origin(module, name, _folder_of(module))
        if (meant := module.imports.get(first)) is not None:
            return self._imported(module, f"{meant}.{rest}" if rest else meant, hops)
        for star in module.stars:
            between = "" if star.endswith(".") else "."
            found = self._imported(module, f"{star}{between}{name}", hops)
            if found and (found.module is not None or star.partition(".")[0] in LIBRARIES):
                return found
        return None

    def _imported(self, module: Module, path: str, hops: int) -> Origin | None:
        """What stands at a dotted path, as one file imports it."""
        parts = path.lstrip(".").split(".")
        for folder in _folders(module.file, len(path) - len(path.lstrip("."))):
            for depth in range(len(parts) - 1, 0, -1):
                start = "/".join((*([folder] if folder else []), *parts[:depth]))
                for file in (f"{start}.py", f"{start}/__init__.py"):
                    if (other := self.modules.get(file)) and other is not module:
                        found = self.origin(other, ".".join(parts[depth:]), hops + 1)
                        return found._replace(folder=folder) if found and found.module else found
            if path.startswith(".") and len(parts) == 1:
                start = f"{folder}/__init__.py" if folder else "__init__.py"
                if (other := self.modules.get(start)) and other is not module:
                    return self.origin(other, parts[0], hops + 1)
        return Origin(None, path.lstrip(".")) if not path.startswith(".") else None

    def kind(self, origin: Origin, hops: int = 0) -> str:
        """What a class is: ``"BertPreTrainedModel"`` of the library, ``"Module"``, ``"LightningModule"`` or ``""``."""
        if origin.module is None:
            last = origin.name.rpartition(".")[2]
            if origin.of_library and re.search(r"Model|^\w+For[A-Z]", last) and not re.search("Output|Config", last):
                return last
            is_torch = re.match(r"torch\.|(pytorch_)?lightning\.", origin.name) is not None
            known = {"Module": "Module", "Sequential": "Module", "LightningModule": "LightningModule"}
            return known.get(last, "") if is_torch else ""
        key = (origin.module.file, origin.name)
        if key not in self._kinds:
            self._kinds[key] = ""  # of a class that is its own base
            node = origin.module.classes.get(origin.name)
            bases = [self.origin(origin.module, dotted(base)) for base in node.bases if dotted(base)] if node else []
            kinds = [self.kind(base, hops + 1) for base in bases if base and hops < MOST_HOPS]
            self._kinds[key] = next(
                (kind for kind in kinds if kind not in {"", "Module"}), next(filter(None, kinds), "")
            )
        return self._kinds[key]


def _calls(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call):
            yield inner, scope
        yield from _calls(inner, (*scope, inner) if isinstance(inner, SCOPES) else scope)


def _folder_of(module: Module) -> str:
    folder = str(PurePosixPath(module.file).parent)
    return "" if folder == "." else folder


def _folders(file: str, level: int) -> list[str]:
    """Where an import of a file may lead: a script's folder and those above, ``src`` last."""
    above = [str(each) for each in PurePosixPath(file).parents]
    folders = ["" if each == "." else each for each in above]
    if level:
        return folders[level - 1 : level]
    return [*folders[::-1], "src"] if len(folders) > 1 else ["", "src"]


def shared(one: str, other: str) -> int:
    """How many folders two files have in common."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return next((depth for depth, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")))
