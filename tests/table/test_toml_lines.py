"""On which line of a TOML file a key stands, in whatever layout."""

from __future__ import annotations

import pytest

from pytest_bertsize.table.toml import line_in_toml


def number_of(line: str, text: str) -> int:
    """Return the number of a line that the text has once."""
    lines = [each.strip() for each in text.split("\n")]
    assert lines.count(line) == 1, f"{lines.count(line)} lines {line!r}"
    return lines.index(line) + 1


LAYOUTS = {
    "a table": ("# note\n\n[x]\na = 1\nb = 2", "x.b", "b = 2"),
    "quoted key": ("[x]\n\"a.b\" = 1\n'c d' = 2", "x/a.b", '"a.b" = 1'),
    "dotted keys": ("[x]\na.b.c = 1\na.b.d = 2", "x.a.b.d", "a.b.d = 2"),
    "dotted and quoted": ('[x]\na.b = 1\na."b.c" = { max = 2 }', "x/a/b.c/max", 'a."b.c" = { max = 2 }'),
    "inline table": ("[x]\nt = { a = 1, b = { c = 2 } }\nu = 3", "x.t.b.c", "t = { a = 1, b = { c = 2 } }"),
    "after a text of several lines": ('[x]\na = """\nq\nr"""\nb = 2', "x.b", "b = 2"),
    "out-of-order table": ("[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a.d", "[a.d]"),
    "table after its own sub-table": ("[x.y.b]\n\nc = 1\n[x.y]\na = 2", "x.y.a", "a = 2"),
    "implicit table": ("q = 1\n\n[x.y.z]\na = 1", "x.y", "[x.y.z]"),
    "array of tables below another": ("q = 1\n[p]\nr = 1\n[[p.x]]\na = 1", "p.x", "[[p.x]]"),
    "table of dotted keys": ("[x]\nq = 1\na.b = 1\na.c = 2", "x.a", "a.b = 1"),
    "below an array of tables": ("[[a]]\n[b]\nc = 1\n[a.d]", "a.d", "[a.d]"),
    "several lines in an inline table": ('a = {b.c = """\n\n"""}', "a.b.c", 'a = {b.c = """'),
    "dotted key beside an array": ("[[a.b.c]]\n[a]\nb.d = 1", "a.b.d", "b.d = 1"),
    "out-of-order parent": ("q = 1\n[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a", "[a.b]"),
}
MISSING = {
    "in a table": ("q = 1\n[x]\na = 1", "x.b", "[x]"),
    "two levels down": ("q = 1\n[x]\na = 1", "x.b.c", "[x]"),
    "below a value": ("[x]\nq = 1\na = 1", "x.a.b", "a = 1"),
    "in an inline table": ("[x]\nt = { a = 1 }", "x.t.b", "t = { a = 1 }"),
    "in a table whose sub-table follows": ("q = 1\n[x]\na = 1\n[x.y]\nb = 1", "x.b", "[x]"),
    "in a table of dotted keys": ("[x]\nq = 1\na.b = 1\na.c = 2", "x.a.d", "a.b = 1"),
    "in an out-of-order table": ("q = 1\n[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a.e", "[a.b]"),
}


def path_of(dotted: str) -> list[str]:
    """``x.y.z``, or ``x/y.z`` where a key has a dot of its own."""
    return dotted.split("/" if "/" in dotted else ".")


@pytest.mark.parametrize(("text", "path", "line"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_key_is_found_in_every_layout(text: str, path: str, line: str) -> None:
    for ending in ("\n", "\r\n"):
        assert line_in_toml(text.replace("\n", ending), path_of(path)) == number_of(line, text)


@pytest.mark.parametrize(("text", "path", "line"), MISSING.values(), ids=MISSING)
def test_a_missing_key_is_placed_at_the_deepest_part_that_is_there(text: str, path: str, line: str) -> None:
    assert line_in_toml(text, path_of(path)) == number_of(line, text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("", ["a"], id="empty file"),
        pytest.param("a = 1", [], id="no path"),
        pytest.param("a = 1", ["b"], id="nothing of the path"),
        pytest.param("a = ", ["a"], id="not TOML"),
        pytest.param("a = 1\na = 2", ["a"], id="a key twice"),
    ],
)
def test_what_cannot_be_told_is_not_guessed(text: str, path: list[str]) -> None:
    assert line_in_toml(text, path) is None
