"""What thousands of entries of one kind cost: steps of Python are counted, for time says another thing each time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomli

from pytest_bertsize.__main__ import main
from pytest_bertsize.table.toml import line_in_toml

MODEL = "[tool.bertsize.models.a]\nconfig = 'config.json'\nbudget.total = '1M'\n"
TABLES = {
    "overrides": (f"{MODEL}[tool.bertsize.models.a.overrides]\n", "odd{} = 1\n"),
    "options": (f"{MODEL}[tool.bertsize.models.a.options]\n", "odd{} = true\n"),
    "budget": ("[tool.bertsize.models.a]\nconfig = 'config.json'\n[tool.bertsize.models.a.budget]\n", "odd{} = 1\n"),
    "adapter": (f"{MODEL}[tool.bertsize.models.a.adapter]\ntarget_modules = ['query']\n", "odd{} = 1\n"),
}
FEW, STEP = 20, 60


def steps(work: Callable[[], object]) -> int:
    count = 0

    def seen(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("where", TABLES)
def test_each_unknown_key_costs_as_much_as_the_one_before(
    where: str, tmp_path: Path, tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(tiny))
    above, key = TABLES[where]

    def checked(keys: int) -> None:
        Path("pyproject.toml").write_text(above + "".join(map(key.format, range(100, 100 + keys))))
        assert main(["check", "--no-build"]) in (1, 2)

    checked(FEW)  # imports, and fills what is kept
    first, second, third = (steps(partial(checked, FEW + times * STEP)) for times in range(3))
    assert third - second < 1.3 * (second - first)


def test_lines_that_look_like_headers_in_a_list_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    loads = tomli.loads

    def noted(text: str) -> dict[str, Any]:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(tomli, "loads", noted)
    text = "x = [\n" + "[1],\n" * 500 + "]\nhere = 1\n"
    assert line_in_toml(text, ["here"]) == 503
    assert sum(map(len, parsed)) == len(text)
