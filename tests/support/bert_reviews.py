"""Reviews of bert-base-chinese with its MLM head (SOURCES D), as it is built or changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.review import Review, review_built
from pytest_bertsize.table.settings import limits_from

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

SIZES = {"V": 21128, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
BERT = FAMILIES["bert"]


def chinese() -> ClosedForm:
    architecture = BERT.architecture("BertForMaskedLM")
    assert architecture
    return ClosedForm(architecture, Dims(SIZES, SWITCHES))


def subject(**budget: object) -> Review:
    names = {name.replace("__", "."): limit for name, limit in budget.items()}
    return Review(
        name="zh",
        family="bert",
        architecture="BertForMaskedLM",
        config="config.json",
        config_sha256="",
        symbols=SIZES,
        expected=chinese().inventory,
        actual=None,
        budget=limits_from(names, file="pyproject.toml", line=3),
        findings=(),
    )


def reviewed(actual: Inventory | None = None, /, **budget: object) -> Review:
    form = chinese()
    return review_built(
        replace(subject(**budget), formulas=form.formulas()),
        actual or form.inventory,
        known_components=partial(BERT.component_names, form.dims),
    )


def only(found: Review) -> Finding:
    assert len(found.findings) == 1, found.findings
    return found.findings[0]


def changed(**by_name: Tensor | None) -> Inventory:
    """The model's inventory with some tensors replaced, removed or added."""
    tensors = {tensor.name: tensor for tensor in chinese().inventory.tensors}
    for name, tensor in by_name.items():
        tensors.pop(name, None)
        if tensor:
            tensors[tensor.name] = tensor
    return Inventory(tuple(tensors.values()))
