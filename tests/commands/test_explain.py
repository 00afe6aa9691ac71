"""``bertsize explain``: what a count is made of. Figures are those of the source documents (SOURCES)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.formula import Formulas
from pytest_bertsize.commands.explain.command import draw_lines
from pytest_bertsize.commands.explain.tree import Line, list_leaves, list_tree
from pytest_bertsize.inventory import TOTAL
from pytest_bertsize.reports.drawing import Style
from pytest_bertsize.table.settings import find_table
from tests.conftest import BERT_BASE
from tests.support.bert_reviews import BERT
from tests.support.family_configs import PAIRS, sample
from tests.support.formulas import value_of

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize

EXAMPLES = Path(__file__).parents[2] / "examples"
CHINESE = str(EXAMPLES / "d-bert-base-chinese" / "config.json")
"""SOURCES D: BertForMaskedLM, V 21128, D 768, L 12, I 3072, P 512, T 2."""
GOOGLE = str(EXAMPLES / "b-bert-large-chinese")
"""SOURCES B: a folder with a bert_config.json, which says neither model_type nor architectures."""


def cells(text: str) -> list[list[str]]:
    """The lines of the table as their cells; a gap is two spaces or more."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def test_name_formula_numbers_and_count_stand_in_a_row_and_what_is_usually_got_wrong_below(bertsize: Bertsize) -> None:
    out = bertsize.printed("explain", CHINESE)
    rows = cells(out)
    for row in (  # SOURCES D, and A's column "is"
        ["embeddings", "V·D + P·D + T·D + 2·D", "16,622,592"],
        ["word", "V·D", "21128·768", "16,226,304"],
        ["position", "P·D", "512·768", "393,216"],
        ["encoder", "L·(4·D² + 2·I·D + 9·D + I)", "12·7,087,872", "85,054,464"],
        ["attention", "4·D² + 4·D", "2,362,368", "28,348,416"],
        ["head", "D² + V + 3·D", "613,256"],
        ["weights", "tied to embeddings.word", "16,226,304 shared", "0"],
        ["total", "102,290,312"],
    ):
        assert row in rows
    assert out.startswith("BertForMaskedLM  ")
    assert "V=21128 D=768 L=12 A=12 I=3072 P=512 T=2" in " ".join(out.split()), "behind a path of any length"
    assert {
        "- total = V·D + P·D + T·D + 2·D + L·(4·D² + 2·I·D + 9·D + I) + D² + V + 3·D",
        "- A = 12 (num_attention_heads) is in no formula: heads divide D, they do not multiply it",
        "- tied tensors are counted once; with copies the count is 118,537,744",  # DESIGN: a counter that loses the tie
        "- a count is not a size: in float32 the model takes 409,161,248 bytes, 390.2 MiB",  # 4 · 102,290,312
    } <= {*out.splitlines()}
    rows = cells(bertsize.printed("explain", CHINESE, "--tensors"))  # names and shapes of SOURCES D
    assert ["attention.self.query.weight", "D²", "(768, 768)", "589,824", "7,077,888"] in rows
    assert ["intermediate.dense.weight", "I·D", "(3072, 768)", "2,359,296", "28,311,552"] in rows
    assert ["cls.predictions.decoder.weight", "tied to embeddings.word", "(21128, 768)", "0"] in rows
    assert not [row for row in rows if row[0] in {"weights", "biases"}]


