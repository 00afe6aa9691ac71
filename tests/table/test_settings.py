"""``[tool.bertsize]``: what a table declares, and that each model's first mistake has its line; ``bad_input`` has more."""

from __future__ import annotations

import re
import textwrap
from contextlib import nullcontext
from pathlib import Path

import pytest

from pytest_bertsize.table.limits import AsBytes, Budget, Limit, Training
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import (
    NothingDeclared,
    Settings,
    SettingsError,
    limits_from,
    load,
    parse,
    parse_apart,
    tables_of_models,
    tighten,
)

NO_BUDGET = 'the model has no budget: write budget.total = "…", or budget = "report-only"'


@pytest.fixture
def pyproject(tmp_path: Path) -> Path:
    return tmp_path / "pyproject.toml"


def write(path: Path, text: str) -> Path:
    path.write_bytes(textwrap.dedent(text).lstrip("\n").encode())
    return path


def load_mistakes(path: Path) -> str:
    with pytest.raises(SettingsError) as error:
        load(path)
    return str(error.value)


def placed(line: int, key: str, sentence: str) -> str:
    return f"pyproject.toml:{line}: tool.bertsize.models.{key}: {sentence}"


# what a table declares


def test_models_of_one_pattern_have_one_table_and_one_limit(pyproject: Path) -> None:
    for stem in ("large", "small"):
        (pyproject.parent / f"{stem}.json").write_text("{}")
    lines = ['[tool.bertsize.models."bert-{stem}"]', 'config = "*.json"', 'checkpoint = "{stem}.bin"']
    lines += ["budget.total = 1", "[tool.bertsize.models.alone]", 'config = "large.json"', "budget.total = 2"]
    settings = load(write(pyproject, "\n".join(lines)))
    pattern = ("tool", "bertsize", "models", "bert-{stem}")
    assert [*settings.models] == ["bert-large", "bert-small", "alone"]
    assert [model.checkpoint for model in settings.models.values()] == ["large.bin", "small.bin", None]
    assert settings.declared_by(pattern) == ["bert-large", "bert-small"]
    assert [limit.maximum for limit in settings.limits.values()] == [1, 2]


def test_a_component_has_one_pattern_or_several(pyproject: Path) -> None:
    table = 'factory = "a:b"\nclosed_form = false\nbudget.total = 1\ncomponents = { one = "x.*", two = ["y", "z"] }\n'
    found = load(write(pyproject, f"[tool.bertsize.models.m]\n{table}")).models["m"].components
    assert found == {"one": ("x.*",), "two": ("y", "z")}


# mistakes and their places


def test_each_models_first_mistake_is_told_in_the_order_of_the_file(pyproject: Path) -> None:
    text = """
        [tool.bertsize.models.encoder]
        config = ""
        architecure = "BertModel"
        [tool.bertsize.models.tagger]
        config = "c"
        budget.head = { exact = "1 M" }
        foo = 1
        [tool.bertsize.models."a b"]
        config = "c"
        [tool.bertsize.models.nothing]
        [tool.bertsize]
        lock = 3
        hbu = 1
        """
    first, *others = load_mistakes(write(pyproject, text)).splitlines()
    assert first == "6 mistakes in [tool.bertsize]"
    lines = {2: "models.encoder.config", 6: "models.tagger.budget.head.exact", 8: 'models."a b"'}
    lines |= {10: "models.nothing.budget", 12: "lock", 13: "hbu"}
    places = [f"pyproject.toml:{line}: tool.bertsize.{key}" for line, key in lines.items()]
    assert [": ".join(each.split(": ")[:2]) for each in others] == places


def test_a_number_that_python_reads_and_cannot_write_is_refused_at_its_line(pyproject: Path) -> None:
    """Nothing limits the length of 0x…; what is read is hashed, and handed to a process, as JSON."""
    for number in ("[1, 0x1" + "0" * 3_500, "0b1" + "0" * 14_000, "0o1" + "0" * 4_600):
        write(pyproject, f"\n[tool.bertsize.models.encoder]\noverrides = {{ x = {number}")
        assert "pyproject.toml:2: " in load_mistakes(pyproject)
        assert "a number thousands of digits" in load_mistakes(pyproject)


