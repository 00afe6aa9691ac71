"""Models that a function of the project makes: ``model = build_model(args)``, of whatever class that is then."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.callers import parameters_of
from pytest_bertsize.commands.init.python.made import Made
from pytest_bertsize.commands.init.python.plan import Plan
from pytest_bertsize.commands.init.python.values import Values
from pytest_bertsize.config.python_nodes import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_bertsize.commands.init.python.code import Code, Module, Origin

_THING = r"(model|bert|network|encoder|classifier|backbone)"
_MAKES = re.compile(
    r"(?!\w*(weight|config|optim|vocab))_*"
    r"(build|make|create|construct|get|init|load|set_?up|prepare|define|instantiate)"
    rf"\w*{_THING}s?(_components|_and_\w+)?"
    rf"|\w*{_THING}_(factory|builder|fn|provider)",
    re.IGNORECASE,
)
_RELEVANT = re.compile(r"bert|electra|mpnet|longformer|from_pretrained|AutoModel|TransformerEncoder|MultiheadAttention")
_DEEPEST = 3
"""Calls, from a function to what says that it has to do with our families."""


def made_by_functions(code: Code) -> Iterator[list[Made]]:
    """The calls of each such function: those of other functions of the kind last, and of scripts that train first."""
    seen = set()
    for module in (each for each in code.in_order if not each.comes_last):
        for name in dict.fromkeys(_called(module)):
            origin = code.origin(module, name)
            if origin is None or origin.module is None or origin.name not in origin.module.functions:
                continue
            function = origin.module.functions[origin.name]
            if origin[:2] in seen or _returned(function) is None or not _is_relevant(code, *origin[:2], 0):
                continue
            seen.add(origin[:2])
            if calls := [*_calls_of(code, origin)]:
                yield sorted(calls, key=lambda each: "train" not in each.module.file)


def _calls_of(code: Code, called: Origin) -> Iterator[Made]:
    """Those from elsewhere than another function of the kind."""
    for module, call, scope in code.calls.get(called.name, []):
        inside = getattr(scope[-1], "name", "") if scope else ""
        origin = code.origin(module, dotted(call.func))
        if origin is not None and origin[:2] == called[:2] and not _MAKES.fullmatch(inside):
            yield Made(module, call, origin, "Module", scope)


def plan_of_function(made: Made, name: str, code: Code) -> Plan:
    """The function that calls it as the project does.

    :raises Undecided: for arguments that nobody can tell.
    """
    assert made.origin.module is not None
    plan = Plan(name, made, made.origin.module)
    values = Values(code, plan)
    function = made.origin.module.functions[made.origin.name]
    values.reads = function
    own = plan.needs_own(made.origin)
    call = f"{own}({values.given(made.call, parameters_of(function))})"
    values.begin([call])
    place = _returned(function)
    plan.body.append(f"return {call}{f'[{place}]' if place else ''}")
    return plan


def _called(module: Module) -> Iterator[str]:
    for node in ast.walk(module.source.tree):
        if isinstance(node, ast.Call) and _MAKES.fullmatch(dotted(node.func).rpartition(".")[2]):
            yield dotted(node.func)


def _returned(function: ast.FunctionDef) -> str | None:
    """Which part of what it returns the model is, ``""`` for all of it; ``None`` where it returns nothing."""
    returns = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]
    if not returns:
        return None
    last = returns[-1]
    names = [dotted(each) for each in last.elts] if isinstance(last, ast.Tuple) else []
    telling = (str(place) for place, each in enumerate(names) if re.fullmatch(rf"(?i)\w*{_THING}", each))
    return next(telling, "0") if names else ""


def _is_relevant(code: Code, module: Module | None, name: str, depth: int) -> bool:
    node = (module.functions.get(name) or module.classes.get(name)) if module else None
    if module is None or node is None:
        return False
    if _RELEVANT.search(ast.unparse(node)):
        return True
    called = {dotted(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)} - {""}
    origins = (code.origin(module, each) for each in sorted(called)) if depth < _DEEPEST else iter(())
    return any(each and each.module and _is_relevant(code, each.module, each.name, depth + 1) for each in origins)
