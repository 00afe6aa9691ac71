"""XLNet (Yang et al. 2019, arXiv 1906.08237): an encoder with relative positions, of which no table is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, embedding, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION
from pytest_bertsize.config.keys import ConfigKeys, Rule, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def attention(dims: Dims) -> Block:
    """5·D² for query, key, value, output and relative position, 3·D of biases, 2·D for the same segment and another.

    Heads are kept apart in the shapes, which changes no count. 2·D more of norm.
    """
    D, A, width = dims.D, dims.A, dims.D // dims.A
    return block(
        "rel_attn",
        *(parameter(name, D, A, width) for name in ("q", "k", "v", "o")),
        parameter("r", D, A, width, component="encoder.relative_position"),
        *(parameter(name, A, width, component="encoder.relative_position") for name in ("r_r_bias", "r_w_bias")),
        parameter("r_s_bias", A, width, component="encoder.relative_segment"),
        parameter("seg_embed", 2, A, width, component="encoder.relative_segment"),
        layer_norm("layer_norm", D, component="encoder.norm"),
        component="encoder.attention",
    )


def feed_forward(dims: Dims) -> Block:
    """2·D·I + I + D, and 2·D of norm."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for the inner size)
    return block(
        "ff",
        layer_norm("layer_norm", D, component="encoder.norm"),
        linear("layer_1", D, I),
        linear("layer_2", I, D),
        activation("activation_function", dims.ff_activation),
        component="encoder.feed_forward",
    )


def xlnet(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """V·D, D for the word to be guessed, and L·(5·D² + 2·D·I + 10·D + I)."""
    return block(
        name,
        parameter("mask_emb", 1, 1, dims.D, component="embeddings.mask"),
        embedding("word_embedding", dims.V, dims.D, component="embeddings.word"),
        repeat("layer", dims.L, attention(dims), feed_forward(dims)),
    )


def summary_head(dims: Dims) -> Block:
    return summary.sequence_summary(dims, "sequence_summary", dims.C)


def classifier(dims: Dims) -> Block:
    """``logits_proj``: C·D + C."""
    return linear("logits_proj", dims.D, dims.C, component="head.classifier")


def choice(dims: Dims) -> Block:
    """``logits_proj``: D + 1, a score for each choice."""
    return linear("logits_proj", dims.D, 1, component="head.classifier")


NO_LIMIT = Rule(
    ("max_position_embeddings",),
    lambda values: values["max_position_embeddings"] is None,
    "max_position_embeddings is {max_position_embeddings:,}: XLNet has no limit of length, and refuses the key",
    "remove it",
)
HEAD_WIDTH = Rule(
    ("d_head", "d_model", "n_head"),
    lambda values: values["d_head"] in (None, values["d_model"] // values["n_head"]),
    "d_head is {d_head:,}, and not d_model {d_model:,} by n_head {n_head:,}, which is all that the class takes",
    "remove it",
)

INERT = frozenset(
    {
        *("attn_type", "bi_data", "clamp_len", "mem_len", "reuse_len", "same_length"),
        *("use_mems_eval", "use_mems_train"),
        *("dropatt", "dropout", "end_n_top", "init", "init_range", "init_std", "is_decoder", "start_n_top", "untie_r"),
    }
)

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=32000, aliases=("n_token",)),
        Size("d_model", "D", default=1024),
        Size("n_layer", "L", default=24, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("n_head", "A", default=16),
        Size("d_inner", "I", default=4096),
        Size("d_head", "H", default=None),
        Size("max_position_embeddings", "P", default=None),
    ),
    switches=(
        Switch("tie_word_embeddings", default=True),
        Switch("summary_use_proj", default=True),
        Switch("summary_proj_to_labels", default=False),
    ),
    choices=(
        hidden_act("gelu", "ff_activation"),
        *summary.choices("last", "tanh"),
    ),
    divisible=(("d_model", "n_head"),),
    rules=(NO_LIMIT, HEAD_WIDTH),
    ignored={"add_cross_attention": ADD_CROSS_ATTENTION},
    inert=summary.INERT | INERT,
)

BODY = Body("transformer", xlnet)
LANGUAGE_MODEL = heads.projection("lm_loss", "transformer.word_embedding.weight", bias=True)
NO_ATTENTION = (summary.NO_ATTENTION,)

FAMILY = Family(
    name="xlnet",
    keys=KEYS,
    architectures=(
        Architecture("XLNetModel", xlnet),
        Architecture("XLNetLMHeadModel", BODY.under(LANGUAGE_MODEL)),
        Architecture(
            "XLNetForSequenceClassification", BODY.under(summary_head, classifier), labels=True, rules=NO_ATTENTION
        ),
        Architecture("XLNetForMultipleChoice", BODY.under(summary_head, choice), labels=True, rules=NO_ATTENTION),
        Architecture("XLNetForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("XLNetForQuestionAnsweringSimple", BODY.under(heads.span), labels=True),
        Architecture("XLNetForQuestionAnswering", BODY.under(heads.searched_span(""))),
    ),
)
