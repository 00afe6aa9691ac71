"""DeBERTa-v2 and -v3 (He et al. 2020 and 2021, arXiv 2006.03654 and 2111.09543): DeBERTa with buckets of distances.

3·(D·N + N) of projections in each layer, N = A·S, or D where S is left out; D·N + N more where content looks at
positions, and again where they look at content, unless they share the keys. The table has 2·B·D for B buckets, every
distance where there are none (-1), and perhaps 2·D of norm. Beside the first layer there may be a convolution over K
tokens in G groups, D·D/G·K + 3·D. Most of the keys that tell checkpoints apart are not declared by the library's config
class.
"""

from pytest_bertsize.closed_forms.declare import Choice, extend, family
from pytest_bertsize.closed_forms.families import deberta

DEBERTA_V2 = family(
    "deberta-v2",
    extend(
        deberta.KEYS,
        "V 128100, D 1536, L 24, A 24, I 6144, S attention_head_size none, B position_buckets none from -1,"
        "K conv_kernel_size none from 0, G conv_groups none",
        switches="only relative_attention false, position_biased_input true, share_att_key false, legacy true,"
        "tie_word_embeddings true",
        choices=(*deberta.KEYS.choices, Choice("norm_rel_ebd", "none", ("none", "layer_norm"))),
        rules="""
        hidden_size: not get(conv_kernel_size, 0) or hidden_size % get(conv_groups, 1) == 0
          hidden_size {hidden_size:,} is not a multiple of conv_groups {conv_groups:,}
          write a multiple of {conv_groups:,}
        """,
    ),
    f"{deberta.CLASSES}*ForMultipleChoice  deberta.body + pooler + choice",
    deberta.PARTS,
    stem="DebertaV2",
    under="deberta",
    reach="(B if get(B,-1) > 0 else Far)",
    projections="""
    N := A*S if get(S,0) else D
    query_proj, key_proj     linear D N
    value_proj               linear D N
    -                                               @encoder.relative_position   when looks_at_positions
      pos_key_proj           linear D N             when "c2p" in pos_att_type
      pos_query_proj         linear D N             when "p2c" in pos_att_type
    looks_at_positions := relative_attention and not share_att_key
    """,
    more="""
    LayerNorm                layer_norm D           @encoder.relative_position   when norm_rel_ebd == "layer_norm"
    conv                                            @encoder.convolution         when get(K,0)
      conv                   conv1d D//get(G,1) D K
      LayerNorm              layer_norm D           @encoder.norm
    """,
)
