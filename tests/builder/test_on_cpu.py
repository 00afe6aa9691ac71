"""``build``: what one model may take to be built, and the CPU for a class that asks for values."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.messages import Built, NotBuilt, Request, Why
from pytest_bertsize.inventory import Tensor
from tests.builder.conftest import ask_for_factory, ask_helper

if TYPE_CHECKING:
    from tests.conftest import Project

ASKS_FOR_VALUES = """
    import os
    import torch
    from torch import nn

    class Paths(nn.Module):
        def __init__(self, rates):
            super().__init__()
            self.lines = nn.ModuleList(nn.Linear(2, 3, bias=rate > 0) for rate in rates)

    def items(): return Paths([rate.item() for rate in torch.linspace(0, 0.1, 2)])
    def listed(): return Paths(torch.linspace(0, 0.1, 2).tolist())
    def moved():
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
            "torch.nn.Module.to() when moving module from meta to a different device."
        )
    def random(): return nn.Linear(1 + int(torch.randint(1000, ()).item()), 1)
    def takes(): held = os.urandom(300_000_000); return nn.Linear(3, 2)
    def holds(): held = os.urandom(120_000_000); return nn.Linear(3, 2)
    """
"""Stochastic depth, as Swin and ConvNeXT have it: a rate for each layer, which a constructor reads from a tensor."""
PATHS = (
    Tensor("lines.0.weight", (3, 2), ""),
    Tensor("lines.1.weight", (3, 2), ""),
    Tensor("lines.1.bias", (3,), ""),
)
ON_CPU = 'build it with values: build.device = "cpu"'


def built(folder: Path, *functions: str, limits: Mapping[str, Any] = {}, **how: Any) -> list[Built | NotBuilt]:
    (folder / "own.py").write_text(textwrap.dedent(ASKS_FOR_VALUES))
    return [*ask_helper([ask_for_factory(folder, name, **how) for name in functions], **limits).values()]


def test_a_class_that_asks_for_values_is_told_where_there_are_some(tmp_path: Path) -> None:
    for result in built(tmp_path, "items", "listed", "moved"):
        assert isinstance(result, NotBuilt)
        assert result.kind is Why.ON_META
        assert "meta" in result.reason


def test_on_the_cpu_it_is_built_and_counted(tmp_path: Path) -> None:
    for result in built(tmp_path, "items", "listed", device="cpu"):
        assert isinstance(result, Built)
        assert result.tensors == PATHS


def test_a_class_of_the_library_is_built_there_with_its_ties_and_its_operations(tmp_path: Path) -> None:
    config = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2}
    request = Request("meta", "bert", "BertForMaskedLM", config, {}, seq_len=3)
    meta, cpu = ask_helper([request, request._replace(name="cpu", device="cpu")]).values()
    assert isinstance(cpu, Built)
    assert cpu == meta
    assert cpu.lost_ties() == []
    assert cpu.flops


def test_memory_is_watched_there_and_as_much_as_the_table_allows_is_had(tmp_path: Path) -> None:
    mega = 10**6
    assert built(tmp_path, "takes", device="cpu", memory=100 * mega) == [NotBuilt(Why.MEMORY, limit=100)]
    assert isinstance(built(tmp_path, "takes", device="cpu", memory=900 * mega)[0], Built)
    assert isinstance(built(tmp_path, "holds", limits={"own_memory": 10}, memory=900 * mega)[0], Built)


def test_a_model_may_have_more_time_than_others(tmp_path: Path) -> None:
    (found,) = built(tmp_path, "items", device="cpu", limits={"building": 0.0}, seconds=60.0)
    assert isinstance(found, Built)


def test_a_table_says_it_for_one_model(project: Project) -> None:
    table = """
    [tool.bertsize.models.fails]
    factory = "own:items"
    closed_form = false
    budget = "report-only"
    [tool.bertsize.models.passes]
    factory = "own:items"
    closed_form = false
    budget.total = {exact = 15}
    build = {device = "cpu", seconds = 60, memory = "1GB"}
    """
    result = project(table, own=ASKS_FOR_VALUES).runpytest("--bert-budget")
    result.assert_outcomes(passed=1, failed=1)
    assert f"; {ON_CPU}" in " ".join(result.stdout.str().split())
