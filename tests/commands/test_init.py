"""``init``: what is printed and written, into which files, and that the gate passes it until a model grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bertsize.commands.console import FOUND, GOOD, MISTAKEN
from tests.conftest import TINY
from tests.support.starting_projects import GOOGLE, by_hand, lay, started

TINY_TABLE = """\
[tool.bertsize.models.bert]
config = "config.json"
budget.total = "59.6K"
budget.embeddings = "7.11K"
budget.encoder = "49.9K"
budget.head = "2.55K"
budget.pooler = 0
"""
"""59,549 parameters, 7,104 in its embeddings, 49,896 in its encoder, 2,549 in its head (tests/conftest.py)."""


# what is written


BEFORE = "# mine\n[project]\nname = 'x'   # odd   spaces\n\n[tool.other]\nz = 1\na = 2\n"


HUB = '[tool.bertsize]\nhub = { "acme/tiny" = "tiny.json" }\n[tool.bertsize.models]\n'


@pytest.mark.parametrize(("before", "newline"), [(BEFORE, "\n"), (BEFORE.rstrip("\n"), "\r\n"), (HUB, "\n")])
def test_what_stands_in_the_file_stays_to_the_byte(tmp_path: Path, before: str, newline: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": before.replace("\n", newline)})
    assert started(tmp_path, writes=True)[:2] == (
        GOOD,
        "pyproject.toml: 1 model declared (bert)\nnext: pytest --bert-budget pyproject.toml\n",
    )
    gap = "\n" if before.endswith("\n") else "\n\n"
    after = f"{before}{gap}{TINY_TABLE}".replace("\n", newline)
    assert (tmp_path / "pyproject.toml").read_bytes() == after.encode()


def test_a_second_time_there_is_nothing_to_add(tmp_path: Path) -> None:
    code = "from transformers import BertModel, BertForMaskedLM\nBertModel.from_pretrained('bert-base-uncased')\n"
    lay(tmp_path, **{"a/config.json": TINY, "google.json": GOOGLE, "b.json": {**TINY, "vocab_size": 99}})
    lay(tmp_path, **{"train.py": code, "tests/config.json": TINY})
    assert started(tmp_path, writes=True)[0] == GOOD
    before = (tmp_path / "pyproject.toml").read_bytes()
    assert started(tmp_path, writes=True) == (
        GOOD,
        "",
        "nothing to add: pyproject.toml declares 2 models, and init is not certain of 1 config\n",
    )
    assert (tmp_path / "pyproject.toml").read_bytes() == before


DECLARED = 'budget.total = "1M"\n'


def test_what_was_declared_by_hand_is_not_told_again(tmp_path: Path) -> None:
    files = {"config.json": {**TINY, "architectures": ["Own"]}, "google.json": GOOGLE}
    assert len(by_hand(lay(tmp_path, **files))) == 2
    places = {"b": "config.json", "c": "google.json"}
    tables = "".join(
        f"[tool.bertsize.models.{name}]\nconfig = '{place}'\nclosed_form = false\n{DECLARED}"
        for name, place in places.items()
    )
    lay(tmp_path, **{"pyproject.toml": tables})
    assert started(tmp_path) == (GOOD, "", "nothing to add: pyproject.toml declares 2 models\n")


A = '{ a = { config = "a.json", budget = "report-only" } }'


@pytest.mark.parametrize("text", [f"tool.bertsize = {{ models = {A} }}\n", f"[tool.bertsize]\nmodels = {A}\n"])
def test_a_file_that_leaves_no_room_for_a_table_is_left_alone_with_what_to_paste(tmp_path: Path, text: str) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": text})
    lay(tmp_path, **{"a.json": {**TINY, "vocab_size": 9}})
    status, out, err = started(tmp_path, writes=True)
    assert (status, out) == (MISTAKEN, "")
    what = "[tool.bertsize] cannot be extended: write it, and the tables in it, with a header each, then add"
    assert err == f"ERROR: pyproject.toml: {what}\n\n{TINY_TABLE}\n"
    assert (tmp_path / "pyproject.toml").read_text("utf-8") == text


def test_a_table_of_ours_that_is_none_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "pyproject.toml": "[tool]\nbertsize = 3\n"})
    status, out, err = started(tmp_path, writes=True)
    assert (status, out) == (MISTAKEN, "")
    assert err.endswith("pyproject.toml:2: tool.bertsize: 3 is not a table\n")


# pytest's root


@pytest.mark.parametrize(
    ("name", "text"),
    [("setup.cfg", "[tool:pytest]\naddopts = -ra\n"), ("tox.ini", "[tox]\n\n[pytest]\n"), ("pytest.toml", "")],
)
def test_settings_that_pytest_has_in_another_file_stay_in_force(tmp_path: Path, name: str, text: str) -> None:
    lay(tmp_path, **{"config.json": TINY, name: text})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert "[tool.pytest.ini_options]" not in (tmp_path / "pyproject.toml").read_text("utf-8")


def test_files_without_a_word_of_pytest_are_no_settings(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": TINY, "setup.cfg": "[metadata]\nname = x\n"})
    assert started(tmp_path, writes=True) == (
        GOOD,
        ("pyproject.toml, a new file: 1 model declared (bert)\nnext: pytest --bert-budget pyproject.toml\n"),
        "",
    )
    assert '[tool.pytest.ini_options]\nminversion = "8.2"\n' in (tmp_path / "pyproject.toml").read_text("utf-8")


ABOVE = {
    "settings of pytest": {"pytest.ini": "[pytest]\n"},
    "a table": {"pyproject.toml": f'[tool.bertsize.models.a]\nconfig = "a.json"\n{DECLARED}'},
    "any project": {"pyproject.toml": "[project]\n"},
}


@pytest.mark.parametrize("above", ABOVE)
def test_a_part_of_another_project_is_refused_with_both_commands_until_it_is_named(tmp_path: Path, above: str) -> None:
    lay(tmp_path, **ABOVE[above], **{"src/deep/config.json": TINY})
    assert started(tmp_path / "src" / "deep", writes=True, is_named=False) == (
        MISTAKEN,
        "",
        (
            "ERROR: this folder is part of the project in ../.., and a table here would make it a project of its own: "
            "run bertsize init --project ../.. for that project, or bertsize init --project . for this folder alone\n"
        ),
    )
    assert not (tmp_path / "src" / "deep" / "pyproject.toml").exists()
    assert started(tmp_path / "src" / "deep", writes=True)[0] == GOOD


# how it is shown


def test_where_nothing_is_found_an_example_is_shown(tmp_path: Path) -> None:
    assert started(lay(tmp_path, **{"README.md": "# nothing"})) == (
        FOUND,
        "",
        (
            "ERROR: no table is proposed: no JSON or YAML file names a class of a known family (init does not read "
            "tests, files that git ignores, or folders that are hidden, installed or built); write, for example, "
            '[tool.bertsize.models.encoder] with config = "config.json" and budget.total = "110M"\n'
        ),
    )
