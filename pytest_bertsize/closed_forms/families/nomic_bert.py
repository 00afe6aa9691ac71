"""Nomic BERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT with rotary positions, gated and almost without biases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, repeat
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body, pooled
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.closed_forms.parts.variations import changed
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + T·D + 2·D: no table of positions."""
    V, D, T = dims.V, dims.D, dims.T
    return block(
        "embeddings",
        embedding("word_embeddings", V, D, component="embeddings.word"),
        embedding("token_type_embeddings", T, D, component="embeddings.token_type") if dims.known.T > 0 else None,
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def layers(dims: Dims, *, bias: bool) -> Block:
    """L·(4·D·N + 3·D·I + 4·D), where N is the width of all heads.

    :param bias: of attention and of the last matrix: L·(3·N + 2·D) more.
    """
    N = rotary.query_width(dims)
    return repeat(
        "layers",
        dims.L,
        rotary.attention(dims, N, N, bias=bias),
        layer_norm("post_attention_layernorm", dims.D, component="encoder.norm"),
        rotary.gated_mlp(dims, bias=False, last_bias=bias),
        layer_norm("post_mlp_layernorm", dims.D, component="encoder.norm"),
    )


def model(dims: Dims, *, bias: bool, pooler: bool, name: str) -> Block:
    """Embeddings, layers and, with a pooler, D² + D more.

    :param bias: whether layers have the biases that they may have.
    """
    return pooled(dims, embeddings(dims), layers(dims, bias=bias), pooler=pooler, name=name)


def nomic_bert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """V·D + T·D + 2·D + L·(4·D·N + 3·D·I + 4·D)."""
    return model(dims, bias=False, pooler=pooler, name=name)


def masked_lm(dims: Dims) -> Block:
    """BERT's head, but for the name of its norm."""
    head = heads.masked_lm("nomic_bert.embeddings.word_embeddings.weight")
    return changed(head(dims), {"transform.LayerNorm": "layer_norm"})


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30528),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("head_dim", "S", default=None),
        Size("intermediate_size", "I", default=3072),
        Size("type_vocab_size", "T", default=2),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("silu"),),
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
    inert=rotary.INERT,
)


def architectures(prefix: str, body: Body, masked_lm: Head) -> tuple[Architecture, ...]:
    """The classes of a family that is built like Nomic BERT.

    :param prefix: of the classes' names: ``"NomicBert"``.
    """
    return (
        Architecture(f"{prefix}Model", body.alone, options={"add_pooling_layer": False}),
        Architecture(f"{prefix}ForMaskedLM", body.under(masked_lm)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.classifier, pooler=True), labels=True),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
    )


BEFORE_TRANSFORMERS = {
    "activation_function": Ignored(("swiglu",), because="this family has hidden_act"),
    "mlp_fc1_bias": Ignored((False,), because="the matrices of this family have no bias"),
    "mlp_fc2_bias": Ignored((False,), because="the matrices of this family have no bias"),
    "parallel_block": Ignored((False,), because="attention comes before the feed-forward part"),
    "parallel_block_tied_norm": Ignored((False,), because="every layer has two norms"),
    "prenorm": Ignored((False,), because="the norms of this family come last"),
    "qkv_proj_bias": Ignored((False,), because="the matrices of this family have no bias"),
    "rotary_emb_fraction": Ignored((1, 1.0), because="this family has rotary positions only"),
    "use_rms_norm": Ignored((False, None), because="the norms of this family have a bias"),
}
"""What the code on the hub read, which came before the library's, and the values with which it built the same."""

INERT_BEFORE_TRANSFORMERS = frozenset(
    {
        "attn_pdrop",
        "causal",
        "dense_seq_output",
        "embd_pdrop",
        "fused_bias_fc",
        "fused_dropout_add_ln",
        "layer_norm_epsilon",
        "max_trained_positions",
        "n_positions",
        "pad_vocab_size_multiple",
        "reorder_and_upcast_attn",
        "resid_pdrop",
        "rotary_emb_base",
        "rotary_emb_interleaved",
        "rotary_emb_scale_base",
        "rotary_scaling_factor",
        "scale_attn_by_inverse_layer_idx",
        "scale_attn_weights",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
        "use_flash_attn",
        "use_xentropy",
    }
)

FAMILY = Family(
    name="nomic_bert",
    keys=replace(KEYS, ignored={**KEYS.ignored, **BEFORE_TRANSFORMERS}, inert=KEYS.inert | INERT_BEFORE_TRANSFORMERS),
    architectures=architectures("NomicBert", Body("nomic_bert", nomic_bert), masked_lm),
    since=(5, 5),
)
