"""BART (Lewis et al. 2019, arXiv 1910.13461): an encoder and a decoder that share their word embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from pytest_bertsize.closed_forms.blocks import (
    activation,
    attending,
    block,
    embedding,
    layer_norm,
    linear,
    repeat,
    tied,
)
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Size, Switch, Until, hidden_act, multiple
from pytest_bertsize.config.older_releases import V4, without_alias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.closed_forms.parts.body import Head
    from pytest_bertsize.config.dims import Dims


def words(name: str, dims: Dims, rows: Count, shared: str = "") -> Block:
    """V·D, or nothing where they are tied: in transformers 4 whatever the config says.

    https://github.com/huggingface/transformers/pull/42191 made the stacks' embeddings their own.

    :param shared: full name of the matrix that they are tied to, if the config ties.
    """
    module = embedding(name, rows, dims.D, component="embeddings.word")
    return tied(module, weight=shared) if shared and (dims.tie_word_embeddings or dims.release < V4) else module


def learned_positions(dims: Dims) -> Block:
    """(P + 2)·D: the first two rows are never used (fairseq's offset)."""
    return embedding("embed_positions", dims.P + 2, dims.D)


def attention(name: str, dims: Dims, component: str, *, bias: bool = True, key_bias: bool = True) -> Block:
    """4·(D² + D), whatever the number of heads; without a bias of keys, D fewer."""
    D = dims.D
    parts = (linear(f"{each}_proj", D, D, bias=bias and (key_bias or each != "k")) for each in ("k", "v", "q", "out"))
    return attending(block(name, *parts, component=component), 2 * D)


Attention: TypeAlias = "Callable[[str, Dims, str], Block]"
"""The blocks of a module by its name, the sizes and its component."""


def layers(stack: str, count: Count, inner: Count, dims: Dims, attention: Attention = attention) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I); cross-attention, which every decoder has, adds L·(4·D² + 6·D).

    :param stack: ``"encoder"`` or ``"decoder"``.
    """
    D, norm, feed_forward = dims.D, f"{stack}.norm", f"{stack}.feed_forward"
    crosses = stack == "decoder"
    return repeat(
        "layers",
        count,
        attention("self_attn", dims, f"{stack}.attention"),
        layer_norm("self_attn_layer_norm", D, component=norm),
        attention("encoder_attn", dims, f"{stack}.cross_attention") if crosses else None,
        layer_norm("encoder_attn_layer_norm", D, component=norm) if crosses else None,
        activation("activation_fn", dims.activation_function, component=feed_forward),
        linear("fc1", D, inner, component=feed_forward),
        linear("fc2", inner, D, component=feed_forward),
        layer_norm("final_layer_norm", D, component=norm),
    )


@dataclass(frozen=True, slots=True)
class Stacks:
    """The encoder and the decoder of BART and its kin, which differ in what stands around their layers."""

    positions: Callable[[Dims], Block] = learned_positions
    norms: tuple[str, ...] = ("layernorm_embedding",)
    """The norms of a whole stack, 2·D each."""
    attention: Attention = attention
    decoder_positions: Callable[[Dims], Block] | None = None
    """Where they are not the encoder's."""

    def encoder(self, dims: Dims, shared: str = "") -> Block:
        return self.stack("encoder", dims, words("embed_tokens", dims, dims.V, shared), dims.L, dims.I)

    def decoder(self, dims: Dims, shared: str = "", *, rows: Count | None = None) -> Block:
        """The decoder.

        :param rows: of its word embeddings, where that is not V.
        """
        tokens = words("embed_tokens", dims, dims.V if rows is None else rows, shared)
        return self.stack("decoder", dims, tokens, dims.Ld, dims.Id)

    def stack(self, name: str, dims: Dims, tokens: Block, count: Count, inner: Count) -> Block:
        """Either of them, on what makes vectors of its input."""
        positions = (self.decoder_positions if name == "decoder" else None) or self.positions
        return block(
            name,
            tokens,
            block("", positions(dims), component=f"{name}.position"),
            layers(name, count, inner, dims, self.attention),
            *(layer_norm(norm, dims.D, component=f"{name}.norm") for norm in self.norms),
        )

    def both(self, dims: Dims, name: str = "", *, rows: Count | None = None) -> Block:
        """``shared`` and the two stacks: V·D of word embeddings; untied, 3·V·D.

        :param name: the attribute under which a class with a head keeps them.
        :param rows: of the decoder's word embeddings, where that is not V.
        """
        shared = f"{name}.shared.weight" if name else "shared.weight"
        tokens = words("shared", dims, dims.V)
        return block(name, tokens, self.encoder(dims, shared), self.decoder(dims, shared, rows=rows))

    def under(self, *tops: Head) -> Callable[[Dims], Block]:
        """The class that puts heads on both stacks."""
        return lambda dims: block("", self.both(dims, "model"), *(top(dims) for top in tops))

    def causal(self, dims: Dims) -> Block:
        """The decoder alone, which keeps its cross-attention, and a language-model head."""
        lm_head = heads.projection("lm_head", DECODER_WORDS, bias=False)
        return block("", block("model", self.decoder(dims)), lm_head(dims))


