"""A value of a TOML file gives way to another: all other characters stay, whatever the layout."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.table.toml import CannotReplace, replace_values

MODEL = ("tool", "bertsize", "models", "x")
TOTAL = (*MODEL, "budget", "total")
X = "[tool.bertsize.models.x]\n"
OLD, NEW = '"50K"', '"60K"'

LAYOUTS = {
    "dotted keys": (f'{X}config = "c"\nbudget.total = @ # why\nbudget.head = 1\n'),
    "a table of its own": (
        f'{X}config = "c"\n\n[tool.bertsize.models.x.budget]\n\ttotal\t=   @   # "50K"\n\thead = "50K"\n'
    ),
    "an inline table": (f'{X}budget = {{total=@,head="50K"}}\n'),
    "inline tables in inline tables": (
        '[tool]\nbertsize = { models = { x = { config = "50K", budget = { total = @ } } } }\n'
    ),
    "an inline table over its items' lines": (
        f'{X}extra = [\n  {{ name = "a", linear = [\n[50, 2],\n] }}, # [tool.y]\n]\nbudget.total = @\n'
    ),
    "no header": ('tool.bertsize.models.x.config = "c"\ntool.bertsize.models.x.budget.total = @\n'),
    "models in turns": (
        '[tool.bertsize]\nmodels.y.budget.total = "50K"\nmodels.x.config = "c"\nmodels.y.config = "c"\nmodels.x.budget.total = @\n'
    ),
    "arrays of tables around": (
        f'[[tool.a]]\nx = "50K"\n[[tool.a]]\nbudget.total = "50K"\n{X}budget.total = @\n'
        '[[tool.bertsize.models.x.extra]]\nname = "50K"\n[[tool.bertsize.models.x.extra]]\ntotal = "50K"\n[[tool.a]]\n'
    ),
    "the same in a text above": (f'd = """\n{X}budget.total = "50K"\n"""\n{X}budget.total = @\n'),
    "lists with brackets where lines start": (
        f'[tool.y]\na = [\n["50K"],\n[ "tool", "bertsize" ],\n["50K"]\n]\n{X}budget.total = @\n'
    ),
}
"""Of each kind of layout, a file with ``@`` for the value of ``TOTAL``."""


def at(document: Any, path: Sequence[str]) -> Any:
    return reduce(lambda node, part: node[part], path, document)


def with_value(document: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """A copy of a document in which one value is another."""
    found = copy.deepcopy(document)
    at(found, path[:-1])[path[-1]] = value
    return found


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_only_the_value_is_another_whatever_the_layout(layout: str, ending: str) -> None:
    layout = layout.replace("\n", ending)
    assert at(tomli.loads(layout.replace("@", OLD)), TOTAL) == "50K"
    assert replace_values(layout.replace("@", OLD), {TOTAL: NEW}) == layout.replace("@", NEW)


def test_a_key_with_a_dot_in_it_is_one_key() -> None:
    text = f'{X}budget."encoder.attention" = @\nbudget.encoder.attention = "50K"\n'
    path = (*MODEL, "budget", "encoder.attention")
    assert replace_values(text.replace("@", OLD), {path: NEW}) == text.replace("@", NEW)


def test_several_values_are_replaced_at_once_and_their_order_is_no_matter() -> None:
    text = f'{X}budget.total = "50K"\nbudget.head = 9\n[tool.bertsize.models.y]\nbudget.total = "50K" # 9\n'
    values: dict[tuple[str, ...], str] = {
        ("tool", "bertsize", "models", "y", "budget", "total"): '"1_000M"',
        (*MODEL, "budget", "head"): "2_549",
        TOTAL: '"60K"',
    }
    after = f'{X}budget.total = "60K"\nbudget.head = 2_549\n[tool.bertsize.models.y]\nbudget.total = "1_000M" # 9\n'
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
        f"[[tool.bertsize.models]]\nx.budget.total = 1\n{X}budget.total = 1\n",
    ],
    ids=repr,
)
def test_what_has_no_such_value_is_refused_and_the_key_is_named(text: str) -> None:
    with pytest.raises(CannotReplace) as refused:
        replace_values(text, {TOTAL: "2"})
    assert str(refused.value) == "tool.bertsize.models.x.budget.total cannot be told from what stands around it"


# any file

SPACE = st.text(" \t", max_size=3)
COMMENT = st.sampled_from(
    ["", "", "#", "# 50K", "# [tool.bertsize.models.x]", '# "50K" """', "# 五万 '''", "# value-0", "# }"]
)
NOISE = st.sampled_from(
    [
        "",
        "# budget.total = 1",
        'a = "50K"',
        "b = [\n  [1, 2],\n[3],\n]",
        'c = """\n[tool.bertsize.models.x]\nbudget.total = 1\n"""',
        "d = '''\n[[tool.z]]\n'''",
        "e = { total = 1, budget = { total = 1 } }",
        "f.budget.total = 1",
        'g = "a # b"',
        "h = 1e3",
        '"i.j" = true',
        "k = '\\'",
    ]
)
TABLES = st.sampled_from(
    [
        "[tool.y]",
        "[[tool.z]]",
        "[tool.bertsize.models.y]",
        "[project]",
        "[tool.y.budget]",
        "[ tool . 'w' ]",
        "[tool.v.total]",
    ]
)
FORMS = st.sampled_from(
    [
        ("[tool.bertsize.models.x]", "budget.total{0}={0}@"),
        ("[tool.bertsize.models.x.budget]", "total{0}={0}@"),
        ("[tool.bertsize.models]", "x.budget.total{0}={0}@"),
        ("[tool.bertsize.models.x]", "budget{0}={0}{{{0}total{0}={0}@{0}}}"),
        ("[tool.bertsize.models]", "x = {{ budget{0}={0}{{{0}head = 1,{0}total = @{0}}} }}"),
        ("[tool.bertsize]", "models{0}.{0}x.budget.total = @"),
    ]
)
VALUES = st.sampled_from([OLD, "'50K'", "50_000", "50000", '"""50K"""', "'''50K'''", "0xC350", "+5"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str]:
    """A TOML file with ``@`` in place of the value of ``TOTAL``, and the value."""
    header, form = draw(FORMS)
    form = form.format(draw(SPACE))
    around = st.lists(NOISE, max_size=3, unique=True)
    above, below = draw(around), draw(around)
    lines = [*draw(around)]
    for table in draw(st.lists(TABLES, max_size=2, unique=True)):
        lines += [f"{draw(SPACE)}{table} {draw(COMMENT)}", *draw(around)]
    lines += [f"{draw(SPACE)}{header}{draw(SPACE)}{draw(COMMENT)}", *above]
    lines += [
        f"{draw(SPACE)}{form}{draw(SPACE)}{draw(COMMENT)}",
        *(line for line in below if line not in above or not line),
    ]
    for table in draw(st.lists(TABLES, max_size=2, unique=True)):
        if not any(table in line for line in lines):
            lines += [table, *draw(around)]
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n"]))
    return text.replace("\n", ending), draw(VALUES)


@given(files())
def test_of_any_file_only_the_value_is_another(file: tuple[str, str]) -> None:
    layout, old = file
    text = layout.replace("@", old)
    before = tomli.loads(text)
    new, value = (NEW, "60K") if isinstance(at(before, TOTAL), str) else ("59_549", 59_549)
    after = replace_values(text, {TOTAL: new})
    head, _, tail = layout.partition("@")
    assert after.startswith(head)
    assert after.endswith(tail)
    assert tomli.loads(after) == with_value(before, TOTAL, value)
    written = after[len(head) : len(after) - len(tail)]
    assert tomli.loads(f"x = {written}") == {"x": value}
    assert replace_values(after, {TOTAL: new}) == after
