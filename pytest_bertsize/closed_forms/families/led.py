"""LED (Beltagy et al. 2020, arXiv 2004.05150, section 7): BART whose encoder attends as Longformer does.

7·(D² + D) in each attention of the encoder, three of them for tokens that look at all; P·D of positions in the encoder,
Pd·D in the decoder.
"""

from pytest_bertsize.closed_forms.declare import extend, family
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.parts import heads

ENCODER = f"""
encoder
  {bart.WORDS.replace("{rows}", "V")}{bart.TIED}
  embed_positions                               embedding P D                   @encoder.position
  layers × L
    self_attn                                                                   @encoder.attention
      longformer_self_attn
        query, key, value                       linear D D
        query_global, key_global, value_global  linear D D
      output                                    linear D D
    self_attn_layer_norm                        layer_norm D                    @encoder.norm
    activation_fn                               activation activation_function  @encoder.feed_forward
    fc1                                         linear D I                      @encoder.feed_forward
    fc2                                         linear I D                      @encoder.feed_forward
    final_layer_norm                            layer_norm D                    @encoder.norm
  layernorm_embedding                           layer_norm D                    @encoder.norm
"""
DECODER = bart.stack("decoder", positions=bart.POSITIONS.replace("P+2", "Pd"))

LED = family(
    "led",
    extend(bart.KEYS, "P max_encoder_position_embeddings 16384, Pd max_decoder_position_embeddings 1024"),
    """
    LEDModel                     both
    LEDForConditionalGeneration  led.both + lm_head
    LEDForQuestionAnswering      led.both + span
    """,
    both=f"{bart.SHARED}{ENCODER}{DECODER}",
    lm_head=heads.projection("lm_head", "led.shared.weight"),
    span=heads.TWO_LABEL_SPAN,
    rules=bart.ENCODES,
)
