"""What a config says for each key, and keys that look as if they changed a count and do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.closed_forms.families.bert import BERT
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.config.keys import (
    IMPLEMENTATIONS,
    INERT,
    LARGEST_SIZE,
    PASSED,
    REFUSED,
    SYNONYMS,
    WITHHELD,
    Refused,
)
from pytest_bertsize.config.values import resolve
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import parse
from tests.conftest import BERT_BASE
from tests.support.family_configs import Case, case

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.findings import Finding

_CHECKED = ("model_type", "quantization_config", "dtype", *IMPLEMENTATIONS)
SILENT = sorted(key for key in INERT if not any(part in key for part in _CHECKED))
"""Inert whatever their value is."""

BASE: dict[str, Any] = {key: value for key, value in BERT_BASE.items() if key != "architectures"}
SYMBOLS = dict(zip(list(BASE)[1:], "VDLAIPT", strict=True))
SIZES = {symbol: BASE[key] for key, symbol in SYMBOLS.items()}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
NEXT_LINE = 10
"""Where a key stands that is added to BASE: one line for the brace and one for each of the eight keys above it."""
PLAIN, LABELLED = (replace(BERT.architectures[0], options={}, labels=labels) for labels in (False, True))
THREE = {"0": "no", "1": "maybe", "2": "yes"}
TWO = {"0": "no", "1": "yes"}

Told = tuple[str, str, str, str, str]
"""Severity, kind, place, message, fix."""


def config_of(data: Mapping[str, object]) -> ModelConfig:
    return parse_json(json.dumps(data, indent=1).encode(), "config.json")


def read(
    changes: Mapping[str, object] | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    without: str = "",
    labels: bool = False,
) -> Values:
    data = {key: value for key, value in {**BASE, **(changes or {})}.items() if key not in without.split()}
    return resolve(BERT.keys, config_of(data), overrides or {}, LABELLED if labels else PLAIN)


def told(*findings: Finding) -> list[Told]:
    return [
        (each.severity, each.kind, ".".join(each.table_key or ()) or each.place, each.message, each.fix)
        for each in findings
    ]


def refused(*config: Mapping[str, object] | None, **more: Any) -> list[Told]:
    with pytest.raises(Unusable) as unusable:
        read(*config, **more)
    return told(*unusable.value.findings)


def error(message: str, fix: str, place: str = f"config.json:{NEXT_LINE}", kind: str = "config-invalid") -> Told:
    return ("error", kind, place, message, fix)


def ignored(key: str, line: int = NEXT_LINE) -> Told:
    message = f'the key "{key}" is ignored: it changes no count'
    return ("warning", "ignored-key", f"config.json:{line}", message, leave(key))


def leave(key: str, otherwise: str = "remove it") -> str:
    return f'if your code reads it, write ignored = ["{key}"], else {otherwise}'


def misspelt(key: str, meant: str, line: int = NEXT_LINE) -> Told:
    return error(f'"{key}" is not a key of this family and would be ignored', f'write "{meant}"', f"config.json:{line}")


def defaulted(key: str, default: int) -> Told:
    message = f"the key {key} is missing: {default:,} is assumed"
    return ("warning", "defaulted-key", "config.json", message, f'write "{key}": {default}')


# a good config


def test_a_complete_config_gives_its_sizes_without_a_word_and_a_missing_size_is_the_librarys_with_a_warning() -> None:
    values = read()
    assert (values.sizes, values.switches, values.findings) == (SIZES, SWITCHES, ())
    for key in SYMBOLS:
        values = read(without=key)
        assert values.sizes == SIZES
        assert told(*values.findings) == [defaulted(key, BASE[key])]


def test_objects_are_handed_over_without_what_steers_the_library() -> None:
    nested = {"a": [{"torch_dtype": "float16", "b": 1}], "_name_or_path": "org/name", "model_type": "x", "auto_map": {}}
    labels = {"dtype": 0, "_name_or_path": 1}
    handed = read({"task_specific_params": nested, "label2id": labels}).for_build
    assert (handed["task_specific_params"], handed["label2id"]) == ({"model_type": "x", "a": [{"b": 1}]}, labels)


def test_the_number_of_labels_is_counted_only_where_the_head_has_labels() -> None:
    with_labels, without_labels = (read({"num_labels": 18}, labels=labels) for labels in (True, False))
    assert (with_labels.sizes["C"], with_labels.for_build["num_labels"]) == (18, 18)
    assert "C" not in without_labels.sizes
    assert without_labels.for_build["num_labels"] == 18


# keys that mean nothing


def test_a_key_that_changes_no_count_is_silent_and_only_what_the_class_cares_for_is_handed_to_it() -> None:
    for key in (*SILENT, *PASSED):
        values = read({key: "whatever"})
        assert (values.sizes, values.findings, values.unknown) == (SIZES, (), ()), key
        assert values.for_build.get(key) == (None if key in WITHHELD else "whatever"), key


OWN = {symbol: key for key, symbol in SYMBOLS.items()} | {"C": "num_labels"}
ALIAS_PAIRS = [(name, OWN[symbol]) for symbol, names in SYNONYMS.items() for name in names if name != OWN[symbol]]


@pytest.mark.parametrize(("alias", "key"), ALIAS_PAIRS, ids=[alias for alias, _ in ALIAS_PAIRS])
def test_another_librarys_name_is_an_error_without_the_key_itself_and_ignored_beside_it(alias: str, key: str) -> None:
    found = refused({alias: 4}, without=key, labels=key == "num_labels")
    default = {**BASE, "num_labels": 2}[key]
    assert found == [misspelt(alias, key, NEXT_LINE - (key in BASE)), defaulted(key, default)]
    values = read({"num_labels": 2, alias: 4}, labels=True)
    assert values.sizes == SIZES | {"C": 2}
    assert told(*values.findings) == [ignored(alias, NEXT_LINE + 1)]


def test_an_argument_of_the_class_is_no_key_of_its_config_and_handed_over_all_the_same() -> None:
    values = read({"add_pooling_layer": False})
    message = "add_pooling_layer = false is ignored: it is an argument of the class, not a key of its config"
    fix = leave("add_pooling_layer", "write options = { add_pooling_layer = … } in the table")
    assert told(*values.findings) == [("warning", "ignored-key", f"config.json:{NEXT_LINE}", message, fix)]
    assert values.for_build["add_pooling_layer"] is False


# keys that are refused


@pytest.mark.parametrize(("key", "reason"), REFUSED.items(), ids=REFUSED)
def test_a_key_that_steers_the_library_itself_is_refused(key: str, reason: str) -> None:
    for value in ({"AutoModel": "evil.Model"}, None):
        message = f'the key "{key}" is refused: {reason}'
        assert refused({key: value}) == [error(message, "remove it", kind="config-refused")]
    message = f"overrides.{key} is refused: {reason}"
    assert refused(None, {key: 1}) == [error(message, "remove it", f"overrides.{key}", "config-refused")]


def test_a_billion_is_the_largest_size() -> None:
    assert read({"vocab_size": LARGEST_SIZE}).sizes["V"] == LARGEST_SIZE
    ((_, kind, place, _, _),) = refused({"vocab_size": LARGEST_SIZE + 1})
    assert (kind, place) == ("config-refused", "config.json:3")


# the number of labels


@pytest.mark.parametrize(
    ("file", "table", "labels"),
    [
        ({"num_labels": 3}, {}, 3),
        ({"id2label": THREE}, {}, 3),
        ({"num_labels": 3, "id2label": THREE}, {}, 3),
        ({}, {"id2label": THREE}, 3),
        ({"num_labels": 7}, {"id2label": THREE}, 3),
        ({"id2label": TWO}, {"num_labels": 5}, 5),
        ({"num_labels": 2, "id2label": TWO}, {"num_labels": 5}, 5),
        ({"num_labels": 7, "id2label": TWO}, {"id2label": THREE}, 3),
    ],
    ids=repr,
)
def test_labels_are_counted_or_named_and_an_override_replaces_both(
    file: dict[str, object], table: dict[str, object], labels: int
) -> None:
    values = read(file, table, labels=True)
    assert (values.sizes["C"], values.assumed["num_labels"], values.findings) == (labels, labels, ())
    handed = {key: value for key, value in values.for_build.items() if key in {"num_labels", "id2label"}}
    assert handed == (table or file)


def test_without_either_there_are_two_labels_and_a_warning_and_a_contradiction_is_refused_in_the_table() -> None:
    for file in ({}, {"id2label": None}):
        values = read(file, labels=True)
        assert values.sizes["C"] == 2
        assert told(*values.findings) == [defaulted("num_labels", 2)]
    found = refused({"num_labels": 3, "id2label": THREE}, {"num_labels": 2, "id2label": THREE}, labels=True)
    assert [place for _, _, place, _, _ in found] == ["overrides.num_labels"]


# the table's overrides


def test_what_the_family_does_not_follow_is_refused_in_the_table_as_in_the_file() -> None:
    """Any other value changes what is built, and the closed form does not follow."""
    keys = replace(BERT.keys, refused={"depth": Refused((3,), "it is known as 3 alone", "have it followed")}, open=True)
    for depth, overrides in ((3, {}), (3, {"depth": 3}), (6, {"depth": 3})):
        assert resolve(keys, config_of({**BASE, "depth": depth}), overrides, PLAIN).sizes == SIZES
    for depth, overrides in ((6, {}), (3, {"depth": 6})):
        with pytest.raises(Unusable) as unusable:
            resolve(keys, config_of({**BASE, "depth": depth}), overrides, PLAIN)
        (found,) = unusable.value.findings
        said = ("config-refused", "depth = 6 is refused: it is known as 3 alone", "have it followed")
        assert (found.kind, found.message, found.fix) == said


def reported(found: Case, key: str, value: object) -> list[Finding]:
    changed = Case(found.family, found.architecture, {**found.config, key: value}, found.options)
    return [finding for finding in changed.values().findings if finding.message.startswith(f"{key} = ")]


@pytest.mark.parametrize(
    ("family", "architecture", "config", "key", "value", "cost"),
    [
        # transformers 4 built flan-t5-base with 247,577,856 (keras-hub's t5_presets.py): V·D more
        ("t5", "T5ForConditionalGeneration", {"vocab_size": 32128, "d_model": 768}, "tie_word_embeddings", False, "cost 24,674,304"),
        # and relative positions as a table of 2·512 - 1 distances of 64 in each layer (correctness.md §7)
        ("roberta", "RobertaModel", {}, "position_embedding_type", "relative_key_query", "cost 785,664"),
        ("electra", "ElectraModel", {}, "position_embedding_type", "relative_key", "cost 785,664"),
        # one table for each layer that there is: ALBERT has one
        ("albert", "AlbertModel", {"hidden_size": 768, "num_attention_heads": 12}, "position_embedding_type", "relative_key", "cost 65,472"),
        # a head of 64: (3·768 + 3)·64 rows with their biases, 768·64 columns
        ("camembert", "CamembertModel", {}, "pruned_heads", {"0": [1, 2], "5": [0]}, "saved 590,400"),
        # a table of 128 and a projection in place of one of 768: 50265·128 + 128·768 + 768 - 50265·768
        ("roberta", "RobertaModel", {}, "embedding_size", 128, "saved 32,070,528"),
    ],
)  # fmt: skip
def test_the_cost_is_what_older_versions_built(
    family: str, architecture: str, config: dict[str, Any], key: str, value: object, cost: str
) -> None:
    (finding,) = reported(case(family, architecture, config), key, value)
    assert (finding.kind, finding.severity) == ("ignored-key", "warning")
    assert finding.message.endswith(f"; it would have {cost} parameters")


# what the table says of them


def found_in(folder: Path, config: dict[str, Any], table: str = "") -> list[tuple[str, str, str, str]]:
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    text = f'[tool.bertsize.models.x]\nconfig = "config.json"\nbudget = "report-only"\n{table}'
    settings = parse(text, folder / "pyproject.toml")
    found = examine(settings.models["x"], settings, Registry()).findings
    return [(each.severity, each.place, each.message, each.fix) for each in found]


def test_the_ignored_keys_of_a_file_are_one_line_with_their_count(tmp_path: Path, tiny: dict[str, Any]) -> None:
    keys = {f"own_{number}": number for number in range(10)}
    named = ", ".join(f'"own_{number}"' for number in range(8))
    message = f"10 keys are ignored: they change no count: {named} and 2 more"
    fix = f"if your code reads them, write ignored = [{named}, …], else remove them"
    assert found_in(tmp_path, {**tiny, **keys}) == [("warning", "config.json:13", message, fix)], "of the first"


def test_the_table_silences_a_key_that_other_code_reads_and_no_key_that_is_read_here_or_refused(
    tmp_path: Path, tiny: dict[str, Any]
) -> None:
    for key, value in {"num_hiden_layers": 3, "position_embedding_type": "relative_key"}.items():
        assert len(found_in(tmp_path, {**tiny, key: value})) == 1
        assert found_in(tmp_path, {**tiny, key: value}, f'ignored = ["{key}"]\n') == []
    ((severity, _, message, _),) = found_in(tmp_path, {**tiny, "auto_map": {}}, 'ignored = ["auto_map"]\n')
    assert (severity, message.startswith('the key "auto_map" is refused')) == ("error", True)
    assert found_in(tmp_path, tiny, 'ignored = ["hidden_size", "gone"]\n') == [
        ("error", "", "ignored names hidden_size, which this family reads", "remove it from ignored"),
        ("warning", "", "ignored names gone, which is not in config.json", "remove it from ignored"),
    ]
