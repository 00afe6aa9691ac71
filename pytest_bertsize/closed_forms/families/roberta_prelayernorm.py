"""RoBERTa-PreLayerNorm (Wettig et al. 2022, arXiv 2202.08005) and other pre-norm families.

BERT, and 2·D of norm after the last layer; in the other families, this norm replaces the one after the embeddings.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.families.roberta import ROBERTA
from pytest_bertsize.closed_forms.parts import relative_positions

ROBERTA_PRELAYERNORM = family(
    "roberta-prelayernorm",
    ROBERTA,
    stem="RobertaPreLayerNorm",
    body="""
    embeddings
      word_embeddings            embedding V D   @embeddings.word
      position_embeddings        embedding P D   @embeddings.position
      token_type_embeddings      embedding T D   @embeddings.token_type
      <norm>
    encoder.layer × L
      attention                                  @encoder.attention
        {before_attention}       layer_norm D    @encoder.norm
        self
          query, key, value      linear D D
          <distances>
        output.dense             linear D D
      crossattention                             @encoder.cross_attention  when add_cross_attention
        {before_attention}       layer_norm D    @encoder.norm
        self
          query, key, value      linear D D
          <across>
        output.dense             linear D D
      {before_feed_forward}      layer_norm D    @encoder.norm
      intermediate                               @encoder.feed_forward
        dense                    linear D I
        intermediate_act_fn      activation hidden_act
      output.dense               linear I D      @encoder.feed_forward
    {after_encoder}              layer_norm D    @encoder.norm
    <pooler>
    """,
    norm="LayerNorm              layer_norm D    @embeddings.norm",
    before_attention="LayerNorm",
    before_feed_forward="intermediate.LayerNorm",
    after_encoder="LayerNorm",
    across="",
)
"""``norm`` is the norm of the embeddings, ``across`` cross-attention's table of distances; both may be empty."""

XLM_ROBERTA_XL = family(
    "xlm-roberta-xl",
    ROBERTA_PRELAYERNORM,
    sizes="V 250880, D 2560, L 36, A 32, I 10240, P 514, T 1",
    stem="XLMRobertaXL",
    under="roberta",
    norm="",
    before_attention="self_attn_layer_norm",
    before_feed_forward="LayerNorm",
    after_encoder="encoder.LayerNorm",
)
"""XLM-RoBERTa-XL (Goyal et al. 2021, arXiv 2105.00572): XLM-RoBERTa with billions of parameters."""

MEGATRON_BERT = family(
    "megatron-bert",
    BERT,
    sizes="V 29056, D 1024, L 24, A 16, I 4096",
    stem="MegatronBert",
    under="bert",
    causal="ForCausalLM",
    body=ROBERTA_PRELAYERNORM.trees["body"],
    norm="",
    before_attention="ln",
    before_feed_forward="ln",
    after_encoder="encoder.ln",
    across=relative_positions.DISTANCES,
)
"""Megatron-BERT (Shoeybi et al. 2019, arXiv 1909.08053): pre-norm, with BERT's classes."""
