"""``bertsize diff``: two configs, component by component and key by key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize

CHINESE = Path(__file__).parents[2] / "examples" / "d-bert-base-chinese" / "config.json"
"""SOURCES D: 102,290,312 in all, 7,087,872 a layer."""
Change = Callable[..., str]
Compare = Callable[..., tuple[list[list[str]], list[str]]]


@pytest.fixture
def changed(tmp_path: Path) -> Change:
    """Write the config with other keys, and return its path."""

    def write(**keys: Any) -> str:
        config = {**json.loads(CHINESE.read_text("utf-8")), **keys}
        (tmp_path / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
        return str(tmp_path / "config.json")

    return write


@pytest.fixture
def compare(changed: Change, bertsize: Bertsize) -> Compare:
    """Return the rows of the table as cells, and the sentences below it, of a config with other keys."""

    def run(**keys: Any) -> tuple[list[list[str]], list[str]]:
        table, mark, notes = bertsize.printed("diff", str(CHINESE), changed(**keys)).partition("\n- ")
        return [line.split() for line in table.splitlines()], f"{mark[1:]}{notes}".splitlines()

    return run


def test_a_thirteenth_layer_is_named_with_what_it_costs(compare: Compare) -> None:
    table, said = compare(num_hidden_layers=13)
    # SOURCES D; 4 bytes a parameter; a layer of D 768, I 3,072 at S = 128: 2·S·(4·D² + 2·I·D) + 4·S²·D
    layer = 2 * 128 * (4 * 768**2 + 2 * 3072 * 768) + 4 * 128**2 * 768
    head = 2 * 128 * (768**2 + 768 * 21_128)
    assert ["embeddings", "16,622,592", "16,622,592", "="] in table
    assert ["encoder", "85,054,464", f"{85_054_464 + 7_087_872:,}", "+7,087,872"] in table
    assert ["total", "102,290,312", f"{102_290_312 + 7_087_872:,}", "+7,087,872"] in table
    assert ["bytes", f"{4 * 102_290_312:,}", f"{4 * 109_378_184:,}", f"+{4 * 7_087_872:,}"] in table
    assert ["FLOPs", f"{12 * layer + head:,}", f"{13 * layer + head:,}", f"+{layer:,}"] in table
    assert said[0].startswith("- num_hidden_layers 12 → 13: +7,087,872 (encoder.feed_forward +4,722,432")
    assert said[-1] == "- net +7,087,872"


def test_a_component_that_only_one_has_is_none_in_the_other(compare: Compare) -> None:
    table, said = compare(architectures=["BertModel"])
    # SOURCES C and D: the pooler is 590,592, the head 613,256
    assert ["pooler", "0", "590,592", "+590,592"] in table
    assert ["head", "613,256", "0", "-613,256"] in table
    assert said[0].startswith("- architecture BertForMaskedLM → BertModel: -22,664 ")
    assert said[-1] == "- net -22,664: 590,592 added, 613,256 removed"


def test_several_keys_are_counted_alone_and_together(compare: Compare) -> None:
    _, said = compare(num_hidden_layers=6, hidden_size=1_536)
    rows = "\n".join(said).replace("\n  ", " ").splitlines()
    *sums, net = (int(re.findall(r" ([+-][\d,]+)", line)[0].replace(",", "")) for line in (*rows[:3], rows[-1]))
    assert rows[2].startswith("- these keys together, beyond each of them alone: ")
    assert sum(sums) == net


def test_the_mistakes_of_both_are_said(changed: Change, bertsize: Bertsize) -> None:
    config = changed(hidden_sise=3)
    first, second = bertsize.refused("diff", "nosuch.json", config).splitlines()
    assert first.startswith("ERROR: nosuch.json: there is no such file; ")
    assert re.fullmatch(rf"ERROR: {re.escape(config)}:\d+: .*hidden_sise.*; write \"hidden_size\"", second)


def test_a_pair_in_markdown_and_json(changed: Change, bertsize: Bertsize) -> None:
    pair = str(CHINESE), changed(num_hidden_layers=13)
    lines = bertsize.printed("diff", *pair, "--format", "md").splitlines()
    assert lines[0] == "| component | A | B | change |"
    assert "| `total` | 102,290,312 | 109,378,184 | +7,087,872 |" in lines
    assert "- net +7,087,872" in lines
    said = bertsize.json("diff", *pair)
    assert [model["total"] for model in said["models"]] == [102_290_312, 109_378_184]
    assert said["components"][-1]["changes"] == [0, 7_087_872]
    assert [each[-1] for each in said["explanations"]] == ["net +7,087,872"]


def test_what_changed_is_bold_and_what_did_not_is_dim(
    changed: Change, bertsize: Bertsize, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = bertsize.printed("diff", str(CHINESE), changed(num_hidden_layers=13))
    rows = {name: re.findall(rf"(\x1b\[\d)?m? *{name} ", out)[0] for name in ("encoder", "attention", "head", "bytes")}
    assert rows == {"encoder": "\x1b[1", "attention": "", "head": "\x1b[2", "bytes": ""}
