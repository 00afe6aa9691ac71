"""A factory whose table names no config: its sizes are those that the finished model's backbones have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize import closed_form
from tests.support.git_projects import repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Project

OWN = """
    from pathlib import Path
    from torch import nn
    from transformers import BertConfig, BertForTokenClassification, BertModel

    SIZES = dict(vocab_size=101, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=72,
                 max_position_embeddings=40, type_vocab_size=5)

    class Tagger(nn.Module):
        def __init__(self, labels, layers):
            super().__init__()
            self.bert = BertModel(BertConfig(**{**SIZES, "num_hidden_layers": layers}), add_pooling_layer=False)
            self.bert.resize_token_embeddings(103)
            self.out = nn.Linear(2 * 48 + 1, labels)

    def build(labels=2): return Tagger(labels, int(Path("layers").read_text()))
    def whole(): return BertForTokenClassification(BertConfig(**SIZES, num_labels=7))

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.question = BertModel(BertConfig(**SIZES), add_pooling_layer=False)
            self.answer = BertModel(BertConfig(**{**SIZES, "vocab_size": 57}), add_pooling_layer=False)
"""
TAGGER = """
    [tool.bertsize]
    lock = "bertsize.lock"

    [tool.bertsize.models.tagger]
    factory = "own:build"
    kwargs = { labels = 9 }
    architecture = "BertModel"
    backbone = "bert"
    options = { add_pooling_layer = false }
    extra = [{ name = "out", linear = ["2*hidden_size + 1", "labels"] }]
    lock = "strict"
    budget.total = "59K"
"""
ALONE = """
    [tool.bertsize]
    lock = "bertsize.lock"

    [tool.bertsize.models.tagger]
    factory = "own:build"
    kwargs = { labels = 9 }
    closed_form = false
    budget.total = "59K"
