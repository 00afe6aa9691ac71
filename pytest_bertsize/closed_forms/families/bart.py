"""BART (Lewis et al. 2019, arXiv 1910.13461): an encoder and a decoder that share their word embeddings; and its kin.

V·D of words, untied 3·V·D; for each stack (P + 2)·D of positions, of which the first two are never used (fairseq's
offset), L·(4·D² + 2·D·I + 9·D + I), to which a decoder's cross-attention adds L·(4·D² + 6·D), and 2·D of norm.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import extend, family, keys
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import multiple
from pytest_bertsize.config.older_releases import before, without_alias

STACK = """
{stack}
  <words>
  <positions>
  layers × {layers}
    self_attn                                                   @{stack}.attention
      q_proj, v_proj, out_proj  linear D D
      k_proj                    linear D D bias={key_bias}
    self_attn_layer_norm        layer_norm D                    @{stack}.norm
    encoder_attn                                                @{stack}.cross_attention  when {crosses}
      q_proj, v_proj, out_proj  linear D D
      k_proj                    linear D D bias={key_bias}
    encoder_attn_layer_norm     layer_norm D                    @{stack}.norm             when {crosses}
    activation_fn               activation activation_function  @{stack}.feed_forward
    fc1                         linear D {inner}                @{stack}.feed_forward
    fc2                         linear {inner} D                @{stack}.feed_forward
    final_layer_norm            layer_norm D                    @{stack}.norm
  <norms>
"""
SHARED = "shared                embedding V D        @embeddings.word"
WORDS = "embed_tokens           embedding {rows} D   @embeddings.word"
TIED = "  tied weight=~shared.weight if tie_word_embeddings or before(5)"
"""Ties: in transformers 4 whatever the config says; https://github.com/huggingface/transformers/pull/42191."""
POSITIONS = "embed_positions    embedding P+2 D      @{stack}.position"
SINUSOIDS = "embed_positions    embedding P D        @{stack}.position  frozen"
"""Positions that are stored and not trained (Vaswani et al. 2017, section 3.5)."""
EMBEDDING_NORM = "layernorm_embedding   layer_norm D  @{stack}.norm"
LAST_NORM = "layer_norm             layer_norm D         @{stack}.norm"

STACKS = {
    "encoder": {"layers": "L", "inner": "I", "crosses": "False"},
    "decoder": {"layers": "Ld", "inner": "Id", "crosses": "True"},
}


def stack(name: str, *, words: str = WORDS, tied: str = TIED, rows: str = "V", **parts: str) -> str:
    """Return the encoder or the decoder, which always has cross-attention.

    :param words: what makes vectors of the input.
    :param tied: to what the word embeddings are tied, and when.
    :param rows: of the word embeddings.
    :param parts: ``positions``, ``norms`` and ``key_bias``, where they are not BART's.
    """
    chosen = {"positions": POSITIONS, "norms": EMBEDDING_NORM, "key_bias": "True", **parts}
    return fill(fill(STACK, words=f"{words}{tied}", **chosen), stack=name, rows=rows, **STACKS[name])


def trees(**parts: str) -> dict[str, str]:
    """Return the bodies and heads of BART and its kin; the decoder alone ties to nothing but its head.

    :param parts: as :func:`stack` has them.
    """
    return {
        "both": f"{SHARED}{stack('encoder', **parts)}{stack('decoder', **parts)}",
        "decoder": stack("decoder", tied="", **parts),
        "lm_head": heads.projection("lm_head", "model.shared.weight"),
        "causal_head": heads.projection("lm_head", "model.decoder.embed_tokens.weight"),
        "span": heads.TWO_LABEL_SPAN,
    }


GENERATORS = """
*Model                       both
*ForConditionalGeneration    model.both + lm_head
*ForCausalLM                 model.decoder + causal_head
"""
CLASSES = f"""{GENERATORS}
*ForSequenceClassification   model.both + classification_head
*ForQuestionAnswering        model.both + span
"""
ENCODES = {"both": (multiple("d_model", "encoder_attention_heads"),)}
"""What classes that have an encoder ask; those of a decoder alone never read its sizes."""


