"""The report in the terminal: every number whole at every width, with and without colour, Unicode and CJK."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from pytest_bertsize.inventory import Inventory
from pytest_bertsize.plugin.failures import terminal_style
from pytest_bertsize.quantity import compact_left, percent_used
from pytest_bertsize.reports.drawing import Line, Style, draw_marked, draw_table
from pytest_bertsize.reports.markdown import render_page as markdown
from pytest_bertsize.reports.report import FoldedTensor, Lock, Measure, ModelReport, TensorChange
from pytest_bertsize.reports.sentences import show_share
from pytest_bertsize.reports.terminal import (
    MOST_ROWS,
    draw_comparison,
    draw_failure,
    draw_model,
    draw_notes,
    draw_overview,
    take_common,
)
from tests.support import run_reports
from tests.support.parsed_page import words
from tests.support.run_reports import against, bert, blank, component, failing, finding, model, passing, run

if TYPE_CHECKING:
    from tests.conftest import Project

DATA = Path(__file__).parents[1] / "data"
NUMBER = re.compile(r"\d[\d,]*")


DEMO = model(
    component("embeddings", 24_230_400, maximum=25_000_000),
    component("embeddings.word", 23_440_896),
    component("encoder", 99_230_208, maximum=86_000_000, layers=14),
    component("encoder.attention", 33_094_656, layers=14),
    component("head", 24_094_068, 24_063_546, maximum=1_000_000, formula="D² + V·D + 3·D + V"),
    component("head.decoder", 23_501_940, 23_471_418, formula="V·D + V"),
    component("total", 147_554_676, 147_524_154, maximum=110_000_000),
    findings=[
        finding("total is 147,554,676, 37,554,676 over its limit of 110M", "to accept it, write 148M"),
        finding("the key x is ignored", severity="warning"),
    ],
)
"""The model of the design's picture: 14 layers, an untied decoder."""


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_rows_to_paste_are_toml_at_every_width(width: int, *, unicode: bool) -> None:
    rows = [
        '{ name = "trans", parameter = [9, 9] }',
        '{ name = "norm", layer_norm = 768, bias = false }',
        '{ name = "out", linear = [768, 9], tied = { weight = "b.w" } }',
        '{ name = "heads.lang", linear = [768, 101] }',
    ]
    fix = f"mend the class, or write extra = [ {', '.join(rows)} ]"
    found = model(
        component("total", 7, maximum=6), findings=[finding("the class has 4 modules that the table does not say", fix)]
    )
    told = draw_failure(found, Style(width, unicode=unicode))
    pasted = told[told.index("extra = [") :].partition(" ]\n\n")[0].rstrip(" ]\n") + " ]"
    assert len(tomli.loads(pasted)["extra"]) == len(rows)
    assert all(any(row in line for line in told.splitlines()) for row in rows if len(row) < width - 10)
    assert "\ue000" not in told


@pytest.mark.parametrize(
    "pasted",
    [
        "bertsize init trainings.work_orders.harmonisation_classification.model:TextClassification",
        'hub = { "acme/encoder" = "configs/encoder/config.json" }',
        "overrides = { hidden_size = 640, intermediate_size = 2560, num_hidden_layers = 12, num_attention_heads = 10 }",
        "[32, 128]",
        "exact = 30_710_784",
        'budget."encoder.attention" = { min = "28M", max = "29M" }',
        '"intermediate_size": 3072',
        '{"0": "no", "1": "yes"}',
        "hf download acme/encoder config.json --local-dir configs/encoder",
        'bertsize accept encoder --reason "…"',
        "bertsize check --base main",
        "bertsize init 'python train.py --width 128' --name scorer --write",
        "pip install 'pytest-bertsize[build]'",
    ],
)
def test_what_is_to_be_pasted_is_on_one_line(pasted: str) -> None:
    for before in range(40, 80, 3):
        drawn = draw_marked("  → ", f"{'w' * before} write {pasted} and that", Style(80))
        assert any(pasted in line for line in drawn.splitlines()), before
        assert [line for line in drawn.splitlines() if pasted not in line and len(line) > 79] == []


