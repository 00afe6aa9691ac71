"""GPT-NeoX (Black et al. 2022, arXiv 2204.06745) and Pythia: rotary positions, one matrix for all of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.transformer_blocks import fused_attention
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def layers(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + I + 5·D); ``attention_bias`` adds 4·D."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return repeat(
        "layers",
        dims.L,
        layer_norm("input_layernorm", D, component="decoder.norm"),
        layer_norm("post_attention_layernorm", D, component="decoder.norm"),
        fused_attention(
            "attention",
            D,
            D,
            D,
            called=("query_key_value", "dense"),
            bias=dims.attention_bias,
            component="decoder.attention",
        ),
        block(
            "mlp",
            linear("dense_h_to_4h", D, I),
            activation("act", dims.hidden_act),
            linear("dense_4h_to_h", I, D),
            component="decoder.feed_forward",
        ),
    )


def gpt_neox(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """V·D, the layers and 2·D of a last norm."""
    return block(
        name,
        embedding("embed_in", dims.V, dims.D, component="embeddings.word"),
        layers(dims),
        layer_norm("final_layer_norm", dims.D, component="decoder.norm"),
    )


def lm_head(dims: Dims) -> Block:
    """V·D unless it is tied, by another name before transformers 5.14."""
    name = "embed_out" if dims.release < (5, 14) else "lm_head"
    return heads.projection(name, "gpt_neox.embed_in.weight", bias=False)(dims)


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50432),
        Size("hidden_size", "D", default=6144),
        Size("num_hidden_layers", "L", default=44, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=64),
        Size("intermediate_size", "I", default=24576),
    ),
    switches=(Switch("attention_bias", default=True), Switch("tie_word_embeddings", default=False)),
    choices=(hidden_act("gelu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=rotary.UNUSED_KEYS,
    inert=rotary.INERT | {"hidden_dropout", "rotary_pct", "rotary_emb_base", "use_parallel_residual"},
)

BODY = Body("gpt_neox", gpt_neox)

FAMILY = Family(
    name="gpt_neox",
    keys=KEYS,
    architectures=(
        Architecture("GPTNeoXModel", gpt_neox),
        Architecture("GPTNeoXForCausalLM", BODY.under(lm_head)),
        Architecture("GPTNeoXForSequenceClassification", BODY.under(heads.score), labels=True),
        Architecture("GPTNeoXForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("GPTNeoXForQuestionAnswering", BODY.under(heads.two_label_span)),
    ),
)