def old_keys(final_norm: str = "never", embedding_norm: str = "always", sinusoids: str = "never") -> str:
    """Return the keys by which transformers 3 told BART's kin apart; since 4, each family is built in its one way."""
    has = {"always": "[true]", "never": "[false]"}
    return f"""
    add_final_layer_norm {has[final_norm]}: this family {final_norm} has a norm at the end of each stack
    normalize_embedding {has[embedding_norm]}: this family {embedding_norm} has a norm after its embeddings
    static_position_embeddings {has[sinusoids]}: this family {sinusoids} has sinusoidal positions
    """


KEYS = keys(
    "V 50265, D d_model 1024 or hidden_size, L encoder_layers 12 layers from 0 or num_hidden_layers,"
    "A encoder_attention_heads 16 or num_attention_heads, I encoder_ffn_dim 4096,"
    "Ld decoder_layers 12 layers from 0, Ad decoder_attention_heads 16 divides D, Id decoder_ffn_dim 4096, P 1024",
    switches="tie_word_embeddings true",
    activations="activation_function gelu",
    ignored=old_keys(),
    until=(before("5.4.0", without_alias("encoder_layers", "num_hidden_layers"), "bart", "configuration"),),
)
BART = family("bart", replace(KEYS, labels=3), CLASSES, trees(), stem="Bart", rules=ENCODES)

MBART = family(
    "mbart",
    extend(KEYS, ignored=old_keys(final_norm="always")),
    CLASSES,
    trees(norms=f"{EMBEDDING_NORM}\n{LAST_NORM}"),
    stem="MBart",
    rules=ENCODES,
)
"""mBART (Liu et al. 2020, arXiv 2001.08210): BART with a last norm on each of its stacks."""

PEGASUS_KEYS = extend(KEYS, ignored=old_keys("always", "never", "always"))
PEGASUS = family(
    "pegasus", PEGASUS_KEYS, GENERATORS, trees(positions=SINUSOIDS, norms=LAST_NORM), stem="Pegasus", rules=ENCODES
)
"""PEGASUS (Zhang et al. 2019, arXiv 1912.08777): sinusoidal positions, and norms where mBART has its last."""

M2M_100 = family(
    "m2m_100",
    extend(
        PEGASUS_KEYS,
        "V 128112",
        rules="""
        d_model // 2 != 1
          d_model {d_model} leaves one frequency for the sinusoidal positions, which the class divides by one less
          make d_model at least 4
        """,
        activations="activation_function relu",
    ),
    """
    M2M100Model                      both
    M2M100ForConditionalGeneration   model.both + lm_head
    """,
    trees(positions="", norms=LAST_NORM),
    rules=ENCODES,
)
"""M2M-100 (Fan et al. 2020, arXiv 2010.11125) and NLLB: BART with positions that are computed, norms at the end."""

LED_ENCODER = f"""
encoder
  {WORDS.replace("{rows}", "V")}{TIED}
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
LED_DECODER = stack("decoder", positions=POSITIONS.replace("P+2", "Pd"))

LED = family(
    "led",
    extend(KEYS, "P max_encoder_position_embeddings 16384, Pd max_decoder_position_embeddings 1024"),
    """
    LEDModel                     both
    LEDForConditionalGeneration  led.both + lm_head
    LEDForQuestionAnswering      led.both + span
    """,
    both=f"{SHARED}{LED_ENCODER}{LED_DECODER}",
    lm_head=heads.projection("lm_head", "led.shared.weight"),
    span=heads.TWO_LABEL_SPAN,
    rules=ENCODES,
)
"""LED (Beltagy et al. 2020, arXiv 2004.05150, section 7): BART whose encoder attends as Longformer does.

7·(D² + D) in each attention of the encoder, three of them for tokens that look at all; P·D of positions in the encoder,
Pd·D in the decoder.
"""
