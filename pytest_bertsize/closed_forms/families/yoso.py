"""YOSO (Zeng et al. 2021, arXiv 2111.09714): BERT that samples attention by hashing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert, nystromformer
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body
from pytest_bertsize.config.keys import Size

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def yoso(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, with Nyströmformer's convolution where ``conv_window`` says how wide."""
    convolution = None if dims.K is None else nystromformer.convolution(dims.A, dims.K)
    return bert.encoder_only(nystromformer.two_more_positions(dims), convolution, pooler=pooler, name=name)


DEFAULTS = bert.ENCODER_KEYS.but(vocab_size=50265, max_position_embeddings=4096, type_vocab_size=1)
KEYS = replace(
    DEFAULTS,
    sizes=(*DEFAULTS.sizes, Size("conv_window", "K", default=None)),
    inert=DEFAULTS.inert | {"hash_code_len", "lsh_backward", "num_hash", "use_expectation", "use_fast_hash"},
)

FAMILY = Family("yoso", KEYS, nystromformer.architectures("Yoso", Body("yoso", yoso)))
