"""MRA (Zeng et al. 2022, arXiv 2207.10284): BERT that looks closely where attention is large, coarsely elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.families import bert, nystromformer
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.closed_forms.parts.body import Body

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def mra(dims: Dims, *, pooler: bool, name: str) -> Block:
    """BERT, but for two rows of positions."""
    return bert.encoder_only(nystromformer.two_more_positions(dims), pooler=pooler, name=name)


DEFAULTS = bert.ENCODER_KEYS.but(vocab_size=50265, type_vocab_size=1)
KEYS = replace(
    DEFAULTS,
    inert=DEFAULTS.inert
    | {"approx_mode", "block_per_row", "initial_prior_diagonal_n_blocks", "initial_prior_first_n_blocks"}
    | {"dataset", "from_cp", "gpu_setting", "mixed_precision", "model"},
)

FAMILY = Family("mra", KEYS, nystromformer.architectures("Mra", Body("mra", mra)))
