"""Configs that cannot be checked: one sentence each, with file, line and a way out, and the other models still checked.

They are data, in ``bad_input/configs*.toml``: tables ``[[case]]``, each of them a model of one project that is run once.

| key | what it says |
|---|---|
| ``name`` | the model's name; its file is ``configs/NAME.json`` |
| ``why`` | what a lax gate does with it |
| ``base`` | the config that is changed: ``"tiny"``, or ``"google"``, which has neither family nor class |
| ``change``, ``null``, ``remove`` | keys of it with other values, with ``null``, and those that it does not have |
| ``text``, ``hex`` | the file itself, or its bytes |
| ``pieces`` | texts and how often each is repeated; ``%d`` in one is the number of the repetition |
| ``missing`` | there is no such file |
| ``table`` | lines of the model's table in pyproject.toml |
| ``says`` | the headline behind ``NAME: ``, where ``*`` stands for anything; of a model that passes, its warnings |
| ``passes`` | whether it is odd, and passes all the same |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import tomli

from tests.conftest import TINY
from tests.support.starting_projects import GOOGLE

Project = Callable[..., pytest.Pytester]

BASES = {"tiny": {"model_type": "bert", **TINY}, "google": GOOGLE}
WIDTH = 400
"""Columns of the terminal: no line of the output is longer."""
LONGEST_HEADLINE = 1_000
"""Characters: two foreign texts of at most 200 each, and what is said about them."""


@dataclass(frozen=True)
class Case:
    name: str
    why: str
    says: str
    passes: bool = False
    base: str = "tiny"
    change: Mapping[str, Any] = field(default_factory=dict)
    null: Sequence[str] = ()
    remove: Sequence[str] = ()
    text: str | None = None
    hex: str | None = None
    pieces: Sequence[tuple[str, int]] | None = None
    missing: bool = False
    table: str = ""

    @property
    def content(self) -> bytes | None:
        if self.missing:
            return None
        if self.hex is not None:
            return bytes.fromhex(self.hex)
        if self.pieces is not None:
            return "".join(_repeated(piece, times) for piece, times in self.pieces).encode()
        return (self._changed_base() if self.text is None else self.text).encode()

    def _changed_base(self) -> str:
        """A key on each line, the first on the second."""
        data = {**BASES[self.base], **self.change, **dict.fromkeys(self.null)}
        lines = (f" {json.dumps(key)}: {json.dumps(data[key])}" for key in data if key not in self.remove)
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @property
    def declaration(self) -> str:
        config = "" if self.table.startswith("config =") else f'config = "configs/{self.name}.json"\n'
        return f'[tool.bertsize.models.{self.name}]\n{config}{self.table}\nbudget = "report-only"\n'


def _repeated(piece: str, times: int) -> str:
    return "".join(piece.replace("%d", str(n)) for n in range(times)) if "%d" in piece else piece * times


def _cases() -> list[Case]:
    files = sorted((Path(__file__).parent).glob("configs*.toml"))
    return [Case(**entry) for file in files for entry in tomli.loads(file.read_text("utf-8"))["case"]]


CASES = _cases()
GOOD = Case("good", "", "", passes=True)


def test_each_case_has_a_name_of_its_own_and_one_content() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    contents = {case.name: [case.text, case.hex, case.pieces, case.missing or None] for case in CASES}
    assert [name for name, each in contents.items() if each.count(None) < len(each) - 1] == []


@pytest.fixture
def run(project: Project, monkeypatch: pytest.MonkeyPatch) -> pytest.RunResult:
    """One run of all of them and the good one, with its report in ``size.json``."""
    Path("configs").mkdir()
    for case in (GOOD, *CASES):
        if case.content is not None:
            (Path("configs") / f"{case.name}.json").write_bytes(case.content)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    table = "\n".join(case.declaration for case in (GOOD, *CASES))
    return project(table).runpytest("--bert-budget", "--bert-budget-report=size.json")


@pytest.mark.long
def test_each_bad_model_fails_with_one_sentence_and_the_good_one_is_checked(run: pytest.RunResult) -> None:
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stderr.str()
    models = {model["name"]: model for model in json.loads(Path("size.json").read_text("utf-8"))["models"]}
    said = {name: _said(model) for name, model in models.items()}
    wrong = {case.name: said[case.name] for case in (GOOD, *CASES) if not _is_as_told(said[case.name], case)}
    assert wrong == {}
    passing = 1 + sum(case.passes for case in CASES)
    run.assert_outcomes(passed=passing, failed=1 + len(CASES) - passing)
    assert [name for name, text in said.items() if len(text) > LONGEST_HEADLINE] == []
    sentences = [each[what] for model in models.values() for each in model["findings"] for what in ("message", "fix")]
    assert [lost for sentence in sentences for lost in untidy(sentence)] == []
    _assert_fit_for_a_log(run.outlines)


_FOREIGN = re.compile(r"""\"(?:[^"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'""")
_LOST = re.compile(r"(?<=\S)  +(?=\S)|\( | \)|\(\)|(?<=\S) [,;:](?= |$)|: ;|, ,|,,|: $|; $")


def untidy(sentence: str) -> list[str]:
    """Where, with what stands around it; what is quoted is somebody else's."""
    text = _FOREIGN.sub("…", sentence)
    return [text[max(0, found.start() - 20) : found.end() + 20] for found in _LOST.finditer(text)]


def test_a_sentence_that_has_lost_a_word_is_noticed() -> None:
    assert untidy('which no  model has ("a  b", or none)') == ["which no  model has (…, or non"]
    assert untidy("removed: main declares own ( under a limit of 1)") == [": main declares own ( under a limit of 1)"]
    assert untidy('removed: main declares own (own.json): 3 of "x ( y"; write 2') == []


def _said(model: Mapping[str, Any]) -> str:
    """``failed: `` and the headline behind the model's name, or ``passed: `` and its findings, one a line."""
    headline = model["headline"].removeprefix(f"{model['name']}: ")
    findings = "\n".join(_one_line(finding) for finding in model["findings"])
    return f"{model['verdict']}: {findings if model['verdict'] == 'passed' else headline}"


def _one_line(finding: Mapping[str, Any]) -> str:
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    return f"{place}: {finding['message']}; {finding['fix']}"


def _is_as_told(said: str, case: Case) -> bool:
    pattern = f"{'passed' if case.passes else 'failed'}: {case.says.strip()}"
    return fnmatchcase(said, pattern.replace("[", "[[]").replace("?", "[?]"))


def _assert_fit_for_a_log(lines: Sequence[str]) -> None:
    """No traceback, nothing that a terminal or a CI service would obey, no line without end."""
    assert [line for line in lines if "Traceback" in line or len(line) > WIDTH] == []
    assert [line for line in lines if not line.isprintable() or line.lstrip().startswith(("::", "##"))] == []
    assert [line for line in lines if "::error" in line or "##[" in line or "##vso" in line] == []