SHARED_WORDS = "model.shared.weight"
DECODER_WORDS = "model.decoder.embed_tokens.weight"
ENCODES = (multiple("d_model", "encoder_attention_heads"),)
"""Asked of the classes that have an encoder; those of a decoder alone never read its sizes."""


def generators(prefix: str, stacks: Stacks) -> tuple[Architecture, ...]:
    """The classes that all families of BART's kind have.

    :param prefix: of the classes' names: ``"Bart"``.
    """
    lm_head = heads.projection("lm_head", SHARED_WORDS, bias=False)
    return (
        Architecture(f"{prefix}Model", stacks.both, rules=ENCODES),
        Architecture(f"{prefix}ForConditionalGeneration", stacks.under(lm_head), rules=ENCODES),
        Architecture(f"{prefix}ForCausalLM", stacks.causal),
    )


def architectures(prefix: str, stacks: Stacks) -> tuple[Architecture, ...]:
    """The classes of BART and mBART."""
    classified, answered = stacks.under(heads.classification_head), stacks.under(heads.two_label_span)
    return (
        *generators(prefix, stacks),
        Architecture(f"{prefix}ForSequenceClassification", classified, labels=True, rules=ENCODES),
        Architecture(f"{prefix}ForQuestionAnswering", answered, rules=ENCODES),
    )


def old_keys(*, final_norm: bool = False, embedding_norm: bool = True, sinusoids: bool = False) -> dict[str, Ignored]:
    """Keys with which transformers 3 told BART's kin apart; since 4, each family is built in its one way."""
    return {
        "add_final_layer_norm": _fixed(final_norm, "a norm at the end of each stack"),
        "normalize_embedding": _fixed(embedding_norm, "a norm after its embeddings"),
        "static_position_embeddings": _fixed(sinusoids, "sinusoidal positions"),
    }


def _fixed(has: bool, what: str) -> Ignored:  # noqa: FBT001
    return Ignored((has,), because=f"this family always has {what}" if has else f"this family never has {what}")


NUM_HIDDEN_LAYERS = (
    "https://github.com/huggingface/transformers/blob/v5.4.0/src/transformers/models/bart/configuration_bart.py"
)

INERT = frozenset(
    {"dropout", "attention_dropout", "activation_dropout", "classif_dropout", "encoder_layerdrop", "decoder_layerdrop"}
    | {
        "add_cross_attention",
        "normalize_before",
        "init_std",
        "scale_embedding",
        "is_decoder",
        "_num_labels",
        "force_bos_token_to_be_generated",
    }
    | {"add_bias_logits", "extra_pos_embeddings", "do_blenderbot_90_layernorm", "save_step", "replacing_rate"}
    | {"student_encoder_layers", "student_decoder_layers"}
)
"""Of published configs, beyond what every family has."""

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=50265),
        Size("d_model", "D", default=1024, aliases=("hidden_size",)),
        Size("encoder_layers", "L", default=12, repeats=True, minimum=0, aliases=("num_hidden_layers",)),
        Size("encoder_attention_heads", "A", default=16, aliases=("num_attention_heads",)),
        Size("encoder_ffn_dim", "I", default=4096),
        Size("decoder_layers", "Ld", default=12, repeats=True, minimum=0),
        Size("decoder_attention_heads", "Ad", default=16),
        Size("decoder_ffn_dim", "Id", default=4096),
        Size("max_position_embeddings", "P", default=1024),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu", key="activation_function"),),
    divisible=(("d_model", "decoder_attention_heads"),),
    ignored=old_keys(),
    inert=INERT,
    until=(Until((5, 4), without_alias("encoder_layers", "num_hidden_layers"), NUM_HIDDEN_LAYERS),),
)


FAMILY = Family("bart", replace(KEYS, labels=3), architectures("Bart", Stacks()))
