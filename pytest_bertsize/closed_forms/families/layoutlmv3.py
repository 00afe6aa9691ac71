"""LayoutLMv3 (Huang et al. 2022, arXiv 2204.08387): BERT with positions on the page, and patches of its image."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER
from pytest_bertsize.closed_forms.parts import heads

LAYOUTLMV3 = family(
    "layoutlmv3",
    ENCODER,
    sizes="V 50265, P2 max_2d_position_embeddings 1024, J coordinate_size 128, H shape_size 128, B rel_pos_bins 32,"
    "B2 rel_2d_pos_bins 64, W input_size 224, K patch_size 16, N num_channels 3",
    switches="only has_relative_attention_bias true, has_spatial_attention_bias true, text_embed true,"
    "visual_embed true",
    classes="""
    LayoutLMv3Model, LayoutLMv3ForQuestionAnswering
    LayoutLMv3ForTokenClassification      layoutlmv3.body + token_classifier
    LayoutLMv3ForSequenceClassification   layoutlmv3.body + dense_classifier
    """,
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
      <layer>
    encoder                                            @encoder.relative_position
      rel_pos_bias                linear B A bias=False    when has_relative_attention_bias
      rel_pos_{x}_bias            linear B2 A bias=False   when has_spatial_attention_bias   for x in ("x", "y")
    """,
    token_classifier=f"""
    {heads.COMMON["classifier"]}   when C < 10
    -   when C >= 10
      <dense_classifier>
    """,
    span=heads.DENSE_CLASSIFIER.replace("classifier", "qa_outputs"),
)
