"""What the base has a say in: growth is held against it to the parameter, and what it broke already is said as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.run_base import read_base
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.registry import Registry, registry_of
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.release import NEWEST
from pytest_bertsize.review.check import conclude, conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.review.review import Accepted
from pytest_bertsize.table.settings import limits_from, load
from tests.conftest import TINY
from tests.support.desk import as_base, lay
from tests.support.git_projects import LAYER, GitProject, committed, repository

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.review import Review

TOTAL, HEAD = 59_549, 2_549
"""Of the tiny model of conftest.py."""
MODEL = """
[tool.bertsize.models.fits]
config = "config.json"
{budget}
"""
LINE_OF_BUDGET = 5
GIVE_ONE = "name one: pytest --bert-budget --bert-budget-base=main, or bertsize check --base main"
LETS_IT = 'budget.already_over = "pass"'


def reviewed(folder: Path, baseline: Baseline | None, **marker: object) -> Review:
    """By the closed form, nothing being built."""
    settings = load(folder / "pyproject.toml")
    subject = examine(settings.models["fits"], settings, Registry())
    return conclude_unbuilt(subject, limits_from(marker, file="test_a.py", line=2), Accepted(baseline))


@dataclass(frozen=True)
class Change:
    """A model whose budget is as it was at the base, and whose config has changed since; no git is asked."""

    folder: Path
    base: Baseline

    def declare(self, budget: str) -> None:
        text = f"[tool.pytest.ini_options]\n{MODEL.format(budget=budget)}"
        (self.folder / "pyproject.toml").write_text(text, encoding="utf-8")

    def review(self, **marker: object) -> Review:
        return reviewed(self.folder, self.base, **marker)

    def review_alone(self) -> Review:
        return reviewed(self.folder, None)


Lay = Callable[..., Change]


@pytest.fixture
def changed(tmp_path: Path) -> Lay:
    def write(budget: str, config: Mapping[str, Any] = MappingProxyType({}), **changes: Any) -> Change:
        """:param config: of the base, beside what the tiny model's says."""
        base = {**TINY, **config}
        found = Change(tmp_path, as_base(lay(tmp_path, MODEL.format(budget=budget), base)))
        found.declare(budget)
        lay(tmp_path, MODEL.format(budget=budget), {**base, **changes})
        return found

    return write


def growth(found: Review) -> list[Finding]:
    return [each for each in found.findings if each.kind in {"over-growth", "not-compared"}]


# how much may come


MOST = {
    '"1%"': 595,
    '"100%"': TOTAL,
    '"0.000001%"': 0,
    '"28%"': 16_673,
    '"16_632"': LAYER,
    '"16.631K"': LAYER - 1,
    "0": 0,
}
"""A hundredth of 59,549 is 595.49; 28% of it is 16,673.72, a layer and 41."""


@pytest.mark.parametrize(("limit", "most"), MOST.items())
def test_a_share_is_of_what_was_there_in_whole_parameters_rounded_down(changed: Lay, limit: str, most: int) -> None:
    found = changed(f"budget.growth = {limit}", num_hidden_layers=4).review()
    measured = next(each for each in found.measured if each.name == "growth")
    assert measured.what == f"total {TOTAL:,} at main, at most {most:,} more"
    assert (measured.actual, found.limit("growth").maximum) == (LAYER, most)  # type: ignore[union-attr]
    assert [each.kind for each in growth(found)] == (["over-growth"] if most < LAYER else [])
    assert found.verdict == ("failed" if most < LAYER else "passed")


def test_growth_that_is_over_says_by_how_much_in_numbers_where_and_what_would_pass(changed: Lay) -> None:
    made = changed('budget.growth = "1%"', num_hidden_layers=4)
    found = made.review()
    (over,) = growth(found)
    # 16,632 - 595; 16,632 of 59,549 is 27.93 %
    assert over.message == "total grew by 16,632 since main, 16,037 over its limit of 1% (595 of 59,549)"
    assert over.fix == 'to accept it, write "28%" with a new reason = "…", and restore the old value in a later change'
    assert (over.component, over.actual, over.limit, over.line) == ("growth", 16_632, 595, LINE_OF_BUDGET)
    assert (over.file, over.table_key) == ("pyproject.toml", ("tool", "bertsize", "models", "fits", "budget", "growth"))
    assert found.headline == "fits: growth 16,632, limit 595 (+16,037)"
    made.declare('budget.growth = "28%"')
    assert [each.kind for each in made.review().errors] == ["budget-loosened"]
    made.declare('budget.growth = "28%"\nreason = "ADR-15"')
    assert made.review().verdict == "passed"


