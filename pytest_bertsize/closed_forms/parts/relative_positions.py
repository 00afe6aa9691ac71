"""Relative positions as BERT and its kin had them in transformers 4: a table of distances in every self-attention.

Source: Shaw et al. 2018 (arXiv 1803.02155) and Huang et al. 2020 (arXiv 2009.13658). transformers 5 has no such tables
and takes no notice of the key: https://github.com/huggingface/transformers/pull/41170.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import embedding
from pytest_bertsize.config.keys import Choice, ConfigKeys, Refused, Until

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Block
    from pytest_bertsize.config.dims import Dims

KEY = "position_embedding_type"
ABSOLUTE = "absolute"
SOURCE = "https://github.com/huggingface/transformers/pull/41170"


def distances(dims: Dims) -> Block | None:
    """(2·P - 1)·D/A: a row of a head's width for each distance, where the config asks for it."""
    if dims.switches.get(KEY, ABSOLUTE) in {ABSOLUTE, None}:
        return None
    return embedding("distance_embedding", 2 * dims.P - 1, dims.D // dims.A, component="encoder.relative_position")


def _read(keys: ConfigKeys) -> ConfigKeys:
    choice = Choice(KEY, ABSOLUTE, (ABSOLUTE, "relative_key", "relative_key_query"), null=True)
    return replace(_unnoticed(keys), choices=(*keys.choices, choice))


def _refuse(keys: ConfigKeys) -> ConfigKeys:
    why = Refused(
        (ABSOLUTE, None), "transformers 4 adds tables of distances, which this closed form lacks", 'write "absolute"'
    )
    return replace(_unnoticed(keys), refused={**keys.refused, KEY: why})


def _unnoticed(keys: ConfigKeys) -> ConfigKeys:
    return replace(keys, ignored={key: each for key, each in keys.ignored.items() if key != KEY})


def read_until(*release: int) -> Until:
    """Of the families whose layers have such tables before a release."""
    return Until(release, _read, SOURCE)


READ = read_until(5)
REFUSED = Until((5,), _refuse, SOURCE)
"""Of a family that has such tables where its closed form does not follow."""
