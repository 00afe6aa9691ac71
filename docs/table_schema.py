"""The JSON Schema of ``[tool.bertsize]``, which ``generate.py`` writes into the package.

In draft 7, from msgspec's schema of the structs' types, the comments above their keys, and what the functions beside
their types let pass.
"""

from __future__ import annotations

import inspect
import re
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.json import schema_components

from pytest_bertsize import quantity
from pytest_bertsize.dtypes import BITS, TRAINED
from pytest_bertsize.table import extra, limits, model
from pytest_bertsize.table.reading import Key, keys_of

Schema: TypeAlias = dict[str, Any]


def table_schema() -> Schema:
    """The schema as the structs have it now."""
    kinds = (model.BertsizeTable, model.Lock, model.Model, model.Build, extra.Extra)
    structs = {kind.__name__: _describe_table(kind) for kind in kinds}
    _describe_extra(structs["Extra"])
    _describe_model(structs["Model"])
    _describe_project(structs)
    dialect, address = "http://json-schema.org/draft-07/schema#", "https://www.schemastore.org/partial-bertsize.json"
    whole = _tidy(structs["BertsizeTable"], structs)
    return {"$schema": dialect, "$id": address, "title": "pytest-bertsize", **whole}


def _describe_table(kind: type[Struct]) -> Schema:
    """Describe a table of a struct: its keys by their types, and the comments above them."""
    texts = _texts_above_keys(kind)
    properties, required = {}, []
    for key, field in keys_of(kind).items():
        written = {} if key in ("models", "budget") else _describe_type(field.type)
        properties[key] = {**written, "description": texts[key]}
        if field.default is NODEFAULT and field.default_factory is NODEFAULT:
            required.append(key)
        elif isinstance(field.default, str | bool) and field.default != "":
            properties[key]["default"] = field.default
    found = {"description": _on_one_line(kind.__doc__ or ""), "type": "object", "properties": properties}
    return found | ({"required": required} if required else {}) | {"additionalProperties": False}


def _texts_above_keys(kind: type) -> dict[str, str]:
    """Return the comments ``#:`` above the keys of a table, which a run of the gate does not load."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if comment := re.fullmatch(r" {4}#: (.*)", line):
            above.append(comment[1])
            continue
        if above and (key := re.match(r" {4}(\w+): ", line)):
            found[key[1]] = _on_one_line(" ".join(above))
        above = []
    return found


def _on_one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _describe_type(kind: Any) -> Schema:
    """Describe a key by the type, or the types, in which it is written."""
    written = next(
        (each.written for each in getattr(kind, "__metadata__", ()) if isinstance(each, Key) and each.written), kind
    )
    if get_origin(written) in {Union, UnionType}:  # one by one: msgspec 0.22 crashes over unions with patterns
        return {"anyOf": [_describe_type(each) for each in get_args(written) if each is not NoneType]}
    return schema_components([written], ref_template="{name}")[0][0]


def _tidy(node: Any, structs: dict[str, Schema]) -> Any:
    """Copy a schema with each struct in place of its name: validators then tell the key, and editors what it is for.

    Several types are one: each keyword of draft 7 is about values of one type. A pattern ends as in every language.
    """
    if isinstance(node, list):
        return [_tidy(each, structs) for each in node]
    if not isinstance(node, dict):
        return node.replace(r"\Z", "$") if isinstance(node, str) else node
    own = {key: _tidy(each, structs) for key, each in node.items() if key not in {"$ref", "anyOf"}}
    kinds = [_tidy(each, structs) for each in node.get("anyOf", ())]
    if any("required" in each and "type" not in each for each in kinds):  # conditions, and no types
        return {**own, "anyOf": kinds}
    merged = {key: value for each in kinds for key, value in each.items()}
    if len(kinds) > 1:
        merged["type"] = [each["type"] for each in kinds]
    of_struct = _tidy(structs[node["$ref"]], structs) if "$ref" in node else {}
    return {**of_struct, **merged, **own}


def _as_ascii(pattern: str) -> str:
    """A pattern of Python's that is about ASCII, as every language reads it."""
    spelt = re.sub(r"\(\?P<\w+>", "(?:", pattern).replace(r"[\w", "[0-9A-Za-z_").replace(r"\w", "[0-9A-Za-z_]")
    return f"^{spelt}$"


