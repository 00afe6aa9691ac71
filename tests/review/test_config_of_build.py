"""A factory whose table names no config: its sizes are those that the finished model's backbones have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize import closed_form
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.closed_forms.derive import CORRECT
from pytest_bertsize.commands.accept import accept
from pytest_bertsize.commands.console import FOUND, GOOD
from tests.support.git_projects import GitProject, repository

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

    def build(labels=2): return Tagger(labels, int(Path(__file__).with_name("layers").read_text()))
    def whole(): return BertForTokenClassification(BertConfig(**SIZES, num_labels=7))

    def otherwise():  # as BertForTokenClassification.from_pretrained("roberta-base") makes it
        config = BertConfig(**SIZES, num_labels=7)
        config.model_type = "roberta"
        return BertForTokenClassification(config)

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
LOOSE = TAGGER.replace("59K", "9M").replace('lock = "strict"', "")
"""With room for more layers, and a lock that only notes them."""
UNPOOLED = "options = { add_pooling_layer = false }"
INIT = """bertsize init own:build --name tagger --kwargs '{"labels": 9}' --write"""
EMBEDDINGS, LAYER = 103 * 48 + 40 * 48 + 5 * 48 + 2 * 48, 4 * (48 * 48 + 48) + 2 * 48 * 72 + 72 + 48 + 4 * 48
HEAD = (2 * 48 + 1) * 9 + 9
TOTAL = EMBEDDINGS + 3 * LAYER + HEAD
Errors = list[tuple[str, str]]


class OwnProject(GitProject):
    """A project whose code builds its models."""

    def errors_of(self, table: str = TAGGER, layers: int = 3, *, builds: bool = True, **options: Any) -> Errors:
        """Check it, and return kind and message of each error."""
        self.declare(table)
        self.write("layers", str(layers))
        status, _ = self.check("size.json", helper=Helper() if builds else None, **{"base": None, **options})
        found = [(each["kind"], each["message"]) for each in self.model["findings"] if each["severity"] == "error"]
        assert status == (FOUND if found else GOOD)
        return found

    @property
    def model(self) -> dict[str, Any]:
        (found,) = json.loads((self.folder / "size.json").read_text())["models"]
        return dict(found)

    def accept(self, table: str = TAGGER) -> str:
        """Return the lock of the model of three layers."""
        self.declare(table)
        self.write("layers", "3")
        assert accept(self.folder, Helper(), (), "first") == GOOD
        return (self.folder / "bertsize.lock").read_text()

    def edit_lock(self, old: str, new: str) -> None:
        text = (self.folder / "bertsize.lock").read_text()
        assert text.count(old) == 1
        self.write("bertsize.lock", text.replace(old, new))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnProject:
    monkeypatch.chdir(tmp_path)
    found = OwnProject(tmp_path)
    found.write("own.py", OWN)
    return found


@pytest.fixture(scope="module")
def accepted() -> list[str]:
    """The lock of the tagger, once a test has asked for it."""
    return []


@pytest.fixture
def locked(project: OwnProject, accepted: list[str]) -> OwnProject:
    """The tagger of three layers, accepted."""
    if not accepted:
        accepted.append(project.accept())
    project.write("bertsize.lock", accepted[0])
    return project


def test_the_closed_form_reads_what_the_backbone_has_after_a_resize(locked: OwnProject) -> None:
    assert locked.errors_of() == []
    assert locked.model["totals"]["expected"] == locked.model["totals"]["actual"] == TOTAL
    assert locked.model["symbols"] == {"V": 103, "D": 48, "L": 3, "A": 4, "I": 72, "P": 40, "T": 5}
    assert locked.model["config"] == "own:build().bert.config"
    lock = (locked.folder / "bertsize.lock").read_text()
    assert "[models.tagger.sizes]" in lock
    assert "num_hidden_layers = 3\n" in lock


def test_a_strict_model_fails_on_each_tensor_of_its_lock_and_another_has_a_note(locked: OwnProject) -> None:
    ((kind, message),) = locked.errors_of(TAGGER.replace("59K", "9M"), 4)
    assert kind == "differs-from-lock"
    assert "(num_hidden_layers was 3 and is 4)" in message
    assert locked.errors_of(LOOSE, 4) == []


def test_a_base_is_counted_by_the_sizes_in_its_lock_and_names_the_key(locked: OwnProject) -> None:
    locked.declare(TAGGER)
    repository(locked.folder).commit()
    assert closed_form("HEAD:tagger").total == TOTAL
    errors = locked.errors_of(LOOSE, 4, base="HEAD")
    assert {kind for kind, _ in errors} == {"budget-loosened"}  # of its total, and strict no more
    assert "declares strict = true" in errors[-1][1]
    (change,) = locked.model["base"]["changes"]
    assert (change["key"], change["before"], change["after"], change["total"]) == ("num_hidden_layers", "3", "4", LAYER)
    assert locked.model["totals"]["actual"] == TOTAL + LAYER


def test_what_is_returned_may_be_a_class_of_the_library_or_have_several(project: OwnProject) -> None:
    pair = f'factory = "own:Pair"\narchitecture = "BertModel"\nbackbone = ["question", "answer"]\n{UNPOOLED}'
    for table, total in (
        ('factory = "own:whole"\narchitecture = "BertForTokenClassification"', TOTAL - HEAD - 2 * 48 + 48 * 7 + 7),
        (pair, 2 * (EMBEDDINGS + 3 * LAYER) - (2 + 2 + 44) * 48),
    ):
        assert project.errors_of(f'[tool.bertsize.models.x]\n{table}\nbudget.total = "120K"\n') == []
        assert project.model["totals"]["actual"] == total


def test_a_config_of_the_table_wins_and_one_of_the_built_model_that_says_otherwise_is_named(
    project: OwnProject, tiny: dict[str, Any]
) -> None:
    project.write("config.json", tiny)
    table = LOOSE.replace('backbone = "bert"', 'backbone = "bert"\n    config = "config.json"\n    family = "bert"')
    project.errors_of(table, 4)
    said = {each["message"]: each["line"] for each in project.model["findings"] if each["kind"] == "read-otherwise"}
    (layers,) = (message for message in said if "num_hidden_layers" in message)
    assert layers == "num_hidden_layers is 3 in config.json, and 4 in the config of the finished BertModel"
    line = (project.folder / "config.json").read_text().splitlines()[said[layers] - 1]
    assert line.strip().startswith('"num_hidden_layers"')


@pytest.mark.parametrize(
    ("was", "written", "message", "fix"),
    [
        ('backbone = "bert"', 'backbone = "encoder"', "at encoder; there is bert", "correct the keys 'backbone' and 'architecture'"),
        ('backbone = "bert"', "", "the built model is not a model of transformers itself; there is bert", "correct the keys 'backbone' and 'architecture'"),
        ('"BertModel"', '"RobertaModel"', "there is no closed form for \"RobertaModel\" in the family 'bert'; the nearest class is BertModel", CORRECT),
        ("add_pooling_layer", "pooling", 'no constructor argument "pooling"', "write one that it has: add_pooling_layer"),
        ("2*hidden_size + 1", "dim", 'is sized by "dim"', 'write "dim" in the config, or a number in its place'),
    ],
)  # fmt: skip
def test_a_table_of_another_model_is_told_with_the_command_that_writes_it_anew(
    project: OwnProject, was: str, written: str, message: str, fix: str
) -> None:
    ((_, said), *_) = project.errors_of(TAGGER.replace(was, written))
    assert message in said
    assert said.endswith(f"; it is built with total {TOTAL:,}, limit 59,000 ({TOTAL - 59_000:,})")
    finding = next(each for each in project.model["findings"] if each["severity"] == "error")
    assert finding["fix"] == f"if that is intended, {INIT} rewrites its table; else {fix}"


def test_off_its_table_and_its_lock_it_is_told_the_command_that_writes_both(locked: OwnProject) -> None:
    locked.write("own.py", OWN.replace("2 * 48 + 1, labels", "2 * 48 + 2, labels"))
    locked.errors_of()
    fixes = {each["kind"]: each["fix"] for each in locked.model["findings"] if each["severity"] == "error"}
    mend = f"correct the class; if that is intended, {INIT} writes its table and its lock"
    assert fixes == {"off-closed-form": mend, "differs-from-lock": ""}  # once


def test_without_a_build_and_a_lock_it_is_not_counted_and_strictly_an_error(project: OwnProject) -> None:
    assert project.errors_of(builds=False) == []
    assert project.model["verdict"] == "uncounted"
    ((_, message),) = project.errors_of(builds=False, strict=True)
    assert message.endswith("nothing is built, and no lock has them")


@pytest.mark.parametrize("table", [TAGGER, ALONE], ids=["sizes of the lock", "closed_form = false"])
def test_without_a_build_what_code_makes_is_counted_by_its_lock_which_is_said_and_strictly_an_error(
    project: OwnProject, table: str
) -> None:
    project.accept(table)
    assert project.errors_of(table, 30, builds=False) == []  # which the code reads, and nothing that is hashed
    (finding,) = (each for each in project.model["findings"] if each["severity"] == "warning")
    message = "counted by bertsize.lock, not built: its code may build a different model today"
    assert finding["message"] == message
    assert project.model["headline"].startswith(f"tagger: {TOTAL:,} parameters by its lock, not built; within")
    assert project.errors_of(table, builds=False, strict=True) == [("build-failed", message)]
    assert [kind for kind, _ in project.errors_of(table.replace("59K", "50K"), builds=False)] == ["over-budget"]


OTHER_TABLE = "its lock was written for other keys (such as factory, kwargs or options) than its table has"
LAYERS_IN_LOCK = ("num_hidden_layers = 3\n", "num_hidden_layers = 2\n")
UNTRUE = "the sizes in its lock do not match the tensors there"


def test_sizes_in_the_lock_that_are_not_those_of_the_build_are_a_difference(locked: OwnProject) -> None:
    """Unless they are of a key that another release has in its configs, as transformers 4 has this one."""
    locked.edit_lock("num_hidden_layers", 'position_embedding_type = "absolute"\nnum_hidden_layers')
    assert locked.errors_of() == []
    locked.edit_lock(*LAYERS_IN_LOCK)
    differs = ("differs-from-lock", "no tensor differs from bertsize.lock, but num_hidden_layers was 2 and is 3")
    assert locked.errors_of() == [differs]
    assert locked.errors_of(LOOSE) == []
    assert differs in locked.errors_of(f'{LOOSE}    budget.growth = "1%"\n')


def test_without_a_build_the_sizes_must_make_the_tensors_beside_them(locked: OwnProject) -> None:
    locked.edit_lock(LAYERS_IN_LOCK[0], "")
    for _ in range(2):
        ((kind, message),) = locked.errors_of(LOOSE, builds=False)
        assert (kind, message[: len(UNTRUE)]) == ("unknown-closed-form", UNTRUE)
        locked.edit_lock("num_attention_heads", f"{LAYERS_IN_LOCK[1]}num_attention_heads")


def test_without_a_build_the_lock_must_be_of_the_same_kwargs(locked: OwnProject) -> None:
    errors = locked.errors_of(TAGGER.replace("labels = 9", "labels = 9, seed = 1"), builds=False)
    assert errors == [("unknown-closed-form", OTHER_TABLE)]
    with pytest.raises(ValueError, match="its lock was written for other keys"):
        closed_form("pyproject.toml::tagger")


@pytest.mark.parametrize(
    ("edit", "why"), [(LAYERS_IN_LOCK, UNTRUE), (('config = "sha256:', 'config = "sha256:0'), OTHER_TABLE)]
)
def test_a_base_whose_lock_is_not_true_is_not_known(locked: OwnProject, edit: tuple[str, str], why: str) -> None:
    locked.edit_lock(*edit)
    locked.declare(LOOSE)
    repository(locked.folder).commit()
    errors = dict(locked.errors_of(f'{LOOSE}    budget.growth = "1%"\n', 4, base="HEAD"))
    assert locked.model["base"]["changes"] == []
    assert why in errors["not-compared"]
