"""The places of a Python file that a reference can name, each with what stands there: read by ``ast`` and not run."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.config.flows import called_name
from pytest_bertsize.config.python_nodes import OF_A_CALL, assigned, defaults, dotted, first_argument, own
from pytest_bertsize.config.python_values import Unreadable, Values, options
from pytest_bertsize.config.rebound import Rebound

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_CLASSES = {
    **{f"{name}Config": name.lower() for name in ("Bert", "Albert", "Roberta", "DistilBert", "Electra", "Camembert")},
    **{f"{name}Config": name.lower() for name in ("MobileBert", "ModernBert", "Longformer", "MPNet", "ConvBert")},
    **{f"{name}Config": name.lower() for name in ("RoFormer", "XLNet", "Deberta", "Bart", "T5", "GPT2", "Ernie")},
    "XLMRobertaConfig": "xlm-roberta",
    "DebertaV2Config": "deberta-v2",
    "BigBirdConfig": "big_bird",
}
"""Classes of transformers whose call is a config of a family, by what that is called (``model_type``)."""
PLAIN_BASES = frozenset(
    {
        "object",
        "ABC",
        "Generic",
        "Protocol",
        "NamedTuple",
        "TypedDict",
        "BaseModel",
        "PretrainedConfig",
        *CONFIG_CLASSES,
    }
)
"""Classes that give those that derive from them no field of a config's."""
OPTIONS = re.compile(r"(self\.)?(args?|opts?|options|hparams|hp|params|FLAGS|flags|parsed_args|arguments)")
"""What the options of a command line are called where they are handed on."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KNOWN_TO_A_RUN = ast.Await(ast.Constant(None))
"""Stands where there is an expression, and nobody can tell its value."""


class Said(NamedTuple):
    """What stands at a place."""

    node: ast.expr | None
    """``None`` for an object of several."""
    line: int
    fields: Mapping[str, Said] = {}
    """Of an object, those of its values that stand there."""
    scope: str = ""
    """The function in which it stands."""
    is_option: bool = False
    is_call: bool = False
    place: str = ""
    """Of a class, its name."""
    bases: tuple[ast.expr, ...] = ()
    """Those of a class that stand elsewhere."""
    call: ast.Call | None = None
    """What it is said by."""


class NotPython(ValueError):
    """No file of Python 3; the line is its second argument."""


@dataclass
class Source:
    """One file."""

    tree: ast.Module
    _places: dict[str, list[Said]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Source:
        """:raises NotPython: for what Python cannot read."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes in its strings
                return cls(ast.parse(text))
        except SyntaxError as error:
            raise NotPython(error.msg, error.lineno) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise NotPython(str(error) or type(error).__name__, None) from None

    @cached_property
    def places(self) -> Mapping[str, list[Said]]:
        """Everything that a reference can name, by its name; several where the name stands there several times."""
        for said in options(self.tree):
            self._add(said.name, Said(said.node, said.line, is_option=True))
        self._look_through(self.tree.body, "", "")
        return self._places

    @cached_property
    def of_options(self) -> dict[str, Said]:
        """The last default of each option, as a parser has it that is given them one after the other."""
        ordered = sorted(options(self.tree), key=lambda said: said.line)
        return {said.name: Said(said.node, said.line, is_option=True) for said in ordered}

    @cached_property
    def rebound(self) -> Rebound:
        """What the file changes later."""
        found = Rebound(self.places, lambda name: OPTIONS.fullmatch(name) is not None)
        found.look_through(self.tree)
        return found

    def changed_by(self, place: str, said: Said) -> ast.AST | None:
        """What changes the value of a place later, or what it stands in."""
        if said.call is not None:
            of_name = None if place == called_name(said.call) else self._rebound(place, said.call)
            return of_name or self.rebound.after(said.call).changed
        if said.is_option:
            return self.rebound.option(place)
        parts = place.split(".")
        outer = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
        return next((node for each in outer if (node := self.rebound.names.get(each))), None)

    def _rebound(self, place: str, node: ast.expr | None) -> ast.AST | None:
        """What sets a name again; what only changes the config that it stands for is told by its call."""
        by = self.rebound.names.get(place)
        is_of_call = isinstance(node, ast.Call) and of_call(node, "") is not None
        return None if is_of_call and isinstance(by, ast.Attribute | ast.Call) else by

    def at(self, place: str) -> list[Said]:
        """What a reference names: an option, else all that has the name; ``TABLE.key`` in a dict."""
        if place in self.of_options:
            return [said for said in self.places[place] if said.is_option]
        outer, _, key = place.rpartition(".")
        if place in self.places or not outer:
            return list(self.places.get(place, []))
        return [inner for said in self.at(outer) if (inner := self._entry(said, key))]

    def _entry(self, said: Said, key: str) -> Said | None:
        pairs = zip(said.node.keys, said.node.values, strict=True) if isinstance(said.node, ast.Dict) else ()
        those = [value for name, value in pairs if isinstance(name, ast.Constant) and str(name.value) == key]
        return Said(those[-1], those[-1].lineno, scope=said.scope) if those else None

    def value(self, said: Said) -> object:
        """:raises Unreadable: for what only a run can tell."""
        if said.node is not None:
            return Values(lambda name: self._named(name, said.scope)).of(said.node)
        for unread in (*said.bases, *self._conditional(said)):
            raise Unreadable(unread)
        found: dict[str, object] = {}
        for name, each in said.fields.items():
            value = self._field(said, name, each)
            if name.startswith("**") and isinstance(value, dict):
                found |= value
            elif name.startswith("*"):
                raise Unreadable(each.node or ast.Constant(name))
            else:
                found[name] = value
        return found

    def _conditional(self, of: Said) -> list[ast.AST]:
        """What sets a field of a class that has no value by itself."""
        names = self.rebound.names if of.place else {}
        own = (
            (name.removeprefix(f"{of.place}."), node) for name, node in names.items() if name.startswith(f"{of.place}.")
        )
        return [node for name, node in own if "." not in name and name not in of.fields]

    def _field(self, of: Said, name: str, said: Said) -> object:
        """:raises Unreadable: for one that the file changes later."""
        place = f"{of.place}.{name}" if of.place else name
        if by := self.changed_by(place, said) if of.place or said.is_option else None:
            raise Unreadable(by)
        if by := self.rebound.is_filled(of.place, name) if of.place else None:
            raise Unreadable(by)
        return self.value(said)

    def beside(self, said: Said) -> dict[str, object]:
        """What a call gives beside a name; ``None`` for what only a run can tell.

        :raises Unreadable: where nobody can tell what ``**`` gives.
        """
        found = self.readable(said)
        beside: dict[str, object] = {}
        for name, each in said.fields.items():
            value = found.get(name)
            if not name.startswith("**"):
                beside[name] = value
            elif isinstance(value, dict):
                beside |= value
            else:
                raise Unreadable(each.node or ast.Constant(name))
        return beside

    def later(self, said: Said) -> dict[str, Said]:
        """What is given to what a call makes: ``config.num_labels = 3``, ``model.resize_token_embeddings(30_600)``."""
        given = self.rebound.after(said.call).given
        return {
            key: Said(each.value or _KNOWN_TO_A_RUN, each.statement.lineno, scope=each.scope)
            for key, each in given.items()
        }

    def made(self, said: Said) -> Said:
        """What the call says that a name stands for: ``small`` of ``small = BertConfig(num_hidden_layers=4)``."""
        node = said.node
        of_model = isinstance(node, ast.Call) and called_name(node).endswith(("Config", OF_A_CALL[0]))
        found = of_call(node, said.scope) if isinstance(node, ast.Call) and of_model and not said.is_option else None
        return found or said

    def config_given(self, said: Said) -> Said | None:
        """The call that makes what a call is given as ``config``; ``None`` where it is given none.

        :raises Unreadable: where that is no call of this file, or is changed before.
        """
        given = said.fields.get("config")
        if given is None or given.node is None or (isinstance(given.node, ast.Constant) and given.node.value is None):
            return None
        is_name = isinstance(given.node, ast.Name | ast.Attribute)
        meant = self._named(ast.unparse(given.node), said.scope) if is_name else given.node
        made = of_call(meant, said.scope) if isinstance(meant, ast.Call) else None
        if made is None or not isinstance(meant, ast.Call):
            raise Unreadable(given.node)
        if (changed := self.rebound.after(meant).changed) is not None:
            raise Unreadable(changed)
        return made

    def readable(self, said: Said) -> dict[str, object]:
        """The values of an object that can be read."""
        found = {}
        for name, each in said.fields.items():
            try:
                found[name] = self._field(said, name, each)
            except Unreadable:
                continue
        return found

    def _named(self, name: str, scope: str) -> ast.expr | None:
        """What a name stands for, in the function or what is around it; ``args.x`` is an option."""
        if "." in name:
            before, _, option = name.rpartition(".")
            is_option = OPTIONS.fullmatch(before) is not None and option in self.of_options
            return self.of_options[option].node if is_option and not self.rebound.option(option) else None
        parts = scope.split(".") if scope else []
        for depth in range(len(parts), -1, -1):
            if depth < len(parts) and any(each.place for each in self.places.get(".".join(parts[:depth]), [])):
                continue  # a class, whose names its methods do not see
            place = ".".join((*parts[:depth], name))
            found = self.places.get(place, [])
            node = found[0].node if len(found) == 1 else None
            if self._rebound(place, node) or self.rebound.is_passed(".".join(parts[:depth]), name):
                return None
            if node is not None:
                return node
            if found:
                return None
        return None

    def _add(self, name: str, said: Said) -> None:
        self._places.setdefault(name, []).append(said)

    def _look_through(self, body: list[ast.stmt], scope: str, of_class: str) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                self._class(statement, scope)
            elif isinstance(statement, _FUNCTIONS):
                self._function(statement, scope)
            else:
                self._statement(statement, scope, of_class)

    def _statement(self, statement: ast.stmt, scope: str, of_class: str) -> None:
        for name, node in assigned(statement):
            self._add(f"{scope}.{name}" if scope else name, Said(node, node.lineno, scope=scope))
        for block in ("body", "orelse", "finalbody"):
            self._look_through(getattr(statement, block, []), scope, of_class)
        for inner in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            self._look_through(inner.body, scope, of_class)
        for expression in ast.iter_child_nodes(statement):
            if isinstance(expression, ast.expr | ast.keyword | ast.withitem):
                self._calls(expression, scope)

    def _class(self, node: ast.ClassDef, scope: str) -> None:
        name = f"{scope}.{node.name}" if scope else node.name
        inherited, unknown = self._of_bases(node)
        fields = {key: Said(value, value.lineno) for each in node.body for key, value in assigned(each)}
        for key, said in fields.items():
            self._add(f"{name}.{key}", said)
        for inner in node.body:
            if isinstance(inner, _FUNCTIONS):
                self._function(inner, name)
                if inner.name == "__init__":
                    fields |= {key: Said(value, value.lineno, scope=f"{name}.__init__") for key, value in own(inner)}
            elif isinstance(inner, ast.ClassDef):
                self._class(inner, name)
        for key, said in fields.items():
            if said.scope:
                self._add(f"{name}.{key}", said)
        self._add(name, Said(None, node.lineno, {**inherited, **fields}, place=name, bases=unknown))

    def _of_bases(self, node: ast.ClassDef) -> tuple[dict[str, Said], tuple[ast.expr, ...]]:
        """The fields that a class has of others in the file, and its bases that stand elsewhere."""
        fields: dict[str, Said] = {}
        unknown: list[ast.expr] = []
        for base in reversed(node.bases):
            found = self._places.get(dotted(base), [])
            if len(found) == 1 and found[0].place:
                fields |= found[0].fields
                unknown += found[0].bases
            elif dotted(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2] not in PLAIN_BASES:
                unknown.append(base)
        return fields, tuple(unknown)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str) -> None:
        name = f"{scope}.{node.name}" if scope else node.name
        for parameter, default in defaults(node):
            self._add(f"{name}.{parameter}", Said(default, default.lineno, scope=scope))
        self._look_through(node.body, name, "")

    def _calls(self, expression: ast.AST, scope: str) -> None:
        for call in (node for node in ast.walk(expression) if isinstance(node, ast.Call)):
            if said := of_call(call, scope):
                self._add(called_name(call), said)


def of_call(call: ast.Call, scope: str) -> Said | None:
    """What a call says of a model; ``None`` for one that is of none."""
    name, first = called_name(call), first_argument(call)
    named = ((key.arg or f"**{index}", key.value) for index, key in enumerate(call.keywords))
    fields = {key: Said(value, value.lineno, scope=scope) for key, value in named}
    if name.endswith(OF_A_CALL[0]) and first is not None:
        return Said(first, first.lineno, fields, scope, is_call=True, call=call)
    if name.endswith("Config"):
        positional = {f"*{number}": Said(each, each.lineno) for number, each in enumerate(call.args)}
        return Said(None, call.lineno, {**positional, **fields}, scope, is_call=True, call=call)
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and name[:1].isupper():
        return Said(first, first.lineno, scope=scope, is_call=True, call=call)
    return None
