"""Resolve names in the project's Python to what they are imported from: by ``ast``, without running anything."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

Chain: TypeAlias = tuple[str, ...]
"""A dotted name: ``("torch", "nn", "Module")``."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LEAVES = frozenset({ast.Constant, ast.Load, ast.Store, ast.arguments})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEEPEST = 20
"""Files that one name may be handed on through."""


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
    scope: Scope
    owner: str
    """The class, the function or the name at the file's top level that it stands in; ``""`` for none."""
    is_call: bool = True
    said: str = ""
    """The first argument of a call, or the one that names what is loaded, where it is a string."""


@dataclass(eq=False)
class Scope:
    """The names that a file, a class, a function or a comprehension binds."""

    outer: Scope | None = None
    is_class: bool = False
    names: dict[str, list[Import | None]] = field(default_factory=dict)
    """``None`` for whatever is no import."""

    def find(self, name: str) -> tuple[Scope, list[Import | None]] | None:
        """Return the scope that binds a name seen from here, and every way in which it does."""
        scope: Scope | None = self
        while scope:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope, scope.names[name]
            scope = scope.outer
        return None


class ClassStatement(NamedTuple):
    """A class at the top level of a file."""

    line: int
    bases: tuple[Chain, ...]


class Source:
    """The definitions, imports and calls of one file."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.names = Scope()
        self.stars: list[Import] = []
        """Modules of which every name is imported."""
        self.imported: set[str] = set()
        """First parts of the names of modules."""
        self.classes: dict[str, list[ClassStatement]] = {}
        self.uses: list[Use] = []
        for node in tree.body:
            self._read(node, self.names, "")

    def _read(self, node: ast.AST, scope: Scope, owner: str) -> None:
        """Note what a node binds in a scope, and what it calls; the nodes in it likewise."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._read_import(node, scope)
        elif isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._read_function(node, scope, owner)
        elif isinstance(node, ast.ClassDef):
            self._read_class(node, scope, owner)
        elif isinstance(node, COMPREHENSIONS):
            self._read_all(ast.iter_child_nodes(node), Scope(scope), owner)
        else:
            self._bind(node, scope)
            if isinstance(node, ast.Call) and (chain := chain_of(node.func)):
                self.uses.append(Use(chain, node.lineno, scope, owner, said=_first_text(node)))
            elif isinstance(node, ast.Assign) and scope is self.names and isinstance(node.targets[0], ast.Name):
                owner = node.targets[0].id
                self._mention(node.value, scope, owner)
            self._read_all(ast.iter_child_nodes(node), scope, owner)

    def _read_all(self, nodes: Iterable[ast.AST], scope: Scope, owner: str) -> None:
        for node in nodes:
            if type(node) not in LEAVES and not (type(node) is ast.Name and type(node.ctx) is ast.Load):
                self._read(node, scope, owner)

    def _read_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                path = tuple(each.name.split("."))
                self.imported.add(path[0])
                scope.names.setdefault(each.asname or path[0], []).append(Import(path if each.asname else path[:1], 0))
                continue
            module = tuple(node.module.split(".")) if node.module else ()
            self.imported |= {*module[:1]} if not node.level else set()
            if each.name == "*":
                self.stars.append(Import(module, node.level))
            else:
                scope.names.setdefault(each.asname or each.name, []).append(Import((*module, each.name), node.level))

    def _read_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope, owner: str
    ) -> None:
        arguments, inner = node.args, Scope(scope)
        outside: list[ast.AST | None] = [*arguments.defaults, *arguments.kw_defaults]
        if not isinstance(node, ast.Lambda):
            scope.names.setdefault(node.name, []).append(None)
            outside += node.decorator_list
            owner = node.name if scope is self.names else owner
        self._read_all((each for each in outside if each), scope, owner)
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        inner.names.update({each.arg: [None] for each in every if each})
        self._read_all([node.body] if isinstance(node, ast.Lambda) else node.body, inner, owner)

    def _read_class(self, node: ast.ClassDef, scope: Scope, owner: str) -> None:
        scope.names.setdefault(node.name, []).append(None)
        if scope is self.names:
            owner = node.name
            bases = tuple(chain for base in node.bases if (chain := chain_of(base)))
            self.classes.setdefault(node.name, []).append(ClassStatement(node.lineno, bases))
        self._read_all([*node.bases, *node.keywords, *node.decorator_list], scope, owner)
        self._read_all(node.body, Scope(scope, is_class=True), owner)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        names: list[str | None] = []
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names = [name]
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                names = [name]
            case ast.MatchMapping(rest=name):
                names = [name]
            case ast.Global(names=those):  # from here on these are the file's own
                scope.names.update({name: self.names.names.setdefault(name, []) for name in those})
            case ast.Nonlocal(names=those):
                names = [*those]
            case _:
                return
        for name in filter(None, names):
            scope.names.setdefault(name, []).append(None)

    def _mention(self, node: ast.AST, scope: Scope, owner: str) -> None:
        """Note the names in a table such as ``{"bert": (BertConfig, Tagger)}``."""
        if chain := chain_of(node):
            self.uses.append(Use(chain, 0, scope, owner, is_call=False))
        elif isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set):
            for each in ast.iter_child_nodes(node):
                self._mention(each, scope, owner)


