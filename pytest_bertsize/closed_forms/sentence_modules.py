"""Modules of sentence-transformers (Reimers and Gurevych 2019, arXiv 1908.10084) beside its transformer.

Each is a family of one class, of the keys of the config in its folder. What they consist of is in
https://github.com/huggingface/sentence-transformers, in the modules ``Dense`` and ``LayerNorm``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import blocks
from pytest_bertsize.closed_forms.family import Architecture, Family
from pytest_bertsize.config.keys import ConfigKeys, Size, Switch

if TYPE_CHECKING:
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


def layer_norm(dims: Dims) -> Block:
    return blocks.layer_norm("norm", dims.D)


def _family(name: str, of: Callable[[Dims], Block], keys: ConfigKeys) -> Family:
    return Family(name, keys, (Architecture(name, of),))


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
        _family("LayerNorm", layer_norm, ConfigKeys((Size("dimension", "D", WIDTH),))),
    )
}
"""By the names of their classes."""
