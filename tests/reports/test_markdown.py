"""The report as Markdown: what a reviewer reads in a pull request, and that no text of a project takes effect in it."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from pytest_bertsize.reports.markdown import LONGEST, MARK, code, render_page, table, text
from pytest_bertsize.wording import printable
from tests.support.run_reports import (
    BASE_COMMIT,
    LAYER,
    bert,
    compared,
    failing,
    free_key,
    gone,
    large,
    new,
    passing,
    plain,
    refused,
    renamed,
    reported,
    run,
    saying,
    without_closed_form,
)

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunReport


def cells(written: str, name: str) -> list[str]:
    """Cells of the first row of a table that begins with a name."""
    row = next(line for line in written.splitlines() if line.startswith("| ") and name in line.split(" | ")[0])
    return [cell.strip() for cell in row.strip("|").split("|")]


# what it says


def warned() -> ModelReport:
    model = passing()
    model.findings = failing().findings[-2:]  # a warning, without which nothing of it would be shown
    return model


UNREAD = compared(revision="origin/main", commit=None, problem="git has no such revision")
LEFT = compared(removed=[gone("old", 1_234, "2K"), gone("lost", failed=True)])
LOST = run(passing(), configured=3, not_checked=["a", "b"], complete=False)
OF_FAILING = [
    "Against main (bbbbbbbbbb): 109,514,298 → 147,555,444 (+38,041,146)\n\n- tie",
    "- the code, or a file that it reads: +768 in head.decoder\n- (by 3 builds of today's code)",
    "\n- ❌ total is 147,555,444, 37,555,444 over its limit of 110M (`pyproject.toml:11`)<br>→ ",
    "\n- ⚠️ pruned_heads changes nothing here (`config.json:4`)\n",
    "\n- max_position_embeddings is missing, 1,024 is taken\n",
    "**Would fit:**\n\n- num_hidden_layers 14 → 8 (105,027,444)\n\n**The next change:**\n\n- one more layer (",
]
WARNING = "\n- ⚠️ not compared with origin/main: git has no such revision\n"
OVERVIEW = "\n- ❌ removed: main declares lost (lost.json), and this table does not; if you meant to"


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (run(passing(), passing("other")), ["-->\n\n## ✅ ", "\n<sub>2 configured, 2 checked, 0 failed; compared"]),
        (run(passing()), ["transformers 5.23.0, torch 2.13.0, python 3.11.2; commit aaaaaaaa"]),
        (run(passing(), commit=BASE_COMMIT), [f"; work tree on commit {BASE_COMMIT}</sub>"]),
        (LOST, ["-->\n\n## ❌ INCOMPLETE: 2 of 3 models were"]),
        (LOST, ["\n\nnone changed since main\n\n> [!CAUTION]\n> **NOT CHECKED: a, b; this report"]),
        (run(configured=500, not_checked=[f"m{n}" for n in range(500)], complete=False), ["m19 and 480 more; "]),
        (run(passing(), base=UNREAD), [WARNING]),
        (
            run(passing(), base=LEFT),
            ["; compared with main (bbbbbbbbbb); ", OVERVIEW, "\n- removed: main declares old (old.json, 1,234"],
        ),
        (run(failing()), OF_FAILING),
        (run(free_key()), ["no count changed\n\n- num_attention_heads 12 → 6: 0\n"]),
        (run(plain(passing())), ["<details><summary>Components</summary>\n\n| component | actual |"]),
        (run(plain(passing())), ["| encoder ×12 | 85,054,464 | 77.7% | = |"]),
        (run(refused()), ['- ❌ the key "auto_map" runs code (`config.json:3`)<br>→ remove it']),
        (run(without_closed_form()), ["; compared with its budget alone, not with a closed form\n"]),
        (run(reported(bert(12, 512, tied=True))), ["; report-only: compared with no limit\n"]),
    ],
)
def test_a_report_has_what_is_known(report: RunReport, said: list[str]) -> None:
    written = render_page(report)
    assert [each for each in said if each not in written] == []
    assert "None" not in written


@pytest.mark.parametrize(
    ("report", "unsaid"),
    [
        (run(failing()), "[|] model [|]"),
        (run(warned()), "[|] base [|]|Against"),
        (run(replace(refused(), built=False, base=passing().base), mode="no-build"), "not built|Against"),
    ],
    ids=["overview", "unchanged", "not counted"],
)
def test_a_report_has_nothing_of_what_there_is_not(report: RunReport, unsaid: str) -> None:
    assert not re.search(unsaid, render_page(report))


def test_several_models_have_an_overview_and_those_that_failed_come_first() -> None:
    written = render_page(run(plain(passing("a")), renamed(failing(), "b"), plain(passing("c"))))
    assert [line.split()[2] for line in written.splitlines() if line.startswith("### ")] == ["b:", "a:", "c:"]
    assert [line.split()[2] for line in written.splitlines() if "BertForMaskedLM |" in line] == ["b", "a", "c"]
    row = ["❌ b", "BertForMaskedLM", "147,555,444", "+38,041,146", "110M", "-37.5M"]
    assert cells(written, "❌ b") == row
    without_total = renamed(reported(bert(12, 512, tied=True), embeddings="24M"), "d")
    assert cells(render_page(run(without_total, failing())), "✅ d")[-2:] == ["embeddings 24M", "+162K"]


def test_the_table_has_the_columns_that_say_something_and_a_row_has_what_they_promise() -> None:
    written = render_page(run(failing()))
    columns = ["component", "actual", "share", "vs formula", "vs base", "budget", "left", "used"]
    assert cells(written, "component") == columns
    limited = render_page(run(reported(bert(12, 512, tied=True), total="120M")))
    assert cells(limited, "component") == [each for each in columns if each != "vs base"]
    assert cells(render_page(run(reported(bert(12, 512, tied=True)))), "component") == columns[:4]
    count = 2 * 30_522 + 768 * 768 + 3 * 768 + 30_522 * 768 + 768
    assert cells(written, "❌ **head**") == [
        *("❌ **head**", f"{count:,}", "16.3%", "**+768**"),  # of 147,555,444
        *(f"+{count - 622_650:,}", "1M", "**-23M**", r"**\>9x**"),
    ]


def test_of_a_limit_that_was_raised_the_limit_is_what_stands_out() -> None:
    model = failing()
    for row in model.components:
        if row.name == "total":
            row.max, row.limit, row.expected = 150_000_000, "150M", row.actual
    assert cells(render_page(run(model)), "❌ **total**")[-3:] == ["**150M**", "+2.4M", "98%"]  # 2,444,556


def test_what_is_a_detail_is_folded_away() -> None:
    written = render_page(run(failing()))
    inside = dict(re.findall(r"<details><summary>(.*?)</summary>\n\n(.*?)\n\n</details>", written, re.DOTALL))
    assert [*inside] == ["Layers that differ", "Closed form"]
    layers, formulas = inside.values()
    assert cells(layers, "bert.encoder") == ["bert.encoder.layer.12-13 ×2, each", "none", f"{LAYER:,}", f"{LAYER:,}"]
    assert cells(layers, "… attention") == ["… attention.part0.weight", "none", "768×768", "768×768"]
    assert "| encoder.attention | $`L \\cdot (4 \\cdot D^{2} + 4 \\cdot D)`$ |" in formulas
    assert "$`" not in written.replace(formulas, "")


def test_what_is_found_stands_before_what_changed_and_that_before_the_table_with_where_the_embeddings_end() -> None:
    written = render_page(run(failing()))
    split = "- embedding 24,230,400 (16.4%), non-embedding 123,325,044 (83.6%), of it the head 24,094,836 (16.3%)\n"
    places = [written.index(each) for each in ("to accept it, write", "Against main", "| component |", split)]
    assert places == sorted(places)


# its size


@pytest.mark.long
def test_a_page_is_never_longer_than_a_comment_and_says_what_it_leaves_out() -> None:
    huge, fresh = large(), new()
    written = render_page(
        run(*(renamed(huge, f"m{n}") for n in range(9)), *(renamed(fresh, f"p{n}") for n in range(500)))
    )
    assert len(written) <= LONGEST < 65_536
    assert re.search(r"\*\*Not shown here: \d+ models and all details\.\*\*", written)
    assert "| ❌ m8 | BertForMaskedLM |" in written
    assert written.splitlines()[-1].startswith("<sub>509 configured, ")


def test_details_go_before_any_model_does_and_then_half_of_the_models_from_the_end() -> None:
    one = failing()
    assert "Not shown here" not in render_page(run(one, passing()))
    written = render_page(run(*(renamed(one, f"m{n}") for n in range(18))))
    assert (written.count("\n### "), written.count("<details>")) == (18, 0)
    assert "**Not shown here: all details.** " in written
    written = render_page(run(*(renamed(one, f"m{n}") for n in range(200))))
    shown = re.findall(r"^### ❌ m(\d+)", written, re.MULTILINE)
    assert shown == [str(n) for n in range(len(shown))]
    assert len(shown) in {12, 25}
    assert f"**Not shown here: {200 - len(shown)} models and all details.** " in written


@settings(max_examples=20)
@given(st.lists(st.sampled_from([large(40, 40), failing(), passing(), refused()]), max_size=40))
def test_no_table_and_no_detail_is_ever_cut(models: list[ModelReport]) -> None:
    written = render_page(run(*models))
    assert len(written) <= LONGEST
    assert written.count("<details>") == written.count("</details>")
    for block in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        rows = block.splitlines()
        assert len(rows) > 2
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {rows[0].count("|")}


# foreign text

HOSTILE = (
    *("a|b", "`rm`", "``` x", "[x](http://evil)", "![x](//evil)", "<script>alert(1)</script>", "</details>", "<!-- x"),
    *("**b** _i_ ~~s~~", "@torvalds", "mail@evil.org", "#12", "GH-12", "owner/repo#12", "https://evil.org"),
    *("www.evil.org", ":tada:", "&lt;b&gt;", "$x$ $`x`$", "line\n\n# heading\n- item", "back\\slash\\", "x" * 5_000),
)
READER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


@pytest.mark.parametrize("foreign", HOSTILE)
@pytest.mark.parametrize("write", [text, code])
def test_a_foreign_text_is_a_text_and_keeps_to_its_cell(foreign: str, write: Any) -> None:
    html = READER.renderInline(f"x {write(foreign)} y")
    assert re.sub(r"<!-- -->|</?(?:code|span)>", "", html).count("<") == 0
    for joined in (r"@\w", r"#\d", r"GH-\d", "://", r"www\.", r":\w+:", r"(?<!<span>)\$"):
        assert re.search(joined, re.sub("<code>.*</code>", "", html)) is None
    html = READER.render(table(("one", "two"), [(write(foreign), "2")]))
    assert html.count("<td") == 2
    assert '<td style="text-align:right">2</td>' in html


@given(st.text())
@example("0" * 201)
@example("0" * 1_001)
def test_a_reader_sees_what_was_written(foreign: str) -> None:
    html = READER.renderInline(f"x{text(foreign)}y")
    assert unescape(re.sub("<!-- -->|</?span>", "", html)) == f"x{printable(foreign, 1_000)}y"


@cache
def _elements(word: str) -> list[str]:
    """Tags in their order; code and spans are ways to write a text, and the empty comment keeps texts apart."""
    removed = [gone(word, 1, word, config=word, problem=word, reason=word, failed=True), gone(word, reason=word)]
    written = render_page(run(saying(word), base=compared(revision=word, commit=word, removed=removed)))
    assert written.count(MARK) == 1
    tags = re.findall(r"<[^>]+>", READER.render(written))
    return [tag for tag in tags if not re.fullmatch(r"</?(?:code|span)>|<!-- -->", tag)]


@pytest.mark.parametrize("foreign", HOSTILE)
def test_no_text_of_a_project_takes_effect_wherever_it_stands(foreign: str) -> None:
    """Rendered, a hostile report has the elements of a harmless one, and no other."""
    assert _elements(foreign) == _elements("x")
