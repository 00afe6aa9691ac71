"""The text model of CLIP (Radford et al. 2021, arXiv 2103.00020): a pre-norm transformer with learned positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, of_the_text, repeat
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts.unused_keys import UNUSED_KEYS
from pytest_bertsize.config.keys import ConfigKeys, Size, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def layers(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I)."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return repeat(
        "encoder.layers",
        dims.L,
        layer_norm("layer_norm1", D, component="encoder.norm"),
        bart.attention("self_attn", dims, "encoder.attention"),
        layer_norm("layer_norm2", D, component="encoder.norm"),
        block(
            "mlp",
            activation("activation_fn", dims.hidden_act),
            linear("fc1", D, I),
            linear("fc2", I, D),
            component="encoder.feed_forward",
        ),
    )


def text(dims: Dims, *heads: Block, name: str = "") -> Block:
    """V·D + P·D, the layers and 2·D of a last norm."""
    return block(
        name,
        embedding("embeddings.token_embedding", dims.V, dims.D, component="embeddings.word"),
        embedding("embeddings.position_embedding", dims.P, dims.D, component="embeddings.position"),
        layers(dims),
        layer_norm("final_layer_norm", dims.D, component="encoder.norm"),
        *heads,
    )


def alone(dims: Dims, *heads: Block) -> Block:
    """The model under no name of its own, as it is since transformers 5.6."""
    return text(dims, *heads, name="text_model" if dims.release < (5, 6) else "")


def projected(dims: Dims) -> Block:
    """D·J more, without a bias."""
    projection = linear("text_projection", dims.D, dims.J, bias=False, component="head.projection")
    return block("", text(dims, name="text_model"), of_the_text(projection))


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=49408),
        Size("hidden_size", "D", default=512),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=8),
        Size("intermediate_size", "I", default=2048),
        Size("max_position_embeddings", "P", default=77),
        Size("projection_dim", "J", default=512),
    ),
    choices=(hidden_act("quick_gelu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=UNUSED_KEYS,
    inert=frozenset({"attention_dropout", "dropout", "initializer_factor", "tie_word_embeddings"}),
)

FAMILY = Family(
    name="clip_text_model",
    keys=KEYS,
    architectures=(
        Architecture("CLIPTextModel", alone),
        Architecture("CLIPTextModelWithProjection", projected),
    ),
)
