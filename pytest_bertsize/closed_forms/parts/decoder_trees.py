"""Decoders with rotary positions: Llama (Touvron et al. 2023, arXiv 2302.13971) and all built like it, as trees.

Norms before attention and before a gated feed-forward part, keys that heads share, one norm after the last layer, and
heads that any of them may have.
"""

from __future__ import annotations

from pytest_bertsize.closed_forms.parts import head_trees as heads
from pytest_bertsize.closed_forms.tree import fill

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
        "score": heads.SCORE,
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
