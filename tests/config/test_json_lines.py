"""On which line of a JSON file a key stands, in whatever layout."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.config.json_lines import lines_in_json

TEXT = st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | TEXT | st.sampled_from(['"', "\\", '{"a":', "]", "\n", ":"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
OBJECTS = st.dictionaries(TEXT | st.sampled_from(['"', "\\", "{", "}:", "[]", "\n"]), VALUES, max_size=4)


def dumped(value: object, path: tuple[str, ...] = (), at: int = 1) -> tuple[dict[tuple[str, ...], int], int]:
    """The line of every key of ``json.dumps(value, indent=1)``, and the line on which the value ends."""
    found: dict[tuple[str, ...], int] = {}
    if isinstance(value, (dict, list)) and value:
        inner = value.items() if isinstance(value, dict) else ((None, each) for each in value)
        for key, each in inner:
            at += 1
            if key is not None:
                found[(*path, key)] = at
            below, at = dumped(each, (*path, "[]" if key is None else key), at)
            found |= below  # of a list's items, the last one that has the key
        at += 1
    return found, at


# JSON


@given(OBJECTS, st.booleans())
def test_every_key_of_a_dumped_object_is_found_on_its_line(data: dict[str, Any], ascii_only: bool) -> None:  # noqa: FBT001
    text = json.dumps(data, indent=1, ensure_ascii=ascii_only)
    expected, last = dumped(data)
    assert last == text.count("\n") + 1
    assert {path: lines_in_json(text).get(path) for path in expected} == expected


@given(OBJECTS)
def test_all_keys_of_an_object_on_one_line_stand_on_line_one(data: dict[str, Any]) -> None:
    assert [lines_in_json(json.dumps(data))[(key,)] for key in data] == [1] * len(data)


@given(OBJECTS)
def test_a_key_that_is_not_there_has_no_line(data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=1)
    lines = lines_in_json(text)
    assert ("longer than any key",) not in lines
    assert not [key for key in data if (key, "longer than any key") in lines]


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        pytest.param('{"a": 1,\n"a": 2}', ["a"], 2, id="the last of a repeated key"),
        pytest.param('{"a": 1,\n"\\u0061": 2}', ["a"], 2, id="a key spelled with an escape"),
        pytest.param('{"a": {"b": 1},\n"b": 2}', ["b"], 2, id="not the key of the same name inside another"),
        pytest.param('{"b": 2,\n"a": {\n"b": 1}}', ["a", "b"], 3, id="nor the one outside"),
        pytest.param('{"a": "b\\": 1",\n"b": 2}', ["b"], 2, id="not inside a string"),
        pytest.param('{"a": ["b", ":"],\n"b": 2}', ["b"], 2, id="not an item of a list"),
        pytest.param('{"a": [{"b": 1},\n{"b": 2}]}', ["a", "[]", "b"], 2, id="in the last item of a list"),
        pytest.param('{\r\n"a": 1,\r\n"b": 2}', ["b"], 3, id="CRLF"),
        pytest.param('{"a"\n:\n1,\n"b":\n2}', ["b"], 4, id="colon on a line of its own"),
        pytest.param('{"a": "\u2028",\n"b": 2}', ["b"], 2, id="U+2028 breaks no line"),
        pytest.param('[{\n"a": 1}]', ["a"], None, id="in a list at the top"),
        pytest.param('{"x": ["a": 1]}', ["x", "a"], None, id="a colon in a list"),
        pytest.param('{"a": 1', ["a"], 1, id="an object that is never closed"),
        pytest.param("}]", ["a"], None, id="no object at all"),
        pytest.param("", ["a"], None, id="empty"),
    ],
)
def test_a_key_is_found_however_the_file_is_written(text: str, path: list[str], line: int | None) -> None:
    assert lines_in_json(text).get(tuple(path)) == line
