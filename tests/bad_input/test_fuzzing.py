"""What must hold whatever stands in a config, a table or a marker: only our own errors, in a line that can be printed."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_bertsize.builder.messages import read_request
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.model_config import ModelConfig
from pytest_bertsize.config.source import read_file as read
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.quantity import LARGEST
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.model import check_plain
from pytest_bertsize.table.settings import Settings, SettingsError, limits_from, load
from pytest_bertsize.wording import LONGEST
from tests.bad_input import fuzzing
from tests.support.family_configs import PAIRS, drawn

LONGEST_MESSAGE = 3_000
"""Characters of one line: twelve keys of a file and a sentence around them."""
REGISTRY = Registry()


@cache
def project() -> Path:
    """A folder for all examples: a fixture cannot be had in the long run."""
    folder = tempfile.TemporaryDirectory(prefix="bertsize-")
    atexit.register(folder.cleanup)
    root = Path(folder.name).resolve()
    (root / "folder").mkdir()
    (root / "folder" / "config.json").write_text('{"a": {"b": {"c": 1}, "": {}}, "b": [{}]}', encoding="utf-8")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


def written(content: bytes, name: str) -> Path:
    path = project() / name
    path.write_bytes(content)
    return path


def assert_in_a_line(text: str, longest: int = LONGEST_MESSAGE) -> None:
    assert text.isprintable(), f"not printable: {text!r}"
    assert len(text) <= longest, f"{len(text):,} characters: {text[:200]!r}"


def assert_well_said(finding: Finding) -> None:
    assert finding.message
    for text, longest in ((finding.message, LONGEST_MESSAGE), (finding.fix, LONGEST_MESSAGE), (finding.file, LONGEST)):
        assert_in_a_line(text or "", longest)


def config_or_finding(reference: str) -> ModelConfig | Finding:
    try:
        return read(project(), reference)
    except Unusable as unusable:
        (finding,) = unusable.findings
        assert_well_said(finding)
        assert_in_a_line(str(unusable))
        return finding


def assert_the_same(data: object, expected: object) -> None:
    """The same JSON, in which ``1``, ``1.0`` and ``true`` are three values."""
    assert json.dumps(data) == json.dumps(expected)


# the reader


@given(fuzzing.FILES)
@example(b'{"a": "\\ud800"}')
@example(b'{"' + b"\\udb40\\udc01" * 150 + b'": 1, "' + b"\\udb40\\udc01" * 150 + b'": 2}')
def test_a_config_file_is_read_as_json_reads_it_or_refused_in_a_line(content: bytes) -> None:
    written(content, "config.json")
    found = config_or_finding("config.json")
    if isinstance(found, Finding):
        assert found.line is None or 1 <= found.line <= content.count(b"\n") + 1
    else:
        assert_the_same(found.data, json.loads(content))
        lines = [found.line(key) for key in found.data]
        assert None in lines or lines == sorted(map(int, filter(None, lines)))


@given(fuzzing.REFERENCES)
@example("\U000e0001" * 100)
@example("folder#" + "\U000e0001" * 100)
@example("config.json/..")
@example("missing/..")
def test_whatever_the_table_names_is_read_from_inside_the_project_or_refused_in_a_line(reference: str) -> None:
    written(b'{"a": {"b": {"c": 1}, "": {}}, "c": 2}', "config.json")
    found = config_or_finding(reference)
    if isinstance(found, ModelConfig):
        assert_in_a_line(found.reference, 2 * LONGEST + 1)
        location, _, inner = reference.partition("#")
        path = (project() / location).resolve()  # "missing/.." is the project, as git and Windows have it
        value = json.loads((path / "config.json" if path.is_dir() else path).read_bytes())
        for key in inner.split(".") if inner else ():
            value = value[key]
        assert_the_same(found.data, value)


MEGABYTES = {
    "a string that is never closed": '"' + '\\"' * 500_000,
    "a key that is never closed": '{"' + '\\"' * 500_000,
    "quotes": '{"a": ' + '"a' * 500_000,
    "lists": '{"a": [' + "[]," * 300_000,
    "keys": "{" + ", ".join(f'"key_{index}": 0' for index in range(50_000)) + "}",
    "digits": '{"a": ' + "1" * 1_000_000 + "}",
    "spaces": " " * 1_000_000,
    "brackets": "[" * 1_000_000,
    "comments": "# a\n;\n" * 150_000,
}


@pytest.mark.parametrize("what", MEGABYTES)
def test_a_megabyte_of_one_thing_is_refused(what: str) -> None:
    """Where the time for it grew with the square of its length, this test would not end today."""
    written(MEGABYTES[what].encode(), "config.json")
    assert isinstance(config_or_finding("config.json"), Finding)


# the whole path of a model


@st.composite
def models(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A config of a random family, of which values are replaced, left out and added; and overrides."""
    family, architecture = draw(st.sampled_from(PAIRS))
    config = drawn(family, architecture, Random(draw(st.integers(0, 2**32 - 1)))).config  # noqa: S311
    data = {"model_type": family, "architectures": [architecture], **config}
    known = REGISTRY.find(family, architecture)
    assert known is not None
    keys = known[0].keys
    meaningful = st.sampled_from(sorted({*data, *keys.meaningful, *keys.all_ignored, "pad_token_id"}))
    for key in draw(st.sets(meaningful, max_size=2)):
        data.pop(key, None)
    data |= draw(st.dictionaries(meaningful | fuzzing.TEXTS, fuzzing.NUMBERS | fuzzing.VALUES, max_size=3))
    return data, draw(st.just({}) | st.dictionaries(meaningful, fuzzing.VALUES, max_size=2))


