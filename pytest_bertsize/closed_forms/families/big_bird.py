"""BigBird (Zaheer et al. 2020, arXiv 2007.14062): BERT with sparse attention, which has no parameters of its own."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.config.keys import Choice

BIG_BIRD = family(
    "big_bird",
    BERT,
    sizes="V 50358, P 4096",
    switches="use_bias true",
    activations="hidden_act gelu_new",
    choices=(Choice("attention_type", "block_sparse", ("block_sparse", "original_full")),),
    ignored="""
    position_embedding_type ["absolute"]: this family has absolute positions only
    pruned_heads [{}, null]: this family prunes no heads
    """,
    until=(),
    classes="""
    BigBirdModel, *ForPreTraining, *ForMultipleChoice
    *ForMaskedLM, *ForCausalLM   bert.body(pooler) + masked_lm
    *ForSequenceClassification   bert.body(pooler) + dense_classifier
    *ForTokenClassification      bert.body(pooler) + classifier
    *ForQuestionAnswering        bert.body(pooler=add_pooling_layer) + answer   option add_pooling_layer=False
    """,
    projections="query, key, value   linear D D bias=use_bias",
    pooler="pooler               linear D D      @pooler   when pooler",
    answer="""
    qa_classifier                                @head.transform
      intermediate
        dense                    linear D I
        intermediate_act_fn      activation hidden_act
      output
        dense                    linear I D
        LayerNorm                layer_norm D
      qa_outputs                 linear D 2      @head.qa_outputs
    """,
)
