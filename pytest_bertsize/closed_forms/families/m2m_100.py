"""M2M-100 (Fan et al. 2020, arXiv 2010.11125) and NLLB: BART with positions that are computed, norms at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import block
from pytest_bertsize.closed_forms.families import bart
from pytest_bertsize.closed_forms.family import Family
from pytest_bertsize.config.keys import Rule, hidden_act

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims


def no_positions(_dims: Dims) -> Block:
    """Nothing to learn, and nothing that is saved."""
    return block("embed_positions")


SOME_FREQUENCIES = Rule(
    ("d_model",),
    lambda values: values["d_model"] // 2 != 1,
    "d_model {d_model} leaves one frequency for the sinusoidal positions, which the class divides by one less",
    "make d_model at least 4",
)
KEYS = replace(
    bart.KEYS.but(vocab_size=128112),
    rules=(*bart.KEYS.rules, SOME_FREQUENCIES),
    choices=(hidden_act("relu", key="activation_function"),),
    ignored=bart.old_keys(final_norm=True, embedding_norm=False, sinusoids=True),
)
STACKS = bart.Stacks(positions=no_positions, norms=("layer_norm",))

FAMILY = Family(
    "m2m_100",
    KEYS,
    tuple(each for each in bart.generators("M2M100", STACKS) if not each.name.endswith("ForCausalLM")),
)