def _first_text(call: ast.Call) -> str:
    named = (each.value for each in call.keywords if each.arg == "pretrained_model_name_or_path")
    texts = (each.value for each in (*call.args[:1], *named) if isinstance(each, ast.Constant))
    return next((text for text in texts if isinstance(text, str)), "")


def chain_of(node: ast.AST) -> Chain:
    """Return the parts of a dotted name, none of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def parse(file: str, content: bytes) -> Source | None:
    """Read a file of Python; ``None`` for what this Python cannot parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Source(file, ast.parse(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Names:
    """Every file of a project, and what the names in it stand for."""

    def __init__(self, sources: Mapping[str, Source], files: Collection[str]) -> None:
        """:param files: all of them, those that were not read included."""
        self._sources = sources
        self._files = frozenset(files)
        self._found: dict[tuple[str, Chain, int], Origin | None] = {}
        self._offers: dict[str, frozenset[str]] = {}

    def resolve(self, file: str, scope: Scope, chain: Chain, depth: int = 0) -> Origin | None:
        """Return what a name stands for where it is written; ``None`` where that is not certain."""
        if depth > DEEPEST:
            return None
        source = self._sources[file]
        found = scope.find(chain[0])
        if found is None:
            return self._find_by_star(source, chain, depth)
        where, bindings = found
        if all(each is None for each in bindings):
            is_defined = where is source.names and len(bindings) == 1 and len(chain) == 1
            return Origin(file, chain[0]) if is_defined else None
        if None in bindings:
            return None
        ways = [each for each in bindings if each]
        origins = [self._imported(file, each._replace(path=(*each.path, *chain[1:])), depth) for each in ways]
        if all(each and not each.file for each in origins):  # a library, or else one with its former name
            return origins[0] if len({each.name.rpartition(".")[2] for each in origins if each}) == 1 else None
        return origins[0] if len({*origins}) == 1 else None

    def _find_by_star(self, source: Source, chain: Chain, depth: int) -> Origin | None:
        """Return what a name stands for that ``from … import *`` may have brought."""
        key = (source.file, ("*", *chain), 0)
        if key not in self._found:
            self._found[key] = None  # where two files import each other in a circle
            modules = self._starred(source)
            own = [self._sources[each.file] for each in modules if chain[0] in self._offered(each.file)]
            found = {self.resolve(each.file, each.names, chain, depth + 1) for each in own}
            others = [each.name for each in modules if not each.file]
            if not own and len(others) == 1:
                found = {Origin("", ".".join((others[0], *chain)))}
            self._found[key] = found.pop() if len(found) == 1 else None
        return self._found[key]

    def _starred(self, source: Source) -> list[Origin]:
        found = (self._imported(source.file, each, 0) for each in source.stars)
        return [each for each in found if each]

    def _offered(self, file: str) -> frozenset[str]:
        """Every name that a file has, those included that it has from others by a star."""
        source = self._sources.get(file)
        if source and file not in self._offers:
            self._offers[file] = frozenset(source.names.names)  # where two files do it in a circle
            self._offers[file] = self._offers[file].union(*(self._offered(each.file) for each in self._starred(source)))
        return self._offers.get(file, frozenset())

    def _imported(self, file: str, wanted: Import, depth: int) -> Origin | None:
        key = (file, wanted.path, wanted.level)
        if key not in self._found:
            self._found[key] = None  # where two files import each other in a circle
            self._found[key] = self._look_up(file, wanted, depth)
        return self._found[key]

    def _look_up(self, file: str, wanted: Import, depth: int) -> Origin | None:
        folders = list(self.folders(file, wanted.level))
        for folder in folders:
            for end in range(len(wanted.path), -1 if wanted.level else 0, -1):
                module = self._module(folder, wanted.path[:end])
                if module is None:
                    continue
                if end == len(wanted.path):
                    return self._handed_on(folder, wanted.path, depth) or Origin(module, "")
                if module not in self._sources:
                    return None
                return self.resolve(module, self._sources[module].names, wanted.path[end:], depth + 1)
        return None if wanted.level else Origin("", ".".join(wanted.path))

    def _handed_on(self, folder: str, path: Chain, depth: int) -> Origin | None:
        """Return what a package itself has by the name of a module in it: ``from .Tagger import Tagger``."""
        package = self._sources.get(self._module(folder, path[:-1]) or "") if path else None
        if package is None or path[-1] not in package.names.names:
            return None
        return self.resolve(package.file, package.names, path[-1:], depth + 1)

    def _module(self, folder: str, path: Chain) -> str | None:
        base = "/".join(filter(None, (folder, *path)))
        candidates = (f"{base}/__init__.py" if base else "__init__.py", *([f"{base}.py"] if path else []))
        return next((each for each in candidates if each in self._files), None)

    def folders(self, file: str, level: int = 0) -> Iterator[str]:
        """The folders that an import of this file may start from, the likeliest first."""
        parents = [str(each).removeprefix(".") for each in PurePosixPath(file).parents] or [""]
        if level:
            yield from parents[level - 1 : level]
            return
        own = next((at for at, each in enumerate(parents) if self._module(each, ()) is None), len(parents) - 1)
        yield from parents[own:]  # above the package that the file is in
        yield from ("src", "lib")
        yield from parents[:own]
