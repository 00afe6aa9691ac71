"""What a Python file says of a model, read by ``ast`` and not run: ``train.py#MODEL_NAME`` names a place in it.

======================================  ===============================================================
``train.py``                            the defaults of its options: argparse, click, absl
``train.py#model_name_or_path``         the default of one, or a constant of the module
``model.py#Arguments``                  a dict, or the fields of a class with their values
``model.py#Tagger.__init__.width``      the default of a parameter, or a name that is set once in a function
``train.py#BertConfig``                 the arguments of a call
``train.py#BertModel.from_pretrained``  the first argument of one
======================================  ===============================================================
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from pytest_bertsize.config.model_config import ModelConfig, fail, not_plain, text_of
from pytest_bertsize.config.python_values import Unreadable, options, value_of
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUFFIX = ".py"
OF_A_CALL = ("from_pretrained", "pretrained_model_name_or_path", "model_name_or_path", "model_name")
"""A call that takes a name first, and what it calls that."""
CONFIG_CLASSES = {
    **{f"{name}Config": name.lower() for name in ("Bert", "Albert", "Roberta", "DistilBert", "Electra", "Camembert")},
    **{f"{name}Config": name.lower() for name in ("MobileBert", "ModernBert", "Longformer", "MPNet", "ConvBert")},
    **{f"{name}Config": name.lower() for name in ("RoFormer", "XLNet", "Deberta", "Bart", "T5", "GPT2", "Ernie")},
    "XLMRobertaConfig": "xlm-roberta",
    "DebertaV2Config": "deberta-v2",
    "BigBirdConfig": "big_bird",
}
"""Classes of transformers whose call is a config of a family, by what that is called (``model_type``)."""
OPTIONS = re.compile(r"(self\.)?(args?|opts?|options|hparams|hp|params|FLAGS|flags|parsed_args|arguments)")
"""What the options of a command line are called where they are handed on."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
        return {said.name: Said(said.node, said.line) for said in ordered}

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
        if said.node is None:
            return {name: self.value(each) for name, each in said.fields.items()}
        return value_of(said.node, lambda name: self._named(name, said.scope))

    def readable(self, said: Said) -> dict[str, object]:
        """The values of an object that can be read."""
        found = {}
        for name, each in said.fields.items():
            try:
                found[name] = self.value(each)
            except Unreadable:
                continue
        return found

    def _named(self, name: str, scope: str) -> ast.expr | None:
        """What a name stands for, in the function or what is around it; ``args.x`` is an option."""
        if "." in name:
            before, _, option = name.rpartition(".")
            is_option = OPTIONS.fullmatch(before) is not None and option in self.of_options
            return self.of_options[option].node if is_option else None
        parts = scope.split(".") if scope else []
        for depth in range(len(parts), -1, -1):
            found = self.places.get(".".join((*parts[:depth], name)), [])
            if len(found) == 1 and found[0].node is not None:
                return found[0].node
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
        for handler in getattr(statement, "handlers", []):
            self._look_through(handler.body, scope, of_class)
        for expression in ast.iter_child_nodes(statement):
            if isinstance(expression, ast.expr | ast.keyword | ast.withitem):
                self._calls(expression, scope)

    def _class(self, node: ast.ClassDef, scope: str) -> None:
        name = f"{scope}.{node.name}" if scope else node.name
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
        self._add(name, Said(None, node.lineno, fields))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str) -> None:
        name = f"{scope}.{node.name}" if scope else node.name
        for parameter, default in defaults(node):
            self._add(f"{name}.{parameter}", Said(default, default.lineno, scope=scope))
        self._look_through(node.body, name, "")

    def _calls(self, expression: ast.AST, scope: str) -> None:
        for call in (node for node in ast.walk(expression) if isinstance(node, ast.Call)):
            name = ".".join(dotted(call.func).split(".")[-2 if dotted(call.func).endswith(OF_A_CALL[0]) else -1 :])
            first = first_argument(call)
            if name.endswith(OF_A_CALL[0]) and first is not None:
                self._add(name, Said(first, first.lineno, scope=scope))
            elif name.endswith("Config"):
                fields = {key.arg or "**": Said(key.value, key.value.lineno, scope=scope) for key in call.keywords}
                positional = {f"*{number}": Said(each, each.lineno) for number, each in enumerate(call.args)}
                self._add(name, Said(None, call.lineno, {**positional, **fields}, is_call=True))
            elif isinstance(first, ast.Constant) and isinstance(first.value, str) and name[:1].isupper():
                self._add(name, Said(first, first.lineno, scope=scope))


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
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
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


