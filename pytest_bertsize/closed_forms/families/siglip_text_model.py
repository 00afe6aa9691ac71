"""The text model of SigLIP (Zhai et al. 2023, arXiv 2303.15343): CLIP's with a head that has a bias.

D·J + J of a projection, as wide as the layers unless the config says so.
"""

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.families import clip_text_model as clip
from pytest_bertsize.config.keys import Until
from pytest_bertsize.config.older_releases import file_in, without

TEXT = f"{clip.TEXT}head   linear D get(J,D)   @head.projection   reads text"

KEYS = keys(
    "V 32000, D 768, L 12 layers from 0, A 12, I 3072, P 64, J projection_size none",
    activations="hidden_act gelu_pytorch_tanh",
    divisible=clip.KEYS.divisible,
    ignored=clip.KEYS.ignored,
    until=(Until((4, 50), without("projection_size"), file_in("4.50.0", "siglip", "configuration")),),
)

FAMILY = family("siglip_text_model", KEYS, "SiglipTextModel   alone", alone=fill(clip.ALONE, inside=TEXT))
