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

# The families of each file, the first of which names the file; messages and documentation have this order.
_FILES = (
    # encoders
    "bert ernie bert-generation splinter",
    "roberta xlm-roberta camembert data2vec-text longformer ibert roberta-prelayernorm xlm-roberta-xl megatron-bert",
    *("distilbert", "albert", "electra", "mobilebert", "deberta deberta-v2", "modernbert modernbert-decoder", "mpnet"),
    *("nomic_bert gte jina_embeddings_v3", "roformer", "convbert", "squeezebert", "rembert", "big_bird", "esm"),
    *("nystromformer yoso mra", "fnet", "funnel", "luke", "layoutlm", "layoutlmv3", "lilt", "markuplm", "xmod"),
    *("canine", "roc_bert", "xlm flaubert", "xlnet", "tapas", "clip_text_model siglip_text_model"),
    # decoders
    *("gpt2 openai-gpt", "llama mistral qwen2 qwen3 eurobert gemma gemma2 gemma3_text phi3", "opt", "gpt_neox"),
    # encoder-decoders
    *("bart mbart marian pegasus m2m_100 led", "t5 mt5 umt5", "whisper", "encoder-decoder"),
)
FILE_OF = {name: names.split()[0].replace("-", "_") for names in _FILES for name in names.split()}  # by family


class _Families(Mapping[str, Family]):
    """Every family by its ``model_type``; the file of a family is imported when the family is looked up."""

    def __getitem__(self, name: str) -> Family:
        return _load(name, FILE_OF[name])

    def __iter__(self) -> Iterator[str]:
        return iter(FILE_OF)

    def __len__(self) -> int:
        return len(FILE_OF)

    def __contains__(self, name: object) -> bool:
        return name in FILE_OF


FAMILIES: Mapping[str, Family] = _Families()


@cache
def _load(name: str, file: str) -> Family:
    return cast("Family", getattr(import_module(f"{__name__}.{file}"), name.replace("-", "_").upper()))
