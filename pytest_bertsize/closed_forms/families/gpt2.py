"""GPT-2 (Radford et al. 2019): the decoder of the Transformer (arXiv 1706.03762) with its norms in front.

The paper is not on arXiv. A language model by nature; its other classes read the vector of the last token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, parameter, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def transposed_linear(name: str, inputs: Count, outputs: Count) -> Block:
    """``inputs·outputs`` weights, inputs first, and ``outputs`` biases (the library's ``Conv1D``)."""
    module = block(name, parameter("weight", inputs, outputs), parameter("bias", outputs))
    return module._replace(kind="transposed-linear")


def embeddings(dims: Dims) -> Block:
    """V·D + P·D."""
    return block(
        "",
        embedding("wte", dims.V, dims.D, component="embeddings.word"),
        embedding("wpe", dims.P, dims.D, component="embeddings.position"),
    )


def attention(dims: Dims) -> Block:
    """4·(D² + D), query, key and value in one, whatever the number of heads."""
    D = dims.D
    return block(
        "attn",
        transposed_linear("c_attn", D, 3 * D),
        transposed_linear("c_proj", D, D),
        component="decoder.attention",
    )


def cross_attention(dims: Dims) -> Block:
    """4·(D² + D), key and value in one, and 2·D of norm."""
    D = dims.D
    return block(
        "",
        block(
            "crossattention",
            transposed_linear("c_attn", D, 2 * D),
            transposed_linear("q_attn", D, D),
            transposed_linear("c_proj", D, D),
            component="decoder.cross_attention",
        ),
        layer_norm("ln_cross_attn", D, component="decoder.norm"),
    )


def feed_forward(dims: Dims, inner: Count, function: str = "") -> Block:
    """2·D·inner + inner + D."""
    return block(
        "mlp",
        transposed_linear("c_fc", dims.D, inner),
        activation("act", function),
        transposed_linear("c_proj", inner, dims.D),
        component="decoder.feed_forward",
    )


def decoder(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I), where I is 4·D unless it is said; cross-attention adds L·(4·D² + 6·D)."""
    D = dims.D
    return repeat(
        "h",
        dims.L,
        layer_norm("ln_1", D, component="decoder.norm"),
        attention(dims),
        layer_norm("ln_2", D, component="decoder.norm"),
        cross_attention(dims) if dims.add_cross_attention else None,
        feed_forward(dims, dims.either("I", 4 * D), dims.activation_function),
    )


def gpt2(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """Embeddings, decoder and 2·D of a last norm."""
    return block(name, embeddings(dims), decoder(dims), layer_norm("ln_f", dims.D, component="decoder.norm"))


def choice(dims: Dims) -> Block:
    """``multiple_choice_head``: a summary of one number, a score for each choice, whatever the number of labels."""
    return summary.sequence_summary(dims, "multiple_choice_head", 1)


INERT = summary.INERT | {
    *("attn_pdrop", "embd_pdrop", "is_decoder", "layer_norm_epsilon", "n_ctx", "resid_pdrop"),
    *("n_special", "predict_special_tokens"),
}
"""Also of GPT."""

ATTENTION = frozenset({"reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights"})
"""How attention is computed, from the same matrices."""

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50257),
        Size("n_embd", "D", default=768, aliases=("hidden_size",)),
        Size("n_layer", "L", default=12, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("n_head", "A", default=12, aliases=("num_attention_heads",)),
        Size("n_inner", "I", default=None, minimum=0),
        Size("n_positions", "P", default=1024, aliases=("max_position_embeddings",)),
    ),
    switches=(
        Switch("add_cross_attention", default=False),
        Switch("tie_word_embeddings", default=True),
        *summary.SWITCHES,
    ),
    choices=(hidden_act("gelu_new", "activation_function"), *summary.choices("cls_index")),
    divisible=(("n_embd", "n_head"),),
    ignored={"pruned_heads": PRUNED_HEADS},
    inert=INERT | ATTENTION | {"hidden_dropout"},
)

BODY = Body("transformer", gpt2)
LM_HEAD = heads.projection("lm_head", "transformer.wte.weight", bias=False)

FAMILY = Family(
    name="gpt2",
    keys=KEYS,
    architectures=(
        Architecture("GPT2Model", gpt2),
        Architecture("GPT2LMHeadModel", BODY.under(LM_HEAD)),
        Architecture("GPT2DoubleHeadsModel", BODY.under(LM_HEAD, choice), rules=(summary.NO_ATTENTION,)),
        Architecture("GPT2ForSequenceClassification", BODY.under(heads.score), labels=True),
        Architecture("GPT2ForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("GPT2ForQuestionAnswering", BODY.under(heads.two_label_span)),
    ),
)
