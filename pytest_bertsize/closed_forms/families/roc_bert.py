"""RoCBert (Su et al. 2022, ACL, Robust Chinese BERT): BERT that also embeds how a character sounds and looks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, linear
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def senses(dims: Dims) -> Block:
    """Vp·Ep + Vs·Es, which are there even where they are not used, and D·(D + Ep + Es) + D that fold them into D.

    What is not used is not in the folded width; without ``concat_input`` nothing is folded.
    """
    D, Ep, Es = dims.D, dims.Ep, dims.Es
    width = D + (Ep if dims.enable_pronunciation else 0) + (Es if dims.enable_shape else 0)
    return block(
        "embeddings",
        embedding("pronunciation_embed", dims.Vp, Ep, component="embeddings.pronunciation"),
        embedding("shape_embed", dims.Vs, Es, component="embeddings.shape"),
        linear("map_inputs_layer", width, D, component="embeddings.projection") if dims.concat_input else None,
    )


def roc_bert(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, and how characters sound and look."""
    return extended(bert.bert(dims, pooler=pooler, name=name), senses(dims))


KEYS = replace(
    bert.KEYS,
    sizes=(
        *bert.KEYS.sizes,
        Size("pronunciation_vocab_size", "Vp", default=910),
        Size("pronunciation_embed_dim", "Ep", default=768),
        Size("shape_vocab_size", "Vs", default=24858),
        Size("shape_embed_dim", "Es", default=512),
    ),
    switches=(
        *bert.KEYS.switches,
        Switch("concat_input", default=True),
        Switch("enable_pronunciation", default=True),
        Switch("enable_shape", default=True),
    ),
    inert=bert.KEYS.inert | {"enable_cls"},
)

BODY = Body("roc_bert", roc_bert)
MASKED_LM = heads.masked_lm("roc_bert.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="roc_bert",
    keys=KEYS,
    architectures=(
        Architecture("RoCBertModel", BODY.alone, options=POOLER),
        Architecture("RoCBertForPreTraining", BODY.under(MASKED_LM, pooler=True)),
        Architecture("RoCBertForMaskedLM", BODY.under(MASKED_LM)),
        Architecture("RoCBertForCausalLM", BODY.under(MASKED_LM)),
        Architecture("RoCBertForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("RoCBertForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("RoCBertForTokenClassification", BODY.under(heads.classifier), labels=True),
        Architecture("RoCBertForQuestionAnswering", BODY.under(heads.span), labels=True),
    ),
)
