"""Strategies of Hypothesis: values, texts, paths and tables for ``test_fuzzing.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

# values

CHARACTERS = st.characters()
"""Lone surrogates among them, which an escape of JSON can write."""
ODD_TEXTS = st.sampled_from(
    [
        *("", "\0", "\n", "\r", "\x1b[2J", "\x7f", "\u0085", "\u2028", "\u202e", "\ufeff", "\ud800"),
        *('"', "\\", "{", "}:", "[]", "#", "'", ".", "..", "/", "\n::error::no", "##[error]no", "%s{0}"),
        *("x" * 250, "1" * 5_000, "\U000e0001" * 250, "__class__", "auto_map", "num_labels", "id2label", "hiden_size"),
    ]
)
TEXTS = st.text(CHARACTERS, max_size=8) | ODD_TEXTS
HUGE = st.sampled_from([10**9 + 1, 2**63, 10**30, 10**300, 10**4_299])
"""The last has as many digits as Python reads."""
NUMBERS = st.integers(-3, 300) | st.integers() | HUGE | HUGE.map(int.__neg__) | st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


# texts


@st.composite
def edited(draw: st.DrawFn, texts: st.SearchStrategy[Any], pieces: st.SearchStrategy[Any]) -> Any:
    """A text (or bytes) of which a few places are overwritten, cut out or repeated."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        put = draw(pieces | st.just(text[start:end] * 2))
        text = text[:start] + put + text[end:]
    return text


JSON_PIECES = st.sampled_from(
    [
        *('"hidden_size": 1,', '"hidden_size"', "{", "}", "[" * 70, "]" * 70, ",", ":", '"', "\\", "\n", "// no\n"),
        *("NaN", "-Infinity", "1e999", "1e-999", "0x10", "01", "1" * 5_000, "-0", "0.1e5", "True", "None", "'"),
        *('"\\ud800"', '"\\u0000"', '"\\/"', '"\\x41"', '"\\u00', '\\"' * 50, '"\t"', " " * 500, "[]," * 500, "\ufeff"),
    ]
)
CONFIGS = st.fixed_dictionaries(
    {"model_type": st.just("bert"), "architectures": st.just(["BertModel"])},
    optional={key: NUMBERS | VALUES for key in ("vocab_size", "hidden_size", "is_decoder", "id2label")},  # noqa: C420
)
JSON_TEXTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    CONFIGS | st.dictionaries(TEXTS, VALUES, max_size=4),
    st.booleans(),
    st.none() | st.integers(0, 2),
)
FILES = st.binary(max_size=60) | edited(
    JSON_TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    JSON_PIECES.map(str.encode) | st.binary(max_size=4),
)
"""What may stand in a config file."""

PATHS = st.sampled_from(["config.json", "folder", "loop", "pipe", "..", "/", ".", "//", "\0", "~", "a/" * 3_000])
INNER = st.sampled_from(["a", "b", "c"]) | TEXTS
REFERENCES = st.builds(
    lambda parts, keys, mark: "".join(parts) + mark + ".".join(keys),
    st.lists(PATHS | TEXTS, max_size=4),
    st.lists(INNER, max_size=4),
    st.sampled_from("##/"),
)

# TOML


def as_toml(value: Any) -> str:
    """A value as TOML writes it on one line; text that TOML does not have is left as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(each) for each in value) + "]"
    if isinstance(value, Raw):
        return value
    return "nan" if value is None else json.dumps(value, ensure_ascii=False)


class Raw(str):
    __slots__ = ()


RAW = st.sampled_from(["nan", "-inf", "0x" + "f" * 5_000, "1979-05-27", "07:32:00", "'''\n'''", "0b1", "1e6"]).map(Raw)
TOML_VALUES = RAW | VALUES
COUNTS = st.integers(0, 10**9) | st.sampled_from(["110M", "1.2B", "1_000K", "0.5K", "86_000_000"])
LIMITS = COUNTS | st.dictionaries(st.sampled_from(["min", "max", "exact"]), COUNTS, max_size=2)
BUDGETS = st.just("report-only") | st.dictionaries(
    st.sampled_from(["total", "trainable", "pooler", "encoder.attention"]), LIMITS | TOML_VALUES, max_size=3
)
MODELS = st.fixed_dictionaries(
    {"config": st.just("config.json") | TEXTS, "budget": BUDGETS},
    optional={
        "family": st.just("bert"),
        "architecture": st.just("BertModel") | TEXTS,
        "overrides": st.dictionaries(TEXTS, TOML_VALUES, max_size=2),
        "options": st.dictionaries(TEXTS, st.booleans(), max_size=2),
        "closed_form": st.booleans(),
    },
)
MODEL_KEYS = st.sampled_from(["config", "family", "overrides", "options", "closed_form", "budget", "confg"]) | TEXTS
ODD_MODELS = st.builds(
    lambda model, gone, more: {key: value for key, value in {**model, **more}.items() if key not in gone},
    MODELS,
    st.sets(st.sampled_from(["config", "budget"])),
    st.dictionaries(MODEL_KEYS, TOML_VALUES, max_size=2),
)


def table_text(models: Mapping[str, Any], beside: Mapping[str, Any]) -> str:
    tables = {f"[tool.bertsize.models.{json.dumps(name, ensure_ascii=False)}]": model for name, model in models.items()}
    lines = []
    for header, entries in {"[tool.bertsize]": beside, **tables}.items():
        lines += [
            header,
            *(f"{json.dumps(key, ensure_ascii=False)} = {as_toml(each)}" for key, each in entries.items()),
        ]
    return "\n".join(lines)


NAMES = st.sampled_from(["encoder", "v1.5", "b"]) | TEXTS
TABLES = st.builds(
    table_text,
    st.dictionaries(NAMES, MODELS | ODD_MODELS, max_size=3),
    st.just({}) | st.dictionaries(TEXTS | st.just("model"), TOML_VALUES, max_size=2),
)
TOML_PIECES = st.sampled_from(
    [
        *"[]=.,{}#\"'\\\n\r\t\0a1\ufeff\u202e",
        *("[[", "\r\n", "\\ud800", '"' * 3, "'" * 3, "0x", "1979-99-99", "nan", "1" * 5_000, "a." * 200, "[" * 200),
        *(
            "[tool.bertsize]\n",
            "[tool.bertsize.models.b]\n",
            "\nbudget.total = 1\n",
            "{b = " * 150,
            f"[{'a' * 3_000}]\n",
        ),
    ]
)
TOML_TEXTS = edited(TABLES, TOML_PIECES) | st.text(max_size=40)
