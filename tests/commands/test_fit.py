"""``bertsize fit``: shapes under a budget, as overrides to paste."""

from __future__ import annotations

import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize import closed_form
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.console import FOUND
from pytest_bertsize.table.toml import inline

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.family import ClosedForm
    from tests.commands.conftest import Bertsize

EXAMPLES = Path(__file__).parents[2] / "examples"
UNCASED = str(EXAMPLES / "c-bert-base-uncased" / "config.json")
"""SOURCES C: 109,514,298 with the head of a masked language model."""


def test_the_nearest_shape_is_the_first_and_today_stands_above_it(bertsize: Bertsize) -> None:
    out = bertsize.printed("fit", UNCASED, "--total", "105M", "--keep", "vocab_size").splitlines()
    start = next(number for number, line in enumerate(out) if line.split()[:2] == ["D", "A"])
    assert out[start].split() == ["D", "A", "I", "L", "parameters", "FLOPs", "of", "128", "tokens"]
    today, first = out[start + 2].split(), out[start + 3].split()
    assert today == ["today", "768", "12", "3,072", "12", "109,514,298", "28,499,116,032"]
    # 12 layers, each 2·768 weights and a bias of 256 columns less (SOURCES C)
    assert first[:6] == ["1", "768", "12", "2,816", "12", f"{109_514_298 - 12 * 256 * (2 * 768 + 1):,}"]


@pytest.mark.parametrize(("network", "total"), [(3072, "60M"), (256, "40M")])
def test_what_is_pasted_is_toml_on_one_line_and_counts_to_what_is_said(
    tmp_path: Path, bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch, network: int, total: str
) -> None:
    """Of 256 numbers, some of the widths have no feed-forward layer in the ratio that is looked at."""
    monkeypatch.setenv("COLUMNS", "60")
    config = {**json.loads(Path(UNCASED).read_text("utf-8")), "intermediate_size": network}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    out = bertsize.printed("fit", str(tmp_path / "config.json"), "--total", total).splitlines()
    totals = [line.split()[5] for line in out if re.match(r" +\d+ +\d", line)]
    pasted = [line.split(maxsplit=1)[1] for line in out if " overrides = {" in line]
    assert len(totals) == len(pasted) == 10
    for counted, line in zip(totals, pasted, strict=True):
        written = {**config, **tomllib.loads(line)["overrides"]}
        (tmp_path / "config.json").write_text(json.dumps(written), encoding="utf-8")
        assert f"{closed_form(tmp_path)['total']:,}" == counted


def test_markdown_is_a_table_with_what_to_paste(bertsize: Bertsize) -> None:
    out = bertsize.printed("fit", UNCASED, "--total", "105M", "--format", "md").splitlines()
    assert out[0] == "|  | D | A | I | L | parameters | FLOPs of 128 tokens | to paste |"
    assert out[3].startswith("| 1 | 768 | 12 | 2,816 | 12 | 104,792,634 | ")
    assert out[3].endswith(" | `overrides = { intermediate_size = 2816 }` |")
    assert re.fullmatch(r".*config\.json \(sha256 [0-9a-f]{64}\); pytest-bertsize .*, transformers .*", out[-1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "ERROR: there is no limit; write --total 110M, for example\n"),
        (
            ["--total", "40K"],
            "ERROR: no shape of the search is within total 40K; write a larger limit or a smaller vocab_size\n",
        ),
        (
            ["--total", "110M", "--keep", "vocab_sise"],
            "ERROR: --keep \"vocab_sise\" is not a size of this model; did you mean 'vocab_size'?\n",
        ),
        (["--total", "110M", "--multiple", "0"], "ERROR: --multiple is 0; write a number from 1\n"),
    ],
)
def test_what_cannot_be_is_a_sentence(arguments: list[str], said: str, bertsize: Bertsize) -> None:
    assert bertsize.refused("fit", UNCASED, *arguments).startswith(said)


# a declared model


