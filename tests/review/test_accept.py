"""Accepting raises exactly the budgets that fail; tightening lowers those with room. No run of pytest, and no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from pytest_bertsize.inventory import Tensor
from pytest_bertsize.review.accept import BudgetChanges
from pytest_bertsize.table import rewrite
from pytest_bertsize.table.rewrite import settings_after
from pytest_bertsize.table.settings import SettingsError, limits_from
from pytest_bertsize.table.toml import CannotReplace
from tests.support.desk import Run, again, as_derived, lay
from tests.support.git_projects import committed

if TYPE_CHECKING:
    from pytest_bertsize.review.accept import Verb

# the tiny BertForMaskedLM of conftest.py: embeddings (101 + 40 + 5)·48 + 2·48 = 7,104, encoder 3·16,632 = 49,896, of which
# attention 3·4·(48² + 48) = 28,224; head 48² + 3·48 + 101 = 2,549; total 59,549, in float32 238,196 bytes
X = '[tool.bertsize.models.x]\nconfig = "config.json"\n'
ANOTHER = Tensor("cls.predictions.decoder.scale", (48,), "head.decoder")


@pytest.fixture
def folder(tmp_path: Path, tiny: dict[str, Any]) -> Path:
    lay(tmp_path, X + 'budget = "report-only"\n', tiny)
    return tmp_path


def run(folder: Path, text: str, verb: Verb = "update", **more: Any) -> Run:
    return Run(again(folder, text), verb, **more)


def key(component: str, model: str = "x") -> tuple[str, ...]:
    return ("tool", "bertsize", "models", model, "budget", component)


# accept

RAISED = [
    ("budget.total = 50_000", "budget.total = 59_549"),
    ('budget.total = "50K"', 'budget.total = "60K"'),
    ('budget.total = { min = "70K", max = "80K" }', 'budget.total = { min = "59K", max = "80K" }'),
    ("budget.total = { exact = 59_548 }", "budget.total = { exact = 59_549 }"),
    ('budget.trainable = "50K"', 'budget.trainable = "60K"'),
    ('budget."encoder.attention" = "28K" # its own', 'budget."encoder.attention" = "29K" # its own'),
    ('budget.bytes = "200KiB"', 'budget.bytes = "233KiB"'),
    ('budget.bytes = {max = "100kB", dtype = "float16"}', 'budget.bytes = {max = "120kB", dtype = "float16"}'),
    ('budget.bytes = {count = "stored", max = "200kB"}', 'budget.bytes = {count = "stored", max = "258kB"}'),
    ("closed_form = false\nbudget.total = 1", "closed_form = false\nbudget.total = 59_549"),
]


@pytest.mark.parametrize(("before", "after"), RAISED)
def test_a_budget_that_fails_says_what_lets_the_model_pass_as_its_author_writes(
    folder: Path, before: str, after: str
) -> None:
    accepting = run(
        folder, f"{X}{before}\n", built={"x": as_derived(run(folder, X + "budget.total = 1").gate.subject("x"))}
    )
    assert accepting.text() == f"{X}{after}\n"
    assert accepting.red == []
    assert accepting.refused == {}


def test_only_budgets_that_fail_are_changed(folder: Path) -> None:
    text = f"""{X}
