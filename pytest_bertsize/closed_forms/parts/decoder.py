"""Decoders with rotary positions: Llama (Touvron et al. 2023, arXiv 2302.13971) and all built like it, and their keys.

Norms before attention and before a gated feed-forward part, keys that heads share, one norm after the last layer, and
heads that any of them may have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import Until
from pytest_bertsize.config.older_releases import LIBRARY, file_in, without

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import ConfigKeys

DECODER = """
W := get(S, D // A)
embed_tokens                 embedding V D                            @embeddings.word
layers × L
  <norms>
  self_attn                                                           @decoder.attention   attends 2*A*W
    q_proj                   linear D A*W bias={bias}
    k_proj, v_proj           linear D get(Q,A)*W bias={bias}
    o_proj                   linear A*W D bias={last_bias}
    <head_norms>
  mlp                                                                 @decoder.feed_forward
    gate_proj, up_proj       linear D I bias={mlp_bias}
    down_proj                linear I D bias={mlp_bias}
    act_fn                   activation {activation}
norm                         rms_norm D                               @decoder.norm
"""
"""V·D + L·(2·D·W·(A + Q) + 3·D·I + 2·D) + D, where W is the width of a head; keys and values have Q heads of their own
(arXiv 2305.13245)."""
NORMS = "input_layernorm, post_attention_layernorm   rms_norm D   @decoder.norm"
HEAD_NORMS = "q_norm, k_norm   rms_norm W   @decoder.norm"
"""Of queries and keys, shared by all heads (Henry et al. 2020, arXiv 2010.04245)."""
SCORE_OF_EACH = "score  linear D C bias=get(token_classification_bias,True)  @head.classifier"
"""``score`` of each token, with a bias unless the config says so; the one of a sequence has none."""


def trees(*, bias: str = "False", last_bias: str = "", mlp_bias: str = "False", **parts: str) -> dict[str, str]:
    """Return the body and heads of a decoder that is built like Llama.

    :param bias: of queries, keys and values.
    :param last_bias: of attention's output; as ``bias`` unless given.
    :param parts: ``norms``, ``head_norms`` and ``activation``, where they are not Llama's.
    """
    chosen = {"norms": NORMS, "head_norms": "", "activation": "hidden_act", **parts}
    return {
        "body": fill(DECODER, bias=bias, last_bias=last_bias or bias, mlp_bias=mlp_bias, **chosen),
        "lm_head": heads.projection("lm_head", "model.embed_tokens.weight"),
        "token_score": SCORE_OF_EACH,
        "span": heads.TWO_LABEL_SPAN,
    }


CLASSES = """
*Model                       body
*ForCausalLM                 model.body + lm_head
*ForSequenceClassification   model.body + score
*ForTokenClassification      model.body + token_score   since 4.42
"""


def classes(prefix: str, *, answers: str = "transformer.body + span") -> str:
    """Return the classes of a decoder.

    :param answers: what the one for question answering consists of, and since when: it keeps the body under a name of
        its own.
    """
    return f"{CLASSES}*ForQuestionAnswering   {answers}".replace("*", prefix)


IGNORED = {**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER}
NO_TOKEN_BIAS = Until(
    (5, 13), without("token_classification_bias"), f"{LIBRARY}/blob/v5.13.0/src/transformers/modeling_layers.py"
)
"""No field of any config class here, and read from the file all the same."""


def head_dim_since(*release: int, family: str) -> Until:
    """Return the change before which heads divide the width among them, and the class refuses those that do not.

    :param release: the first that reads ``head_dim`` for the family.
    """

    def change(keys: ConfigKeys) -> ConfigKeys:
        rules = tuple(rule for rule in keys.rules if "head_dim" not in rule.keys)
        even = ("hidden_size", "num_attention_heads")
        found = without("head_dim")(keys)
        return replace(found, rules=rules, divisible=tuple(dict.fromkeys((*keys.divisible, even))))

    return Until(release, change, file_in(f"{'.'.join(map(str, release))}.0", family))
