"""The modules of sentence-transformers (Reimers and Gurevych 2019, arXiv 1908.10084) but for its transformer.

Each is a family of one class, of the keys of the config that stands in its folder; what they consist of is in
https://github.com/huggingface/sentence-transformers, in sentence_transformers/models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import blocks
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import ConfigKeys, Listing, Rule, Size, Switch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

WIDTH = 768
"""What a message proposes for a width that is missing."""


def dense(dims: Dims) -> Block:
    """A linear layer and, where its input is added to what comes of it and is of another width, a second one."""
    projected = dims.use_residual and dims.known.I != dims.known.O
    return blocks.block(
        "",
        blocks.linear("linear", dims.I, dims.O, bias=dims.bias),
        blocks.linear("residual", dims.I, dims.O, bias=False) if projected else None,
    )


def cnn(dims: Dims) -> Block:
    """A convolution for each size of a kernel, side by side."""
    convolutions = (
        blocks.conv1d(f"convs.{index}", dims.I, dims.O, kernel) for index, kernel in enumerate(dims.kernel_sizes)
    )
    return blocks.block("", *convolutions)


def lstm(dims: Dims) -> Block:
    return blocks.lstm("encoder", dims.I, dims.H, layers=dims.known.L, bidirectional=dims.bidirectional)


def layer_norm(dims: Dims) -> Block:
    return blocks.layer_norm("norm", dims.D)


def word_weights(dims: Dims) -> Block:
    """A number for each word."""
    return blocks.embedding("emb_layer", dims.V, 1)


def weighted_layers(dims: Dims) -> Block:
    """A number for each layer from the first on that counts, and for what the last gives."""
    return blocks.block("", blocks.parameter("layer_weights", dims.L + 1 - dims.S))


def _family(name: str, of: Callable[[Dims], Block], keys: ConfigKeys) -> Family:
    return Family(name, keys, (Architecture(name, of),))


_AT_LEAST_ONE = Rule(
    ("layer_start", "num_hidden_layers"),
    lambda values: values["layer_start"] <= values["num_hidden_layers"],
    "layer_start is {layer_start} and num_hidden_layers {num_hidden_layers}: no layer is left",
    "write a layer that there is",
)
MODULES = {
    family.name: family
    for family in (
        _family(
            "Dense",
            dense,
            ConfigKeys(
                (Size("in_features", "I", WIDTH), Size("out_features", "O", WIDTH)),
                (Switch("bias", default=True), Switch("use_residual", default=False)),
                inert=frozenset({"activation_function", "module_input_name", "module_output_name"}),
            ),
        ),
        _family(
            "CNN",
            cnn,
            ConfigKeys(
                (
                    Size("in_embedding_dimension", "I", WIDTH, aliases=("in_word_embedding_dimension",)),
                    Size("out_channels", "O", 256),
                ),
                lists=(Listing("kernel_sizes", (1, 3, 5), int),),
                inert=frozenset({"stride_sizes"}),
            ),
        ),
        _family(
            "LSTM",
            lstm,
            ConfigKeys(
                (
                    Size("embedding_dimension", "I", WIDTH, aliases=("word_embedding_dimension",)),
                    Size("hidden_dim", "H", WIDTH),
                    Size("num_layers", "L", 1, repeats=True),
                ),
                (Switch("bidirectional", default=True),),
                inert=frozenset({"dropout"}),
            ),
        ),
        _family("LayerNorm", layer_norm, ConfigKeys((Size("dimension", "D", WIDTH),))),
        _family("WordWeights", word_weights, ConfigKeys((Size("vocab", "V", 1),))),
        _family(
            "WeightedLayerPooling",
            weighted_layers,
            ConfigKeys(
                (Size("num_hidden_layers", "L", 12), Size("layer_start", "S", 4, minimum=0)),
                rules=(_AT_LEAST_ONE,),
                inert=frozenset({"embedding_dimension", "word_embedding_dimension"}),
            ),
        ),
    )
}
"""By the names of their classes."""
