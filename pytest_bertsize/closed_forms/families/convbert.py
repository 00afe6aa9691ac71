"""ConvBERT (Jiang et al. 2020, arXiv 2008.02496): ELECTRA with convolution for half of the attention.

Attention has H = A/R heads, rounded down and at least one, of total width W, about D/2; convolution replaces the other
heads.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.electra import ELECTRA
from pytest_bertsize.closed_forms.parts import heads

CONVBERT = family(
    "convbert",
    ELECTRA,
    sizes="E 768, D 768, A 12, R head_ratio 2, K conv_kernel_size 9, I 3072, G num_groups 1",
    switches="summary_use_proj false",
    choices=heads.summary_choices("last"),
    rules="""
    hidden_size % (num_attention_heads // head_ratio if num_attention_heads >= head_ratio else 1) == 0
      hidden_size {hidden_size:,} is not a multiple of the heads that head_ratio {head_ratio:,} leaves of \
num_attention_heads {num_attention_heads:,}
      write a multiple of {num_attention_heads:,}
    hidden_size >= 2 * (num_attention_heads // head_ratio if num_attention_heads >= head_ratio else 1)
      hidden_size {hidden_size:,} gives each head width 0: attention has half of it
      write a multiple of twice {num_attention_heads:,}
    """,
    ignored="only PLAIN",
    until=(),
    classes="""
    ConvBertModel, *ForMaskedLM, *ForTokenClassification, *ForQuestionAnswering
    *ForSequenceClassification   convbert.body + dense_classifier
    *ForMultipleChoice           convbert.body + summary + choice
    """,
    projections="""
    H := A // R if A >= R else 1
    W := D // H // 2 * H
    query, key, value          linear D W
    -                                                     @encoder.convolution
      key_conv_attn_layer
        depthwise.weight       parameter D 1 K
        pointwise.weight       parameter W D 1
        bias                   parameter W 1
      conv_kernel_layer        linear W K*H
      conv_out_layer           linear D W
    """,
    feed_forward="""
    intermediate                                          @encoder.feed_forward
      dense                    linear D I                 when G == 1
      dense                                               when G != 1
        weight                 parameter G D//G I//G
        bias                   parameter I
      intermediate_act_fn      activation hidden_act
    output.dense               linear I D                 @encoder.feed_forward   when G == 1
    output.dense                                          @encoder.feed_forward   when G != 1
      weight                   parameter G I//G D//G
      bias                     parameter D
    output.LayerNorm           layer_norm D               @encoder.norm
    """,
)
