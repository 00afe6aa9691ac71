"""docs/how-to/size-comment.yml, the workflow that posts the report as a comment and runs nothing of the request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from pytest_bertsize.reports.files import render_report
from pytest_bertsize.reports.markdown import MARK
from pytest_bertsize.reports.markdown import render_page as markdown
from tests.support.paths import path_to, run_apart
from tests.support.run_reports import failing, passing, run

if TYPE_CHECKING:
    from pytest_bertsize.reports.report import ModelReport

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOW_TO = ROOT / "docs" / "how-to"
GH = """#!/usr/bin/env bash
echo "$*" >> "$TOLD"
case "$1 $2" in
  "run download") [[ -d $ARTIFACT ]] && cp -r "$ARTIFACT/." "${@: -1}" ;;
  "api --method") [[ $3 != GET ]] || echo "$OPEN" ;;
  "api --paginate") printf '%s\\n' $EARLIER ;;
esac
"""
"""As much of GitHub's own program as the script asks for: what it is told goes to a file, what it answers is given."""
GUIDE = (HOW_TO / "ci-and-pre-commit.md").read_text("utf-8")
SHOWN = GUIDE.partition("<!-- file: .github/workflows/size.yml -->\n```yaml\n")[2].partition("```")[0]
"""The workflow whose report it posts."""
GATE, COMMENT = yaml.safe_load(SHOWN), yaml.safe_load((HOW_TO / "size-comment.yml").read_text("utf-8"))
(JOB,) = COMMENT["jobs"].values()
(STEP,) = JOB["steps"]


def leave(tmp_path: Path, model: ModelReport) -> Path:
    """Write the artifact of a run, and return its folder."""
    report, folder = run(model), tmp_path / "artifact"
    folder.mkdir()
    (folder / "bertsize.json").write_text(render_report(report, ".json"), encoding="utf-8")
    (folder / "bertsize.md").write_text(markdown(report), encoding="utf-8")
    return folder


def posted(tmp_path: Path, *, earlier: str = "", numbers: str = "7", status: int = 0) -> list[str]:
    """What was changed on GitHub: the calls that are no question."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "gh").write_text(GH, encoding="utf-8")
    (folder / "gh").chmod(0o755)
    given = {"GH_TOKEN": "t", "GH_REPO": "o/r", "RUN": "1", "SHA": "a" * 40, "HEAD": "o:change", "LC_ALL": "C.UTF-8"}
    assert given.keys() == STEP["env"].keys()
    answers = {"TOLD": "told", "ARTIFACT": "../artifact", "OPEN": numbers, "EARLIER": earlier}
    done = run_apart(["bash", "-eo", "pipefail", "-c", STEP["run"]], folder, path_to(folder), **given, **answers)
    assert done.returncode == status, done.stdout
    return [line for line in (folder / "told").read_text("utf-8").splitlines() if "body=@" in line]


NEW = "api repos/o/r/issues/7/comments -F body=@bertsize/bertsize.md --silent"
REPLACED = "api --method PATCH repos/o/r/issues/comments/41 -F body=@bertsize/bertsize.md --silent"


@pytest.mark.parametrize(
    ("model", "earlier", "numbers", "calls"),
    [
        pytest.param(failing, "41 42", "7", [REPLACED], id="an earlier comment is replaced"),
        pytest.param(passing, "", "7", [], id="where nothing changed nothing is posted"),
        pytest.param(passing, "41", "7", [REPLACED], id="a comment on what was taken back does not stay"),
        pytest.param(failing, "", "", [], id="a request that went on is not told of what it was"),
    ],
)
def test_a_report_is_posted_where_it_has_news(
    tmp_path: Path, model: Callable[[], ModelReport], earlier: str, numbers: str, calls: list[str]
) -> None:
    leave(tmp_path, model())
    assert posted(tmp_path, earlier=earlier, numbers=numbers) == calls


def test_a_run_that_left_no_report_is_not_taken_for_one_without_a_change(tmp_path: Path) -> None:
    assert posted(tmp_path) == [NEW]
    said = (tmp_path / "job" / "bertsize" / "bertsize.md").read_text("utf-8")
    assert said == f"{MARK}\n\n## ❌ Model size: the run left no report\n"


def test_a_link_is_no_report(tmp_path: Path) -> None:
    artifact = leave(tmp_path, failing())
    secret = tmp_path / "secret"
    secret.write_text(f"{MARK}\nsecret", encoding="utf-8")
    (artifact / "bertsize.md").unlink()
    (artifact / "bertsize.md").symlink_to(secret)
    assert posted(tmp_path) == [NEW]
    assert "secret" not in (tmp_path / "job" / "bertsize" / "bertsize.md").read_text("utf-8")
    assert secret.read_text("utf-8") == f"{MARK}\nsecret"


@pytest.mark.parametrize("text", ["a comment of mine", f"{MARK}\n{'x' * 65_001}"])
def test_what_is_no_report_of_ours_is_not_posted(tmp_path: Path, text: str) -> None:
    (leave(tmp_path, failing()) / "bertsize.md").write_text(text, encoding="utf-8")
    assert posted(tmp_path, status=1) == []


def test_the_jobs_token_is_of_a_workflow_that_runs_nothing_of_the_request() -> None:
    assert [*COMMENT[True]] == ["workflow_run"]  # YAML 1.1 reads "on" as true
    assert COMMENT[True]["workflow_run"]["workflows"] == [GATE["name"]]
    assert COMMENT["permissions"] == {}
    assert JOB["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert "uses" not in STEP
    assert "${{" not in STEP["run"]


def test_the_gates_job_has_no_token_that_could_write() -> None:
    assert GATE["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in GATE["jobs"].values())
    assert [*GATE[True]] == ["pull_request"] if isinstance(GATE[True], dict) else GATE[True] == "pull_request"
    assert "secrets" not in str(GATE)
    assert not any("token" in str(step).lower() for step in ACTION["runs"]["steps"])
