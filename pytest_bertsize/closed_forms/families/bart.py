"""BART (Lewis et al. 2019, arXiv 1910.13461): an encoder and a decoder that share their word embeddings; and variants.

The first two positions of a table are unused (fairseq's offset).
"""

from msgspec.structs import replace

from pytest_bertsize.closed_forms.declare import family, read_rules
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import Until, multiple
from pytest_bertsize.config.older_releases import TIED_BY_EACH, V4, before, without_alias, without_rules_on

STACK = """
{stack}
  <words>
  -                             @{stack}.position
    <positions>
  layers × {layers}
    self_attn                                                   @{stack}.attention
      <attention>
    self_attn_layer_norm        layer_norm D                    @{stack}.norm
    encoder_attn                                                @{stack}.cross_attention  when {crosses}
      <attention>
    encoder_attn_layer_norm     layer_norm D                    @{stack}.norm             when {crosses}
    activation_fn               activation activation_function  @{stack}.feed_forward
    fc1                         linear D {inner}                @{stack}.feed_forward
    fc2                         linear {inner} D                @{stack}.feed_forward
    final_layer_norm            layer_norm D                    @{stack}.norm
  -                             @{stack}.norm
    <norms>
"""
SINUSOIDS = "embed_positions   embedding P D   frozen"  # not trained (Vaswani et al. 2017, section 3.5)
EMBEDDING_NORM = "layernorm_embedding   layer_norm D"
LAST_NORM = "layer_norm   layer_norm D"
GENERATORS = """
*Model                       both
*ForConditionalGeneration    model.both + lm_head
*ForCausalLM                 model.decoder + causal_head
"""
ENCODES = (multiple("d_model", "encoder_attention_heads"),)  # a decoder alone does not read these


# transformers 4 ties the word embeddings whatever the config says
# (https://github.com/huggingface/transformers/pull/42191); those of a decoder alone are tied only to its head.
BART = family(
    "bart",
    sizes="V 50265, D d_model 1024 or hidden_size, L encoder_layers 12 layers from 0 or num_hidden_layers,"
    "A encoder_attention_heads 16 or num_attention_heads, I encoder_ffn_dim 4096,"
    "Ld decoder_layers 12 layers from 0, Ad decoder_attention_heads 16 divides D, Id decoder_ffn_dim 4096, P 1024",
    switches="tie_word_embeddings true",
    activations="activation_function gelu",
    labels=3,
    until=(before("5.4.0", without_alias("encoder_layers", "num_hidden_layers"), "bart", "configuration"),),
    classes=f"""{GENERATORS}
    *ForSequenceClassification   model.both + classification_head
    *ForQuestionAnswering        model.both + span
    """,
    both="""
    shares := tie_word_embeddings or before(5)
    shared      embedding V D   @embeddings.word
    <encoding>
    <decoding>
    """,
    decoder="shares := False\n<decoding>",
    encoding=fill(STACK, stack="encoder", layers="L", inner="I", crosses="False"),
    decoding=fill(STACK, stack="decoder", layers="Ld", inner="Id", crosses="True"),
    words="embed_tokens   embedding V D   @embeddings.word   tied weight=~shared.weight if shares",
    positions="embed_positions   embedding P+2 D",
    norms=EMBEDDING_NORM,
    attention="q_proj, v_proj, out_proj, k_proj   linear D D",
    lm_head=heads.projection("lm_head", "model.shared.weight"),
    causal_head=heads.projection("lm_head", "model.decoder.embed_tokens.weight"),
    span="<two_label_span>",
    tree_rules={"both": ENCODES},
)

# mBART (Liu et al. 2020, arXiv 2001.08210): BART with a last norm on each of its stacks.
MBART = family("mbart", BART, labels=2, stem="MBart", norms=f"{EMBEDDING_NORM}\n{LAST_NORM}")

