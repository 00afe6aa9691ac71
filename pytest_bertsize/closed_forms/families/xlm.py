"""XLM (Lample and Conneau 2019, arXiv 1901.07291): BERT's encoder with other names, and with languages for segments."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads

XLM = family(
    "xlm",
    sizes="V 30145 or n_words, D emb_dim 2048 or hidden_size, L n_layers 12 layers from 0 or num_hidden_layers,"
    "A n_heads 16 or num_attention_heads divides D, P 512, N n_langs 1",
    switches="is_encoder true, use_lang_emb true, asm false, tie_word_embeddings true, summary_use_proj true,"
    "summary_proj_to_labels true",
    choices=heads.summary_choices("first"),
    rules="""
    is_encoder
      is_encoder is false, which the class refuses: it has no decoder
      write "is_encoder": true
    not asm
      asm is true, and no closed form describes an adaptive softmax
      write "asm": false, or closed_form = false in the table
    """,
    ignored="""
    add_cross_attention, pruned_heads
    share_inout_emb [true] costs V*D when is_false: transformers reads tie_word_embeddings -> write \
"tie_word_embeddings": false, if that is intended
    """,
    classes="""
    *Model, *WithLMHeadModel, *ForTokenClassification
    *ForSequenceClassification     transformer.body + summary
    *ForMultipleChoice             transformer.body + summary + logits
    *ForQuestionAnsweringSimple    transformer.body + span
    *ForQuestionAnswering          transformer.body + searched_span
    """,
    stem="XLM",
    body="""
    position_embeddings              embedding P D   @embeddings.position
    lang_embeddings                  embedding N D   @embeddings.language   when use_lang_emb and N > 1
    embeddings                       embedding V D   @embeddings.word
    layer_norm_emb                   layer_norm D    @embeddings.norm
    attentions × L                                   @encoder.attention
      q_lin, k_lin, v_lin, out_lin   linear D D
    ffns × L                                         @encoder.feed_forward
      lin1                           linear D 4*D
      lin2                           linear 4*D D
    layer_norm1, layer_norm2 × L     layer_norm D    @encoder.norm
    """,
    lm_head=heads.projection("pred_layer.proj", "transformer.embeddings.weight", bias="True"),
    logits="logits_proj   linear C 1   @head.classifier",
    searched_span=heads.SEARCHED_SPAN.replace("{place}", "qa_outputs"),
)
FLAUBERT = family("flaubert", XLM)  # Le et al. 2019, arXiv 1912.05372: XLM for French