# no table at all


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *((text, None) for text in ("", "[tool.ruff]\nline-length = 120\n", "tool = 1\n")),
        ('[tool.poetry.dependencies]\npytest-bertsize = { version = "1" }\n', None),
        *((text, []) for text in ("[tool.bertsize.models]\n", '[tool.bertsize]\npython = "python"\n')),
    ],
)
def test_where_no_model_is_declared_nothing_would_be_checked(
    pyproject: Path, text: str, names: list[str] | None
) -> None:
    with pytest.raises(NothingDeclared, match="so nothing would be checked"):
        load(write(pyproject, text))
    found = tables_of_models(pyproject)
    assert (found if found is None else [*found]) == names


def test_the_tables_of_models_are_known_right_or_wrong(pyproject: Path) -> None:
    found = tables_of_models(write(pyproject, "[tool.bertsize.models.e]\nx = 1\n[tool.bertsize.models.f]\n"))
    assert [*(found or ())] == ["e", "f"]
    assert tables_of_models(write(pyproject, "[tool.bertsize\n")) is None


# no file that can be read


def test_a_file_of_a_mebibyte_is_the_largest_that_is_read(pyproject: Path) -> None:
    table = '[tool.bertsize.models.encoder]\nconfig = "c"\nbudget.total = 1\n'
    write(pyproject, table + "\n" * (1024 * 1024 - len(table)))
    assert [*load(pyproject).models] == ["encoder"]
    write(pyproject, table + "\n" * (1024 * 1024 - len(table) + 1))
    assert load_mistakes(pyproject) == f"{pyproject}: the file is larger than 1,048,576 bytes"


def test_what_is_no_file_is_refused(pyproject: Path) -> None:
    assert ": there is no such file, so no model is declared; " in load_mistakes(pyproject)
    assert load_mistakes(pyproject.parent) == f"{pyproject.parent}: this is not a regular file"
    pyproject.write_bytes(b"a = " + b"[" * 5_000)
    assert load_mistakes(pyproject).startswith("pyproject.toml: not TOML: TOML inline arrays/tables are nested more")


def test_a_key_of_a_hundred_parts_is_the_longest_that_is_read(pyproject: Path) -> None:
    too_long = "pyproject.toml:3: a key has more than 100 parts, or a number thousands of digits"
    for part, dot in (("a", "."), ("a-b", " . ")):
        pyproject.write_text(f"\n[project]\n{dot.join([part] * 100)} = 1\nb = 1\nc = 1\n")
        assert "no model is declared" in load_mistakes(pyproject)
        pyproject.write_text(f"\n[project]\n{dot.join([part] * 101)} = 1\nb = 1\nc = 1\n")
        assert load_mistakes(pyproject) == too_long


def test_a_megabyte_on_one_line_is_read(pyproject: Path) -> None:
    """Were the time for it to grow with the square of its length, this test would take half an hour."""
    table = "\n[tool.bertsize.models.a]\nconfig = 'c'\nbudget.total = 1\n"
    for text in ("# " + "x" * 1_000_000, f'note = "{"-" * 1_000_000}"'):
        assert [*load(write(pyproject, text + table)).models] == ["a"]
    write(pyproject, "# " + "a." * 400_000 + table)
    assert (
        load_mistakes(pyproject) == "pyproject.toml:1: a key has more than 100 parts, or a number thousands of digits"
    )


# without all of its models, and each by itself


PATTERN = '[tool.bertsize.models."bert-{stem}"]\nconfig = "*.json"\nbudget.total = 1\n'


def find_two(pattern: str) -> list[str]:
    return ["a.json", "b.json"] if pattern == "*.json" else []


def test_the_files_of_a_pattern_are_those_of_the_revision_that_is_asked_about(pyproject: Path) -> None:
    assert [*parse(PATTERN, pyproject, find_two).models] == ["bert-a", "bert-b"]
    with pytest.raises(SettingsError, match=r"^pyproject\.toml:2: tool\.bertsize\.models\."):
        parse(PATTERN, pyproject)
    with pytest.raises(SettingsError, match=re.escape(placed(2, '"bert-{stem}".config', 'config = "a.json"'))):
        parse(PATTERN.replace("*", "a"), pyproject, find_two)


