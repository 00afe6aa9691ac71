"""The JSON Schema of ``[tool.bertsize]``: made of the models, true to the gate, and understood by those who read it."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import fastjsonschema
import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BeforeValidator, ValidationError
from validate_pyproject import api, plugins
from validate_pyproject.errors import ValidationError as Refused

from pytest_bertsize.inventory import CANONICAL, TOTAL, TRAINABLE
from pytest_bertsize.quantity import BYTE_SCALES, FLOP_SCALES, SCALES
from pytest_bertsize.table import json_schema
from pytest_bertsize.table.byte_sizes import BITS, NAMED
from pytest_bertsize.table.extra import SIZES
from pytest_bertsize.table.schema import BertsizeTable, ModelTable
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.validate_pyproject import FILE, generated, text_of, tool_schema
from tests.bad_input import test_bad_input, test_bad_runs
from tests.bad_input.fuzzing import TABLES
from tests.support.tables import FITS, TABLE

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/pyproject.toml"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODEL = "[tool.bertsize.models.encoder]\n"
CONFIG = f'{MODEL}config = "config.json"\n'
OWN = f'{MODEL}factory = "own:build"\nbudget.total = "1M"\n'
is_valid = fastjsonschema.compile(generated())
"""Raises where the table is not."""


def accepted(table: object) -> bool:
    """Whether the schema accepts a table."""
    try:
        is_valid(copy.deepcopy(table))  # into which it writes defaults
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def accepted_by_gate(table: object) -> bool:
    try:
        BertsizeTable.model_validate(table)
    except ValidationError:
        return False
    return True


def declared(text: str) -> Any:
    return tomli.loads(text)["tool"]["bertsize"]


# the file


def test_the_file_is_what_the_models_say() -> None:
    assert FILE.read_text("utf-8") == text_of(generated()), (
        "write it anew: python -m pytest_bertsize.table.validate_pyproject"
    )


def test_the_file_is_in_the_package_under_the_name_that_schemastore_gives_it() -> None:
    assert json.loads((files("pytest_bertsize.table") / "partial-bertsize.json").read_text("utf-8")) == generated()


def test_the_file_is_written_anew_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bertsize.table.validate_pyproject.FILE", tmp_path / "schema.json")
    from pytest_bertsize.table import validate_pyproject

    validate_pyproject.main()
    assert (tmp_path / "schema.json").read_bytes() == text_of(generated()).encode()


def test_to_read_the_file_needs_nothing_but_python() -> None:
    code = (
        "import sys\nfrom pytest_bertsize.table.validate_pyproject import tool_schema\n"
        "assert tool_schema('bertsize')['$id']\nprint(*{'pydantic', 'tomli', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_the_schema_is_one_of_draft_7_with_patterns_that_every_language_reads() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--check-metaschema", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert generated()["$schema"] == "http://json-schema.org/draft-07/schema#"
    patterns = [
        each for _, node in nodes(generated()) for each in (node.get("pattern"), *node.get("patternProperties", ()))
    ]
    assert [
        each for each in patterns if each and ("(?P" in each or "(?=" in each or "(?!" in each or r"\w" in each)
    ] == []


def nodes(node: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every table in the schema, with where it is."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, (*path, str(index)))


def keys(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every key that the schema declares."""
    for key, each in {
        **schema.get("properties", {}),
        **schema.get("patternProperties", {}),
    }.items():
        yield (*path, key), each
        yield from keys(each, (*path, key))
        yield from keys(each.get("items", {}), (*path, key))
        if isinstance(each.get("additionalProperties"), dict):
            yield from keys(each["additionalProperties"], (*path, key, "*"))


def test_every_key_says_what_it_is_for_in_a_sentence() -> None:
    described = {path: each.get("description", "") for path, each in keys(generated())}
    assert [path for path, said in described.items() if not said.endswith(".") or "``" in said or "\n" in said] == []
    assert {path[-1] for path in described} >= {
        "min",
        "max",
        "exact",
        "seq_len",
        "linear",
        "budget",
        *ModelTable.model_fields,
    }


def test_the_schema_has_no_null_no_reference_and_no_made_up_title() -> None:
    found = list(nodes(generated()))
    assert [path for path, node in found if "null" in (node.get("type"), *node.get("enum", ()))] == []
    assert [path for path, node in found if "$ref" in node] == []
    assert [path for path, node in found if "title" in node] == [()]


