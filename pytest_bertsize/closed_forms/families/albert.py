"""ALBERT (Lan et al. 2019, arXiv 1909.11942): BERT with narrow embeddings and layers that share their weights.

V·E + P·E + T·E + 2·E of embeddings and E·D + D that widen them; G·N layers, N in each of G groups, which a forward pass
goes through L·N times. A layer has 4·D² + 2·D·I + 9·D + I where the heads divide D; queries, keys and values have
W = A·⌊D/A⌋ numbers. Its masked language model has D·E + 3·E of transform and V of output bias; untied, V·E + V more.
"""

from dataclasses import replace
from typing import Any

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import electra
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts import unused_keys as unused
from pytest_bertsize.config.dims import Dims

BODY = """
W := D // A * A
<embeddings>
encoder
  embedding_hidden_mapping_in      linear E D                @embeddings.projection
  albert_layer_groups × G                                                               passes L
    albert_layers × N
      attention                                              @encoder.attention
        query, key, value          linear D W
        dense                      linear D D
        LayerNorm                  layer_norm D              @encoder.norm
        <distances>
      ffn                          linear D I                @encoder.feed_forward
      activation                   activation hidden_act     @encoder.feed_forward
      ffn_output                   linear I D                @encoder.feed_forward
      full_layer_layer_norm        layer_norm D              @encoder.norm
pooler                             linear D D                @pooler                    when pooler
"""
MASKED_LM = """
predictions
  bias                             parameter V               @head.decoder
  dense                            linear D E                @head.transform
  activation                       activation hidden_act     @head.transform
  LayerNorm                        layer_norm E              @head.transform
  <decoder>
"""
SENTENCE_ORDER = "sop_classifier.classifier  linear D C  @head.sentence_order"
"""In order or swapped for C = 2 (section 3.1)."""
WORDS = "albert.embeddings.word_embeddings.weight"


def _distance_embedding(value: Any, dims: Dims) -> int | None:
    """G·N tables where another family has L."""
    assert unused.POSITION_EMBEDDING_TYPE.cost is not None
    return unused.POSITION_EMBEDDING_TYPE.cost(value, replace(dims, sizes={**dims.sizes, "L": dims.G * dims.N}))


KEYS = keys(
    "V 30000, E 128, D 4096, L 12, G num_hidden_groups 1 layers, N inner_group_num 1 layers, A 64, I 16384, P 512, T 2",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu_new",
    rules=(electra.HEADS_HAVE_WIDTH,),
    ignored={
        "position_embedding_type": unused.POSITION_EMBEDDING_TYPE._replace(cost=_distance_embedding),
        "pruned_heads": unused.PRUNED_HEADS,
        "add_cross_attention": unused.ADD_CROSS_ATTENTION,
        "add_pooling_layer": unused.ADD_POOLING_LAYER,
    },
    until=(relative_positions.READ,),
)

CLASSES = """
AlbertModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
AlbertForPreTraining              albert.body(pooler) + masked_lm + sentence_order
AlbertForMaskedLM                 albert.body + masked_lm
AlbertForSequenceClassification   albert.body(pooler) + classifier
AlbertForTokenClassification      albert.body + classifier
AlbertForQuestionAnswering        albert.body + span
AlbertForMultipleChoice           albert.body(pooler) + choice
"""

FAMILY = family(
    "albert",
    KEYS,
    CLASSES,
    body=fill(BODY, embeddings=electra.NARROW_EMBEDDINGS, distances=relative_positions.DISTANCES),
    masked_lm=fill(MASKED_LM, decoder=heads.DECODER, width="E", words=WORDS, bias="predictions.bias"),
    sentence_order=SENTENCE_ORDER,
)