@pytest.mark.parametrize("command", [("explain",), ("fit", "--total", "90M")])
def test_a_key_that_is_missing_is_said_below_with_what_to_write(
    command: tuple[str, ...], tmp_path: Path, bertsize: Bertsize
) -> None:
    config = {key: value for key, value in BERT_BASE.items() if key != "type_vocab_size"}
    (tmp_path / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    out = bertsize.printed(*command, str(tmp_path / "config.json"))
    assert out.splitlines()[-1] == '  → write "type_vocab_size": 2'


def test_shared_layers_are_one_layer_that_is_used_many_times(tmp_path: Path, bertsize: Bertsize) -> None:
    # albert-base-v2 as published; 11,683,584 and 89,650,176 are the README's
    config = {**BERT_BASE, "vocab_size": 30000, "embedding_size": 128, "num_hidden_groups": 1, "inner_group_num": 1}
    config |= {"model_type": "albert", "architectures": ["AlbertModel"], "hidden_act": "gelu_new"}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    out = bertsize.printed("explain", str(tmp_path))
    assert ["total", "11,683,584"] in cells(out)
    assert "one layer of 1, used 12 times" in out
    assert "- L = 12 (num_hidden_layers) is in no formula: layers share their weights" in out
    assert "with a copy for each pass the count is 89,650,176" in out


def test_what_does_not_train_is_marked_with_the_number_of_its_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bertsize: Bertsize
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps({**BERT_BASE, "architectures": ["BertModel"]}), encoding="utf-8")
    table = '[tool.bertsize.models.own]\nconfig = "config.json"\nfactory = "m:f"\nbackbone = "b"\nbudget.total = 1\n'
    Path("pyproject.toml").write_text(f'{table}frozen = ["b.encoder.layer[:2]", "b.pooler"]\n')
    rows = cells(bertsize.printed("explain", "own", "--tensors"))
    assert ["attention.self.query.bias", "D", "(768), frozen in 2 of 12", "768", "9,216"] in rows
    assert ["b.pooler.dense.bias", "D", "(768), frozen", "768"] in rows


TREES = (
    "bert",
    "albert",
    "deberta-v2",
    "encoder-decoder",
    "funnel",
    "longformer",
    "mobilebert",
    "modernbert",
    "t5",
    "xlm",
)
"""Families whose trees differ: shared layers, two stacks, blocks of layers, layers of two kinds, projections."""


@pytest.mark.parametrize("family", TREES)
def test_components_sum_to_the_total_by_their_formulas_and_no_number_is_cut_at_80_columns(family: str) -> None:
    for tensors, case in enumerate(sample(family, dict(PAIRS)[family])[:2]):
        form = case.closed_form()
        lines = list_tree(form, FAMILIES[family], tensors=bool(tensors))
        assert sum(line.count for line in lines[:-1] if line.depth == 0) == form.total
        assert lines[-1] == Line(0, TOTAL, count=form.total)
        formulas, sizes, leaves = Formulas(form.dims), form.dims.sizes, list_leaves(form)
        for leaf in leaves:
            assert value_of(formulas.sum_one_copy([leaf.symbolic]).text, sizes) == leaf.owned, leaf
        assert value_of(formulas.sum_all_copies(leaf.symbolic for leaf in leaves).text, sizes) == form.total
    text = draw_lines(lines, Style(80))  # of the second, with its tensors
    assert max(map(cell_len, text.splitlines())) < 80
    rows = [line for line in text.splitlines() if re.search(r"\d$", line)]
    assert [row.split()[-1] for row in rows][-1] == f"{form.total:,}"
    assert {f"{line.count:,}" for line in lines} <= {*text.split()}


