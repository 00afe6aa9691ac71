"""Bytes and FLOPs beside parameters, since a base: those of the budget, and both where a change has changed them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.review import Accepted
from tests.conftest import TINY
from tests.support.desk import as_base, lay
from tests.support.git_projects import FITS, LAYER

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Measured

TOTAL = 59_549
DEEPER = {"num_hidden_layers": 4}
BOTH = 'budget.bytes = { max = "1MB", dtype = "float16" }\nbudget.flops = { max = "1G", seq_len = 16 }\n'
STORED = 4 * (TOTAL + 101 * 48 + 101)
"""With the decoder's matrix and its bias, which are tied."""


def layer_of_a_pass(tokens: int) -> int:
    """FLOPs of a layer of the tiny model: 2·S·(4·D² + 2·I·D) + 4·S²·D (Kaplan et al. 2020, arXiv 2001.08361, table 1)."""
    return 2 * tokens * (4 * 48 * 48 + 2 * 72 * 48) + 4 * tokens * tokens * 48


def measured(folder: Path, limits: str, changes: dict[str, Any], name: str = "fits") -> dict[str, Measured]:
    """Return each measure, by its name, of a config that has changed since the base."""
    base = as_base(lay(folder, FITS, TINY))
    table = FITS.replace('"90K"\n', f'"90K"\n{limits}').replace("fits", name)
    settings = lay(folder, table, {**TINY, **changes})
    found = conclude_unbuilt(examine(settings.models[name], settings, Registry()), (), Accepted(base))
    return {each.name: each for each in found.measured}


@pytest.mark.parametrize(
    ("limits", "changes", "in_bytes", "tokens"),
    [
        ("", DEEPER, (4 * TOTAL, 4 * (TOTAL + LAYER)), 40),  # its positions
        (BOTH, DEEPER, (2 * TOTAL, 2 * (TOTAL + LAYER)), 16),
        ("", {}, None, 0),
        ('budget.bytes = { max = "1MB", count = "stored" }\n', {}, (STORED, STORED), 0),
        ("", {"dtype": "float64"}, (4 * TOTAL, 8 * TOTAL), 0),
        ("", {"dtype": "auto", **DEEPER}, None, 40),  # of no one dtype
        ("", {"quantization_config": {"load_in_4bit": True}, **DEEPER}, None, 40),
    ],
)
def test_what_a_change_takes_is_measured_as_its_limit_says(
    tmp_path: Path, limits: str, changes: dict[str, Any], in_bytes: tuple[int, int] | None, tokens: int
) -> None:
    found = measured(tmp_path, limits, changes)
    if tokens:
        flops = found.pop("flops")
        assert flops.what.startswith(f"{tokens} tokens, ")
        assert flops.what.endswith(", by the closed form") == (not limits)
        assert flops.base
        assert flops.actual - flops.base == layer_of_a_pass(tokens)
    assert not [each for each in found.values() if "closed form" in each.what]
    assert {name: (each.base, each.actual) for name, each in found.items()} == ({"bytes": in_bytes} if in_bytes else {})


def test_shared_layers_are_counted_for_each_pass(tmp_path: Path) -> None:
    shared = {**TINY, "model_type": "albert", "architectures": ["AlbertModel"], "embedding_size": 24}
    table = FITS.replace('"90K"\n', '"90K"\nbudget.bytes = { max = "1MB", count = "unrolled" }\n')
    settings = lay(tmp_path, table, shared)
    found = conclude_unbuilt(examine(settings.models["fits"], settings, Registry()))
    assert found.expected is not None
    assert [each.actual for each in found.measured] == [4 * (found.expected.unique + 2 * LAYER)]  # 3 passes


def test_a_new_model_has_no_measure_at_the_base(tmp_path: Path) -> None:
    assert measured(tmp_path, "", {}, "other") == {}
