"""``init``: which limits it proposes, and that they hold today's model and no larger one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli

from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.closed_forms.what_if import Variants, insensitive
from pytest_bertsize.commands import console
from pytest_bertsize.commands.console import GOOD
from pytest_bertsize.commands.init.proposal import list_limits
from pytest_bertsize.config.model_config import made
from pytest_bertsize.quantity import parse_count
from pytest_bertsize.table.limits import Budget, Limit
from pytest_bertsize.table.model import Model
from tests.conftest import BERT_BASE
from tests.support.family_configs import PAIRS, sample
from tests.support.starting_projects import changed, holds, lay, proposed, started


def test_the_limits_of_bert_base_are_those_that_people_write(tmp_path: Path) -> None:
    # Devlin et al. 2018: 110M; bert-base-uncased has 109,514,298 with its masked-language head
    lay(tmp_path, **{"config.json": BERT_BASE})
    (table,) = proposed(tmp_path).values()
    assert table["budget"] == {"total": "110M", "embeddings": "23.9M", "encoder": "85.1M", "head": "623K", "pooler": 0}


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


@pytest.mark.parametrize(("family", "architecture"), dict(PAIRS).items())
def test_a_proposed_budget_holds_the_model_and_not_one_with_a_layer_more(family: str, architecture: str) -> None:
    for case in sample(family, architecture)[:6]:
        assert_tight({"model_type": family, "architectures": [architecture], **case.config})


def assert_tight(data: dict[str, Any]) -> None:
    """Every limit lets today's count pass, is at most one percent above it, and below that of one more layer."""
    model, config = Model(config="config.json", budget=Budget()), made(data, "config.json")
    derivation = derive(model, config, choose(model, config, Registry()))
    form, variants = derivation.form, Variants(derivation)
    limits = {component: parse_count(tomli.loads(f"a = {limit}")["a"]) for component, limit in list_limits(derivation)}
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