@pytest.mark.parametrize(("limit", "instead"), [('"0.50%"', '"27.93%"'), ('"0.1K"', '"16.7K"'), ("0", "16_632")])
def test_what_would_pass_is_written_as_its_author_writes(changed: Lay, limit: str, instead: str) -> None:
    (over,) = growth(changed(f"budget.growth = {limit}", num_hidden_layers=4).review())
    assert f"write {instead} with" in over.fix
    assert over.message.endswith(f" of {TOTAL:,})") == ("%" in limit)  # a share is said in numbers as well
    assert changed(f"budget.growth = {instead}", num_hidden_layers=4).review().verdict == "passed"


def test_each_component_is_held_by_itself_and_one_that_grows_within_the_total_is_red(changed: Lay) -> None:
    budget = 'budget.growth = { total = "1%", head = 0, "encoder.attention" = "10K", trainable = "1%" }'
    vocabulary = TINY["vocab_size"] - 50  # 48 parameters a row, and one of the head's bias
    found = changed(budget, num_hidden_layers=4, vocab_size=vocabulary).review()
    assert {each.component: each.actual for each in growth(found)} == {
        "growth": LAYER - 50 * 49,
        "growth.trainable": LAYER - 50 * 49,
    }
    assert {each.name: each.actual for each in found.measured if each.name.startswith("growth")} == {
        "growth": LAYER - 50 * 49,
        "growth.head": 0,  # it shrank
        "growth.encoder.attention": 4 * (48**2 + 48),
        "growth.trainable": LAYER - 50 * 49,
    }


def test_what_the_base_did_not_have_grew_from_nothing(changed: Lay) -> None:
    budget = 'architecture = "BertModel"\noptions = { add_pooling_layer = false }\nbudget.growth = { pooler = "50%" }'
    found = changed(budget)
    found.declare(budget.replace("false", "true"))
    (over,) = growth(found.review())
    assert over.message == "pooler grew by 2,352 since main, 2,352 over its limit of 50% (0 of 0)"  # 48² + 48
    assert "write 2_352 with" in over.fix  # no share of nothing is anything


def test_a_component_that_nobody_has_is_a_mistake_with_and_without_a_base(changed: Lay) -> None:
    made = changed("budget.growth = { encodr = 0 }")
    for found in (made.review(), made.review_alone()):
        (error,) = found.errors
        assert (error.kind, error.line) == ("config-invalid", LINE_OF_BUDGET)
        assert 'names the component "encodr", which no bert model has' in error.message
        assert error.fix == "did you mean 'encoder'?"


# without a base


def test_without_a_base_growth_is_red_and_says_how_to_give_one(changed: Lay) -> None:
    (error,) = changed('budget.growth = "1%"').review_alone().errors
    assert error.sentence == (f"pyproject.toml:5: budget.growth needs a base, and this run has none; {GIVE_ONE}")


def test_a_base_that_ci_suggests_and_git_does_not_have_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = committed(tmp_path, TINY, MODEL.format(budget='budget.growth = "1%"'))
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    (error,) = reviewed(made.folder, made.baseline(None)).errors
    assert error.message.startswith("budget.growth needs a base, and origin/release cannot be read: ")
    assert (error.kind, error.component, error.fix) == ("not-compared", "growth", GIVE_ONE)


def test_a_new_model_has_nothing_to_grow_from_and_a_note_says_so(tmp_path: Path) -> None:
    base = as_base(lay(tmp_path, MODEL.format(budget='budget = "report-only"').replace("fits", "other"), TINY))
    made = Change(tmp_path, base)
    made.declare("budget.growth = 0")
    found = made.review()
    assert found.verdict == "passed"
    (note,) = growth(found)
    assert (note.severity, note.component, note.message, note.fix) == (
        "note",
        "growth",
        "budget.growth needs a base, and main does not declare this model: it is new, and has no growth to check",
        "",
    )


UNKNOWN = [
    ({"hidden_size": 47}, "", ""),
    ({}, "closed_form = false\n", ""),
    ({}, "frobnicate = 1\n", "pyproject.toml:5: "),
]


