"""BERT for generation (Rothe et al. 2019, arXiv 1907.12461): BERT without token types, as encoder and as decoder.

V·D + P·D + 2·D of embeddings and BERT's layers; V of output bias; untied, V·D + V more. There is no transform, and no
class pools.
"""

from pytest_bertsize.closed_forms.declare import extend, family, read_sizes
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.parts import heads

BERT_GENERATION = family(
    "bert-generation",
    extend(
        bert.KEYS,
        sizes=read_sizes("V 50358, D 1024, L 24 layers from 0, A 16, I 4096, P 512"),
        ignored="type_vocab_size costs value*D when is_size: this family has no token types",
    ),
    """
    BertGenerationEncoder   body
    BertGenerationDecoder   bert.body + lm_head
    """,
    bert.PARTS,
    under="bert",
    pooler="",
    embeddings="""
    embeddings
      word_embeddings            embedding V D   @embeddings.word
      position_embeddings        embedding P D   @embeddings.position
      LayerNorm                  layer_norm D    @embeddings.norm
    """,
    lm_head=f"""
    lm_head
      bias                       parameter V     @head.decoder
      {heads.decoder("lm_head.bias")}
    """,
)
