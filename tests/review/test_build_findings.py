"""What the library's config object says, held against what the closed form has assumed: key by key, in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.messages import Built, ConfigSaid, Untied
from pytest_bertsize.closed_forms import FAMILIES
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.release import Release
from pytest_bertsize.review.build_findings import check_ties, find_read_otherwise
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import parse

BY = "transformers 5.1.0"


def said_of(
    family: str, written: dict[str, Any], *, is_off: bool = False, **library: Any
) -> list[tuple[str, int | None]]:
    """Each finding's sentence and line, where the library says ``library`` and else what the closed form assumes.

    :param library: by key; ``...`` for one that the config object does not have.
    """
    data = {"model_type": family, **written}
    config = parse_json(json.dumps(data, indent=1).encode(), "config.json")
    found_family, architecture = FAMILIES[family].of_config(
        config, FAMILIES[family].architectures[0], Registry().families
    )
    values = found_family.resolve(config, {}, architecture)
    said = {key: library.get(key.replace(".", "_"), value) for key, value in values.assumed.items()}
    there = {key: list(each) if isinstance(each, tuple) else each for key, each in said.items() if each is not ...}
    found = list(find_read_otherwise(values, config, ConfigSaid(there, by=BY), is_off=is_off))
    assert {(each.kind, each.severity) for each in found} <= {("read-otherwise", "error")}
    return [(each.sentence, each.line) for each in found]


SIDES = {"encoder": {"model_type": "bert"}, "decoder": {"model_type": "bert", "is_decoder": True}}
MEANT = 'write "{}" with the value that you mean; if the library ignores it, report that'
OTHERWISE: dict[str, tuple[str, dict[str, Any], dict[str, Any], str, str]] = {
    "config.json": ("t5", {}, {"d_kv": 128}, "d_kv 64", "128"),
    "of an alias": ("bart", {"num_hidden_layers": 2}, {"encoder_layers": 12}, "encoder_layers 2", "12"),
    "config.json:3": ("bert", {"hidden_act": "relu"}, {"hidden_act": "gelu"}, 'hidden_act "relu"', '"gelu"'),
    "of a switch": ("bert", {}, {"tie_word_embeddings": None}, "tie_word_embeddings true", "null"),
    "of a list": ("funnel", {}, {"block_sizes": [4, 4]}, "block_sizes [4, 4, 4]", "[4, 4]"),
    "in an object": ("encoder-decoder", SIDES, {"decoder_vocab_size": 7}, "decoder.vocab_size 30,522", "7"),
}


@pytest.mark.parametrize("place", OTHERWISE)
def test_a_key_that_is_read_otherwise_is_named_with_both_and_with_who_says_so(place: str) -> None:
    family, written, library, ours, theirs = OTHERWISE[place]
    ((found, _),) = said_of(family, written, **library)
    at, _, said = found.partition(": ")
    assert at == place or place.startswith(("of", "in"))
    fix = MEANT.format(ours.split()[0].rpartition(".")[2])
    assert said == f"the closed form assumes {ours}, {BY} reads {theirs}; {fix}"


def test_what_the_library_says_in_other_words_is_the_same() -> None:
    for family, library in (
        *(("bert", {"is_decoder": None}), ("deberta", {"pos_att_type": None}), ("deberta", {"pos_att_type": []})),
        *(("funnel", {"block_sizes": [4, 4, 4]}), ("roformer", {"summary_type": ..., "embedding_size": 768})),
    ):
        assert said_of(family, {}, **library) == []


def test_a_key_that_is_taken_for_granted_and_not_there_is_named() -> None:
    """Of camembert-base's published config, which transformers up to 5.3 does not tie."""
    without = {"tie_word_embeddings": ..., "is_decoder": ..., "add_cross_attention": ...}
    assert said_of("camembert", {}, is_off=True, **without) == [
        (
            (
                "config.json: the closed form assumes tie_word_embeddings true, transformers 5.1.0 has no such key unless the "
                f"file sets it; {MEANT.format('tie_word_embeddings')}"
            ),
            None,
        )
    ]


