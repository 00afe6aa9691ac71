"""Keys that look as if they changed a count and do not: each is reported, with what it would have cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import parse
from tests.support.family_configs import Case, case, sample

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

DISTINCT = {
    (id(known.cost), str(known.harmless)): (name, key)
    for name, family in FAMILIES.items()
    for key, known in family.keys.all_ignored.items()
}
"""A family and a key for each reckoning of what a key would have cost."""


def reported(found: Case, key: str, value: object) -> list[Finding]:
    """The warnings about one key that is added to a config."""
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


@pytest.mark.parametrize(("family", "key"), DISTINCT.values())
def test_whatever_the_value_it_is_said_to_be_ignored_or_harmless(family: str, key: str) -> None:
    found = sample(family, FAMILIES[family].architectures[0].name)[0]
    known = FAMILIES[family].keys.all_ignored[key]
    for value in (None, True, False, 0, -7, 10**30, 1.5, "", "relative_key", [], [1], {}, {"0": [0, "x"]}, {"0": 1}):
        said = reported(found, key, value)
        assert len(said) == (value not in known.harmless)
        assert all("is ignored: " in finding.message for finding in said)


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


@pytest.mark.parametrize(("key", "value"), {"num_hiden_layers": 3, "position_embedding_type": "relative_key"}.items())
def test_the_table_silences_a_key_that_other_code_reads(
    tmp_path: Path, tiny: dict[str, Any], key: str, value: object
) -> None:
    assert len(found_in(tmp_path, {**tiny, key: value})) == 1
    assert found_in(tmp_path, {**tiny, key: value}, f'ignored = ["{key}"]\n') == []


def test_a_key_that_the_family_reads_is_not_silenced(tmp_path: Path, tiny: dict[str, Any]) -> None:
    table = 'ignored = ["hidden_size", "gone"]\n'
    assert found_in(tmp_path, tiny, table) == [
        ("error", "", "ignored names hidden_size, which this family reads", "remove it from ignored"),
        ("warning", "", "ignored names gone, which is not in config.json", "remove it from ignored"),
    ]


def test_what_is_refused_is_not_silenced(tmp_path: Path, tiny: dict[str, Any]) -> None:
    ((severity, _, message, _),) = found_in(tmp_path, {**tiny, "auto_map": {}}, 'ignored = ["auto_map"]\n')
    assert (severity, message.startswith('the key "auto_map" is refused')) == ("error", True)
