"""What a file gives a config or a model after the call that makes it: through names, fields, parameters and returns."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config.python_nodes import dotted, namespace, text, updates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
Statement = ast.stmt | ast.expr
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OF_SHAPE = re.compile(
    r"(?!output_|add_pooling_layer|ignore_mismatched_sizes|hidden_act|num_beams|.*(batch_size|_token_id|dropout|_prob|_eps)$)"
    r".*(layer|hidden_|size|head|num_|n_embd|dim|width|inner|d_model|d_ff|d_kv|position|pos_|relative|vocab|labels|id2label|"
    r"tie_|decoder|cross_|bias|expert|group|bottleneck|share|legacy|feed_forward|gated|use_proj|trigram)"
)
"""Keys of a config that may change a count."""
OF_MODULES = re.compile(
    r"(?!.*(name|path|dir|size|dim|ids?|type|mask|map|checkpointing)$)"
    r"(.*(classifier|pooler|embed|encoder|decoder|layer|block|head|dense|proj|score|linear|transform|bert|cls|lm_)"
    r"|(fc\d*|out|qa_outputs)$)"
)
"""Attributes of a model that may be modules with parameters."""
_COPIES = frozenset({"copy", "deepcopy"})
_WRAPPERS = frozenset({"compile", "DataParallel", "DistributedDataParallel", "prepare"})
_SAME = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_"})
"""Methods that return the model itself."""
_UPDATES = frozenset({"update", "update_from_string", "__setattr__"})
_RESIZES = "resize_token_embeddings"
_REMAKES = frozenset(
    {"prune_heads", "set_input_embeddings", "set_output_embeddings", "resize_position_embeddings", "add_module"}
)


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


class Later(NamedTuple):
    """A value that the file gives a config, or a vocabulary that it gives a model."""

    statement: Statement
    value: ast.expr | None
    """``None`` where a run may give it or not, or another one."""
    scope: str
    """Where it stands."""


@dataclass
class After:
    """What becomes of what one call makes."""

    changed: Statement | None = None
    """What changes it so that only a run can tell how."""
    given: dict[str, Later] = field(default_factory=dict)
    """By the keys of a config."""

    def give(self, key: str, later: Later) -> None:
        """Have a key be given; what is given twice is known only to a run."""
        self.given[key] = later._replace(value=None) if key in self.given else later


class _Holder(NamedTuple):
    """What may hold a config or a model: a name of a scope, a field (``self.config`` of a class), what is returned."""

    scope: str
    name: str


class _Store(NamedTuple):
    """A statement that may change what something holds."""

    holders: tuple[_Holder, ...]
    """The first holds it, the others what it is a part of."""
    at: At
    statement: Statement
    key: str = ""
    """Of a config; ``""`` where any may change."""
    value: ast.expr | None = None
    of_model: bool = False


_RETURNED = "return"
"""The name of what a function returns, which no variable can have."""


@dataclass
class Flows:
    """Of one file: what may hold what each call makes, and where that is changed."""

    _sources: dict[_Holder, dict[_Holder | ast.Call, None]] = field(default_factory=dict)
    """Whence each may have what it holds, in the order of the file."""
    _direct: dict[_Holder, list[ast.Call]] = field(default_factory=dict)
    """The calls of which each is the result, and nothing of them else."""
    _stores: list[_Store] = field(default_factory=list)
    _passed: list[tuple[ast.Call, At]] = field(default_factory=list)
    _functions: dict[str, list[tuple[str, Function, bool]]] = field(default_factory=dict)
    """By what they are called: the full name, and whether a call leaves out the first parameter."""
    _made: dict[_Holder, list[ast.Call]] = field(default_factory=dict)
    """The calls whose result may be held, where that was asked."""

    def note(self, node: ast.AST, at: At) -> None:
        if isinstance(node, FUNCTIONS):
            self._note_function(node, at)
        elif isinstance(node, ast.Return) and node.value:
            self._flow(_Holder(at.scope, _RETURNED), node.value, at)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            self._note_assignment(node, at)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._bind(node.target, node.iter, at)
        elif isinstance(node, ast.Delete):
            those = (each for each in node.targets if not isinstance(each, ast.Name))
            self._stores += (_Store(_parts(each, at), at, node, of_model=True) for each in those)
        elif isinstance(node, ast.Call):
            self._passed.append((node, at))
            self._stores += _stored_by_call(node, at)

    def after(self) -> dict[int, After]:
        """What becomes of what calls make, by the ``id`` of each, when all of the file was noted."""
        for call, at in self._passed:
            self._pass_on(call, at)
        stands = {id(call): at for call, at in self._passed}
        found: dict[int, After] = {}
        for store in self._stores:
            for call, holder in self._behind(store):
                self._conclude(store, call, holder, stands, found)
        return found

    def _conclude(
        self, store: _Store, call: ast.Call, holder: _Holder, stands: Mapping[int, At], found: dict[int, After]
    ) -> None:
        """Note what a statement does to what a call makes."""
        if store.of_model == is_of_config(call):
            return
        after = found.setdefault(id(call), After())
        if not store.key:
            after.changed = after.changed or store.statement
            return
        is_sure = (
            holder == store.holders[0]
            and [*self._sources.get(holder, ())] == self._direct.get(holder) == [call]
            and stands[id(call)].scope == store.at.scope
            and not store.at.is_below
            and (store.of_model or not self._is_given_before(holder, call, store))
        )
        later = Later(store.statement, store.value if is_sure else None, store.at.scope)
        after.give(store.key, later)
        is_another = store.of_model and _last(call) not in self._functions
        for config in self._configs(call, stands[id(call)]) if is_another else ():
            found.setdefault(id(config), After()).give(store.key, later)

    def _is_given_before(self, holder: _Holder, made: ast.Call, store: _Store) -> bool:
        """Whether a config was handed on before a statement that changes it."""
        return any(
            made.lineno <= call.lineno <= store.statement.lineno
            and any(dotted(each) and _holder(each, at) == holder for each in _values(call))
            for call, at in self._passed
            if call is not store.statement
        )

    def _configs(self, call: ast.Call, at: At) -> Iterator[ast.Call]:
        """The calls that make the config which a model is made of."""
        for each in _values(call):
            if isinstance(each, ast.Call):
                yield each
            elif dotted(each):
                yield from (made for made in self._calls_behind(_holder(each, at)) if is_of_config(made))

    def _note_function(self, node: Function, at: At) -> None:
        name = f"{at.scope}.{node.name}" if at.scope else node.name
        known = at.scope.rpartition(".")[2] if node.name == "__init__" and at.is_class else node.name
        is_method = at.is_class and "staticmethod" not in map(dotted, node.decorator_list)
        self._functions.setdefault(known, []).append((name, node, is_method))
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self._sources.setdefault(_Holder(name, each.arg), {})

    def _note_assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr, at: At) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value:
                self._bind(target, node.value, at)
                if isinstance(node.value, ast.Call) and dotted(target):
                    self._direct.setdefault(_holder(target, at), []).append(node.value)
            for each in ast.walk(target):
                if isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.ctx, ast.Store):
                    is_plain = each is target and not isinstance(node, ast.AugAssign)
                    self._stores += _stored(each, node, node.value if is_plain else None, at)

    def _bind(self, target: ast.expr, value: ast.expr, at: At) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            pairs = values if len(values) == len(target.elts) else [value] * len(target.elts)
            for each, one in zip(target.elts, pairs, strict=True):
                self._bind(each, one, at)
        elif dotted(_base(target)):
            self._flow(_holder(target, at), value, at)

    def _flow(self, holder: _Holder, value: ast.AST, at: At) -> None:
        self._sources.setdefault(holder, {}).update(dict.fromkeys(_whence(value, at)))

    def _pass_on(self, call: ast.Call, at: At) -> None:
        """Have the parameters of functions of the file hold what a call gives them."""
        functions = self._functions.get(_last(call))
        if not functions:
            return
        by_place = [dict.fromkeys(_whence(each, at)) for each in call.args]
        by_name = {each.arg: dict.fromkeys(_whence(each.value, at)) for each in call.keywords if each.arg}
        for name, node, is_method in functions:
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][is_method:]
            for parameter, whence in (*zip(names, by_place, strict=False), *by_name.items()):
                self._sources.setdefault(_Holder(name, parameter), {}).update(whence)

    def _behind(self, store: _Store) -> Iterator[tuple[ast.Call, _Holder]]:
        """The calls whose result a statement may change, and by which name."""
        seen: set[int] = set()
        for holder in store.holders:
            for call in self._calls_behind(holder):
                if id(call) not in seen:
                    seen.add(id(call))
                    yield call, holder

    def _calls_behind(self, holder: _Holder) -> list[ast.Call]:
        """The calls whose result may be held, each once."""
        if holder not in self._made:
            self._made[holder] = [*self._looked_behind(holder)]
        return self._made[holder]

    def _looked_behind(self, holder: _Holder) -> Iterator[ast.Call]:
        waiting: list[_Holder | ast.Call] = [holder]
        seen: set[_Holder | int] = set()
        while waiting:
            each = waiting.pop()
            key = id(each) if isinstance(each, ast.Call) else each
            if key in seen:
                continue
            seen.add(key)
            if isinstance(each, ast.Call):
                yield each
                waiting += [_Holder(name, _RETURNED) for name, _, _ in self._functions.get(_last(each), ())]
            else:
                waiting += self._sources[each] if each in self._sources else _outside(each)


def _whence(value: ast.AST, at: At) -> Iterator[_Holder | ast.Call]:
    """The calls and the names that a value may be of."""
    for each in _alternatives(value):
        if isinstance(each, ast.Call):
            yield each
        elif dotted(_base(each)):
            yield _holder(each, at)


def is_of_config(call: ast.Call) -> bool:
    """Whether it makes a config, by its name, and not a model."""
    return called_name(call).removesuffix(".from_pretrained").endswith("Config")


def _base(node: ast.AST) -> ast.AST:
    """``models`` of ``models["encoder"]``, and what ``vars(…)``, ``.__dict__`` and ``.to(device)`` are of."""
    while True:
        if (of := namespace(node)) is not node:
            node = of
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            node = node.func.value
        else:
            return node


def _holder(node: ast.AST, at: At) -> _Holder:
    name = dotted(_base(node))
    return _Holder(at.of_class if at.of_class and name.startswith("self.") else at.scope, name)


def _parts(node: ast.AST, at: At) -> tuple[_Holder, ...]:
    """``model.bert.encoder``, ``model.bert`` and ``model``."""
    found = [_holder(node, at)]
    node = _base(node)
    while isinstance(node, ast.Attribute):
        node = _base(node.value)
        found.append(_holder(node, at))
    return tuple(each for each in found if each.name)


def _outside(holder: _Holder) -> list[_Holder]:
    """The same name in the scope around; nobody else has a field."""
    scope, name = holder
    return [_Holder(scope.rpartition(".")[0], name)] if scope and not name.startswith("self.") else []


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _alternatives(value: ast.AST) -> Iterator[ast.AST]:
    """What an expression may come to: either side of ``x if y else z``, what is in a list, copied, wrapped or moved."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.IfExp):
            waiting += [each.body, each.orelse]
        elif isinstance(each, ast.BoolOp):
            waiting += each.values
        elif isinstance(each, ast.NamedExpr | ast.Await | ast.Starred):
            waiting.append(each.value)
        elif isinstance(each, ast.Tuple | ast.List | ast.Set):
            waiting += each.elts
        elif isinstance(each, ast.Dict):
            waiting += each.values
        elif isinstance(each, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            waiting.append(each.elt)
        elif isinstance(each, ast.Call) and _last(each) in _COPIES | _WRAPPERS and each.args:
            waiting += each.args
        else:
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                of = each.func.value
                waiting += [of] if isinstance(of, ast.Call) or each.func.attr in _SAME else []
            yield each


def _stored(
    target: ast.Attribute | ast.Subscript, statement: Statement, value: ast.expr | None, at: At
) -> Iterator[_Store]:
    """What ``config.num_labels = 3`` and ``model.classifier = Linear(…)`` change."""
    if isinstance(target, ast.Attribute):
        if OF_SHAPE.match(target.attr):
            yield _Store((_holder(target.value, at),), at, statement, target.attr, value)
        is_plain = isinstance(value, ast.Constant) and value.value is not None
        if is_plain or not OF_MODULES.match(target.attr):
            return
    elif not dotted(target.value):  # of vars(config), where it is one
        yield from _stores_of({text(target.slice): value or target}, target, statement, at)
    parts = _parts(target, at)
    if not any("config" in each.name.rpartition(".")[2] for each in parts):
        yield _Store(parts[1:] if isinstance(target, ast.Attribute) else parts, at, statement, of_model=True)


def _stored_by_call(call: ast.Call, at: At) -> Iterator[_Store]:
    """What ``setattr(config, "num_labels", 3)``, ``config.update({"num_labels": 3})`` and methods of a model change."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == len(("of", "key", "value")):
        of, key, value = call.args
        yield from _stores_of({text(key): value}, of, call, at)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _UPDATES:
        yield from _stores_of(updates(call), call.func.value, call, at)
    elif isinstance(call.func, ast.Attribute) and call.func.attr == _RESIZES and _values(call):
        yield _Store(_parts(call.func.value, at), at, call, "vocab_size", _tokens(call), of_model=True)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _REMAKES:
        yield _Store(_parts(call.func.value, at), at, call, of_model=True)


def _stores_of(pairs: Mapping[str | None, ast.expr], of: ast.expr, statement: Statement, at: At) -> Iterator[_Store]:
    """By key; ``None`` may be any."""
    for key, value in pairs.items():
        if key is None or OF_SHAPE.match(key):
            yield _Store((_holder(of, at),), at, statement, key or "", value)


def _tokens(call: ast.Call) -> ast.expr | None:
    """What ``resize_token_embeddings`` is given, where it rounds nothing."""
    named = {each.arg: each.value for each in call.keywords if each.arg != "mean_resizing"}
    if len(call.args) > 1 or named.keys() - {"new_num_tokens"}:
        return None
    return named.get("new_num_tokens") or call.args[0]
