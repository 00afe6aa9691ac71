"""DeBERTa (He et al. 2020, arXiv 2006.03654): BERT whose attention also uses relative positions.

Queries, keys and values are one matrix, and keys have no bias. All layers share one table of distances.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import ENCODER
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice, Listing, Until
from pytest_bertsize.config.older_releases import without

# ``reach`` is the number of positions of the table in each direction. If the head without ``legacy`` is tied in
# transformers 4, its dense layer is the words' matrix (https://github.com/huggingface/transformers/pull/22105). From
# 5.0 to 5.16, the words' matrix has a second name in a tied head.
DEBERTA = family(
    "deberta",
    ENCODER,
    sizes="V 50265, T 0 from 0, M max_relative_positions -1 from -1, E none, H pooler_hidden_size none",
    switches="relative_attention false, position_biased_input true, talking_head false, legacy true",
    lists=(Listing("pos_att_type", (), str, words=("c2p", "p2c"), separator="|"),),
    ignored="""only
    position_embedding_type, pruned_heads, add_cross_attention, add_pooling_layer
    summary_use_proj [false]: the pooler of this family always projects
    """,
    until=(Until((4, 47), without("legacy"), "https://github.com/huggingface/transformers/pull/22105"),),
    classes="""
    *Model, *ForMaskedLM, *ForTokenClassification, *ForQuestionAnswering
    *ForSequenceClassification   deberta.body + context_pooler + classifier
    """,
    embeddings="""
    embeddings
      word_embeddings            embedding V get(E,D)           @embeddings.word
      position_embeddings        embedding P get(E,D)           @embeddings.position     when position_biased_input
      token_type_embeddings      embedding T get(E,D)           @embeddings.token_type   when T > 0
      embed_proj                 linear get(E,D) D bias=False   @embeddings.projection   when get(E,D) != D
      LayerNorm                  layer_norm D                   @embeddings.norm
    """,
    after_layers="""
    Far := M if M > 0 else P
    encoder
      rel_embeddings             embedding 2*{reach} D          @encoder.relative_position   when relative_attention
      <in_encoder>
    """,
    projections="""
    q_bias, v_bias               parameter D
    in_proj                      linear D 3*D bias=False
    head_logits_proj, head_weights_proj   linear A A bias=False   when talking_head
    -                                                           @encoder.relative_position   when relative_attention
      pos_proj                   linear D D bias=False          when "c2p" in pos_att_type
      pos_q_proj                 linear D D                     when "p2c" in pos_att_type
    """,
    reach="Far",
    in_encoder="",
    pooler="",
    context_pooler="pooler.dense  linear get(H,D) get(H,D)  @pooler",
    masked_lm="""
    named_again := tie_word_embeddings and before(5, 17) and not before(5)
    -   when get(legacy, True)
      <legacy>
    lm_predictions.lm_head       when not get(legacy, True)
      bias                       parameter V            @head.decoder
      dense                      linear D D             @head.transform   when not (before(5) and tie_word_embeddings)
      dense                      linear get(E,D) V      @head.transform   when before(5) and tie_word_embeddings  {ties}
      weight                     parameter V get(E,D)   @head.decoder     when named_again   {ties}
      transform_act_fn           activation hidden_act  @head.transform
      LayerNorm                  layer_norm D           @head.transform
    """,
    legacy=heads.MASKED_LM,
    ties="tied weight=deberta.embeddings.word_embeddings.weight",
)

# DeBERTa-v2 and -v3 (He et al. 2020 and 2021, arXiv 2006.03654 and 2111.09543): DeBERTa with buckets of distances.
# The first layer may have a convolution. The library's config class lacks most of the keys that distinguish
# checkpoints.
DEBERTA_V2 = family(
    "deberta-v2",
    DEBERTA,
    sizes="V 128100, D 1536, L 24, A 24, I 6144, S attention_head_size none, B position_buckets none from -1,"
    "K conv_kernel_size none from 0, G conv_groups none",
    switches="only relative_attention false, position_biased_input true, share_att_key false, legacy true,"
    "tie_word_embeddings true",
    choices=(Choice("norm_rel_ebd", "none", ("none", "layer_norm")),),
    rules="""
    hidden_size: not get(conv_kernel_size, 0) or hidden_size % get(conv_groups, 1) == 0
      hidden_size {hidden_size:,} is not a multiple of conv_groups {conv_groups:,}
      write a multiple of {conv_groups:,}
    """,
    classes=f"{DEBERTA.classes}*ForMultipleChoice   deberta.body + context_pooler + choice",
    stem="DebertaV2",
    reach="(B if get(B,-1) > 0 else Far)",
    projections="""
    N := A*S if get(S,0) else D
    looks_at_positions := relative_attention and not share_att_key
    query_proj, key_proj, value_proj   linear D N
    -                                               @encoder.relative_position   when looks_at_positions
      pos_key_proj           linear D N             when "c2p" in pos_att_type
      pos_query_proj         linear D N             when "p2c" in pos_att_type
    """,
    in_encoder="""
    LayerNorm                layer_norm D           @encoder.relative_position   when norm_rel_ebd == "layer_norm"
    conv                                            @encoder.convolution         when get(K,0)
      conv                   conv1d D//get(G,1) D K
      LayerNorm              layer_norm D           @encoder.norm
    """,
)
