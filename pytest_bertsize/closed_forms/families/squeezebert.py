"""SqueezeBERT (Iandola et al. 2020, arXiv 2006.11316): BERT of grouped convolutions, each a linear layer a group."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER
from pytest_bertsize.closed_forms.parts import heads

SQUEEZEBERT = family(
    "squeezebert",
    ENCODER,
    sizes="E 768, Gq q_groups 4 divides D, Gk k_groups 4 divides D, Gv v_groups 4 divides D,"
    "Ga post_attention_groups 1 divides D, Gi intermediate_groups 4 divides D I, Go output_groups 4 divides D I",
    equal=(("embedding_size", "hidden_size"),),
    ignored="only PLAIN, add_cross_attention",
    classes="""
    SqueezeBertModel   body
    *ForMaskedLM, *ForSequenceClassification, *ForMultipleChoice, *ForTokenClassification, *ForQuestionAnswering
    """,
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
