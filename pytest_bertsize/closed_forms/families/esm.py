"""ESM-1b and ESM-2 (Rives et al. 2021 and Lin et al. 2023, doi 10.1126/science.ade2574): a pre-norm BERT for proteins.

ESMFold, which has the same ``model_type``, has a class and a nested config of its own and no closed form here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block, embedding, layer_norm, linear, parameter, repeat
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, EMBEDDING_SIZE, PRUNED_HEADS
from pytest_bertsize.closed_forms.parts.variations import changed, extended
from pytest_bertsize.config.keys import Choice, ConfigKeys, Rule, Size, Switch

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """V·D + P·D, of which rotary positions need no P·D; 2·D of norm with ``emb_layer_norm_before``."""
    D = dims.D
    always = dims.release < (4, 52)  # see models/esm/modeling_esm.py of v4.51.0 and v4.52.1
    absolute = always or dims.position_embedding_type == "absolute"
    return block(
        "embeddings",
        embedding("word_embeddings", dims.V, D, component="embeddings.word"),
        embedding("position_embeddings", dims.P, D, component="embeddings.position") if absolute else None,
        layer_norm("layer_norm", D, component="embeddings.norm") if dims.emb_layer_norm_before else None,
    )


def attention(name: str, dims: Dims, component: str) -> Block:
    """BERT's, with the norm ahead of it."""
    return changed(bert.attention(name, dims, component), {"output.LayerNorm": "LayerNorm"})


def encoder(dims: Dims) -> Block:
    """L·(4·D² + 2·D·I + 9·D + I) + 2·D; cross-attention adds L·(4·D² + 6·D). The GELU is a function without a name."""
    D, I = dims.D, dims.I  # noqa: E741  (the field's symbol for intermediate_size)
    return block(
        "encoder",
        repeat(
            "layer",
            dims.L,
            attention("attention", dims, "encoder.attention"),
            attention("crossattention", dims, "encoder.cross_attention") if dims.add_cross_attention else None,
            linear("intermediate.dense", D, I, component="encoder.feed_forward"),
            linear("output.dense", I, D, component="encoder.feed_forward"),
            layer_norm("LayerNorm", D, component="encoder.norm"),
        ),
        layer_norm("emb_layer_norm_after", D, component="encoder.norm"),
    )


def esm(dims: Dims, *, pooler: bool, name: str) -> Block:
    """Embeddings, encoder, A·L + 1 to tell contacts from every map of attention and, with a pooler, D² + D more."""
    contacts = linear("contact_head.regression", dims.L * dims.A, 1, component="head.contact")
    body = pooled(dims, embeddings(dims), encoder(dims), contacts, pooler=pooler, name=name)
    return extended(body, relative_positions.across(dims))


def masked_lm(dims: Dims) -> Block:
    """``lm_head``: D² + 3·D of transform, always with a GELU, and V of bias; untied, the weights add V·D."""
    D = dims.D
    return block(
        "lm_head",
        parameter("bias", dims.V, component="head.decoder"),
        linear("dense", D, D, component="head.transform"),
        layer_norm("layer_norm", D, component="head.transform"),
        heads.projection("decoder", "esm.embeddings.word_embeddings.weight", bias=False)(dims),
    )


POSITIONS = ("absolute", "rotary", "relative_key", "relative_key_query")
"""The class compares this with the first two; of any other, ``null`` among them, it makes no positions at all."""

KEYS = ConfigKeys(
    sizes=(
        Size("vocab_size", "V", default=None),
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("max_position_embeddings", "P", default=1026),
    ),
    switches=(
        Switch("emb_layer_norm_before", default=False, null=True),
        Switch("is_decoder", default=False),
        Switch("add_cross_attention", default=False, needs="is_decoder"),
        Switch("tie_word_embeddings", default=True),
    ),
    choices=(Choice("position_embedding_type", "absolute", POSITIONS, null=True),),
    divisible=(("hidden_size", "num_attention_heads"),),
    rules=(
        Rule(
            ("vocab_size",),
            lambda values: values["vocab_size"] is not None,
            "the key vocab_size is missing, and the library has no default for it",
            'write "vocab_size": 33, if the tokens are those of ESM-2',
        ),
    ),
    ignored={"pruned_heads": PRUNED_HEADS, "embedding_size": EMBEDDING_SIZE, "add_pooling_layer": ADD_POOLING_LAYER},
    inert=frozenset(
        {
            "esmfold_config",
            "hidden_act",
            "is_folding_model",
            "mask_token_id",
            "rope_theta",
            "token_dropout",
            "vocab_list",
        }
    ),
)

BODY = Body("esm", esm)

FAMILY = Family(
    name="esm",
    keys=KEYS,
    architectures=(
        Architecture("EsmModel", BODY.alone, options=POOLER),
        Architecture("EsmForMaskedLM", BODY.under(masked_lm)),
        Architecture("EsmForSequenceClassification", BODY.under(heads.dense_classifier), labels=True),
        Architecture("EsmForTokenClassification", BODY.under(heads.classifier), labels=True),
    ),
)