@given(models())
@example(({"model_type": "bert", "architectures": ["BertModel"], "embedding_size": 10**4_299}, {}))
@example(({"model_type": "bert", "architectures": ["BertModel"]}, {"pad_token_id": 10**4_299}))
def test_a_config_of_any_values_gives_a_closed_form_of_whole_numbers_or_findings(
    model: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    data, overrides = model
    try:
        check_plain(overrides)
    except ValueError:
        return
    written(json.dumps(data).encode(), "model.json")
    settings = load(written(b'[tool.bertsize.models.m]\nconfig = "model.json"\nbudget = "report-only"', "one.toml"))
    subject = examine(settings.models["m"].replace(overrides=overrides), settings, REGISTRY)
    for finding in subject.findings:
        assert_well_said(finding)
    form = subject.form
    if form is None:
        assert subject.request is None
        assert subject.errors
        return
    assert subject.request is not None
    assert read_request(json.dumps(subject.request).encode()).architecture == subject.architecture
    sizes = [size for tensor in form.tensors for size in tensor.shape]
    counts = [form.total, form.stored, form.unrolled, *(each for each in form.dims.sizes.values() if each is not None)]
    costs = [each.total for each in conclude_unbuilt(subject).costs]
    assert {type(number) for number in (*sizes, *counts, *costs)} == {int}
    assert min(sizes) >= 0
    assert sum(form.own.values()) == form.total > 0


def test_what_cannot_be_shown_is_refused_all_the_same() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(SettingsError, match="is not a count of parameters"):
        limits_from({"total": {"min": nested}}, file="test_a.py", line=3)


# the project's table


def settings_or_none(text: bytes) -> Settings | None:
    """What a table declares; ``None`` where it is refused, in lines that can be printed."""
    path = written(text, "pyproject.toml")
    try:
        settings = load(path)
    except SettingsError as error:
        for line in str(error).split("\n"):
            assert_in_a_line(line)
        return None
    for name, model in settings.models.items():
        assert_in_a_line(name, 100)
        for limit in model.limits:
            bounds = [bound for bound in (limit.minimum, limit.maximum) if bound is not None]
            assert {type(bound) for bound in bounds} == {int}
            assert 0 <= bounds[0] <= bounds[-1] <= LARGEST
            assert str(limit)
        assert settings.line(model.table_key) in {None, *range(1, text.count(b"\n") + 2)}
    assert settings.models
    return settings


@given(st.binary(max_size=40) | fuzzing.TOML_TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(f"[{'a' * 3_000}]\n[{'a' * 3_000}]\n".encode())
@example(b'[tool.bertsize.models.a]\nconfig = "c"\nbudget.total = "1' + b"_1" * 3_000 + b' M"')
@example(b'[tool.bertsize.models.a]\nconfig = "c"\nbudget.total = { "a\\nb" = 1 }')
@example(f"[tool.bertsize.models.{'a' * 5_000}]".encode())
def test_any_text_of_a_table_is_understood_or_refused_in_lines(text: bytes) -> None:
    settings = settings_or_none(text)
    assert settings is None or settings.models
