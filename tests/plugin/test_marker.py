"""``@pytest.mark.bert_budget`` and the fixture: a test that a model's size has a say in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Project = Callable[..., pytest.Pytester]

TABLE = """
[tool.bertsize.models.encoder]
config = "config.json"
budget.total = "60K"
budget.embeddings = { min = 7_000, max = 8_000 }
"""
SECOND = """
[tool.bertsize.models.second]
config = "config.json"
architecture = "BertModel"
budget = "report-only"
"""
# the tiny model of conftest.py has 59,549 parameters, 2,549 of them in its head

HEADER = "import pytest\n"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (59_548, ["encoder: total 59,549, limit 59,548 (+1)", "*vs formula*", "*test_a.py:*"]),
        (59_549, ["E*AssertionError: assert 'the body ran' == 'no'"]),
    ],
)
def test_the_marker_alone_arms_the_check_and_a_test_within_its_budget_runs(
    project: Project, limit: int, said: list[str]
) -> None:
    source = f"{HEADER}@pytest.mark.bert_budget(total={limit})\ndef test_it(): assert 'the body ran' == 'no'"
    result = project(TABLE, test_a=source).runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(said)
    assert ("the body ran" in result.stdout.str()) is (limit == 59_549)


def test_the_fixture_needs_no_marker_where_one_model_is_declared(project: Project) -> None:
    source = "def test_it(bert_budget): assert bert_budget.name == 'encoder'"
    project(TABLE, test_a=source).runpytest().assert_outcomes(passed=1)


def test_the_fixture_gives_the_review_of_the_nearest_markers_model(project: Project) -> None:
    source = """
        import pytest

        @pytest.mark.bert_budget("second")
        class TestIt:
            def test_name(self, bert_budget):
                assert bert_budget.name == "second"

            @pytest.mark.bert_budget("encoder", pooler=0)
            def test_review(self, bert_budget):
                assert bert_budget.actual["head"] == bert_budget.expected["head"] == 2_549
                assert bert_budget.actual["total"] == 59_549
                assert bert_budget.findings == ()
                assert [str(limit) for limit in bert_budget.budget] == ["60K", "7,000-8,000", "0"]
                assert sum(p.numel() for p in bert_budget.model.parameters()) == 59_549
                assert bert_budget.model.device.type == "meta"
    """
    project(TABLE + SECOND, test_a=source).runpytest().assert_outcomes(passed=2)


def test_a_fixture_of_the_session_gives_any_model_by_its_name(project: Project) -> None:
    source = """
        import pytest

        @pytest.fixture(scope="module")
        def heads(bert_budgets):
            return {name: bert_budgets(name).actual["head"] for name in ("encoder", "second")}

        def test_it(heads):
            assert heads == {"encoder": 2_549, "second": 0}
    """
    project(TABLE + SECOND, test_a=source).runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("def test_it(bert_budget): assert bert_budget.actual", "errors"),
        ("def test_it(bert_budgets): bert_budgets('encoder')", "failed"),
    ],
)
def test_a_model_that_cannot_be_built_fails_the_test_that_asks_for_it(
    project: Project, test: str, outcome: str
) -> None:
    result = project(TABLE, "{}", test_a=test).runpytest()
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(["encoder: pyproject.toml:3: config.json has no model_type*"])
