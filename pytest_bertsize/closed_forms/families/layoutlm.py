"""LayoutLM (Xu et al. 2019, arXiv 1912.13318): BERT with the positions of words on the page; and variants.

Layout adds 4·P2·D to BERT: one table for left and right, one for top and bottom, one for a word's height and one for
its width. Every class has a pooler.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER
from pytest_bertsize.closed_forms.parts import heads, positions

LAYOUTLM = family(
    "layoutlm",
    ENCODER,
    sizes="P2 max_2d_position_embeddings 1024",
    until=(positions.read_until(4, 54),),
    classes="""
    LayoutLMModel                    body(pooler)
    LayoutLMForMaskedLM              layoutlm.body(pooler) + masked_lm
    LayoutLMForSequenceClassification
    LayoutLMForTokenClassification   layoutlm.body(pooler) + classifier
    LayoutLMForQuestionAnswering     layoutlm.body(pooler) + span
    """,
    body="""
    <bert>
    embeddings.{axis}_position_embeddings   embedding P2 D   @embeddings.layout   for axis in ("x", "y", "h", "w")
    """,
)

LAYOUTLMV3 = family(
    "layoutlmv3",
    ENCODER,
    sizes="V 50265, P2 max_2d_position_embeddings 1024, J coordinate_size 128, H shape_size 128, B rel_pos_bins 32,"
    "B2 rel_2d_pos_bins 64, W input_size 224, K patch_size 16, N num_channels 3",
    switches="only has_relative_attention_bias true, has_spatial_attention_bias true, text_embed true,"
    "visual_embed true",
    classes="""
    LayoutLMv3Model
    LayoutLMv3ForTokenClassification      layoutlmv3.body + token_classifier
    LayoutLMv3ForQuestionAnswering
    LayoutLMv3ForSequenceClassification   layoutlmv3.body + dense_classifier
    """,
    W="D",
    body="""
    Side := W // K
    -                                                  when text_embed
      <embeddings>
      embeddings                                       @embeddings.layout
        {x}_position_embeddings   embedding P2 J       for x in ("x", "y")
        {x}_position_embeddings   embedding P2 H       for x in ("h", "w")
    -                                                  @embeddings.patch   when visual_embed
      patch_embed.proj            conv2d N D K
      cls_token                   parameter 1 1 D
      pos_embed                   parameter 1 Side*Side+1 D
      LayerNorm, norm             layer_norm D
    encoder.layer × L
      <attention>
      <feed_forward>
    encoder                                            @encoder.relative_position
      rel_pos_bias                linear B A bias=False    when has_relative_attention_bias
      rel_pos_{x}_bias            linear B2 A bias=False   when has_spatial_attention_bias   for x in ("x", "y")
    """,
    token_classifier=f"""
    {heads.CLASSIFIER}   when C < 10
    -   when C >= 10
      <dense_classifier>
    """,
    span=heads.DENSE_CLASSIFIER.replace("classifier", "qa_outputs"),
)
"""LayoutLMv3 (Huang et al. 2022, arXiv 2204.08387): BERT with positions on the page, and patches of its image.

A word's position, height and width add 2·P2·J + 2·P2·H to BERT's embeddings. Patches have N·D·K² + D, and D for their
first token, ((W/K)² + 1)·D for positions and 4·D of norms. Distances add B·A to BERT's layers for the text, and 2·B2·A
for the page. Switches of the config leave parts out. The classifier of tokens is one matrix for fewer than ten labels;
from ten labels on, D² + D come before it.
"""

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
    LiltModel
    LiltForSequenceClassification   lilt.body + dense_classifier
    LiltForTokenClassification, LiltForQuestionAnswering
    """,
    body="""
    N := D // R
    M := I // R
    <bert>
    encoder.layer × L                                                    @encoder.layout
      attention.self
        layout_query, layout_key, layout_value   linear N N
      attention.layout_output.dense              linear N N
      attention.layout_output.LayerNorm          layer_norm N
      layout_intermediate.dense                  linear N M
      layout_intermediate.intermediate_act_fn    activation hidden_act
      layout_output.dense                        linear M N
      layout_output.LayerNorm                    layer_norm N
    layout_embeddings                                                    @embeddings.layout
      {axis}_position_embeddings                 embedding P2 D//6       for axis in ("x", "y", "h", "w")
      box_position_embeddings                    embedding P N
      box_linear_embeddings                      linear D N
      LayerNorm                                  layer_norm N
    """,
)
"""LiLT (Wang et al. 2022, arXiv 2202.13669): RoBERTa beside a narrow transformer for the positions of its words.

The narrow transformer has the width N = D/R, and M = I/R in its feed-forward layers. It adds to BERT embeddings of
4·P2·(D/6) + P·N + D·N + 3·N (six vectors of width D/6 make one), and layers of L·(4·N² + 2·N·M + 9·N + M).
"""

MARKUPLM = family(
    "markuplm",
    ENCODER,
    sizes="X max_xpath_tag_unit_embeddings 256, Y max_xpath_subs_unit_embeddings 1024, U xpath_unit_hidden_size 32,"
    "M max_depth 50 layers",
    switches="only",
    classes="*Model, *ForSequenceClassification, *ForTokenClassification, *ForQuestionAnswering",
    stem="MarkupLM",
    body="""
    <bert>
    embeddings.xpath_embeddings                       @embeddings.path
      xpath_unitseq2_embeddings      linear M*U D
      xpath_unitseq2_inner           linear M*U 4*D
      inner2emb                      linear 4*D D
      xpath_tag_sub_embeddings × M   embedding X U
      xpath_subs_sub_embeddings × M  embedding Y U
    """,
)
"""MarkupLM (Li et al. 2021, arXiv 2110.08518): BERT that also reads a word's path in the tree of a page.

Paths of M steps add tables of M·U·(X + Y) to BERT, and matrices of 5·M·U·D + 4·D² + 6·D, of which
``xpath_unitseq2_embeddings`` is unused.
"""
