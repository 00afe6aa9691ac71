"""The text model of SigLIP (Zhai et al. 2023, arXiv 2303.15343): CLIP's with a head that has a bias.

D·J + J of a projection, as wide as the layers unless the config says so.
"""

from pytest_bertsize.closed_forms.declare import before, family, keys, without
from pytest_bertsize.closed_forms.families.clip_text_model import PARTS
from pytest_bertsize.closed_forms.parts.ignored import OF_BERT

SIGLIP_TEXT_MODEL = family(
    "siglip_text_model",
    keys(
        "V 32000, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 64, J projection_size none",
        activations="hidden_act gelu_pytorch_tanh",
        ignored=OF_BERT,
        until=(before("4.50.0", without("projection_size"), "siglip", "configuration"),),
    ),
    "SiglipTextModel   alone",
    PARTS,
    head="head   linear D get(J,D)   @head.projection",
)
