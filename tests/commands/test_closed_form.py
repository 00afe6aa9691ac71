"""``from pytest_bertsize import Review, closed_form``: all that is promised to Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize import closed_form
from pytest_bertsize.closed_forms import ClosedForm
from tests.conftest import BERT_BASE

LAYERS = 12 * (4 * 768**2 + 2 * 3072 * 768 + 9 * 768 + 3072)  # Vaswani et al. 2017, arXiv 1706.03762, with two norms
TOTAL = 109_514_298  # 109,482,240 of Google's BERT-base, less its pooler of 590,592, and 622,650 of a head whose matrix is tied


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(BERT_BASE))
    return BERT_BASE


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("path", ["config.json", Path("config.json"), "."], ids=repr)
def test_a_config_is_counted_by_component(path: str | Path) -> None:
    form = closed_form(path)
    assert isinstance(form, ClosedForm)
    assert (form["encoder"], form["pooler"], form["total"], form.total) == (LAYERS, 0, TOTAL, TOTAL)
    assert form["total"] == sum(form[name] for name in ("embeddings", "encoder", "head"))


@pytest.mark.usefixtures("config")
def test_what_the_file_does_not_say_is_said_by_name() -> None:
    options: list[dict[str, bool]] = [{"add_pooling_layer": each} for each in (True, False)]
    whole, without = (closed_form("config.json", architecture="BertModel", options=each) for each in options)
    assert whole.total - without.total == whole["pooler"] == 768**2 + 768


def test_a_declared_model_is_named_as_its_test_is(config: dict[str, Any]) -> None:
    table = '[tool.bertsize.models.deep]\nconfig = "config.json"\noverrides = { num_hidden_layers = 13 }\nbudget.total = "1B"\n'
    Path("pyproject.toml").write_text(table)
    assert closed_form("pyproject.toml::deep").total == closed_form("deep").total == TOTAL + LAYERS // 12
    Path("pyproject.toml").write_text(table.replace("overrides", "overides"))
    with pytest.raises(ValueError, match=r"^pyproject\.toml:3: .*overides: unknown key") as by_place:
        closed_form("pyproject.toml::deep")
    with pytest.raises(ValueError, match=re.escape(str(by_place.value))):
        closed_form("deep")


def test_a_mistake_in_a_config_is_a_value_error_that_says_what_to_write(config: dict[str, Any]) -> None:
    Path("bert").mkdir()
    nameless = {key: each for key, each in config.items() if key != "model_type"}
    for file, keys in ("bert/config", config), ("nameless", nameless), ("classless", {**config, "architectures": []}):
        Path(f"{file}.json").write_text(json.dumps(keys))
    for name, mistake in {
        "nameless.json": r'has no model_type, .*; write family="bert"$',
        "classless.json": "names no architecture; write architecture with one of BertModel, ",
        "nowhere.json": r"^nowhere\.json: .*there is no such file",
        "bert/config.jsn": r"^bert/config\.jsn: .*there is no such file",
        "brt/config.json": r"^brt/config\.json: .*there is no such file",
        "bert-base-uncase": r"""; did you mean "bert-base-uncased"\? If not, run hf download bert-base-un""",
        "nowhere": r"run hf download nowhere config\.json --local-dir configs/nowhere, ",
    }.items():
        with pytest.raises(ValueError, match=mistake):
            closed_form(name)