def test_a_warning_of_a_model_that_fails_for_what_others_fail_for_is_no_headline() -> None:
    found = model(component("total", 7), findings=[finding("the key x is ignored", severity="warning")])
    told = draw_failure(replace(found, components=[]), Style(80))
    assert told == "! encoder: the key x is ignored (pyproject.toml:11)"


def test_what_shares_no_layer_is_not_unrolled_whatever_ties_it_has() -> None:
    form = run_reports.bert(12, 512, tied=True)
    named_once = Inventory(tuple(each for each in form.tensors if not each.tied_to))
    told = draw_model(run_reports.reported(form, named_once), Style(80))
    assert form.stored > form.total == named_once.stored
    assert "written out" not in told
    assert "unrolled" not in told


def test_the_report_at_80_columns_and_at_60_in_ascii_and_with_detail() -> None:
    assert "word" in draw_failure(DEMO, Style(80, verbosity=1))
    assert draw_failure(DEMO, Style(80)) == (DATA / "report-80.txt").read_text("utf-8").rstrip("\n")
    text = draw_failure(DEMO, Style(60, unicode=False))
    assert text == (DATA / "report-60-ascii.txt").read_text("utf-8").rstrip("\n")
    assert text.isascii()


counts = st.integers(0, 10**13)


@given(
    style=st.builds(Style, st.integers(60, 200), st.booleans(), st.booleans(), st.integers(0, 2)),
    actual=counts,
    expected=counts,
    limit=st.integers(0, 10**18),
)
def test_no_number_is_ever_cut(style: Style, actual: int, expected: int, limit: int) -> None:
    rows = [
        component("encoder.cross_attention", actual, expected, limit, layers=123),
        component("total", actual, expected, limit),
    ]
    text = draw_failure(model(*rows), style)
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    table = plain.split("component", 1)[1]
    rounded = f"{compact_left(limit - actual)} {percent_used(actual, limit)} {show_share(actual, actual)}"  # by design
    whole = {f"{actual:,}", f"{expected:,}", f"{limit:,}", f"{abs(actual - expected):,}", "123"}
    assert set(NUMBER.findall(table)) <= {*whole, *NUMBER.findall(rounded)}
    assert f"{actual:,}" in table
    assert max(cell_len(line) for line in plain.splitlines()) < style.width


def test_colour_adds_nothing_but_colour() -> None:
    coloured = draw_failure(DEMO, Style(80, colour=True))
    assert "\x1b[1;31m" in coloured
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert lines == draw_failure(DEMO, Style(80)).splitlines()


def test_in_colour_the_lines_of_a_run_stand_where_they_stand_without() -> None:
    passed = model(component("total", 7, maximum=8), name="词嵌入模型")
    passed.verdict = "passed"
    models = [passed, failing()]
    coloured = draw_overview(models, Style(80, colour=True)).splitlines()
    bare = [re.sub(r"\x1b\[\d+m", "", line).rstrip() for line in coloured]
    assert bare == draw_overview(models, Style(80)).splitlines()
    assert [re.findall(r"\x1b\[([1-9]+)m", line)[:1] for line in coloured] == [["1"], [], ["31"]]  # bold, red
    assert coloured[1].startswith("✓  词嵌入模型")


def test_wide_characters_keep_the_columns_straight_and_a_long_name_is_shortened_before_a_number_is() -> None:
    names = ("词嵌入模型", "encoder", "a-very-long-name-of-a-model-that-nobody-can-remember-2")
    rows = draw_overview([model(*DEMO.components, name=name) for name in names], Style(60)).splitlines()[1:]
    assert len({cell_len(line[: line.index("147,554,676")]) for line in rows}) == 1
    assert all("110,000,000" in line and cell_len(line) < 60 for line in rows)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_tensor_name_is_shortened_before_its_shape_is(width: int) -> None:
    counted = {"shape": [1024, 768], "layers": 12, "expected": 786_432, "actual": 786_432, "trainable": True}
    name = "bert.embeddings.position_embeddings.weight"
    tensor = blank(FoldedTensor, name=name, component="embeddings", **counted)
    text = draw_failure(replace(DEMO, tensors=[tensor]), Style(width, verbosity=2))
    line = next(line for line in text.splitlines() if "weight" in line)
    assert "weight (1024, 768) ×12 " in line
    assert "786,432" in line
    assert cell_len(line) < width


