"""LiLT (Wang et al. 2022, arXiv 2202.13669): RoBERTa beside a narrow transformer; six vectors of D/6 place a word."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER

LILT = family(
    "lilt",
    ENCODER,
    sizes="P2 max_2d_position_embeddings 1024, R channel_shrink_ratio 4",
    switches="only",
    rules="""
    channel_shrink_ratio <= hidden_size
      channel_shrink_ratio is {channel_shrink_ratio:,}, more than hidden_size {hidden_size:,}: the layout has width 0
      write {hidden_size:,} or fewer
    """,
    classes="""
    LiltModel, LiltForTokenClassification, LiltForQuestionAnswering
    LiltForSequenceClassification   lilt.body + dense_classifier
    """,
    more="""
    N := D // R
    M := I // R
    -                                            @encoder.layout
      attention.self
        layout_query, layout_key, layout_value   linear N N
      attention.layout_output.dense              linear N N
      layout_intermediate.dense                  linear N M
      layout_intermediate.intermediate_act_fn    activation hidden_act
      layout_output.dense                        linear M N
      attention.layout_output.LayerNorm, layout_output.LayerNorm   layer_norm N
    """,
    after_layers="""
    layout_embeddings                            @embeddings.layout
      {axis}_position_embeddings                 embedding P2 D//6       for axis in ("x", "y", "h", "w")
      box_position_embeddings                    embedding P N
      box_linear_embeddings                      linear D N
      LayerNorm                                  layer_norm N
    """,
)
