"""MPNet (Song et al. 2020, arXiv 2004.09297): BERT without token types, whose layers share one bias of distances.

The class always uses row 1 of the word table for padding.
"""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.closed_forms.families.roberta import ENCODERS

MPNET = family(
    "mpnet",
    sizes="V 30527 from 2, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 512 from 2,"
    "R relative_attention_num_buckets 32",
    switches="tie_word_embeddings true",
    activations="hidden_act gelu",
    ignored="NO_SEGMENTS, add_pooling_layer",
    classes=ENCODERS,
    stem="MPNet",
    trees="roberta",
    segment_embeddings="",
    attention="""
    attn.q, attn.k, attn.v, attn.o   linear D D
    LayerNorm                        layer_norm D   @encoder.norm
    """,
    after_layers="encoder.relative_attention_bias   embedding R A   @encoder.relative_position",
)
