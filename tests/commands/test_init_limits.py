"""``init``: which limits it proposes, and that they hold today's model and no larger one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.closed_forms.what_if import Variants, insensitive
from pytest_bertsize.commands import console
from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.counted import counted
from pytest_bertsize.commands.init.found import Found
from pytest_bertsize.commands.init.limits import budget, limit_above
from pytest_bertsize.config.model_config import made
from pytest_bertsize.quantity import parse_count
from pytest_bertsize.table.model import Limit
from tests.conftest import BERT_BASE, TINY
from tests.support.family_configs import PAIRS, sample
from tests.support.starting_projects import GOOGLE, changed, holds, lay, proposed, started

if TYPE_CHECKING:
    from pathlib import Path


def test_the_limits_of_bert_base_are_those_that_people_write(tmp_path: Path) -> None:
    # Devlin et al. 2018: 110M; bert-base-uncased has 109,514,298 with its masked-language head
    lay(tmp_path, **{"config.json": BERT_BASE})
    (table,) = proposed(tmp_path).values()
    assert table["budget"] == {"total": "110M", "embeddings": "23.9M", "encoder": "85.1M", "head": "623K", "pooler": 0}


def test_the_limits_are_those_of_the_release_that_the_table_says_builds(tmp_path: Path) -> None:
    """An untied decoder has a bias of its own from transformers 5 on: V = 101 parameters more (transformers#41541)."""
    site = "env/lib/python3.12/site-packages/transformers-4.57.6.dist-info"
    metadata = "Metadata-Version: 2.1\nName: transformers\nVersion: 4.57.6\n"
    declared = '[tool.bertsize]\npython = "env/bin/python"\n\n[tool.bertsize.models.it]\nconfig = "it.json"\n'
    lay(
        tmp_path,
        **{
            "pyproject.toml": f'{declared}budget = "report-only"\n',
            "it.json": TINY,
            "env/pyvenv.cfg": "version = 3.12.1\n",
            f"{site}/METADATA": metadata,
            "config.json": TINY | {"architectures": ["BertForMaskedLM"], "tie_word_embeddings": False},
        },
    )
    (table,) = proposed(tmp_path).values()
    assert table["budget"]["head"] == "7.40K"  # 2,549 when it is tied, and 48·101 of the matrix: 7,397


@pytest.mark.parametrize(
    ("count", "limit"),
    [(1, "1"), (999, "999"), (1_000, '"1.00K"'), (64_939, '"65.0K"'), (999_001, '"1.00M"'), (64_900, '"64.9K"')],
)
def test_a_limit_has_three_digits_so_that_one_that_is_accepted_later_has_them_too(count: int, limit: str) -> None:
    assert limit_above(count) == limit


@pytest.mark.parametrize(
    ("count", "too_much", "limit"),
    [
        (26_230_900, 26_232_000, '"26.231M"'),
        (26_231_711, 26_231_900, "26_231_800"),
        (26_231_711, 26_231_712, "26_231_711"),
    ],
)
def test_a_limit_that_needs_more_than_five_digits_is_a_whole_number(count: int, too_much: int, limit: str) -> None:
    assert limit_above(count, too_much) == limit


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("BertModel", "BertForPreTraining", "head"),
        ("BertForMaskedLM", "BertForPreTraining", "pooler"),
        ("BertForTokenClassification", "BertForSequenceClassification", "pooler"),
    ],
)
def test_a_part_that_only_other_classes_of_the_family_have_is_kept_out(
    tmp_path: Path, before: str, after: str, part: str
) -> None:
    lay(tmp_path, **{"config.json": {**BERT_BASE, "vocab_size": 21128, "architectures": [before]}})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert f"budget.{part} = 0\n" in (tmp_path / "pyproject.toml").read_text("utf-8")
    assert holds(tmp_path)[0] == console.GOOD
    changed(tmp_path / "config.json", architectures=[after])
    status, report = holds(tmp_path)
    assert (status, f"✗ {part} " in report) == (console.FOUND, True)


def test_a_part_that_no_class_of_the_family_has_gets_no_limit(tmp_path: Path) -> None:
    distil = {"model_type": "distilbert", "architectures": ["DistilBertModel"], "dim": 48, "n_heads": 4}
    (table,) = proposed(lay(tmp_path, **{"config.json": distil})).values()
    assert list(table["budget"]) == ["total", "embeddings", "encoder", "head"]
    assert table["budget"]["head"] == 0