WHOLE = """
                                formula                count  more
──────────────────────────────────────────────────────────────────
nnnnnnnnnnnnnnnnnnnnnnnnnnnn.w  a + b + c + d + e + f      7     8

total                                                     15
"""
NARROW = """
                               formula           count  more
────────────────────────────────────────────────────────────
…nnnnnnnnnnnnnnnnnnnnnnnnnn.w  a + b + c + d +       7     8
                               e + f

total                                               15
"""


@pytest.mark.parametrize(
    ("width", "may_be_narrow", "drawn"),
    [
        (67, False, WHOLE),
        (66, False, WHOLE.replace("  more", "").replace("     8", "").replace("─" * 66, "─" * 60)),
        (61, True, NARROW),
    ],
)
def test_a_table_has_every_cell_of_the_width_and_drops_a_column_only_if_nothing_may_be_narrower(
    width: int, drawn: str, *, may_be_narrow: bool
) -> None:
    cells = {"": f"{'n' * 28}.w", "formula": "a + b + c + d + e + f", "count": "7", "more": "8"}
    lines = [Line(cells), Line({"": "total", "formula": "", "count": "15", "more": ""})]
    least: dict[str, Any] = {"names": {"": 20}, "wrapped": {"formula": 16}} if may_be_narrow else {}
    found = draw_table(lines, ("", "formula"), Style(width), dropped_first=["more"], apart=[1], **least)
    assert found == drawn.strip("\n")


# many models that passed are one line; who failed has a row


def passed(name: str, size: int = 100_000_000, **more: Any) -> ModelReport:
    return replace(model(component("total", size, maximum=110_000_000), name=name), verdict="passed", **more)


def test_many_that_passed_are_one_line_and_what_failed_is_a_row_unless_detail_is_asked_for() -> None:
    free = [passed("free")]
    models = [passed(f"model-{index}", 100_000_000 + index) for index in range(MOST_ROWS)]
    broken = model(component("total", 111_000_000, maximum=110_000_000), name="broken")
    for all_models, rows in ([*models, broken], MOST_ROWS + 1), ([*models, *free, broken], 1):
        lines = draw_overview(all_models, Style(120)).splitlines()
        assert len([line for line in lines if "BertForMaskedLM" in line]) == rows
        assert any(line.split()[:2] == ["✗", "broken"] for line in lines)
    assert lines[-1] == "✓  31 models passed; -v shows each"
    assert len(draw_overview([*models, *free, broken], Style(120, verbosity=1)).splitlines()) == 1 + 32


def test_a_model_of_which_bytes_alone_are_limited_says_so() -> None:
    size = blank(Measure, name="bytes", expected=9, actual=9, limit="1MB", max=1_000_000, what="float32")
    free, by_head = component("total", 7), component("head", 7, maximum=8)
    assert passed("a", components=[free], measures=[size]).limited_by == "by bytes"
    assert passed("a", components=[by_head, free], measures=[size]).limited_by == "head 8"


# what became of tensors, against the base's lock and against today's

CHANGED = "bert.encoder.layer.12 is new: 7,087,872, like the other 12"
NOTE = f"it differs from bertsize.lock: {CHANGED}"


def locked(count: int = 1) -> ModelReport:
    """A model that is compared with the lock of a base, and with today's."""
    found = against(passing(), bert(12, 512, tied=True))
    said = [CHANGED, *(f"{index} is gone" for index in range(1, count))]
    tensors = [TensorChange(kind="new", name="bert.encoder.layer.12", count=7_087_872, said=each) for each in said]
    assert found.base
    found.base.by, found.base.tensors = "lock", tensors
    found.lock = Lock(file="bertsize.lock", known=True, tensors=tensors, why="")
    found.findings = [finding(NOTE, severity="note", kind="differs-from-lock")]
    return found


def test_it_says_what_became_of_tensors_and_of_which_base() -> None:
    text = draw_comparison(locked(), Style(80))
    assert "against main (bbbbbbbbbb) by its lock: " in text
    assert f"    {CHANGED}" in text.splitlines()
    assert all(len(line) < 80 for line in text.splitlines())


