"""An untrusted YAML file: read as the training code reads it, or refused in one sentence, whatever it holds."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.config.yaml import parse
from pytest_bertsize.findings import Finding, Unusable

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig


def read(text: str, inner: str = "") -> ModelConfig:
    return parse(text.encode(), "train.yaml", inner)


def refused(text: str, inner: str = "") -> Finding:
    with pytest.raises(Unusable) as unusable:
        read(text, inner)
    (finding,) = unusable.value.findings
    assert (finding.severity, finding.file) == ("error", "train.yaml")
    return finding


# what is read

TRAINING = """\
# a comment
started: 2024-01-01
callback: !!python/name:train.stop
defaults: &defaults
  hidden_size: 768
  num_labels: 3
model:
  <<: *defaults
  hidden_size: 384
  attention:
    heads: 12
"""


def test_a_file_is_read_as_it_stands() -> None:
    text = "vocab_size: 30522\nname: é\nnothing:\nuse: [1, 2.5, true]\n"
    config = read(text)
    assert config.data == {"vocab_size": 30522, "name": "é", "nothing": None, "use": [1, 2.5, True]}
    assert (config.file, config.key_path) == ("train.yaml", ())
    assert config.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_an_object_of_a_training_file_is_read_whatever_else_stands_there() -> None:
    config = read(TRAINING, "model")
    assert config.data == {"hidden_size": 384, "num_labels": 3, "attention": {"heads": 12}}
    assert config.reference == "train.yaml#model"


def test_the_lines_are_those_of_the_file() -> None:
    config = read(TRAINING, "model")
    assert config.line("hidden_size") == 9
    assert config.line("attention", "heads") == 11
    assert config.line("num_labels") == 6, "where the anchor is"
    assert config.line("vocab_size") is None


def test_the_first_of_several_merged_objects_wins() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nmodel: {<<: [*a, *b], z: 3}\n"
    assert read(text, "model").data == yaml.safe_load(text)["model"] == {"x": 1, "y": 1, "z": 3}


SCALARS = ["1e-12", "1.0e-12", "1e3", "no", "on", "010", "0x10", "1_000", "1:30", "~", "null", "'1'", "1.", "+3", "x"]


@pytest.mark.parametrize("written", SCALARS)
def test_a_value_is_what_the_training_code_reads(written: str) -> None:
    found, expected = read(f"value: {written}").data["value"], yaml.safe_load(f"value: {written}")["value"]
    assert (found, type(found)) == (expected, type(expected))


# what is refused

WRONG = {
    "a:\n\tb: 1": (2, "not YAML: the line is indented by a tab"),
    "a: 1\n---\nb: 2": (2, "the file holds more than one document"),
    "b: 1\na: *b": (2, "not YAML: found undefined alias"),
    "a: 1\nb: 2\na: 3": (3, 'the key "a" stands there twice in one object'),
    "a: {<<: {b: 1}, <<: {b: 2}}": (1, 'the key "<<" stands there twice in one object'),
    "a: 1\n<<: 3": (2, "what << merges into the file is no object"),
    "a: 2024-01-01": (1, "a is the date 2024-01-01, which JSON cannot say"),
    "a: !!binary aGk=": (1, "a has the tag !!binary, which is not read"),
    "a: {b: !!python/name:os.system x}": (1, "a.b has the tag !!python/name:os.system, which is not read"),
    "a: !!int x": (1, 'a is "x", and its tag says !!int'),
    "a:\n  b: -.inf": (2, "a.b is -inf, which is no number"),
    "yes: 1": (1, "the key yes is no string in YAML, but !!bool"),
    "? [a]\n: 2": (1, "a key of the file is an object or a list"),
    "a: " + "9" * 4_301: (1, "a is a number of thousands of digits"),
    "a: 0x" + "f" * 4_000: (1, "a is a number of thousands of digits"),
    f"{'k' * 201}: 1": (1, f'the key "{"k" * 20}" and so on has 201 characters, more than 200'),
    "": (None, "the file is empty"),
    "- 1": (None, "the file holds a list, not an object"),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_what_is_no_config_is_refused_with_its_line(text: str) -> None:
    finding = refused(text)
    assert (finding.line, finding.message) == WRONG[text]


# what would take a machine's time, memory or stack

LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
MERGES = "a0: &a0 {k0: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}\n" for i in range(1, 9_000))
WIDE = "x: &x\n" + "".join(f"  k{i}: {i}\n" for i in range(1_900)) + "".join(f"m{i}: {{<<: *x}}\n" for i in range(900))
DOUBLING = "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 63))
HOSTILE = {
    "an anchor that holds itself": ("a: &a [*a]", "", "nested more than 64 deep"),
    "a billion laughs": (LAUGHS, "", "more than 20,000 objects and lists"),
    "a long string a thousand times": (
        f"s: &s {'x' * 500_000}\na: [{'*s,' * 1_000}]",
        "",
        "with every alias written out, this is larger than 1,048,576 bytes",
    ),
    "a chain of merges": (MERGES, "a8999", "nested more than 64 deep"),
    "merges that double": (DOUBLING, "a62", "more than 20,000 objects and lists"),
    "many merges of many keys": (WIDE, "", "with every alias written out, this is larger than 1,048,576 bytes"),
    "lists in lists": ("[" * 100_000, "", "nested more than 64 deep"),
    "very many values": (f"a: [{'1,' * 400_000}]", "", "more than 200,000 keys and values"),
    "very many keys": (
        f"a: {{{','.join(f'k{i}: {i}' for i in range(3_000))}}}",
        "",
        "an object has 3,000 keys, more than 2,000",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon(name: str) -> None:
    text, inner, message = HOSTILE[name]
    started = time.process_time()
    assert refused(text, inner).message == message
    assert time.process_time() - started < 5


@given(st.text(alphabet=st.sampled_from("ab01:-,[]{}&*!|>'\"%@`#?<\t\n .~="), max_size=60))
def test_whatever_the_text_it_is_a_config_or_one_sentence(text: str) -> None:
    try:
        config = read(text)
    except Unusable as unusable:
        (finding,) = unusable.findings
        assert finding.message.isprintable()
    else:
        assert config.data == yaml.load(text, Loader=yaml.CSafeLoader)


def test_without_the_library_in_c_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert read(TRAINING, "model").data == {"hidden_size": 384, "num_labels": 3, "attention": {"heads": 12}}
    assert refused("[" * 100_000).message == "nested more than 64 deep"
    assert refused("a:\n\tb: 1").message == "not YAML: the line is indented by a tab"
