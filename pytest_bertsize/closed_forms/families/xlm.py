"""XLM (Lample and Conneau 2019, arXiv 1901.07291): BERT's encoder by other names, languages for segments."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, linear, repeat, tied
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Listing, Rule, Size, Switch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

WORD_EMBEDDINGS = "transformer.embeddings.weight"


def embeddings(dims: Dims) -> Block:
    """V·D + P·D + 2·D, and N·D where there are several languages."""
    V, D, P, N = dims.V, dims.D, dims.P, dims.N
    languages = dims.use_lang_emb and dims.known.N > 1
    return block(
        "",
        embedding("position_embeddings", P, D, component="embeddings.position"),
        embedding("lang_embeddings", N, D, component="embeddings.language") if languages else None,
        embedding("embeddings", V, D, component="embeddings.word"),
        layer_norm("layer_norm_emb", D, component="embeddings.norm"),
    )


def encoder(dims: Dims) -> Block:
    """L·(12·D² + 13·D): attention, a feed-forward four times as wide and two norms, each in a list of its own."""
    D, L = dims.D, dims.L
    projections = (linear(name, D, D) for name in ("q_lin", "k_lin", "v_lin", "out_lin"))
    return block(
        "",
        repeat("attentions", L, *projections, component="encoder.attention"),
        repeat("layer_norm1", L, layer_norm("", D), component="encoder.norm"),
        repeat("ffns", L, linear("lin1", D, 4 * D), linear("lin2", 4 * D, D), component="encoder.feed_forward"),
        repeat("layer_norm2", L, layer_norm("", D), component="encoder.norm"),
    )


def xlm(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    return block(name, embeddings(dims), encoder(dims))


def language_model(dims: Dims) -> Block:
    """``pred_layer.proj``: one matrix, or an adaptive softmax, to which a tie adds a matrix that it never reads."""
    if not (dims.asm and dims.asm_cutoffs):
        return heads.projection("pred_layer.proj", WORD_EMBEDDINGS, bias=True)(dims)
    unread = tied(embedding("", dims.V, dims.D), weight=WORD_EMBEDDINGS) if dims.tie_word_embeddings else None
    return block("pred_layer.proj", unread, adaptive_softmax(dims), component="head.decoder")


def adaptive_softmax(dims: Dims) -> Block:
    """(c₁ + k)·(D + 1) for the c₁ most frequent words and k clusters; D/Rⁱ·(D + words) for the i-th cluster.

    Source: Grave et al. 2016, arXiv 1609.04309.
    """
    D, R, cutoffs = dims.D, dims.R, dims.asm_cutoffs
    clusters = (
        block(
            f"tail.{index}",
            linear("0", D, D // R ** (index + 1), bias=False),
            linear("1", D // R ** (index + 1), end - start, bias=False),
        )
        for index, (start, end) in enumerate(pairwise((*cutoffs, dims.V)))
    )
    return block("", linear("head", D, cutoffs[0] + len(cutoffs)), *clusters)


def summary_head(dims: Dims) -> Block:
    return summary.sequence_summary(dims, "sequence_summary", dims.C)


def choice(dims: Dims) -> Block:
    """``logits_proj``: C + 1, a score for each choice from the C numbers of its summary."""
    return linear("logits_proj", dims.C, 1, component="head.classifier")


def _increasing(values: Mapping[str, Any]) -> bool:
    cutoffs = [*values.get("asm_cutoffs", ()), values["vocab_size"]]
    return len(cutoffs) > 1 and all(low < high for low, high in pairwise(cutoffs))


def _narrowest(values: Mapping[str, Any]) -> int:
    """Width of the last and least frequent cluster."""
    width: int = values["emb_dim"] // (values["asm_div_value"] or 1) ** len(values.get("asm_cutoffs", ()))
    return width


ADAPTIVE_SOFTMAX = (
    Rule(
        ("asm_cutoffs", "asm", "vocab_size"),
        lambda values: not values["asm"] or _increasing(values),
        "asm is true, and asm_cutoffs is not a list of ever larger numbers below vocab_size {vocab_size:,}",
        'write them, or "asm": false',
    ),
    Rule(
        ("asm_div_value", "asm"),
        lambda values: not values["asm"] or values["asm_div_value"] is not None,
        "asm is true, and asm_div_value is missing: the class has no default for it",
        'write "asm_div_value": 4, or "asm": false',
    ),
    Rule(
        ("asm_div_value", "asm", "asm_cutoffs", "emb_dim"),
        lambda values: not values["asm"] or _narrowest(values) > 0,
        "asm_div_value {asm_div_value:,} divides emb_dim {emb_dim:,} until no width is left for the last cluster",
        "write a smaller one",
    ),
)

ENCODER = Rule(
    ("is_encoder",),
    lambda values: values["is_encoder"],
    "is_encoder is false, which the class refuses: its decoder was never written",
    'write "is_encoder": true',
)


def _own_matrix(value: Any, dims: Dims) -> int | None:
    return int(dims.V * dims.D) if value is False else None


SHARE_INOUT_EMB = Ignored(
    (True,),
    because="transformers asks tie_word_embeddings",
    cost=_own_matrix,
    fix='write "tie_word_embeddings": false, if that is meant',
)

INERT = summary.INERT | {
    *("attention_dropout", "dropout", "embed_init_std", "gelu_activation", "init_std", "sinusoidal_embeddings"),
    *("bos_index", "eos_index", "mask_index", "mask_token_id", "pad_index", "unk_index"),
    *("causal", "end_n_top", "id2lang", "lang2id", "lang_id", "langs", "same_enc_dec", "start_n_top"),
    *("is_decoder", "max_vocab", "min_count", "n_special"),
}

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=30145, aliases=("n_words",)),
        Size("emb_dim", "D", default=2048, aliases=("hidden_size",)),
        Size("n_layers", "L", default=12, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("n_heads", "A", default=16, aliases=("num_attention_heads",)),
        Size("max_position_embeddings", "P", default=512),
        Size("n_langs", "N", default=1),
        Size("asm_div_value", "R", default=None),
    ),
    switches=(
        Switch("is_encoder", default=True),
        Switch("use_lang_emb", default=True),
        Switch("asm", default=False),
        Switch("tie_word_embeddings", default=True),
        *summary.SWITCHES,
    ),
    choices=summary.choices("first"),
    lists=(Listing("asm_cutoffs", default=(), of=int),),
    divisible=(("emb_dim", "n_heads"),),
    rules=(ENCODER,),
    ignored={
        "add_cross_attention": ADD_CROSS_ATTENTION,
        "pruned_heads": PRUNED_HEADS,
        "share_inout_emb": SHARE_INOUT_EMB,
    },
    inert=INERT,
)


def architectures(prefix: str) -> tuple[Architecture, ...]:
    """The classes of a family that is built like XLM.

    :param prefix: of the classes' names: ``"Flaubert"``.
    """
    body = Body("transformer", xlm)
    no_attention = (summary.NO_ATTENTION,)
    return (
        Architecture(f"{prefix}Model", xlm),
        Architecture(f"{prefix}WithLMHeadModel", body.under(language_model), rules=ADAPTIVE_SOFTMAX),
        Architecture(f"{prefix}ForSequenceClassification", body.under(summary_head), labels=True, rules=no_attention),
        Architecture(f"{prefix}ForMultipleChoice", body.under(summary_head, choice), labels=True, rules=no_attention),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnsweringSimple", body.under(heads.span), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.searched_span("qa_outputs"))),
    )


FAMILY = Family("xlm", KEYS, architectures("XLM"))
