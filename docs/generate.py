"""Write the parts of docs/ that the code says: ``python docs/generate.py``, in the folder of the repository.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; what is around it is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest_bertsize.reports.shape
from pytest_bertsize import plugin
from pytest_bertsize.__main__ import parser
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.tree import KINDS
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.model_config import made
from pytest_bertsize.reports.json import FOR_PAGES
from pytest_bertsize.table.validate_pyproject import tool_schema

DOCS = Path(__file__).parent
REPORT_SCHEMA = Path(pytest_bertsize.reports.shape.__file__).with_name("report.schema.json")
_PART = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


# options and commands


class _Recorder:
    """Stands in for pytest's parser, and keeps what it is told of options and of settings."""

    def __init__(self) -> None:
        self.options: list[tuple[str, dict[str, Any]]] = []

    def getgroup(self, *_name: str) -> _Recorder:
        return self

    def addoption(self, name: str, **said: Any) -> None:
        self.options.append((name, said))

    def addini(self, name: str, **said: Any) -> None:
        self.options.append((f"{name} = true", said))


def pytest_options() -> str:
    recorder = _Recorder()
    plugin.pytest_addoption(recorder)  # type: ignore[arg-type]
    rows = ((_option(name, said.get("metavar")), _sentence(said["help"])) for name, said in recorder.options)
    return table(("option", "does"), rows)


def commands() -> str:
    """Each command of ``bertsize``, with its arguments."""
    found = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    helps = {choice.dest: choice.help for choice in found._choices_actions}  # noqa: SLF001
    return "\n".join(_command(name, helps[name] or "", command) for name, command in found.choices.items())


def _command(name: str, what: str, command: argparse.ArgumentParser) -> str:
    actions = [action for action in command._actions if action.dest != "help"]  # noqa: SLF001
    rows = ((_names(action), f"{_sentence(action.help or '')}{_choices(action)}") for action in actions)
    return f"### {name}\n\n{_sentence(what)}\n\n{table(('argument', 'means'), rows)}"


def _names(action: argparse.Action) -> str:
    value = None if action.nargs == 0 else action.metavar
    return ", ".join(_option(name, value) for name in action.option_strings) or _option(str(action.metavar), None)


def _choices(action: argparse.Action) -> str:
    return f" One of {', '.join(f'`{each}`' for each in action.choices)}." if action.choices else ""


def _option(name: str, value: object) -> str:
    return f"`{name}={value}`" if value else f"`{name}`"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# the table


def keys() -> str:
    """Every key that the JSON Schema knows."""
    models = tool_schema()["properties"]["models"]
    return table(("key", "says"), _keys(_of_any_name(models), ""))


