"""``bertsize log``: how each declared model grew, from git alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.lock import Locked, render_lock
from pytest_bertsize.inventory import Tensor
from tests.support.git_projects import FITS, LAYER, git, repository

if TYPE_CHECKING:
    from tests.commands.conftest import Bertsize

TOTAL = 59_549
"""Of the tiny model of conftest.py."""
WORD = 48 + 1
"""What a word more costs: a row of its embedding, and a bias of the head."""


class History:
    """A project whose commits are made one by one."""

    def __init__(self, folder: Path, config: dict[str, Any], bertsize: Bertsize) -> None:
        self.project, self.config, self.bertsize = repository(folder), config, bertsize
        self.git, self.write = self.project.git, self.project.write
        self.command = ("log", "--project", str(folder))
        self.commit("begin", FITS)

    def commit(self, subject: str, table: str = "", file: str = "config.json", **keys: Any) -> None:
        """Change the table, or keys of the config, and commit all that has changed."""
        if table:
            self.project.declare(table)
        self.config = {**self.config, **keys}
        if file:
            self.write(file, self.config)
        self.git("add", "--all", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)

    def said(self, *arguments: str) -> str:
        return self.bertsize.printed(*self.command, *arguments)

    def models(self, *arguments: str) -> dict[str, list[dict[str, Any]]]:
        """The rows of each model."""
        document = self.bertsize.json(*self.command, *arguments)
        return {model["name"]: model["rows"] for model in document["models"]}

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        (rows,) = self.models(*arguments).values()
        return rows


def pick(rows: list[dict[str, Any]], *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(row[field] for field in fields) for row in rows]


@pytest.fixture
def history(tmp_path: Path, tiny: dict[str, Any], bertsize: Bertsize) -> History:
    return History(tmp_path / "project", tiny, bertsize)


# commit by commit


def test_each_commit_that_moved_a_count_is_a_row_with_its_key(history: History) -> None:
    history.commit("a layer more", num_hidden_layers=4)
    history.commit("another budget", FITS.replace("90K", "95K"))
    history.commit("nothing of it", file="")
    history.commit("ten words", vocab_size=111)
    first, _, _, last = history.git("rev-list", "--reverse", "HEAD~4..HEAD").split()
    said = history.said()
    lines = said.splitlines()
    assert lines[0] == f"fits: 59,549 → {TOTAL + LAYER + 10 * WORD:,} (+{LAYER + 10 * WORD:,})"
    assert re.fullmatch(rf"  {first[:10]}  \d{{4}}-\d\d-\d\d  76,181  \+16,632  a layer more", lines[3])
    assert lines[4].startswith("    num_hidden_layers 3 → 4: +16,632 (encoder.attention +9,408,")
    assert re.fullmatch(rf"  {last[:10]}  .*  76,671     \+490  ten words", lines[5])
    assert lines[6] == "    vocab_size 101 → 111: +490 (embeddings.word +480, head.decoder +10)"
    quiet = "- 2 other commits without a change of these counts"
    assert " ".join(said.split()).endswith(quiet)


def test_a_merge_is_one_row_of_all_that_it_brought_and_the_rows_add_up(history: History) -> None:
    history.git("switch", "--quiet", "--create", "wide")
    history.commit("a layer more", num_hidden_layers=4)
    history.commit("ten words", vocab_size=111)
    history.git("switch", "--quiet", "main")
    history.write("README.md", "x")
    history.commit("meanwhile", file="")
    history.git("merge", "--quiet", "--no-ff", "--message", "wider", "wide")
    rows = history.rows()
    assert [row["subject"] for row in rows] == ["begin", "wider"]
    assert rows[1]["change"] == LAYER + 10 * WORD
    assert {key["key"]: key["total"] for key in rows[1]["keys"]} == {"num_hidden_layers": LAYER, "vocab_size": 490}
    assert rows[1]["said"][-1] == "a merge: the change is the sum of those in the merged commits"
    assert len(rows[1]["parents"]) == 2
    assert [row["subject"] for row in history.rows("fits", "main^1..wide")] == ["begin", "a layer more", "ten words"]


def test_a_range_begins_with_what_was_there_before_it(history: History) -> None:
    history.commit("a layer more", num_hidden_layers=4)
    history.git("tag", "v1")
    history.commit("ten words", vocab_size=111)
    rows = history.rows("v1..HEAD")
    assert pick(rows, "subject", "change") == [("a layer more", None), ("ten words", 490)]
    assert rows[0]["said"] == ["at the start of these commits"]
    assert history.rows("fits", "v1..") == rows


def test_the_end_of_a_shallow_clone_is_no_beginning(history: History, tmp_path: Path) -> None:
    history.commit("a layer more", num_hidden_layers=4)
    last = history.git("rev-parse", "HEAD")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{history.project.folder}", "clone")
    said = " ".join(history.bertsize.printed("log", "--project", str(tmp_path / "clone")).split())
    assert "a layer more at the start of these commits" in said
    assert f"this clone is shallow: it lacks commits before {last[:10]}; run git fetch --unshallow" in said


# tag by tag


def test_tags_are_steps_annotated_ones_too_and_the_last_commit_ends_them(history: History) -> None:
    history.git("tag", "v1")
    history.commit("a layer more", num_hidden_layers=4)
    history.commit("a layer less", num_hidden_layers=3)
    history.git("tag", "--annotate", "--message", "two", "v2")
    history.git("tag", "--annotate", "--message", "again", "v2-again", "v2")
    history.commit("ten words", vocab_size=111)
    rows = history.rows("--tags")
    steps = [(["v1"], TOTAL, None), (["v2", "v2-again"], TOTAL, 0), ([], TOTAL + 490, 490)]
    assert pick(rows, "tags", "total", "change") == steps
    assert [row["tags"] for row in history.rows("--tags", "v1..v2")] == [[], ["v2", "v2-again"]]
    text = history.said("--tags").splitlines()
    assert text[1].startswith("  v1            ")
    assert re.search(r"v2, v2-again  .*  59,549     =  a layer less", text[3])


# names and files that change


def test_a_table_by_another_name_and_a_file_that_moved_are_the_same_model(history: History) -> None:
    (history.project.folder / "models").mkdir()
    history.git("mv", "config.json", "models/config.json")
    table = FITS.replace("models.fits", "models.encoder").replace('"config.json"', '"models"')
    history.commit("moved", table, file="models/config.json")
    history.commit("a layer more", file="models/config.json", num_hidden_layers=4)
    rows = history.rows("fits")
    assert rows == history.rows("encoder")
    assert [row["subject"] for row in rows] == ["begin", "moved", "a layer more"]
    assert rows[1]["said"] == [
        "renamed: the table at the commit before calls it fits",
        "its config was config.json at the commit before, and is models now",
    ]
    assert (rows[1]["change"], rows[2]["change"]) == (0, LAYER)


def test_a_model_that_leaves_says_why_and_may_come_back(history: History) -> None:
    other = FITS.replace("models.fits", "models.other").replace('"config.json"', '"other.json"')
    history.write("other.json", {**history.config, "num_hidden_layers": 1})
    history.commit("two", FITS + other)
    history.commit("one", f"[tool.bertsize.removed]\nfits = 'ADR-14: replaced'\n{other}")
    history.commit("two again", FITS + other, num_hidden_layers=4)
    fits, rest = history.models().values()
    assert pick(fits[1:], "subject", "total") == [("one", None), ("two again", TOTAL + LAYER)]
    assert fits[1]["said"] == ["removed from the table: ADR-14: replaced"]
    again, since = fits[2]["said"]
    assert (again, since[-32:], fits[2]["change"]) == ("declared again", "the last commit that was counted", LAYER)
    assert pick(rest, "said") == [(["new"],)]


def test_files_of_a_pattern_and_those_that_a_symlink_leads_to_are_followed(history: History) -> None:
    table = FITS.replace("models.fits", 'models."{stem}"').replace('"config.json"', '"configs/*.json"')
    history.write("kept/one.json", history.config)
    (history.project.folder / "configs").mkdir()
    (history.project.folder / "configs/one.json").symlink_to("../kept/one.json")
    history.commit("a pattern", table, file="")
    history.commit("behind the link", file="kept/one.json", num_hidden_layers=4)
    history.commit("one more file", file="configs/two.json", num_hidden_layers=5)
    rows = history.models()
    one = [("begin", None), ("a pattern", 0), ("behind the link", LAYER)]
    assert pick(rows["one"], "subject", "change") == one
    assert pick(rows["two"], "subject", "total") == [("one more file", TOTAL + 2 * LAYER)]


# what cannot be counted


def test_a_config_that_cannot_be_read_is_a_row_and_the_next_is_compared_with_the_last_that_was_counted(
    history: History,
) -> None:
    for text, subject in ("{", "broken"), ("{ ", "still broken"):
        history.write("config.json", text)
        history.commit(subject, file="")
    history.commit("elsewhere", file="")  # no row: nothing is new
    history.commit("mended", num_hidden_layers=4)
    rows = history.rows()
    broken = [("broken", None, None), ("still broken", None, None)]
    counted = [("begin", TOTAL, None), *broken, ("mended", TOTAL + LAYER, LAYER)]
    assert pick(rows, "subject", "total", "change") == counted
    assert rows[1]["said"][0].startswith("not counted: config.json:1: not JSON: ")
    assert rows[3]["since"] == rows[0]["commit"][:10]


def test_the_mistake_of_one_table_is_no_row_of_another_model(history: History) -> None:
    other = FITS.replace("models.fits", "models.other")
    history.commit("two", FITS + other)
    mistaken = FITS + other.replace("config =", "confg =")
    for subject, table in (("a mistake", mistaken), ("mended", FITS + other), ("gone", FITS), ("back", mistaken)):
        history.commit(subject, table)
    history.commit("mended again", FITS + other)
    rows = history.models()
    assert [row["subject"] for row in rows["fits"]] == ["begin"]
    assert [row["subject"] for row in rows["other"]] == ["two", "a mistake", "mended", "gone", "back", "mended again"]
    assert rows["other"][1]["said"][0].startswith("not counted: its table cannot be read: pyproject.toml:8: ")
    assert [each for row in rows["other"] for each in row["said"] if each == "declared again"] == []


def test_code_of_no_commit_is_run(history: History, tmp_path: Path) -> None:
    history.write("made.py", f"open({str(tmp_path / 'ran')!r}, 'w')\ndef config(): return {{}}\n")
    history.commit("by code", FITS.replace('"config.json"', '"made:config"'), file="")
    rows = history.rows()
    assert rows[1]["said"][1] == (
        "not counted: its config is made by code (made:config), which is not run; its table names no lock"
    )
    assert not (tmp_path / "ran").exists()


OWN = '[tool.bertsize]\nlock = "x.lock"\n[tool.bertsize.models.own]\nfactory = "own:build"\nbudget.total = "1M"\n'


def test_what_has_no_closed_form_is_counted_by_the_lock_of_each_commit(history: History) -> None:
    weight, bias = Tensor("out.weight", (9, 4), ""), Tensor("out.bias", (9,), "")
    history.commit("own", OWN, file="")
    for tensors in (weight,), (weight, bias):
        history.write("x.lock", render_lock({"own": Locked(tensors)}))
        history.commit("locked", file="")
    rows = history.models()["own"]
    assert pick(rows, "total", "by", "change") == [(None, None, None), (36, "lock", None), (45, "lock", 9)]
    assert rows[0]["said"][1].endswith("; its lock x.lock is not committed")
    assert rows[2]["said"][0] == "out.bias is new: 9 (9)"


def test_a_config_that_cannot_be_read_is_not_counted_by_the_lock_of_what_it_was(history: History) -> None:
    own = OWN.replace("models.own", "models.fits").replace('factory = "own:build"', 'config = "config.json"')
    history.write("x.lock", render_lock({"fits": Locked((Tensor("w", (9, 4), ""),))}))
    history.commit("locked", own)
    history.commit("misspelt", num_hiden_layers=4)
    row = history.rows()[-1]
    assert (row["total"], row["subject"]) == (None, "misspelt")
    assert "num_hiden_layers" in row["said"][0]


def test_what_a_clone_lacks_is_not_counted_and_not_asked_for(history: History) -> None:
    history.commit("a layer more", num_hidden_layers=4)
    history.commit("ten words", vocab_size=111)
    history.project.lose("HEAD~1:config.json")
    rows = history.rows()
    more = LAYER + 490
    assert pick(rows, "total", "change") == [(TOTAL, None), (None, None), (TOTAL + more, more)]
    assert rows[1]["said"] == ["not counted: config.json cannot be read, because this clone lacks it or is damaged"]


# foreign text

FOREIGN = "::error::x \x1b[31m <script>alert(1)</script> | `x` @all"


def test_a_subject_steers_no_terminal(history: History) -> None:
    history.commit(FOREIGN, num_hidden_layers=4)
    said = history.said()
    assert ("\x1b" in said, "::error" in said, r":\x3aerror:\x3ax" in said) == (False, False, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit"], "no table of these commits declares a model \"fit\"; did you mean 'fits'?"),
        (["v1..HEAD"], 'git knows no revision "v1"'),
        (["HEAD...main"], '"HEAD...main" is not a range of commits; write one, as in v1..HEAD'),
    ],
)
def test_a_mistake_in_the_command_says_what_to_write(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = history.bertsize.refused(*history.command, *arguments)
    assert said.startswith("ERROR: ")
    assert says in said
