"""What closed forms are made of, and what the field knows about BERT's; ``test_families.py`` holds all against the library."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Family, families
from pytest_bertsize.closed_forms.blocks import KINDS, list_tensors
from pytest_bertsize.closed_forms.tree import list_terms
from pytest_bertsize.config.dims import Dims
from tests.support.formulas import value_of

BERT = FAMILIES["bert"]
ARCHITECTURES = {each.name: each for each in BERT.architectures}
BASE = {"V": 30522, "D": 768, "L": 12, "A": 12, "I": 3072, "P": 512, "T": 2, "C": 2}
SWITCHES = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}


def closed_form(architecture: str, sizes: dict[str, int], **switches: Any) -> ClosedForm:
    known = ARCHITECTURES[architecture]
    return ClosedForm(known, Dims(sizes, {**SWITCHES, **known.options, **switches}))


def test_the_field_knows_these_formulas() -> None:
    form = closed_form("BertForMaskedLM", BASE)
    known = {
        "embeddings": "V·D + P·D + T·D + 2·D",
        "embeddings.word": "V·D",
        "embeddings.position": "P·D",
        "embeddings.token_type": "T·D",
        "embeddings.norm": "2·D",
        "encoder": "L·(4·D² + 2·I·D + 9·D + I)",
        "encoder.attention": "L·(4·D² + 4·D)",
        "encoder.feed_forward": "L·(2·I·D + I + D)",
        "encoder.norm": "4·L·D",
        "head": "D² + V + 3·D",
        "head.decoder": "V",
        "head.transform": "D² + 3·D",
        "total": "V·D + P·D + T·D + 2·D + L·(4·D² + 2·I·D + 9·D + I) + D² + V + 3·D",
    }
    assert {component: formula.text for component, formula in form.formulas().items()} == known
    assert {component: value_of(formula, BASE) for component, formula in known.items()} == {
        **form.components,
        "total": form.total,
    }


def test_every_family_of_every_file_is_in_the_registry() -> None:
    files = {path.stem for path in Path(families.__file__).parent.glob("*.py")} - {"__init__"}
    modules = [import_module(f"{families.__name__}.{file}") for file in files]
    declared = {each.name for module in modules for each in vars(module).values() if isinstance(each, Family)}
    assert sorted(declared) == sorted(FAMILIES)
    assert all(family.name == name for name, family in FAMILIES.items())


def test_every_kind_of_module_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/python.md").read_text("utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []


def test_counting_in_every_family_leaves_the_library_unloaded() -> None:
    code = """
import sys
from pytest_bertsize.closed_forms import FAMILIES
assert all(family.architectures for family in FAMILIES.values())
print(sorted({"torch", "transformers", "sympy", "pytest"} & sys.modules.keys()))
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_a_star_in_a_tie_is_the_index_of_the_layer_that_the_tied_tensor_is_in() -> None:
    text = """
        layer × 2   @encoder
          up     linear 3 5 bias=False
          gate   linear 3 5 bias=False   tied weight=layer.*.up.weight
    """
    owners = {each.name: each.tied_to for each in list_tensors(list_terms(text, Dims({}, {}))) if each.tied_to}
    assert owners == {"layer.0.gate.weight": "layer.0.up.weight", "layer.1.gate.weight": "layer.1.up.weight"}