def _describe_quantity(unit: quantity.Quantity, *others: str) -> Schema:
    """Describe a number or a text of a unit.

    :param others: patterns of other allowed texts.
    """
    return {
        "type": ["integer", "string"],
        "minimum": 0,
        "maximum": unit.largest,
        "maxLength": quantity.LONGEST,
        "pattern": "|".join(map(_as_ascii, (unit.pattern.pattern, *others))),
    }


COMPONENTS = {
    "total": 'The most parameters that the model may have; a tied tensor counts once. Example: budget.total = "110M".',
    "trainable": 'The most trainable parameters that the model may have. Example: budget.trainable = "300K".',
    "embeddings": 'The most parameters that the embeddings may have. Example: budget.embeddings = "24M".',
    "encoder": 'The most parameters that all layers of the encoder may have. Example: budget.encoder = "86M".',
    "decoder": "The most parameters that the layers of GPT, or the second stack of BART or T5, may have. "
    'Example: budget.decoder = "86M".',
    "pooler": "The most parameters that the pooler may have; 0 forbids a pooler. Example: budget.pooler = 0.",
    "head": 'The most parameters that the head may have. Example: budget.head = "1M".',
    "adapters": 'The most parameters that the adapters may have. Example: budget.adapters = "300K".',
}
"""Descriptions of the components that all families share."""
BUDGET = {
    "bytes": "The most bytes that the parameters and the saved buffers may take in a file or in memory: a size such as "
    '"440MB" or "420MiB", a limit by name such as "github-file", or a table. '
    'Example: budget.bytes = { max = "220MB", dtype = "float16" }.',
    "flops": "The most FLOPs of one forward pass, by torch's own counter; a multiply-add is 2 FLOPs. "
    'Example: budget.flops = { max = "22.4G", seq_len = 128 }.',
    "training_bytes": "The most bytes of the parameters, their gradients and the states of AdamW in training, without "
    'activations: a size or a table. Example: budget.training_bytes = "4GB".',
    "growth": "The most that the total may grow since the base: a percentage of the base's total such as "
    '"1%", a count such as "500K", or 0; or a table with such a value for each component. A run then needs a base. '
    'Example: budget.growth = { total = "1%", head = 0 }.',
    "already_over": "The verdict on a limit that the base already exceeded, if the excess has not grown since: "
    '"fail", or "pass" with a warning. Example: budget.already_over = "pass".',
}
"""Descriptions of the budget's other keys."""
BOUNDS = {
    "": ("parameters", '28_000_000, or "28M"', '29_000_000, or "29M"', '110_000_000, or "110M"; 0 forbids a component'),
    "bytes": (
        "bytes",
        '400_000_000, or "400MB"',
        '440_000_000, "440MB", "420MiB", or a limit by name: "github-file"',
        '437_928_960, or "440MB"',
    ),
    "flops": (
        "FLOPs",
        '20_000_000_000, or "20G"',
        '22_000_000_000, or "22G" (a multiply-add is 2 FLOPs)',
        '22_350_000_000, or "22.35G"',
    ),
    "training_bytes": ("bytes", '1_700_000_000, or "1.7GB"', '1_800_000_000, "1.8GB", or "1.7GiB"', "1_751_718_336"),
}
"""The counted quantity, and examples of min, max and exact, by the key of the budget; ``""`` is for components."""


def _describe_bounds(counted: str, least: str, most: str, only: str) -> dict[str, str]:
    number = "count" if counted == "parameters" else f"number of {counted}"
    return {
        "min": f"The fewest {counted} that pass: {least}.",
        "max": f"The most {counted} that pass: {most}.",
        "exact": f"The only {number} that passes, in place of `min` and `max`: {only}.",
    }


def _describe_limit(component: str = "") -> Schema:
    """Describe a limit: its bounds (``exact`` excludes the others), and the other keys of its table."""
    unit = limits.unit_of(component)
    written = _describe_quantity(unit, *unit.named)
    table = _describe_table(limits.MEASURES.get(component, limits.Parameters))
    bounds = _describe_bounds(*BOUNDS[component]).items()
    table["properties"] = {**{bound: {"description": text, **written} for bound, text in bounds}, **table["properties"]}
    if component == limits.BYTES:
        table["properties"]["dtype"]["enum"] = [*BITS]
    if component == limits.TRAINING:
        table["properties"]["dtype"]["enum"] = [*TRAINED]
        table["properties"]["frozen"]["enum"] = [*BITS]
    table |= {
        "dependencies": {"exact": {"properties": {"min": False, "max": False}}},
        "if": {"anyOf": [{"required": [bound]} for bound in limits.BOUNDS]},
        "else": {"required": ["max"]},
    }
    if component != limits.FLOPS:  # a value alone is the most that passes
        table |= {**written, "type": [*written["type"], "object"]}
    return table | ({"description": BUDGET[component]} if component else {})