def test_a_key_that_the_library_reads_and_the_closed_form_does_not_know_is_named_where_it_stands() -> None:
    data = {"encoder": {"depth": 3}, "head_dim": 128}
    config = parse_json(json.dumps(data, indent=1).encode(), "config.json")
    fix = "add it to the keys of the closed form: as a size, a switch, a choice, or as inert if it changes no count"
    values = FAMILIES["bert"].resolve(
        parse_json(b'{"model_type": "bert"}', "config.json"), {}, FAMILIES["bert"].architectures[0]
    )
    library = ConfigSaid({}, ("head_dim", "encoder.depth"), BY)
    assert [each.sentence for each in find_read_otherwise(values, config, library, is_off=False)] == [
        f"config.json:5: transformers 5.1.0 reads head_dim, a key that the closed form does not know; {fix}",
        f"config.json:3: transformers 5.1.0 reads encoder.depth, a key that the closed form does not know; {fix}",
    ]


# what was built by another transformers than the one whose metadata said what the closed form is asked about

TABLE = '[tool.bertsize.models.x]\nconfig = "config.json"\nbudget = "report-only"\n'
CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 2}


def errors(folder: Path, asked: Release, imported: str) -> list[str]:
    """Of a model that is built as its closed form says."""
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    settings = parse(TABLE, folder / "pyproject.toml")
    subject = examine(settings.models["x"], settings, Registry(release=asked))
    assert subject.form is not None
    built = Built(tuple(subject.form.tensors), {}, transformers=imported)
    found = conclude(subject, built)
    return [finding.sentence for finding in found.findings if finding.severity == "error"]


def test_another_release_than_was_asked_about_is_an_error_unless_it_is_newer_than_the_newest_that_is_known(
    tmp_path: Path,
) -> None:
    for newer in ("5.23.4", "5.24.0.dev0", "6.1.0"):
        assert errors(tmp_path, Release(5, 23), newer) == []
    other, unsupported = (errors(tmp_path, Release(4, 57, 6), imported) for imported in ("5.23.0", "5.0.1"))
    assert "transformers 5.23.0 built the model, but the closed form describes 4.57.6" in other[0]
    assert "transformers 5.0.1 loses ties on the meta device" in unsupported[0]


BESIDE = """config-invalid: pyproject.toml:2: both/adapter_config.json is an adapter, which from_pretrained adds to the model in \
its folder; write adapter = "both/adapter_config.json", or move that file to another folder"""


@pytest.mark.parametrize(
    ("more", "told"), [("", [BESIDE]), ("adapter = { r = 8, target_modules = ['query'] }", [])], ids=["none", "another"]
)
def test_an_adapter_that_from_pretrained_would_add_has_to_be_declared(
    more: str, told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    (tmp_path / "both" / "adapter_config.json").write_text("{}", "utf-8")
    table = f'[tool.bertsize.models.x]\nconfig = "both"\nbudget = "report-only"\n{more}\n'
    settings = parse(table, tmp_path / "pyproject.toml")
    found = conclude(examine(settings.models["x"], settings, Registry()), None)
    assert [f"{each.kind}: {each.sentence}" for each in found.errors] == told


def test_a_tie_that_the_build_has_not_made_is_an_error() -> None:
    by = "Tagger.get_output_embeddings"
    (found,) = check_ties(Built((), {}, transformers="4.57.1", untied=(Untied("o.w", "i.w", by),)))
    ties = f"{by} ties o.w to i.w, and transformers 4.57.1, which built it, has not made that tie"
    assert (found.kind, found.severity, found.message) == ("untied", "error", ties)
    assert found.fix.startswith("assign the one to the other in the constructor (transformers 5 ties by ")
    assert found.fix.endswith(f"; or remove {by}")