# as a config


def parse(content: bytes, file: str, inner: str, *, whole: bool = True) -> ModelConfig | str:
    """What a place in a Python file says: a config, or the name of one that is published.

    :param inner: what stands behind the ``#`` of a reference.
    :param whole: whether each value has to be one that can be read; of options and fields a function is given those
        that are, and misses the others. A call misses none.
    :raises Unusable: for a place that is not there, or that only a run can tell the value of.
    """
    text = text_of(content, file)
    try:
        source = Source.of(text)
    except NotPython as error:
        fail(file, f"not Python: {printable(str(error.args[0]))}", "correct the file", error.args[1])
    said = Said(None, 1, source.of_options) if not inner else _only(source, inner, file)
    if said.node is None and not whole and not said.is_call:
        value: object = source.readable(said)
    else:
        value = _read(source, said, inner, file)
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        fail(
            file,
            f"{printable(inner)} is {shown(value)}, neither a config nor the name of one",
            "name a place that is",
            said.line,
        )
    if found := not_plain(value):
        fail(file, found.message, found.fix, said.line)
    if family := CONFIG_CLASSES.get(inner):
        value = {"model_type": family, **value}
    lines = {name: each.line for name, each in _fields(said).items()}
    digest = hashlib.sha256(content).hexdigest()
    return ModelConfig(
        file, tuple(inner.split(".")) if inner else (), value, text, digest, _Lines(inner, lines, said.line)
    )


def _fields(said: Said) -> Mapping[str, Said]:
    if isinstance(said.node, ast.Dict):
        pairs = zip(said.node.keys, said.node.values, strict=True)
        return {str(key.value): Said(value, value.lineno) for key, value in pairs if isinstance(key, ast.Constant)}
    if isinstance(said.node, ast.Call):
        return {each.arg: Said(each.value, each.value.lineno) for each in said.node.keywords if each.arg}
    return said.fields


@dataclass(frozen=True)
class _Lines:
    """The line of a key by its full path."""

    inner: str
    lines: Mapping[str, int]
    line: int

    def __call__(self, path: tuple[str, ...]) -> int | None:
        before = len(self.inner.split(".")) if self.inner else 0
        return self.lines.get(path[before], self.line) if len(path) > before else self.line


def _only(source: Source, inner: str, file: str) -> Said:
    """The one thing that has a name, an option before all else; several that say the same are one."""
    found = source.at(inner)
    if not found:
        fix = did_you_mean(inner, [*source.places], "correct what follows the #")
        fail(file, f"there is no {printable(inner)} in the file", fix)
    if len({_dump(each) for each in found}) > 1:
        lines = ", ".join(str(each.line) for each in found[:6])
        message = f"{printable(inner)} stands there {len(found)} times, and says not the same (lines {lines})"
        fix = "give what is meant a name of its own, and write that behind the #"
        fail(file, message, fix, found[0].line)
    return found[0]


def _dump(said: Said) -> str:
    if said.node is not None:
        return ast.dump(said.node)
    return str({name: _dump(each) for name, each in said.fields.items()})


def _read(source: Source, said: Said, inner: str, file: str) -> object:
    try:
        return source.value(said)
    except Unreadable as error:
        what = printable(ast.unparse(error.node))[:80]
        _not_to_be_read(file, inner, what, getattr(error.node, "lineno", said.line))


def _not_to_be_read(file: str, inner: str, what: str, line: int) -> NoReturn:
    message = f"what {printable(inner) or 'the file'} says is known only to a run: {what}"
    fail(file, message, 'write the value there, or have a function make the config: config = "module:function"', line)
