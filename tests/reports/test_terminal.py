"""The report in the terminal: every number whole at every width, with and without colour, Unicode and CJK."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_bertsize.inventory import Inventory
from pytest_bertsize.reports.rows import share
from pytest_bertsize.reports.shape import FoldedTensor
from pytest_bertsize.reports.terminal import text as terminal
from pytest_bertsize.reports.terminal.text import Style
from tests.support import run_reports
from tests.support.model_reports import component, finding, model
from tests.support.run_reports import failing

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


def test_a_quiet_run_unfolds_nothing() -> None:
    found = model(
        component("embeddings", 7),
        component("embeddings.word", 7),
        component("total", 7, maximum=6),
    )
    told = terminal.failure(found, Style(verbosity=-1))
    assert "1 part that matches its closed form is not shown" in told
    assert told == terminal.failure(found, Style())


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
    told = terminal.failure(found, Style(width, unicode=unicode))
    pasted = told[told.index("extra = [") :].partition(" ]\n\n")[0].rstrip(" ]\n") + " ]"
    assert len(tomli.loads(pasted)["extra"]) == len(rows)
    assert all(any(row in line for line in told.splitlines()) for row in rows if len(row) < width - 10)
    assert "\ue000" not in told


def test_what_shares_no_layer_is_not_unrolled_whatever_ties_it_has() -> None:
    form = run_reports.bert(12, 512, tied=True)
    named_once = Inventory(tuple(each for each in form.inventory.tensors if not each.tied_to))
    told = terminal.breakdown(run_reports.reported(form, named_once), Style(80))
    assert form.stored > form.total == named_once.stored
    assert "written out" not in told
    assert "unrolled" not in told


def test_the_report_at_80_columns() -> None:
    assert terminal.failure(DEMO, Style(80)) == (DATA / "report-80.txt").read_text("utf-8").rstrip("\n")


def test_the_report_at_60_columns_in_ascii() -> None:
    text = terminal.failure(DEMO, Style(60, unicode=False))
    assert text == (DATA / "report-60-ascii.txt").read_text("utf-8").rstrip("\n")
    assert text.isascii()


counts = st.integers(0, 10**13)


@given(
    width=st.integers(60, 200),
    actual=counts,
    expected=counts,
    limit=st.integers(0, 10**18),
    verbosity=st.integers(0, 2),
    unicode=st.booleans(),
    colour=st.booleans(),
)
def test_no_number_is_ever_cut(
    width: int,
    actual: int,
    expected: int,
    limit: int,
    verbosity: int,
    unicode: bool,  # noqa: FBT001
    colour: bool,  # noqa: FBT001
) -> None:
    rows = [
        component("encoder.cross_attention", actual, expected, limit, layers=123),
        component("total", actual, expected, limit),
    ]
    text = terminal.failure(model(*rows), Style(width, colour=colour, unicode=unicode, verbosity=verbosity))
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    table = plain.split("component", 1)[1]
    delta, left = f"{abs(actual - expected):,}", ""
    whole = {f"{actual:,}", f"{expected:,}", f"{limit:,}", delta, "123", *_compact(actual, limit), left}
    whole |= {*NUMBER.findall(share(actual, actual))}
    assert set(NUMBER.findall(table.replace("-v shows", ""))) <= whole
    assert f"{actual:,}" in table
    assert max(cell_len(line) for line in plain.splitlines()) < width


def _compact(actual: int, limit: int) -> set[str]:
    """The numbers of the columns left and used: rounded by design, and never more than four digits."""
    from pytest_bertsize.quantity import compact_left, percent_used

    shown = f"{compact_left(limit - actual)} {percent_used(actual, limit)}"
    return {part for text in NUMBER.findall(shown) for part in (text, *text.split("."))} | set(
        re.findall(r"\d+", shown)
    )


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_columns_are_dropped_whole_and_the_least_important_first(width: int) -> None:
    header = next(line for line in terminal.failure(DEMO, Style(width)).splitlines() if "component" in line)
    shown = [column for column in ("actual", "vs formula", "budget", "left", "used") if column in header]
    assert shown == ["actual", "vs formula", "budget", "left", "used"][: len(shown)]
    assert len(shown) >= 3


def test_colour_adds_nothing_but_colour() -> None:
    coloured = terminal.failure(DEMO, Style(80, colour=True))
    assert "\x1b[1;31m" in coloured
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()]
    assert lines == terminal.failure(DEMO, Style(80)).splitlines()


def test_without_detail_only_what_fails_or_is_limited_is_shown() -> None:
    text = terminal.failure(DEMO, Style(80))
    assert "word" not in text
    assert "(2 parts that match their closed form are not shown: -v shows them)" in text
    assert "word" in terminal.failure(DEMO, Style(80, verbosity=1))


def test_in_colour_the_lines_of_a_run_stand_where_they_stand_without() -> None:
    passed = model(component("total", 7, maximum=8), name="词嵌入模型")
    passed["verdict"] = "passed"
    models = [passed, failing()]
    coloured = terminal.overview(models, Style(80, colour=True)).splitlines()
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == terminal.overview(models, Style(80)).splitlines()
    assert [line.partition("m")[0] for line in coloured if "\x1b" in line] == ["\x1b[1", "\x1b[31"]  # bold, red
    assert coloured[1].startswith("✓  词嵌入模型")


def test_wide_characters_keep_the_columns_straight() -> None:
    rows = terminal.overview([model(*DEMO["components"], name=name) for name in ("词嵌入模型", "encoder")], Style(80))
    positions = [cell_len(line[: line.index("147,554,676")]) for line in rows.splitlines()[1:]]
    assert len(positions) == 2
    assert len(set(positions)) == 1


def test_a_long_name_is_shortened_before_a_number_is() -> None:
    name = "a-very-long-name-of-a-model-that-nobody-can-remember-2"
    text = terminal.overview([model(*DEMO["components"], name=name)], Style(60))
    assert "147,554,676" in text
    assert "110,000,000" in text
    assert max(cell_len(line) for line in text.splitlines()) < 60


@pytest.mark.parametrize("width", [60, 70, 80, 120])
def test_a_long_tensor_name_is_shortened_before_its_shape_is(width: int) -> None:
    tensor = FoldedTensor(
        name="bert.embeddings.position_embeddings.weight",
        component="embeddings",
        shape=[1024, 768],
        layers=12,
        expected=786_432,
        actual=786_432,
        tied_to=None,
        trainable=True,
    )
    text = terminal.failure({**DEMO, "tensors": [tensor]}, Style(width, verbosity=2))
    line = next(line for line in text.splitlines() if "weight" in line)
    assert "weight (1024, 768) ×12 " in line
    assert "786,432" in line
    assert cell_len(line) < width


@pytest.mark.parametrize(("colour", "escapes"), [("yes", True), ("no", False)])
def test_pytests_own_colour_setting_decides(pytester: pytest.Pytester, colour: str, escapes: bool) -> None:  # noqa: FBT001
    pytester.makefile(
        ".toml",
        pyproject='[tool.pytest.ini_options]\n[tool.bertsize.models.a]\nconfig = "none.json"\nbudget.total = 1\n',
    )
    result = pytester.runpytest_subprocess("--bert-budget", f"--color={colour}")
    assert ("\x1b[1;31ma: none.json: there is no such file" in result.stdout.str()) is escapes


def test_no_color_is_honoured_and_ascii_terminals_get_ascii(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makefile(
        ".toml",
        pyproject='[tool.pytest.ini_options]\n[tool.bertsize.models.a]\nconfig = "none.json"\nbudget.total = 1\n',
    )
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = pytester.runpytest_subprocess("--bert-budget")
    assert result.stdout.str().isascii()
    assert "\x1b" not in result.stdout.str()
    assert "\\u" not in result.stdout.str()
    result.stdout.fnmatch_lines(["x there is no such file (none.json)", "  > write the path*"])
