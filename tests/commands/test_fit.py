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
from tests.conftest import BERT_BASE

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
    bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch, network: int, total: str
) -> None:
    """Of 256 numbers, some of the widths have no feed-forward layer in the ratio that is looked at."""
    monkeypatch.setenv("COLUMNS", "60")
    config = {**json.loads(Path(UNCASED).read_text("utf-8")), "intermediate_size": network}
    Path("config.json").write_text(json.dumps(config), encoding="utf-8")
    out = bertsize.printed("fit", "config.json", "--total", total).splitlines()
    totals = [re.search(r"[\d,]+(?= +[\d,]+$)", line)[0] for line in out if re.match(r" +\d+ +\d", line)]  # type: ignore[index]
    pasted = [line.split(maxsplit=1)[1] for line in out if " overrides = {" in line]
    assert len(totals) == len(pasted) > 5
    for counted, line in zip(totals, pasted, strict=True):
        Path("config.json").write_text(json.dumps({**config, **tomllib.loads(line)["overrides"]}), encoding="utf-8")
        assert f"{closed_form('config.json')['total']:,}" == counted


def test_markdown_is_a_table_with_what_to_paste(bertsize: Bertsize) -> None:
    out = bertsize.printed("fit", UNCASED, "--total", "105M", "--format", "md", "--keep", "vocab_size").splitlines()
    assert out[0] == "|  | D | A | I | L | parameters | FLOPs of 128 tokens | to paste |"
    assert out[3].startswith("| 1 | 768 | 12 | 2,816 | 12 | 104,792,634 | ")
    assert out[3].endswith(" | `overrides = { intermediate_size = 2816 }` |")
    assert re.fullmatch(r".*config\.json \(sha256 [0-9a-f]{64}\); pytest-bertsize .*, transformers .*", out[-1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "there is no limit; write --total 110M, for example\n"),
        ("--total 40K", "no shape of the search is within total 40K; write a larger limit\n"),
        (
            "--total 9M --keep vocab_sise",
            "--keep \"vocab_sise\" is not a size of this model; did you mean 'vocab_size'?\n",
        ),
        (
            "--total 9M" + "".join(f" --keep {key}" for key in BERT_BASE if "_" in key and key != "model_type"),
            "BertForMaskedLM has no size that may change; keep fewer keys\n",
        ),
        ("--total 9M --multiple 0", "--multiple is 0; write a number from 1\n"),
    ],
)
def test_what_cannot_be_is_a_sentence(arguments: str, said: str, bertsize: Bertsize) -> None:
    assert bertsize.refused("fit", UNCASED, *arguments.split()).startswith(f"ERROR: {said}")


# a declared model


SMALL = {**BERT_BASE, "architectures": ["BertModel"], "vocab_size": 1000, "hidden_size": 128}
SMALL |= {"num_attention_heads": 2, "num_hidden_layers": 4, "intermediate_size": 512, "max_position_embeddings": 128}
"""4 layers of 198,272, and 128 · (1000 + 128 + 2 + 2) + 128² + 128 beside them: 954,496."""
CONVBERT = {
    **SMALL,
    "model_type": "convbert",
    "architectures": ["ConvBertModel"],
    "embedding_size": 128,
    "head_ratio": 2,
}


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
    declare('overrides = { num_hidden_layers = 5, type_vocab_size = 1 }\nbudget.total = { max = "955K" }')
    first = bertsize.json("fit", "small", "--seq-len", "1")["shapes"][0]
    assert first["overrides"] == {"num_hidden_layers": 4, "type_vocab_size": 1}
    assert first["parameters"] == 954_496 - 128
    out = bertsize.printed("fit", "small").splitlines()
    assert " 1  overrides = { num_hidden_layers = 4, type_vocab_size = 1 }" in out
    assert "shapes within total 955K; " in " ".join(out)


@pytest.mark.parametrize(
    ("table", "config", "said"),
    [
        ('budget.total = "800K"', CONVBERT, ("small: total 911,908, limit 800,000", "→ would fit: ")),
        (
            'adapter = { r = 8, target_modules = ["query", "value"] }\nbudget.trainable = "10K"',
            SMALL,
            ("→ would fit: r 8 → 4, trainable 16,384 → 8,192 (962,688); or ",),
        ),
    ],
    ids=["heads of a ratio", "an adapter"],
)
def test_a_report_of_a_run_says_what_would_fit(table: str, config: dict[str, Any], said: tuple[str, ...]) -> None:
    declare(table, config)
    out = io.StringIO()
    assert check(Path(), None, verbosity=1, out=out) == FOUND
    assert all(each in " ".join(out.getvalue().split()) for each in said)


