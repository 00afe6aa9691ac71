"""What the base has a say in: growth is held against it to the parameter, and what it broke already is said as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.run_base import read_base
from pytest_bertsize.builder.messages import Built
from pytest_bertsize.closed_forms.contributed import registry_of
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.release import NEWEST
from pytest_bertsize.review.check import Accepted, conclude, conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import limits_from, load
from tests.support.git_projects import LAYER, committed, repository

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.review import Review
    from tests.support.git_projects import GitProject

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


def review(project: GitProject, asked: str | None = "main", name: str = "fits", **marker: object) -> Review:
    """By the closed form, nothing being built."""
    return against(project, project.baseline(asked), name, **marker)


def against(project: GitProject, baseline: Baseline | None, name: str = "fits", **marker: object) -> Review:
    settings = load(project.folder / "pyproject.toml")
    subject = examine(settings.models[name], settings, Registry())
    return conclude_unbuilt(subject, limits_from(marker, file="test_a.py", line=2), Accepted(baseline))


Lay = Callable[..., "GitProject"]


@pytest.fixture
def lay(tmp_path_factory: pytest.TempPathFactory, tiny: dict[str, Any]) -> Lay:
    """Lay out a model whose budget is as it was at the base, and whose config has changed since."""

    def write(budget: str, config: Mapping[str, Any] = MappingProxyType({}), **changes: Any) -> GitProject:
        """:param config: of the base, beside what the tiny model's says."""
        base = {**tiny, **config}
        found = committed(tmp_path_factory.mktemp("project"), base, MODEL.format(budget=budget))
        found.write("config.json", {**base, **changes})
        return found

    return write


def growth(found: Review) -> list[Finding]:
    return [each for each in found.findings if each.kind in {"over-growth", "not-compared"}]


# how much may come


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ('"1%"', 595),  # 59,549/100 is 595.49
        ('"0.5%"', 297),  # 297.745
        ('"100%"', TOTAL),
        ('"0.000001%"', 0),  # 0.00059549
        ('"28%"', 16_673),  # 16,673.72, a layer and 41
        ('"16_632"', LAYER),
        ('"16.631K"', LAYER - 1),
        ("0", 0),
        ('"0%"', 0),
    ],
)
def test_a_share_is_of_what_was_there_in_whole_parameters_rounded_down(lay: Lay, limit: str, most: int) -> None:
    found = review(lay(f"budget.growth = {limit}", num_hidden_layers=4))
    measured = next(each for each in found.measured if each.name == "growth")
    assert measured.what == f"total {TOTAL:,} at main, at most {most:,} more"
    assert (measured.actual, found.limit("growth").maximum) == (LAYER, most)  # type: ignore[union-attr]
    assert [each.kind for each in growth(found)] == (["over-growth"] if most < LAYER else [])
    assert found.verdict == ("failed" if most < LAYER else "passed")


def test_growth_that_is_over_says_by_how_much_in_numbers_where_and_what_would_pass(lay: Lay) -> None:
    found = review(lay('budget.growth = "1%"', num_hidden_layers=4))
    (over,) = growth(found)
    # 16,632 - 595; 16,632 of 59,549 is 27.93 %
    assert over.message == "total grew by 16,632 since main, 16,037 over its limit of 1% (595 of 59,549)"
    assert over.fix == 'to accept it, write "28%" with a new reason = "…", and restore the old value in a later change'
    assert (over.component, over.actual, over.limit, over.line) == ("growth", 16_632, 595, LINE_OF_BUDGET)
    assert (over.file, over.table_key) == ("pyproject.toml", ("tool", "bertsize", "models", "fits", "budget", "growth"))
    assert found.headline == "fits: growth 16,632, limit 595 (+16,037)"