budget.total = "1M"                              # room for ten of it
budget.embeddings = {{ min = 1, max = "7K" }}
budget.encoder = 49_896
budget.head = {{ exact = 2_549 }}
budget.bytes = "github-file"
"""
    accepting = run(folder, text)
    assert [change.key for change in accepting.changes()] == [key("embeddings")]
    assert accepting.text() == text.replace('"7K"', '"8K"')


# what is not accepted


def test_a_model_off_its_closed_form_is_not_accepted(folder: Path) -> None:
    text = X + "budget.total = 50_000\nbudget.head = 9\n"
    derived = as_derived(run(folder, text).gate.subject("x"))
    accepting = run(folder, text, built={"x": derived._replace(tensors=(*derived.tensors, ANOTHER))})
    why = "the model has another error (off-closed-form), which you must fix first"
    assert accepting.gate.changes("x") == BudgetChanges("x", [], {"total": why, "head": why})
    assert {finding.kind for finding in accepting.review("x").errors} == {"over-budget", "off-closed-form"}
    assert accepting.text() == text


@pytest.mark.parametrize(
    ("line", "kind"),
    [('budget.pooler = "1K"', "config-invalid"), ('checkpoint = "no.safetensors"', "checkpoint-differs")],
)
def test_a_model_with_a_mistake_beside_its_budget_is_not_accepted(folder: Path, line: str, kind: str) -> None:
    text = f"{X}{line}\nbudget.total = 50_000\n"
    accepting = run(folder, text)
    assert accepting.text() == text
    assert accepting.red == ["x"]
    assert kind in {finding.kind for finding in accepting.review("x").errors}


@pytest.mark.parametrize("bound", ["min", "exact"])
def test_a_limit_of_somebody_else_is_not_changed_and_stays_red(folder: Path, bound: str) -> None:
    accepting = run(folder, f'{X}budget.bytes = {{ {bound} = "pypi-file" }}\nbudget.total = 1\n')
    assert accepting.refused == {"x": {"bytes": "'pypi-file' is a limit of the service, not of the project"}}
    assert [change.component for change in accepting.changes()] == ["total"]
    assert [finding.component for finding in accepting.review("x").errors] == ["bytes"]


def test_what_is_loosened_is_accepted_and_stays_red_until_its_reason_is_said(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    """And what was loosened before, the head, does not block what fails now."""
    table = f'[tool.pytest.ini_options]\n{X}reason = "was"\nbudget.total = "60K"\nbudget.head = "3K"\n'
    project = committed(tmp_path, tiny, table.partition("\n")[2])
    project.write("config.json", {**tiny, "num_hidden_layers": 4})  # 16,632 more
    accepting = Run(again(tmp_path, table.replace("3K", "4K")), "update", baseline=project.baseline())
    assert accepting.text() == table.replace("60K", "77K").replace("3K", "4K")
    finding, earlier = accepting.review("x").errors
    assert (finding.kind, finding.component, earlier.component) == ("budget-loosened", "total", "head")
    assert finding.message == "the limit of total was 60K at main and is 77K now, 17,000 more"
    assert "reason" in finding.fix
    explained = again(tmp_path, accepting.text().replace('"was"', '"ADR-12"'))
    assert Run(explained, "update", baseline=project.baseline()).red == []


def test_limits_of_a_marker_stay_what_they_are(folder: Path) -> None:
    accepting = run(folder, X + "budget.total = 50_000\n")
    marked = limits_from({"total": 51_000, "head": 9}, file="test_a.py", line=3)
    found = accepting.review("x", marked)
    assert [(finding.component, finding.file, finding.limit) for finding in found.errors] == [
        ("total", "test_a.py", 51_000),
        ("head", "test_a.py", 9),
    ]
    assert [change.key for change in accepting.changes()] == [key("total")]


# tables of several models

PATTERN = '[tool.bertsize.models."bert-{stem}"]\nconfig = "configs/*.json"\n'


@pytest.fixture
def several(tmp_path: Path, tiny: dict[str, Any]) -> Path:
    """bert-a has 59,549 parameters, and bert-b a layer more: 76,181."""
    configs = tmp_path / "configs"
    configs.mkdir()
    lay(configs, X + 'budget = "report-only"', tiny, a=tiny, b={**tiny, "num_hidden_layers": 4})
    (configs / "config.json").unlink()
    return tmp_path


OF_ALL = {
    'budget.total = "60K"': 'budget.total = "77K"',
    'budget.total = { min = "60K", max = "70K" }': 'budget.total = { min = "59K", max = "77K" }',
}


@pytest.mark.parametrize(("before", "after"), OF_ALL.items())
def test_a_pattern_gets_what_lets_all_of_its_models_pass(several: Path, before: str, after: str) -> None:
    accepting = run(several, f"{PATTERN}{before}\n")
    assert accepting.text() == f"{PATTERN}{after}\n"
    assert accepting.red == []
    assert run(several, accepting.text()).changes() == []


def test_an_exact_limit_of_several_models_is_left_as_it_is(several: Path) -> None:
    text = f"{PATTERN}budget.total = {{ exact = 59_549 }}\nbudget.head = 1\n"
    accepting, why = run(several, text), "several models share this exact limit, so one of them cannot change it"
    assert accepting.refused == {"bert-b": {"total": why}}
    assert accepting.red == ["bert-b"]
    assert accepting.text() == text.replace("head = 1", "head = 2_549")


def test_of_a_pattern_a_model_that_fails_otherwise_stays_red_and_the_others_are_accepted(several: Path) -> None:
    text = f'{PATTERN}budget.total = "50K"\n'
    derived = as_derived(run(several, text).gate.subject("bert-b"))
    accepting = run(several, text, built={"bert-b": derived._replace(tensors=(*derived.tensors, ANOTHER))})
    assert accepting.text() == f'{PATTERN}budget.total = "60K"\n'
    assert [*accepting.refused] == accepting.red == ["bert-b"]


# tighten

LOWERED = [
    ("budget.total = 80_000", "budget.total = 59_549"),
    ('budget.total = "80K"', 'budget.total = "60K"'),
    ('budget.bytes = "9.0MiB"', 'budget.bytes = "1MiB"'),
]
STAYS = (
    *(
        'budget.total = "60K"',
        "budget.total = 59_549",
        "budget.total = { exact = 59_549 }",
        "budget.total = { min = 9 }",
    ),
    *('budget.bytes = "pypi-file"', 'budget.trainable = "1M"', "budget.pooler = { max = 0 }", 'budget = "report-only"'),
)


@pytest.mark.parametrize(("before", "after"), [*LOWERED, *zip(STAYS, STAYS, strict=True)])
def test_a_budget_with_room_says_the_least_that_passes_as_its_author_writes(
    folder: Path, before: str, after: str
) -> None:
    tightening = run(folder, f"{X}{before} # why\n", "tighten")
    assert tightening.text() == f"{X}{after} # why\n"
    assert tightening.red == []
    assert run(folder, tightening.text(), "tighten").changes() == []


def test_a_model_that_fails_is_not_tightened_and_stays_red_and_others_are(folder: Path) -> None:
    text = f"{X}budget.total = 1\nbudget.head = 9_999\n{X.replace('.x]', '.y]')}budget.total = "
    tightening = run(folder, f"{text}99_999\n", "tighten")
    assert tightening.text() == f"{text}59_549\n"
    assert tightening.red == ["x"]


def test_a_pattern_is_tightened_to_the_largest_of_its_models_unless_one_fails(several: Path) -> None:
    text = f'{PATTERN}budget.total = "99K"\nbudget.head = 9_999\n'
    assert run(several, text, "tighten").text() == f'{PATTERN}budget.total = "77K"\nbudget.head = 2_549\n'
    assert run(several, f'{text}budget.encoder = "60K"\n', "tighten").changes() == []  # of bert-b it has 66,528


# put together


def test_a_value_that_cannot_be_told_from_its_surroundings_is_to_be_written_by_hand(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cannot = Mock(side_effect=CannotReplace("tool.bertsize.models.x.budget.total cannot be told"))
    monkeypatch.setattr(rewrite, "replace_values", cannot)
    with pytest.raises(SettingsError) as refused:
        run(folder, X + 'budget.total = "50K"\n').text()
    for part in ("tool.bertsize.models.x.budget.total", "nothing was changed", "pyproject.toml:3", '"60K"'):
        assert part in str(refused.value)


def test_a_config_that_came_during_the_run_is_no_matter_and_one_that_went_changes_nothing(
    several: Path, tiny: dict[str, Any]
) -> None:
    accepting = run(several, f'{PATTERN}budget.total = "50K"\n')
    changes = accepting.changes()
    (several / "configs" / "c.json").write_text(json.dumps(tiny), encoding="utf-8")
    assert settings_after(accepting.settings, changes).text == f'{PATTERN}budget.total = "77K"\n'
    (several / "configs" / "a.json").unlink()
    with pytest.raises(SettingsError, match=r'toml: .*pyproject.toml:3: .*\.budget\.total = "77K"'):
        settings_after(accepting.settings, changes)
