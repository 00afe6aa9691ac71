"""BigBird (Zaheer et al. 2020, arXiv 2007.14062): BERT with sparse attention, which has no parameters of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, layer_norm, linear
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body
from pytest_bertsize.closed_forms.parts.variations import changed
from pytest_bertsize.config.keys import Choice, Ignored, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

BIASES = {
    f"encoder.layer.{attention}.self.{projection}.bias": None
    for attention in ("attention", "crossattention")
    for projection in ("query", "key", "value")
}


def big_bird(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT; without ``use_bias``, L·3·D less, and as much again less of cross-attention."""
    changes: dict[str, str | None] = {"pooler.dense": "pooler", **({} if dims.use_bias else BIASES)}
    return changed(bert.bert(dims, pooler=pooler, name=name), changes)


def span(dims: Dims) -> Block:
    """``qa_classifier``: a feed-forward part of 2·D·I + 3·D + I and, whatever the number of labels, 2·D + 2."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "qa_classifier",
        linear("intermediate.dense", D, I, component="head.transform"),
        activation("intermediate.intermediate_act_fn", dims.hidden_act, component="head.transform"),
        linear("output.dense", I, D, component="head.transform"),
        layer_norm("output.LayerNorm", D, component="head.transform"),
        heads.two_label_span(dims),
    )


def question_answering(dims: Dims) -> Block:
    """The one class with a head that is asked whether it pools."""
    return BODY.under(span, pooler=dims.add_pooling_layer)(dims)


KEYS = replace(
    bert.KEYS.but(vocab_size=50358, max_position_embeddings=4096),
    switches=(*bert.KEYS.switches, Switch("use_bias", default=True)),
    choices=(
        hidden_act("gelu_new"),
        Choice("attention_type", "block_sparse", ("block_sparse", "original_full")),
    ),
    ignored={
        **bert.KEYS.ignored,
        "position_embedding_type": Ignored(("absolute",), because="this family has absolute positions only"),
        "pruned_heads": Ignored(({}, None), because="this family prunes no heads"),
    },
    inert=frozenset({"block_size", "num_random_blocks", "rescale_embeddings"}),
    until=(),
)

BODY = Body("bert", big_bird)
MASKED_LM = heads.masked_lm("bert.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="big_bird",
    keys=KEYS,
    architectures=(
        Architecture("BigBirdModel", BODY.alone, options=POOLER),
        Architecture("BigBirdForPreTraining", BODY.under(MASKED_LM, heads.next_sentence, pooler=True)),
        Architecture("BigBirdForMaskedLM", BODY.under(MASKED_LM, pooler=True)),
        Architecture("BigBirdForCausalLM", BODY.under(MASKED_LM, pooler=True)),
        Architecture("BigBirdForSequenceClassification", BODY.under(heads.dense_classifier, pooler=True), labels=True),
        Architecture("BigBirdForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("BigBirdForTokenClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("BigBirdForQuestionAnswering", question_answering, options={"add_pooling_layer": False}),
    ),
)
