"""An untrusted YAML file: read as the training code reads it, or refused in one sentence, whatever it holds."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.closed_forms.families import bert
from pytest_bertsize.config.values import resolve
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


def test_an_object_of_a_training_file_is_read_with_its_lines_whatever_else_stands_there() -> None:
    config = read(TRAINING, "model")
    assert config.data == {"hidden_size": 384, "num_labels": 3, "attention": {"heads": 12}}
    assert config.reference == "train.yaml#model"
    assert [config.line("hidden_size"), config.line("attention", "heads"), config.line("vocab_size")] == [9, 11, 7]
    assert config.line("num_labels") == 6, "where the anchor is"


SCALARS = ["1.0e-12", "no", "on", "010", "0x10", "1_000", "1:30", "~", "null", "'1'", "1.", "+3", "x"]


def test_a_value_is_what_the_training_code_reads() -> None:
    for written in SCALARS:
        found, expected = read(f"value: {written}").data["value"], yaml.safe_load(f"value: {written}")["value"]
        assert (found, type(found)) == (expected, type(expected)), written


def test_a_number_with_an_exponent_and_a_date_are_read_as_by_omegaconf() -> None:
    config = read("eps: 1e-12\nlarge: 1.5E3\nday: 2024-01-01\nquoted: '1e-12'\n")
    assert config.data == {"eps": 1e-12, "large": 1500.0, "day": "2024-01-01", "quoted": "1e-12"}


def test_a_key_is_a_text_as_json_writes_it() -> None:
    text = "no: {2: a, on: b}"
    assert read(text).data == json.loads(json.dumps(yaml.safe_load(text))) == {"false": {"2": "a", "true": "b"}}


# what is refused

WRONG = {
    "a:\n\tb: 1": (2, "not YAML: found character that cannot start any token"),
    "a: 1\n---\nb: 2": (2, "the file holds more than one document"),
    "b: 1\na: *b": (2, "not YAML: found undefined alias"),
    "a: 1\nb: 2\na: 3": (3, 'one object has the key "a" twice'),
    "a: {<<: {b: 1}, <<: {b: 2}}": (1, 'one object has the key "<<" twice'),
    "a: 1\n<<: 3": (2, "it is not plain data: expected a mapping or list of mappings for merging, but found scalar"),
    "a: !!binary aGk=": (1, "a is b'hi', which JSON cannot hold"),
    "a:\n  b: !name x": (2, "a.b is !name, which JSON cannot hold"),
    "a: !!int x": (None, "a value does not fit its tag: invalid literal for int() with base 10: 'x'"),
    "a: !!bool x": (None, "a value does not fit its tag: 'x'"),
    "a:\n  b: -.inf": (2, "a.b is -inf, which JSON cannot hold"),
    "? [a]\n: 2": (1, "it is not plain data: found unhashable key"),
    "a: " + "9" * 4_301: (None, "a value does not fit its tag: a number with thousands of digits"),
    "a: 0x" + "f" * 4_000: (1, "a is a number with thousands of digits"),
    "": (None, "the file is empty"),
    "- 1": (None, "the file holds [1], not an object"),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_what_is_no_config_is_refused_with_its_line(text: str) -> None:
    finding = refused(text)
    assert (finding.line, finding.message) == WRONG[text]


# what would take a machine's time, memory or stack

LAUGHS = "a0: &a0 [ha]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
MERGES = "a0: &a0 {k0: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}\n" for i in range(1, 1_000))
WIDE = "x: &x\n" + "".join(f"  k{i}: {i}\n" for i in range(1_900)) + "".join(f"m{i}: {{<<: *x}}\n" for i in range(200))
TOO_LARGE = "the config is larger than 1,048,576 bytes"
MANY = f"a: {{{','.join(f'k{i}: {i}' for i in range(3_000))}}}"
HOSTILE = {
    "an anchor that holds itself": ("a: &a [*a]", "", "nested more than 64 deep"),
    "a billion laughs": (LAUGHS, "", "more than 20,000 objects and lists"),
    "a long string a thousand times": (f"s: &s {'x' * 500_000}\na: [{'*s,' * 1_000}]", "", TOO_LARGE),
    "a chain of merges": (MERGES, "a999", "with every << written out, it has more than 200,000 keys"),
    "many merges of many keys": (WIDE, "", "with every << written out, it has more than 200,000 keys"),
    "lists in lists": ("[" * 900, "", "nested more than 64 deep"),
    "very many values": (f"a: [{'1,' * 400_000}]", "", "more than 200,000 keys and values"),
    "a chain of ${…}": ("".join(f"a{i}: ${{a{i + 1}}}\n" for i in range(3_000)), "", "a chain of ${…} is too long"),
    "an object that holds itself": ("a: {b: '${a}'}", "", "nested more than 64 deep"),
    "very many keys": (MANY, "", "an object has 3,000 keys, more than 2,000"),
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
        expected = yaml.load(text, Loader=yaml.CSafeLoader)
        assert config.data == json.loads(json.dumps(expected)), "a whole number as a key is a text"


def test_without_the_library_in_c_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert read(TRAINING, "model").data == {"hidden_size": 384, "num_labels": 3, "attention": {"heads": 12}}
    assert refused("[" * 1_000).message == "nested more than 64 deep"
    assert refused("a:\n\tb: 1").message.startswith("not YAML: found character")


# what stands for another value

FIX = 'write the value, set it by overrides, or name a function that composes the config, as in config = "module:make"'
AROUND = """\
sizes: {width: 768, all: [3, 4]}
alias: ${sizes}
here: ${oc.env:HOME}
asked: {x: "???"}
hydra: {run: {dir: "${now:%Y}"}}
one: ${two}
two: ${one}
model:
  depth: 12
