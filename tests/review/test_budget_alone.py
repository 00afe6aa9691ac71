"""A model without a closed form: refused with both ways out, or compared with its budget alone, which every report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.config.vocabulary import REFUSED

if TYPE_CHECKING:
    from tests.conftest import Project

REFORMER = {
    "architectures": ["ReformerModel"],
    "model_type": "reformer",
    "vocab_size": 64,
    "hidden_size": 32,
    "attention_head_size": 16,
    "num_attention_heads": 2,
    "feed_forward_size": 48,
    "attn_layers": ["local", "lsh"],
    "axial_pos_shape": [4, 8],
    "axial_pos_embds_dim": [8, 24],
    "max_position_embeddings": 32,
    "attn_implementation": "eager",
}
"""A family of transformers that there is no closed form for."""
OUT = (
    "describe a class of your own by the keys factory, backbone and extra; contribute a closed form "
    '(closed_forms = ["sizes/forms.toml"]); '
    "or write closed_form = false to check its budget alone"
)
ALONE = "compared only with its budget: closed_form = false"


def table(limits: str = 'total = "20K"', more: str = "closed_form = false") -> str:
    return f"""
        [tool.bertsize.models.encoder]
        config = "config.json"
        {more}
        budget = {{ {limits} }}
        """


def one_line(text: str) -> str:
    return " ".join(text.split())


# without the word


def test_an_unknown_family_names_what_comes_nearest_and_both_ways_out(project: Project) -> None:
    result = project(table(more=""), REFORMER).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (
        "config.json:5: there is no closed form for the family \"reformer\"; the nearest is 'roformer' "
        f"→ correct the name; {OUT}" in one_line(result.stdout.str())
    )


def test_an_unknown_class_of_a_known_family_names_what_comes_nearest(project: Project, tiny: dict[str, Any]) -> None:
    config = {**tiny, "architectures": ["BertForTokenClassifikation"]}
    printed = one_line(project(table(more=""), config).runpytest("--bert-budget").stdout.str())
    assert (
        "there is no closed form for \"BertForTokenClassifikation\" in the family 'bert'; the nearest class is "
        "BertForTokenClassification" in printed
    )
    assert f"→ correct the name; {OUT}" in printed


# with it


def test_the_budget_is_held_and_every_report_says_that_nothing_else_is(project: Project) -> None:
    result = project(table(), REFORMER).runpytest("--bert-budget", "--bert-budget-report=size.json", "-v")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            f"- encoder: ReformerModel is {ALONE}",
            "  (pyproject.toml:5)",
            "1 configured, 1 checked, 0 failed; 1 without a closed form, compared with the budget alone; size.json written",
        ]
    )
    assert "vs formula" not in result.stdout.str()
    model = json.loads(Path("size.json").read_text("utf-8"))["models"][0]
    assert model["closed_form"] is False
    assert model["totals"]["expected"] is None
    assert {row["expected"] for row in model["components"]} == {None}
    assert sum(row["actual"] for row in model["components"] if "." not in row["name"]) == 2 * model["totals"]["actual"]


def test_a_model_over_its_budget_fails_and_its_report_says_it_too(project: Project) -> None:
    result = project(table("encoder = 9, total = 10"), REFORMER).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    printed = one_line(result.stdout.str())
    assert "total 16,128, limit 10 (+16,118)" in printed
    assert f"- ReformerModel is {ALONE}" in printed


def test_a_component_is_a_module_by_its_name_and_an_unknown_one_names_those_there_are(project: Project) -> None:
    printed = one_line(project(table("heat = 9"), REFORMER).runpytest("--bert-budget").stdout.str())
    assert 'the budget names the component "heat", which no reformer model has' in printed
    assert (
        "a budget can name total, trainable, bytes, flops, training_bytes, growth, embeddings, embeddings.word_embeddings"
        in printed
    )


@pytest.mark.parametrize("misspelt", ["encodr", "layers", "encoder.embedding"])
def test_nothing_at_all_of_a_part_that_is_there_by_another_name_is_a_mistake(project: Project, misspelt: str) -> None:
    printed = one_line(project(table(f'"{misspelt}" = 0'), REFORMER).runpytest("--bert-budget").stdout.str())
    assert f'the budget names the component "{misspelt}", which no reformer model has' in printed


def test_it_is_a_warning_where_there_is_a_closed_form_after_all(project: Project) -> None:
    result = project(table('total = "60K"')).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.OK
    assert (
        "! encoder: there is a closed form for BertForMaskedLM, and closed_form = false turns it off "
        "(pyproject.toml:5) → remove closed_form = false" in one_line(result.stdout.str())
    )


@pytest.mark.parametrize("key", [*REFUSED, "__class__"])
def test_a_key_that_steers_the_library_is_refused_here_too(project: Project, key: str) -> None:
    result = project(table(), {**REFORMER, key: {}}).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert f'the key "{key}" is refused' in one_line(result.stdout.str())


def test_a_class_that_there_is_not_fails_its_model(project: Project) -> None:
    config = {**REFORMER, "architectures": ["ReformerForNothing"]}
    result = project(table(), config).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    printed = one_line(result.stdout.str())
    assert "could not be built: transformers" in printed
    assert "has no model class ReformerForNothing; install a version of transformers that has it" in printed


# what changes no count in families that have closed forms


TROCR = {
    "architectures": ["TrOCRForCausalLM"],
    "model_type": "trocr",
    "vocab_size": 64,
    "d_model": 32,
    "decoder_layers": 1,
    "decoder_attention_heads": 2,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 32,
}
SIDE = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
}
T5GEMMA = {
    "architectures": ["T5GemmaForTokenClassification"],
    "model_type": "t5gemma",
    "vocab_size": 64,
    "encoder": SIDE,
    "decoder": SIDE,
}


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (TROCR, 14_992),
        # keys and values of cross-attention read a width of 1024 in place of 32: 2·32·(1024 - 32) more
        ({**TROCR, "cross_attention_hidden_size": 1024}, 14_992 + 63_488),
        (T5GEMMA, 18_370),
        # 64·32 of its words; a layer of 4 norms, 2·32·16 and 2·32·8 of attention, 3·32·48 of feed-forward; its norm and head
        ({**T5GEMMA, "is_encoder_decoder": False}, 2_048 + (128 + 1_024 + 512 + 4_608) + 32 + 66),
    ],
    ids=["a decoder", "one that reads another width", "a pair", "its encoder alone"],
)
def test_a_key_reaches_the_class_that_counts_by_it(project: Project, config: dict[str, Any], count: int) -> None:
    table_of = table(f"total = {{ exact = {count} }}")
    project(table_of, config).runpytest("--bert-budget").assert_outcomes(passed=1)
