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
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

from pytest_bertsize.config.model_config import ModelConfig, fail, not_plain, text_of
from pytest_bertsize.config.python_nodes import OF_A_CALL, assigned, defaults, dotted, first_argument, own
from pytest_bertsize.config.python_values import Unreadable, Values, options
from pytest_bertsize.config.rebound import Rebound
from pytest_bertsize.wording import did_you_mean, printable, shown

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


class Name(str):  # noqa: SLOT000  (a str cannot have filled ones)
    """The name of a published config, and what a call gives beside it."""

    def __new__(cls, name: str, beside: Mapping[str, object]) -> Self:
        made = super().__new__(cls, name)
        made.beside = beside
        return made

    beside: Mapping[str, object]
    """By its keys; ``None`` for what only a run can tell."""


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
        if said.is_call:
            return self.rebound.calls.get(place)
        if said.is_option:
            return self.rebound.options.get(place)
        parts = place.split(".")
        outer = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
        return next((node for each in outer if (node := self.rebound.names.get(each))), None)

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
        return self.value(said)

    def beside(self, said: Said) -> dict[str, object]:
        """What a call gives beside a name; ``None`` for what only a run can tell."""
        found = self.readable(said)
        return {name: found.get(name) for name in said.fields}

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
            return self.of_options[option].node if is_option and option not in self.rebound.options else None
        parts = scope.split(".") if scope else []
        for depth in range(len(parts), -1, -1):
            place = ".".join((*parts[:depth], name))
            found = self.places.get(place, [])
            if place in self.rebound.names or self.rebound.is_passed(".".join(parts[:depth]), name):
                return None
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
            name = ".".join(dotted(call.func).split(".")[-2 if dotted(call.func).endswith(OF_A_CALL[0]) else -1 :])
            first = first_argument(call)
            if name.endswith(OF_A_CALL[0]) and first is not None:
                more = {key.arg: Said(key.value, call.lineno, scope=scope) for key in call.keywords if key.arg}
                self._add(name, Said(first, first.lineno, more, scope, is_call=True))
            elif name.endswith("Config"):
                named = ((key.arg or f"**{index}", key.value) for index, key in enumerate(call.keywords))
                fields = {key: Said(value, value.lineno, scope=scope) for key, value in named}
                positional = {f"*{number}": Said(each, each.lineno) for number, each in enumerate(call.args)}
                self._add(name, Said(None, call.lineno, {**positional, **fields}, is_call=True))
            elif isinstance(first, ast.Constant) and isinstance(first.value, str) and name[:1].isupper():
                self._add(name, Said(first, first.lineno, scope=scope, is_call=True))


# as a config


def parse(content: bytes, file: str, inner: str, *, whole: bool = True) -> ModelConfig | str:
    """What a place in a Python file says: a config, or the name of one that is published.

    :param inner: what stands behind the ``#`` of a reference.
    :param whole: whether each value has to be one that can be read; of options and fields a function is given those
        that are, and misses the others. A call misses none.
    :raises Unusable: for a place that is not there, or that only a run can tell the value of.
    """
    try:
        return _parsed(content, file, inner, whole=whole)
    except (RecursionError, ValueError):  # the latter of numbers with thousands of digits
        fail(file, "it says more than can be read without a run", "write the value there")


def _parsed(content: bytes, file: str, inner: str, *, whole: bool) -> ModelConfig | str:
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
        return Name(value, source.beside(said))
    if not isinstance(value, dict):
        message = f"{printable(inner)} is {shown(value)}, neither a config nor the name of one"
        fail(file, message, "name a place that is", said.line)
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
    if by := source.changed_by(inner, found[0]):
        _not_to_be_read(file, inner, printable(ast.unparse(by))[:80], getattr(by, "lineno", found[0].line))
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
