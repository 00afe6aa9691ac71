"""ESM-1b and ESM-2 (Rives et al. 2021 and Lin et al. 2023, doi 10.1126/science.ade2574): a pre-norm BERT for proteins.

ESMFold has the same ``model_type``, but its own class and nested config; it has no closed form here. Positions are as
in models/esm/modeling_esm.py of v4.51.0 and of v4.52.1.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import Choice

POSITIONS = ("absolute", "rotary", "relative_key", "relative_key_query")  # transformers 5 makes the first two

ESM = family(
    "esm",
    sizes="V none, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 1026",
    switches="emb_layer_norm_before false null, is_decoder false, add_cross_attention false needs is_decoder,"
    "tie_word_embeddings true",
    choices=(Choice("position_embedding_type", "absolute", POSITIONS, null=True),),
    rules="""
    vocab_size != None
      the key vocab_size is missing, and the library has no default for it
      write "vocab_size": 33, if the tokens are those of ESM-2
    """,
    ignored="pruned_heads, embedding_size, add_pooling_layer",
    classes="""
    *Model, *ForMaskedLM, *ForTokenClassification
    *ForSequenceClassification   esm.body + dense_classifier
    """,
    trees=BERT.trees,
    position_embeddings="position_embeddings  embedding P D  @embeddings.position  "
    'when before(4, 52) or position_embedding_type == "absolute"',
    segment_embeddings="",
    embeddings_norm="layer_norm  layer_norm D  @embeddings.norm  when emb_layer_norm_before",
    attention_norm="LayerNorm",
    cross_distances="<distances>",
    feed_forward="""
    intermediate.dense             linear D I      @encoder.feed_forward
    output.dense                   linear I D      @encoder.feed_forward
    LayerNorm                      layer_norm D    @encoder.norm
    """,
    after_layers="""
    encoder.emb_layer_norm_after   layer_norm D    @encoder.norm
    contact_head.regression        linear L*A 1    @head.contact
    """,
    lm_head=heads.lm_head(last=heads.projection("decoder", "esm.embeddings.word_embeddings.weight")),
)
