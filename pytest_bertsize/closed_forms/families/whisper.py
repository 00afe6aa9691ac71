"""Whisper (Radford et al. 2022, arXiv 2212.04356): a decoder of text that reads an encoder of sound."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, conv1d, embedding, frozen, linear, parameter
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.config.keys import Index, Size, Switch, Until
from pytest_bertsize.config.older_releases import file_in, without_alias

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def convolutions(dims: Dims) -> Block:
    """3·M·D + 3·D² + 2·D: frames of M frequencies become vectors, half as many."""
    return block(
        "",
        conv1d("conv1", dims.M, dims.D, 3),
        conv1d("conv2", dims.D, dims.D, 3),
        component="embeddings.convolution",
    )


def sinusoids(dims: Dims) -> Block:
    """P·D that are stored and not trained."""
    return frozen(embedding("embed_positions", dims.P, dims.D))


def learned_positions(dims: Dims) -> Block:
    """Pd·D."""
    return embedding("embed_positions", dims.Pd, dims.D)


STACKS = bart.Stacks(
    positions=sinusoids,
    norms=("layer_norm",),
    attention=partial(bart.attention, key_bias=False),
    decoder_positions=learned_positions,
)


def encoder(dims: Dims) -> Block:
    """The convolutions, P·D of positions and L·(4·D² + 2·D·I + 8·D + I) + 2·D."""
    return STACKS.stack("encoder", dims, convolutions(dims), dims.L, dims.I)


def both(dims: Dims, name: str = "") -> Block:
    """The encoder, and a decoder with word embeddings."""
    return block(name, encoder(dims), STACKS.decoder(dims))


def projected(body: Block, dims: Dims) -> Block:
    """``proj_out``: nothing where it is tied, else V·D."""
    return block("", body, heads.projection("proj_out", bart.DECODER_WORDS, bias=False)(dims))


def generator(dims: Dims) -> Block:
    """Both stacks and what writes."""
    return projected(both(dims, "model"), dims)


def causal(dims: Dims) -> Block:
    """The decoder alone, which keeps its cross-attention."""
    return projected(block("model", STACKS.decoder(dims)), dims)


def classifier(dims: Dims) -> Block:
    """The encoder, F·D + F and C·F + C; ``use_weighted_layer_sum`` adds L + 1, a weight for each layer."""
    weights = parameter("layer_weights", dims.L + 1, component="head.layer_weights")
    return block(
        "",
        encoder(dims),
        weights if dims.use_weighted_layer_sum else None,
        linear("projector", dims.D, dims.F, component="head.transform"),
        linear("classifier", dims.F, dims.C, component="head.classifier"),
    )


DEFAULTS = {"V": 51865, "D": 384, "L": 4, "A": 6, "I": 1536, "Ld": 4, "Ad": 6, "Id": 1536}

ALIAS = without_alias("encoder_attention_heads", "num_key_value_heads")

KEYS = replace(
    bart.KEYS,
    until=(*bart.KEYS.until, Until((4, 43), ALIAS, file_in("4.43.0", "whisper", "configuration"))),
    indices=(Index("pad_token_id", 50256),),
    sizes=(
        *(
            size._replace(
                default=DEFAULTS[size.symbol],
                aliases=(*size.aliases, "num_key_value_heads") if size.symbol == "A" else size.aliases,
            )
            for size in bart.KEYS.sizes
            if size.symbol in DEFAULTS
        ),
        Size("max_source_positions", "P", default=1500),
        Size("max_target_positions", "Pd", default=448),
        Size("num_mel_bins", "M", default=80),
        Size("classifier_proj_size", "F", default=256),
    ),
    switches=(*bart.KEYS.switches, Switch("use_weighted_layer_sum", default=False)),
    inert=bart.KEYS.inert
    | {"apply_spec_augment", "median_filter_width", "max_initial_timestamp_index", "num_conv_layers"}
    | {f"mask_{what}_{of}" for what in ("time", "feature") for of in ("prob", "length", "min_masks")},
)

FAMILY = Family(
    name="whisper",
    keys=KEYS,
    architectures=(
        Architecture("WhisperModel", both, rules=(*bart.ENCODES, rotary.PADS_WITHIN)),
        Architecture("WhisperForConditionalGeneration", generator, rules=(*bart.ENCODES, rotary.PADS_WITHIN)),
        Architecture("WhisperForCausalLM", causal, rules=(rotary.PADS_WITHIN,)),
        Architecture("WhisperForAudioClassification", classifier, labels=True, rules=bart.ENCODES),
    ),
)