@pytest.mark.parametrize(
    ("limit", "instead"),
    [('"0.50%"', '"27.93%"'), ('"2K"', '"17K"'), ('"0.1K"', '"16.7K"'), ("0", "16_632"), ('"0%"', '"28%"')],
)
def test_what_would_pass_is_written_as_its_author_writes(lay: Lay, limit: str, instead: str) -> None:
    (over,) = growth(review(lay(f"budget.growth = {limit}", num_hidden_layers=4)))
    assert f"write {instead} with" in over.fix
    numbers = rf" \([0-9,]+ of {TOTAL:,}\)" if "%" in limit else ""  # a share is said in numbers as well
    assert re.search(f" over its limit of {limit.strip(chr(34))}{numbers}$", over.message)
    passes = lay(f"budget.growth = {instead}", num_hidden_layers=4)
    assert review(passes).verdict == "passed"


def test_more_growth_passes_with_a_new_reason_and_the_note_shows_it(lay: Lay) -> None:
    made = lay('budget.growth = "1%"', num_hidden_layers=4)
    made.declare(MODEL.format(budget='budget.growth = "28%"'))
    assert [each.kind for each in review(made).errors] == ["budget-loosened"]
    made.declare(MODEL.format(budget='budget.growth = "28%"\nreason = "ADR-15"'))
    assert review(made).verdict == "passed"


def test_each_component_is_held_by_itself_and_one_that_grows_within_the_total_is_red(
    lay: Lay, tiny: dict[str, Any]
) -> None:
    budget = 'budget.growth = { total = "1%", head = 0, "encoder.attention" = "10K", trainable = "1%" }'
    vocabulary = tiny["vocab_size"] - 50  # 48 parameters a row, and one of the head's bias
    found = review(lay(budget, num_hidden_layers=4, vocab_size=vocabulary))
    attention = 4 * (48**2 + 48)
    assert {each.component: each.actual for each in growth(found)} == {
        "growth": LAYER - 50 * 49,
        "growth.trainable": LAYER - 50 * 49,
    }
    assert {each.name: each.actual for each in found.measured if each.name.startswith("growth")} == {
        "growth": LAYER - 50 * 49,
        "growth.head": 0,  # it shrank
        "growth.encoder.attention": attention,
        "growth.trainable": LAYER - 50 * 49,
    }


def test_what_the_base_did_not_have_grew_from_nothing(lay: Lay) -> None:
    budget = 'architecture = "BertModel"\noptions = { add_pooling_layer = false }\nbudget.growth = { pooler = "50%" }'
    found = lay(budget)
    found.declare(MODEL.format(budget=budget.replace("false", "true")))
    (over,) = growth(review(found))
    assert over.message == "pooler grew by 2,352 since main, 2,352 over its limit of 50% (0 of 0)"  # 48² + 48
    assert "write 2_352 with" in over.fix  # no share of nothing is anything


def test_a_component_that_nobody_has_is_a_mistake_with_and_without_a_base(lay: Lay) -> None:
    made = lay("budget.growth = { encodr = 0 }")
    for asked in ("main", "none"):
        (error,) = review(made, asked).errors
        assert (error.kind, error.line) == ("config-invalid", LINE_OF_BUDGET)
        assert 'names the component "encodr", which no bert model has' in error.message
        assert error.fix == "did you mean 'encoder'?"


def test_a_component_that_went_with_its_family_is_known_by_the_base(lay: Lay) -> None:
    growth_of = 'budget.growth = { "embeddings.token_type" = 0 }'
    made = lay(growth_of)
    sizes = {"vocab_size": 99, "dim": 48, "hidden_dim": 48, "n_layers": 1, "n_heads": 4}
    made.write("config.json", {"model_type": "distilbert", "architectures": ["DistilBertModel"], **sizes})
    assert review(made).errors == ()
    (error,) = review(made, "none").errors
    assert 'names the component "embeddings.token_type", which no distilbert model has' in error.message