APART = """
[tool.bertsize]
hub = { "a/b" = "c.json" }
[tool.bertsize.models.good]
config = "c.json"
budget.total = 1
[tool.bertsize.models.bad]
confg = "c.json"
[tool.bertsize.models.loose]
config = "c.json"
[tool.bertsize.models]
number = 3
"""


def test_each_model_can_be_read_by_itself(pyproject: Path) -> None:
    apart = parse_apart(APART + PATTERN, pyproject, find_two)
    assert [*apart.models] == ["good", "bert-a", "bert-b"]
    assert apart.models["good"].limits[0].maximum == 1
    assert sorted(apart.wrong) == ["bad", "loose", "number"]
    assert apart.wrong["loose"] == placed(9, "loose.budget", NO_BUDGET)
    assert apart.table["hub"] == {"a/b": "c.json"}


def test_a_mistake_beside_the_models_is_one_of_each(pyproject: Path) -> None:
    apart = parse_apart(APART.replace("hub =", "hbu ="), pyproject, find_two)
    assert (apart.models, sorted(apart.wrong)) == ({}, ["bad", "good", "loose", "number"])
    assert apart.wrong["good"] == "pyproject.toml:3: tool.bertsize.hbu: unknown key; did you mean 'hub'?"


def test_without_tables_of_models_there_is_nothing_to_tell_apart(pyproject: Path) -> None:
    for text in ("", "[tool.bertsize]\nmodels = 3\n", "[tool.bertsize\n"):
        with pytest.raises(SettingsError, match=r"^[^ ]*pyproject\.toml:"):
            parse_apart(text, pyproject, find_two)


# limits from elsewhere: a marker's keywords


def test_limits_can_be_read_from_a_markers_keywords(pyproject: Path) -> None:
    written = {"pooler": 0, "head": "1M", "encoder": {"min": 1, "max": 2}}
    limits = limits_from(written, file="tests/test_size.py", line=7)
    assert limits == (
        Limit("pooler", None, 0, 0, "tests/test_size.py", 7),
        Limit("head", None, 1_000_000, "1M", "tests/test_size.py", 7),
        Limit("encoder", 1, 2, {"min": 1, "max": 2}, "tests/test_size.py", 7),
    )
    marked = Model(name="m", config="c", budget=Budget(limits))
    assert Settings(pyproject, "", {"m": marked}).limits == {}
    size, training = limits_from({"bytes": {"max": 1, "dtype": "int8"}, "training_bytes": "4MB"}, file="test_size.py")
    assert (size.maximum, size.measure) == (1, AsBytes("int8", "unique"))
    assert (training.maximum, training.measure) == (4_000_000, Training(None, None))


@pytest.mark.parametrize(
    ("component", "table", "asked", "says"),
    [
        ("head", {"min": 5, "max": 9}, {"min": 5, "max": 9}, ""),
        ("head", {"min": 5, "max": 9}, {"min": 6, "max": 8}, ""),
        ("head", {"min": 5, "max": 9}, {"max": 10}, "allows head up to 10, where pyproject.toml allows 9: a marker can"),
        ("head", {"min": 5, "max": 9}, {"min": 4}, "allows head down to 4, where pyproject.toml allows 5: a marker can"),
        ("bytes", {"max": 9, "dtype": "int8"}, 9, ""),
        ("bytes", {"max": 9, "dtype": "int8"}, {"max": 9, "dtype": "float16"}, "limits bytes as float16, unique, and "),
    ],
)  # fmt: skip
def test_a_marker_tightens_and_never_loosens(
    component: str, table: object, asked: object, says: str, pyproject: Path
) -> None:
    declared, limit = (limits_from({component: each}, file="a.py")[0] for each in (table, asked))
    model, settings = Model(name="m", config="c", budget=Budget((declared,))), Settings(pyproject, "", {})
    with nullcontext() if not says else pytest.raises(SettingsError, match=re.escape(f"a.py:3 {says}")):
        assert tighten(limit, model, settings, "a.py:3") == limit._replace(measure=declared.measure)
