"""``check_model(model, total="110M")``: the closed form is that of the model's own config and class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import peft
import pytest
import transformers
from torch import nn
from transformers import BertConfig, BertForMaskedLM, BertModel

from pytest_bertsize import check_model
from tests.conftest import TINY
from tests.in_hand.conftest import make
from tests.in_hand.test_check_model import Tagger, fail
from tests.support.family_configs import PAIRS, sample


@pytest.fixture(autouse=True)
def nothing_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_model_is_held_to_the_closed_form_of_its_own_config_and_to_limits() -> None:
    review = check_model(make(), total="60K", pooler=0)
    assert (review.name, review.subject.reference) == ("BertForMaskedLM", "model.config")
    assert review.expected["total"] == 59_549  # type: ignore[index]
    assert "total 59,549, limit 50,000 (+9,549)" in fail(make(), total="50K")
    assert check_model(make()).verdict == "passed"


def test_what_was_done_to_a_model_behind_its_config_is_seen() -> None:
    model = make()
    model.bert.encoder.layer.append(model.bert.encoder.layer[0].__class__(model.config))
    assert "bert.encoder.layer.3 is new: 16,632" in fail(model)
    model.config.num_hidden_layers = 4
    assert check_model(model).expected["encoder"] == 4 * 16_632  # type: ignore[index]
    model.resize_token_embeddings(201, mean_resizing=False)  # which moves the config
    assert check_model(model).actual["embeddings.word"] == 201 * 48  # type: ignore[index]
    assert "embeddings 11,904, limit 8,000 (+3,904)" in fail(model, embeddings="8K")


class Deeper(BertForMaskedLM):  # type: ignore[misc]
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.gate = nn.Linear(48, 2)


class Same(BertForMaskedLM):  # type: ignore[misc]
    pass


def test_a_class_that_derives_from_one_of_the_library_is_held_to_that_ones() -> None:
    assert check_model(Same(BertConfig(**TINY))).name == "Same"
    said = fail(Deeper(BertConfig(**TINY)))
    assert "gate is new: 98" in said
    assert "Deeper is a class of your own: declare it in a table" in said


def test_a_class_without_a_closed_form_is_told_and_closed_form_false_is_the_way_out() -> None:
    said = fail(Tagger(), total="63K")
    assert "there is no closed form for Tagger" in said
    assert "as in check_model(model.bert)" in said
    assert "only limits: closed_form=False" in said
    dotted: dict[str, Any] = {"bert.pooler": 2352}
    assert check_model(Tagger(), closed_form=False, total="63K", classifier=441, **dotted).verdict == "passed"
    assert "classifier 441, limit 400 (+41)" in fail(Tagger(), closed_form=False, classifier=400)
    with pytest.raises(ValueError, match="leaves nothing to compare with: write a limit"):
        check_model(Tagger(), closed_form=False)


def test_limits_name_what_the_family_has() -> None:
    assert "did you mean 'total'?" in fail(make(), totl="60K")
    assert "BertModel has no constructor argument" in fail(
        BertModel(BertConfig(**TINY)), options={"add_pooling": False}
    )


def test_what_is_no_module_is_a_type_error() -> None:
    class Trainer:
        model = make()

    for what, says in (
        (BertModel, "the class BertModel"),
        ({"model": 1}, "an object of type dict"),
        (Trainer(), "an object of type Trainer"),
    ):
        said = f"check_model takes a torch.nn.Module, not {says}: pass the model itself, such as trainer.model"
        with pytest.raises(TypeError, match=f"^{said}"):
            check_model(what, "encoder")


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")  # of a width that is divided to nothing
@pytest.mark.parametrize(("family", "architecture"), dict(PAIRS).items())
def test_a_class_of_every_family_agrees_with_its_own_config_after_it_is_made(family: str, architecture: str) -> None:
    case = sample(family, architecture)[1]
    cls = getattr(transformers, architecture)
    values = case.values().for_build
    model = cls(cls.config_class(**values), **case.options)
    review = check_model(model, options=dict(case.options) or None)
    assert review.actual["total"] == review.expected["total"]  # type: ignore[index]


@pytest.mark.filterwarnings("ignore")  # of PEFT
def test_a_closed_form_that_there_is_is_not_left_aside_in_silence_unless_an_adapter_has_changed_its_model() -> None:
    adapted = peft.get_peft_model(make(), peft.IA3Config(target_modules=["query"], feedforward_modules=[]))
    review = check_model(adapted, closed_form=False, total="99K")
    assert {each.severity for each in review.findings} == {"note"}
    review = check_model(make(), closed_form=False, total="99K")
    assert [each.message for each in review.findings if each.severity == "warning"] == [
        "there is a closed form for BertForMaskedLM, and closed_form = false turns it off"
    ]
