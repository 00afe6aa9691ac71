"""BERT for generation (Rothe et al. 2019, arXiv 1907.12461): BERT without token types, as encoder and as decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, parameter
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Ignored

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

WORDS = "bert.embeddings.word_embeddings.weight"


def embeddings(dims: Dims) -> Block:
    """V·D + P·D + 2·D."""
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, dims.D, component="embeddings.word"),
        embedding("position_embeddings", dims.P, dims.D, component="embeddings.position"),
        layer_norm("LayerNorm", dims.D, component="embeddings.norm"),
    )


def bert_generation(dims: Dims, name: str) -> Block:
    """Embeddings and the layers of BERT; no class of the family pools."""
    return block(name, embeddings(dims), bert.encoder(dims))


def encoder(dims: Dims) -> Block:
    """The class without a head."""
    return bert_generation(dims, "")


def lm_head(dims: Dims) -> Block:
    """V of output bias; untied, V·D + V more. There is no transform."""
    return block(
        "lm_head",
        parameter("bias", dims.V, component="head.decoder"),
        heads.decoder(dims, dims.D, WORDS, bias="lm_head.bias"),
    )


def decoder(dims: Dims) -> Block:
    """The class with a head."""
    return block("", bert_generation(dims, "bert"), lm_head(dims))


def _token_types(value: Any, dims: Dims) -> int | None:
    """T·D: what they take in BERT."""
    return int(value * dims.D) if type(value) is int and value > 0 else None


LARGE = bert.KEYS.but(
    vocab_size=50358, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
)
NO_TOKEN_TYPES = Ignored((), because="this family has no token types", cost=_token_types)
KEYS = replace(
    LARGE,
    sizes=tuple(size for size in LARGE.sizes if size.key != "type_vocab_size"),
    ignored={**LARGE.ignored, "type_vocab_size": NO_TOKEN_TYPES},
)

FAMILY = Family(
    name="bert-generation",
    keys=KEYS,
    architectures=(Architecture("BertGenerationEncoder", encoder), Architecture("BertGenerationDecoder", decoder)),
)
