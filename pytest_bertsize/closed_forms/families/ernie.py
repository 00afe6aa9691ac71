"""ERNIE (Sun et al. 2019, arXiv 1904.09223): BERT, since ERNIE 2.0 (arXiv 1907.12412) with an embedding of the task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import embedding
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def ernie(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, and Tt·D for the kinds of task that it is trained on."""
    tasks = embedding("embeddings.task_type_embeddings", dims.Tt, dims.D, component="embeddings.task_type")
    return extended(bert.bert(dims, pooler=pooler, name=name), tasks if dims.use_task_id else None)


KEYS = replace(
    bert.KEYS,
    sizes=(*bert.KEYS.sizes, Size("task_type_vocab_size", "Tt", default=3)),
    switches=(*bert.KEYS.switches, Switch("use_task_id", default=False)),
    inert=frozenset({"enable_recompute", "fuse", "paddlenlp_version", "pool_act", "task_id"}),
)

FAMILY = Family("ernie", KEYS, bert.architectures("Ernie", Body("ernie", ernie)))
