"""A TOML file: the line of each key, and a value that gives way to another while all other characters stay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
import tomli
import tomlkit

from pytest_bertsize.table.toml import CannotReplace, inline, line_in_toml, replace_keys, replace_values

MODEL = ("tool", "bertsize", "models", "x")
TOTAL = (*MODEL, "budget", "total")
X = "[tool.bertsize.models.x]\n"
OLD, NEW = '"50K"', '"60K"'

LAYOUTS = {
    "dotted keys": f'{X}config = "c"\nbudget.total = @ # why\nbudget.head = 1\n',
    "a table of its own": (
        f'{X}config = "c"\n\n[tool.bertsize.models.x.budget]\n\ttotal\t=   @   # "50K"\n\thead = "50K"\n'
    ),
    "an inline table": f'{X}budget = {{total=@,head="50K"}}\n',
    "inline tables in inline tables": (
        '[tool]\nbertsize = { models = { x = { config = "50K", budget = { total = @ } } } }\n'
    ),
    "an inline table over its items' lines": (
        f'{X}extra = [\n  {{ name = "a", linear = [\n[50, 2],\n] }}, # [tool.y]\n]\nbudget.total = @\n'
    ),
    "no header": 'tool.bertsize.models.x.config = "c"\ntool.bertsize.models.x.budget.total = @\n',
    "models in turns": (
        '[tool.bertsize]\nmodels.y.budget.total = "50K"\nmodels.x.config = "c"\nmodels.y.config = "c"\nmodels.x.budget.total = @\n'
    ),
    "arrays of tables around": (
        f'[[tool.a]]\nx = "50K"\n[[tool.a]]\nbudget.total = "50K"\n{X}budget.total = @\n'
        '[[tool.bertsize.models.x.extra]]\nname = "50K"\n[[tool.bertsize.models.x.extra]]\ntotal = "50K"\n[[tool.a]]\n'
    ),
    "the same in a text above": f'd = """\n{X}budget.total = "50K"\n"""\n{X}budget.total = @\n',
    "lists with brackets where lines start": (
        f'[tool.y]\na = [\n["50K"],\n[ "tool", "bertsize" ],\n["50K"]\n]\n{X}budget.total = @\n'
    ),
}
"""Of each kind of layout, a file with ``@`` for the value of ``TOTAL``."""


def at(document: Any, path: Sequence[str]) -> Any:
    return reduce(lambda node, part: node[part], path, document)


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_only_the_value_is_another_whatever_the_layout(layout: str, ending: str) -> None:
    layout = layout.replace("\n", ending)
    assert at(tomli.loads(layout.replace("@", OLD)), TOTAL) == "50K"
    assert replace_values(layout.replace("@", OLD), {TOTAL: NEW}) == layout.replace("@", NEW)


def test_several_values_are_replaced_at_once_their_order_is_no_matter_and_a_key_with_a_dot_is_one_key() -> None:
    text = f'{X}budget.total = "50K"\nbudget."a.b" = 9\nbudget.a.b = 9\n[tool.bertsize.models.y]\nbudget.total = "50K" # 9\n'
    values: dict[tuple[str, ...], str] = {
        ("tool", "bertsize", "models", "y", "budget", "total"): '"1_000M"',
        (*MODEL, "budget", "a.b"): "2_549",
        TOTAL: '"60K"',
    }
    after = f'{X}budget.total = "60K"\nbudget."a.b" = 2_549\nbudget.a.b = 9\n[tool.bertsize.models.y]\nbudget.total = "1_000M" # 9\n'
    assert replace_values(text, values) == replace_values(text, dict(reversed(values.items()))) == after


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        ("'50K'", '"60K"', "'60K'"),
        ('"5\\u0030K"', '"60K"', '"60K"'),
        ('"1100M"', '"1_200M"', '"1200M"'),
        ('"1_100M"', '"1_200M"', '"1_200M"'),
        ('"999.9K"', '"1_200.0K"', '"1200.0K"'),
        ("50000", "59_549", "59549"),
        ("50_000", "59_549", "59_549"),
        ("0", "2_549", "2_549"),
        ('"github-file"', "219_028_596", '"219_028_596"'),
    ],
)
def test_a_value_is_written_as_its_author_writes(old: str, new: str, written: str) -> None:
    assert replace_values(f"{X}budget.total = {old} # why\n", {TOTAL: new}) == f"{X}budget.total = {written} # why\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{X}budget.head = 1\n",
        f'd = """\n{X}budget.total = 1\n"""\n',
        f"# {X}# budget.total = 1\n",
        X.replace("x]", "x.budget.total]"),
        f"[[tool.bertsize.models]]\nx.budget.total = 1\n{X}budget.total = 1\n",
    ],
    ids=repr,
)
def test_what_has_no_such_value_is_refused_and_the_key_is_named(text: str) -> None:
    with pytest.raises(CannotReplace) as refused:
        replace_values(text, {TOTAL: "2"})
    said = "tool.bertsize.models.x.budget.total cannot be changed without changing the text around it"
    assert str(refused.value) == said


def test_a_text_that_would_come_out_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("[m]\na = 2\nb = 0.2\nc = 1\n", "[m]\na = 2\nb = 0.3\n", "[m]\na = 1\nb = 0.2\n"):
        monkeypatch.setattr(tomlkit, "dumps", lambda _, wrong=wrong: wrong)
        with pytest.raises(CannotReplace, match=r"^m cannot be changed without changing the text around it$"):
            replace_keys("[m]\na = 1\nb = 0.2\n", ("m",), {"a": "2"})
        with pytest.raises(CannotReplace, match=r"^m\.a cannot be changed without changing the text around it$"):
            replace_values("m.a = 1\n", {("m", "a"): "2"})


@pytest.mark.parametrize("value", [{"a b": [{"c": 1}, [True, "x\ny"]], "d": {}}, [{"a": {}}], []])
def test_a_value_is_written_on_one_line(value: object) -> None:
    written = inline(value)
    assert tomli.loads(f"x = {written}") == {"x": value}
    assert "\n" not in written


def test_keys_of_a_table_are_other_ones_and_what_stands_behind_them_stays_there() -> None:
    before = '[m.x]\nfactory = "a:b"\nbudget.total = 1 # why\n\n# about y\n[m.y]\nbudget.total = 2\n'
    after = '[m.x]\nbudget.total = 1 # why\nbackbone = "bert"\nextra = [{ name = "a" }]\n\n# about y\n[m.y]\nbudget.total = 2\n'
    values = {"factory": "", "backbone": '"bert"', "extra": '[{ name = "a" }]'}
    assert replace_keys(before, ("m", "x"), values) == after


def test_a_comment_stays_with_its_value_and_goes_with_another() -> None:
    before = "[m.x]\na = 1  # why\nb = true  # of one\nc = 1  # of one\nd = 1\n"
    after = "[m.x]\na = 1  # why\nb = false\nc = 1  # of two\nd = 1  # of two\ne = false  # of two\n"
    values = {"a": "1", "b": "false", "c": "1  # of two", "d": "1  # of two", "e": "false  # of two"}
    assert replace_keys(before, ("m", "x"), values) == after


# a text that a table may not have yet

WITH_A_REASON = {
    "behind the last value": (
        '[m."a b"]\nbudget.total = 1 # x\nz = 2\n\n# about y\n[m.y]\n',
        '[m."a b"]\nbudget.total = 1 # x\nz = 2\nreason = "Y"\n\n# about y\n[m.y]\n',
    ),
    "in place of another": ("[m.'a b']\nreason = '''\no'''\nz = 2\n", "[m.'a b']\nreason = \"Y\"\nz = 2\n"),
    "as far in": ('  [m."a b"]\n  budget.total = 1\n', '  [m."a b"]\n  budget.total = 1\n  reason = "Y"\n'),
    "line endings": ('[m."a b"]\r\nbudget.total = 1\r\n', '[m."a b"]\r\nbudget.total = 1\r\nreason = "Y"\r\n'),
    "line endings of two kinds": ('[m."a b"]\r\nx = 1\ny = 2\n', '[m."a b"]\r\nx = 1\ny = 2\nreason = "Y"\n'),
    "no line ending": ('m."a b".total = 1', 'm."a b".total = 1\nm."a b".reason = "Y"\n'),
    "a budget of its own": (
        '[m."a b"]\nc = 1\n[m."a b".budget]\ntotal = 1\n',
        '[m."a b"]\nc = 1\nreason = "Y"\n\n[m."a b".budget]\ntotal = 1\n',
    ),
    "dotted keys": (
        '[m]\n"a b".budget.total = 1\nc.budget.total = 2\n',
        '[m]\n"a b".budget.total = 1\n"a b".reason = "Y"\nc.budget.total = 2\n',
    ),
    "braces": (
        '[m]\n"a b" = { c = "x", budget.total = 1 } # x\n',
        '[m]\n"a b" = { c = "x", budget.total = 1, reason = "Y"} # x\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), WITH_A_REASON.values(), ids=WITH_A_REASON)
def test_a_text_is_put_into_a_table(before: str, after: str) -> None:
    assert replace_keys(before, ("m", "a b"), {"reason": '"Y"'}) == after


def number_of(line: str, text: str) -> int:
    lines = [each.strip() for each in text.split("\n")]
    assert lines.count(line) == 1, f"{lines.count(line)} lines {line!r}"
    return lines.index(line) + 1


LINES = {
    "a table": ("# note\n\n[x]\na = 1\nb = 2", "x.b", "b = 2"),
    "quoted key": ("[x]\n\"a.b\" = 1\n'c d' = 2", "x/a.b", '"a.b" = 1'),
    "dotted keys": ("[x]\na.b.c = 1\na.b.d = 2", "x.a.b.d", "a.b.d = 2"),
    "dotted and quoted": ('[x]\na.b = 1\na."b.c" = { max = 2 }', "x/a/b.c/max", 'a."b.c" = { max = 2 }'),
    "inline table": ("[x]\nt = { a = 1, b = { c = 2 } }\nu = 3", "x.t.b.c", "t = { a = 1, b = { c = 2 } }"),
    "after a text of several lines": ('[x]\na = """\nq\nr"""\nb = 2', "x.b", "b = 2"),
    "out-of-order table": ("[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a.d", "[a.d]"),
    "table after its own sub-table": ("[x.y.b]\n\nc = 1\n[x.y]\na = 2", "x.y.a", "a = 2"),
    "header after a sub-table's": ("[x.y.b]\nc = 1\n[x.y]\na = 2", "x.y", "[x.y]"),
    "implicit table": ("q = 1\n\n[x.y.z]\na = 1", "x.y", "[x.y.z]"),
    "array of tables below another": ("q = 1\n[p]\nr = 1\n[[p.x]]\na = 1", "p.x", "[[p.x]]"),
    "table of dotted keys": ("[x]\nq = 1\na.b = 1\na.c = 2", "x.a", "a.b = 1"),
    "the first of an array of tables": ("[[a]]\nb = 1\n[[a]]  # again\nb = 2", "a", "[[a]]"),
    "below an array of tables": ("[[a]]\n[b]\nc = 1\n[a.d]", "a.d", "[a.d]"),
    "several lines in an inline table": ('a = {b.c = """\n\n"""}', "a.b.c", 'a = {b.c = """'),
    "dotted key beside an array": ("[[a.b.c]]\n[a]\nb.d = 1", "a.b.d", "b.d = 1"),
    "out-of-order parent": ("q = 1\n[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a", "[a.b]"),
}
MISSING = {
    "in a table": ("q = 1\n[x]\na = 1", "x.b", "[x]"),
    "below a value": ("[x]\nq = 1\na = 1", "x.a.b", "a = 1"),
    "in an inline table": ("[x]\nt = { a = 1 }", "x.t.b", "t = { a = 1 }"),
    "in a table whose sub-table follows": ("q = 1\n[x]\na = 1\n[x.y]\nb = 1", "x.b", "[x]"),
    "in an out-of-order table": ("q = 1\n[a.b]\nx = 1\n[c]\ny = 1\n[a.d]\nz = 1", "a.e", "[a.b]"),
}


def path_of(dotted: str) -> list[str]:
    """``x.y.z``, or ``x/y.z`` where a key has a dot of its own."""
    return dotted.split("/" if "/" in dotted else ".")


@pytest.mark.parametrize(("text", "path", "line"), LINES.values(), ids=LINES)
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
