"""LED (Beltagy et al. 2020, arXiv 2004.05150, section 7): BART whose encoder attends as Longformer does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, linear
from pytest_bertsize.closed_forms.families import bart, longformer
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def attention(name: str, dims: Dims, component: str) -> Block:
    """7·(D² + D) in the encoder, three of them for tokens that look at all; 4·(D² + D) in the decoder."""
    if component != "encoder.attention":
        return bart.attention(name, dims, component)
    D = dims.D
    return block(
        name,
        block("longformer_self_attn", *(linear(each, D, D) for each in ("query", "key", "value"))),
        longformer.global_attention(dims)._replace(name="longformer_self_attn"),
        linear("output", D, D),
        component=component,
    )


def encoder_positions(dims: Dims) -> Block:
    """P·D."""
    return embedding("embed_positions", dims.P, dims.D)


def decoder_positions(dims: Dims) -> Block:
    """Pd·D."""
    return embedding("embed_positions", dims.Pd, dims.D)


STACKS = bart.Stacks(positions=encoder_positions, attention=attention, decoder_positions=decoder_positions)


def model(dims: Dims) -> Block:
    """Both stacks, and nothing on them."""
    return STACKS.both(dims)


def topped(head: Head) -> Head:
    """The class that puts a head on both stacks."""
    return lambda dims: block("", STACKS.both(dims, "led"), head(dims))


LM_HEAD = heads.projection("lm_head", "led.shared.weight", bias=False)

KEYS = replace(
    bart.KEYS,
    sizes=(
        *(size for size in bart.KEYS.sizes if size.symbol != "P"),
        Size("max_encoder_position_embeddings", "P", default=16384),
        Size("max_decoder_position_embeddings", "Pd", default=1024),
    ),
    inert=bart.KEYS.inert | {"attention_window"},
)

FAMILY = Family(
    name="led",
    keys=KEYS,
    architectures=(
        Architecture("LEDModel", model, rules=bart.ENCODES),
        Architecture("LEDForConditionalGeneration", topped(LM_HEAD), rules=bart.ENCODES),
        Architecture("LEDForQuestionAnswering", topped(heads.two_label_span), rules=bart.ENCODES),
    ),
)
