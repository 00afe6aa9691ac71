"""Reviews of BertForMaskedLM in the sizes of bert-base-chinese (SOURCES D), as it is built or changed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pytest_bertsize.builder.messages import Request
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.closed_forms.derive import derive
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.review.examine import Subject
from pytest_bertsize.review.limits import check_limits
from pytest_bertsize.review.review import Review
from pytest_bertsize.review.tensors import compare_with_closed_form
from pytest_bertsize.table.settings import limits_from, parse

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding

SIZES = {"V": 21128, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
BERT = FAMILIES["bert"]


@cache
def derived(file: str = "config.json", **keys: Any) -> Subject:
    """The model of a config whose other keys are those of bert-base-uncased (Devlin et al. 2018, table 1)."""
    architecture = BERT.architecture("BertForMaskedLM")
    assert architecture
    table = f'[tool.bertsize.models.zh]\nconfig = "{file}"\nbudget = "report-only"\n'
    settings = parse(table, Path("pyproject.toml"))
    config = parse_json(json.dumps({"model_type": "bert", **keys}).encode(), file)
    found = derive(settings.models["zh"], config, (BERT, architecture))
    request = Request("zh", "bert", architecture.name, found.values.for_build, {})
    model = settings.models["zh"]
    subject = Subject(model, config, found, settings=settings, family="bert", architecture=architecture.name)
    return replace(subject, request=request)


def chinese() -> ClosedForm:
    form = derived(vocab_size=21128).form
    assert form
    return form


def subject(**budget: object) -> Review:
    names = {name.replace("__", "."): limit for name, limit in budget.items()}
    return Review(derived(vocab_size=21128), limits_from(names, file="pyproject.toml", line=3), ())


def without_form(review: Review, **table: Any) -> Review:
    """The same model, of which no closed form says anything."""
    model = review.subject.model.replace(**table)
    return replace(review, subject=replace(review.subject, model=model, family="", derivation=None))


def hold(review: Review, actual: Inventory) -> Review:
    found, form = replace(review, actual=actual), review.subject.form
    found = found.with_findings(*(compare_with_closed_form(form, actual) if form else ()))
    return found.with_findings(*check_limits(found, actual))


def reviewed(actual: Inventory | None = None, /, **budget: object) -> Review:
    return hold(subject(**budget), actual or chinese())


def only(found: Review) -> Finding:
    assert len(found.findings) == 1, found.findings
    return found.findings[0]


def changed(**by_name: Tensor | None) -> Inventory:
    kept = (tensor for tensor in chinese().tensors if tensor.name not in by_name)
    return Inventory((*kept, *filter(None, by_name.values())))
