"""The decoder of ModernBERT's kind (Weller et al. 2025, Ettin, arXiv 2507.11412): attention in four.

V·D + D + L·(4·D² + 3·D·I + 2·D), and every bias a switch. ``lm_head`` is ModernBERT's dense layer by another name; the
classes of sequences score each token: which of them is the last is looked up behind.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import extend, family, fill
from pytest_bertsize.closed_forms.families import modernbert
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import ConfigKeys, Rule, Until
from pytest_bertsize.config.older_releases import file_in

BODY = """
embeddings.tok_embeddings    embedding V D                   @embeddings.word
embeddings.norm              layer_norm D bias=norm_bias     @embeddings.norm
layers × 1..L
  attn_norm                  layer_norm D bias=norm_bias     @decoder.norm
layers × L
  attn                                                       @decoder.attention  attends 2*D
    q_proj, k_proj, v_proj   linear D D bias=attention_bias
    Wo                       linear D D bias=attention_bias
  mlp_norm                   layer_norm D bias=norm_bias     @decoder.norm
  mlp                                                        @decoder.feed_forward
    Wi                       linear D 2*I bias=mlp_bias
    act                      activation hidden_activation
    Wo                       linear I D bias=mlp_bias
final_norm                   layer_norm D bias=norm_bias     @decoder.norm
"""
SCORES = """
-   reads token
  <transform>
  classifier                 linear D C bias=classifier_bias   @head.classifier
"""

PADS = Rule(
    ("pad_token_id",),
    lambda values: values["pad_token_id"] is not None,
    "pad_token_id is null, which the class refuses",
    "write the index of the padding token",
)


def _may_be_null(before: ConfigKeys) -> ConfigKeys:
    return replace(before, rules=tuple(rule for rule in before.rules if rule is not PADS))


KEYS = extend(
    modernbert.KEYS,
    rules=(PADS, *modernbert.KEYS.rules),
    until=(Until((5, 4), _may_be_null, file_in("5.4.0", "modernbert_decoder", "configuration")),),
)

CLASSES = """
ModernBertDecoderModel                       body
ModernBertDecoderForCausalLM                 model.body + lm_head + decoder
ModernBertDecoderForSequenceClassification   model.body + scores
"""

FAMILY = family(
    "modernbert-decoder",
    KEYS,
    CLASSES,
    body=BODY,
    lm_head=modernbert.TRANSFORM.replace("\nhead ", "\nlm_head "),
    decoder=heads.projection("decoder", "model.embeddings.tok_embeddings.weight", bias="decoder_bias"),
    scores=fill(SCORES, transform=modernbert.TRANSFORM),
    since=(4, 54),
)
