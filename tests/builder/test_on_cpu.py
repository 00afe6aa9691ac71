"""``build``: what one model may take to be built, and the CPU for a class that asks for values."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.inventory import Tensor
from tests.builder.conftest import ask_for_factory, ask_helper

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
    def takes(): held = os.urandom(300_000_000); return nn.Linear(3, 2)
    def holds(): held = os.urandom(120_000_000); return nn.Linear(3, 2)
    """
"""Stochastic depth, as Swin and ConvNeXT have it: a rate for each layer, which a constructor reads from a tensor."""
PATHS = (Tensor("lines.0.weight", (3, 2), ""), Tensor("lines.1.weight", (3, 2), ""), Tensor("lines.1.bias", (3,), ""))
ON_CPU = 'build it with values: build.device = "cpu"'


@pytest.mark.long
def test_what_asks_for_values_is_built_on_the_cpu_within_the_limits_of_its_table(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(textwrap.dedent(ASKS_FOR_VALUES))
    config = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2}
    bert = Request("on meta", "bert", "BertForMaskedLM", config, {}, seq_len=3)
    own = {
        name: ask_for_factory(tmp_path, name, memory=10**9) for name in ("items", "listed", "moved", "takes", "holds")
    }
    on_cpu = {name: each._replace(name=f"{name} there", device="cpu", seconds=60.0) for name, each in own.items()}
    takes = on_cpu["takes"]
    requests = [
        *(own["items"], own["listed"], own["moved"], on_cpu["items"], on_cpu["listed"]),
        *(bert._replace(seconds=60.0), bert._replace(name="there", device="cpu", seconds=60.0)),
        *(takes._replace(memory=100 * 10**6), takes._replace(name="has")),
        own["holds"]._replace(seconds=60.0),
    ]
    found = ask_helper(requests, own_memory=10)
    for name in ("items", "listed", "moved"):
        result = found[name]
        assert isinstance(result, NotBuilt)
        assert (result.kind, result.fix) == ("on-meta", ON_CPU)
    built = {name: each for name, each in found.items() if isinstance(each, Built)}
    assert built["items there"].tensors == built["listed there"].tensors == PATHS
    assert built["there"] == built["on meta"]
    assert built["there"].lost_ties() == []
    assert built["there"].flops
    assert getattr(found["takes there"], "reason", "") == "it took more than 100 MB of memory"
    assert {"has", "holds"} <= {*built}


def test_a_model_may_have_more_time_than_others(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(textwrap.dedent(ASKS_FOR_VALUES))
    asked = ask_for_factory(tmp_path, "items", device="cpu", seconds=60.0)
    assert isinstance(ask_helper([asked], building=0.0)["items"], Built)
