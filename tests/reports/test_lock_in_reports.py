"""What became of tensors, against the base's lock and against today's, in every report."""

from __future__ import annotations

import json

import pytest

from pytest_bertsize.reports import json as json_report
from pytest_bertsize.reports.markdown import page as markdown
from pytest_bertsize.reports.sentences import differs
from pytest_bertsize.reports.shape import FindingRow, Lock, ModelReport, TensorChange
from pytest_bertsize.reports.terminal.text import Style, against_base, notes
from tests.support.parsed_page import words
from tests.support.run_reports import against, bert, passing, run

LAYER = "bert.encoder.layer.12 is new: 7,087,872, like the other 12"
NOTE = f"it is not as bertsize.lock has it: {LAYER}"


def changed(count: int = 1) -> list[TensorChange]:
    said = [LAYER, *(f"{index} is gone" for index in range(1, count))]
    return [TensorChange(kind="new", name="bert.encoder.layer.12", count=7_087_872, said=each) for each in said]


def locked(tensors: int = 1) -> ModelReport:
    """A model that is compared with the lock of a base, and with today's."""
    model = against(passing(), bert(12, 512, tied=True))
    assert model["base"]
    model["base"] |= {"by": "lock", "tensors": changed(tensors)}
    model["lock"] = Lock(file="bertsize.lock", known=True, tensors=changed(tensors), buffers=[], why="")
    row = {
        "kind": "differs-from-lock",
        "severity": "note",
        "message": NOTE,
        "fix": "",
        "file": "bertsize.lock",
        "line": 5,
    }
    empty = dict.fromkeys(("component", "expected", "actual", "limit"))
    model["findings"] = [FindingRow(**{**empty, **row})]  # type: ignore[typeddict-item]
    return model


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_says_what_became_of_tensors_and_of_which_base(width: int) -> None:
    text = against_base(locked(), Style(width))
    assert "against main (bbbbbbbbbb) by its lock: " in text
    assert f"    {LAYER}" in text.splitlines()
    assert all(len(line) < width for line in text.splitlines())


def test_what_the_base_has_said_is_no_note_again_unless_it_is_asked_for() -> None:
    model = locked()
    assert notes(model, Style(200)) == ""
    assert NOTE in notes(model, Style(200, verbosity=1))
    model["base"] = None
    assert NOTE in notes(model, Style(200))


def test_many_changes_are_counted() -> None:
    text = against_base(locked(50), Style(200))
    assert "39 is gone" in text
    assert "40 is gone" not in text
    assert "and 10 more: the JSON report has them" in text


def test_markdown_and_the_page_say_it_too() -> None:
    text = markdown.render(run(locked()))
    assert "**Since `main`**, by its lock: " in text
    assert f"- {LAYER}" in text
    said = words(locked())
    assert LAYER in said
    assert "by its lock" in said
    assert "10 more changes of tensors are in the JSON report." in words(locked(50))
    assert "- 20 more changes of tensors: the JSON report has them" in markdown.render(run(locked(50)))


def test_json_has_all_of_it() -> None:
    (model,) = json.loads(json_report.render(run(locked(50))))["models"]
    assert len(model["base"]["tensors"]) == len(model["lock"]["tensors"]) == 50
    assert (model["base"]["by"], model["lock"]["file"]) == ("lock", "bertsize.lock")


def test_a_tensor_that_changed_is_a_difference_though_no_count_is() -> None:
    model = against(passing(), bert(12, 512, tied=True))
    assert not differs(model)
    assert model["base"]
    model["base"]["tensors"] = changed()
    assert differs(model)
