"""ModernBERT (Warner et al. 2024, arXiv 2412.13663): a pre-norm encoder with rotary positions and few biases.

The first layer has one norm less, and every bias is a switch.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.older_releases import before, replaced

MODERNBERT = family(
    "modernbert",
    sizes="V 50368, D 768, L 22 layers, A 12 divides D, I 1152",
    switches="norm_bias false, attention_bias false, mlp_bias false, decoder_bias true, classifier_bias false,"
    "tie_word_embeddings true",
    activations="hidden_activation gelu, classifier_activation gelu",
    indices="pad_token_id 50283",
    rules="PADS_WITHIN",
    ignored="ROTARY, embedding_size, add_pooling_layer",
    classes="""
    ModernBertModel
    *ForMaskedLM             model.body + transform + decoder
    *ForSequenceClassification, *ForTokenClassification   model.body + transform + classifier
    *ForQuestionAnswering    model.body + transform + classifier   since 4.51
    *ForMultipleChoice       model.body + transform + choice       since 4.55
    """,
    body="""
    embeddings.tok_embeddings    embedding V D                     @embeddings.word
    embeddings.norm              layer_norm D bias=norm_bias       @embeddings.norm
    layers × 1..L
      attn_norm                  layer_norm D bias=norm_bias       @{stack}.norm
    layers × L
      attn                                                         @{stack}.attention
        <inputs>
        Wo                       linear D D bias=attention_bias
      mlp_norm                   layer_norm D bias=norm_bias       @{stack}.norm
      mlp                                                          @{stack}.feed_forward
        Wi                       linear D 2*I bias=mlp_bias
        act                      activation hidden_activation
        Wo                       linear I D bias=mlp_bias
    final_norm                   layer_norm D bias=norm_bias       @{stack}.norm
    """,
    stack="encoder",
    inputs="Wqkv                 linear D 3*D bias=attention_bias",
    transform="""
    {head}                                                         @head.transform
      dense                      linear D D bias=classifier_bias
      act                        activation classifier_activation
      norm                       layer_norm D bias=norm_bias
    """,
    head="head",
    decoder=heads.projection("decoder", "model.embeddings.tok_embeddings.weight", bias="decoder_bias"),
    since=(4, 48),
)

PADS = """
pad_token_id != None
  pad_token_id is null, which the class refuses
  write the index of the padding token
"""
# ModernBERT's decoder (Weller et al. 2025, Ettin, arXiv 2507.11412): queries, keys and values have a matrix each.
MODERNBERT_DECODER = family(
    "modernbert-decoder",
    MODERNBERT,
    rules=f"{PADS}PADS_WITHIN",
    until=(before("5.4.0", replaced(rules=MODERNBERT.keys.rules), "modernbert_decoder", "configuration"),),
    classes="""
    ModernBertDecoderModel
    *ForCausalLM                 model.body + lm_head + decoder
    *ForSequenceClassification   model.body + transform + scores
    """,
    stack="decoder",
    inputs="q_proj, k_proj, v_proj  linear D D bias=attention_bias",
    lm_head=MODERNBERT.trees["transform"].replace("{head}", "lm_head"),
    scores="classifier           linear D C bias=classifier_bias   @head.classifier",
    since=(4, 54),
)
