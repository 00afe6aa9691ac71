"""Write the parts of docs/ that the code says, and both schemas: ``python docs/generate.py``, in the repository.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; what is around it is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from table_schema import table_schema

from pytest_bertsize import plugin, reports
from pytest_bertsize.__main__ import make_parser
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.model_config import config_at
from pytest_bertsize.reports.report import RunReport
from pytest_bertsize.table.extra import SIZES
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
    rows = (
        (_option(name, said.get("metavar")), _in_code(_sentence(said["help"].removeprefix("with --bert-budget: "))))
        for name, said in recorder.options
    )
    return table(("option", "does"), rows)


def commands() -> str:
    """Each command of ``bertsize``, with its arguments; those of ``explain`` that another has too are named there."""
    found = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    helps = {choice.dest: choice.help for choice in found._choices_actions}  # noqa: SLF001
    of_explain = {_names(each): each.help for each in found.choices["explain"]._actions}  # noqa: SLF001
    return "\n".join(_command(name, helps[name] or "", each, of_explain) for name, each in found.choices.items())


def _command(name: str, what: str, command: argparse.ArgumentParser, of_explain: Mapping[str, str | None]) -> str:
    actions = {_names(each): each for each in command._actions if each.dest != "help"}  # noqa: SLF001
    told = [each for each in actions if name != "explain" and of_explain.get(each) == actions[each].help]
    rows = [
        (each, _in_code(_sentence(it.help or "")) + _choices(it)) for each, it in actions.items() if each not in told
    ]
    as_explain = [(" ".join(told), "As for `explain`.")] if told else []
    return f"### {name}\n\n{_in_code(_sentence(what))}\n\n{table(('argument', 'means'), [*rows, *as_explain])}"


def _names(action: argparse.Action) -> str:
    value = None if action.nargs == 0 else action.metavar
    return ", ".join(_option(name, value) for name in action.option_strings) or _option(str(action.metavar), None)


def _choices(action: argparse.Action) -> str:
    return f" One of {', '.join(f'`{each}`' for each in action.choices)}." if action.choices else ""


def _option(name: str, value: object) -> str:
    return f"`{name}={value}`" if value else f"`{name}`"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


_CODE = re.compile(
    r"""`[^`]+`|"[^"]+"|(?<!\w)'[^']+'(?!\w)|\[tool[^]]+\]|check_model\([^)]*\)|(?<![\w/.-])(?:
    --?[a-z][\w-]*(?:=\w+)?|\.[a-z]\w+|[\w.-]+(?:_|[#:=]|\.\.|\.(?=[a-zA-Z0-9*]))[\w.:#=[\]]*\w|\w+\[\d*:\d*\]|FILE|NAME|REV|HEAD)
    (?![\w-])""",
    re.VERBOSE,
)
"""Quoted values, options, keys with an underscore, file names and the like; or what is in backticks already."""


def _in_code(text: str) -> str:
    return _CODE.sub(lambda found: found[0] if found[0].startswith("`") else f"`{found[0]}`", text)


# the table


def keys() -> str:
    """Every key that the JSON Schema knows."""
    models = table_schema()["properties"]["models"]
    return table(("key", "says"), _keys(_of_any_name(models), ""))


BOUNDS = ("min", "max", "exact")
ANY = "COMPONENT"
TOTALS = ("total", "trainable")


def _keys(schema: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield a key and what it says, then the keys inside it; of components one, and no bounds."""
    of_any = schema.get("additionalProperties")
    component = of_any if isinstance(of_any, dict) and "description" in of_any else {}
    for key, said in {**schema.get("properties", {}), **({ANY: component} if component else {})}.items():
        if before == "extra." and key in SIZES:
            continue
        is_component = bool(component) and said.get("properties", {}).keys() == component["properties"].keys()
        if key in BOUNDS or (is_component and key not in (*TOTALS, ANY)):
            continue
        yield f"`{before}{key}`", _with_code(said["description"], before)
        yield from _keys(said if "properties" in said else said.get("items", {}), f"{before}{key}.")


def _with_code(description: str, before: str) -> str:
    """Return a description with its example as code, of a key inside of another without it."""
    said, _, example = description.removesuffix(".").partition(" Example: ")
    shown = f" Example: `{example}`." if example and before in {"", "budget."} else ""
    return f"{_in_code(said.removesuffix('.'))}.{shown}"


def _of_any_name(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(schema["patternProperties"].values()))


# the report


def report_schema() -> dict[str, Any]:
    """The JSON Schema of the report, with the run first."""
    schema = msgspec.json.schema(RunReport)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:pytest-bertsize:report:1"}
    return {**whole, "title": "pytest-bertsize report, schema 1", **schema}


def report() -> str:
    """Return each object of the report; the schema has its keys."""
    objects = report_schema()["$defs"]
    names = ["RunReport", "ModelReport", *(name for name in objects if name not in {"RunReport", "ModelReport"})]
    return table(("object", "is"), ((f"`{name}`", objects[name]["description"]) for name in names))


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


def components() -> str:
    """Return what a budget can name: of BERT, and what other families have beside it."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for family in FAMILIES.values():
        config = config_at({"model_type": family.name, **REQUIRED.get(family.name, {})}, "config.json")
        of_config, architecture = family.of_config(config, family.architectures[0], Registry().families)
        values = of_config.resolve(config, {}, architecture)
        names = of_config.component_names(Dims(values.sizes, values.switches, release=family.release))
        alike.setdefault(tuple(sorted(names)), []).append(f"`{family.name}`")
    berts = next(names for names, of in alike.items() if "`bert`" in of)
    more: dict[str, list[str]] = {}
    for all_names, of in alike.items():
        more.setdefault(_list_parts({*all_names} - {*berts}), []).extend(of)
    rows = ((", ".join(of), parts) for parts, of in more.items() if parts)
    return f"BERT has {_list_parts({*berts})}.\n\n{table(('family', 'has also'), rows)}"


def _list_parts(names: Collection[str]) -> str:
    """``encoder: attention, norm; pooler``: the parts of each whole; a whole that is there without parts, alone."""
    wholes: dict[str, list[str]] = {}
    for name in sorted(names):
        whole, _, part = name.partition(".")
        wholes.setdefault(whole, []).extend([part] if part else [])
    return "; ".join(f"`{whole}`{': ' if parts else ''}{', '.join(parts)}" for whole, parts in wholes.items())


PARTS: Mapping[str, Callable[[], str]] = {
    "pytest-options": pytest_options,
    "commands": commands,
    "keys": keys,
    "report": report,
    "families": families,
    "components": components,
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