# width, colour, encoding


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("arguments", [(), ("--tensors",), ("--names", "bert4keras"), ("--names", "tensorflow")])
def test_every_width_shows_every_count_whole(
    width: int, arguments: tuple[str, ...], bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = bertsize.printed("explain", CHINESE, *arguments)
    # SOURCES D
    assert {"16,622,592", "85,054,464", "613,256", "102,290,312"} <= set(out.split())
    assert max(map(cell_len, out.splitlines())) < width


# which config


CLASSES = ", ".join(each.name for each in BERT.architectures)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (GOOGLE, "has no model_type, as is usual for Google's bert_config.json; write --family bert"),
        (f"{GOOGLE} --family bert", f"names no architecture; write --architecture with one of {CLASSES}"),
        (f"{CHINESE} --architecture BertForMaskedLN", "'bert'; the nearest class is BertForMaskedLM; correct the name"),
        (
            f"{CHINESE} --architecture BertModel --option a=true",
            'argument "a"; write one that it has: add_pooling_layer',
        ),
        (str(EXAMPLES), "the folder holds neither config.json nor bert_config.json; name the file itself"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_write(arguments: str, message: str, bertsize: Bertsize) -> None:
    err = bertsize.refused("explain", *arguments.split())
    assert (err[:7], message in err, err.count("\n")) == ("ERROR: ", True, 1)
    assert ("table" in err, "pyproject" in err) == (False, False)


@pytest.mark.parametrize(
    ("declared", "mistake"),
    [
        (
            "",
            "neither the table nor a config names a model class for m:f; bertsize init m:f --name own --write writes ",
        ),
        (
            "closed_form = false\n",
            "own has no closed form: its table has closed_form = false; run bertsize check, which ",
        ),
    ],
)
def test_a_declared_model_without_a_closed_form_is_sent_to_what_its_table_lacks_or_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bertsize: Bertsize, declared: str, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f'[tool.bertsize.models.own]\nfactory = "m:f"\n{declared}budget.total = 1\n')
    assert bertsize.refused("explain", "own").startswith(f"ERROR: {mistake}")


# names


@pytest.fixture
def declaring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "configs/cls").mkdir(parents=True)
    (tmp_path / "configs/cls/config.json").write_text(Path(CHINESE).read_text("utf-8"))
    table = '[tool.bertsize.models.cls]\nconfig = "configs/cls"\nbudget.total = "110M"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/pyproject.toml").write_text("[tool.ruff]\n")
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def test_the_nearest_table_upwards_is_the_projects_and_one_that_may_be_ours_is_not_passed_over(
    declaring: Path, bertsize: Bertsize
) -> None:
    assert find_table(Path.cwd()) == declaring / "pyproject.toml"
    found = bertsize.json("explain", str(declaring / "configs/cls"))
    (declaring / "src/cls").mkdir()  # of code, and without a config
    assert bertsize.json("explain", "cls")["components"] == found["components"]
    assert found["config"] == str(declaring / "configs/cls/config.json")
    transformer = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (declaring / "configs/cls/modules.json").write_text(json.dumps(transformer))
    assert bertsize.json("explain", str(declaring / "configs/cls"))["total"] != found["total"]
    for below in ("[tool.bertsizes.models.a]\nbudget = 1", "[tool.bert-size.models]\na = {config = 'x'}", "not TOML"):
        (declaring / "src/pyproject.toml").write_text(below)
        assert find_table(Path.cwd()) == declaring / "src/pyproject.toml"


def test_a_name_that_is_none(declaring: Path, bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch) -> None:
    said = bertsize.refused("explain", "clx")
    assert "pyproject.toml declares cls); did you mean 'cls'?" in said
    assert "is not in a git repository" in bertsize.refused("explain", "HEAD:cls")
    (declaring / "pyproject.toml").unlink()
    said = bertsize.refused("explain", "cls")
    assert "declares nothing; run bertsize init, which proposes tables); run hf download cls" in said


def test_the_command_alone_prints_its_help(bertsize: Bertsize) -> None:
    assert "usage: bertsize" in bertsize.printed()


# code that makes the config


@pytest.mark.parametrize(
    ("table", "folder", "here"),
    [
        (None, "src", "."),
        ("[tool.bertsize.models]", "src", "src/acme"),
        ('[tool.pytest.ini_options]\npythonpath = "lib"\n[tool.bertsize]', "lib", "docs"),
        ("[tool.bertsize]", "docs", "docs"),
    ],
)
def test_code_is_imported_from_where_the_gate_imports_it_or_from_here(
    bertsize: Bertsize, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str | None, folder: str, here: str
) -> None:
    package = tmp_path / folder / "acme"
    for each in (package, tmp_path / here):
        each.mkdir(parents=True, exist_ok=True)
    (package / "sizes.py").write_text(f"def cfg():\n    return {json.loads(Path(CHINESE).read_text())!r}\n")
    if table is not None:
        (tmp_path / "pyproject.toml").write_text(table)
    monkeypatch.chdir(tmp_path / here)
    assert bertsize.json("explain", "acme.sizes:cfg")["total"] == 102_290_312
