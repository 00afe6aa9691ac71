"""FNet (Lee-Thorp et al. 2021, arXiv 2105.03824): BERT with a Fourier transform for attention: nothing to learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import layer_norm, linear, repeat
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.closed_forms.parts.layers import feed_forward
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE
from pytest_bertsize.closed_forms.parts.variations import extended
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Size, Switch, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """BERT's, and D² + D of a projection, though it goes from D to D."""
    return extended(bert.embeddings(dims), linear("projection", dims.D, dims.D, component="embeddings.projection"))


def encoder(dims: Dims) -> Block:
    """L·(2·D·I + 5·D + I)."""
    norm = layer_norm("fourier.output.LayerNorm", dims.D, component="encoder.norm")
    return repeat("encoder.layer", dims.L, norm, feed_forward(dims))


def fnet(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings, encoder and, with a pooler, D² + D more."""
    return pooled(dims, embeddings(dims), encoder(dims), pooler=pooler, name=name)


NO_ATTENTION = Ignored(because="this family has no attention")

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=32000),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=512),
        Size("type_vocab_size", "T", default=4),
    ),
    switches=(Switch("tie_word_embeddings", default=True),),
    choices=(hidden_act("gelu_new"),),
    ignored={
        "num_attention_heads": NO_ATTENTION,
        "add_cross_attention": NO_ATTENTION._replace(harmless=(False,)),
        "embedding_size": EMBEDDING_SIZE,
        "add_pooling_layer": ADD_POOLING_LAYER,
    },
    inert=frozenset(
        {
            "actual_seq_length",
            "is_decoder",
            "tpu_short_seq_length",
            "use_fft",
            "use_latest",
            "use_tpu_fourier_optimizations",
        }
    ),
)

BODY = Body("fnet", fnet)
MASKED_LM = heads.masked_lm("fnet.embeddings.word_embeddings.weight")

FAMILY = Family(
    name="fnet",
    keys=KEYS,
    architectures=(
        Architecture("FNetModel", BODY.alone, options=POOLER),
        Architecture("FNetForPreTraining", BODY.under(MASKED_LM, heads.next_sentence, pooler=True)),
        Architecture("FNetForMaskedLM", BODY.under(MASKED_LM, pooler=True)),
        Architecture("FNetForNextSentencePrediction", BODY.under(heads.next_sentence, pooler=True)),
        Architecture("FNetForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("FNetForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("FNetForTokenClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("FNetForQuestionAnswering", BODY.under(heads.span, pooler=True), labels=True),
    ),
)