@pytest.mark.long
@pytest.mark.parametrize(
    "table",
    [
        'adapter = { r = 8, target_modules = ["query", "value"], layers_to_transform = [1, 3] }',
        'adapter = { r = 8, target_modules = ["query"], rank_pattern = { "encoder.layer.2.attention.self.query" = 16 } }',
    ],
    ids=["layers_to_transform", "rank_pattern"],
)
def test_a_shape_of_a_model_with_layers_named_one_by_one_counts_to_what_is_said(bertsize: Bertsize, table: str) -> None:
    for most, is_larger in ((2_000_000, True), (700_000, False)):
        declare(f"{table}\nbudget.total = {most}")
        found = bertsize.json("fit", "small")["shapes"]
        totals = [form.total for form in count_again(f"{table}\nbudget.total = {most}", found)]
        assert totals == [each["parameters"] for each in found]
        assert all((total > 954_496) is is_larger and total <= most for total in totals)
        assert totals
    declare(f"{table}\nbudget.total = 1")
    said = " ".join(bertsize.printed("explain", "small").split())
    assert "L = 4 (num_hidden_layers) is in no formula: the table names single layers" in said


@pytest.mark.long
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
    assert {"- varied: r, target_modules", "- no shape has more parameters than today's, 970,880"} <= {*out}
    assert ("- to paste into adapter_config.json" in out) is is_file
    pasted = [line.split(maxsplit=1)[1] for line in out if re.match(r" \d  \S", line)]
    for row, paste in zip(rows[1:], pasted, strict=True):
        adapter = {**ADAPTER, **json.loads(f"{{{paste}}}")} if is_file else tomllib.loads(paste)["adapter"]
        declare(f'adapter = {inline(adapter)}\nbudget = "report-only"')
        assert f"{closed_form('small').trainable:,}" == row[-2]


@pytest.mark.long
def test_a_limit_on_what_trains_never_makes_a_larger_model(bertsize: Bertsize) -> None:
    table = f"adapter = {inline(ADAPTER)}\nbudget.trainable"
    for most, keep in (("20K", []), ("10K", ["r", "target_modules"])):
        declare(f'{table} = "{most}"')
        found = bertsize.json("fit", "small", *(part for key in keep for part in ("--keep", key)))["shapes"]
        assert all(each["parameters"] <= 954_496 + 16_384 for each in found)
        assert all(each["limited"]["trainable"] <= 20_000 for each in found)
        assert any(each["adapter"] for each in found) is not bool(keep)


@pytest.mark.long
def test_bytes_are_held_as_the_parameters_that_they_let_pass(bertsize: Bertsize) -> None:
    """At four bytes each, 900,000 parameters; sixteen each while AdamW trains them, and four more a tensor."""
    for limit, each in (("bytes", 4), ("training_bytes", 16)):
        declare(f'budget.{limit} = "{each * 900}KB"')
        found = bertsize.json("fit", "small")["shapes"]
        assert 890_000 < max(shape["parameters"] for shape in found) <= 900_000
        assert f"{limit} {each * 900}KB" in " ".join(bertsize.printed("fit", "small").split())


@pytest.mark.parametrize(
    ("size", "varied"),
    [
        ("128", "intermediate_size, num_hidden_layers, vocab_size"),
        ('"hidden_size"', "hidden_size, "),
        ('"hidden_size + 384"', "hidden_size, "),
    ],
)
def test_a_size_that_a_row_of_extra_has_as_a_number_is_not_varied(bertsize: Bertsize, size: str, varied: str) -> None:
    row = f'{{ name = "out", linear = [{size}, 9] }}'
    declare(f'factory = "own:Tagger"\nbackbone = "bert"\nextra = [{row}]\nbudget.total = "800K"')
    out = bertsize.printed("fit", "small", "--multiple", "16")
    assert f"- varied: {varied}" in out
    assert ("a row of extra has the same number" in out) == (size == "128")