def test_a_class_that_the_file_does_not_name_is_a_guess_that_says_so(tmp_path: Path) -> None:
    lay(tmp_path, **{"bert_config.json": GOOGLE, "pyproject.toml": " \n[a]\n"})
    assert started(tmp_path)[1].splitlines()[1:5] == [
        "[tool.bertsize.models.bert]",
        'config = "bert_config.json"',
        'family = "bert"  # the file has no model_type',
        (
            'architecture = "BertModel"  # the file names no class: write the one that your code builds, then '
            "pytest --bert-budget --bert-budget-update"
        ),
    ]


@pytest.mark.parametrize("named", ["BertModel", "BertForMaskedLM", "BertForPreTraining", "BertLMHeadModel"])
def test_a_guess_proposes_nothing_that_the_right_class_would_make_wrong(tmp_path: Path, named: str) -> None:
    google = {key: value for key, value in BERT_BASE.items() if key not in {"model_type", "architectures"}}
    lay(tmp_path, **{"bert_config.json": google})
    (table,) = proposed(tmp_path).values()
    assert list(table["budget"]) == ["total", "embeddings", "encoder"]
    assert started(tmp_path, writes=True)[0] == GOOD
    path = tmp_path / "pyproject.toml"
    path.write_text(path.read_text("utf-8").replace('"BertModel"', f'"{named}"'), encoding="utf-8")
    report = holds(tmp_path)[1]
    assert [part for part in ("embeddings", "encoder", "pooler", "head") if f"✗ {part}" in report] == []


def test_of_several_classes_the_first_that_is_known_is_taken(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": {**TINY, "architectures": ["Own", "BertModel", "BertForMaskedLM"]}})
    assert 'architecture = "BertModel"  # one of those that the file names\n' in started(tmp_path)[1]


ALBERT = {**TINY, "model_type": "albert", "architectures": ["AlbertModel"], "embedding_size": 16}


def test_layers_that_share_their_weights_need_no_room_of_a_layer(tmp_path: Path) -> None:
    lay(tmp_path, **{"config.json": ALBERT})
    assert started(tmp_path, writes=True)[0] == GOOD
    assert holds(tmp_path)[0] == console.GOOD


@pytest.mark.parametrize(("family", "architecture"), dict(PAIRS).items())
def test_a_proposed_budget_holds_the_model_and_not_one_with_a_layer_more(family: str, architecture: str) -> None:
    for case in sample(family, architecture)[:6]:
        assert_tight({"model_type": family, "architectures": [architecture], **case.config})


@given(
    layers=st.integers(1, 40),
    width=st.integers(1, 300),
    heads=st.integers(1, 4),
    others=st.tuples(*[st.integers(1, 10**5)] * 4),
)
def test_so_does_that_of_any_bert(layers: int, width: int, heads: int, others: tuple[int, ...]) -> None:
    keys = ("vocab_size", "intermediate_size", "max_position_embeddings", "type_vocab_size")
    sizes = {"num_hidden_layers": layers, "hidden_size": width * heads, "num_attention_heads": heads}
    assert_tight({**BERT_BASE, **sizes, **dict(zip(keys, others, strict=True))})


def test_of_two_kinds_of_layers_the_smaller_one_is_noticed_as_well() -> None:
    sizes = {"vocab_size": 5_000_000, "d_model": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    small = {"encoder_layers": 2, "encoder_ffn_dim": 8, "decoder_layers": 2, "decoder_ffn_dim": 4_000}
    assert_tight({"model_type": "bart", "architectures": ["BartModel"], **sizes, **small})


def assert_tight(data: dict[str, Any]) -> None:
    """Every limit lets today's count pass, is at most one percent above it, and below that of one more layer."""
    derivation = counted(Found("config.json", made(data, "config.json")), Registry()).derivation
    form, variants = derivation.form, Variants(derivation)
    limits = {component: parse_count(tomli.loads(f"a = {limit}")["a"]) for component, limit in budget(derivation)}
    parts = [name for name in derivation.family.component_names(form.dims) if "." not in name]
    assert limits.keys() == {"total", *parts}
    for component, limit in limits.items():
        assert form[component] <= limit <= form[component] * 1.01 + 1
    for size in variants.sizes.values():
        deeper = variants.varied(**{size.key: variants.now(size.key) + 1}) if size.repeats else None
        for component, limit in limits.items() if deeper else ():
            assert deeper is not None
            assert deeper[component] <= form[component] or deeper[component] > limit
    held = tuple(Limit(component, None, limit, limit, "pyproject.toml") for component, limit in limits.items())
    assert insensitive(derivation, held) == []
