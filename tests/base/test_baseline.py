"""A run against a base: what every component and every key moved, and what is said where nothing can be counted."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.base.lock import Locked, render_lock
from tests.support.git_projects import FITS, LAYER, GitProject, committed, repository

if TYPE_CHECKING:
    from pytest_bertsize.review.review import Comparison
    from tests.conftest import Project

TOTAL = 59_549
ENCODER = 3 * LAYER
TWO = """
    [tool.bertsize.models.fits]
    factory = "own:build"
    backbone = { one = "config.json", other = "other.json" }
    budget = "report-only"
    """


@pytest.fixture
def base(tmp_path: Path, tiny: dict[str, Any]) -> GitProject:
    return committed(tmp_path / "project", tiny)


def compared(project: GitProject, name: str = "fits", asked: str = "main") -> Comparison:
    found = project.review(name, asked).comparison
    assert found is not None
    return found


# what a reader sees


def test_a_layer_more_is_attributed_in_every_report(project: Project, tiny: dict[str, Any]) -> None:
    pytester = project("")
    found = committed(pytester.path, tiny)
    found.write("config.json", {**tiny, "num_hidden_layers": 4})
    main = found.git("rev-parse", "main")
    result = pytester.runpytest("--bert-budget", "--bert-budget-base=main", "--bert-budget-report=report.json")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            f"*fits against main ({main[:10]}): 59,549 → 76,181 (+16,632); bytes +66,528",
            "  (float32), FLOPs +1,597,440 (40 tokens)",
            "*num_hidden_layers 3 → 4: +16,632 (encoder.attention +9,408,*",
        ]
    )
    report = json.loads(Path("report.json").read_text("utf-8"))
    assert report["base"] == {"revision": "main", "commit": main, "problem": "", "removed": [], "not_compared": []}
    (model,) = report["models"]
    (change,) = model["base"]["changes"]
    assert (change["key"], change["before"], change["after"], change["total"]) == ("num_hidden_layers", "3", "4", LAYER)
    assert (model["base"]["total"], model["base"]["grown"], model["base"]["shrunk"]) == (TOTAL, LAYER, 0)
    rows = {row["name"]: (row["base"], row["actual"]) for row in model["components"]}
    assert rows["embeddings"] == (7_104, 7_104)
    assert rows["encoder"] == (ENCODER, ENCODER + LAYER)


# another name, another place


@pytest.mark.parametrize(("before", "now"), [("services/nlp", "nlp"), ("", "services/nlp"), ("nlp", "")])
def test_a_project_that_was_moved_inside_the_repository_is_compared(
    tmp_path: Path, tiny: dict[str, Any], before: str, now: str
) -> None:
    whole = repository(tmp_path)
    found = GitProject(tmp_path / before)
    found.write("config.json", tiny)
    found.declare(FITS)
    whole.commit()
    (tmp_path / now).mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "pyproject.toml"):
        whole.git("mv", str(Path(before) / name), str(Path(now) / name))
    moved = GitProject(tmp_path / now)
    moved.write("config.json", {**tiny, "num_hidden_layers": 4})
    moved.declare(FITS.replace("90K", "91K"))
    whole.git("add", "--all")
    assert compared(moved).grown == LAYER
    (error,) = moved.errors()
    assert "the limit of total was 90K at main and is 91K now" in error


# what cannot be counted at the base is said


@pytest.mark.parametrize("text", [None, "", "[tool.bertsize]\n"], ids=repr)
def test_a_base_that_declares_no_model_makes_all_new(tmp_path: Path, tiny: dict[str, Any], text: str | None) -> None:
    found = repository(tmp_path)
    found.write("config.json", tiny)
    if text is not None:
        found.write("pyproject.toml", text)
    found.commit()
    found.declare(FITS)
    new = compared(found)
    assert (new.said, new.is_new, new.grown) == (("new: main declares no such model",), True, 0)


@pytest.mark.parametrize("text", ["{", '{"architectures": ["BertModel"], "model_type": "bert", "hidden_size": -1}'])
def test_a_config_that_was_refused_is_said(tmp_path: Path, tiny: dict[str, Any], text: str) -> None:
    found = committed(tmp_path, text)  # type: ignore[arg-type]
    found.write("config.json", tiny)
    comparison = compared(found)
    assert comparison.said[0].startswith("at main it cannot be counted: config.json")
    assert (comparison.inventory, comparison.by, comparison.by_keys.moved, comparison.is_new) == (None, "", (), False)
    assert found.errors() == []


@pytest.mark.parametrize("outside", ["/outside.json", "a/../../../outside.json"])
def test_a_config_outside_the_repository_takes_no_other_model_with_it(
    tmp_path: Path, tiny: dict[str, Any], outside: str
) -> None:
    found = repository(tmp_path)
    found.write("config.json", tiny)
    found.declare(FITS.replace("fits", "astray").replace("config.json", outside) + FITS)
    found.commit()
    assert found.said() == ()


def test_a_model_that_gave_its_closed_form_up_keeps_the_count_of_its_base(base: GitProject) -> None:
    base.declare(FITS + 'closed_form = false\nreason = "a class of our own"\n')
    found = compared(base)
    assert found.inventory is not None
    assert (found.inventory.unique, found.by) == (TOTAL, "closed form")
    assert [said for said in found.said if "cannot be counted" in said] == []
    assert "closed_form = false: the change is not attributed to keys" in found.said


def test_a_model_that_has_a_closed_form_since_is_compared_with_the_lock_of_the_base(base: GitProject) -> None:
    locking = f'[tool.bertsize]\nlock = "bertsize.lock"\n{textwrap.dedent(FITS)}'
    form = base.review().subject.form
    assert form
    base.write("bertsize.lock", render_lock({"fits": Locked(form.tensors)}))
    base.base_on(f"{locking}closed_form = false\n")
    base.declare(locking)
    found = compared(base)
    assert found.inventory is not None
    assert (found.by, found.inventory.unique, found.grown) == ("lock", TOTAL, 0)
    assert found.inventory.components["encoder"] == ENCODER  # the components of today's closed form


# several parts: a key is told with its part


def test_a_backbone_that_grows_is_told_by_its_key(tmp_path: Path, tiny: dict[str, Any]) -> None:
    project = committed(tmp_path / "project", tiny, TWO)
    project.write("other.json", tiny)
    project.commit()
    project.write("other.json", {**tiny, "num_hidden_layers": 4})
    comparison = compared(project, asked="HEAD")
    (row,) = comparison.by_keys.moved
    assert (row.key, row.before, row.after, row.total) == ("other.num_hidden_layers", "3", "4", LAYER)
    assert {name.partition(".")[0] for name in row.own} == {"other"}


def test_a_backbone_that_is_not_there_at_the_base_leaves_nothing_to_compare_with(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    project = committed(tmp_path / "project", tiny, TWO)
    project.write("other.json", tiny)
    comparison = compared(project)
    assert comparison.inventory is None
    assert comparison.said == ("at main it cannot be counted: other.json is not a file",)
