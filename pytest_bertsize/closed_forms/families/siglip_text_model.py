"""The text model of SigLIP (Zhai et al. 2023, arXiv 2303.15343): CLIP's with a head that has a bias."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import linear, of_the_text
from pytest_bertsize.closed_forms.families import clip_text_model as clip
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import Size, Until, hidden_act
from pytest_bertsize.config.older_releases import file_in, without

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def siglip(dims: Dims) -> Block:
    """CLIP's, and D·J + J of a projection, as wide as the layers unless the config says so."""
    width = dims.D if dims.sizes.get("J") is None else dims.J
    return clip.alone(dims, of_the_text(linear("head", dims.D, width, component="head.projection")))


PROJECTION = Size("projection_size", "J", default=None)
SIZES = {
    "vocab_size": 32000,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 64,
}
KEYS = replace(
    clip.KEYS.but(**SIZES),
    sizes=(*(each for each in clip.KEYS.but(**SIZES).sizes if each.symbol != "J"), PROJECTION),
    choices=(hidden_act("gelu_pytorch_tanh"),),
    until=(Until((4, 50), without("projection_size"), file_in("4.50.0", "siglip", "configuration")),),
)

FAMILY = Family("siglip_text_model", KEYS, (Architecture("SiglipTextModel", siglip),))