def test_less_passes_any_growth(lay: Lay) -> None:
    found = review(lay("budget.growth = 0", num_hidden_layers=2))
    assert (found.verdict, [each.actual for each in found.measured if each.name == "growth"]) == ("passed", [0])


# without a base


def test_without_a_base_growth_is_red_and_says_how_to_give_one(lay: Lay) -> None:
    made = lay('budget.growth = "1%"')
    for asked in (None, "none"):
        (error,) = review(made, asked).errors
        assert error.sentence == (f"pyproject.toml:5: budget.growth needs a base, and this run has none; {GIVE_ONE}")


def test_a_base_that_ci_suggests_and_git_does_not_have_is_red(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lay('budget.growth = "1%"')
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    (error,) = review(made, None).errors
    assert error.message.startswith("budget.growth needs a base, and origin/release cannot be read: ")
    assert error.fix == GIVE_ONE


def test_a_new_model_has_nothing_to_grow_from_and_a_note_says_so(tmp_path: Path, tiny: dict[str, Any]) -> None:
    made = repository(tmp_path)
    made.commit()
    made.write("config.json", tiny)
    made.declare(MODEL.format(budget="budget.growth = 0"))
    found = review(made)
    assert found.verdict == "passed"
    (note,) = growth(found)
    assert (note.severity, note.message, note.fix) == (
        "note",
        "budget.growth needs a base, and main does not declare this model: it is new, and has no growth to check",
        "",
    )


@pytest.mark.parametrize(
    ("config", "table", "why"),
    [
        ({"hidden_size": 47}, "", "its count at main is unknown: "),
        ({}, "closed_form = false\n", "its count at main is unknown: closed_form = false"),
        ({}, "frobnicate = 1\n", "its count at main is unknown: pyproject.toml:5: "),
    ],
    ids=["no config", "no closed form", "no table"],
)
def test_a_base_of_which_no_count_is_known_is_red_unless_this_change_says_why(
    lay: Lay, config: dict[str, Any], table: str, why: str
) -> None:
    made = lay(f"{table}budget.total = 60_000", config, hidden_size=48)
    made.declare(MODEL.format(budget="budget.total = 60_000\nbudget.growth = 0"))
    found = [each for each in growth(review(made)) if each.component == "growth"]
    assert [(each.severity, each.line) for each in found] == [("error", LINE_OF_BUDGET + 1)]
    assert why in found[0].message
    say_why = 'or say why in the same change: reason = "…"'
    assert found[0].fix == f"compare with a commit in which it can be counted, {say_why}"
    made.declare(MODEL.format(budget='reason = "mended"\nbudget.total = 60_000\nbudget.growth = 0'))
    found = [each for each in growth(review(made)) if each.component == "growth"]
    assert [(each.severity, each.fix) for each in found] == [("note", 'its reason: "mended"')]


def built(made: GitProject, asked: str | None = "main") -> Review:
    """A model that is held to its budget alone, as a build of three tensors of 10 parameters each says what it is."""
    settings = load(made.folder / "pyproject.toml")
    subject = examine(settings.models["fits"], settings, Registry())
    tensors = tuple(Tensor(f"layer.{index}.weight", (2, 5), "") for index in range(3))
    return conclude(subject, Built(tensors, {}), accepted=Accepted(made.baseline(asked)))


ALONE = "closed_form = false\nbudget.total = 60_000\nbudget.growth = 0\n"


def test_what_only_a_build_can_count_grows_against_a_lock_that_is_to_be_committed(lay: Lay) -> None:
    made = lay(ALONE)
    (error,) = growth(built(made))
    assert error.severity == "error"
    assert error.message == ("budget.growth needs a base, and its count at main is unknown: closed_form = false")
    assert error.fix == (
        'say why in the same change: reason = "…", and commit a lock, which later commits are compared with: '
        'lock = "bertsize.lock" in [tool.bertsize], written by bertsize accept --reason "…"'
    )
    made.declare(MODEL.format(budget=f'reason = "ADR-16"\n{ALONE}'))
    (note,) = growth(built(made))
    assert (note.severity, note.fix) == ("note", 'its reason: "ADR-16"')


def test_a_reason_that_the_base_had_already_explains_nothing(lay: Lay) -> None:
    made = lay(f'reason = "ADR-16"\n{ALONE}')
    assert [each.severity for each in growth(built(made))] == ["error"]
    told = 'reason = "ADR-16"\nbudget.total = 60_000\n'  # by a table of the base that has a mistake, too
    made = lay(f"frobnicate = 1\n{told}")
    made.declare(MODEL.format(budget=f"{told}budget.growth = 0"))
    assert [each.severity for each in growth(review(made)) if each.component == "growth"] == ["error"]


FORMS = """
[bert]
classes = "Projecting   bert.body(pooler) + projection"
trees = {{ projection = "linear   linear D {width} bias=False   @head.projection" }}
"""


@pytest.mark.parametrize(
    ("name", "width", "kinds"),
    [("forms.toml", 8, ["not-compared"]), ("forms.toml", 4, []), ("other.toml", 4, [])],
    ids=["another form", "the same", "the same by another name"],
)
def test_what_a_closed_form_counts_that_the_base_did_not_have_is_no_count_of_the_base(
    tmp_path: Path, tiny: dict[str, Any], name: str, width: int, kinds: list[str]
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
    assert [each.kind for each in growth(found)] == kinds
    if kinds:
        assert "forms.toml is new or changed, and counts nothing at the base" in growth(found)[0].message


# what was over already


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "already 9,549 over at main, and this change adds 0"),
        ({"num_hidden_layers": 2}, ""),  # 42,917, which is within
        ({"num_hidden_layers": 4}, "already 9,549 over at main, and this change adds 16,632"),
        ({"vocab_size": -1}, "already 9,549 over at main, and this change removes 49"),
    ],
)
def test_an_overrun_that_the_base_had_is_said_as_such(
    lay: Lay, tiny: dict[str, Any], changes: dict[str, int], said: str
) -> None:
    if "vocab_size" in changes:
        changes = {"vocab_size": tiny["vocab_size"] - 1}
    found = review(lay("budget.total = 50_000", **changes))
    assert [each.message.rpartition("; ")[2] for each in found.errors] == ([said] if said else [])
    let_it = f"; to let it pass as long as it does not grow, write {LETS_IT}"
    assert [each.fix.endswith(let_it) for each in found.errors] == ([not said.endswith("16,632")] if said else [])


