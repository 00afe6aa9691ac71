"""``--bert-budget-no-build`` and ``check --no-build``: the closed form and the budget, and no word that more was done."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.commands import check as command
from pytest_bertsize.config import which_release
from tests.conftest import FITS, TABLE

if TYPE_CHECKING:
    from tests.conftest import Project

EXAMPLES = Path(__file__).parents[2] / "examples"
OPTIONS = ("--bert-budget", "--bert-budget-no-build")
SAID = "not compared with a build"
"""What the line that sums a run up says."""

# the tiny BertForMaskedLM of conftest.py: 59,549 parameters, 2,549 of them in its head; BertModel without its pooler has
# 57,000, and 2·48·7 + 7 = 679 more are the labels of this one
OWN = """
    [tool.bertsize.models.own]
    factory = "{module}:build"
    config = "config.json"
    architecture = "BertModel"
    backbone = "bert"
    options = {{ add_pooling_layer = false }}
    extra = [{{ name = "classifier", linear = ["2*hidden_size", 7] }}]
    budget.total = {{ exact = 57_679 }}
    """
WITHOUT_CLOSED_FORM = FITS + "closed_form = false\n"


def check(*reports: str, base: str | None = None, strict: bool = False) -> tuple[int, str]:
    """Return the status and the output of ``check --no-build``."""
    out = io.StringIO()
    return command.check(Path(), None, reports, base=base, strict=strict, out=out, err=out), out.getvalue()


def in_one_line(text: str) -> str:
    """Undo what the terminal has wrapped."""
    return " ".join(text.split())


def report(path: str = "size.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return found


def only_model(path: str = "size.json") -> dict[str, Any]:
    (found,) = report(path)["models"]
    assert isinstance(found, dict)
    return found


def without_place(rows: Sequence[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in keys} for row in rows]


# the verdict


@pytest.mark.parametrize(("limit", "failed"), [("59_549", 0), ("59_548", 1), ("{ min = 59_550 }", 1)])
def test_a_model_is_held_to_its_budget_by_its_closed_form(project: Project, limit: str, failed: int) -> None:
    result = project(FITS.replace('"60K"', limit)).runpytest(*OPTIONS)
    assert result.ret == failed
    result.stdout.fnmatch_lines(
        ["fits: total 59,549, *" if failed else "✓  fits *59,549*", f"1 configured, 1 checked, {failed} failed; {SAID}"]
    )


def test_the_command_gives_the_same_verdict_and_the_same_report(project: Project) -> None:
    pytester = project(TABLE)
    status, said = check("outer.json")
    assert status == 1
    assert "bursts: head 2,549, limit 2,548 (+1)\n" in said
    lines = "1 of 2 models failed: bursts; head 2,549, limit 2,548 (+1)\nby the closed form: nothing was built\n"
    assert said.endswith(f"2 configured, 2 checked, 1 failed; {SAID}; outer.json written\n{lines}")
    assert pytester.runpytest(*OPTIONS, "--bert-budget-report=inner.json").ret == pytest.ExitCode.TESTS_FAILED
    assert report("outer.json") == report("inner.json")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_an_example_has_the_verdict_and_the_closed_form_that_it_has_with_a_build(
    pytester: pytest.Pytester, name: str
) -> None:
    shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
    full = pytester.runpytest("--bert-budget", "--bert-budget-report=full.json")
    unbuilt = pytester.runpytest(*OPTIONS, "--bert-budget-report=unbuilt.json")
    assert full.ret == unbuilt.ret
    assert SAID not in full.stdout.str()
    assert "not built" not in full.stdout.str()
    assert (report("full.json")["mode"], report("unbuilt.json")["mode"]) == ("full", "no-build")
    with_build, without = report("full.json")["models"], report("unbuilt.json")["models"]
    assert [model["name"] for model in with_build] == [model["name"] for model in without]
    for ours, theirs in zip(without, with_build, strict=True):
        assert ours["verdict"] == theirs["verdict"]
        assert ours["components"]
        for rows in ("components", "measures"):
            assert without_place(ours[rows], "actual") == without_place(theirs[rows], "actual")
            assert ours["config"] == "its lock" or {row["actual"] for row in ours[rows]} <= {None}
        same = ("expected", "trainable", "stored", "unrolled")
        assert [ours["totals"][key] for key in same] == [theirs["totals"][key] for key in same]
        assert {finding["message"] for finding in theirs["findings"]} <= {
            finding["message"] for finding in ours["findings"]
        }


# what each output says of it


def test_the_json_report_has_its_mode_and_no_actual_count(project: Project) -> None:
    project(TABLE).runpytest(*OPTIONS, "--bert-budget-report=size.json")
    found = report()
    assert (found["mode"], found["complete"], found["checked"], found["failed"]) == ("no-build", True, 2, 1)
    assert not {"torch", "transformers"} & found["versions"].keys()
    assert found["versions"]["closed_forms_of_transformers"] == metadata.version("transformers")
    for model in found["models"]:
        assert model["built"] is False
        counted = {"expected": 59_549, "actual": None, "trainable": 59_549}
        assert model["totals"] == {**counted, "stored": 64_498, "unrolled": 64_498}
        assert {row["actual"] for kind in ("components", "tensors") for row in model[kind]} == {None}
        assert model["layers"] == []
    assert found["models"][0]["headline"] == "fits: 59,549 parameters by the closed form, not built; within its 60K"


# what cannot be held without a build


def test_a_factory_is_not_imported_nor_missed(project: Project) -> None:
    burglar = "from pathlib import Path\nPath('was_here').touch()\ndef build(config): pass\n"
    result = project(OWN.format(module="own"), own=burglar).runpytest(*OPTIONS)
    assert result.ret == pytest.ExitCode.OK
    assert not Path("was_here").exists()
    result = project(OWN.format(module="nowhere.at_all").replace("57_679", "57_678")).runpytest(*OPTIONS)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["own: total 57,679, limit 57,678 (+1)"])


WHY = "closed_form = false, nothing is built, and "
NOT_COUNTED = "NOT COUNTED: fits: nothing is built, and neither a closed form nor a lock counts them"


def test_a_model_that_nothing_counts_is_named_last_and_strictly_an_error(project: Project) -> None:
    pytester = project(WITHOUT_CLOSED_FORM + TABLE.partition("60K")[2].partition('"')[2].replace("2_548", "2_549"))
    for strict in (False, True):
        more = ["--bert-budget-strict"] * strict
        result = pytester.runpytest(*OPTIONS, *more, "--bert-budget-report=size.json")
        found = {model["name"]: model for model in report()["models"]}
        text = in_one_line(result.stdout.str())
        assert f"not counted: {WHY}the table names no lock" in text
        assert found["fits"]["totals"]["actual"] is found["fits"]["totals"]["expected"] is None
        verdicts = (report()["failed"], found["fits"]["verdict"], found["bursts"]["verdict"])
        assert verdicts == ((1, "failed", "passed") if strict else (0, "uncounted", "passed"))
        assert result.ret == check(strict=strict)[0] == strict
        last = (result.outlines[-1], check(strict=strict)[1].splitlines()[-1])
        if strict:
            assert "NOT COUNTED" not in text + last[1]
        else:
            assert last == (NOT_COUNTED, NOT_COUNTED)
            result.stdout.fnmatch_lines(["!*fits*BertForMaskedLM*not counted*"])
            assert f"2 configured, 2 checked, 0 failed, 1 not counted; {SAID}" in text
            assert report()["headline"] == "1 of 2 models passed; 1 not counted: fits"
            assert report()["changed"]


LOCKED = f'[tool.bertsize]\nlock = "bertsize.lock"\n{WITHOUT_CLOSED_FORM}'


WRITTEN: list[str] = []
"""The lock, when a build of this session has written it."""


@pytest.fixture
def with_lock(project: Project) -> pytest.Pytester:
    """A project whose lock was written with a build."""
    pytester, lock = project(LOCKED), Path("bertsize.lock")
    if not WRITTEN:
        assert pytester.runpytest("--bert-budget", "--bert-budget-update").ret == pytest.ExitCode.OK
        WRITTEN.append(lock.read_text("utf-8"))
    lock.write_text(WRITTEN[0], encoding="utf-8")
    return pytester


@pytest.mark.parametrize(("limit", "failed"), [("59_549", 0), ("59_548", 1)])
def test_a_model_without_a_closed_form_is_counted_by_its_lock(
    with_lock: pytest.Pytester, limit: str, failed: int
) -> None:
    table = Path("pyproject.toml")
    table.write_text(table.read_text("utf-8").replace('"60K"', limit), encoding="utf-8")
    result = with_lock.runpytest(*OPTIONS, "--bert-budget-report=size.json", "--bert-budget-report=size.html")
    assert result.ret == failed
    model = only_model()
    assert (model["verdict"], model["built"], model["lock"]["known"]) == ("failed" if failed else "passed", False, True)
    assert (model["totals"]["expected"], model["totals"]["actual"]) == (None, 59_549)
    if not failed:
        assert model["headline"].startswith("fits: 59,549 parameters by its lock, not built; ")
        assert "by its lock, not built" in Path("size.html").read_text("utf-8")
    result.stdout.fnmatch_lines([f"1 configured, 1 checked, {failed} failed; 1 counted by the lock; *"])


def write_two_layers(tiny: dict[str, Any]) -> None:
    Path("config.json").write_text(json.dumps({**tiny, "num_hidden_layers": 2}), encoding="utf-8")


def write_another_class(_: dict[str, Any]) -> None:
    table = Path("pyproject.toml")
    text = table.read_text("utf-8").replace("closed_form = false", 'closed_form = false\narchitecture = "BertModel"')
    table.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("change", [write_two_layers, write_another_class])
def test_a_lock_of_another_config_or_class_counts_nothing(
    with_lock: pytest.Pytester, tiny: dict[str, Any], change: Callable[[dict[str, Any]], None]
) -> None:
    change(tiny)
    result = with_lock.runpytest(*OPTIONS)
    assert result.ret == pytest.ExitCode.OK
    assert f"{WHY}bertsize.lock was written for another config or table" in in_one_line(result.stdout.str())
    assert result.outlines[-1] == NOT_COUNTED
    assert check(strict=True)[0] == 1


@pytest.mark.parametrize("limit", ["bytes = '9MB'", "growth = 0", "flops = { max = 9_999_999, seq_len = 8 }"])
def test_what_a_lock_does_not_say_is_not_held_to_it(with_lock: pytest.Pytester, limit: str) -> None:
    with Path("pyproject.toml").open("a", encoding="utf-8") as table:
        table.write(f"\nbudget.{limit}\n")
    result = with_lock.runpytest(*OPTIONS)
    assert "a lock cannot check its limit on" in in_one_line(result.stdout.str())
    assert result.outlines[-1] == NOT_COUNTED


def test_a_checkpoint_is_said_not_to_be_compared(project: Project) -> None:
    pytester = project(FITS + 'checkpoint = "model.safetensors"\n')
    header = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    Path("model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    result = pytester.runpytest(*OPTIONS)
    assert result.ret == pytest.ExitCode.OK
    said = "! fits: its checkpoint model.safetensors is not compared, because nothing is built"
    assert said in in_one_line(result.stdout.str())
    assert said in in_one_line(check()[1])


# FLOPs


@pytest.mark.parametrize(
    ("config", "limit", "said"),
    [
        ({}, "max = 925_440, seq_len = 8", ""),
        ({}, "max = 925_439, seq_len = 8", "limited: flops 925,440, limit 925,439 (+1)"),
        ({"type_vocab_size": 1, "model_type": "roberta"}, "max = 9_000_000, seq_len = 38", ""),
        (
            {"type_vocab_size": 1, "model_type": "roberta"},
            "max = 9_000_000, seq_len = 39",
            "seq_len 39 exceeds its max_position_embeddings 40, whose first 2 are never used",
        ),
        ({"model_type": "mpnet"}, "max = 9_000_000, seq_len = 8", "no closed form for its FLOPs, and nothing is built"),
    ],
)
def test_flops_are_held_by_their_closed_form(
    project: Project, tiny: dict[str, Any], config: dict[str, Any], limit: str, said: str
) -> None:
    """The tiny model has 40 positions, of which RoBERTa never uses the first 2."""
    classes = {"bert": "BertForMaskedLM", "roberta": "RobertaModel", "mpnet": "MPNetModel"}
    found = {**tiny, **config}
    found["architectures"] = [classes[found["model_type"]]]
    found = {key: each for key, each in found.items() if (key, found["model_type"]) != ("type_vocab_size", "mpnet")}
    table = f'[tool.bertsize.models.limited]\nconfig = "config.json"\nbudget.flops = {{ {limit} }}\n'
    result = project(table, found).runpytest(*OPTIONS)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if said else pytest.ExitCode.OK)
    assert said in in_one_line(result.stdout.str())


# markers, fixture


def test_a_marked_test_is_held_to_the_closed_form(project: Project) -> None:
    source = """
        import pytest
        @pytest.mark.bert_budget("fits", total=59_549)
        def test_in(): pass
        @pytest.mark.bert_budget("fits", total=59_548)
        def test_over(): pass
    """
    result = project(FITS, test_a=source).runpytest(*OPTIONS)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["fits: total 59,549, limit 59,548 (+1)", "  (not built: the closed form gives these counts)"]
    )


def test_the_fixture_is_an_error_that_says_what_to_do_also_where_a_lock_counts(with_lock: pytest.Pytester) -> None:
    Path("test_a.py").write_text("def test_it(bert_budget): pass\n", encoding="utf-8")
    result = with_lock.runpytest(*OPTIONS)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["the fixture bert_budget needs a build: run it without --bert-budget-no-build"])
    result.stdout.no_fnmatch_line("*Traceback*")


# which release the closed forms are asked about


RELEASE = '[tool.bertsize]\ntransformers = "{}"\n'
ASSUMED = "closed forms are those of transformers "


@pytest.mark.parametrize(("release", "biases"), [("4.57", 1), ("5.1", 2)])
def test_a_model_is_counted_as_the_release_of_the_table_builds_it(
    project: Project, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch, release: str, biases: int
) -> None:
    """Untied, the tiny model has 101·48 more of its decoder, and from 5 on a second bias of 101."""
    monkeypatch.setattr(which_release, "find_release", lambda *_: None)
    untied = {**tiny, "tie_word_embeddings": False}
    rows, width = tiny["vocab_size"], tiny["hidden_size"]
    result = project(RELEASE.format(release) + FITS, untied).runpytest(*OPTIONS, "--bert-budget-report=size.json")
    result.stdout.fnmatch_lines([f"{ASSUMED}{release} (as the table says: none is installed)"])
    assert report()["models"][0]["totals"]["expected"] == 59_549 + rows * width + (biases - 1) * rows
