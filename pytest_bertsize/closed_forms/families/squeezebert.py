"""SqueezeBERT (Iandola et al. 2020, arXiv 2006.11316): BERT of grouped convolutions, each a linear layer a group."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.parts import heads

SQUEEZEBERT = family(
    "squeezebert",
    sizes="V 30522, E 768, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 512, T 2, Gq q_groups 4 divides D,"
    "Gk k_groups 4 divides D, Gv v_groups 4 divides D, Ga post_attention_groups 1 divides D,"
    "Gi intermediate_groups 4 divides D I, Go output_groups 4 divides D I",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu",
    equal=(("embedding_size", "hidden_size"),),
    ignored="PLAIN, add_cross_attention",
    classes="""
    SqueezeBertModel   body
    *ForMaskedLM, *ForSequenceClassification, *ForMultipleChoice, *ForTokenClassification, *ForQuestionAnswering
    """,
    trees=BERT.trees,
    under="transformer",
    body="""
    <embeddings>
    encoder.layers × L
      -                                              @encoder.attention
        attention.query          conv1d D//Gq D 1
        attention.key            conv1d D//Gk D 1
        attention.value          conv1d D//Gv D 1
        post_attention.conv1d    conv1d D//Ga D 1
      post_attention.layernorm   layer_norm D        @encoder.norm
      -                                              @encoder.feed_forward
        intermediate.conv1d      conv1d D//Gi I 1
        intermediate.act         activation hidden_act
        output.conv1d            conv1d I//Go D 1
      output.layernorm           layer_norm D        @encoder.norm
    pooler.dense                 linear D D          @pooler
    """,
    masked_lm=heads.MASKED_LM.replace("get(E,D)", "D"),
)