def _keys(schema: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    """A key and what it says, then the keys inside it; those that all components have are told once."""
    of_any = schema.get("additionalProperties")
    any_name = {"COMPONENT": of_any} if isinstance(of_any, dict) and "description" in of_any else {}
    shared = (any_name.get("COMPONENT") or {}).get("properties", {})
    for key, said in {**schema.get("properties", {}), **any_name}.items():
        yield f"`{before}{key}`", _with_code(said["description"])
        inner = said if "properties" in said else said.get("items", {})
        if key == "COMPONENT" or inner.get("properties", {}).keys() != shared.keys():
            yield from _keys(inner, f"{before}{key}.")


def _with_code(description: str) -> str:
    """A description whose example is shown as code."""
    return re.sub(r"Example: (.+)\.$", r"Example: `\1`.", description)


def _of_any_name(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(schema["patternProperties"].values()))


# the report


def report_objects() -> dict[str, tuple[str, dict[str, tuple[str, str]]]]:
    """Each object of the JSON report: what it is, and its keys with their type and what they say."""
    module = ast.parse(inspect.getsource(pytest_bertsize.reports.shape))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    return {each.name: (ast.get_docstring(each) or "", _fields(each)) for each in classes}


def _fields(node: ast.ClassDef) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for each, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id not in FOR_PAGES:
            said = following.value if isinstance(following, ast.Expr) else None
            doc = str(said.value) if isinstance(said, ast.Constant) else ""
            found[each.target.id] = (ast.unparse(each.annotation), doc)
    return found


def report() -> str:
    """The run first, then its parts."""
    objects = report_objects()
    parts = ["RunReport", "ModelReport", *(name for name in objects if name not in {"RunReport", "ModelReport"})]
    return "\n".join(_object(name, *objects[name]) for name in parts)


def _object(name: str, what: str, fields: dict[str, tuple[str, str]]) -> str:
    rows = ((f"`{key}`", _type_in_words(kind), _plain(doc)) for key, (kind, doc) in fields.items())
    return f"### {name}\n\n{_plain(what)}\n\n{table(('key', 'type', 'says'), rows)}"


def _as_markdown(doc: str) -> str:
    """A docstring, on one line."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(doc.split())).replace("``", "`")


def _plain(doc: str) -> str:
    """The same, in the words of JSON."""
    return _as_markdown(doc).replace("`None`", "`null`").replace("`False`", "`false`")


_WORDS = {"str": "text", "int": "whole number", "bool": "`true` or `false`", "None": "`null`"}
_PLURALS = {"str": "texts", "int": "whole numbers"}


def _type_in_words(kind: str) -> str:
    if " | " in kind:
        return " or ".join(map(_type_in_words, kind.split(" | ")))
    if match := re.fullmatch(r"list\[(.+)\]", kind):
        return f"list of {_PLURALS.get(match[1]) or _type_in_words(match[1])}"
    if match := re.fullmatch(r"dict\[str, (.+)\]", kind):
        return f"{_PLURALS[match[1]]} by name"
    if match := re.fullmatch(r"Literal\[(.+)\]", kind):
        return " or ".join(f'`"{value}"`' for value in ast.literal_eval(f"[{match[1]}]"))
    return _WORDS.get(kind) or f"[{kind}](#{kind.lower()})"


def report_schema() -> str:
    """The JSON Schema of the report."""
    objects = report_objects()
    definitions = {name: _object_schema(*each) for name, each in objects.items()}
    whole = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:pytest-bertsize:report:1",
        "title": "pytest-bertsize report, schema 1",
    }
    return json.dumps({**whole, **definitions.pop("RunReport"), "definitions": definitions}, indent=2) + "\n"


def _object_schema(what: str, fields: dict[str, tuple[str, str]]) -> dict[str, Any]:
    said = {
        key: {**_type_schema(kind), **({"description": _plain(doc)} if doc else {})}
        for key, (kind, doc) in fields.items()
    }
    closed = {"required": list(fields), "additionalProperties": False}
    return {"description": _plain(what), "type": "object", "properties": said, **closed}


_TYPES = {"str": "string", "int": "integer", "bool": "boolean", "None": "null"}


def _type_schema(kind: str) -> dict[str, Any]:
    if " | " in kind:
        return {"anyOf": [_type_schema(each) for each in kind.split(" | ")]}
    if match := re.fullmatch(r"list\[(.+)\]", kind):
        return {"type": "array", "items": _type_schema(match[1])}
    if match := re.fullmatch(r"dict\[str, (.+)\]", kind):
        return {"type": "object", "additionalProperties": _type_schema(match[1])}
    if match := re.fullmatch(r"Literal\[(.+)\]", kind):
        return {"enum": ast.literal_eval(f"[{match[1]}]")}
    return {"type": _TYPES[kind]} if kind in _TYPES else {"allOf": [{"$ref": f"#/definitions/{kind}"}]}


# families


def families() -> str:
    rows = (
        (f"`{family.name}`", ", ".join(f"`{each.name}`" for each in family.architectures))
        for family in FAMILIES.values()
    )
    return table(("family", "architectures"), rows)


REQUIRED: Mapping[str, Mapping[str, object]] = {
    "esm": {"vocab_size": 33},
    "encoder-decoder": {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert", "is_decoder": True}},
}
"""What the library has no default for."""
WHOLES = ("embeddings", "encoder", "decoder", "head")


def components() -> str:
    """What a budget can name: families that have the same in one row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for family in FAMILIES.values():
        config = made({"model_type": family.name, **REQUIRED.get(family.name, {})}, "config.json")
        values = family.resolve(config, {}, family.architectures[0])
        names = family.component_names(Dims(values.sizes, values.switches, release=family.release))
        alike.setdefault(tuple(sorted(names)), []).append(f"`{family.name}`")
    rows = ((", ".join(of), *_by_whole(names)) for names, of in alike.items())
    return table(("family", *(f"`{whole}`" for whole in WHOLES), "others"), rows)


def _by_whole(names: Sequence[str]) -> Iterator[str]:
    """The parts of each of :data:`WHOLES`, without its name; and what is a part of none."""
    for whole in WHOLES:
        yield ", ".join(f"`{name.partition('.')[2]}`" for name in names if name.startswith(f"{whole}."))
    yield ", ".join(f"`{name}`" for name in names if name.partition(".")[0] not in WHOLES)


# from Python


def kinds() -> str:
    """Return the kinds of modules that a closed form's text has, each by the first sentences of its docstring."""
    made = ((name, getattr(kind, "args", ("", kind))[1]) for name, kind in KINDS.items())
    return table(("kind", "is"), ((f"`{name}`", _first_paragraph(kind)) for name, kind in made))


def _first_paragraph(kind: object) -> str:
    return _as_markdown((inspect.getdoc(kind) or "").split("\n\n")[0])


PARTS: Mapping[str, Callable[[], str]] = {
    "pytest-options": pytest_options,
    "commands": commands,
    "keys": keys,
    "report": report,
    "families": families,
    "components": components,
    "closed-forms": kinds,
}


def filled(text: str) -> str:
    """A document with its parts as the code says them now."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part['name']]()}\n{part[3]}", text)


def files() -> dict[Path, str]:
    """What every generated file, and every file with a generated part, should say."""
    pages = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
    return {path: filled(text) for path, text in pages.items()} | {REPORT_SCHEMA: report_schema()}


if __name__ == "__main__":
    for file, said in files().items():
        file.write_text(said, encoding="utf-8")