def _describe_budget() -> Schema:
    component, names = _describe_limit(), {"pattern": r"^[^.]+(?:\.[^.]+)*$"}
    growth = _describe_quantity(quantity.PARAMETERS, limits.SHARE.pattern)
    of_growth = {
        **growth,
        "description": BUDGET["growth"],
        "type": [*growth["type"], "object"],
        "minProperties": 1,
        "propertyNames": {**names, "not": {"enum": sorted(limits.NO_COMPONENTS - COMPONENTS.keys())}},
        "additionalProperties": growth,
    }
    already_over = {"description": BUDGET["already_over"], "enum": ["fail", "pass"], "default": "fail"}
    return {
        "type": ["string", "object"],
        "pattern": f"^{limits.REPORT_ONLY}$",
        "minProperties": 1,
        "properties": {
            **{name: {**component, "description": about} for name, about in COMPONENTS.items()},
            **{key: _describe_limit(key) for key in limits.MEASURES},
            "growth": of_growth,
            "already_over": already_over,
        },
        "propertyNames": names,
        "additionalProperties": component,
    }


def _describe_extra(table: Schema) -> None:
    """Say what a size is, how many each block takes, and that there is one block."""
    summand = extra.SUMMAND.pattern.replace("[0-9]{1,9}", "0{0,8}[1-9][0-9]{0,8}")
    size = {
        "type": ["integer", "string"],
        "minimum": 1,
        "maximum": extra.LARGEST,
        "maxLength": extra.LONGEST_SUM,
        "pattern": _as_ascii(rf"\s*(?:{summand})\s*(?:\+\s*(?:{summand})\s*)*"),
    }
    properties = table["properties"]
    for block, names in extra.SIZES.items():
        most = len(names) or extra.LONGEST_SHAPE
        of_list = {"items": size, "minItems": extra.FEWEST.get(block, most), "maxItems": most}
        alone = size if len(names) <= 1 else {}
        properties[block] |= {**alone, **of_list, "type": ["array", "integer", "string"] if alone else "array"}
    properties["name"]["pattern"] = _as_ascii(extra.RANGED_PATH.pattern)
    properties["count"] |= size
    properties["tied"] |= {"additionalProperties": {"type": "string", "pattern": _as_ascii(extra.MODULE_PATH.pattern)}}
    one_block = {"oneOf": [{"required": [block]} for block in extra.SIZES]}
    table |= {"if": {"not": one_block}, "then": one_block}  # behind what is said of single keys


def _describe_model(table: Schema) -> None:
    is_filled = {"minItems": 1, "minProperties": 1}
    needs_factory = {
        key: {"if": {"properties": {key: is_filled}}, "then": {"required": ["factory"]}} for key in model.OF_A_FACTORY
    }
    table["properties"]["budget"] |= _describe_budget()
    table |= {
        "dependencies": {**needs_factory, "backbone": ["factory"]},
        "if": {"required": ["factory"]},
        "else": {"required": ["config"]},
    }


def _describe_project(structs: dict[str, Schema]) -> None:
    word, placeholder = r"[^\x00-/:-@\[-\^`\{-\x7f]", r"\{(?:stem|folder)\}"
    model_name = rf"^(?:{word}|{placeholder})(?:{word}|[.+@-]|{placeholder}){{0,99}}$"
    number = "(?:0|[1-9][0-9]{0,5})"
    releases = (r"4\.(?:[4-9][0-9]|[1-9][0-9]{2,5})", r"5\.[1-9][0-9]{0,5}", rf"(?:[6-9]|[1-9][0-9]{{1,5}})\.{number}")
    properties = structs["BertsizeTable"]["properties"]
    properties["models"] |= {"patternProperties": {model_name: {"$ref": "Model"}}}
    properties["models"] |= {"type": "object", "minProperties": 1, "additionalProperties": False}
    properties["transformers"]["pattern"] = _as_ascii(rf"(?:{'|'.join(releases)})(?:\.{number})?")
    memory = {**_describe_quantity(quantity.BYTES), "minimum": model.LEAST_MEMORY, "maximum": model.MOST_MEMORY}
    structs["Build"]["properties"]["memory"] |= memory
