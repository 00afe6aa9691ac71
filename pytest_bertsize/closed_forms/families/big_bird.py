"""BigBird (Zaheer et al. 2020, arXiv 2007.14062): BERT with sparse attention, which has no parameters of its own.

BERT; without ``use_bias``, L·3·D less, and as much again less of cross-attention. Question answering has a feed-forward
part of 2·D·I + 3·D + I and, whatever the number of labels, 2·D + 2.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice, Ignored

BODY = """
<embeddings>
encoder.layer × L
  attention                                             @encoder.attention
    self
      query, key, value      linear D D bias=use_bias
    output.dense             linear D D
    output.LayerNorm         layer_norm D               @encoder.norm
  crossattention                                        @encoder.cross_attention   when add_cross_attention
    self
      query, key, value      linear D D bias=use_bias
    output.dense             linear D D
    output.LayerNorm         layer_norm D               @encoder.norm
  <feed_forward>
pooler                       linear D D                 @pooler   when pooler
"""
SPAN = """
qa_classifier
  intermediate                                          @head.transform
    dense                    linear D I
    intermediate_act_fn      activation hidden_act
  output                                                @head.transform
    dense                    linear I D
    LayerNorm                layer_norm D
  <span>
"""

KEYS = extend(
    bert.KEYS,
    "V 50358, P 4096",
    switches="use_bias true",
    activations="hidden_act gelu_new",
    choices=(Choice("attention_type", "block_sparse", ("block_sparse", "original_full")),),
    more_ignored={
        "position_embedding_type": Ignored(("absolute",), because="this family has absolute positions only"),
        "pruned_heads": Ignored(({}, None), because="this family prunes no heads"),
    },
    until=(),
)

CLASSES = """
BigBirdModel                       body(pooler=add_pooling_layer)   option add_pooling_layer=True
BigBirdForPreTraining              bert.body(pooler) + masked_lm + next_sentence
BigBirdForMaskedLM                 bert.body(pooler) + masked_lm
BigBirdForCausalLM                 bert.body(pooler) + masked_lm
BigBirdForSequenceClassification   bert.body(pooler) + dense_classifier
BigBirdForMultipleChoice           bert.body(pooler) + choice
BigBirdForTokenClassification      bert.body(pooler) + classifier
BigBirdForQuestionAnswering        bert.body(pooler=add_pooling_layer) + answer   option add_pooling_layer=False
"""

FAMILY = family(
    "big_bird",
    KEYS,
    CLASSES,
    bert.trees("bert", fill(BODY, embeddings=bert.EMBEDDINGS, feed_forward=bert.FEED_FORWARD)),
    answer=fill(SPAN, span=heads.TWO_LABEL_SPAN),
)
