"""GPT (Radford et al. 2018, not on arXiv): GPT-2 without its last norm, the others behind, as in arXiv 1706.03762."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, linear, repeat, tied
from pytest_bertsize.closed_forms.families import gpt2
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts import sequence_summary as summary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_CROSS_ATTENTION, PRUNED_HEADS
from pytest_bertsize.config.keys import Choice, ConfigKeys, Size, Switch
from pytest_bertsize.config.older_releases import V4

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def openai_gpt(dims: Dims, *, pooler: bool = False, name: str = "", word_embeddings: str = "") -> Block:  # noqa: ARG001
    """V·D + P·D + L·(12·D² + 13·D).

    :param pooler: never asked for.
    :param word_embeddings: full name of the matrix that the word embeddings are tied to, if they are.
    """
    V, D, P = dims.V, dims.D, dims.P
    words = embedding("tokens_embed", V, D, component="embeddings.word")
    return block(
        name,
        tied(words, weight=word_embeddings) if word_embeddings else words,
        embedding("positions_embed", P, D, component="embeddings.position"),
        repeat(
            "h",
            dims.L,
            gpt2.attention(dims),
            layer_norm("ln_1", D, component="decoder.norm"),
            gpt2.feed_forward(dims, 4 * D),
            layer_norm("ln_2", D, component="decoder.norm"),
        ),
    )


def double_heads(dims: Dims) -> Block:
    """The one class that ties the other way round: its ``lm_head`` owns the matrix and the embeddings share it.

    As its map of ties says; before https://github.com/huggingface/transformers/pull/42191 there was none.
    """
    if dims.release < V4:
        return block("", openai_gpt(dims, name="transformer"), LM_HEAD(dims), gpt2.choice(dims))
    words = "lm_head.weight" if dims.tie_word_embeddings else ""
    return block(
        "",
        openai_gpt(dims, name="transformer", word_embeddings=words),
        linear("lm_head", dims.D, dims.V, bias=False, component="head.decoder"),
        gpt2.choice(dims),
    )


KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=40478),
        Size("n_embd", "D", default=768, aliases=("hidden_size",)),
        Size("n_layer", "L", default=12, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("n_head", "A", default=12, aliases=("num_attention_heads",)),
        Size("n_positions", "P", default=512, aliases=("max_position_embeddings",)),
    ),
    switches=(Switch("tie_word_embeddings", default=True), *summary.SWITCHES),
    choices=(Choice("afn", "gelu", frozenset({"relu", "silu", "gelu", "swish"})), *summary.choices("cls_index")),
    divisible=(("n_embd", "n_head"),),
    ignored={"add_cross_attention": ADD_CROSS_ATTENTION, "pruned_heads": PRUNED_HEADS},
    inert=gpt2.INERT,
)

BODY = Body("transformer", openai_gpt)
LM_HEAD = heads.projection("lm_head", "transformer.tokens_embed.weight", bias=False)

FAMILY = Family(
    name="openai-gpt",
    keys=KEYS,
    architectures=(
        Architecture("OpenAIGPTModel", openai_gpt),
        Architecture("OpenAIGPTLMHeadModel", BODY.under(LM_HEAD)),
        Architecture("OpenAIGPTDoubleHeadsModel", double_heads, rules=(summary.NO_ATTENTION,)),
        Architecture("OpenAIGPTForSequenceClassification", BODY.under(heads.score), labels=True),
    ),
)
