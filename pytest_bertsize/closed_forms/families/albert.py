"""ALBERT (Lan et al. 2019, arXiv 1909.11942): BERT with narrow embeddings and layers that share their weights.

V·E + P·E + T·E + 2·E of embeddings and E·D + D that widen them; G·N layers, N in each of G groups, which a forward pass
goes through L·N times. A layer has 4·D² + 2·D·I + 9·D + I where the heads divide D; queries, keys and values have
W = A·⌊D/A⌋ numbers. Its masked language model has D·E + 3·E of transform and V of output bias; untied, V·E + V more.
"""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.families import electra
from pytest_bertsize.closed_forms.parts import heads, relative_positions

ALBERT = family(
    "albert",
    keys(
        "V 30000, E 128, D 4096, L 12, G num_hidden_groups 1 layers, N inner_group_num 1 layers, A 64, I 16384, P 512,"
        "T 2",
        switches="tie_word_embeddings true",
        activations="hidden_act gelu_new",
        rules=electra.HEADS_HAVE_WIDTH,
        ignored="""
        position_embedding_type ["absolute"] costs G*N*(2*P-1)*(D//A) \
when value in ("relative_key", "relative_key_query")
        pruned_heads, add_cross_attention, add_pooling_layer
        """,
        until=(relative_positions.READ,),
    ),
    """
    AlbertModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
    AlbertForPreTraining              albert.body(pooler) + masked_lm + sentence_order
    AlbertForMaskedLM                 albert.body + masked_lm
    AlbertForSequenceClassification   albert.body(pooler) + classifier
    AlbertForTokenClassification      albert.body + classifier
    AlbertForQuestionAnswering        albert.body + span
    AlbertForMultipleChoice           albert.body(pooler) + choice
    """,
    electra.PARTS,
    body="""
    <narrow_embeddings>
    encoder
      embedding_hidden_mapping_in      linear E D                @embeddings.projection
      albert_layer_groups × G                                                               passes L
        albert_layers × N
          attention                                              @encoder.attention
            query, key, value          linear D {W}
            dense                      linear D D
            LayerNorm                  layer_norm D              @encoder.norm
            <distances>
          ffn                          linear D I                @encoder.feed_forward
          activation                   activation hidden_act     @encoder.feed_forward
          ffn_output                   linear I D                @encoder.feed_forward
          full_layer_layer_norm        layer_norm D              @encoder.norm
    pooler                             linear D D                @pooler                    when pooler
    """,
    masked_lm=f"""
    predictions
      bias                             parameter V               @head.decoder
      dense                            linear D E                @head.transform
      activation                       activation hidden_act     @head.transform
      LayerNorm                        layer_norm E              @head.transform
      {heads.decoder("predictions.bias", width="E")}
    """,
    sentence_order="sop_classifier.classifier  linear D C  @head.sentence_order",
)
"""In order or swapped for C = 2 (section 3.1)."""
