"""Releases of transformers: which are known, and what is said to one that is not."""

from __future__ import annotations

import pytest

from pytest_bertsize.release import OLDEST, Release, Unsupported, is_said_by, parse_release, read_version


@pytest.mark.parametrize(
    ("written", "release"),
    [("4.57", Release(4, 57)), ("4.57.6", Release(4, 57, 6)), ("5.1", Release(5, 1)), ("6.0", Release(6, 0))],
)
def test_a_table_writes_a_release_with_or_without_its_patch(written: str, release: Release) -> None:
    assert parse_release(written) == release


@pytest.mark.parametrize("written", ["4", "4.57.*", ">=4.57", "v4.57", "4.57.6.1", "newest", "", "4.057"])
def test_what_is_no_release_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(Unsupported, match=r'is not a release of transformers; write "4\.57", for example'):
        parse_release(written)


def test_metadata_may_say_more_than_numbers() -> None:
    versions = {"5.24.0.dev0": Release(5, 24), "4.57.6": Release(4, 57, 6), "5.20.2+local": Release(5, 20, 2)}
    for version, release in {**versions, "6": Release(6)}.items():
        assert read_version(version) == release


def test_what_is_older_than_the_oldest_and_every_5_0_is_refused() -> None:
    older = r"^transformers 4\.39\.3 is older than 4\.40, the oldest whose closed forms are known$"
    loses = r"loses ties on the meta device, as every 5\.0 does: its counts are wrong"
    for version, said in {"4.39.3": older, **dict.fromkeys(("5.0.0", "5.0.2", "5.0.0rc1"), loses)}.items():
        with pytest.raises(Unsupported, match=said):
            read_version(version)
    assert read_version("4.40.0") == OLDEST


def test_a_release_is_said_by_as_many_numbers_as_are_written() -> None:
    assert all(is_said_by(written, "4.57.6") for written in ("4.57", "4.57.6"))
    assert not any(is_said_by(written, "4.57.6") for written in ("4.57.5", "4.5"))
    assert is_said_by("5.24", "5.24.0.dev0")
