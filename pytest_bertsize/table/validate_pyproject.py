"""The JSON Schema of ``[tool.bertsize]``: what editors complete, explain and underline, and validate-pyproject checks.

It lies in the package as a file. At a release ``python -m pytest_bertsize.table.validate_pyproject`` writes it anew, in
draft 7, from msgspec's schema of the structs in ``schema.py``, the texts below their keys, and what the functions
beside their types let pass.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

FILE = Path(__file__).with_name("partial-bertsize.json")
"""Named as SchemaStore names the schema of a tool without a file of its own."""


def tool_schema(_tool_name: str = "bertsize") -> Schema:
    """Budgets that pytest-bertsize holds BERT-family models to: [tool.bertsize] in pyproject.toml."""
    schema: Schema = json.loads(FILE.read_text("utf-8"))
    return schema


def write_schema() -> None:
    FILE.write_text(schema_text(), encoding="utf-8", newline="\n")


def schema_text() -> str:
    return json.dumps(generate_schema(), indent=2, ensure_ascii=False) + "\n"


def generate_schema() -> Schema:
    """The schema as the structs have it now."""
    from msgspec.json import schema_components

    from pytest_bertsize.table import schema

    _, structs = schema_components([schema.BertsizeTable], ref_template="{name}")
    for name, struct in structs.items():
        kind = getattr(schema, name)
        texts = _texts_below_keys(kind)
        for key, written in struct["properties"].items():
            struct["properties"][key] = {"description": texts[key], **_without_null(written)}
        struct |= {"description": _on_one_line(kind.__doc__), "additionalProperties": False}
        del struct["title"]
        if not struct["required"]:
            del struct["required"]
    _describe_limits(structs)
    _describe_budget(structs["BudgetTable"])
    _describe_extra(structs["ExtraTable"])
    _describe_model(structs["ModelTable"])
    _describe_project(structs)
    dialect, address = "http://json-schema.org/draft-07/schema#", "https://www.schemastore.org/partial-bertsize.json"
    whole = _without_references(structs["BertsizeTable"], structs)
    return {"$schema": dialect, "$id": address, "title": "pytest-bertsize", **whole}


def _texts_below_keys(kind: type) -> dict[str, str]:
    """The texts below a table's keys. Python does not keep them, and so none costs a run of the gate anything."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        key.target.id: _on_one_line(below.value.value)
        for key, below in pairwise(definition.body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _without_null(written: Schema) -> Schema:
    """A key's schema without the ``null`` that TOML does not have, and several types as one.

    Each keyword of draft 7 is about values of one type, and none about the others.
    """
    kinds = [each for each in written.pop("anyOf", []) if each.get("type") != "null"]
    merged = {key: value for each in kinds for key, value in each.items()}
    if len(kinds) > 1:
        merged["type"] = [each["type"] for each in kinds]
    if written.get("default", None) in (None, "", [], {}):
        written.pop("default", None)
    return {**written, **merged}


def _without_references(node: Any, structs: dict[str, Schema]) -> Any:
    """Copy a schema with each struct in place of its name: validators then tell the key, and editors what it is for."""
    if isinstance(node, list):
        return [_without_references(each, structs) for each in node]
    if not isinstance(node, dict):
        return node
    own = {key: _without_references(each, structs) for key, each in node.items() if key != "$ref"}
    return {**_without_references(structs[node["$ref"]], structs), **own} if "$ref" in node else own


def _as_ascii(pattern: str) -> str:
    """A pattern of Python's that is about ASCII, as every language reads it."""
    spelt = re.sub(r"\(\?P<\w+>", "(?:", pattern).replace(r"[\w", "[0-9A-Za-z_").replace(r"\w", "[0-9A-Za-z_]")
    return f"^{spelt}$"


def _quantity(kind: str, names: Iterable[str] = ()) -> Schema:
    from pytest_bertsize import quantity

    unit: quantity.Quantity = getattr(quantity, kind)
    return {
        "type": ["integer", "string"],
        "minimum": 0,
        "maximum": unit.largest,
        "maxLength": quantity.LONGEST,
        "pattern": "|".join((_as_ascii(unit.pattern.pattern), *(f"^{name}$" for name in names))),
    }


def _describe_limits(structs: dict[str, Schema]) -> None:
    """Say how bounds are written, and that none stands beside ``exact``."""
    from pytest_bertsize.dtypes import BITS, TRAINED
    from pytest_bertsize.table.model import NAMED

    bounds = ("min", "max", "exact")
    units = {
        "LimitTable": _quantity("PARAMETERS"),
        "BytesTable": _quantity("BYTES", NAMED),
        "FlopsTable": _quantity("FLOPS"),
        "TrainingTable": _quantity("BYTES"),
    }
    for name, unit in units.items():
        for bound in bounds:
            structs[name]["properties"][bound] |= unit
        structs[name] |= {
            "dependencies": {"exact": {"properties": {"min": False, "max": False}}},
            "if": {"anyOf": [{"required": [bound]} for bound in bounds]},
            "else": {"required": ["max"]},
        }
        if name != "FlopsTable":  # a value alone is the most that passes
            structs[name] |= {**unit, "type": [*unit["type"], "object"]}
    structs["BytesTable"]["properties"]["dtype"]["enum"] = list(BITS)
    structs["TrainingTable"]["properties"]["dtype"]["enum"] = list(TRAINED)
    structs["TrainingTable"]["properties"]["frozen"]["enum"] = list(BITS)


def _describe_budget(budget: Schema) -> None:
    from pytest_bertsize.inventory import TOTAL, TRAINABLE
    from pytest_bertsize.table.extra import NO_COMPONENTS
    from pytest_bertsize.table.model import SHARE
    from pytest_bertsize.table.schema import COMPONENTS, REPORT_ONLY

    component, names = {"$ref": "LimitTable"}, {"pattern": r"^[^.]+(?:\.[^.]+)*$"}
    shared = {name: {"description": about, **component} for name, about in COMPONENTS.items()}
    del budget["properties"]["counts"]
    growth = _quantity("PARAMETERS")
    growth["pattern"] += f"|{_as_ascii(SHARE.pattern)}"
    budget["properties"]["growth"] |= {
        **growth,
        "type": [*growth["type"], "object"],
        "minProperties": 1,
        "propertyNames": {**names, "not": {"enum": sorted(NO_COMPONENTS - {TOTAL, TRAINABLE})}},
        "additionalProperties": growth,
    }
    budget |= {
        "type": ["string", "object"],
        "pattern": f"^{REPORT_ONLY}$",
        "minProperties": 1,
        "properties": shared | budget["properties"],
        "propertyNames": names,
        "additionalProperties": component,
    }


def _describe_extra(table: Schema) -> None:
    """Say what a size is, how many each block takes, and that there is one block."""
    from pytest_bertsize.table import extra

    summand = extra.SUMMAND.pattern.replace("[0-9]{1,9}", "0{0,8}[1-9][0-9]{0,8}")
    size = {
        "type": ["integer", "string"],
        "minimum": 1,
        "maximum": extra.LARGEST,
        "maxLength": extra.LONGEST_SUM,
        "pattern": _as_ascii(rf"\s*(?:{summand})\s*(?:\+\s*(?:{summand})\s*)*"),
    }
    properties, path = table["properties"], {"pattern": _as_ascii(extra.MODULE_PATH.pattern)}
    for block, names in extra.SIZES.items():
        most = len(names) or extra.LONGEST_SHAPE
        of_list = {"items": size, "minItems": extra.FEWEST.get(block, most), "maxItems": most}
        alone = size if len(names) <= 1 else {}
        properties[block] |= {**alone, **of_list, "type": ["array", "integer", "string"] if alone else "array"}
    properties["name"]["pattern"] = _as_ascii(extra.RANGED_PATH.pattern)
    properties["count"] |= size
    properties["layers"] |= {"minimum": 1, "maximum": extra.MOST_LAYERS}
    properties["tied"] |= {"additionalProperties": {"type": "string", **path}}
    properties["component"] |= {"pattern": f"^$|{path['pattern']}", "not": {"pattern": _not_of_components()}}
    one_block = {"oneOf": [{"required": [block]} for block in extra.SIZES]}
    table |= {"if": {"not": one_block}, "then": one_block}  # behind what is said of single keys


def _not_of_components() -> str:
    from pytest_bertsize.table.extra import NO_COMPONENTS

    return rf"^(?:{'|'.join(sorted(NO_COMPONENTS))})(?:\.|$)"


def _describe_model(model: Schema) -> None:
    from pytest_bertsize.table import extra, schema

    module, class_name = {"pattern": _as_ascii(schema.DOTTED)}, {"pattern": _as_ascii(r"[A-Za-z_][\w-]{0,99}")}
    text, filled = {"type": "string", "minLength": 1}, {"minLength": 1, "minProperties": 1}
    function = {"pattern": _as_ascii(f"{schema.DOTTED}:{schema.DOTTED}"), "not": {"pattern": r"^[^:]*\.py:"}}
    of_key: dict[str, Schema] = {
        "factory": function,
        "config": filled,
        "adapter": filled,
        "family": class_name,
        "keys": {"additionalProperties": {**text, **class_name}},
        "architecture": {**class_name, "minProperties": 1, "additionalProperties": {"type": "string", **class_name}},
        "backbone": {**module, "minProperties": 1, "propertyNames": module, "additionalProperties": text},
        "components": {
            "propertyNames": {
                "pattern": _as_ascii(extra.MODULE_PATH.pattern),
                "not": {"pattern": _not_of_components()},
            },
            "additionalProperties": {"type": ["string", "array"], "minLength": 1, "minItems": 1, "items": text},
        },
    }
    for key, says in of_key.items():
        model["properties"][key] |= says
    is_filled = {"minItems": 1, "minProperties": 1}
    needs_factory = {
        key: {"if": {"properties": {key: is_filled}}, "then": {"required": ["factory"]}} for key in schema.OF_A_FACTORY
    }
    model |= {
        "dependencies": {**needs_factory, "backbone": ["factory"]},
        "if": {"required": ["factory"]},
        "else": {"required": ["config"]},
    }


def _describe_project(structs: dict[str, Schema]) -> None:
    from pytest_bertsize.table import globs, schema

    word, placeholder = r"[^\x00-/:-@\[-\^`\{-\x7f]", rf"\{{(?:{'|'.join(globs.PLACEHOLDERS)})\}}"
    model_name = rf"^(?:{word}|{placeholder})(?:{word}|[.+@-]|{placeholder}){{0,99}}$"
    number = "(?:0|[1-9][0-9]{0,5})"
    releases = (r"4\.(?:[4-9][0-9]|[1-9][0-9]{2,5})", r"5\.[1-9][0-9]{0,5}", rf"(?:[6-9]|[1-9][0-9]{{1,5}})\.{number}")
    lock = {"pattern": r"[^\x00]\.lock$"}
    properties = structs["BertsizeTable"]["properties"]
    properties["models"] |= {"patternProperties": {model_name: {"$ref": "ModelTable"}}, "minProperties": 1}
    properties["models"]["additionalProperties"] = False
    properties["lock"] |= {**lock, "type": ["string", "object"]}
    properties["transformers"]["pattern"] = _as_ascii(rf"(?:{'|'.join(releases)})(?:\.{number})?")
    structs["LockTable"]["properties"]["file"] |= lock
    memory = {**_quantity("BYTES"), "minimum": schema.LEAST_MEMORY, "maximum": schema.MOST_MEMORY}
    structs["BuildTable"]["properties"]["memory"] |= memory


if __name__ == "__main__":
    write_schema()
