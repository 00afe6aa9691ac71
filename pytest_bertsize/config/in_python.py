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
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from pytest_bertsize.config.flows import called_name, is_of_config
from pytest_bertsize.config.model_config import IN_A_CALL, ModelConfig, fail, not_plain, text_of
from pytest_bertsize.config.python_source import CONFIG_CLASSES, NotPython, Said, Source
from pytest_bertsize.config.python_values import Unreadable
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Told = TypeVar("Told")


class Name(str):  # noqa: SLOT000  (a str cannot have filled ones)
    """The name of a published config, and what a call gives beside it."""

    def __new__(cls, name: str, beside: Mapping[str, object], lines: Mapping[str, int]) -> Self:
        made = super().__new__(cls, name)
        made.beside, made.lines = beside, lines
        return made

    beside: Mapping[str, object]
    """By its keys; ``None`` for what only a run can tell."""
    lines: Mapping[str, int]
    """Of the keys that stand there by name."""


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
    later = source.later(said)
    if said.is_call and (config := _as_told(inner, file, said, lambda: source.config_given(said))):
        said, later = config, source.later(config) | later
    if said.node is None and not whole and not said.is_call:
        value: object = source.readable(said)
    else:
        value = _as_told(inner, file, said, lambda: source.value(said))
    if isinstance(value, str):
        said = said._replace(fields={**said.fields, **later})
        beside = _as_told(inner, file, said, lambda: source.beside(said))
        return Name(value, beside, {name: each.line for name, each in said.fields.items()})
    if not isinstance(value, dict):
        message = f"{printable(inner)} is {shown(value)}, neither a config nor the name of one"
        fail(file, message, "name a place that is", said.line)
    if found := not_plain(value):
        fail(file, found.message, found.fix, said.line)
    if family := CONFIG_CLASSES.get(called_name(said.call)) if said.call else None:
        value = {"model_type": family, **value}
    lines = {name: each.line for name, each in {**_fields(said), **later}.items()}
    path = tuple(inner.split(".")) if inner else ()
    given = source.readable(Said(None, said.line, later))
    unknown = {(*path, key): only_by_table(key) for key in later if key not in given}
    digest = hashlib.sha256(content).hexdigest()
    lined = _Lines(inner, lines, said.line)
    pair = ModelConfig.pair if isinstance(said.node, ast.Dict) else IN_A_CALL
    return ModelConfig(file, path, {**value, **given}, text, digest, lined, unknown=unknown, pair=pair)


def only_by_table(key: str) -> tuple[str, str]:
    """Why a value that code gives is unknown, and what to write."""
    return f"{key} is given here, and known only to a run", f"write overrides = {{ {key} = … }} with what the run has"


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
    if len({_dump(each) for each in found}) > 1 or _differ(source, found):
        lines = ", ".join(str(each.line) for each in found[:6])
        message = f"{printable(inner)} stands there {len(found)} times, and says not the same (lines {lines})"
        fix = "give what is meant a name of its own, and write that behind the #"
        fail(file, message, fix, found[0].line)
    made = source.made(found[0])
    if by := source.changed_by(inner, made):
        what, line = printable(ast.unparse(by))[:80], getattr(by, "lineno", found[0].line)
        if made.call is not None and not is_of_config(made.call):
            fix = 'have a function make the model, as it is after that: factory = "module:function"'
            fail(file, f"what {printable(inner)} makes is changed later: {what}", fix, line)
        _not_to_be_read(file, inner, what, line)
    return made


def _dump(said: Said) -> str:
    fields = {name: _dump(each) for name, each in said.fields.items()}
    return f"{'' if said.node is None else ast.dump(said.node)} {fields}"


def _differ(source: Source, found: list[Said]) -> bool:
    """Whether places that say the same in words mean something else by a name, or become something else later."""
    if len(found) == 1:
        return False
    those = [{**each.fields, **source.later(each), "": each} for each in found]
    said = {str(source.readable(Said(None, each.line, fields))) for each, fields in zip(found, those, strict=True)}
    return len(said) > 1


def _as_told(inner: str, file: str, said: Said, read: Callable[[], Told]) -> Told:
    """:raises Unusable: for what only a run can tell."""
    try:
        return read()
    except Unreadable as error:
        what = printable(ast.unparse(error.node))[:80]
        _not_to_be_read(file, inner, what, getattr(error.node, "lineno", said.line))


def _not_to_be_read(file: str, inner: str, what: str, line: int) -> NoReturn:
    message = f"what {printable(inner) or 'the file'} says is known only to a run: {what}"
    fail(file, message, 'write the value there, or have a function make the config: config = "module:function"', line)
