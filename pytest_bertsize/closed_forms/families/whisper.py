"""Whisper (Radford et al. 2022, arXiv 2212.04356): an encoder of sound and a decoder of text.

The convolutions turn frames of M frequencies into half as many vectors; keys have no bias.
"""

from pytest_bertsize.closed_forms.declare import family, read_rules
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.older_releases import before, without_alias

CONVOLUTIONS = """
conv1                        conv1d M D 3   @embeddings.convolution
conv2                        conv1d D D 3   @embeddings.convolution
"""
PADS_WITHIN = read_rules("PADS_WITHIN")
ALIAS = without_alias("encoder_attention_heads", "num_key_value_heads")

WHISPER = family(
    "whisper",
    bart.MBART,
    sizes="V 51865, D 384, L 4, A encoder_attention_heads 6 or num_attention_heads or num_key_value_heads, I 1536,"
    "Ld 4, Ad 6, Id 1536, P max_source_positions 1500, Pd max_target_positions 448, M num_mel_bins 80,"
    "F classifier_proj_size 256",
    switches="use_weighted_layer_sum false",
    indices="pad_token_id 50256",
    until=(*bart.BART.keys.until, before("4.43.0", ALIAS, "whisper", "configuration")),
    classes="""
    WhisperModel                     both
    WhisperForConditionalGeneration  model.both + proj_out
    WhisperForCausalLM               model.decoder + proj_out
    WhisperForAudioClassification    encoder + audio_head
    """,
    both="<encoder>\n<decoder>",
    encoder=fill(bart.BART.trees["encoding"], words=CONVOLUTIONS, positions=bart.SINUSOIDS),
    positions="embed_positions   embedding Pd D",
    norms=bart.LAST_NORM,
    attention="q_proj, v_proj, out_proj   linear D D\nk_proj   linear D D bias=False",
    proj_out=heads.projection("proj_out", "model.decoder.embed_tokens.weight"),
    audio_head="""
    layer_weights                parameter L+1  @head.layer_weights  when use_weighted_layer_sum
    projector                    linear D F     @head.transform
    classifier                   linear F C     @head.classifier
    """,
    tree_rules={"both": (*bart.ENCODES, *PADS_WITHIN), "decoder": PADS_WITHIN, "encoder": bart.ENCODES},
)