def test_the_components_that_all_families_share_are_proposed() -> None:
    (model,) = generated()["properties"]["models"]["patternProperties"].values()
    others = {"bytes", "flops", "training_bytes", "growth", "already_over"}
    proposed = [key for key in model["properties"]["budget"]["properties"] if key not in others]
    assert proposed == [TOTAL, TRAINABLE, *CANONICAL]


def test_a_validator_and_a_type_of_which_nobody_says_what_they_let_pass_are_errors() -> None:
    with pytest.raises(KeyError):
        json_schema._of(Annotated[int, BeforeValidator(len)])
    with pytest.raises(KeyError):
        json_schema._of(float)
    with pytest.raises(TypeError, match=r"say in pytest_bertsize.table.json_schema what it lets pass"):
        json_schema._of(Annotated[int, "metres"])


# what is good


def shown_tables() -> Iterator[Any]:
    """What the README and the documentation show of the table, each with a model, and each model with a budget."""
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
    assert [table for table in shown if not accepted(table)] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_each_example_is_valid(path: Path, validator: api.Validator) -> None:
    assert accepted(declared(path.read_text("utf-8")))
    validator(tomli.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("text", [TABLE, FITS])
def test_the_tables_of_other_tests_are_valid(text: str) -> None:
    assert accepted(declared(text))


@pytest.mark.parametrize(
    ("line", "writings"),
    [
        ("budget.total = {}", [f'"12{unit}"' for unit in SCALES] + ["0", "110_000_000", '"1.2B"', '"86_000_000"']),
        (
            "budget.bytes = {}",
            [f'"12{unit}"' for unit in BYTE_SCALES] + [f'"{name}"' for name in NAMED] + ["440_000_000"],
        ),
        ("budget.flops = {{ max = {}, seq_len = 128 }}", [f'"1{unit}"' for unit in FLOP_SCALES] + ["22_000_000_000"]),
        ('budget.bytes = {{ max = 1, dtype = "{}" }}', list(BITS)),
        ('budget.bytes = {{ max = 1, count = "{}" }}', ["unique", "stored", "unrolled"]),
        ('budget."{}" = 0', ["encoder.attention", "head.crf", "adapters.modules_to_save", "unexpected"]),
        ("budget.pooler = {}", ["{ exact = 0 }", '{ min = "1K" }', '{ min = 1, max = "1K" }']),
        ("budget = {}", ['"report-only"', "{ total = 1, bytes = 1 }"]),
    ],
)
def test_every_way_to_write_a_limit_is_valid(line: str, writings: list[str]) -> None:
    tables = [declared(CONFIG + line.format(each)) for each in writings]
    assert [each for each in tables if not (accepted(each) and accepted_by_gate(each))] == []


@pytest.mark.parametrize(
    ("name", "good"), [("模型", True), ("bert-{stem}", True), ("{folder}.v1", True), ("bert-{file}", False)]
)
def test_a_models_name_is_a_test_id_of_any_script_or_has_a_placeholder(name: str, *, good: bool) -> None:
    assert accepted({"models": {name: {"config": "configs/*.json", "budget": "report-only"}}}) is good


# what is bad


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (f'{CONFIG}budget.total = 1\narchitecure = "BertModel"', ".encoder must not contain {'architecure'}"),
        (f'{CONFIG}budget.total = "110MB"', ".encoder.budget.total must match pattern"),
        (f"{CONFIG}budget.total = true", ".encoder.budget.total must be integer or string or object"),
        (f"{CONFIG}budget.total = -1", ".encoder.budget.total must be bigger than or equal to 0"),
        (f"{CONFIG}budget.total = {{ exact = 1, max = 2 }}", ".encoder.budget.total.max must not be there"),
        (f"{CONFIG}budget.total = {{ maxx = 1 }}", ".encoder.budget.total must not contain {'maxx'}"),
        (f"{CONFIG}budget.total = {{}}", ".encoder.budget.total must contain ['max']"),
        (f"{CONFIG}budget.encoder.attention = 1", ".encoder.budget.encoder must not contain {'attention'}"),
        (f"{CONFIG}budget = {{}}", ".encoder.budget must contain at least 1"),
        (f'{CONFIG}budget = "110M"', ".encoder.budget must match pattern ^report-only$"),
        (CONFIG, ".encoder must contain ['budget']"),
        (f"{MODEL}budget.total = 1", ".encoder must contain ['config']"),
        (f'{CONFIG}budget.bytes = "440M"', ".encoder.budget.bytes must match pattern"),
        (f'{CONFIG}budget.bytes = {{ max = 1, dtype = "fp16" }}', ".encoder.budget.bytes.dtype must be one of"),
        (f'{CONFIG}budget.bytes = {{ dtype = "float16" }}', ".encoder.budget.bytes must contain ['max']"),
        (f'{CONFIG}budget.flops = "22G"', ".encoder.budget.flops must be object"),
        (f'{CONFIG}budget.flops = {{ max = "22G" }}', ".encoder.budget.flops must contain ['seq_len']"),
        (f'{CONFIG}budget.total = 1\noptions.pooling = "no"', ".encoder.options.pooling must be boolean"),
        (f'{CONFIG}budget.total = 1\nbackbone = "bert"', ".encoder missing dependency factory for backbone"),
        (f'{OWN}frozen = ["bert"]\nclosed_form = false', ".encoder.frozen must contain less than or equal to 0 items"),
        (f'{OWN}tokenizer = "t.json"\nclosed_form = false', ".encoder.tokenizer must not be there"),
        (f'{OWN}extra = [{{ name = "x", linera = [1, 2] }}]', ".encoder.extra[0] must not contain {'linera'}"),
        (
            f'{OWN}extra = [{{ name = "x", linear = [1, 2, 3] }}]',
            ".encoder.extra[0].linear must contain less than or equal",
        ),
        (f'{OWN}extra = [{{ name = "x", linear = ["0*a", 2] }}]', ".encoder.extra[0].linear[0] must match pattern"),
        (
            f'{OWN}extra = [{{ name = "x", lstm = [1, 2], layer_norm = 1 }}]',
            ".encoder.extra[0].lstm must not be there",
        ),
        (f'{OWN}extra = [{{ name = "x", linear = [1, 2], layers = 1 }}]', ".encoder.extra[0].layers must not be there"),
        (f'{OWN}extra = [{{ name = "x" }}]', ".encoder.extra[0] must be valid exactly by one definition"),
        (
            f'{OWN}extra = [{{ name = "x", linear = [1, 2], component = "total" }}]',
            ".extra[0].component must NOT match",
        ),
        ('[tool.bertsize.models."a b"]\nconfig = "c"\nbudget.total = 1', "models must not contain {'a b'}"),
        (f"{CONFIG}budget.total = 1\n[tool.bertsize.model]", "data must not contain {'model'}"),
        ("[tool.bertsize.models]", "data.models must contain at least 1"),
    ],
)
def test_a_mistake_is_refused_by_the_name_of_its_key(table: str, says: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException) as refused:
        is_valid(declared(table))
    assert says in refused.value.message
    with pytest.raises(SettingsError):
        parse(table, Path("pyproject.toml"))


