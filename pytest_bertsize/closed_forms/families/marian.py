"""Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344): BART with sinusoidal positions and up to two vocabularies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, frozen, linear, tied
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import Index, Rule, Size, Switch, Until
from pytest_bertsize.config.older_releases import TIED_BY_EACH, TIES, V4

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.keys import ConfigKeys


def sinusoidal_positions(dims: Dims) -> Block:
    """P·D that are stored and not trained (Vaswani et al. 2017, section 3.5)."""
    return frozen(embedding("embed_positions", dims.P, dims.D))


STACKS = bart.Stacks(positions=sinusoidal_positions, norms=())


def target(dims: Dims) -> Count:
    """Vd, the words of the decoder; V where the config does not say."""
    return dims.either("Vd", dims.V)


def both(dims: Dims, name: str = "") -> Block:
    """V·D of word embeddings if the stacks share them, untied 2·V·D + Vd·D; else V·D + Vd·D, tied or not."""
    if not dims.share_encoder_decoder_embeddings:
        rows = dims.V if dims.release < V4 else target(dims)  # a copy of the encoder's, whatever the config says
        return block(name, STACKS.encoder(dims), STACKS.decoder(dims, rows=rows))
    return STACKS.both(dims, name, rows=dims.V if dims.tie_word_embeddings or dims.release < V4 else target(dims))


def lm_head(dims: Dims, rows: Count, words: str) -> Block:
    """Nothing where it is tied, else a row for each word.

    :param words: full name of the embedding matrix that it shares.
    """
    module = linear("lm_head", dims.D, rows, bias=False, component="head.decoder")
    return tied(module, weight=words) if dims.tie_word_embeddings else module


def translator(dims: Dims) -> Block:
    """The head is over the words that the decoder embeds."""
    if dims.share_encoder_decoder_embeddings:
        return block("", both(dims, "model"), lm_head(dims, dims.V, bart.SHARED_WORDS))
    rows = dims.V if dims.release < V4 and dims.tie_word_embeddings else target(dims)
    return block("", both(dims, "model"), lm_head(dims, rows, bart.DECODER_WORDS))


def causal(dims: Dims) -> Block:
    """Untied, the head has V rows, even if the decoder embeds Vd words."""
    rows = target(dims) if dims.tie_word_embeddings else dims.V
    decoder = STACKS.decoder(dims, rows=target(dims))
    return block("", block("model", decoder), lm_head(dims, rows, bart.DECODER_WORDS))


def _pads_within(*vocabularies: str) -> Rule:
    """Any ``torch.nn.Embedding`` refuses a padding index that is not one of its rows."""

    def holds(values: Mapping[str, Any]) -> bool:
        sizes = (values[key] or values["vocab_size"] for key in vocabularies)
        return all((values["pad_token_id"] or 0) < size for size in sizes)

    message = "pad_token_id {pad_token_id:,} is not in the vocabulary: the class refuses it"
    return Rule(("pad_token_id", *vocabularies), holds, message, "write the index of the padding token")


TIED_AS_SHARED = Rule(
    (TIES, "share_encoder_decoder_embeddings"),
    lambda values: values[TIES] == values["share_encoder_decoder_embeddings"],
    "tie_word_embeddings is {tie_word_embeddings}, and transformers before 5.4 ties as "
    "share_encoder_decoder_embeddings says, which is {share_encoder_decoder_embeddings}",
    "make them agree",
)
SOURCE = (
    "https://github.com/huggingface/transformers/blob/v5.4.0/src/transformers/models/marian/configuration_marian.py"
)


def _tied_as_shared(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, rules=(*keys.rules, TIED_AS_SHARED))


def _as_said(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, rules=tuple(rule for rule in keys.rules if rule is not TIED_AS_SHARED))


KEYS = replace(
    bart.KEYS,
    sizes=(
        *bart.KEYS.but(vocab_size=58101).sizes,
        Size("decoder_vocab_size", "Vd", default=None),
    ),
    switches=(*bart.KEYS.switches, Switch("share_encoder_decoder_embeddings", default=True)),
    indices=(Index("pad_token_id", 58100),),
    rules=(_pads_within("decoder_vocab_size"),),
    ignored=bart.old_keys(embedding_norm=False, sinusoids=True),
    until=(*bart.KEYS.until, Until((5, 4), _tied_as_shared, SOURCE), Until(V4, _as_said, TIED_BY_EACH)),
)
ENCODES = (*bart.ENCODES, _pads_within("vocab_size"))

FAMILY = Family(
    "marian",
    KEYS,
    (
        Architecture("MarianModel", both, rules=ENCODES),
        Architecture("MarianMTModel", translator, rules=ENCODES),
        Architecture("MarianForCausalLM", causal),
    ),
)
