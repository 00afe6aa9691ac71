"""Where models are made in a project's Python, of which class and with what."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.code import Origin
from pytest_bertsize.config.python_nodes import dotted, first_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.code import Code, Module

PRETRAINED = "from_pretrained"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(eq=False)
class Made:
    """One call that makes a model."""

    module: Module
    """Where the call stands."""
    call: ast.Call
    origin: Origin
    """The class."""
    kind: str
    scope: tuple[ast.AST, ...] = field(repr=False)
    """The classes and functions around the call, from the outside."""
    inside: str = ""
    """The model class in which it stands; ``""`` where it is a model by itself."""

    @property
    def is_own(self) -> bool:
        return self.origin.module is not None

    @property
    def class_name(self) -> str:
        return self.origin.name.rpartition(".")[2]

    @property
    def is_pretrained(self) -> bool:
        return dotted(self.call.func).endswith(f".{PRETRAINED}")

    @property
    def first(self) -> ast.expr | None:
        return first_argument(self.call)

    @property
    def place(self) -> str:
        """The scope as a reference names it: ``Tagger.__init__``."""
        return ".".join(getattr(each, "name", "") for each in self.scope)

    @property
    def where(self) -> str:
        return f"{self.module.file}:{self.call.lineno}"


def made(code: Code) -> Iterator[Made]:
    """Every call that makes a model, of the files that are run before that of tests and examples."""
    for module in code.in_order:
        yield from _in(module, code, module.source.tree, ())


def registered(code: Code) -> Iterator[Made]:
    """Classes that a decorator registers by a name: ``@registry.register_model("bert")``, as if one were made there."""
    for module in (each for each in code.in_order if not each.comes_last):
        for name, node in module.classes.items():
            by = [dotted(each.func) for each in node.decorator_list if isinstance(each, ast.Call)]
            origin = code.origin(module, name) if any("register" in each.lower() for each in by) else None
            if origin is not None:
                call = ast.copy_location(ast.Call(ast.Name(name), [], []), node)
                yield Made(module, call, origin, "Module", ())


def _in(module: Module, code: Code, node: ast.AST, scope: tuple[ast.AST, ...]) -> Iterator[Made]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call) and (found := _made(module, code, inner, scope)):
            yield found
        yield from _in(module, code, inner, (*scope, inner) if isinstance(inner, _SCOPES) else scope)


def _made(module: Module, code: Code, call: ast.Call, scope: tuple[ast.AST, ...]) -> Made | None:
    path = dotted(call.func)
    name = path.removesuffix(f".{PRETRAINED}").removesuffix(".from_config")
    if not name or name.startswith(("self.", "super", "cls")):
        name = name.removeprefix("self.")
    origin = code.origin(module, name) if name else None
    kind = code.kind(origin) if origin else ""
    if not (origin and kind):
        is_pretrained = path.endswith(PRETRAINED)
        origin = _by_name(module, code, name, scope) or (_by_table(module, code, name) if is_pretrained else None)
        kind = code.kind(origin) if origin else ""
    if not (origin and kind) or (origin.of_library and kind.endswith("PreTrainedModel")):
        return None
    return Made(module, call, origin, kind, scope, _inside(module, code, scope))


def _inside(module: Module, code: Code, scope: tuple[ast.AST, ...]) -> str:
    """The class of a model around a call; one of Lightning trains what it makes, and is none itself."""
    for node in scope:
        if isinstance(node, ast.ClassDef):
            kind = code.kind(Origin(module, node.name))
            if kind and kind != "LightningModule":
                return node.name
    return ""


def _by_name(module: Module, code: Code, name: str, scope: tuple[ast.AST, ...]) -> Origin | None:
    """``model = BertForMaskedLM`` and then ``model(config)``; the first of several, as of an ``if``."""
    place = ".".join((*(getattr(each, "name", "") for each in scope), name))
    for said in module.source.places.get(place, []):
        origin = code.origin(module, dotted(said.node)) if said.node is not None and dotted(said.node) else None
        if origin and code.kind(origin):
            return origin
    return None


def _by_table(module: Module, code: Code, name: str) -> Origin | None:
    """``model_class`` of ``MODEL_CLASSES = {"bert": (BertConfig, Tagger, BertTokenizer)}``, by the usual type."""
    if "model" not in name.lower():
        return None
    for other in [module, *(each for each in code.modules.values() if not each.comes_last)]:
        for said in other.source.places.get("MODEL_CLASSES", []):
            if isinstance(said.node, ast.Dict) and (found := _first_model(other, code, said.node)):
                return found
    return None


def _first_model(module: Module, code: Code, table: ast.Dict) -> Origin | None:
    usual = module.source.of_options.get("model_type")
    meant = getattr(usual.node, "value", None) if usual else None
    entries = list(zip(table.keys, table.values, strict=True))
    entries.sort(key=lambda entry: getattr(entry[0], "value", None) != meant)
    for _, value in entries:
        for each in value.elts if isinstance(value, ast.Tuple) else [value]:
            origin = code.origin(module, dotted(each)) if dotted(each) else None
            if origin and code.kind(origin):
                return origin
    return None


def made_of(use: Made, expression: ast.expr | None) -> ast.Call | None:
    """The call that made what an expression stands for: a name of a function around it, of ``self`` or of the file."""
    if expression is None or isinstance(expression, ast.Call):
        return expression
    wanted = dotted(expression)
    for outer in (*reversed(use.scope), use.module.source.tree) if wanted else ():
        for node in ast.walk(outer):
            is_set = isinstance(node, ast.Assign) and any(dotted(target) == wanted for target in node.targets)
            if is_set and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                return node.value
    return None
