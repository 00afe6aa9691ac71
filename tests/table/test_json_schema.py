"""The JSON Schema of ``[tool.bertsize]``: made from the structs, true to the gate, understood by those who read it."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from validate_pyproject.api import Validator
from validate_pyproject.errors import ValidationError

from pytest_bertsize.quantity import BYTES, FLOPS, SCALES
from pytest_bertsize.table.limits import NAMED
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.validate_pyproject import FILE, tool_schema
from tests.bad_input import test_bad_input, test_bad_runs
from tests.support.documents import validate as check_schema

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/pyproject.toml"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODEL = "[tool.bertsize.models.encoder]\n"
CONFIG = f'{MODEL}config = "config.json"\n'
OWN = f'{MODEL}factory = "own:build"\nbudget.total = "1M"\n'
BEYOND_A_PATTERN = ("is not a whole number of ", "is more than any model has: ")
validate = fastjsonschema.compile(tool_schema())


def is_accepted(table: object) -> bool:
    try:
        validate(copy.deepcopy(table))  # into which it writes defaults
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def mistake_of_gate(text: str) -> str:
    try:
        parse(text, Path("pyproject.toml"), lambda _: ["configs/a.json"])
    except SettingsError as error:
        return str(error)
    return ""


def declared(text: str) -> Any:
    return tomli.loads(text)["tool"]["bertsize"]


# the file


def test_to_read_the_file_needs_nothing_but_python() -> None:
    code = (
        "import sys\nfrom pytest_bertsize.table.validate_pyproject import tool_schema\n"
        "assert tool_schema('bertsize')['$id']\nprint(*{'msgspec', 'tomli', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_the_schema_is_one_of_draft_7_with_patterns_that_every_language_reads() -> None:
    assert check_schema("--check-metaschema", str(FILE)) == "ok -- validation done\n"
    tables = [*tables_of(tool_schema())]
    patterns = [each for table in tables for each in (table.get("pattern"), *table.get("patternProperties", ()))]
    assert [each for each in patterns if each and any(mark in each for mark in ("(?P", "(?=", "(?!", r"\w"))] == []
    assert [table for table in tables if "$ref" in table or table.get("type") == "null"] == []


def tables_of(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from tables_of(value)


# what is good


def shown_tables() -> Iterator[Any]:
    """Yield the tables of the README and the documentation, each with a model, and each model with a budget."""
    for page in PAGES:
        for block in page.read_text("utf-8").split("```toml\n")[1:]:
            tools = tomli.loads(block.split("```")[0]).get("tool", {})
            if "bertsize" in tools:
                models = tools["bertsize"].get("models", {"encoder": {"config": "config.json"}})
                shown = {name: {"budget": "report-only", **model} for name, model in models.items()}
                yield {**tools["bertsize"], "models": shown}


def test_what_the_documentation_shows_is_valid() -> None:
    shown = list(shown_tables())
    assert {key for table in shown for model in table["models"].values() for key in model} >= {
        *("config", "architecture", "overrides", "budget", "factory", "extra", "keys", "adapter", "checkpoint")
    }
    examples = [declared(path.read_text("utf-8")) for path in EXAMPLES]
    assert [table for table in (*shown, *examples) if not is_accepted(table)] == []


# what is bad


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (f'{CONFIG}budget.total = 1\narchitecure = "BertModel"', ".encoder must not contain {'architecure'}"),
        (f'{CONFIG}budget.total = "110MB"', ".encoder.budget.total must match pattern"),
        (f"{CONFIG}budget.total = {{ exact = 1, max = 2 }}", ".encoder.budget.total.max must not be there"),
        (CONFIG, ".encoder must contain ['budget']"),
        (f'{CONFIG}budget.total = 1\nbackbone = "bert"', ".encoder missing dependency factory for backbone"),
        (f'{OWN}extra = [{{ name = "x" }}]', ".encoder.extra[0] must be valid exactly by one definition"),
        (f"{CONFIG}budget.total = 1\n[tool.bertsize.model]", "data must not contain {'model'}"),
    ],
)
def test_a_mistake_is_refused_by_the_name_of_its_key(table: str, says: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException) as refused:
        validate(declared(table))
    assert says in refused.value.message
    assert mistake_of_gate(table)


# the gate and the schema


def test_no_table_of_bad_input_is_refused_that_the_gate_reads_and_most_are_that_it_does_not() -> None:
    cases = [case for topic in test_bad_runs.TOPICS for case in test_bad_runs.CASES[topic]]
    texts = {case.name: case.pyproject_bytes for case in cases if not case.without_pyproject}
    texts |= {config.name: config.declaration.encode() for config in test_bad_input.CASES}
    accepted: dict[bool, dict[str, bool]] = {True: {}, False: {}}
    for name, text in texts.items():
        try:
            table = declared(text.decode())
        except (tomli.TOMLDecodeError, KeyError, TypeError, RecursionError, ValueError):
            continue  # no table of ours
        accepted[not mistake_of_gate(text.decode())][name] = is_accepted(table)
    # which the gate reads, and then has no model that could have such a component
    assert [name for name, valid in accepted[True].items() if not valid] == ["component-without-a-name"]
    assert len(accepted[False]) > 200
    assert sum(accepted[False].values()) < len(accepted[False]) / 5


NUMBERS = st.text("0123456789._", max_size=9)
VALUES = {
    "factory": ('factory = {}\nbudget = "report-only"', st.text("aZ0_.:é", max_size=12) | st.just("own.py:build")),
    "name": (
        f"{OWN}extra = [{{{{ name = {{}}, linear = [1, 2] }}}}]",
        st.text("aZ0_.é", max_size=8) | st.integers(98, 102).map("x".__mul__),
    ),
    "seq_len": (
        f"{CONFIG}budget.flops = {{{{ max = 1, seq_len = {{}} }}}}",
        st.integers(-1, 2) | st.integers(999_999, 1_000_001),
    ),
    "release": (
        f"[tool.bertsize]\ntransformers = {{}}\n{CONFIG}budget.total = 1",
        st.from_regex(r"[3-7]\.[0-9]{1,2}(\.[0-9])?", fullmatch=True),
    ),
    "total": (f"{CONFIG}budget.total = {{}}", st.builds("{}{}".format, NUMBERS, st.sampled_from(["", *SCALES, "mb"]))),
    "bytes": (
        f"{CONFIG}budget.bytes = {{}}",
        st.builds("{}{}".format, NUMBERS, st.sampled_from(["", *BYTES.scales, " M"])) | st.sampled_from(list(NAMED)),
    ),
    "flops": (
        f"{CONFIG}budget.flops = {{{{ seq_len = 1, max = {{}} }}}}",
        st.builds("{}{}".format, NUMBERS, st.sampled_from(["", *FLOPS.scales, "m"])) | st.integers(-1, 10**16),
    ),
}


@pytest.mark.parametrize("key", VALUES)
@given(data=st.data())
def test_the_schema_says_of_a_value_what_the_gate_says(key: str, data: st.DataObject) -> None:
    line, values = VALUES[key]
    value = data.draw(values)
    text = line.format(f"'{value}'" if isinstance(value, str) else value)
    text = text if text.startswith("[") else f"{MODEL}{text}"
    mistake = mistake_of_gate(text)
    beyond = isinstance(value, str) and any(each in mistake for each in BEYOND_A_PATTERN)
    assert beyond or is_accepted(declared(text)) is not bool(mistake), mistake


def test_validate_pyproject_has_the_schema_as_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALIDATE_PYPROJECT_NO_NETWORK", "1")
    check, good = Validator(), f"{CONFIG}budget.total = 1\n"
    assert check(tomli.loads(good))
    with pytest.raises(ValidationError, match=r"must not contain \{'architecure'\}"):
        check(tomli.loads(f'{good}architecure = "BertModel"\n'))
