"""What is put around a model for training: it is looked through, or refused with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from torch import distributed, nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from pytest_bertsize import check_model
from tests.in_hand.conftest import TABLE, Declare, make
from tests.in_hand.test_check_model import fail

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch, about what it wraps
RANKS = 3
"""Of one process each, in which no first dimension of TINY's embeddings divides."""


@pytest.fixture
def group() -> Iterator[None]:
    """Make this process the first of several that there are not."""
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    yield
    distributed.destroy_process_group()


def shard(model: Any) -> Any:
    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in model.bert.encoder.layer:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def compile_a_part(model: Any) -> Any:
    model.bert.encoder = torch.compile(model.bert.encoder, backend="eager")
    return model


def checkpoint_layers(model: Any) -> Any:
    layers = model.bert.encoder.layer
    for index, layer in enumerate(layers):
        layers[index] = checkpoint_wrapper(layer)
    return model


class DeepSpeedEngine(nn.Module):  # type: ignore[misc]
    """As DeepSpeed's: the model is its ``module``."""

    __module__ = "deepspeed.runtime.engine"

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.module = model


TRANSPARENT: dict[str, Callable[[Any], Any]] = {
    "torch.compile": lambda model: torch.compile(model, backend="eager"),
    "compile of a part": compile_a_part,
    "DataParallel": nn.DataParallel,
    "DDP": nn.parallel.DistributedDataParallel,
    "DDP of a compiled model": lambda model: nn.parallel.DistributedDataParallel(torch.compile(model, backend="eager")),
    "FSDP2": shard,
    "activation checkpointing": checkpoint_layers,
    "DeepSpeed": DeepSpeedEngine,
    "half": lambda model: model.half(),
}


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("wrap", TRANSPARENT.values(), ids=TRANSPARENT)
def test_a_wrapper_is_looked_through(declare: Declare, wrap: Callable[[Any], Any]) -> None:
    declare()
    review = check_model(wrap(make()), "encoder")
    assert review.actual is not None
    assert (review.actual["total"], review.actual["encoder"]) == (59_549, 49_896)
    assert check_model(wrap(make())).name == "BertForMaskedLM"
    assert "bert.encoder.layer.3 is new" in fail(wrap(make(num_hidden_layers=4)), "encoder")


@pytest.mark.usefixtures("group")
def test_the_shards_of_fsdp2_count_as_the_whole_while_it_trains(declare: Declare) -> None:
    declare()
    model = shard(make())
    assert model.bert.embeddings.word_embeddings.weight.to_local().shape[0] == 34  # of 101, by three
    ids = torch.ones(1, 4, dtype=torch.long)
    model(input_ids=ids, labels=ids).loss.backward()
    assert check_model(model, "encoder").actual["embeddings.word"] == 101 * 48  # type: ignore[index]


