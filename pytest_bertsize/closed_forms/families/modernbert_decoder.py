"""The decoder of ModernBERT's kind (Weller et al. 2025, Ettin, arXiv 2507.11412): attention in four."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import attending, block, linear, of_each_token
from pytest_bertsize.closed_forms.families import modernbert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.closed_forms.parts.variations import in_stack
from pytest_bertsize.config.keys import Rule, Until
from pytest_bertsize.config.older_releases import file_in

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.keys import ConfigKeys


def attention(dims: Dims) -> Block:
    """4·D² of projections, whatever the number of heads; with ``attention_bias``, 4·D more."""
    D, bias = dims.D, dims.attention_bias
    projections = (linear(name, D, D, bias=bias) for name in ("q_proj", "k_proj", "v_proj", "Wo"))
    return attending(block("attn", *projections, component="encoder.attention"), 2 * D)


def decoder(dims: Dims, *, pooler: bool = False, name: str = "") -> Block:  # noqa: ARG001  (it never pools)
    """V·D + D + L·(4·D² + 3·D·I + 2·D)."""
    return in_stack("decoder", modernbert.around(attention(dims), dims, name))


def transform(dims: Dims) -> Block:
    """``lm_head``: ModernBERT's transform by another name."""
    return modernbert.transform(dims)._replace(name="lm_head")


def transform_of_sequences(dims: Dims) -> Block:
    """``head``: ModernBERT's, of each token: which of them is the last is looked up behind it."""
    return of_each_token(modernbert.transform(dims))


def classifier(dims: Dims) -> Block:
    """``classifier``: C·D; ``classifier_bias`` adds C."""
    module = linear("classifier", dims.D, dims.C, bias=dims.classifier_bias, component="head.classifier")
    return of_each_token(module)


PADS = Rule(
    ("pad_token_id",),
    lambda values: values["pad_token_id"] is not None,
    "pad_token_id is null, which the class refuses",
    "write the index of the padding token",
)


def _may_be_null(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, rules=tuple(rule for rule in keys.rules if rule is not PADS))


KEYS = replace(
    modernbert.KEYS,
    rules=(PADS, *modernbert.KEYS.rules),
    until=(Until((5, 4), _may_be_null, file_in("5.4.0", "modernbert_decoder", "configuration")),),
)
BODY = Body("model", decoder)

FAMILY = Family(
    name="modernbert-decoder",
    keys=KEYS,
    architectures=(
        Architecture("ModernBertDecoderModel", decoder),
        Architecture("ModernBertDecoderForCausalLM", BODY.under(transform, modernbert.masked_lm)),
        Architecture(
            "ModernBertDecoderForSequenceClassification", BODY.under(transform_of_sequences, classifier), labels=True
        ),
    ),
    since=(4, 54),
)
