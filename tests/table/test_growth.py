"""``budget.growth`` in the table: a share or a count, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.table.limits import growth_that_passes, most_growth

PARTS = 10**6
SHARES = st.integers(0, 300 * PARTS).map(lambda millionths: f"{millionths // PARTS}.{millionths % PARTS:06d}%")


@given(SHARES, st.integers(0, 10**15))
def test_a_share_is_exact_at_any_size(written: str, before: int) -> None:
    digits, _, decimals = written.removesuffix("%").partition(".")
    millionths = int(digits) * PARTS + int(decimals)
    assert most_growth(written, before) == millionths * before // (100 * PARTS)


@pytest.mark.parametrize(
    ("added", "before", "like", "written"),
    [
        (1, 300, "1%", '"1%"'),  # 0.33 %
        (1, 300, "1.00%", '"0.34%"'),
        (16_632, 59_549, "500K", '"17K"'),
        (16_632, 59_549, 500, "16_632"),
        (16_632, 0, "1%", "16_632"),  # no share of nothing is anything
        (10**10, 1, "1%", "10_000_000_000"),  # more digits than a share has
    ],
)
def test_growth_is_proposed_as_finely_as_its_author_wrote_it(
    added: int, before: int, like: object, written: str
) -> None:
    assert growth_that_passes(added, before, like) == written
