"""What a model does not train: as its author writes it, and as a report says it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bertsize.closed_forms.blocks import Term, list_tensors
from pytest_bertsize.closed_forms.changes import freeze_modules
from pytest_bertsize.closed_forms.tree import list_terms
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.findings import Unusable
from pytest_bertsize.inventory import Inventory
from pytest_bertsize.reports.from_review import describe_frozen
from tests.closed_forms.test_lora import built_module
from tests.support.family_configs import Case, case

SMALL = {"vocab_size": 30, "hidden_size": 4, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 6}
SMALL |= {"max_position_embeddings": 8, "type_vocab_size": 2}
BASE: dict[str, Any] = {}  # the library's defaults are BERT-base


def bert(architecture: str = "BertForSequenceClassification", sizes: dict[str, Any] = SMALL) -> Case:
    return case("bert", architecture, sizes)


def terms(text: str) -> list[Term]:
    return list_terms(text, Dims({}, {}))


def inventory(drawn: Case, *modules: str) -> Inventory:
    return Inventory(tuple(list_tensors(freeze_modules(drawn.closed_form().terms, modules))))


def layers(drawn: Case, *modules: str) -> list[int]:
    """The layers of which nothing trains."""
    of_layers = [t for t in inventory(drawn, *modules).tensors if ".layer." in t.name]
    indices = sorted({int(t.name.split(".layer.")[1].split(".")[0]) for t in of_layers})
    return [i for i in indices if not any(t.trainable for t in of_layers if f".layer.{i}." in t.name)]


def built_inventory(drawn: Case, *prefixes: str) -> dict[str, bool]:
    """What trains where a model is frozen by hand, as a project would do it."""
    model = built_module(drawn)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name.startswith(prefixes):
            parameter.requires_grad_(requires_grad=False)
    return {name: p.requires_grad for name, p in model.named_parameters(remove_duplicate=False)}


SLICES = {"[:2]": [0, 1], "[2:]": [2, 3], "[1:3]": [1, 2], "[-2:]": [2, 3], "[:-3]": [0], "[0]": [0], "[-1]": [3]}


@pytest.mark.parametrize(
    ("written", "frozen"), [*SLICES.items(), ("[:]", [0, 1, 2, 3]), (".2", [2]), ("", [0, 1, 2, 3])]
)
def test_a_slice_is_python_s(written: str, frozen: list[int]) -> None:
    assert layers(bert(), f"bert.encoder.layer{written}") == frozen


def test_a_frozen_model_is_the_one_that_is_frozen_by_hand() -> None:
    said = inventory(bert(), "bert.embeddings", "bert.encoder.layer[:2]", "bert.encoder.layer[3].attention.self")
    assert {t.name: t.trainable for t in said.tensors} == built_inventory(
        bert(),
        "bert.embeddings.",
        "bert.encoder.layer.0.",
        "bert.encoder.layer.1.",
        "bert.encoder.layer.3.attention.self.",
    )


@pytest.mark.parametrize("path", ["bert.embeddings.word_embeddings", "cls.predictions.decoder.weight"])
def test_tied_tensors_stand_still_together(path: str) -> None:
    drawn = bert("BertForMaskedLM")
    assert {t.name for t in inventory(drawn, path).tensors if not t.trainable} == {
        "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.weight",
    }
    said = {t.name: t.trainable for t in inventory(drawn, path).tensors}
    assert said == built_inventory(drawn, path)


def test_a_layer_with_more_than_the_others_is_counted_among_them() -> None:
    text = "layers × 3\n  dense   linear 2 2\nlayers × 1..3\n  more   linear 2 2"
    still = [t.name for t in list_tensors(freeze_modules(terms(text), ["layers[-1]"])) if not t.trainable]
    assert still == [f"layers.2.{name}.{part}" for name in ("dense", "more") for part in ("weight", "bias")]


def test_copies_that_have_names_are_frozen_by_name() -> None:
    named = terms('adapters × ("de","en","hi")\n  dense   linear 2 2 bias=False')
    trains = {t.name: t.trainable for t in list_tensors(freeze_modules(named, ["adapters.en"]))}
    assert trains == {f"adapters.{name}.dense.weight": name != "en" for name in ("de", "en", "hi")}


def test_shared_layers_are_passed_as_often_as_before() -> None:
    shared = terms("groups × 3   passes 10\n  dense   linear 2 2")
    frozen = freeze_modules(shared, ["groups[:1]"])
    assert len(frozen) == 2 * len(shared)
    assert sum(term.passes * term.size for term in frozen) == sum(term.passes * term.size for term in shared)


NO_PATHS = ("bert.pooler[0:4:2]", "bert[:2", "bert.embeddings.*", "")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("bert.embedings", 'the model has no bert.embedings; did you mean "bert.embeddings"?'),
        ("bert.encoder.layers[:2].x", 'the model has no bert.encoder.layers; did you mean "bert.encoder.layer"?'),
        ("qqqq", "the model has no qqqq; it has bert, classifier"),
        ("bert.qqqqqq", "the model has no bert.qqqqqq; it has bert.embeddings, bert.encoder, bert.pooler"),
        ("bert.encoder.layer[4:]", '"bert.encoder.layer[4:]" names no layer: bert.encoder.layer has 4 layers'),
        ("bert.encoder.layer[7]", '"bert.encoder.layer[7]" names no layer: bert.encoder.layer has 4 layers'),
        ("bert.embeddings[:1]", '"bert.embeddings[:1]" names no layer: bert.embeddings has 0 layers'),
        *((path, f'"{path}" is not a path; write one, as in "bert.encoder.layer[:6]"') for path in NO_PATHS),
    ],
)
def test_a_path_that_leads_nowhere_is_said(written: str, said: str) -> None:
    with pytest.raises(Unusable) as raised:
        freeze_modules(bert().closed_form().terms, [written])
    (finding,) = raised.value.findings
    assert (finding.message, finding.fix, finding.table_key) == (f"frozen: {said}", 'correct "frozen"', ("frozen",))


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ([], []),
        (["bert.embeddings", "bert.encoder"], ["bert.embeddings: 23,837,184", "bert.encoder: 85,054,464"]),
        (
            ["bert.encoder.layer[:6]", "bert.encoder.layer[8]"],
            ["bert.encoder.layer[0:6]: 42,527,232", "bert.encoder.layer.8: 7,087,872"],
        ),
        (["bert.pooler.dense.bias"], ["bert.pooler.dense.bias: 768"]),
        (["bert.encoder.layer[:].output.dense.bias"], ["bert.encoder.layer[0:12].output.dense.bias: 9,216"]),
    ],
)
def test_what_does_not_train_is_named_by_modules(modules: list[str], said: list[str]) -> None:
    assert describe_frozen(inventory(bert(sizes=BASE), *modules)) == said
