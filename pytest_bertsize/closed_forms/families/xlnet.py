"""XLNet (Yang et al. 2019, arXiv 1906.08237): relative positions without a table; shapes have a dimension for heads."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

XLNET = family(
    "xlnet",
    sizes="V 32000 or n_token, D d_model 1024, L n_layer 24 layers from 0 or num_hidden_layers, A n_head 16 divides D,"
    "I d_inner 4096, H d_head none, P none",
    switches="tie_word_embeddings true, summary_use_proj true, summary_proj_to_labels false",
    activations="ff_activation gelu",
    choices=heads.summary_choices("last", "tanh"),
    rules="""
    max_position_embeddings == None
      max_position_embeddings is {max_position_embeddings:,}: XLNet has no maximum length, and refuses the key
      remove it
    d_head in (None, d_model // n_head)
      d_head is {d_head:,}, but the class requires d_model {d_model:,} divided by n_head {n_head:,}
      remove it
    """,
    ignored="add_cross_attention",
    classes="""
    XLNetModel, *LMHeadModel, *ForTokenClassification
    *ForSequenceClassification   transformer.body + summary + logits
    *ForMultipleChoice           transformer.body + summary + choice
    *ForQuestionAnsweringSimple  transformer.body + span
    *ForQuestionAnswering        transformer.body + searched_span
    """,
    body="""
    mask_emb                     parameter 1 1 D           @embeddings.mask
    word_embedding               embedding V D             @embeddings.word
    layer × L
      rel_attn                                             @encoder.attention
        q, k, v, o               parameter D A D//A
        r                        parameter D A D//A        @encoder.relative_position
        r_r_bias, r_w_bias       parameter A D//A          @encoder.relative_position
        r_s_bias                 parameter A D//A          @encoder.relative_segment
        seg_embed                parameter 2 A D//A        @encoder.relative_segment
        layer_norm               layer_norm D              @encoder.norm
      ff                                                   @encoder.feed_forward
        layer_norm               layer_norm D              @encoder.norm
        layer_1                  linear D I
        layer_2                  linear I D
        activation_function      activation ff_activation
    """,
    lm_head=heads.projection("lm_loss", "transformer.word_embedding.weight", bias="True"),
    logits="logits_proj   linear D C   @head.classifier",
    choice="logits_proj   linear D 1   @head.classifier",
    searched_span=heads.SEARCHED_SPAN.replace("{place}", "-"),
)
