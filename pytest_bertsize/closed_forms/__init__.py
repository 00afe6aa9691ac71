"""The registry of closed forms: one file per family, found by ``model_type`` and loaded when it is asked for.

Nothing here imports transformers or torch: a closed form never looks at the class that it checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import cast

from pytest_bertsize.closed_forms.family import Architecture, ClosedForm, Family

__all__ = ["FAMILIES", "Architecture", "ClosedForm", "Family"]

_MODULES = {
    # encoders
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "xlm_roberta",
    "camembert": "camembert",
    "ernie": "ernie",
    "megatron-bert": "megatron_bert",
    "roberta-prelayernorm": "roberta_prelayernorm",
    "xlm-roberta-xl": "xlm_roberta_xl",
    "data2vec-text": "data2vec_text",
    "layoutlm": "layoutlm",
    "splinter": "splinter",
    "bert-generation": "bert_generation",
    "big_bird": "big_bird",
    "roc_bert": "roc_bert",
    "tapas": "tapas",
    "longformer": "longformer",
    "ibert": "ibert",
    "nystromformer": "nystromformer",
    "fnet": "fnet",
    "funnel": "funnel",
    "luke": "luke",
    "xmod": "xmod",
    "canine": "canine",
    "yoso": "yoso",
    "mra": "mra",
    "distilbert": "distilbert",
    "albert": "albert",
    "electra": "electra",
    "mpnet": "mpnet",
    "squeezebert": "squeezebert",
    "rembert": "rembert",
    "convbert": "convbert",
    "mobilebert": "mobilebert",
    "gpt2": "gpt2",
    "openai-gpt": "openai_gpt",
    "xlm": "xlm",
    "flaubert": "flaubert",
    "xlnet": "xlnet",
    "deberta": "deberta",
    "bart": "bart",
    "deberta-v2": "deberta_v2",
    "mbart": "mbart",
    "marian": "marian",
    "pegasus": "pegasus",
    "modernbert": "modernbert",
    "encoder-decoder": "encoder_decoder",
    "t5": "t5",
    "mt5": "mt5",
    "nomic_bert": "nomic_bert",
    "eurobert": "eurobert",
    "gte": "gte",
    "esm": "esm",
    "roformer": "roformer",
}
"""The file of each family, in the order in which messages and the README name them."""


class _Families(Mapping[str, Family]):
    """Every family by its ``model_type``; a family's file is imported when it is looked up."""

    def __getitem__(self, name: str) -> Family:
        return _load(_MODULES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


FAMILIES: Mapping[str, Family] = _Families()


@cache
def _load(module: str) -> Family:
    return cast("Family", import_module(f"{__name__}.{module}").FAMILY)
