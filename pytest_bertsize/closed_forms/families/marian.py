"""Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344): BART with sinusoidal positions and up to two vocabularies.

V·D of word embeddings if the stacks share them, untied 2·V·D + Vd·D; else V·D + Vd·D, tied or not, where transformers 4
gives the decoder a copy of the encoder's V, whatever the config says.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_bertsize.closed_forms.declare import extend
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.config.keys import ConfigKeys, Index, Rule, Until
from pytest_bertsize.config.older_releases import TIED_BY_EACH, TIES, V4, file_in

SHARES = "share_encoder_decoder_embeddings"
TIED = f"  tied weight=~shared.weight if {SHARES} and (tie_word_embeddings or before(5))"
PARTS = {"positions": bart.SINUSOIDS, "norms": ""}
BOTH = f"""
R := V if before(5) or {SHARES} and tie_word_embeddings else get(Vd,V)
{bart.SHARED.strip()}   when {SHARES}
{bart.stack("encoder", tied=TIED, **PARTS)}
{bart.stack("decoder", tied=TIED, rows="R", **PARTS)}
"""
LM_HEAD = f"""
R := V if before(5) and tie_word_embeddings else get(Vd,V)
-   when {SHARES}
  {heads.projection("lm_head", "model.shared.weight")}
-   when not {SHARES}
  {heads.projection("lm_head", "model.decoder.embed_tokens.weight").replace("D V", "D R")}
"""
"""Rows for the words that the decoder embeds."""
CAUSAL_HEAD = """
R := get(Vd,V) if tie_word_embeddings else V
lm_head   linear D R bias=False   @head.decoder   tied weight=model.decoder.embed_tokens.weight if tie_word_embeddings
"""
"""V rows where it is untied, even if the decoder embeds Vd words."""


def _pads_within(*vocabularies: str) -> Rule:
    """Return what any ``torch.nn.Embedding`` asks: a padding index that is one of its rows."""

    def holds(values: Mapping[str, Any]) -> bool:
        sizes = (values[key] or values["vocab_size"] for key in vocabularies)
        return all((values["pad_token_id"] or 0) < size for size in sizes)

    message = "pad_token_id {pad_token_id:,} is not in the vocabulary: the class refuses it"
    return Rule(("pad_token_id", *vocabularies), holds, message, "write the index of the padding token")


TIED_AS_SHARED = Rule(
    (TIES, SHARES),
    lambda values: values[TIES] == values[SHARES],
    "tie_word_embeddings is {tie_word_embeddings}, and transformers before 5.4 ties as "
    "share_encoder_decoder_embeddings says, which is {share_encoder_decoder_embeddings}",
    "make them agree",
)


def _tied_as_shared(before: ConfigKeys) -> ConfigKeys:
    return replace(before, rules=(*before.rules, TIED_AS_SHARED))


def _as_said(before: ConfigKeys) -> ConfigKeys:
    return replace(before, rules=tuple(rule for rule in before.rules if rule is not TIED_AS_SHARED))


KEYS = extend(
    bart.KEYS,
    "V 58101, Vd decoder_vocab_size none",
    switches=f"{SHARES} true",
    indices=(Index("pad_token_id", 58100),),
    rules=(_pads_within("decoder_vocab_size"),),
    ignored=bart.old_keys(embedding_norm=False, sinusoids=True),
    until=(
        *bart.KEYS.until,
        Until((5, 4), _tied_as_shared, file_in("5.4.0", "marian", "configuration")),
        Until(V4, _as_said, TIED_BY_EACH),
    ),
)

FAMILY = bart.kin(
    "marian",
    KEYS,
    """
    MarianModel         both
    MarianMTModel       model.both + lm_head
    MarianForCausalLM   model.decoder + causal_head
    """,
    _pads_within("vocab_size"),
    both=BOTH,
    decoder=bart.stack("decoder", tied="", rows="get(Vd,V)", **PARTS),
    lm_head=LM_HEAD,
    causal_head=CAUSAL_HEAD,
)