CONVBERT = {
    "model_type": "convbert",
    "architectures": ["ConvBertModel"],
    "vocab_size": 1000,
    "embedding_size": 128,
    "hidden_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 4,
    "intermediate_size": 512,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
    "head_ratio": 2,
}
SMALL = {key: each for key, each in CONVBERT.items() if key not in {"embedding_size", "head_ratio"}}
SMALL |= {"model_type": "bert", "architectures": ["BertModel"]}
"""4 layers of 198,272, and 128 · (1000 + 128 + 2 + 2) + 128² + 128 beside them: 954,496."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def declare(table: str, config: Mapping[str, Any] = SMALL) -> None:
    """Write a project whose one model is ``small``."""
    Path("config.json").write_text(json.dumps(config), encoding="utf-8")
    Path("pyproject.toml").write_text(f'[tool.bertsize.models.small]\nconfig = "config.json"\n{table}\n', "utf-8")


def count_again(table: str, found: list[dict[str, Any]]) -> Iterator[ClosedForm]:
    """Count each shape by the table with its overrides."""
    for each in found:
        declare(f"overrides = {inline(each['overrides'])}\n{table}")
        yield closed_form("small")


def test_a_declared_model_is_held_to_its_own_budget_and_keeps_its_overrides(bertsize: Bertsize) -> None:
    overrides = "overrides = { num_hidden_layers = 13, type_vocab_size = 1 }"
    declare(f'{overrides}\nbudget.total = "110M"', json.loads(Path(UNCASED).read_text("utf-8")))
    first = bertsize.json("fit", "small")["shapes"][0]
    assert first["overrides"] == {"num_hidden_layers": 12, "type_vocab_size": 1}
    assert first["parameters"] == 109_514_298 - 768
    out = bertsize.printed("fit", "small").splitlines()
    assert " 1  overrides = { num_hidden_layers = 12, type_vocab_size = 1 }" in out
    assert "shapes within total 110M; " in " ".join(out)


def test_a_run_that_looks_for_shapes_with_such_heads_ends_in_a_report() -> None:
    declare('budget.total = "800K"', CONVBERT)
    out = io.StringIO()
    assert check(Path(), None, verbosity=1, out=out) == FOUND
    said = " ".join(out.getvalue().split())
    assert "small: total 911,908, limit 800,000" in said
    assert "→ would fit: " in said


@pytest.mark.parametrize(
    "table",
    [
        'adapter = { r = 8, target_modules = ["query", "value"], layers_to_transform = [1, 3] }',
        'adapter = { r = 8, target_modules = ["query"], rank_pattern = { "encoder.layer.2.attention.self.query" = 16 } }',
    ],
    ids=["layers_to_transform", "rank_pattern"],
)
def test_layers_that_are_named_one_by_one_stay_as_many(bertsize: Bertsize, table: str) -> None:
    for most, is_larger in ((2_000_000, True), (700_000, False)):
        declare(f"{table}\nbudget.total = {most}")
        found = bertsize.json("fit", "small")["shapes"]
        assert "num_hidden_layers" not in {key for each in found for key in each["overrides"]}
        totals = [form.total for form in count_again(f"{table}\nbudget.total = {most}", found)]
        assert totals == [each["parameters"] for each in found]
        assert all((total > 954_496) is is_larger and total <= most for total in totals) is bool(totals)
    said = " ".join(bertsize.printed("explain", "small").split())
    assert "L = 4 (num_hidden_layers) is in no formula: the table names single layers" in said


def test_what_trains_is_held_where_layers_are_frozen(bertsize: Bertsize) -> None:
    frozen = 'factory = "d:own"\nbackbone = "b"\nfrozen = ["b.encoder.layer[:2]"]\nbudget.total = "900K"\n'
    declare(f'{frozen}budget.trainable = "550K"')  # 954,496 without two layers of 198,272: 557,952
    found = bertsize.json("fit", "small")["shapes"]
    assert found
    assert all(form.trainable <= 550_000 for form in count_again(frozen, found))
    declare(f"{frozen}budget.trainable = {{ exact = 1 }}")
    said = "no shape of the search is within total 900K and trainable =1; write a larger limit"
    assert said in bertsize.refused("fit", "small")


ADAPTER = {"r": 8, "target_modules": ["query", "value"]}
"""On 4 layers of width 128, 2 · 4 · 8 · (128 + 128) = 16,384."""


@pytest.mark.parametrize("is_file", [True, False])
def test_the_rank_and_the_targets_of_an_adapter_vary_first(bertsize: Bertsize, *, is_file: bool) -> None:
    Path("adapter_config.json").write_text(json.dumps(ADAPTER), encoding="utf-8")
    written = '"adapter_config.json"' if is_file else inline(ADAPTER)
    declare(f'adapter = {written}\nbudget.trainable = "10K"')
    out = bertsize.printed("fit", "small").splitlines()
    rows = [line.split() for line in out if re.match(r"today|  +\d  +\d", line)]
    assert rows[0] == ["today", "8", "all", "16,384", f"{954_496 + 16_384:,}"]
    assert rows[1] == ["1", "4", "all", "8,192", f"{954_496 + 8_192:,}"]
    assert rows[2] == ["2", "9", "without", "value", "9,216", f"{954_496 + 9_216:,}"]
    assert "- varied: r, target_modules" in out
    assert ("- to paste into adapter_config.json" in out) is is_file
    pasted = [line.split(maxsplit=1)[1] for line in out if re.match(r" \d  \S", line)]
    for row, paste in zip(rows[1:], pasted, strict=True):
        adapter = {**ADAPTER, **json.loads(f"{{{paste}}}")} if is_file else tomllib.loads(paste)["adapter"]
        declare(f'adapter = {inline(adapter)}\nbudget = "report-only"')
        assert f"{closed_form('small').trainable:,}" == row[-2]


def test_a_limit_on_what_trains_never_makes_a_larger_model(bertsize: Bertsize) -> None:
    table = f"adapter = {inline(ADAPTER)}\nbudget.trainable"
    for most, keep in (("20K", ["r", "target_modules"]), ("20K", []), ("10K", ["r", "target_modules"])):
        declare(f'{table} = "{most}"')
        found = bertsize.json("fit", "small", *(part for key in keep for part in ("--keep", key)))["shapes"]
        assert all(each["parameters"] <= 954_496 + 16_384 for each in found)
        assert all(each["limited"]["trainable"] <= 20_000 for each in found)
        assert any(each["adapter"] for each in found) is not bool(keep)


def test_a_report_says_which_rank_would_fit() -> None:
    declare(f'adapter = {inline(ADAPTER)}\nbudget.trainable = "10K"')
    out = io.StringIO()
    assert check(Path(), None, verbosity=1, out=out) == FOUND
    assert "→ would fit: r 8 → 4, trainable 16,384 → 8,192 (962,688); or " in " ".join(out.getvalue().split())


def test_bytes_are_held_as_the_parameters_that_they_let_pass(bertsize: Bertsize) -> None:
    """At four bytes each, 900,000 parameters; sixteen each while AdamW trains them, and four more a tensor."""
    for limit, each in (("bytes", 4), ("training_bytes", 16)):
        declare(f'budget.{limit} = "{each * 900}KB"')
        found = bertsize.json("fit", "small")["shapes"]
        assert 890_000 < max(shape["parameters"] for shape in found) <= 900_000
        assert f"{limit} {each * 900}KB" in " ".join(bertsize.printed("fit", "small").split())


def test_a_size_that_a_row_of_extra_has_as_a_number_is_not_varied(
    tmp_path: Path, bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(Path(UNCASED).read_text("utf-8"), encoding="utf-8")
    by_size = {
        "768": ("intermediate_size, num_hidden_layers, vocab_size", "numbers in extra stay as written: 9"),
        '"hidden_size"': ("hidden_size, ", "numbers in extra stay as written: 9"),
        '"hidden_size + 384"': ("hidden_size, ", "numbers in extra stay as written: 9, 384"),
    }
    for size, (varied, kept) in by_size.items():
        Path("pyproject.toml").write_text(f"""
[tool.bertsize.models.tagger]
factory = "own:Tagger"
config = "config.json"
backbone = "bert"
extra = [{{ name = "out", linear = [{size}, 9] }}]
budget.total = "90M"
""")
        out = bertsize.printed("fit", "tagger")
        assert f"- varied: {varied}" in out
        assert ("- not varied: hidden_size 768: a row of extra has the same number" in out) == (size == "768")
        assert f"- {kept}\n" in out