@pytest.mark.parametrize("block", SIZES)
def test_no_block_stands_beside_another(block: str) -> None:
    sizes = {name: [1] * (len(SIZES[name]) or 1) for name in SIZES}
    table = {"factory": "a:b", "budget": "report-only", "extra": [{"name": "x", block: sizes[block]}]}
    assert accepted({"models": {"a": table}})
    for other in SIZES.keys() - {block}:
        table["extra"] = [{"name": "x", block: sizes[block], other: sizes[other]}]
        assert not accepted({"models": {"a": table}})


# the gate and the schema


STRICTER = {"component-without-a-name"}
"""Cases whose table the gate reads, and then has no model that could have such a component."""


def cases() -> Iterator[tuple[str, str]]:
    """Every table of ``bad_input``, by its name."""
    for topic in test_bad_runs.TOPICS:
        for case in test_bad_runs.CASES[topic]:
            if not case.without_pyproject and case.pyproject_hex is None:
                yield case.name, case.pyproject_bytes.decode()
    for config in test_bad_input.CASES:
        yield config.name, config.declaration


def readings() -> Iterator[tuple[str, bool, bool]]:
    """Of each of these tables, whether the gate reads it, and whether the schema accepts it."""
    for name, text in cases():
        try:
            table = declared(text)
        except (tomli.TOMLDecodeError, KeyError, TypeError, RecursionError, ValueError):
            continue  # no table of ours
        try:
            parse(text, Path("pyproject.toml"), lambda _: ["configs/a.json"])
        except SettingsError:
            yield name, False, accepted(table)
        else:
            yield name, True, accepted(table)


def test_of_all_tables_of_bad_input_none_is_refused_that_the_gate_reads_and_most_are_that_it_does_not() -> None:
    found = list(readings())
    assert {name for name, read, valid in found if read and not valid} == STRICTER
    refused = [valid for _, read, valid in found if not read]
    assert len(refused) > 200
    assert refused.count(True) < len(refused) / 10


@given(TABLES)
def test_no_table_is_refused_that_the_gate_reads(text: str) -> None:
    try:
        table = declared(text)
    except tomli.TOMLDecodeError:
        return
    assert accepted(table) or not accepted_by_gate(table)


