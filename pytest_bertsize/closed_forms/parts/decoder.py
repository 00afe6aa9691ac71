"""What decoders with rotary positions share: Llama (Touvron et al. 2023, arXiv 2302.13971) and all built like it.

Norms before attention and before a gated feed-forward part, keys that heads share, one norm after the last layer, and
heads that any of them may have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, linear, repeat, rms_norm
from pytest_bertsize.closed_forms.family import Architecture
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.closed_forms.transformer_blocks import gated_feed_forward, grouped_query_attention
from pytest_bertsize.config.keys import Switch, Until
from pytest_bertsize.config.older_releases import LIBRARY, file_in, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.keys import ConfigKeys

EMBEDDINGS = "model.embed_tokens.weight"
BEFORE_EACH = ("input_layernorm", "post_attention_layernorm")


def norm(name: str, dims: Dims) -> Block:
    """D: a scale without a shift (Zhang and Sennrich 2019, arXiv 1910.07467)."""
    return rms_norm(name, dims.D, component="decoder.norm")


def attention(dims: Dims, *, bias: bool, last_bias: bool, normed: bool = False) -> Block:
    """2·D·S·(A + Q); with biases, S·(A + 2·Q) + D more; ``normed``, 2·S more.

    :param last_bias: of the output.
    :param normed: whether queries and keys have a norm, shared by all heads (Henry et al. 2020, arXiv 2010.04245).
    """
    width = rotary.head_width(dims)
    norms = [rms_norm(name, width, component="decoder.norm") for name in ("q_norm", "k_norm") if normed]
    queries, keys = rotary.query_width(dims), rotary.key_width(dims)
    return grouped_query_attention(
        "self_attn", dims.D, queries, keys, *norms, bias=bias, last_bias=last_bias, component="decoder.attention"
    )


def feed_forward(dims: Dims, function: str, *, bias: bool = False) -> Block:
    """3·D·I; with biases, 2·I + D more."""
    return gated_feed_forward("mlp", dims.D, dims.I, function, bias=bias, component="decoder.feed_forward")


@dataclass(frozen=True, slots=True)
class Decoder:
    """The body of a family, of what each of its layers has."""

    attention: Callable[[Dims], Block]
    feed_forward: Callable[[Dims], Block]
    norms: tuple[str, ...] = BEFORE_EACH
    """Of a layer, D each."""

    def __call__(self, dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG002  (it never pools)
        """V·D + L·(attention + feed-forward + norms·D) + D; embeddings have no norm."""
        return block(
            name,
            embedding("embed_tokens", dims.V, dims.D, component="embeddings.word"),
            repeat(
                "layers",
                dims.L,
                *(norm(each, dims) for each in self.norms),
                self.attention(dims),
                self.feed_forward(dims),
            ),
            norm("norm", dims),
        )

    def causal(self, name: str) -> Architecture:
        """The one that writes: V·D of its own unless it is tied."""
        lm_head = heads.projection("lm_head", EMBEDDINGS, bias=False)
        return Architecture(name, Body("model", self).under(lm_head))

    def sequences(self, name: str) -> Architecture:
        return Architecture(name, Body("model", self).under(heads.score), labels=True)

    def tokens(self, name: str, *, since: tuple[int, ...] = (4, 42)) -> Architecture:
        return Architecture(name, Body("model", self).under(token_score), labels=True, since=since)

    def answers(self, name: str, *, held_as: str = "transformer", since: tuple[int, ...] = ()) -> Architecture:
        """Start and end of an answer: 2·D + 2.

        :param held_as: the attribute under which the class keeps the body.
        """
        return Architecture(name, Body(held_as, self).under(heads.two_label_span), since=since)


def token_score(dims: Dims) -> Block:
    """``score`` of each token: C·D + C, with a bias unless the config says so; the one of a sequence has none."""
    bias = dims.switches.get(TOKEN_BIAS, True)
    return linear("score", dims.D, dims.C, bias=bias, component="head.classifier")


TOKEN_BIAS = "token_classification_bias"  # noqa: S105  (a token of text)
HAS_TOKEN_BIAS = Switch(TOKEN_BIAS, default=True)
"""No field of any config class here, and read from the file all the same."""
NO_TOKEN_BIAS = Until((5, 13), without(TOKEN_BIAS), f"{LIBRARY}/blob/v5.13.0/src/transformers/modeling_layers.py")


def head_dim_since(*release: int, family: str) -> Until:
    """Before, the heads divide the width among them, and the class refuses those that do not.

    :param release: the first that reads ``head_dim`` for the family.
    """

    def change(keys: ConfigKeys) -> ConfigKeys:
        rules = tuple(rule for rule in keys.rules if "head_dim" not in rule.keys)
        even = ("hidden_size", "num_attention_heads")
        found = without("head_dim")(keys)
        return replace(found, rules=rules, divisible=tuple(dict.fromkeys((*keys.divisible, even))))

    return Until(release, change, file_in(f"{'.'.join(map(str, release))}.0", family))


IGNORED = {**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER}

INERT = rotary.INERT | {
    *("layer_types", "sliding_window", "use_sliding_window", "max_window_layers"),
    *("rms_norm_eps", "pretraining_tp", "hidden_dropout"),
}
"""How far a token sees changes no count."""
