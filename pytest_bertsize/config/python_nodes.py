"""What the nodes of a Python file say: dotted names, assignments, defaults."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_A_CALL = ("from_pretrained", "pretrained_model_name_or_path", "model_name_or_path", "model_name")
"""A call that takes a name first, and what it calls that."""


def first_argument(call: ast.Call) -> ast.expr | None:
    """The name that a call is given, as ``from_pretrained`` takes it."""
    if call.args:
        return call.args[0]
    return next((each.value for each in call.keywords if each.arg in OF_A_CALL), None)


def dotted(node: ast.AST) -> str:
    """``torch.nn.Linear`` of the expression that says so, ``""`` of any other; ``self.x`` included."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((node.id, *reversed(parts)))


def text(node: ast.expr | None) -> str | None:
    """What a string says; ``None`` for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def namespace(node: ast.AST) -> ast.AST:
    """``args`` of ``vars(args)`` and of ``args.__dict__``; any other node itself."""
    if isinstance(node, ast.Call) and dotted(node.func) == "vars" and node.args:
        return node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "__dict__" else node


def updates(call: ast.Call) -> dict[str | None, ast.expr]:
    """What ``config.update({"width": 3}, depth=2)`` gives, by key; by ``None`` what may be of any."""
    given = {each.arg: each.value for each in call.keywords}
    said = call.args[0] if call.args else None
    if isinstance(said, ast.Dict):
        given |= {text(key): value for key, value in zip(said.keys, said.values, strict=True)}
    elif said is not None:
        given |= {text(said): call.args[1]} if len(call.args) > 1 else {None: said}
    return given


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement sets, and what to."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        yield statement.target.id, _of_a_field(statement.value)


def _of_a_field(node: ast.expr) -> ast.expr:
    """``field(default=3)`` of a dataclass, ``Field(3)`` of pydantic → ``3``."""
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in {"field", "Field"}:
        said = next((each.value for each in node.keywords if each.arg == "default"), None)
        return said or (node.args[0] if node.args else node)
    return node


def own(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """What ``__init__`` sets as ``self.name``."""
    for statement in function.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            if isinstance(target, ast.Attribute) and dotted(target) == f"self.{target.attr}":
                yield target.attr, statement.value


def defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = arguments.defaults
    yield from ((each.arg, node) for each, node in zip(positional[len(positional) - len(given) :], given, strict=True))
    yield from (
        (each.arg, node) for each, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if node
    )