@pytest.mark.parametrize(("config", "table", "why"), UNKNOWN, ids=["no config", "no closed form", "no table"])
def test_a_base_of_which_no_count_is_known_is_red_unless_this_change_says_why(
    tmp_path: Path, config: dict[str, Any], table: str, why: str
) -> None:
    budget = f"{table}budget.total = 50_000"
    made = committed(tmp_path, {**TINY, **config}, MODEL.format(budget=budget))
    made.write("config.json", TINY)

    def of(budget: str) -> Finding:
        made.declare(MODEL.format(budget=budget))
        (found,) = (each for each in growth(reviewed(made.folder, made.baseline())) if each.component == "growth")
        return found

    error = of(f"budget.total = 50_000\nbudget.growth = 0\n{LETS_IT}")
    assert (error.severity, error.line) == ("error", LINE_OF_BUDGET + 1)
    assert f"its count at main is unknown: {why or table.strip()}" in error.message
    say_why = 'or say why in the same change: reason = "…"'
    assert error.fix == f"compare with a commit in which it can be counted, {say_why}"
    over = next(each for each in reviewed(made.folder, made.baseline()).errors if each.kind == "over-budget")
    assert over.fix.endswith('its count at the base is unknown, so already_over = "pass" does not apply')
    note = of('reason = "mended"\nbudget.total = 50_000\nbudget.growth = 0')
    assert (note.severity, note.fix) == ("note", 'its reason: "mended"')


def built(made: GitProject) -> Finding:
    """What is said of growth of a model that is held to its budget alone, as a build of three tensors says what it is."""
    settings = load(made.folder / "pyproject.toml")
    subject = examine(settings.models["fits"], settings, Registry())
    tensors = tuple(Tensor(f"layer.{index}.weight", (2, 5), "") for index in range(3))
    (found,) = growth(conclude(subject, Built(tensors, {}), accepted=Accepted(made.baseline())))
    return found


ALONE = "closed_form = false\nbudget.total = 60_000\nbudget.growth = 0\n"


def test_what_only_a_build_can_count_grows_against_a_lock_that_is_to_be_committed(tmp_path: Path) -> None:
    made = committed(tmp_path, TINY, MODEL.format(budget=ALONE))
    error = built(made)
    assert error.severity == "error"
    assert error.message == "budget.growth needs a base, and its count at main is unknown: closed_form = false"
    assert error.fix == (
        'say why in the same change: reason = "…", and commit a lock, which later commits are compared with: '
        'lock = "bertsize.lock" in [tool.bertsize], written by bertsize accept --reason "…"'
    )
    made.declare(MODEL.format(budget=f'reason = "ADR-16"\n{ALONE}'))
    assert (built(made).severity, built(made).fix) == ("note", 'its reason: "ADR-16"')
    made.commit()
    made.git("branch", "--force", "main")
    assert built(made).severity == "error"  # a reason that the base had already explains nothing


FORMS = """
[bert]
classes = "Projecting   bert.body(pooler) + projection"
trees = {{ projection = "linear   linear D {width} bias=False   @head.projection" }}
"""


@pytest.mark.parametrize(("name", "width"), [("forms.toml", 8), ("forms.toml", 4), ("other.toml", 4)])
def test_what_a_closed_form_counts_that_the_base_did_not_have_is_no_count_of_the_base(
    tmp_path: Path, tiny: dict[str, Any], name: str, width: int
) -> None:
    table = '[tool.bertsize]\nclosed_forms = ["{}"]' + MODEL.format(budget="budget.growth = 0")
    made = repository(tmp_path)
    made.write("config.json", {**tiny, "architectures": ["Projecting"]})
    made.write("forms.toml", FORMS.format(width=4))
    made.declare(table.format("forms.toml"))
    made.commit()
    (tmp_path / "forms.toml").unlink()
    made.write(name, FORMS.format(width=width))
    made.declare(table.format(name))
    settings = load(tmp_path / "pyproject.toml")
    forms = registry_of(settings, NEWEST)
    then = read_base(settings, "main", forms, "--base")
    found = conclude_unbuilt(examine(settings.models["fits"], settings, forms), (), Accepted(then))
    new = "a closed form that is new or changed (forms.toml) counts nothing at the base"
    assert [new in each.message for each in growth(found)] == ([] if width == 4 else [True])


