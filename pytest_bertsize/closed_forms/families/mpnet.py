"""MPNet (Song et al. 2020, arXiv 2004.09297): BERT without token types, its layers sharing one bias of distances.

DistilBERT's embeddings, BERT's layers and pooler, and R·A of distances: for each of R distances a bias of each head, in
all layers the same.
"""

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import bert, distilbert, roberta
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER

BODY = """
embeddings
  word_embeddings              embedding V D   @embeddings.word
  position_embeddings          embedding P D   @embeddings.position
  LayerNorm                    layer_norm D    @embeddings.norm
encoder
  layer × L
    attention                                  @encoder.attention
      attn.q, attn.k, attn.v   linear D D
      attn.o                   linear D D
      LayerNorm                layer_norm D    @encoder.norm
    <feed_forward>
  relative_attention_bias      embedding R A   @encoder.relative_position
<pooler>
"""
KEYS = keys(
    "V 30527 from 2, D 768, L 12 layers from 0, A 12, I 3072, P 512 from 2, R relative_attention_num_buckets 32",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu",
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored={**distilbert.UNUSED_KEYS, "add_pooling_layer": ADD_POOLING_LAYER},
)
"""The class holds row 1 of the words for padding, whatever the config says."""

FAMILY = family(
    "mpnet",
    KEYS,
    roberta.encoders("MPNet", "mpnet"),
    roberta.trees("mpnet", fill(BODY, feed_forward=bert.FEED_FORWARD, pooler=bert.POOLER)),
)
