"""The report as Markdown: what a reviewer reads in a pull request, and that no text of a project takes effect in it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_bertsize.reports.markdown import LONGEST, MARK, code, render_page, table, text
from pytest_bertsize.reports.report import Change
from pytest_bertsize.wording import printable
from tests.support.run_reports import (
    BASE_COMMIT,
    LAYER,
    bert,
    compared,
    failing,
    gone,
    large,
    new,
    not_built,
    passing,
    plain,
    refused,
    renamed,
    reported,
    run,
    without_closed_form,
)

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport, RunBase
    from tests.conftest import Project


def lines_with(part: str, written: str) -> list[str]:
    return [line for line in written.splitlines() if part in line]


def cells(written: str, name: str) -> list[str]:
    """Of the first row of a table that begins with a name."""
    row = next(line for line in written.splitlines() if line.startswith("| ") and name in line.split(" | ")[0])
    return [cell.strip() for cell in row.strip("|").split("|")]


# the run


def test_the_title_has_its_mark_and_the_foot_counts_the_run_with_versions_and_commit() -> None:
    passed, failed = render_page(run(passing(), passing("other"))), render_page(run(passing(), failing()))
    assert (passed.splitlines()[2][:4], failed.splitlines()[2][:4]) == ("## ✓", "## ✗")
    assert passed.splitlines()[-1].startswith("<sub>Model size: 2 configured, 2 checked, 0 failed. ")
    assert "transformers 5.23.0, torch 2.13.0, Python 3.11.2; commit `aaaaaaaa" in passed.splitlines()[-1]
    not_committed = render_page(run(passing(), commit=BASE_COMMIT))
    assert f"; work tree on commit `{BASE_COMMIT}`" in not_committed.splitlines()[-1]


def test_an_incomplete_run_is_said_before_anything_else() -> None:
    written = render_page(run(passing(), configured=3, not_checked=["a", "b"], complete=False))
    assert written.splitlines()[2:6] == [
        "## ✗ INCOMPLETE: 2 of 3 models were not checked; none changed against main",
        "",
        "> [!CAUTION]",
        "> **INCOMPLETE. NOT CHECKED: `a`, `b`**",
    ]
    many = render_page(run(configured=500, not_checked=[f"m{n}" for n in range(500)], complete=False))
    assert "`m19` and 480 more**" in many


def test_models_that_failed_come_first() -> None:
    written = render_page(run(plain(passing("a")), renamed(failing(), "b"), plain(passing("c"))))
    assert [line.split()[2] for line in written.splitlines() if line.startswith("### ")] == ["b", "a:", "c:"]
    assert [line.split()[2] for line in lines_with("BertForMaskedLM |", written)] == ["b", "a", "c"]


def test_several_models_have_an_overview_and_one_has_none() -> None:
    assert cells(render_page(run(plain(passing()), failing())), "✗ encoder")[:6] == [
        "✗ encoder",
        "BertForMaskedLM",
        "147,555,444",
        "+38,041,146",
        "110M",
        "-37,555,444",
    ]
    assert "| model |" not in render_page(run(failing()))


# the base


def test_a_base_that_is_missing_is_said_with_its_problem() -> None:
    base = compared(revision="origin/main", commit=None, problem="git has no such revision")
    said = "> [!WARNING]\n> **Not compared with `origin/main`**: git has no such revision\n"
    assert said in render_page(run(passing(), base=base))


def test_models_that_are_gone_are_named_those_that_fail_the_run_first() -> None:
    written = render_page(run(passing(), base=compared(removed=[gone("old", 1_234, "2K"), gone("lost", failed=True)])))
    assert " Compared with `main` (`bbbbbbbbbbbb`). " in written.splitlines()[-1]
    assert "- ✗ lost (lost.json); if that is meant" in written
    assert "\n- old (old.json, 1,234 parameters under a limit of 2K)\n" in written


def test_what_changed_is_a_sentence_and_a_line_for_each_key() -> None:
    written = render_page(run(failing()))
    assert "Against main (bbbbbbbbbb): 109,514,298 → 147,555,444 (+38,041,146)\n\n- tie" in written
    assert f"- num_hidden_layers 12 → 14: +{2 * LAYER:,} (encoder.feed_forward +" in written
    assert "- in the code, which no key explains: +768 in head.decoder\n- (by 3 builds of today's code)" in written
    assert "Against main (bbbbbbbbbb)\n\n- new: main declares no model fresh" in render_page(run(new()))
    model = passing()
    assert model.base
    model.base.changes = [Change(key="num_attention_heads", before="12", after="6", total=0, components={})]
    assert "no count changed\n\n- num_attention_heads 12 → 6: 0\n" in render_page(run(model))


def test_a_model_that_is_as_it_was_says_so_and_has_no_column_for_it() -> None:
    model = passing()
    model.findings = failing().findings[-2:]  # a warning, without which nothing of it would be shown
    written = render_page(run(model))
    assert "Against main (bbbbbbbbbb): no count changed" in written
    assert "| base |" not in written


# one model


def test_the_table_is_aligned_right_and_has_the_columns_that_say_something() -> None:
    written = render_page(run(failing()))
    assert (
        "| component | closed form | actual | share | off formula | base | change | budget | left |\n"
        "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |\n"
    ) in written
    limited = reported(bert(12, 512, tied=True), total="120M")
    assert "| component | actual | share | budget | left |" in render_page(run(limited))
    assert "| component | actual | share |\n" in render_page(run(reported(bert(12, 512, tied=True))))


def test_a_row_has_what_its_columns_promise() -> None:
    closed_form = 2 * 30_522 + 768 * 768 + 3 * 768 + 30_522 * 768
    assert cells(render_page(run(failing())), "✗ head**") == [
        "**✗ head**",
        f"{closed_form:,}",
        f"**{closed_form + 768:,}**",
        "16.3%",  # of 147,555,444
        "+768",
        "622,650",
        f"+{closed_form + 768 - 622_650:,}",
        "1M",
        f"**-{closed_form + 768 - 1_000_000:,}**",
    ]


def test_of_a_limit_that_was_raised_the_limit_is_what_stands_out() -> None:
    model = failing()
    for row in model.components:
        if row.name == "total":
            row.max, row.limit = 150_000_000, "150M"
    assert cells(render_page(run(model)), "✗ total")[-2:] == ["**150M**", "+2,444,556"]  # 150,000,000 - 147,555,444


def test_a_model_that_passed_folds_its_table_away() -> None:
    written = render_page(run(plain(passing())))
    assert "<details><summary>Components</summary>\n\n| component | actual |" in written
    matches = "Every component is what its closed form says"
    assert matches in written
    model = failing()  # a finding says that it is off, within a component
    for row in model.components:
        row.expected = row.actual
    assert matches not in render_page(run(model))


def test_a_finding_has_its_mark_its_place_and_its_way_out() -> None:
    written = render_page(run(failing()))
    assert "\n- ✗ total is 147,555,444, 37,555,444 over its limit of 110M (`pyproject.toml:11`)<br>→ " in written
    assert "\n- ! pruned_heads changes nothing here (`config.json:4`)\n" in written
    assert "\n- · max_position_embeddings is missing, 1,024 is taken\n" in written


def test_what_would_fit_is_shown_and_what_is_a_detail_is_folded_away() -> None:
    written = render_page(run(failing()))
    assert "**What would fit:**\n\n- num_hidden_layers 14 → 8: 105,027,444 in total\n" in written
    inside = dict(re.findall(r"<details><summary>(.*?)</summary>\n\n(.*?)\n\n</details>", written, re.DOTALL))
    assert [*inside] == ["What the next change would cost", "Layers that differ", "Closed form"]
    cost, layers, formulas = inside.values()
    assert cells(cost, "one more layer") == ["one more layer", "num_hidden_layers 14 → 15", f"+{LAYER:,}"]
    name = "bert.encoder.layer.12-13"
    assert cells(layers, name) == [f"{name} ×2", "", f"{LAYER:,}", f"{LAYER:,}"]
    assert "| encoder.attention | $`L \\cdot (4 \\cdot D^{2} + 4 \\cdot D)`$ |" in formulas
    assert "$`" not in written.replace(formulas, "")


def test_the_change_stands_before_the_table_with_where_the_embeddings_end_and_what_to_write_to_accept_it() -> None:
    written = render_page(run(failing()))
    split = "<sub>Embedding 24,230,400 (16.4%), non-embedding 123,325,044 (83.6%), of it the head 24,094,836 (16.3%). "
    places = [written.index(each) for each in ("Against main", "| component |", split, "to accept it, write")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (not_built(), "BertForMaskedLM cannot be built: no room"),
        (refused(), '- ✗ the key "auto_map" runs code (`config.json:3`)<br>→ remove it'),
        (without_closed_form(), "**held to its budget alone: not compared with a closed form**"),
        (reported(bert(12, 512, tied=True)), "**report-only: held to no limit**"),
    ],
    ids=["not built", "refused", "without a closed form", "report-only"],
)
def test_a_model_that_lacks_something_says_what(model: ModelReport, said: str) -> None:
    written = render_page(run(model))
    assert said in written
    assert "None" not in written


def test_of_a_model_that_was_not_counted_no_count_and_no_comparison_is_told() -> None:
    model = refused()
    model.built, model.base = False, passing().base
    written = render_page(run(model, failed=1, mode="no-build"))
    assert "**not built" not in written
    assert "Against" not in written


def test_a_real_run_is_told(project: Project) -> None:
    pytester = project('[tool.bertsize.models.tiny]\nconfig = "config.json"\nbudget.head = 2_548\n')
    pytester.runpytest("--bert-budget", "--bert-budget-report=size.md")
    written = Path("size.md").read_text("utf-8")
    assert "## ✗ tiny: head 2,549, limit 2,548 (+1)" in written
    assert "- ✗ head is 2,549, 1 over its limit of 2,548 (`pyproject.toml:4`)<br>→ to accept it, write 2_549" in written
    assert cells(written, "✗ head") == ["**✗ head**", "**2,549**", "4.3%", "2,548", "**-1**"]  # of 59,549


# its size


def test_a_page_is_never_longer_than_a_comment_and_says_what_it_leaves_out() -> None:
    written = render_page(run(*(renamed(large(), f"m{n}") for n in range(9)), *(new(f"p{n}") for n in range(500))))
    assert len(written) <= LONGEST < 65_536
    assert re.search(r"\*\*Not shown here: \d+ models and \d+ tables and lists\.\*\*", written)
    assert "| ✗ m8 | BertForMaskedLM |" in written
    assert written.splitlines()[-1].startswith("<sub>Model size: 509 configured, ")


def test_details_go_before_any_model_does_and_later_models_before_earlier_ones() -> None:
    assert "Not shown here" not in render_page(run(failing(), passing()))
    written = render_page(run(*(renamed(failing(), f"m{n}") for n in range(18))))
    assert written.count("\n### ") == 18
    assert 0 < written.count("<summary>Closed form</summary>") < 18
    assert "**Not shown here: " in written
    written = render_page(run(*(renamed(failing(), f"m{n}") for n in range(200))))
    shown = re.findall(r"^### ✗ m(\d+)", written, re.MULTILINE)
    assert shown == [str(n) for n in range(len(shown))]
    assert 10 < len(shown) < 200


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
    "a|b",
    "`rm`",
    "``` x",
    "[x](http://evil)",
    "![x](//evil)",
    "<script>alert(1)</script>",
    "</details>",
    "<!-- x",
    "**b** _i_ ~~s~~",
    "@torvalds",
    "mail@evil.org",
    "#12",
    "GH-12",
    "owner/repo#12",
    "https://evil.org",
    "www.evil.org",
    ":tada:",
    "&lt;b&gt;",
    "$x$ $`x`$",
    "line\n\n# heading\n- item",
    "back\\slash\\",
    "x" * 5_000,
)
READER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


@pytest.mark.parametrize("foreign", HOSTILE)
@pytest.mark.parametrize("write", [text, code])
def test_a_foreign_text_is_a_text(foreign: str, write: Any) -> None:
    html = READER.renderInline(f"x {write(foreign)} y")
    assert re.sub(r"<!-- -->|</?(?:code|span)>", "", html).count("<") == 0
    for joined in (r"@\w", r"#\d", r"GH-\d", "://", r"www\.", r":\w+:", r"(?<!<span>)\$"):
        assert re.search(joined, re.sub("<code>.*</code>", "", html)) is None


@pytest.mark.parametrize("foreign", HOSTILE)
@pytest.mark.parametrize("write", [text, code])
def test_a_foreign_text_keeps_to_its_cell(foreign: str, write: Any) -> None:
    html = READER.render(table(("one", "two"), [(write(foreign), "2")]))
    assert html.count("<td") == 2
    assert '<td style="text-align:right">2</td>' in html


@given(st.text())
@example("0" * 201)
@example("0" * 1_001)
def test_a_reader_sees_what_was_written(foreign: str) -> None:
    html = READER.renderInline(f"x{text(foreign)}y")
    assert unescape(re.sub("<!-- -->|</?span>", "", html)) == f"x{printable(foreign, 1_000)}y"


@pytest.mark.parametrize("foreign", HOSTILE)
def test_no_text_of_a_project_takes_effect_wherever_it_stands(foreign: str) -> None:
    """Rendered, a hostile report has the elements of a harmless one, and no other."""
    harmless, hostile = (READER.render(render_page(run(_saying(word), base=_base(word)))) for word in ("x", foreign))
    assert _elements(hostile) == _elements(harmless)
    assert render_page(run(_saying(foreign))).count(MARK) == 1


def _saying(word: str) -> ModelReport:
    model = failing()
    model.name, model.headline, model.architecture, model.config = word, f"{word}: {word}", word, word
    for row in model.components[:3]:
        row.name, row.limit, row.formula, row.latex = word, word, word, None
    for finding in model.findings:
        finding.message, finding.fix, finding.file = word, word, word
    assert model.base
    assert model.choices
    model.base.revision, model.base.said, model.base.method = word, [word], word
    model.base.changes[0] = Change(key=word, before=word, after=word, total=1, components={word: 1})
    model.choices.fits[0].change = word
    model.choices.costs[0].what = model.choices.costs[0].change = word
    model.layers[0].name = word
    return model


def _base(word: str) -> RunBase:
    removed = [gone(word, 1, word, config=word, problem=word, reason=word, failed=True), gone(word, reason=word)]
    return compared(revision=word, commit=word, removed=removed)


def _elements(html: str) -> list[str]:
    """Tags in their order; code and spans are ways to write a text, and the empty comment keeps texts apart."""
    return [tag for tag in re.findall(r"<[^>]+>", html) if not re.fullmatch(r"</?(?:code|span)>|<!-- -->", tag)]
