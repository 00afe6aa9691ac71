"""What a closed form is written with: all that a ``conftest.py`` needs to contribute one is imported from here.

What is inside imports from the modules themselves.
"""

from __future__ import annotations

from pytest_bertsize.closed_forms.blocks import (
    Block,
    Count,
    activation,
    attending,
    block,
    conv1d,
    conv2d,
    each,
    embedding,
    frozen,
    gru,
    layer_norm,
    linear,
    lstm,
    multihead_attention,
    of_each_token,
    of_the_text,
    parameter,
    repeat,
    rms_norm,
    tied,
    transformer_decoder_layer,
    transformer_encoder_layer,
)
from pytest_bertsize.closed_forms.families import FAMILIES
from pytest_bertsize.closed_forms.family import Architecture, ClosedForm, Family
from pytest_bertsize.closed_forms.transformer_blocks import (
    fused_attention,
    gated_feed_forward,
    grouped_query_attention,
)
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.keys import Choice, ConfigKeys, Ignored, Listing, Refused, Rule, Size, Switch

__all__ = [
    "FAMILIES",
    "Architecture",
    "Block",
    "Choice",
    "ClosedForm",
    "ConfigKeys",
    "Count",
    "Dims",
    "Family",
    "Ignored",
    "Listing",
    "Refused",
    "Rule",
    "Size",
    "Switch",
    "activation",
    "attending",
    "block",
    "conv1d",
    "conv2d",
    "each",
    "embedding",
    "frozen",
    "fused_attention",
    "gated_feed_forward",
    "grouped_query_attention",
    "gru",
    "layer_norm",
    "linear",
    "lstm",
    "multihead_attention",
    "of_each_token",
    "of_the_text",
    "parameter",
    "repeat",
    "rms_norm",
    "tied",
    "transformer_decoder_layer",
    "transformer_encoder_layer",
]
