"""Nomic BERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT with rotary positions, gated and almost without biases.

V·D + T·D + 2·D + L·(4·D·A·W + 3·D·I + 4·D), where W is the width of a head: no table of positions. With a pooler,
D² + D more. The masked language model's head is BERT's, but for the name of its norm.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.config.keys import Ignored

BODY = """
W := get(S, D // A)
embeddings
  word_embeddings            embedding V D               @embeddings.word
  token_type_embeddings      embedding T D               @embeddings.token_type   when T > 0
  LayerNorm                  layer_norm D                @embeddings.norm
layers × L
  self_attn                                              @encoder.attention   attends 2*A*W
    q_proj, k_proj, v_proj   linear D A*W bias={bias}
    o_proj                   linear A*W D bias={bias}
  post_attention_layernorm   layer_norm D                @encoder.norm
  mlp                                                    @encoder.feed_forward
    <mlp>
  post_mlp_layernorm         layer_norm D                @encoder.norm
<pooler>
"""
GATED = """
gate_proj, up_proj           linear D I bias=False
down_proj                    linear I D bias={bias}
act_fn                       activation hidden_act
"""
CLASSES = """
*Model                       body(pooler=add_pooling_layer)   option add_pooling_layer=False
*ForMaskedLM                 {name}.body + masked_lm
*ForSequenceClassification   {name}.body(pooler) + classifier
*ForTokenClassification      {name}.body + classifier
"""


def body(*, bias: str, mlp: str = GATED) -> str:
    """Return the body of a family that is built like Nomic BERT.

    :param bias: of attention and of the last matrix: L·(3·A·W + 2·D) more.
    """
    return fill(fill(BODY, mlp=mlp, pooler=bert.POOLER), bias=bias)


KEYS = keys(
    "V 30528, D 768, L 12 layers from 0, A 12, S none, I 3072, T 2",
    switches="tie_word_embeddings true",
    activations="hidden_act silu",
    rules=(rotary.SOME_WIDTH, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
)

NO_BIAS = Ignored((False,), because="the matrices of this family have no bias")
BEFORE_TRANSFORMERS = {
    "activation_function": Ignored(("swiglu",), because="this family has hidden_act"),
    **dict.fromkeys(("mlp_fc1_bias", "mlp_fc2_bias", "qkv_proj_bias"), NO_BIAS),
    "parallel_block": Ignored((False,), because="attention comes before the feed-forward part"),
    "parallel_block_tied_norm": Ignored((False,), because="every layer has two norms"),
    "prenorm": Ignored((False,), because="the norms of this family come last"),
    "rotary_emb_fraction": Ignored((1, 1.0), because="this family has rotary positions only"),
    "use_rms_norm": Ignored((False, None), because="the norms of this family have a bias"),
}
"""Keys that the code on the hub read, which came before the library's, and the values with which it built the same."""

FAMILY = family(
    "nomic_bert",
    replace(KEYS, ignored={**KEYS.ignored, **BEFORE_TRANSFORMERS}),
    fill(CLASSES, name="nomic_bert").replace("*", "NomicBert"),
    body=body(bias="False"),
    masked_lm=heads.masked_lm("nomic_bert.embeddings.word_embeddings.weight").replace("LayerNorm", "layer_norm"),
    since=(5, 5),
)
