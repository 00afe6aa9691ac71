"""Resolve names in the project's Python to what they are imported from: by ``ast``, without running anything.

A name that the file, or the class or function around it, binds in two ways may be another, and stands for nothing.
"""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

Chain: TypeAlias = tuple[str, ...]
"""A dotted name: ``("torch", "nn", "Module")``."""
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NAMED = (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


class Origin(NamedTuple):
    """The definition that a name stands for."""

    file: str
    """A file of the project; ``""`` for what is not in it."""
    name: str
    """A name at the top level of the file, ``""`` for the file itself; elsewhere the whole dotted name."""


class Import(NamedTuple):
    """An import that binds a name to a module, or to something in one."""

    path: Chain
    level: int
    """The dots of a relative import."""


class Use(NamedTuple):
    """A dotted name where it is called, or where the value of a top-level name mentions it."""

    chain: Chain
    line: int
    owner: str
    """The class, the function or the name at the file's top level that it stands in; ``""`` for none."""
    is_call: bool = True
    said: str = ""
    """The first argument of a call, or the one that names what is loaded, where it is a string."""


class ClassStatement(NamedTuple):
    """A class at the top level of a file."""

    line: int
    bases: tuple[Chain, ...]


class Source:
    """The definitions, imports and calls of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: dict[str, list[Import]] = defaultdict(list)
        """Every import that binds a name, at whatever level."""
        self.stars: list[Import] = []
        """Modules of which every name is imported."""
        self.imported: set[str] = set()
        """First parts of the names of modules."""
        self.classes: dict[str, ClassStatement] = {}
        self.bound: dict[str, list[str]] = defaultdict(list)
        """Names that are bound by no import, by the top-level name that they stand in; ``""`` for the file's own."""
        self.uses: list[Use] = []
        for statement in _list_statements(tree.body):
            self._read_statement(statement)

    def binds(self, name: str) -> bool:
        """Tell whether the file itself has a name, at its top level or by an import."""
        return name in self.bound[""] or name in self.imports

    def _read_statement(self, statement: ast.stmt) -> None:
        owner, is_definition = "", isinstance(statement, DEFINITIONS)
        if isinstance(statement, DEFINITIONS):
            owner = statement.name
            self.bound[""].append(owner)
        if isinstance(statement, ast.ClassDef):
            bases = tuple(chain for base in statement.bases if (chain := read_chain(base)))
            self.classes[owner] = ClassStatement(statement.lineno, bases)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            owner = statement.targets[0].id
            self._note_mentioned(statement.value, owner)
        inside, in_class = self.bound[owner if is_definition else ""], isinstance(statement, ast.ClassDef)
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._read_import(node)
            elif isinstance(node, ast.Call) and (chain := read_chain(node.func)):
                self.uses.append(Use(chain, node.lineno, owner, said=_find_first_text(node)))
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                inside.append(node.id)
            elif isinstance(node, ast.arg):
                inside.append(node.arg)
            elif isinstance(node, NAMED) and node.name and node is not statement and not in_class:
                inside.append(node.name)

    def _read_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for each in node.names:
                path = tuple(each.name.split("."))
                self.imported.add(path[0])
                self.imports[each.asname or path[0]].append(Import(path if each.asname else path[:1], 0))
            return
        module = tuple(node.module.split(".")) if node.module else ()
        if not node.level:
            self.imported |= {*module[:1]}
        for each in node.names:
            if each.name == "*":
                self.stars.append(Import(module, node.level))
            else:
                self.imports[each.asname or each.name].append(Import((*module, each.name), node.level))

    def _note_mentioned(self, node: ast.AST, owner: str) -> None:
        """Note the names in a table such as ``{"bert": (BertConfig, Tagger)}``."""
        if chain := read_chain(node):
            self.uses.append(Use(chain, 0, owner, is_call=False))
        elif isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set):
            for each in ast.iter_child_nodes(node):
                self._note_mentioned(each, owner)


