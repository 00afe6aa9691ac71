"""Write the parts of docs/ that the code says, and both schemas: ``python docs/generate.py``, in the repository.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; what is around it is written by hand.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from table_schema import table_schema

from pytest_bertsize import plugin, reports
from pytest_bertsize.__main__ import make_parser
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.blocks import KINDS
from pytest_bertsize.closed_forms.tree import PARAMETER
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.model_config import config_at
from pytest_bertsize.reports.report import RunReport
from pytest_bertsize.table.validate_pyproject import FILE as TABLE_SCHEMA

DOCS = Path(__file__).parent
REPORT_SCHEMA = Path(reports.__path__[0]) / "report.schema.json"
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
    found = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
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
    models = table_schema()["properties"]["models"]
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


def report_schema() -> dict[str, Any]:
    """The JSON Schema of the report, with the run first."""
    schema = msgspec.json.schema(RunReport)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:pytest-bertsize:report:1"}
    return {**whole, "title": "pytest-bertsize report, schema 1", **schema}


WHOLE_OBJECTS = ("RunReport", "ModelReport", "Component", "FindingRow")


def report() -> str:
    """Each object of the report that most readers want with its keys; the others with the names of theirs."""
    objects = report_schema()["$defs"]
    others = [(f"`{name}`", each["description"], ", ".join(each["properties"])) for name, each in objects.items()]
    rest = table(("object", "is", "keys"), (row for row in others if row[0].strip("`") not in WHOLE_OBJECTS))
    return "\n".join((*(_object(name, objects[name]) for name in WHOLE_OBJECTS), f"### The other objects\n\n{rest}"))


def _object(name: str, schema: Mapping[str, Any]) -> str:
    keys = schema["properties"].items()
    rows = ((f"`{key}`", _write_type(said), said.get("description", "")) for key, said in keys)
    return f"### {name}\n\n{schema['description']}\n\n{table(('key', 'type', 'is'), rows)}"


def _write_type(schema: Mapping[str, Any]) -> str:
    """``integer?`` of an integer or null, ``Layer[]`` of a list, ``{integer}`` of integers by name."""
    if "anyOf" in schema:
        (one,) = (each for each in schema["anyOf"] if each.get("type") != "null")
        return f"{_write_type(one)}?"
    if "enum" in schema:
        return " ".join(f'`"{value}"`' for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    inner = schema.get("items") or schema.get("additionalProperties")
    if not inner:
        return str(schema["type"])
    return f"{_write_type(inner)}[]" if schema["type"] == "array" else f"{{{_write_type(inner)}}}"


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
        config = config_at({"model_type": family.name, **REQUIRED.get(family.name, {})}, "config.json")
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
    rows = [(f"`{name}`", _first_paragraph(kind)) for name, kind in KINDS.items()]
    return table(("kind", "is"), [*rows, (f"`{PARAMETER}`", "A tensor of its own, `shape` rows first.")])


def _first_paragraph(kind: object) -> str:
    first = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", first).replace("``", "`")


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
    schemas = {REPORT_SCHEMA: report_schema(), TABLE_SCHEMA: table_schema()}
    written = {path: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for path, schema in schemas.items()}
    return {**{path: filled(text) for path, text in pages.items()}, **written}


if __name__ == "__main__":
    for file, said in files().items():
        file.write_text(said, encoding="utf-8", newline="\n")
