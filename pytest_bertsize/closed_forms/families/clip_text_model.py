"""The text model of CLIP (Radford et al. 2021, arXiv 2103.00020): a pre-norm transformer with learned positions."""

from pytest_bertsize.closed_forms.declare import family
from pytest_bertsize.config.older_releases import before, without

# Since transformers 5.6, ``CLIPTextModel`` no longer has its modules under an attribute ``text_model``.
CLIP_TEXT_MODEL = family(
    "clip_text_model",
    sizes="V 49408, D 512, L 12 layers from 0, A 8 divides D, I 2048, P 77, J projection_dim 512",
    activations="hidden_act quick_gelu",
    ignored="OF_BERT",
    classes="""
    CLIPTextModel                 alone
    CLIPTextModelWithProjection   text_model.text + projection
    """,
    text="""
    embeddings.token_embedding     embedding V D          @embeddings.word
    embeddings.position_embedding  embedding P D          @embeddings.position
    encoder.layers × L
      layer_norm1                  layer_norm D           @encoder.norm
      self_attn                                           @encoder.attention
        q_proj, k_proj, v_proj, out_proj   linear D D
      layer_norm2                  layer_norm D           @encoder.norm
      mlp                                                 @encoder.feed_forward
        activation_fn              activation hidden_act
        fc1                        linear D I
        fc2                        linear I D
    final_layer_norm               layer_norm D           @encoder.norm
    <head>
    """,
    alone="text_model   when before(5, 6)\n  <text>\n-   when not before(5, 6)\n  <text>",
    head="",
    projection="text_projection   linear D J bias=False   @head.projection",
)

# The text model of SigLIP (Zhai et al. 2023, arXiv 2303.15343): CLIP's with a head.
SIGLIP_TEXT_MODEL = family(
    "siglip_text_model",
    CLIP_TEXT_MODEL,
    sizes="only V 32000, D 768, L 12 layers from 0, A 12 divides D, I 3072, P 64, J projection_size none",
    activations="hidden_act gelu_pytorch_tanh",
    until=(before("4.50.0", without("projection_size"), "siglip", "configuration"),),
    classes="SiglipTextModel   alone",
    head="head   linear D get(J,D)   @head.projection",
)
