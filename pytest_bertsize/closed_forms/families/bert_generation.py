"""BERT for generation (Rothe et al. 2019, arXiv 1907.12461): BERT without token types, as encoder and as decoder.

V·D + P·D + 2·D of embeddings and BERT's layers; V of output bias; untied, V·D + V more. There is no transform, and no
class pools.
"""

from pytest_bertsize.closed_forms.declare import extend, family, fill, read_sizes
from pytest_bertsize.closed_forms.families import bert, distilbert
from pytest_bertsize.closed_forms.parts import heads

BODY = """
embeddings
  word_embeddings            embedding V D   @embeddings.word
  position_embeddings        embedding P D   @embeddings.position
  LayerNorm                  layer_norm D    @embeddings.norm
encoder.layer × L
  <attention>
  <crossattention>
  <feed_forward>
"""
LAYERS = {"attention": bert.ATTENTION, "crossattention": bert.CROSS_ATTENTION, "feed_forward": bert.FEED_FORWARD}
LM_HEAD = """
lm_head
  bias                       parameter V     @head.decoder
  <decoder>
"""
WORDS = "bert.embeddings.word_embeddings.weight"
KEYS = extend(
    bert.KEYS,
    sizes=read_sizes("V 50358, D 1024, L 24 layers from 0, A 16, I 4096, P 512"),
    more_ignored={"type_vocab_size": distilbert.NO_TOKEN_TYPES._replace(harmless=())},
)

CLASSES = """
BertGenerationEncoder   body
BertGenerationDecoder   bert.body + lm_head
"""

FAMILY = family(
    "bert-generation",
    KEYS,
    CLASSES,
    body=fill(BODY, **LAYERS),
    lm_head=fill(LM_HEAD, decoder=heads.DECODER, width="D", words=WORDS, bias="lm_head.bias"),
)
