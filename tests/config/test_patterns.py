"""Regular expressions of an adapter: they match what Python's own match, for a time that is bounded."""

from __future__ import annotations

import re

import pytest

from pytest_bertsize.config import patterns
from pytest_bertsize.config.patterns import TooLong, first_matches, is_plain, wrong_in

NAMES = (
    *("bert.encoder.layer.0.attention.self.query", "bert.encoder.layer.11.attention.self.value", "bert.pooler.dense"),
    *("query", "myquery", "bert.embeddings.word_embeddings", "a_b", "a.b", "É"),
)


@pytest.mark.parametrize(
    "expressions",
    [
        (r".*\.(query|value)",),
        (r"(?!.*pooler).*\.(?:query|dense)", r"(?i:É|É)"),
        (r"(?x: .* (?<= self) \. (?P<what>que)ry )", r".*(.)\1.*"),
        (r"(.*\.)?(query)$", r"(.*\.)?(value|query)$", r"(.*\.)?(layer\.\d+\..*)$"),
        (r"(?:a|_|b)*", r"(?>a|ab|a_)_b"),
    ],
)
def test_the_first_that_matches_is_python_s(expressions: tuple[str, ...]) -> None:
    firsts = {name: [index for index, each in enumerate(expressions) if re.fullmatch(each, name)] for name in NAMES}
    expected = {name: found[0] for name, found in firsts.items() if found}
    assert expected
    assert first_matches(expressions, NAMES) == expected
    assert first_matches(expressions, NAMES, plain=True) == expected


def test_what_is_none_is_said_of_each() -> None:
    assert wrong_in(("query", "(query", "[z-a]", "(a+)+b")) == {
        "(query": "missing ), unterminated subpattern at position 0",
        "[z-a]": "bad character range z-a at position 1",
    }


@pytest.mark.parametrize("hangs", ["(a+)+b", "(?x:(?:[a-z._0-9]|[a-z._0-9][a-z._0-9]) * X)"])
def test_one_that_would_take_hours_takes_a_second_of_computing(hangs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 1)
    with pytest.raises(TooLong, match="takes more than 1 s to match"):
        first_matches((hangs,), ("a" * 100,))


def test_thousands_of_small_ones_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 1)
    expressions = tuple(f".*.*.*.*{index}x" for index in range(1_000))
    with pytest.raises(TooLong):
        first_matches(expressions, tuple(f"bert.encoder.layer.{index}.attention.self.query" for index in range(100)))


def test_more_plain_names_than_a_moment_takes_are_compared_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def noted(about: object) -> dict[str, int]:
        asked.append(about)
        return {}

    monkeypatch.setattr(patterns, "_asked", noted)
    ends = tuple(f"layer.{index}.query" for index in range(1_000))
    assert first_matches(ends, ends[:20], plain=True)["layer.7.query"] == 7
    assert asked == []
    first_matches(ends, ends[:21], plain=True)
    assert len(asked) == 1


def test_a_name_is_no_expression() -> None:
    assert [is_plain(each) for each in ("query", "0.self-attention.query", "a.*", "", "a" * 201)] == [
        *(True, True, False, False, False)
    ]
