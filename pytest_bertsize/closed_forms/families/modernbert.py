"""ModernBERT (Warner et al. 2024, arXiv 2412.13663): a pre-norm encoder with rotary positions, short of biases.

V·D + D + L·(4·D² + 3·D·I + 2·D): the first layer has one norm less, and there is one after the last. Every bias is a
switch. All classes but the body have a dense layer and a norm, D² + 2·D, before their own output.
"""

from pytest_bertsize.closed_forms.declare import family, keys
from pytest_bertsize.closed_forms.parts import heads, rotary
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.config.keys import Index

BODY = """
embeddings.tok_embeddings    embedding V D                     @embeddings.word
embeddings.norm              layer_norm D bias=norm_bias       @embeddings.norm
layers × 1..L
  attn_norm                  layer_norm D bias=norm_bias       @encoder.norm
layers × L
  attn                                                         @encoder.attention
    Wqkv                     linear D 3*D bias=attention_bias
    Wo                       linear D D bias=attention_bias
  mlp_norm                   layer_norm D bias=norm_bias       @encoder.norm
  mlp                                                          @encoder.feed_forward
    Wi                       linear D 2*I bias=mlp_bias
    act                      activation hidden_activation
    Wo                       linear I D bias=mlp_bias
final_norm                   layer_norm D bias=norm_bias       @encoder.norm
"""
TRANSFORM = """
head                                                           @head.transform
  dense                      linear D D bias=classifier_bias
  act                        activation classifier_activation
  norm                       layer_norm D bias=norm_bias
"""

KEYS = keys(
    "V 50368, D 768, L 22 layers, A 12, I 1152",
    switches="norm_bias false, attention_bias false, mlp_bias false, decoder_bias true, classifier_bias false,"
    "tie_word_embeddings true",
    activations="hidden_activation gelu, classifier_activation gelu",
    divisible=(("hidden_size", "num_attention_heads"),),
    indices=(Index("pad_token_id", 50283),),
    rules=(rotary.PADS_WITHIN,),
    ignored={**rotary.UNUSED_KEYS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
)

CLASSES = """
ModernBertModel                        body
ModernBertForMaskedLM                  model.body + transform + decoder
ModernBertForSequenceClassification    model.body + transform + classifier
ModernBertForTokenClassification       model.body + transform + classifier
ModernBertForQuestionAnswering         model.body + transform + classifier   since 4.51
ModernBertForMultipleChoice            model.body + transform + choice       since 4.55
"""

FAMILY = family(
    "modernbert",
    KEYS,
    CLASSES,
    body=BODY,
    transform=TRANSFORM,
    decoder=heads.projection("decoder", "model.embeddings.tok_embeddings.weight", bias="decoder_bias"),
    since=(4, 48),
)
