"""SqueezeBERT (Iandola et al. 2020, arXiv 2006.11316): BERT whose layers are made of grouped convolutions.

BERT's embeddings and pooler around L·(D²/Gq + D²/Gk + D²/Gv + D²/Ga + D·I/Gi + I·D/Go + I + 9·D): a linear layer for
each group of inputs (section 3).
"""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads

BODY = """
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
"""
GROUPS = ("q_groups", "k_groups", "v_groups", "post_attention_groups", "intermediate_groups", "output_groups")

SQUEEZEBERT = family(
    "squeezebert",
    keys(
        "V 30522, E 768, D 768, L 12 layers from 0, A 12, I 3072, P 512, T 2, Gq q_groups 4, Gk k_groups 4,"
        "Gv v_groups 4, Ga post_attention_groups 1, Gi intermediate_groups 4, Go output_groups 4",
        switches="tie_word_embeddings true",
        activations="hidden_act gelu",
        divisible=(
            *(("hidden_size", each) for each in ("num_attention_heads", *GROUPS)),
            *(("intermediate_size", each) for each in GROUPS[-2:]),
        ),
        equal=(("embedding_size", "hidden_size"),),
        ignored="""
        position_embedding_type ["absolute"]
        pruned_heads [{}, null]
        add_cross_attention
        """,
    ),
    """
    SqueezeBertModel                       body
    SqueezeBertForMaskedLM                 transformer.body + masked_lm
    SqueezeBertForSequenceClassification   transformer.body + classifier
    SqueezeBertForMultipleChoice           transformer.body + choice
    SqueezeBertForTokenClassification      transformer.body + classifier
    SqueezeBertForQuestionAnswering        transformer.body + span
    """,
    bert.PARTS,
    under="transformer",
    body=BODY,
    masked_lm=heads.MASKED_LM.replace("get(E,D)", "D"),
)
