"""The models of ``table.py`` as a JSON Schema of draft 7, which SchemaStore, editors and validate-pyproject understand.

Walked here and not by pydantic, whose schema differs from version to version, allows the ``null`` that TOML does not
have, and says ``anyOf`` and ``$ref`` where validators then cannot tell the key, nor editors what it is for. A type or a
validator that this module does not know is an error: whoever adds one says here what it lets pass.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator
from pydantic.fields import FieldInfo

from pytest_bertsize.quantity import (
    BYTES,
    FLOPS,
    LONGEST,
    PARAMETERS,
    Quantity,
    parse_bytes,
    parse_count,
    parse_flops,
)
from pytest_bertsize.table import budget, extra, growth
from pytest_bertsize.table import build_and_lock as built
from pytest_bertsize.table import names as written
from pytest_bertsize.table import schema as table
from pytest_bertsize.table.byte_sizes import BITS, NAMED, TRAINED, parse_limit
from pytest_bertsize.table.extra import ExtraTable
from pytest_bertsize.table.globs import PLACEHOLDERS

Schema = dict[str, Any]

DIALECT = "http://json-schema.org/draft-07/schema#"
ID = "https://www.schemastore.org/partial-bertsize.json"

_WORD = r"[^\x00-/:-@\[-\^`\{-\x7f]"
"""A letter, a digit or ``_`` of any script: what ``\\w`` means differs from one language to another."""
_PLACEHOLDER = rf"\{{(?:{'|'.join(PLACEHOLDERS)})\}}"
MODEL_NAME = rf"^(?:{_WORD}|{_PLACEHOLDER})(?:{_WORD}|[.+@-]|{_PLACEHOLDER}){{0,99}}$"
COMPONENT_NAME = r"^[^.]+(?:\.[^.]+)*$"
_SIZE_OF_SUM = r"0{0,8}[1-9][0-9]{0,8}"


def schema() -> Schema:
    """The schema of ``[tool.bertsize]``."""
    return {"$schema": DIALECT, "$id": ID, "title": "pytest-bertsize", **_of_model(table.BertsizeTable)}


def _of_model(model: type[BaseModel]) -> Schema:
    fields, about = model.model_fields, _said_below_keys(model)
    required = [key for key, field in fields.items() if field.is_required()]
    found = {
        "description": _on_one_line(model.__doc__ or ""),
        "type": "object",
        "properties": {key: _described(_of_field(field), about[key]) for key, field in fields.items()},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }
    return found | _TOGETHER[model](found)


def _said_below_keys(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings of a table's keys. Python does not keep them, and so none costs a run of the gate anything."""
    (definition,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        key.target.id: _on_one_line(below.value.value)
        for key, below in pairwise(definition.body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _described(found: Schema, about: str) -> Schema:
    return {"description": about, **{key: value for key, value in found.items() if key != "description"}}


def _of_field(field: FieldInfo) -> Schema:
    found = _of(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
    said = field.default not in (None, "", [], {}) and not field.is_required()
    return {**found, "default": field.default} if said else found


def _of(annotation: Any) -> Schema:
    """What a value of a type may be."""
    if origin := get_origin(annotation):
        return _GENERIC[origin](*get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _of_model(annotation)
    return dict(_PLAIN[annotation])


_PLAIN: Mapping[Any, Schema] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
}


def _union(*annotations: Any) -> Schema:
    """Several types at once: each keyword of draft 7 is about values of one type, and none about the others."""
    schemas = [_of(each) for each in annotations if each is not NoneType]
    merged = {key: value for each in schemas for key, value in each.items()}
    return {**merged, "type": [each["type"] for each in schemas]} if len(schemas) > 1 else merged


def _entries(key: Any, value: Any) -> Schema:
    names, of_each = _of(key), _of(value)
    if "pattern" in names:
        return {"type": "object", "patternProperties": {names["pattern"]: of_each}, "additionalProperties": False}
    return {"type": "object", "additionalProperties": of_each} if of_each else {"type": "object"}


def _narrowed(annotation: Any, *metadata: Any) -> Schema:
    found = _of(annotation)
    for each in metadata:
        found = found | _said_by(each, found)
    return found


def _said_by(metadata: Any, found: Schema) -> Schema:
    """What an annotation adds to the schema of what it stands at."""
    if isinstance(metadata, FieldInfo):
        return {key: value for each in metadata.metadata for key, value in _said_by(each, found).items()}
    if isinstance(metadata, MinLen):
        return {_LEAST[found["type"]]: metadata.min_length}
    if isinstance(metadata, Ge):
        return {"minimum": metadata.ge}
    if isinstance(metadata, Le):
        return {"maximum": metadata.le}
    if isinstance(metadata, BeforeValidator | AfterValidator | PlainValidator):
        return _PASSES[metadata.func](found)
    raise TypeError(f"{metadata!r}: say in {__name__} what it lets pass")


_LEAST = {"string": "minLength", "object": "minProperties"}
_GENERIC: Mapping[Any, Callable[..., Schema]] = {
    Annotated: _narrowed,
    Union: _union,
    UnionType: _union,
    Literal: lambda *values: {"type": "string", "enum": list(values)},
    list: lambda each: {"type": "array", "items": _of(each)},
    dict: _entries,
}


def _ascii(pattern: str) -> str:
    """A pattern of Python's, where it is about ASCII, as every language reads it."""
    spelt = re.sub(r"\(\?P<\w+>", "(?:", pattern).replace(r"[\w", "[0-9A-Za-z_").replace(r"\w", "[0-9A-Za-z_]")
    return f"^{spelt}$"


def _quantity(of: Quantity, names: Iterable[str] = ()) -> Schema:
    return {
        "type": ["integer", "string"],
        "minimum": 0,
        "maximum": of.largest,
        "maxLength": LONGEST,
        "pattern": "|".join((_ascii(of.pattern.pattern), *(f"^{name}$" for name in names))),
    }


def _growth() -> Schema:
    found = _quantity(PARAMETERS)
    return {**found, "pattern": f"{found['pattern']}|{_ascii(growth.SHARE.pattern)}"}


def _in_short(limit: Schema) -> Schema:
    """A limit is also what its ``max`` may be, unless its table has to say more."""
    if "required" in limit:
        return {}
    most = limit["properties"]["max"]
    return {**most, "type": [*most["type"], limit["type"]], "description": limit["description"]}


def _text(pattern: str, **others: Any) -> Callable[[Schema], Schema]:
    return lambda _: {"pattern": pattern, **others}


def _not_empty(_: Schema) -> Schema:
    return {"minLength": 1, "minProperties": 1}


_NO_COMPONENT = rf"^(?:{'|'.join(sorted(extra.NO_COMPONENTS))})(?:\.|$)"
_CLASS = _ascii(r"[A-Za-z_][\w-]{0,99}")
_NUMBER = "(?:0|[1-9][0-9]{0,5})"
_RELEASES = (r"4\.(?:[4-9][0-9]|[1-9][0-9]{2,5})", r"5\.[1-9][0-9]{0,5}", rf"(?:[6-9]|[1-9][0-9]{{1,5}})\.{_NUMBER}")
"""From 4.40 on without 5.0, as ``release`` knows them."""
_PASSES: Mapping[Callable[..., object], Callable[[Schema], Schema]] = {
    parse_count: lambda _: _quantity(PARAMETERS),
    parse_limit: lambda _: _quantity(BYTES, NAMED),
    parse_bytes: lambda _: _quantity(BYTES),
    parse_flops: lambda _: _quantity(FLOPS),
    growth.parse_growth: lambda _: _growth(),
    growth.growth_from_shorthand: lambda found: {
        **_growth(),
        **found,
        "type": ["integer", "string", "object"],
        "minProperties": 1,
        "propertyNames": {"pattern": COMPONENT_NAME, "not": {"enum": sorted(growth.NOT_OF_PARAMETERS)}},
    },
    built.memory_to_build: lambda _: {
        **_quantity(BYTES),
        "minimum": built.LEAST_MEMORY,
        "maximum": built.MOST_MEMORY,
    },
    budget.limit_from_shorthand: _in_short,
    built.lock_from_path: lambda found: {**found["properties"]["file"], **found, "type": ["string", "object"]},
    built.lock_name: _text(r"[^\x00]\.lock$"),
    built.component_patterns: lambda _: {
        "propertyNames": {"pattern": _ascii(extra.MODULE_PATH.pattern), "not": {"pattern": _NO_COMPONENT}},
        "additionalProperties": {
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": {"type": "string", "minLength": 1},
        },
    },
    budget.budget_or_report_only: lambda _: {
        "type": ["string", "object"],
        "pattern": f"^{budget.REPORT_ONLY}$",
        "minProperties": 1,
    },
    table.declared_name: _text(MODEL_NAME),
    table.text_or_table: _not_empty,
    table.config_or_none: _not_empty,
    written.function_name: _text(_ascii(f"{written.DOTTED}:{written.DOTTED}"), **{"not": {"pattern": r"^[^:]*\.py:"}}),
    written.module_path: _text(_ascii(written.DOTTED)),
    written.backbone_or_backbones: lambda _: {
        "pattern": _ascii(written.DOTTED),
        "minProperties": 1,
        "propertyNames": {"pattern": _ascii(written.DOTTED)},
        "additionalProperties": {"type": "string", "minLength": 1},
    },
    written.class_or_classes: lambda _: {
        "pattern": _CLASS,
        "minProperties": 1,
        "additionalProperties": {"type": "string", "pattern": _CLASS},
    },
    table.release_name: _text(_ascii(rf"(?:{'|'.join(_RELEASES)})(?:\.{_NUMBER})?")),
    written.class_name: _text(_CLASS),
    budget.dtype_name: lambda _: {"enum": list(BITS)},
    budget.trained_dtype: lambda _: {"enum": list(TRAINED)},
}
"""What each validator lets pass, given the schema of what it hands on."""


def _bounds_together(_: Schema) -> Schema:
    bounds = ("min", "max", "exact")
    return {
        "dependencies": {"exact": {"properties": {"min": False, "max": False}}},
        "if": {"anyOf": [{"required": [bound]} for bound in bounds]},
        "else": {"required": ["max"]},
    }


def _budget_together(found: Schema) -> Schema:
    component = _of(get_args(get_type_hints(budget.BudgetTable, include_extras=True)["__pydantic_extra__"])[1])
    known = {name: _described(component, about) for name, about in budget.COMPONENTS.items()}
    return {
        "properties": known | found["properties"],
        "propertyNames": {"pattern": COMPONENT_NAME},
        "additionalProperties": component,
    }


_SEVERAL = {"required": ["backbone"], "properties": {"backbone": {"type": "object"}}}
_A_CONFIG: Schema = {"anyOf": [{"required": ["config"]}, _SEVERAL]}
_ALONE: Schema = {"required": ["closed_form"], "properties": {"closed_form": {"const": False}}}
_SAYS_SOMETHING = {"minItems": 1, "minProperties": 1}
_SAYS_NOTHING = {"array": {"maxItems": 0}, "object": {"maxProperties": 0}}


def _model_together(found: Schema) -> Schema:
    needs: dict[str, list[Schema]] = {}
    for needed, keys in (({"required": ["factory"]}, table.OF_A_FACTORY), (_A_CONFIG, table.OF_A_CONFIG)):
        for key in keys:
            needs.setdefault(key, []).append(needed)
    compared = {key: _SAYS_NOTHING.get(_type(found, key), False) for key in table.OF_A_CLOSED_FORM}
    alone = {
        "properties": compared,
        "dependencies": {"factory": {"properties": {"options": _SAYS_NOTHING["object"]}}},
    }
    return {
        "dependencies": {
            **{
                key: {"allOf": all_of}
                if _type(found, key) == "string"
                else _where(key, _SAYS_SOMETHING, {"allOf": all_of})
                for key, all_of in needs.items()
                if key != "backbone"
            },
            "backbone": ["factory"],
            "closed_form": _where("closed_form", {"const": False}, alone),
            "components": _where("components", _SAYS_SOMETHING, _ALONE),
        },
        "if": {"required": ["factory"]},
        "then": {
            "if": _SEVERAL,
            "then": {"properties": {"config": False}},
            "else": {"dependencies": {"backbone": ["config"]}},
        },
        "else": {"required": ["config"]},
    }


def _type(found: Schema, key: str) -> str:
    """Of a key that has several, the first."""
    types = found["properties"][key]["type"]
    return types if isinstance(types, str) else str(types[0])


def _where(key: str, says: Schema, then: Schema) -> Schema:
    return {"if": {"properties": {key: says}}, "then": then}


def _extra_together(found: Schema) -> Schema:
    properties = {key: dict(of_key) for key, of_key in found["properties"].items()}
    module = {"type": "string", "pattern": _ascii(extra.MODULE_PATH.pattern)}
    properties["name"] |= {"type": "string", "pattern": _ascii(extra.RANGED_PATH.pattern)}
    for block, names in extra.SIZES.items():
        properties[block] |= _sizes(names, extra.FEWEST.get(block, len(names)))
    properties["count"] |= _size() | {"type": ["integer", "string"]}
    properties["layers"] |= {"minimum": 1, "maximum": extra.MOST_LAYERS}
    ties = {key: module for keys in extra.TIED.values() for key in keys}
    properties["tied"] |= {"additionalProperties": module, "propertyNames": {"enum": list(ties)}}
    properties["component"] |= {"pattern": f"^$|{module['pattern']}", "not": {"pattern": _NO_COMPONENT}}
    return {
        "properties": properties,
        "dependencies": {
            **{block: {"properties": _not_beside(block)} for block in extra.SIZES},
            "count": {"properties": {"tied": _SAYS_NOTHING["object"]}},
        },
        "if": {"anyOf": [{"required": [block]} for block in extra.SIZES]},
        "else": {"oneOf": [{"required": [block]} for block in extra.SIZES]},
    }


def _not_beside(block: str) -> Schema:
    """What no block has beside another, and what this one does not take."""
    arguments = {argument for taken in extra.ARGUMENTS.values() for argument in taken}
    others = sorted(extra.SIZES.keys() - {block})
    not_taken = sorted(arguments - set(extra.ARGUMENTS.get(block, ())))
    not_taken += ["count"] if block in extra.NO_LIST else []
    ties = extra.TIED.get(block, ())
    tied = {"propertyNames": {"enum": list(ties)}} if ties else _SAYS_NOTHING["object"]
    return {**dict.fromkeys((*others, *not_taken), False), "tied": tied}


def _size() -> Schema:
    summand = extra.SUMMAND.pattern.replace("[0-9]{1,9}", _SIZE_OF_SUM)
    return {
        "minimum": 1,
        "maximum": extra.LARGEST,
        "maxLength": extra.LONGEST_SUM,
        "pattern": _ascii(rf"\s*(?:{summand})\s*(?:\+\s*(?:{summand})\s*)*"),
    }


def _sizes(names: tuple[str, ...], fewest: int) -> Schema:
    """Of a block: as many as it has names for, or the shape of a parameter; one size needs no list."""
    size, alone = _size(), ["integer", "string"]
    many = {
        "items": {"type": alone, **size},
        "minItems": fewest,
        "maxItems": len(names) or extra.LONGEST_SHAPE,
    }
    return {"type": "array", **many} if len(names) > 1 else {"type": ["array", *alone], **many, **size}


_TOGETHER: Mapping[type[BaseModel], Callable[[Schema], Schema]] = {
    table.BertsizeTable: lambda _: {},
    table.ModelTable: _model_together,
    budget.BudgetTable: _budget_together,
    built.BuildTable: lambda _: {},
    built.LockTable: lambda _: {},
    budget.LimitTable: _bounds_together,
    budget.BytesTable: _bounds_together,
    budget.FlopsTable: _bounds_together,
    budget.TrainingTable: _bounds_together,
    ExtraTable: _extra_together,
}
"""What the keys of each table say of one another."""