class Beside(nn.DataParallel):  # type: ignore[misc]
    """With parameters of its own, which are trained as well."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.aux = nn.Linear(3, 3)


def shard_as_fsdp_1(model: Any, *, original: bool = True) -> Any:
    return FullyShardedDataParallel(model, use_orig_params=original, device_id=torch.device("cpu"))


def partition(model: Any) -> Any:
    model.bert.embeddings.word_embeddings.weight.ds_id = 0
    return DeepSpeedEngine(model)


def share_layers(model: Any) -> Any:
    model.bert.encoder.layer[1] = model.bert.encoder.layer[0]
    return model


def inject(model: Any) -> Any:
    peft.inject_adapter_in_model(peft.LoraConfig(target_modules=["query"]), model)
    return model


SHARDED = "is sharded by FSDP: its shapes here are a shard's → call check_model before the model is wrapped"
FAILS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "FSDP": (shard_as_fsdp_1, f"the model {SHARDED}"),
    "FSDP of one tensor": (partial(shard_as_fsdp_1, original=False), f"the model {SHARDED}"),
    "ZeRO 3": (partition, "bert.embeddings.word_embeddings.weight is partitioned by DeepSpeed ZeRO-3"),
    "quantised": (
        lambda model: torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8),
        "is quantised: its weights are not parameters",
    ),
    "parameters beside it": (Beside, "aux is new: 12 (weight 3×3, bias 3)"),
    "shared layers": (share_layers, "declare the function that makes this model as factory, with tied = {"),
    "an adapter inside": (inject, "the model has an adapter (Linear) that no table declares"),
}


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize(("change", "says"), FAILS.values(), ids=FAILS)
def test_what_changes_the_model_or_hides_its_shapes_fails(
    declare: Declare, change: Callable[[Any], Any], says: str
) -> None:
    declare()
    assert says in fail(change(make()), "encoder")


def test_ties_that_a_move_has_parted_are_told_as_that(declare: Declare) -> None:
    declare()
    with torch.device("meta"):
        made_there = make()
    assert check_model(made_there, "encoder").verdict == "passed"
    assert "moving the model to the meta device, by .to or by offloading, untied" in fail(make().to("meta"), "encoder")


def test_a_class_of_the_project_that_is_called_like_a_wrapper_is_none(declare: Declare) -> None:
    class DataParallel(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = make()

    declare()
    with pytest.raises(AssertionError, match="DataParallel"):
        check_model(DataParallel(), total="60K")


def test_a_model_that_the_lock_does_not_have_is_not_accepted_by_a_run_alone(declare: Declare) -> None:
    declare(f'[tool.bertsize]\nlock = {{ file = "a.lock", strict = true }}\n{TABLE}')
    Path("a.lock").write_text('lock = 1\n[models.encoder.tensors]\n"a.weight" = [1]\n')
    assert "make the table build it too" in " ".join(fail(make(), "encoder").split())


# adapters

LORA = TABLE.replace("budget", 'adapter = { r = 8, target_modules = ["query", "value"] }\nbudget', 1).replace(
    "60K", "65K"
)


def adapt(rank: int = 8, **how: Any) -> Any:
    return peft.get_peft_model(make(), peft.LoraConfig(r=rank, target_modules=["query", "value"]), **how)


def test_an_adapter_is_held_to_the_one_that_the_table_declares(declare: Declare) -> None:
    declare(LORA)
    review = check_model(adapt(), "encoder", trainable="5K")
    assert review.actual["adapters.lora"] == 3 * 2 * 8 * (48 + 48)  # type: ignore[index]
    assert review.actual["trainable"] == 4_608  # type: ignore[index]
    assert check_model(torch.compile(adapt(), backend="eager"), "encoder").verdict == "passed"
    assert check_model(adapt(mixed=True), "encoder").verdict == "passed"
    assert "8 → 4 in 12 tensors" in fail(adapt(4), "encoder")
    named = adapt(adapter_name="mine")  # by any name, if it is the only one
    assert check_model(named, "encoder").actual["adapters.lora"] == 4_608  # type: ignore[index]
    named.add_adapter("second", named.peft_config["mine"])
    assert "the model has 2 adapters (mine, second)" in fail(named, "encoder")


def test_an_adapter_that_no_table_declares_is_named(declare: Declare) -> None:
    declare()
    for said in (fail(adapt(), "encoder"), fail(adapt())):
        assert "the model has an adapter (LORA) that no table declares" in said
    declare(LORA)
    assert "→ call check_model with what get_peft_model returns" in fail(make(), "encoder")


def test_an_adapter_that_the_projects_code_puts_on_counts_as_it_is_without_a_closed_form(declare: Declare) -> None:
    declare('[tool.bertsize.models.lora]\nfactory = "python train.py"\nclosed_form = false\nbudget.trainable = 4_608\n')
    assert check_model(adapt(), "lora").actual["trainable"] == 4_608  # type: ignore[index]
    assert "trainable 5,184, limit 4,608 (+576)" in fail(adapt(9), "lora")
