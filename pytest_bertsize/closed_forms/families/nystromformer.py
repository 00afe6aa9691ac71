"""Nyströmformer (Xiong et al. 2021, arXiv 2102.03902): BERT that approximates attention by a few landmarks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, parameter
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.families.distilbert import pre_classifier
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import Ignored, Size, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def two_more_positions(dims: Dims) -> Dims:
    """The table of positions begins with two rows that no token uses, and P does not count them."""
    numbers = None if dims.numbers is None else {**dims.numbers, "P": dims.numbers["P"] + 2}
    return replace(dims, sizes={**dims.sizes, "P": dims.P + 2}, numbers=numbers)


def convolution(heads: Count, kernel: Count) -> Block:
    """A·K: one filter for each head, by which a token's value is mixed with its neighbours'."""
    return block("attention.self.conv", parameter("weight", heads, 1, kernel, 1), component="encoder.convolution")


def nystromformer(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT with a convolution in every layer."""
    return bert.encoder_only(two_more_positions(dims), convolution(dims.A, dims.K), pooler=pooler, name=name)


def architectures(prefix: str, body: Body) -> tuple[Architecture, ...]:
    """The classes of a family that is built like Nyströmformer: none has a pooler.

    :param prefix: of the classes' names: ``"Yoso"``.
    """
    masked_lm = heads.masked_lm(f"{body.name}.embeddings.word_embeddings.weight")
    return (
        Architecture(f"{prefix}Model", partial(body.blocks, pooler=False, name="")),
        Architecture(f"{prefix}ForMaskedLM", body.under(masked_lm)),
        Architecture(f"{prefix}ForSequenceClassification", body.under(heads.dense_classifier), labels=True),
        Architecture(f"{prefix}ForMultipleChoice", body.under(pre_classifier, heads.choice)),
        Architecture(f"{prefix}ForTokenClassification", body.under(heads.classifier), labels=True),
        Architecture(f"{prefix}ForQuestionAnswering", body.under(heads.two_label_span)),
    )


NO_POOLER = Ignored((False,), because="no class of this family has a pooler")

DEFAULTS = bert.ENCODER_KEYS.but(vocab_size=30000, max_position_embeddings=510)
KEYS = replace(
    DEFAULTS,
    sizes=(*DEFAULTS.sizes, Size("conv_kernel_size", "K", default=65)),
    choices=(hidden_act("gelu_new"),),
    ignored={**DEFAULTS.ignored, "add_pooling_layer": NO_POOLER},
    inert=DEFAULTS.inert | {"inv_coeff_init_option", "inv_init_coeff_option", "num_landmarks", "segment_means_seq_len"},
)

FAMILY = Family("nystromformer", KEYS, architectures("Nystromformer", Body("nystromformer", nystromformer)))