NUMBERS = st.text("0123456789._", max_size=9)
SAME = {
    "factory": (("factory",), st.text("aZ0_.:é", max_size=12) | st.just("own.py:build")),
    "backbone": (("backbone",), st.text("aZ0_.é", max_size=8)),
    "family": (("family",), st.text("aZ0_-.é", max_size=5) | st.integers(98, 102).map("b".__mul__)),
    "name": (("extra", 0, "name"), st.text("aZ0_.é", max_size=8) | st.integers(98, 102).map("x".__mul__)),
    "component": (
        ("extra", 0, "component"),
        st.sampled_from(["", "total", "bytes.x", "totals", "head.crf", ".", "a."]),
    ),
    "size": (("extra", 0, "linear", 0), st.text("aZ019*+ ", max_size=9)),
    "tied": (
        ("extra", 0, "tied"),
        st.dictionaries(st.sampled_from(["weight", "bias", "x"]), st.text("a.0", max_size=4)),
    ),
    "layers": (
        ("extra", 0),
        st.builds(lambda many: {"name": "x", "lstm": [1, 2], "layers": many}, st.integers(-1, 101)),
    ),
    "seq_len": (("budget", "flops", "seq_len"), st.integers(-1, 2) | st.integers(999_999, 1_000_001)),
}


@pytest.mark.parametrize("key", SAME)
@given(data=st.data())
def test_the_schema_says_of_a_value_what_the_gate_says(key: str, data: st.DataObject) -> None:
    path, values = SAME[key]
    table = with_value(path, data.draw(values))
    assert accepted(table) is accepted_by_gate(table)


def with_value(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    model: dict[str, Any] = {
        "factory": "own:build",
        "config": "config.json",
        "budget": {"flops": {"max": 1, "seq_len": 1}},
        "extra": [{"name": "x", "linear": [1, 2]}],
    }
    node: Any = model
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return {"models": {"encoder": model}}


@given(
    st.sampled_from([("budget", "total"), ("budget", "bytes"), ("budget", "flops", "max")]),
    st.builds("{}{}".format, NUMBERS, st.sampled_from(["", *SCALES, *BYTE_SCALES, *FLOP_SCALES, "m", "mb", " M", "\n"]))
    | st.integers(-1, 10**16)
    | st.sampled_from([*NAMED, "github"]),
)
def test_a_quantity_that_the_gate_reads_is_valid_and_one_in_another_writing_is_not(
    path: tuple[str, ...], value: str | int
) -> None:
    table = with_value(path, value)
    try:
        BertsizeTable.model_validate(table)
    except ValidationError as error:
        too_fine_or_too_large = ("is not a whole number of ", "is more than any model has: ")
        beyond_a_pattern = isinstance(value, str) and any(each in str(error) for each in too_fine_or_too_large)
        assert not accepted(table) or beyond_a_pattern
    else:
        assert accepted(table)


# validate-pyproject


@pytest.fixture(scope="module")
def validator() -> api.Validator:
    return api.Validator()


def test_validate_pyproject_finds_the_schema_by_its_entry_point() -> None:
    (found,) = [each for each in plugins.list_from_entry_points() if each.tool == "bertsize"]
    assert found.schema == tool_schema("bertsize") == generated()
    assert (
        found.help_text
        == "Budgets that pytest-bertsize holds BERT-family models to: [tool.bertsize] in pyproject.toml."
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "budget.total = { maxx = 1 }",
            "`tool.bertsize.models.encoder.budget.total` must not contain {'maxx'} properties",
        ),
        ("budget.total = true", "`tool.bertsize.models.encoder.budget.total` must be integer or string or object"),
    ],
)
def test_validate_pyproject_names_the_key(validator: api.Validator, line: str, says: str) -> None:
    with pytest.raises(Refused) as refused:
        validator(tomli.loads(CONFIG + line))
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("name", "status", "says"), [("good", 0, "Valid file: "), ("bad", 1, "must not contain {'architecure'}")]
)
def test_the_command_of_validate_pyproject_tells_good_from_bad(
    tmp_path: Path, name: str, status: int, says: str
) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(
        f"{CONFIG}budget.total = 1\n" + 'architecure = "BertModel"\n' * (name == "bad"), encoding="utf-8"
    )
    command = [sys.executable, "-m", "validate_pyproject", str(pyproject)]
    env = {**os.environ, "VALIDATE_PYPROJECT_NO_NETWORK": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == status, done.stderr
    assert says in done.stdout + done.stderr