def _list_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a file, those inside of ``if``, ``try`` and the like one by one."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            for name in ("body", "orelse", "finalbody"):
                yield from _list_statements(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _list_statements(handler.body)
        else:
            yield statement


def _find_first_text(call: ast.Call) -> str:
    named = (each.value for each in call.keywords if each.arg == "pretrained_model_name_or_path")
    texts = (each.value for each in (*call.args[:1], *named) if isinstance(each, ast.Constant))
    return next((text for text in texts if isinstance(text, str)), "")


def read_chain(node: ast.AST) -> Chain:
    """Return the parts of a dotted name, none of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def parse(content: bytes) -> Source | None:
    """Read a file of Python; ``None`` for what this Python cannot parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Source(ast.parse(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Names:
    """Every file of a project, and what the names in it stand for."""

    def __init__(self, sources: Mapping[str, Source], files: Iterable[str]) -> None:
        """:param files: all of them, those that were not read included."""
        self._sources = sources
        self._modules: dict[Chain, str] = {}
        self._found: dict[tuple[str, Chain], Origin | None] = {}
        for file in files:
            *folders, stem = PurePosixPath(file).with_suffix("").parts
            is_package = stem == "__init__"
            if is_package or (*folders, stem) not in self._modules:  # a package goes before a module of its name
                self._modules[*folders, *([] if is_package else [stem])] = file

    def resolve(self, file: str, chain: Chain, owner: str = "") -> Origin | None:
        """Return what a name stands for where it is written; ``None`` where that is not certain.

        :param owner: the class or function at the file's top level that it is written in.
        """
        source = self._sources.get(file)
        if source is None or (owner and chain[0] in source.bound.get(owner, ())):
            return None
        if (file, chain) not in self._found:
            self._found[file, chain] = None  # where names lead in a circle
            self._found[file, chain] = self._look_up(file, source, chain)
        return self._found[file, chain]

    def _look_up(self, file: str, source: Source, chain: Chain) -> Origin | None:
        times = source.bound[""].count(chain[0])
        imports = source.imports.get(chain[0])
        if times:
            return Origin(file, chain[0]) if times == len(chain) == 1 and not imports else None
        if not imports:
            return self._find_by_star(file, source, chain)
        origins = [self._follow(file, each._replace(path=(*each.path, *chain[1:]))) for each in imports]
        is_of_libraries = all(each and not each.file for each in origins)  # of one, or else of one with its former name
        different = {each.name.rpartition(".")[2] if each and is_of_libraries else each for each in origins}
        return origins[0] if len(different) == 1 else None

    def _find_by_star(self, file: str, source: Source, chain: Chain) -> Origin | None:
        """Return what a name stands for that ``from … import *`` may have brought."""
        modules = [self._follow(file, each) for each in source.stars]
        own = {self.resolve(each.file, chain) for each in modules if each and each.file} - {None}
        if own:
            return own.pop() if len(own) == 1 else None
        libraries = [each.name for each in modules if each and not each.file]
        return Origin("", ".".join((libraries[0], *chain))) if len(libraries) == 1 else None

    def _follow(self, file: str, wanted: Import) -> Origin | None:
        """Return the definition that an import leads to; a name of a package comes before a module in it."""
        for folder in self.list_folders(file, wanted.level):
            last: tuple[str, Chain] | None = None
            for end in range(0 if wanted.level else 1, len(wanted.path) + 1):
                module, rest = self._modules.get((*folder, *wanted.path[:end])), wanted.path[end:]
                if module is None:
                    continue
                if not rest:
                    return Origin(module, "")
                if module != file and (source := self._sources.get(module)) and source.binds(rest[0]):
                    return self.resolve(module, rest)
                last = module, rest
            if last:
                return self.resolve(*last)
        return None if wanted.level else Origin("", ".".join(wanted.path))

    def list_folders(self, file: str, level: int = 0) -> Iterator[Chain]:
        """Yield the folders that an import of this file may start from, the likeliest first."""
        parents = [each.parts for each in PurePosixPath(file).parents] or [()]
        if level:
            yield from parents[level - 1 : level]
            return
        is_package = [PurePosixPath(self._modules.get(each, "")).name == "__init__.py" for each in parents]
        own = is_package.index(False) if False in is_package else len(parents) - 1
        yield from parents[own:]  # above the package that the file is in
        yield from (("src",), ("lib",))
        yield from parents[:own]