"""
EMBEDDINGS, LAYER = 103 * 48 + 40 * 48 + 5 * 48 + 2 * 48, 4 * (48 * 48 + 48) + 2 * 48 * 72 + 72 + 48 + 4 * 48
HEAD = (2 * 48 + 1) * 9 + 9
TOTAL = EMBEDDINGS + 3 * LAYER + HEAD


def model(folder: Path = Path()) -> dict[str, Any]:
    (found,) = json.loads((folder / "size.json").read_text())["models"]
    return dict(found)


def check(project: Project, table: str = TAGGER, *arguments: str) -> pytest.RunResult:
    Path("layers").write_text("3") if not Path("layers").exists() else None
    return project(table, own=OWN).runpytest("--bert-budget", "--bert-budget-report=size.json", *arguments)


@pytest.fixture
def locked(project: Project) -> pytest.RunResult:
    """The run that accepts the tagger of three layers."""
    return check(project, TAGGER, "--bert-budget-update")


def test_the_closed_form_reads_what_the_backbone_has_after_a_resize(locked: pytest.RunResult) -> None:
    assert locked.ret == pytest.ExitCode.OK
    found = model()
    assert found["totals"]["expected"] == found["totals"]["actual"] == TOTAL
    assert found["symbols"] == {"V": 103, "D": 48, "L": 3, "A": 4, "I": 72, "P": 40, "T": 5}
    assert found["config"] == "own:build().bert.config"


def test_a_lock_holds_these_sizes_and_a_strict_model_fails_on_each_of_its_tensors(
    project: Project, locked: pytest.RunResult
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    lock = Path("bertsize.lock").read_text()
    assert "[models.tagger.sizes]" in lock
    assert "num_hidden_layers = 3\n" in lock
    Path("layers").write_text("4")
    result = check(project, TAGGER.replace("59K", "9M"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (finding,) = (each for each in model()["findings"] if each["severity"] == "error")
    assert finding["kind"] == "differs-from-lock"
    assert "(num_hidden_layers was 3 and is 4)" in finding["message"]


def test_a_lock_is_a_note_of_models_that_are_not_strict(project: Project, locked: pytest.RunResult) -> None:
    assert locked.ret == pytest.ExitCode.OK
    Path("layers").write_text("4")
    result = check(project, TAGGER.replace("59K", "9M").replace('lock = "strict"', ""))
    assert result.ret == pytest.ExitCode.OK


def test_a_base_is_counted_by_the_sizes_in_its_lock_and_names_the_key(
    project: Project, locked: pytest.RunResult
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    repository(Path.cwd()).commit()
    Path("layers").write_text("4")
    assert closed_form("HEAD:tagger").total == TOTAL
    check(project, TAGGER, "--bert-budget-base=HEAD")
    changes = model()["base"]["changes"]
    assert [(each["key"], each["before"], each["after"], each["total"]) for each in changes] == [
        ("num_hidden_layers", "3", "4", LAYER)
    ]
    assert model()["totals"]["actual"] == TOTAL + LAYER


def test_a_table_that_is_strict_no_more_is_looser(project: Project, locked: pytest.RunResult) -> None:
    assert locked.ret == pytest.ExitCode.OK
    repository(Path.cwd()).commit()
    result = check(project, TAGGER.replace('lock = "strict"', ""), "--bert-budget-base=HEAD")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert [each["kind"] for each in model()["findings"] if each["severity"] == "error"] == ["budget-loosened"]


def test_a_class_of_the_library_may_be_what_is_returned(project: Project) -> None:
    table = """
        [tool.bertsize.models.whole]
        factory = "own:whole"
        architecture = "BertForTokenClassification"
        budget.total = "59K"
    """
    assert check(project, table).ret == pytest.ExitCode.OK
    assert model()["totals"]["actual"] == EMBEDDINGS - 2 * 48 + 3 * LAYER + 48 * 7 + 7


def test_several_backbones_are_named_in_a_list(project: Project) -> None:
    table = """
        [tool.bertsize.models.pair]
        factory = "own:Pair"
        architecture = "BertModel"
        backbone = ["question", "answer"]
        options = { add_pooling_layer = false }
        budget.total = "120K"
    """
    assert check(project, table).ret == pytest.ExitCode.OK
    assert model()["totals"]["actual"] == 2 * (EMBEDDINGS + 3 * LAYER) - (2 + 2 + 44) * 48


def test_a_config_of_the_table_wins_and_one_of_the_built_model_that_says_otherwise_is_named(project: Project) -> None:
    table = TAGGER.replace('backbone = "bert"', 'backbone = "bert"\n    config = "config.json"\n    family = "bert"')
    Path("layers").write_text("4")
    result = check(project, table.replace('lock = "strict"', ""))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = {each["message"]: each["line"] for each in model()["findings"] if each["kind"] == "read-otherwise"}
    (layers,) = (message for message in said if "num_hidden_layers" in message)
    assert layers == "num_hidden_layers is 3 in config.json, and 4 in the config of the finished BertModel"
    assert Path("config.json").read_text().splitlines()[said[layers] - 1].strip().startswith('"num_hidden_layers"')


@pytest.mark.parametrize(
    ("was", "written", "message", "fix"),
    [
        ('backbone = "bert"', 'backbone = "encoder"', "at encoder; there is bert", "correct the keys 'backbone' and 'architecture'"),
        ('backbone = "bert"', "", "the built model is not a model of transformers itself; there is bert", "correct the keys 'backbone' and 'architecture'"),
        ('"BertModel"', '"RobertaModel"', "is a class of the family 'roberta', but the model's family is 'bert'", "did you mean 'BertModel'?"),
        ("add_pooling_layer", "pooling", 'no constructor argument "pooling"', "write one that it has: add_pooling_layer"),
        ("2*hidden_size + 1", "dim", 'is sized by "dim"', 'write "dim" in the config, or a number in its place'),
    ],
)  # fmt: skip
def test_a_table_of_another_model_is_told_with_the_command_that_writes_it_anew(
    project: Project, was: str, written: str, message: str, fix: str
) -> None:
    result = check(project, TAGGER.replace(was, written))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    finding = next(each for each in model()["findings"] if each["severity"] == "error")
    assert message in finding["message"]
    assert finding["message"].endswith(f"; it is built with total {TOTAL:,}, limit 59,000 ({TOTAL - 59_000:,})")
    command = """bertsize init own:build --name tagger --kwargs '{"labels": 9}' --write"""
    assert finding["fix"] == f"if that is intended, {command} rewrites its table; else {fix}"


def test_a_built_model_without_a_closed_form_is_told_with_that_command_as_well(project: Project) -> None:
    own = OWN.replace("import BertConfig", "import ViltConfig, ViltModel, BertConfig")
    made = "ViltModel(ViltConfig(hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=72))"
    old = 'BertModel(BertConfig(**{**SIZES, "num_hidden_layers": layers}), add_pooling_layer=False)'
    own = own.replace(old, made).replace("self.bert.resize_token_embeddings(103)", "")
    Path("layers").write_text("3")
    project(TAGGER, own=own).runpytest("--bert-budget", "--bert-budget-report=size.json")
    finding = next(each for each in model()["findings"] if each["severity"] == "error")
    assert finding["message"].startswith('there is no closed form for the family "vilt"')
    assert "--write rewrites its table; else correct the name" in finding["fix"]


def test_off_its_table_and_its_lock_it_is_told_the_command_that_writes_both(
    project: Project, locked: pytest.RunResult
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    own = OWN.replace("2 * 48 + 1, labels", "2 * 48 + 2, labels")
    project(TAGGER, own=own).runpytest("--bert-budget", "--bert-budget-report=size.json")
    fixes = {each["kind"]: each["fix"] for each in model()["findings"] if each["severity"] == "error"}
    command = """bertsize init own:build --name tagger --kwargs '{"labels": 9}' --write"""
    mend = f"correct the class; if that is intended, {command} writes its table and its lock"
    assert fixes == {"off-closed-form": mend, "differs-from-lock": ""}  # once


def test_without_a_build_and_a_lock_it_is_not_counted_and_strictly_an_error(project: Project) -> None:
    assert check(project, TAGGER, "--bert-budget-no-build").ret == pytest.ExitCode.OK
    assert model()["verdict"] == "uncounted"
    result = check(project, TAGGER, "--bert-budget-no-build", "--bert-budget-strict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (finding,) = (each for each in model()["findings"] if each["severity"] == "error")
    assert finding["message"].endswith("nothing is built, and no lock has them")


@pytest.mark.parametrize("table", [TAGGER, ALONE], ids=["sizes of the lock", "closed_form = false"])
def test_without_a_build_what_code_makes_is_counted_by_its_lock_which_is_said_and_strictly_an_error(
    project: Project, table: str
) -> None:
    assert check(project, table, "--bert-budget-update").ret == pytest.ExitCode.OK
    Path("layers").write_text("30")  # which the code reads, and nothing that is hashed
    result = check(project, table, "--bert-budget-no-build")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["1 configured, 1 checked, 0 failed; 1 counted by the lock; not compared with a build*"]
    )
    (finding,) = (each for each in model()["findings"] if each["severity"] == "warning")
    assert finding["message"] == "counted by bertsize.lock, not built: its code may build a different model today"
    assert model()["headline"].startswith(f"tagger: {TOTAL:,} parameters by its lock, not built; within")
    result = check(project, table, "--bert-budget-no-build", "--bert-budget-strict")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert errors() == [("build-failed", finding["message"])]
    assert check(project, table.replace("59K", "50K"), "--bert-budget-no-build").ret == pytest.ExitCode.TESTS_FAILED


def edit_lock(old: str, new: str) -> None:
    text = Path("bertsize.lock").read_text()
    assert text.count(old) == 1
    Path("bertsize.lock").write_text(text.replace(old, new))


def errors() -> list[tuple[str, str]]:
    return [(each["kind"], each["message"]) for each in model()["findings"] if each["severity"] == "error"]


OTHER_TABLE = (
    "its lock was written for another factory, class or adapter, or for other kwargs, overrides or options, "
    "than its table has"
)
LAYERS_IN_LOCK = ("num_hidden_layers = 3\n", "num_hidden_layers = 2\n")


def test_sizes_in_the_lock_that_are_not_those_of_the_build_are_a_difference(
    project: Project, locked: pytest.RunResult
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    edit_lock(*LAYERS_IN_LOCK)
    assert check(project).ret == pytest.ExitCode.TESTS_FAILED
    ((kind, message),) = errors()
    assert kind == "differs-from-lock"
    assert message == "no tensor differs from bertsize.lock, but num_hidden_layers was 2 and is 3"
    loose = TAGGER.replace('lock = "strict"', "")
    assert check(project, loose).ret == pytest.ExitCode.OK
    assert check(project, f'{loose}    budget.growth = "1%"\n').ret == pytest.ExitCode.TESTS_FAILED


def test_a_key_that_another_release_has_in_its_configs_is_no_difference(
    project: Project, locked: pytest.RunResult
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    edit_lock(
        "num_hidden_layers", 'position_embedding_type = "absolute"\nnum_hidden_layers'
    )  # as transformers 4 has it
    assert check(project).ret == pytest.ExitCode.OK
    assert errors() == []


@pytest.mark.parametrize("removed", [True, False])
def test_without_a_build_the_sizes_must_make_the_tensors_beside_them(
    project: Project, locked: pytest.RunResult, *, removed: bool
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    edit_lock(LAYERS_IN_LOCK[0], "" if removed else LAYERS_IN_LOCK[1])
    table = TAGGER.replace("59K", "9M").replace('lock = "strict"', "")
    assert check(project, table, "--bert-budget-no-build").ret == pytest.ExitCode.TESTS_FAILED
    ((kind, message),) = errors()
    assert kind == "unknown-closed-form"
    assert message.startswith("the sizes in its lock do not match the tensors there: ")


def test_without_a_build_the_lock_must_be_of_the_same_kwargs(project: Project, locked: pytest.RunResult) -> None:
    assert locked.ret == pytest.ExitCode.OK
    table = TAGGER.replace("labels = 9", "labels = 9, seed = 1")
    assert check(project, table, "--bert-budget-no-build").ret == pytest.ExitCode.TESTS_FAILED
    assert errors() == [("unknown-closed-form", OTHER_TABLE)]
    with pytest.raises(ValueError, match="its lock was written for another factory"):
        closed_form("pyproject.toml::tagger")


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (lambda: edit_lock(*LAYERS_IN_LOCK), "the sizes in its lock do not match the tensors there"),
        (lambda: edit_lock('config = "sha256:', 'config = "sha256:0'), OTHER_TABLE),
    ],
)
def test_a_base_whose_lock_is_not_true_is_not_known(
    project: Project, locked: pytest.RunResult, there: Callable[[], None], why: str
) -> None:
    assert locked.ret == pytest.ExitCode.OK
    there()
    repository(Path.cwd()).commit()
    Path("layers").write_text("4")
    table = TAGGER.replace("59K", "9M").replace('lock = "strict"', "")
    result = check(project, f'{table}    budget.growth = "1%"\n', "--bert-budget-base=HEAD")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert model()["base"]["changes"] == []
    (growth,) = (message for kind, message in errors() if kind == "not-compared")
    assert why in growth
