"""Who calls a function of the project, and with what: where a parameter gets its value from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.commands.init.python.code import Origin
from pytest_bertsize.config.python_nodes import defaults, dotted, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.code import Code, Module, Scope
    from pytest_bertsize.commands.init.python.made import Made

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST = 4
"""Calls that have to agree."""


class Given(NamedTuple):
    """An argument, and where it stands."""

    module: Module
    scope: Scope
    node: ast.expr


def init_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    functions = (each for each in node.body if isinstance(each, ast.FunctionDef))
    return next((each for each in functions if each.name == "__init__"), None)


def parameters_of(node: ast.AST) -> list[str]:
    """The names of a function's parameters, in the order of a call."""
    if not isinstance(node, _FUNCTIONS):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def set_to(module: Module, scope: Scope, name: str) -> ast.expr | None:
    """What a name is set to in a function, or in what is around it, where that is one thing."""
    parts = [getattr(each, "name", "") for each in scope]
    for depth in range(len(parts), -1, -1):
        found = module.source.places.get(".".join((*parts[:depth], name)), [])
        found = [each for each in found if not each.is_option]
        if len(found) == 1 and found[0].node is not None:
            return found[0].node
    return None


def config_calls(code: Code, use: Made) -> list[Given]:
    """The calls with the sizes that a model's config is made by: ``BertConfig(…)``, be they in its callers."""
    said = next((each.value for each in use.call.keywords if each.arg == "config"), None)
    node = said or (use.call.args[0] if use.call.args and not use.is_pretrained else None)
    found = [Given(use.module, use.scope, node)] if node is not None else []
    for _ in range(MOST):
        found = [back for each in found for back in _one_back(code, each)]
    return [each for each in found if isinstance(each.node, ast.Call) and dotted(each.node.func).endswith("Config")]


def _one_back(code: Code, given: Given) -> list[Given]:
    if isinstance(given.node, ast.Attribute):
        return _one_field_back(given)
    if not isinstance(given.node, ast.Name):
        return [given]
    name = given.node.id
    if found := [*callers_of(code, given.module, given.scope, name)]:
        return found
    node = set_to(given.module, given.scope, name)
    return [given._replace(node=node)] if node is not None else []


def _one_field_back(given: Given) -> list[Given]:
    """``self.config``, as ``__init__`` sets it."""
    around = next(
        (place for place in range(len(given.scope), 0, -1) if isinstance(given.scope[place - 1], ast.ClassDef)), 0
    )
    outer = given.scope[around - 1] if around else None
    init = init_of(outer) if isinstance(outer, ast.ClassDef) else None
    found = [value for name, value in own(init) if dotted(given.node) == f"self.{name}"] if init else []
    return [Given(given.module, (*given.scope[:around], init), found[0])] if init and len(found) == 1 else []


def callers_of(code: Code, module: Module, scope: Scope, parameter: str) -> Iterator[Given]:
    """What a parameter of the innermost function is given, by each call of it, where they say the same."""
    function = scope[-1] if scope else None
    if not isinstance(function, _FUNCTIONS) or parameter not in parameters_of(function):
        return
    around = scope[-2] if len(scope) > 1 else None
    is_init = isinstance(around, ast.ClassDef) and function.name == "__init__"
    if around is not None and not is_init:
        return
    called = Origin(module, around.name if isinstance(around, ast.ClassDef) and is_init else function.name)
    place = parameters_of(function).index(parameter) - is_init
    found = [*_given(code, called, parameter, place)]
    if not found:
        said = next((node for name, node in defaults(function) if name == parameter), None)
        found = [Given(module, scope, said)] if said is not None else []
    if len(found) <= MOST and len({ast.dump(each.node) for each in found}) == 1:
        yield from found


def _given(code: Code, called: Origin, parameter: str, place: int) -> Iterator[Given]:
    for module, call, scope in code.calls.get(called.name, []):
        origin = code.origin(module, dotted(call.func))
        if origin is None or origin[:2] != called[:2]:
            continue
        node = next((each.value for each in call.keywords if each.arg == parameter), None)
        if node is None and place < len(call.args) and not isinstance(call.args[place], ast.Starred):
            node = call.args[place]
        if node is not None:
            yield Given(module, scope, node)


def sayer_of(code: Code, module: Module, method: str) -> Origin | None:
    """The one class that has a method which returns a list that is written there: of this file, else of the project."""
    for modules in ([module], [each for each in code.in_order if not each.comes_last]):
        those = [(each, name) for each in modules for name, node in each.classes.items() if _says(node, method)]
        if those:
            return code.origin(*those[0]) if len(those) == 1 else None
    return None


def _says(node: ast.ClassDef, method: str) -> bool:
    init = init_of(node)
    if init is not None and len(parameters_of(init)) - len([*defaults(init)]) > 1:
        return False
    those = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == method)
    returned = (inner.value for each in those for inner in ast.walk(each) if isinstance(inner, ast.Return))
    return any(isinstance(each, ast.List | ast.Tuple) and each.elts for each in returned)
