"""BART (Lewis et al. 2019, arXiv 1910.13461): an encoder and a decoder that share their word embeddings.

V·D of words, untied 3·V·D; for each stack (P + 2)·D of positions, of which the first two are never used (fairseq's
offset), L·(4·D² + 2·D·I + 9·D + I), to which a decoder's cross-attention adds L·(4·D² + 6·D), and 2·D of norm.
"""

from dataclasses import replace

from pytest_bertsize.closed_forms.declare import family, fill, keys
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Until, multiple
from pytest_bertsize.config.older_releases import file_in, without_alias

SHARED = "shared                          embedding V D                   @embeddings.word\n"
WORDS = "embed_tokens                  embedding {rows} D              @embeddings.word"
TIED = "  tied weight=~shared.weight if tie_word_embeddings or before(5)"
"""Ties: in transformers 4 whatever the config says; https://github.com/huggingface/transformers/pull/42191."""
POSITIONS = "embed_positions               embedding P+2 D                 @{stack}.position"
SINUSOIDS = "embed_positions               embedding P D                   @{stack}.position  frozen"
"""Positions that are stored and not trained (Vaswani et al. 2017, section 3.5)."""
EMBEDDING_NORM = "layernorm_embedding           layer_norm D                    @{stack}.norm"
LAST_NORM = "layer_norm                    layer_norm D                    @{stack}.norm"
STACK = """
{stack}
  <words>
  <positions>
  layers × {layers}
    self_attn                                                   @{stack}.attention        attends 2*D
      q_proj, v_proj, out_proj  linear D D
      k_proj                    linear D D bias={key_bias}
    self_attn_layer_norm        layer_norm D                    @{stack}.norm
    encoder_attn                                                @{stack}.cross_attention  attends 2*D  when {crosses}
      q_proj, v_proj, out_proj  linear D D
      k_proj                    linear D D bias={key_bias}
    encoder_attn_layer_norm     layer_norm D                    @{stack}.norm             when {crosses}
    activation_fn               activation activation_function  @{stack}.feed_forward
    fc1                         linear D {inner}                @{stack}.feed_forward
    fc2                         linear {inner} D                @{stack}.feed_forward
    final_layer_norm            layer_norm D                    @{stack}.norm
  <norms>
"""

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
        "both": SHARED + stack("encoder", **parts) + stack("decoder", **parts),
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
ENCODES = multiple("d_model", "encoder_attention_heads")
"""A rule of the classes that have an encoder; those of a decoder alone never read its sizes."""


def kin(name: str, keys: ConfigKeys, classes: str, *rules: Rule, **trees: str) -> Family:
    """Return a family of BART's kind.

    :param rules: of the classes with an encoder, beside that its heads divide the width.
    """
    names = (line.split()[0] for line in classes.splitlines() if line.strip())
    encoders = (each for each in names if not each.endswith("ForCausalLM"))
    return family(name, keys, classes, trees, rules=dict.fromkeys(encoders, (ENCODES, *rules)))


def old_keys(*, final_norm: bool = False, embedding_norm: bool = True, sinusoids: bool = False) -> dict[str, Ignored]:
    """Return the keys by which transformers 3 told BART's kin apart; since 4, each family is built in its one way."""
    return {
        "add_final_layer_norm": _fixed(final_norm, "a norm at the end of each stack"),
        "normalize_embedding": _fixed(embedding_norm, "a norm after its embeddings"),
        "static_position_embeddings": _fixed(sinusoids, "sinusoidal positions"),
    }


def _fixed(has: bool, what: str) -> Ignored:  # noqa: FBT001
    return Ignored((has,), because=f"this family {'always' if has else 'never'} has {what}")


KEYS = keys(
    "V 50265, D d_model 1024 or hidden_size, L encoder_layers 12 layers from 0 or num_hidden_layers,"
    "A encoder_attention_heads 16 or num_attention_heads, I encoder_ffn_dim 4096,"
    "Ld decoder_layers 12 layers from 0, Ad decoder_attention_heads 16, Id decoder_ffn_dim 4096, P 1024",
    switches="tie_word_embeddings true",
    activations="activation_function gelu",
    divisible=(("d_model", "decoder_attention_heads"),),
    ignored=old_keys(),
    until=(
        Until((5, 4), without_alias("encoder_layers", "num_hidden_layers"), file_in("5.4.0", "bart", "configuration")),
    ),
)

FAMILY = kin("bart", replace(KEYS, labels=3), CLASSES.replace("*", "Bart"), **trees())