# what was over already

ALBERT = {"model_type": "albert", "architectures": ["AlbertModel"], "num_attention_heads": 2, "intermediate_size": 3}
"""A row of its vocabulary is as wide as the embedding."""


@pytest.mark.parametrize(
    ("changes", "change"),
    [
        ({}, "adds 0"),
        ({"num_hidden_layers": 2}, ""),  # 42,917, which is within
        ({"num_hidden_layers": 4}, "adds 16,632"),
        ({"vocab_size": TINY["vocab_size"] - 1}, "removes 49"),
    ],
)
def test_an_overrun_that_the_base_had_is_said_as_such_and_passes_by_the_tables_word_unless_it_grows(
    changed: Lay, changes: dict[str, int], change: str
) -> None:
    said = change and f"already 9,549 over at main, and this change {change}"
    found, grows = changed("budget.total = 50_000", **changes).review(), change == "adds 16,632"
    assert [each.message.rpartition("; ")[2] for each in found.errors] == ([said] if said else [])
    let_it = f"; to let it pass as long as it does not grow, write {LETS_IT}"
    assert [each.fix.endswith(let_it) for each in found.errors] == ([not grows] if said else [])
    let = changed(f"budget.total = 50_000\n{LETS_IT}", **changes).review()
    assert let.verdict == ("failed" if grows else "passed")
    for over in (each for each in let.findings if each.kind == "over-budget"):
        assert over.severity == ("error" if grows else "warning")
        assert over.message.endswith(said)
        assert (over.fix == f"it passes by {LETS_IT}, as it has not grown") == (not grows)


def test_an_overrun_that_the_base_did_not_have_is_this_change_s(changed: Lay) -> None:
    (error,) = changed("budget.total = 60_000", num_hidden_layers=4).review().errors
    assert error.message == "total is 76,181, 16,181 over its limit of 60,000"


@pytest.mark.parametrize(("rows", "verdict"), [(99, "passed"), (100, "passed"), (101, "failed")])
def test_one_parameter_more_is_growth(changed: Lay, rows: int, verdict: str) -> None:
    sizes = {**ALBERT, "embedding_size": 1, "hidden_size": 4, "vocab_size": 100}
    found = changed(f"budget.total = 1\n{LETS_IT}", sizes, vocab_size=rows).review()
    assert found.held is not None
    assert found.base is not None
    assert (found.held["total"] - found.base["total"], found.verdict) == (rows - 100, verdict)


def test_without_a_base_nothing_passes_by_it_and_the_way_out_says_why(changed: Lay) -> None:
    made = changed(f"budget.total = 50_000\n{LETS_IT}")
    (error,) = made.review_alone().errors
    assert error.fix.endswith(f'; already_over = "pass" needs a base: {GIVE_ONE}')
    made.declare("budget.total = 50_000")
    (error,) = made.review_alone().errors
    assert "already_over" not in error.fix


def test_a_marker_tightens_and_its_limit_passes_by_no_such_word(changed: Lay) -> None:
    (error,) = changed(f"budget.total = 50_000\n{LETS_IT}").review(head=2_000).errors
    assert (error.component, error.file) == ("head", "test_a.py")
    assert error.message.endswith("already 549 over at main, and this change adds 0")
    assert "already_over" not in error.fix


def test_each_of_several_measures_was_over_by_its_own_and_passes_as_counts_do(changed: Lay) -> None:
    limits = 'budget.bytes = "200kB"\nbudget.training_bytes = 900_000\nbudget.flops = { max = 1_000, seq_len = 8 }'
    found = changed(f"{limits}\n{LETS_IT}").review()
    over = {each.component: each.message.rpartition("; ")[2] for each in found.findings}
    assert found.verdict == "passed"
    assert over.pop("flops").endswith(" over at main, and this change adds 0")
    assert over == {
        "bytes": f"already {4 * TOTAL - 200_000:,} over at main, and this change adds 0",
        "training_bytes": f"already {16 * TOTAL + 4 * 58 - 900_000:,} over at main, and this change adds 0",
    }
    grown = changed(f"{limits}\n{LETS_IT}", num_hidden_layers=4).review()
    assert {each.component for each in grown.errors} == {"bytes", "training_bytes", "flops"}
