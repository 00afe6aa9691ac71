"""MarkupLM (Li et al. 2021, arXiv 2110.08518): BERT with paths in a page; xpath_unitseq2_embeddings is unused."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER

MARKUPLM = family(
    "markuplm",
    ENCODER,
    sizes="X max_xpath_tag_unit_embeddings 256, Y max_xpath_subs_unit_embeddings 1024, U xpath_unit_hidden_size 32,"
    "M max_depth 50 layers",
    switches="only",
    classes="*Model, *ForSequenceClassification, *ForTokenClassification, *ForQuestionAnswering",
    stem="MarkupLM",
    after_embeddings="""
    embeddings.xpath_embeddings                       @embeddings.path
      xpath_unitseq2_embeddings      linear M*U D
      xpath_unitseq2_inner           linear M*U 4*D
      inner2emb                      linear 4*D D
      xpath_tag_sub_embeddings × M   embedding X U
      xpath_subs_sub_embeddings × M  embedding Y U
    """,
)
