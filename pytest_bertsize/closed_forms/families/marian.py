"""Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344): BART with sinusoidal positions and up to two vocabularies.

Word embeddings have V·D if the stacks share them (untied, 2·V·D + Vd·D); if not, V·D + Vd·D, tied or not. In
transformers 4 a decoder beside an encoder always has V rows. R is the number of rows that a decoder embeds.
"""

from msgspec.structs import replace

from pytest_bertsize.closed_forms.declare import family, read_rules
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.tree import fill
from pytest_bertsize.config.keys import ConfigKeys, Until
from pytest_bertsize.config.older_releases import TIED_BY_EACH, V4, before, without_rules_on

SHARES = "share_encoder_decoder_embeddings"
PADS_WITHIN = """
get(pad_token_id, 0) < get({vocabulary}, vocab_size)
  pad_token_id {pad_token_id:,} is not in the vocabulary: the class refuses it
  write the index of the padding token
"""
"""The rule of every ``torch.nn.Embedding``: its padding index is one of its rows."""
TIED_AS_SHARED = f"""
tie_word_embeddings == {SHARES}
  tie_word_embeddings is {{tie_word_embeddings}}, but transformers before 5.4 ties by {SHARES}, \
which is {{{SHARES}}}
  write the same value for both
"""


def _with_tied_as_shared(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, rules=(*keys.rules, *read_rules(TIED_AS_SHARED)))


MARIAN = family(
    "marian",
    bart.PEGASUS,
    sizes="V 58101, Vd decoder_vocab_size none",
    switches=f"{SHARES} true",
    indices="pad_token_id 58100",
    rules=PADS_WITHIN.replace("{vocabulary}", "decoder_vocab_size"),
    ignored=bart.old_keys("never", "never", "always"),
    until=(
        *bart.BART.keys.until,
        before("5.4.0", _with_tied_as_shared, "marian", "configuration"),
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
    decoder="""
    shares := False
    R := get(Vd,V)
    <decoding>
    """,
    decoding=fill(bart.BART.trees["decoding"], words=bart.BART.trees["words"].replace("V D", "R D")),
    norms="",
    lm_head=f"""
    R := V if before(5) and tie_word_embeddings else get(Vd,V)
    -   when {SHARES}
      {heads.projection("lm_head", "model.shared.weight")}
    -   when not {SHARES}
      {heads.projection("lm_head", "model.decoder.embed_tokens.weight").replace("D V", "D R")}
    """,
    causal_head=f"""
    R := get(Vd,V) if tie_word_embeddings else V
    {heads.projection("lm_head", "model.decoder.embed_tokens.weight").replace("D V", "D R")}
    """,
    tree_rules={"both": (*bart.ENCODES, *read_rules(PADS_WITHIN.replace("{vocabulary}", "vocab_size")))},
)
"""``causal_head`` has V rows if it is untied, even if the decoder embeds Vd words."""