def test_what_the_base_has_said_is_no_note_again_unless_it_is_asked_for() -> None:
    found = locked()
    assert draw_notes(found, Style(200)) == ""
    assert NOTE in draw_notes(found, Style(200, verbosity=1))
    found.base = None
    assert NOTE in draw_notes(found, Style(200))


def test_many_changes_are_counted_in_every_view() -> None:
    text = draw_comparison(locked(50), Style(200))
    assert "39 is gone" in text
    assert "40 is gone" not in text
    for told in text, markdown(run(locked(50))), words(locked(50)):
        assert "10 more changes in the JSON report" in told


# a real run


BROKEN = '[tool.bertsize.models.a]\nconfig = "none.json"\nbudget.total = 1\n'


@pytest.mark.parametrize(("option", "red"), [("--color=yes", "\x1b[1;31m"), ("--color=no", "")])
def test_pytests_own_settings_decide_how_it_is_drawn(project: Project, option: str, red: str) -> None:
    told = project(BROKEN).runpytest("--bert-budget", option).stdout.str()
    assert f"{red}a: pyproject.toml:3: none.json: there is no such file" in told
    assert ("\x1b" in told) is bool(red)


def test_the_encoding_of_the_real_output_decides_which_characters_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = cast("Any", SimpleNamespace(fullwidth=70, hasmarkup=False))
    for encoding, unicode in {"ascii": False, "latin-1": False, "utf-8": True, "nonsense": False}.items():
        monkeypatch.setattr(sys, "__stdout__", SimpleNamespace(encoding=encoding))
        assert terminal_style(screen, 1) == Style(70, unicode=unicode, verbosity=1)


# findings of several models


def test_what_several_models_have_alike_is_told_once_with_their_names() -> None:
    same = finding("there is no a.lock", "write it")
    models = [
        model(component("total", 7), findings=[replace(same, line=line), finding(f"{line} alone")], name=name)
        for line, name in enumerate("abcde", 1)
    ]
    told, rest = take_common(models, Style(120))
    places = "pyproject.toml:1, pyproject.toml:2, pyproject.toml:3 and 2 more"
    assert told.splitlines() == [f"✗ a, b, c, d, e: there is no a.lock ({places})", "  → write it"]
    assert [[each.message for each in found.findings] for found in rest] == [[f"{line} alone"] for line in range(1, 6)]


def test_of_models_that_were_not_counted_notes_alone_are_not_told_unless_detail_is_asked_for() -> None:
    notes = [finding("the same"), finding("a note", severity="note")]
    models = [replace(model(component("total", 0), findings=notes, name=name), components=[]) for name in "ab"]
    assert [each.findings for each in take_common(models, Style(200))[1]] == [[], []]
    assert [len(each.findings) for each in take_common(models, Style(200, verbosity=1))[1]] == [1, 1]


SUM = {"kind": "off-closed-form", "actual": 9, "expected": 7}


@pytest.mark.parametrize(
    ("more", "base", "below"),
    [
        ({"actual": 9, "limit": 7}, False, ["  → write 9 (pyproject.toml:11)"]),
        ({}, False, ["  → write 9 (pyproject.toml:11)"]),
        ({}, True, ["  → write 9 (pyproject.toml:11)"]),
        (SUM, False, ["✗ the total (pyproject.toml:11)", "  → write 9"]),
    ],
    ids=["numbers", "words", "with a base", "a sum"],
)
def test_what_the_headline_names_is_not_said_again(more: dict[str, Any], *, base: bool, below: list[str]) -> None:
    named = replace(finding("the total", "write 9", kind="build-failed"), in_headline=True, **more)
    found = replace(model(component("total", 9), findings=[named, finding("odd")]), headline="a: its line")
    found.base = passing().base if base else None
    lines = draw_failure(found, Style(80)).splitlines()
    assert lines[0] == "a: its line"
    assert lines[-1] == "✗ odd (pyproject.toml:11)"
    told = [line for line in lines[1:-1] if line.startswith(("✗ the", "  →"))]
    assert told == below