# PEGASUS (Zhang et al. 2019, arXiv 1912.08777): mBART with sinusoidal positions and no norm after the embeddings.
PEGASUS = family("pegasus", MBART, classes=GENERATORS, positions=SINUSOIDS, norms=LAST_NORM)

# M2M-100 (Fan et al. 2020, arXiv 2010.11125) and NLLB: PEGASUS with positions that are computed, not stored.
M2M_100 = family(
    "m2m_100",
    PEGASUS,
    sizes="V 128112",
    rules="""
    d_model // 2 != 1
      d_model {d_model} gives one frequency of positions, and the class divides by the number of frequencies minus one
      write 4 or more
    """,
    activations="activation_function relu",
    classes="""
    M2M100Model                      both
    M2M100ForConditionalGeneration   model.both + lm_head
    """,
    positions="",
)

# LED (Beltagy et al. 2020, arXiv 2004.05150, section 7): BART with Longformer's attention in the encoder.
LED = family(
    "led",
    MBART,
    sizes="P max_encoder_position_embeddings 16384, Pd max_decoder_position_embeddings 1024",
    classes="""
    LEDModel                     both
    LEDForConditionalGeneration  led.both + lm_head
    LEDForQuestionAnswering      led.both + span
    """,
    encoding=fill(
        BART.trees["encoding"],
        positions="embed_positions   embedding P D",
        attention="""
        longformer_self_attn
          query, key, value, query_global, key_global, value_global   linear D D
        output                                                        linear D D
        """,
    ),
    positions="embed_positions   embedding Pd D",
    norms=EMBEDDING_NORM,
    lm_head=heads.projection("lm_head", "led.shared.weight"),
)

SHARES = "share_encoder_decoder_embeddings"
DECODES = heads.projection("lm_head", "model.decoder.embed_tokens.weight").replace("D V", "D R")
TIED_AS_SHARED = read_rules(f"""
tie_word_embeddings == {SHARES}
  tie_word_embeddings is {{tie_word_embeddings}}, but transformers before 5.4 ties by {SHARES}, \
which is {{{SHARES}}}
  write the same value for both
""")
# Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344): BART with sinusoidal positions and up to two vocabularies.
# R is the number of rows of a decoder's matrix; in transformers 4 a decoder beside an encoder always has V rows.
MARIAN = family(
    "marian",
    PEGASUS,
    sizes="V 58101, Vd decoder_vocab_size none",
    switches=f"{SHARES} true",
    indices="pad_token_id 58100",
    rules="""
    get(pad_token_id, 0) < get(decoder_vocab_size, vocab_size)
      pad_token_id {pad_token_id:,} is not in the decoder's vocabulary: the class refuses it
      write the index of the padding token
    """,
    until=(
        *BART.keys.until,
        before("5.4.0", lambda keys: replace(keys, rules=(*keys.rules, *TIED_AS_SHARED)), "marian", "configuration"),
        Until(V4, without_rules_on(SHARES), TIED_BY_EACH),
    ),
    classes="""
    MarianModel         both
    MarianMTModel       model.both + lm_head
    MarianForCausalLM   model.decoder + causal_head
    """,
    both=f"""
    shares := {SHARES} and (tie_word_embeddings or before(5))
    R := V if before(5) or {SHARES} and tie_word_embeddings else get(Vd,V)
    shared    embedding V D         @embeddings.word   when {SHARES}
    <encoding>
    <decoding>
    """,
    decoder="shares := False\nR := get(Vd,V)\n<decoding>",
    decoding=fill(BART.trees["decoding"], words=BART.trees["words"].replace("V D", "R D")),
    norms="",
    lm_head=f"""
    R := V if {SHARES} or before(5) and tie_word_embeddings else get(Vd,V)
    {DECODES} and not {SHARES}, weight=model.shared.weight if {SHARES} and tie_word_embeddings
    """,
    causal_head=f"R := get(Vd,V) if tie_word_embeddings else V\n{DECODES}",
    tree_rules={"both": (*ENCODES, *read_rules("PADS_WITHIN"))},
)