@pytest.mark.parametrize(
    ("changes", "passes"),
    [({}, True), ({"num_hidden_layers": 4}, False), ({"intermediate_size": 73}, False), ({"type_vocab_size": 1}, True)],
)
def test_an_overrun_passes_by_the_tables_word_as_long_as_it_does_not_grow(
    lay: Lay, changes: dict[str, int], *, passes: bool
) -> None:
    found = review(lay(f"budget.total = 50_000\n{LETS_IT}", **changes))
    assert found.verdict == ("passed" if passes else "failed")
    (over,) = [each for each in found.findings if each.kind == "over-budget"]
    assert over.severity == ("warning" if passes else "error")
    assert "already 9,549 over at main" in over.message
    assert (over.fix == f"it passes by {LETS_IT}, as it has not grown") == passes


ALBERT = {"model_type": "albert", "architectures": ["AlbertModel"], "num_attention_heads": 2, "intermediate_size": 3}
"""A row of its vocabulary is as wide as the embedding."""


@pytest.mark.parametrize(("rows", "verdict"), [(99, "passed"), (100, "passed"), (101, "failed")])
def test_one_parameter_more_is_growth(tmp_path: Path, rows: int, verdict: str) -> None:
    sizes = {**ALBERT, "embedding_size": 1, "hidden_size": 4}
    made = committed(tmp_path, {**sizes, "vocab_size": 100}, MODEL.format(budget=f"budget.total = 1\n{LETS_IT}"))
    made.write("config.json", {**sizes, "vocab_size": rows})
    found = review(made)
    assert found.held is not None
    assert found.base is not None
    assert (found.held["total"] - found.base["total"], found.verdict) == (rows - 100, verdict)


