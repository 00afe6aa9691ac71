"""The text model of CLIP (Radford et al. 2021, arXiv 2103.00020): a pre-norm transformer with learned positions.

V·D + P·D + L·(4·D² + 2·D·I + 9·D + I) + 2·D; the class with a projection has D·J more, without a bias.
"""

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.parts.unused_keys import UNUSED_KEYS

TEXT = """
embeddings.token_embedding     embedding V D          @embeddings.word
embeddings.position_embedding  embedding P D          @embeddings.position
encoder.layers × L
  layer_norm1                  layer_norm D           @encoder.norm
  self_attn                                           @encoder.attention  attends 2*D
    q_proj, k_proj, v_proj     linear D D
    out_proj                   linear D D
  layer_norm2                  layer_norm D           @encoder.norm
  mlp                                                 @encoder.feed_forward
    activation_fn              activation hidden_act
    fc1                        linear D I
    fc2                        linear I D
final_layer_norm               layer_norm D           @encoder.norm
"""
ALONE = """
text_model   when before(5, 6)
  <inside>
-            when not before(5, 6)
  <inside>
"""
"""A model under no name of its own, as it is since transformers 5.6."""

KEYS = keys(
    "V 49408, D 512, L 12 layers from 0, A 8, I 2048, P 77, J projection_dim 512",
    activations="hidden_act quick_gelu",
    divisible=(("hidden_size", "num_attention_heads"),),
    ignored=UNUSED_KEYS,
)

CLASSES = """
CLIPTextModel                 alone
CLIPTextModelWithProjection   text_model.text + projection
"""

FAMILY = family(
    "clip_text_model",
    KEYS,
    CLASSES,
    text=TEXT,
    alone=fill(ALONE, inside=TEXT),
    projection="text_projection   linear D J bias=False   @head.projection   reads text",
)
