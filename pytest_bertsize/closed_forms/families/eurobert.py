"""EuroBERT (Boizard et al. 2025, arXiv 2503.05500): an encoder of the layers that Llama has, keys shared by heads.

V·D + L·(2·D·W·(A + Q) + 3·D·I + 2·D) + D, where W is the width of a head; embeddings have no norm, but there is one
after the last layer: a scale without a shift (Zhang and Sennrich 2019, arXiv 1910.07467). The masked language model has
V·D, which is not tied by default; ``mlp_bias`` gives it V of bias, too. Ahead of the classifier of sequences: D² + D.
"""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.config.keys import Index

BODY = """
W := get(S, D // A)
embed_tokens                 embedding V D                            @embeddings.word
layers × L
  input_layernorm            rms_norm D                               @encoder.norm
  self_attn                                                           @encoder.attention   attends 2*A*W
    q_proj                   linear D A*W bias=attention_bias
    k_proj, v_proj           linear D get(Q,A)*W bias=attention_bias
    o_proj                   linear A*W D bias=attention_bias
  post_attention_layernorm   rms_norm D                               @encoder.norm
  mlp                                                                 @encoder.feed_forward
    gate_proj, up_proj       linear D I bias=mlp_bias
    down_proj                linear I D bias=mlp_bias
    act_fn                   activation hidden_act
norm                         rms_norm D                               @encoder.norm
"""

KEYS = keys(
    "V 128256, D 768, L 12 layers from 0, A 12, Q none, S none, I 3072",
    switches="attention_bias false, mlp_bias false, tie_word_embeddings false",
    activations="hidden_act silu",
    divisible=(("hidden_size", "num_attention_heads"),),
    indices=(Index("pad_token_id", 128001),),
    rules=(rotary.PADS_WITHIN, rotary.EVEN_HEAD_DIM, rotary.EVEN_HEADS),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
)

CLASSES = """
EuroBertModel                       body
EuroBertForMaskedLM                 model.body + lm_head
EuroBertForSequenceClassification   model.body + transform + classifier
EuroBertForTokenClassification      model.body + classifier
"""

FAMILY = family(
    "eurobert",
    KEYS,
    CLASSES,
    body=BODY,
    lm_head=heads.projection("lm_head", "model.embed_tokens.weight", bias="mlp_bias"),
    transform="dense  linear D D  @head.transform",
    since=(5, 3),
)
