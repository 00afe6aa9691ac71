"""Where a file changes the config that a call makes: through names, fields, parameters, and what functions return."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config.python_nodes import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OF_SHAPE = re.compile(
    r"(?!output_|add_pooling_layer|.*(_token_id|dropout|_prob|_eps)$).*"
    r"(layer|hidden_|size|head|num_|n_embd|dim|width|inner|d_model|d_ff|d_kv|position|pos_|relative|vocab|labels|id2label|"
    r"tie_|decoder|cross_|bias|expert|group|bottleneck|share|legacy)"
)
"""Keys of a config that may change a count."""
_COPIES = frozenset({"copy", "deepcopy"})
_UPDATES = frozenset({"update", "update_from_string", "__setattr__"})
_RESIZES = "resize_token_embeddings"


class At(NamedTuple):
    """Where a node stands."""

    scope: str = ""
    is_class: bool = False
    """Whether the scope is a class."""
    is_below: bool = False
    """Whether it is in an ``if``, a loop or the like of its scope."""
    of_self: str = ""
    """The class, in a method that sets its fields."""
    of_class: str = ""
    """The class of the method that it is in."""


def called_name(call: ast.Call) -> str:
    """As a reference names a call: ``BertConfig``, ``BertModel.from_pretrained``."""
    parts = dotted(call.func).split(".")
    return ".".join(parts[-2 if parts[-1] == "from_pretrained" else -1 :])


class _Holder(NamedTuple):
    """What may hold a config: a name of a scope, a field (``self.config`` of a class), or what a function returns."""

    scope: str
    name: str


_RETURNED = "return"
"""The name of what a function returns, which no variable can have."""


@dataclass
class Flows:
    """Of one file: what may hold what each call makes, and where that is changed."""

    _sources: dict[_Holder, list[_Holder | ast.Call]] = field(default_factory=dict)
    """Whence each may have what it holds."""
    _stored: list[tuple[_Holder, ast.AST]] = field(default_factory=list)
    _resizes: list[tuple[ast.Call, At]] = field(default_factory=list)
    _passed: list[tuple[ast.Call, At]] = field(default_factory=list)
    _functions: dict[str, list[tuple[str, Function, bool]]] = field(default_factory=dict)
    """By what they are called: the full name, and whether a call leaves out the first parameter."""

    def note(self, node: ast.AST, at: At) -> None:
        if isinstance(node, FUNCTIONS):
            self._note_function(node, at)
        elif isinstance(node, ast.Return) and node.value:
            self._flow(_Holder(at.scope, _RETURNED), node.value, at)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            self._note_assignment(node, at)
        elif isinstance(node, ast.Call):
            self._passed.append((node, at))
            self._stored += ((_holder(changed, at), node) for changed in _changed_by_call(node))
            if isinstance(node.func, ast.Attribute) and node.func.attr == _RESIZES and (node.args or node.keywords):
                self._resizes.append((node, at))

    def pass_on(self) -> None:
        """Give the parameters of functions what calls of them say, when all of the file was noted."""
        for call, at in self._passed:
            for parameter, value in self._arguments(call):
                self._flow(parameter, value, at)

    def changed(self) -> dict[str, ast.AST]:
        """By the names of calls: what changes a shape of the config that they make."""
        found: dict[str, ast.AST] = {}
        seen: set[_Holder] = set()
        for holder, node in self._stored:
            for call in self._calls_behind(holder, seen):
                found.setdefault(called_name(call), node)
        return found

    def resized(self) -> dict[str, tuple[ast.Call, str]]:
        """By the names of calls: what gives their model another vocabulary, and the scope in which it stands."""
        found: dict[str, tuple[ast.Call, str]] = {}
        stands = {id(call): at for call, at in self._passed}
        for node, at in self._resizes:
            model = node.func.value if isinstance(node.func, ast.Attribute) else node
            holders = [_holder(model, at)]
            while isinstance(model, ast.Attribute):  # a part of one
                model = model.value
                holders.append(_holder(model, at))
            made = [call for holder in holders for call in self._calls_behind(holder, set())]
            given = [
                _holder(each, stands[id(call)])
                for call in made
                for each in (*call.args, *(keyword.value for keyword in call.keywords))
                if dotted(each)
            ]
            made += [call for config in given for call in self._calls_behind(config, set())]
            for call in made:
                found.setdefault(called_name(call), (node, at.scope))
        return found

    def _note_function(self, node: Function, at: At) -> None:
        name = f"{at.scope}.{node.name}" if at.scope else node.name
        known = at.scope.rpartition(".")[2] if node.name == "__init__" and at.is_class else node.name
        is_method = at.is_class and "staticmethod" not in map(dotted, node.decorator_list)
        self._functions.setdefault(known, []).append((name, node, is_method))
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self._sources.setdefault(_Holder(name, each.arg), [])

    def _note_assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr, at: At) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value and dotted(target):
                self._flow(_holder(target, at), node.value, at)
            for each in ast.walk(target):
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and OF_SHAPE.match(each.attr):
                    self._stored.append((_holder(each.value, at), node))

    def _flow(self, holder: _Holder, value: ast.AST, at: At) -> None:
        sources = self._sources.setdefault(holder, [])
        for each in _alternatives(value):
            if isinstance(each, ast.Call):
                sources.append(each)
            elif dotted(each):
                sources.append(_holder(each, at))

    def _arguments(self, call: ast.Call) -> Iterator[tuple[_Holder, ast.expr]]:
        """The parameters of functions of the file that a call gives values to."""
        for name, node, is_method in self._functions.get(_last(call), ()):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][is_method:]
            pairs = [*zip(names, call.args, strict=False), *((each.arg, each.value) for each in call.keywords)]
            yield from ((_Holder(name, parameter), value) for parameter, value in pairs if parameter)

    def _calls_behind(self, holder: _Holder, seen: set[_Holder]) -> Iterator[ast.Call]:
        """The calls whose result may be held; what was seen before is passed over."""
        waiting: list[_Holder | ast.Call] = [holder]
        while waiting:
            each = waiting.pop()
            if isinstance(each, ast.Call):
                yield each
                waiting += [_Holder(name, _RETURNED) for name, _, _ in self._functions.get(_last(each), ())]
            elif each not in seen:
                seen.add(each)
                waiting += self._sources[each] if each in self._sources else _outside(each)


def _holder(node: ast.AST, at: At) -> _Holder:
    name = dotted(node)
    return _Holder(at.of_class if at.of_class and name.startswith("self.") else at.scope, name)


def _outside(holder: _Holder) -> list[_Holder]:
    """The same name in the scope around; nobody else has a field."""
    scope, name = holder
    return [_Holder(scope.rpartition(".")[0], name)] if scope and not name.startswith("self.") else []


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)


def _alternatives(value: ast.AST) -> Iterator[ast.AST]:
    """What an expression may come to: either side of ``x if y else z``, what is copied."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.IfExp):
            waiting += [each.body, each.orelse]
        elif isinstance(each, ast.BoolOp):
            waiting += each.values
        elif isinstance(each, ast.NamedExpr):
            waiting.append(each.value)
        elif isinstance(each, ast.Call) and called_name(each) in _COPIES and each.args:
            waiting.append(each.args[0])
        else:
            yield each


def _changed_by_call(call: ast.Call) -> Iterator[ast.AST]:
    """The config of ``setattr(config, "num_labels", 3)``, ``config.update({"num_labels": 3})``, where a size may be."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and call.args:
        if _may_be_of_shape(call.args[1:2]):
            yield call.args[0]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _UPDATES:
        said = call.args[0] if call.args else None
        names = said.keys if isinstance(said, ast.Dict) else [said] if said else []
        if _may_be_of_shape(names) or any(not each.arg or OF_SHAPE.match(each.arg) for each in call.keywords):
            yield call.func.value


def _may_be_of_shape(names: list[ast.expr] | list[ast.expr | None]) -> bool:
    """Whether one of them may be the name of a size; what is no text may be any."""
    texts = [each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else None for each in names]
    return any(each is None or OF_SHAPE.match(each) for each in texts)
