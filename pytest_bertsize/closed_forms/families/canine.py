"""CANINE (Clark et al. 2021, arXiv 2103.06874): BERT over characters, by hashes of them and fewer, wider positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import activation, block, each, embedding, layer_norm, parameter
from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.closed_forms.parts import heads, relative_positions
from pytest_bertsize.closed_forms.parts.body import POOLER, Body, pooled
from pytest_bertsize.closed_forms.parts.unused_keys import ADD_POOLING_LAYER, PRUNED_HEADS
from pytest_bertsize.config.keys import ConfigKeys, Ignored, Rule, Size, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block, Count
    from pytest_bertsize.config.dims import Dims


def embeddings(dims: Dims) -> Block:
    """H·B·(D/H) for the hashes of a character, B·D for its position, T·D and 2·D."""
    D, B, H = dims.D, dims.B, dims.H
    names = tuple(f"HashBucketCodepointEmbedder_{index}" for index in range(dims.known.H))
    hashes = each("", names, parameter("weight", B, D // H), component="embeddings.character")
    return block(
        "char_embeddings",
        hashes._replace(times=H),
        embedding("char_position_embeddings", B, D, component="embeddings.position"),
        embedding("token_type_embeddings", dims.T, D, component="embeddings.token_type"),
        layer_norm("LayerNorm", D, component="embeddings.norm"),
    )


def convolution(name: str, dims: Dims, inputs: Count, kernel: Count) -> Block:
    """``kernel``·inputs·D + D, and 2·D of norm."""
    D = dims.D
    return block(
        name,
        parameter("conv.weight", D, inputs, kernel),
        parameter("conv.bias", D),
        activation("activation", dims.hidden_act),
        layer_norm("LayerNorm", D, component="encoder.norm"),
        component="encoder.convolution",
    )


def canine(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT's layers over characters taken R at a time, between two more layers over single ones."""
    deep = bert.encoder(bert.without_cross_attention(dims))
    return pooled(
        dims,
        embeddings(dims),
        deep._replace(name="initial_char_encoder.layer", times=1),
        convolution("chars_to_molecules", dims, dims.D, dims.R),
        deep,
        convolution("projection", dims, 2 * dims.D, dims.K),
        deep._replace(name="final_char_encoder.layer", times=1),
        pooler=pooler,
        name=name,
    )


MOST_HASHES = 16
"""As many functions as the class has: with more it is built, and fails at the first character."""

KEYS = ConfigKeys(
    sizes=(
        Size("hidden_size", "D", default=768),
        Size("num_hidden_layers", "L", default=12, repeats=True, minimum=0),
        Size("num_attention_heads", "A", default=12),
        Size("intermediate_size", "I", default=3072),
        Size("type_vocab_size", "T", default=16),
        Size("num_hash_functions", "H", default=8),
        Size("num_hash_buckets", "B", default=16384),
        Size("downsampling_rate", "R", default=4),
        Size("upsampling_kernel_size", "K", default=4),
    ),
    choices=(hidden_act("gelu"),),
    divisible=(("hidden_size", "num_attention_heads"),),
    rules=(
        Rule(
            ("num_hash_functions",),
            lambda values: values["num_hash_functions"] <= MOST_HASHES,
            f"num_hash_functions is {{num_hash_functions:,}}, and the class has {MOST_HASHES}",
            f"write {MOST_HASHES} or fewer",
        ),
    ),
    ignored={
        "max_position_embeddings": Ignored((16384,), because="there are as many positions as num_hash_buckets"),
        "vocab_size": Ignored(because="characters are hashed: there is no vocabulary"),
        "position_embedding_type": Ignored(("absolute",)),
        "pruned_heads": PRUNED_HEADS,
        "embedding_size": Ignored((None,), because="this family has one width throughout"),
        "add_pooling_layer": ADD_POOLING_LAYER,
        "add_cross_attention": bert.ENCODER_KEYS.ignored["add_cross_attention"],
    },
    inert=frozenset({"is_decoder", "local_transformer_stride", "tie_word_embeddings"}),
    until=(relative_positions.REFUSED,),
)

BODY = Body("canine", canine)

FAMILY = Family(
    name="canine",
    keys=KEYS,
    architectures=(
        Architecture("CanineModel", BODY.alone, options=POOLER),
        Architecture("CanineForSequenceClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("CanineForMultipleChoice", BODY.under(heads.choice, pooler=True)),
        Architecture("CanineForTokenClassification", BODY.under(heads.classifier, pooler=True), labels=True),
        Architecture("CanineForQuestionAnswering", BODY.under(heads.span, pooler=True), labels=True),
    ),
)