"""
VALUES: dict[str, object] = {
    "${sizes.width}": 768,
    "${.depth}": 12,
    "${..alias.width}": 768,
    "${sizes}": {"width": 768, "all": [3, 4]},
    "${alias}": {"width": 768, "all": [3, 4]},
}
UNKNOWN = {
    "${oc.env:HOME}": "${oc.env:HOME}",
    "${here}": "${oc.env:HOME}",
    "${elsewhere.width}": "${elsewhere.width}",
    "bert-${sizes.width}": "bert-${sizes.width}",
    "${asked}": "???",
    "${one}": "???",
    "???": "???",
}


def test_what_stands_for_another_value_is_that_value_and_what_only_a_run_has_is_not_known() -> None:
    lines = (f"  k{index}: {text}\n" for index, text in enumerate([*VALUES, *UNKNOWN]))
    resolved = read(AROUND + "".join(lines), "model")
    for index, text in enumerate(VALUES):
        assert (resolved.data[f"k{index}"], resolved.why_unknown(f"k{index}")) == (VALUES[text], None)
        assert resolved.line(f"k{index}") == 10 + index
    for index, text in enumerate(UNKNOWN, len(VALUES)):
        said = f"k{index} is {json.dumps(UNKNOWN[text])}, which only a run knows"
        assert resolved.why_unknown(f"k{index}") == (said, FIX)
    assert "hydra" not in read(AROUND).data
    assert read(AROUND, "alias").data == {"width": 768, "all": [3, 4]}


# what is made of it

SIZED = "vocab_size: 9\nhidden_size: {}\nnum_hidden_layers: 1\nnum_attention_heads: 1\nintermediate_size: 4\n"
SIZED += "max_position_embeddings: 8\ntype_vocab_size: 2\noutput_dir: ${{oc.env:OUT}}\n"


def test_a_size_that_only_a_run_has_is_refused_where_it_stands_unless_the_table_says_it() -> None:
    config = read(SIZED.format("${oc.env:WIDTH}"))
    with pytest.raises(Unusable) as unusable:
        resolve(bert.BERT.keys, config, {}, bert.BERT.architectures[0])
    (finding,) = unusable.value.findings
    said = 'hidden_size is "${oc.env:WIDTH}", which only a run knows'
    assert finding.sentence == f"train.yaml:2: {said}; {FIX}"
    values = resolve(bert.BERT.keys, config, {"hidden_size": 4}, bert.BERT.architectures[0])
    assert values.sizes["D"] == 4
    assert [each.severity for each in values.findings] == ["warning"], "output_dir, which is ignored"


# what hydra composes


@pytest.mark.parametrize(
    ("defaults", "named", "inner"),
    [("\n- model: bert\n- _self_", '{"model": "bert"}', ""), (" [_self_, base]", '"base"', "model")],
)
def test_a_file_that_hydra_composes_of_others_is_refused(defaults: str, named: str, inner: str) -> None:
    finding = refused(f"# hydra\ndefaults:{defaults}\nmodel:\n  x: 1\n", inner)
    message = f"its defaults name {named}, and only hydra composes such files"
    assert (finding.line, finding.message) == (2, message)
    assert finding.fix.startswith('name a function of the project that does, as in config = "module:make": it returns ')
