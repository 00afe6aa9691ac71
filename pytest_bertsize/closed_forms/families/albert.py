"""ALBERT (Lan et al. 2019, arXiv 1909.11942): BERT with narrow embeddings and layers that share their weights.

A forward pass makes L passes through G groups of N layers. If the number of heads does not divide D, queries, keys and
values have the width A·⌊D/A⌋.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads, shared_keys

# ``sentence_order`` has a score for each of C labels: with two labels, "in order" and "swapped" (section 3.1).
ALBERT = family(
    "albert",
    "electra",
    sizes="V 30000, D 4096, L num_hidden_layers 12, G num_hidden_groups 1 layers, N inner_group_num 1 layers, A 64,"
    "I 16384",
    switches="only tie_word_embeddings true",
    activations="only hidden_act gelu_new",
    ignored="""only
    position_embedding_type ["absolute"] costs G*N*(2*P-1)*(D//A) when value in ("relative_key", "relative_key_query")
    pruned_heads, add_cross_attention, add_pooling_layer
    """,
    classes="""
    *Model
    *ForPreTraining   albert.body(pooler) + lm_head + sentence_order
    *ForMaskedLM, *ForSequenceClassification, *ForTokenClassification, *ForQuestionAnswering, *ForMultipleChoice
    """,
    body="""
    <embeddings>
    encoder
      embedding_hidden_mapping_in      linear E D                @embeddings.projection
      albert_layer_groups × G                                                               passes L
        albert_layers × N
          attention                                              @encoder.attention
            <projections>
            dense                      linear D D
            LayerNorm                  layer_norm D              @encoder.norm
            <distances>
          -                                                      @encoder.feed_forward
            ffn                        linear D I
            activation                 activation hidden_act
            ffn_output                 linear I D
          full_layer_layer_norm        layer_norm D              @encoder.norm
    pooler                             linear D D                @pooler                    when pooler
    """,
    distances=shared_keys.DISTANCES.removeprefix("self."),
    lm_head=heads.lm_head("predictions", width="E", norm="LayerNorm", activation="hidden_act"),
    sentence_order="sop_classifier.classifier  linear D C  @head.sentence_order",
)