def test_a_part_that_grew_is_red_though_the_total_that_was_over_did_not_grow(lay: Lay) -> None:
    budget = f"budget.total = 50_000\nbudget.encoder = 30_000\n{LETS_IT}"
    found = review(lay(budget, intermediate_size=73, vocab_size=91))  # +291 and -490
    assert [each.component for each in found.errors] == ["encoder"]


def test_without_a_base_nothing_passes_by_it_and_the_way_out_says_why(lay: Lay) -> None:
    made = lay(f"budget.total = 50_000\n{LETS_IT}")
    (error,) = review(made, "none").errors
    assert error.fix.endswith(f'; already_over = "pass" needs a base: {GIVE_ONE}')
    made.declare(MODEL.format(budget="budget.total = 50_000"))
    (error,) = review(made, "none").errors
    assert "already_over" not in error.fix


def test_what_the_base_does_not_know_does_not_pass_by_it(lay: Lay) -> None:
    made = lay(f"budget.total = 50_000\n{LETS_IT}", {"hidden_size": 47}, hidden_size=48)
    (error,) = [each for each in review(made).errors if each.kind == "over-budget"]
    assert error.fix.endswith('its count at the base is unknown, so already_over = "pass" does not apply')


def test_a_marker_tightens_and_its_limit_passes_by_no_such_word(lay: Lay) -> None:
    made = lay(f"budget.total = 50_000\n{LETS_IT}")
    found = review(made, "main", "fits", head=2_000)
    assert [(each.component, each.file) for each in found.errors] == [("head", "test_a.py")]
    assert found.errors[0].message.endswith("already 549 over at main, and this change adds 0")
    assert "already_over" not in found.errors[0].fix


@pytest.mark.parametrize(
    ("limit", "over"),
    [
        ('bytes = "200kB"', 4 * TOTAL - 200_000),
        ("training_bytes = 900_000", 16 * TOTAL + 4 * 58 - 900_000),
        ("flops = { max = 1_000, seq_len = 8 }", None),
    ],
)
def test_bytes_and_flops_that_were_over_pass_as_counts_do(lay: Lay, limit: str, over: int | None) -> None:
    found = review(lay(f"budget.{limit}\n{LETS_IT}"))
    (warning,) = [each for each in found.findings if each.kind == "over-budget"]
    assert found.verdict == "passed"
    assert "over at main, and this change adds 0" in warning.message
    assert over is None or f"already {over:,} over at main" in warning.message
    assert review(lay(f"budget.{limit}\n{LETS_IT}", num_hidden_layers=4)).verdict == "failed"


def test_each_of_several_measures_was_over_by_its_own(lay: Lay) -> None:
    found = review(lay(f'budget.bytes = "200kB"\nbudget.training_bytes = 900_000\n{LETS_IT}'))
    assert {each.component: re.findall(r"already ([0-9,]+) over", each.message) for each in found.findings} == {
        "bytes": [f"{4 * TOTAL - 200_000:,}"],
        "training_bytes": [f"{16 * TOTAL + 4 * 58 - 900_000:,}"],
    }


def test_the_same_parameters_in_a_wider_dtype_are_more_bytes_than_at_the_base(lay: Lay) -> None:
    made = lay(f'budget.bytes = "100kB"\n{LETS_IT}', {"dtype": "float16"}, dtype="float32")
    (error,) = review(made).errors
    assert error.message.endswith(f"already {2 * TOTAL - 100_000:,} over at main, and this change adds {2 * TOTAL:,}")
