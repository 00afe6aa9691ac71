"""I-BERT (Kim et al. 2021, arXiv 2101.01321): RoBERTa in integer arithmetic, with the config defaults of BERT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import Block, Kind
from pytest_bertsize.closed_forms.families import bert, roberta
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import Choice
from pytest_bertsize.config.older_releases import unmentioned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.config.dims import Dims

SOURCE = "https://github.com/huggingface/transformers/blob/v5.6.0/src/transformers/models/ibert/configuration_ibert.py"
KEYS = replace(
    bert.ENCODER_KEYS,
    choices=(Choice("hidden_act", "gelu", ("gelu",)),),
    inert=bert.ENCODER_KEYS.inert | {"force_dequant", "quant_mode"},
    until=unmentioned((5, 6), SOURCE),
)
"""The only activation that the class takes is the one that it has integers for."""

_QUANTISED: Mapping[Kind, Kind] = {"linear": "quantised-linear", "embedding": "quantised-embedding"}


def body(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT's body of layers that quantise themselves; the heads are torch's own."""
    return _quantised(bert.encoder_only(dims, pooler=pooler, name=name))


def _quantised(module: Block) -> Block:
    children = tuple(_quantised(child) if isinstance(child, Block) else child for child in module.children)
    kind = module.kind if module.name == "pooler.dense" else _QUANTISED.get(module.kind, module.kind)
    return module._replace(children=children, kind=kind)


FAMILY = Family("ibert", KEYS, roberta.encoders("IBert", Body("ibert", body)))
