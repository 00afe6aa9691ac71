"""Families: the tensors of their classes, and the keys of their configs.

A family is found by ``model_type``, and its file is loaded when it is needed. No file here imports transformers or
torch: a closed form never looks at the class that it checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import cast

from pytest_bertsize.closed_forms.family import Family

_ENCODERS = (
    *("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "albert", "electra", "mobilebert"),
    *("deberta", "deberta-v2", "modernbert", "mpnet", "ernie", "nomic_bert", "roformer", "convbert", "squeezebert"),
    *("megatron-bert", "rembert", "roberta-prelayernorm", "xlm-roberta-xl", "data2vec-text", "big_bird"),
    *("longformer", "ibert", "nystromformer", "fnet", "funnel", "luke", "layoutlm", "bert-generation", "eurobert"),
    *("gte", "xmod", "splinter", "canine", "roc_bert", "yoso", "mra", "esm", "flaubert", "xlm", "xlnet", "tapas"),
    *("jina_embeddings_v3", "clip_text_model", "siglip_text_model", "layoutlmv3", "lilt", "markuplm"),
)
_DECODERS = (
    *("gpt2", "openai-gpt", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3"),
    *("modernbert-decoder", "opt", "gpt_neox"),
)
_ENCODER_DECODERS = (
    *("bart", "mbart", "marian", "pegasus", "t5", "mt5", "umt5", "m2m_100", "led", "whisper", "encoder-decoder"),
)

_NAMES = (*_ENCODERS, *_DECODERS, *_ENCODER_DECODERS)
"""The names of all families, in their order in messages and in the documentation."""
SHARED_FILES = {
    "bart": ("mbart", "pegasus", "m2m_100", "led", "marian"),
    "bert": ("ernie", "bert-generation", "splinter"),
    "clip_text_model": ("siglip_text_model",),
    "deberta": ("deberta-v2",),
    "gpt2": ("openai-gpt",),
    "llama": ("mistral", "qwen2", "qwen3", "eurobert", "phi3", "gemma", "gemma2", "gemma3_text"),
    "modernbert": ("modernbert-decoder",),
    "nomic_bert": ("gte", "jina_embeddings_v3"),
    "nystromformer": ("yoso", "mra"),
    "roberta": (
        *("xlm-roberta", "camembert", "data2vec-text", "longformer", "ibert"),
        *("roberta-prelayernorm", "xlm-roberta-xl", "megatron-bert"),
    ),
    "t5": ("mt5", "umt5"),
    "xlm": ("flaubert",),
}
"""The families in another family's file, by that file; every other family has a file of its own name."""


class _Families(Mapping[str, Family]):
    """Every family by its ``model_type``; the file of a family is imported when the family is looked up."""

    def __getitem__(self, name: str) -> Family:
        if name not in _NAMES:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES


FAMILIES: Mapping[str, Family] = _Families()


@cache
def _load(name: str) -> Family:
    """Return a family, which is the constant of the same name in the family's file."""
    constant = name.replace("-", "_")
    file = next((file for file, others in SHARED_FILES.items() if name in others), constant)
    return cast("Family", getattr(import_module(f"{__name__}.{file}"), constant.upper()))
