"""``init``: what is printed and written, into which files, and that the gate passes it until a model grows."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
import tomli

from pytest_bertsize.commands import console
from pytest_bertsize.commands.console import GOOD, MISTAKEN
from pytest_bertsize.commands.init.command import NOTHING
from tests.conftest import TINY
from tests.support.git_projects import repository
from tests.support.starting_projects import GOOGLE, SAVED, holds, lay, proposed, said, started

if TYPE_CHECKING:
    from pathlib import Path

TINY_TABLE = """\
[tool.bertsize.models.bert]
config = "config.json"
budget.total = "59.6K"
budget.embeddings = "7.11K"
budget.encoder = "49.9K"
budget.head = "2.55K"
budget.pooler = 0
"""
"""59,549 parameters, 7,104 in its embeddings, 49,896 in its encoder, 2,549 in its head (tests/support/tables.py)."""


# what is proposed


def test_a_table_is_printed_as_it_would_be_written(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": "[tool.pytest.ini_options]\n"})
    assert started(tmp_path) == (
        GOOD,
        f"\n{TINY_TABLE}",
        "nothing is written: add --write, or paste this into pyproject.toml; then run pytest --bert-budget pyproject.toml\n",
    )
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == "[tool.pytest.ini_options]\n"


def test_the_librarys_class_is_not_proposed_where_the_projects_own_code_reads_a_key_that_it_does_not(
    tmp_path: Path,
) -> None:
    code = "class Fusion:\n    def __init__(self, config):\n        self.layers = config.fusion_layer\n"
    lay(
        tmp_path,
        **{
            "config.json": {**TINY, "fusion_layer": 3},
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "models/fusion.py": code,
        },
    )
    status, out, err = started(tmp_path)
    assert (status, out) == (NOTHING, "")
    assert err.startswith(
        'by hand: config.json: the key "fusion_layer" is none that the library\'s class reads, and models/fusion.py:3 '
        "names it; if that is the code of the class that you run, declare the class by factory; otherwise leave it if "
        'your code reads it, as ignored = ["fusion_layer"] says, else remove it\n'
    )


@pytest.mark.parametrize("before", ["[a]\nx = 1", "[a]\nx = 1\n", "[a]\r\nx = 1", " ", ""])
def test_what_is_printed_can_be_appended_to_the_file(tmp_path: Path, before: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": before})
    with (tmp_path / "pyproject.toml").open("a", encoding="utf-8", newline="") as file:
        file.write(started(tmp_path)[1])
    assert holds(tmp_path)[0] == console.GOOD
    assert tomli.loads(before).items() <= tomli.loads((tmp_path / "pyproject.toml").read_text("utf-8")).items()


def test_a_new_file_is_printed_whole(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY})
    _, out, _ = started(tmp_path)
    assert not (tmp_path / "pyproject.toml").exists()
    assert started(tmp_path, writes=True)[0] == GOOD
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == out
    assert out == (
        "# The BERT-family models of this project and what they may count, for pytest-bertsize: pytest --bert-budget\n\n"
        f'[tool.pytest.ini_options]\nminversion = "8.2"\n\n{TINY_TABLE}'
    )


# what is written


BEFORE = "# mine\n[project]\nname = 'x'   # odd   spaces\n\n[tool.other]\nz = 1\na = 2\n"


def written(root: Path) -> bytes:
    status, out, _ = started(root, writes=True)
    assert (status, out) == (
        GOOD,
        "pyproject.toml: 1 model declared (bert)\nnext: pytest --bert-budget pyproject.toml\n",
    )
    return (root / "pyproject.toml").read_bytes()


@pytest.mark.parametrize(
    "before",
    [
        BEFORE,
        BEFORE.rstrip("\n"),
        "[tool.bertsize]\n",
        "[tool.bertsize.models]\n",
        '[tool.bertsize]\npython = ".venv/bin/python"\n',
        '[tool.bertsize]\nhub = { "acme/tiny" = "tiny.json" }\n[tool.bertsize.models]\n',
    ],
)
def test_what_stands_in_the_file_stays_to_the_byte(tmp_path: Path, before: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": before})
    gap = b"\n" if before.endswith("\n") else b"\n\n"
    assert written(tmp_path) == before.encode() + gap + TINY_TABLE.encode()


def test_a_mistake_in_what_a_table_says_for_all_models_is_told_before_any_is_declared(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": "[tool.bertsize]\npython = 3\n"})
    assert started(tmp_path) == (
        MISTAKEN,
        "",
        "ERROR: pyproject.toml:2: tool.bertsize.python: 3 is not a string\n",
    )


@pytest.mark.parametrize("end", ["\r\n", ""])
def test_line_endings_are_those_of_the_file(tmp_path: Path, end: str) -> None:
    before = BEFORE.rstrip("\n").replace("\n", "\r\n") + end
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": before})
    after = written(tmp_path)
    assert after.startswith(before.encode())
    assert after.count(b"\n") == after.count(b"\r\n")
    assert holds(tmp_path)[0] == console.GOOD


def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": ""})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert (tmp_path / "pyproject.toml").read_text("utf-8").endswith(f'minversion = "8.2"\n\n{TINY_TABLE}')


def test_a_second_time_there_is_nothing_to_add(tmp_path: Path) -> None:
    lay(tmp_path, **{"a/config.json": TINY, "train.json": {"model": GOOGLE}, "b.json": {**TINY, "vocab_size": 99}})
    assert started(tmp_path, writes=True)[0] == GOOD
    before = (tmp_path / "pyproject.toml").read_bytes()
    assert started(tmp_path, writes=True) == (
        GOOD,
        "",
        "nothing to add: pyproject.toml declares every config that was found and can be declared\n",
    )
    assert (tmp_path / "pyproject.toml").read_bytes() == before


DECLARED = 'budget.total = "1M"\n'


@pytest.mark.parametrize(
    "config", ["models/x/config.json", "models/x", "./models/../models/x/config.json", "models/*/config.json"]
)
def test_a_config_that_is_declared_in_any_words_is_not_proposed(tmp_path: Path, config: str) -> None:
    name = '"{folder}"' if "*" in config else "mine"
    table = f'[tool.bertsize.models.{name}]\nconfig = "{config}"\n{DECLARED}'
    lay(tmp_path, **{"models/x/config.json": TINY, "y.json": {**TINY, "vocab_size": 99}, "pyproject.toml": table})
    assert list(proposed(tmp_path)) == ["y"]


@pytest.mark.parametrize(
    "table",
    [
        "factory = 'own:build'\nclosed_form = false\n",
        "config = { model_type = 'bert', vocab_size = 9, num_hidden_layers = 1 }\narchitecture = 'BertModel'\n",
        "config = 'own:config'\narchitecture = 'BertModel'\n",
    ],
    ids=["a factory without a config", "a config in the table", "a config by code"],
)
@pytest.mark.parametrize("name", ["config.json", "bert_config.json"])
def test_a_model_without_a_file_declares_none(tmp_path: Path, table: str, name: str) -> None:
    table = f"[tool.bertsize.models.own]\n{table}{DECLARED}"
    lay(tmp_path, **{name: TINY, "pyproject.toml": table})
    assert [each["config"] for each in proposed(tmp_path).values()] == [name]


def test_what_was_declared_by_hand_is_not_told_again(tmp_path: Path) -> None:
    own = {"model_type": "bert", "num_blks": 2, "hidden_size": 48}
    table = "[tool.bertsize.models.mine]\nconfig = 'train.json#model'\nkeys = { num_blks = 'num_hidden_layers' }\n"
    tagger = "[tool.bertsize.models.tagger]\nconfig = 'config.json'\nclosed_form = false\n"
    both = f"{table}{DECLARED}{tagger}{DECLARED}"
    lay(tmp_path, **{"train.json": {"model": own}, "config.json": {**TINY, "architectures": ["Own"]}})
    assert [line.partition(":")[0] for line in started(tmp_path)[2].splitlines()] == ["by hand", "by hand", "ERROR"]
    lay(tmp_path, **{"pyproject.toml": both})
    assert started(tmp_path)[::2] == (
        GOOD,
        "nothing to add: pyproject.toml declares every config that was found and can be declared\n",
    )


def test_a_copy_of_a_declared_config_is_a_copy(tmp_path: Path) -> None:
    table = f'[tool.bertsize.models.mine]\nconfig = "far/down/config.json"\n{DECLARED}'
    lay(tmp_path, **{"far/down/config.json": TINY, "checkpoint-5/config.json": SAVED, "pyproject.toml": table})
    status, out, err = started(tmp_path)
    assert (status, out) == (GOOD, "")
    assert err.splitlines()[0] == (
        "left out: checkpoint-5/config.json, a copy of far/down/config.json in a checkpoint folder"
    )


def test_a_config_that_is_equal_to_a_declared_one_is_declared_too(tmp_path: Path) -> None:
    table = f'[tool.bertsize.models.mine]\nconfig = "checkpoint-5/config.json"\n{DECLARED}'
    lay(tmp_path, **{"checkpoint-5/config.json": TINY, "config.json": TINY, "pyproject.toml": table})
    assert [each["config"] for each in proposed(tmp_path).values()] == ["config.json"]


def test_a_declared_checkpoint_is_no_copy(tmp_path: Path) -> None:
    table = f'[tool.bertsize.models.mine]\nconfig = "checkpoint-5/config.json"\n{DECLARED}'
    other = {**SAVED, "hidden_dropout_prob": 0.3}
    lay(tmp_path, **{"checkpoint-5/config.json": other, "config.json": TINY, "pyproject.toml": table})
    assert list(proposed(tmp_path)) == ["bert"]
    assert said(tmp_path) == []


def test_a_name_that_the_table_has_is_not_taken_again(tmp_path: Path) -> None:
    table = f'[tool.bertsize.models.bert]\nconfig = "old.json"\n{DECLARED}'
    lay(tmp_path, **{"config.json": TINY, "old.json": {**TINY, "vocab_size": 9}, "pyproject.toml": table})
    assert list(proposed(tmp_path)) == ["bert-2"]


@pytest.mark.parametrize(
    "table",
    [
        'tool.bertsize = { models = { a = { config = "a.json", budget = "report-only" } } }\n',
        '[tool]\nbertsize = { models = { a = { config = "a.json", budget = "report-only" } } }\n',
        '[tool.bertsize]\nmodels = { a = { config = "a.json", budget = "report-only" } }\n',
    ],
)
def test_a_table_in_braces_is_left_alone_with_what_to_paste(tmp_path: Path, table: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "a.json": {**TINY, "vocab_size": 9}, "pyproject.toml": table})
    assert started(tmp_path, writes=True) == (
        MISTAKEN,
        "",
        (
            "ERROR: pyproject.toml: no table can be added behind the one that [tool.bertsize] has in braces; write it as "
            f"[tool.bertsize.models.NAME], then add\n\n{TINY_TABLE}\n"
        ),
    )
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == table


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[tool]\nbertsize = 3\n", "tool.bertsize is 3"),
        ('[tool]\nbertsize = "on"\n', 'tool.bertsize is "on"'),
        ("tool = 3\n", "tool is 3"),
    ],
)
def test_what_is_no_table_is_not_said_to_be_one_in_braces(tmp_path: Path, text: str, what: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": text})
    status, out, err = started(tmp_path, writes=True)
    assert (status, out) == (MISTAKEN, "")
    assert err == f"ERROR: pyproject.toml: {what}, where a table has to be: remove it, then add\n\n{TINY_TABLE}\n"


def test_dotted_keys_leave_room_for_another_table(tmp_path: Path) -> None:
    table = '[tool.bertsize]\nmodels.a.config = "a.json"\nmodels.a.budget = "report-only"\n'
    lay(tmp_path, **{"config.json": TINY, "a.json": {**TINY, "vocab_size": 9}, "pyproject.toml": table})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert len(tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["tool"]["bertsize"]["models"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool\n", "pyproject.toml:1: not TOML: Expected ']' at the end of a table declaration at column 6"),
        (
            '[tool.bertsize.models.a]\nconfig = "config.json"\n',
            (
                'pyproject.toml:1: tool.bertsize.models.a.budget: the model has no budget: write budget.total = "110M", or '
                'budget = "report-only"'
            ),
        ),
        (
            "[tool.bert-size.models.a]\n",
            (
                "{path}: no model is declared, so nothing would be checked; did you mean [tool.bertsize] where it says "
                "[tool.bert-size]?"
            ),
        ),
    ],
)
def test_a_mistake_in_the_file_is_told_and_nothing_is_written(tmp_path: Path, text: str, message: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": text})
    path = tmp_path / "pyproject.toml"
    assert started(tmp_path, writes=True) == (MISTAKEN, "", f"ERROR: {message.format(path=path)}\n")
    assert path.read_text("utf-8") == text


def test_a_symlink_is_not_written_through(tmp_path: Path) -> None:
    other = lay(tmp_path / "other", **{"mine.toml": BEFORE})
    root = lay(tmp_path / "project", **{"config.json": TINY})
    (root / "pyproject.toml").symlink_to(other / "mine.toml")
    status, out, err = started(root, writes=True)
    assert (status, out) == (MISTAKEN, "")
    assert "is a symlink, and is left alone" in err
    assert (other / "mine.toml").read_text("utf-8") == BEFORE


def test_a_dangling_symlink_is_a_mistake(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY})
    (tmp_path / "pyproject.toml").symlink_to("nowhere")
    assert started(tmp_path, writes=True)[0] == MISTAKEN
    assert not (tmp_path / "nowhere").exists()


# pytest's root


SETTINGS = {
    "setup.cfg": "[tool:pytest]\naddopts = -ra\n",
    "tox.ini": "[tox]\n\n[pytest]\naddopts = -ra\n",
    "pytest.ini": "[pytest]\n",
    "pytest.toml": "",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_pytest_has_in_another_file_stay_in_force(tmp_path: Path, name: str) -> None:
    lay(tmp_path, **{"config.json": TINY, name: SETTINGS[name]})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert "[tool.pytest.ini_options]" not in (tmp_path / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize(("name", "text"), [("setup.cfg", "[metadata]\nname = x\n"), ("tox.ini", "[tox]\n")])
def test_files_without_a_word_of_pytest_are_no_settings(tmp_path: Path, name: str, text: str) -> None:
    lay(tmp_path, **{"config.json": TINY, name: text})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert '[tool.pytest.ini_options]\nminversion = "8.2"\n' in (tmp_path / "pyproject.toml").read_text("utf-8")


def test_a_new_root_is_told(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY})
    assert started(tmp_path, writes=True) == (
        GOOD,
        (
            "pyproject.toml, a new file: 1 model declared (bert)\n"
            "its [tool.pytest.ini_options] makes this folder pytest's root, so that this table is the one that is read\n"
            "next: pytest --bert-budget pyproject.toml\n"
        ),
        "",
    )


def test_a_project_above_that_may_be_meant_is_told(tmp_path: Path) -> None:
    lay(tmp_path, **{"pyproject.toml": "[project]\n", "src/config.json": TINY})
    above = f"{tmp_path / 'pyproject.toml'} is above this folder"
    assert said(tmp_path / "src") == [f"{above}: if it is the one of this project, name its folder by --project"]


def test_what_is_above_the_repository_is_not_meant(tmp_path: Path) -> None:
    lay(tmp_path, **{"pyproject.toml": "[project]\n", "clone/config.json": TINY})
    repository(tmp_path / "clone")
    assert said(tmp_path / "clone") == []


def test_a_root_above_that_pytest_would_take_is_told_and_what_reads_the_table_all_the_same(tmp_path: Path) -> None:
    lay(tmp_path, **{"pytest.ini": "[pytest]\n", "sub/config.json": TINY, "sub/pyproject.toml": "[project]\n"})
    file = tmp_path / "sub" / "pyproject.toml"
    assert started(tmp_path / "sub", writes=True) == (
        GOOD,
        "pyproject.toml: 1 model declared (bert)\nnext: bertsize check\n",
        (
            f"pytest takes {tmp_path} for its root: for pytest to read this table, give {file} a [tool.pytest.ini_options] with "
            f'minversion = "8.2"; pytest\'s settings in {tmp_path} then no longer apply to it\n'
        ),
    )


@pytest.mark.parametrize("settings", ["[pytest]\n", ""])
def test_a_project_elsewhere_is_checked_by_its_name(tmp_path: Path, settings: str) -> None:
    lay(tmp_path, **{"pytest.ini": settings, "my services/search/config.json": TINY})
    _, out, err = started(tmp_path, project="my services/search")
    assert out.startswith("# The BERT-family models")
    assert err.splitlines() == [
        (
            "nothing is written: add --write, or paste this into pyproject.toml; then run bertsize check "
            "--project 'my services/search'"
        ),
        (
            "the [tool.pytest.ini_options] in my services/search/pyproject.toml makes its folder a root: pytest's settings in "
            f"{tmp_path} then no longer apply to it"
        ),
    ]


def test_a_project_that_was_named_is_not_asked_for_again(tmp_path: Path) -> None:
    lay(tmp_path, **{"pyproject.toml": "[project]\n", "src/config.json": TINY})
    assert started(tmp_path, project="src", writes=True)[2] == ""


@pytest.mark.parametrize("section", ["[tool.pytest]", "[tool.pytest.ini_options]"])
def test_a_project_that_is_a_root_of_its_own_is_told_nothing(tmp_path: Path, section: str) -> None:
    lay(tmp_path, **{"pytest.ini": "[pytest]\n", "sub/config.json": TINY, "sub/pyproject.toml": f"{section}\n"})
    assert said(tmp_path / "sub") == []
