"""Components of what was built: those of the closed form, without one the modules that hold its tensors."""

from __future__ import annotations

import pytest

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.builder.structure import find_components, inventory_of
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.config.values import Dims
from pytest_bertsize.inventory import Inventory, Tensor

LAYER = {
    "self_attn.in_proj_weight": (192, 64),
    "self_attn.out_proj.weight": (64, 64),
    "linear.weight": (64, 64),
}


def test_the_rows_in_a_module_add_up_to_it() -> None:
    shapes = {f"layers.{layer}.{name}": shape for layer in range(2) for name, shape in LAYER.items()}
    tensors = [Tensor(name, shape, "") for name, shape in shapes.items()]
    found = find_components(tensors)
    counts = Inventory(tuple(each._replace(component=found[each.name]) for each in tensors)).components
    assert counts["layers.self_attn.parameters"] == 2 * 192 * 64
    for outer, inner in {"layers": ("self_attn", "linear"), "layers.self_attn": ("parameters", "out_proj")}.items():
        assert counts[outer] == sum(counts[f"{outer}.{each}"] for each in inner)


def expected() -> Inventory:
    bert = FAMILIES["bert"]
    sizes = {"V": 11, "D": 4, "L": 1, "A": 2, "I": 3, "P": 5, "T": 2}
    switches = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
    architecture = bert.architecture("BertForMaskedLM")
    assert architecture
    return ClosedForm(architecture, Dims(sizes, switches))


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("bert.encoder.layer.0.attention.self.query.weight", "encoder.attention"),
        ("bert.encoder.layer.0.attention.self.extra.weight", "encoder.attention"),
        ("bert.encoder.layer.7.output.dense.weight", "encoder"),
        ("bert.embeddings.extra.weight", "embeddings"),
        ("bert.pooler.dense.weight", "unexpected"),
        ("cls.predictions.transform.extra", "head.transform"),
        ("crf.transitions", "unexpected"),
    ],
)
def test_an_unknown_tensor_lands_in_the_nearest_enclosing_component(name: str, component: str) -> None:
    inventory = inventory_of(Built((Tensor(name, (2, 3), ""),), {}), expected())
    assert [tensor.component for tensor in inventory.tensors] == [component]
    assert sum(inventory.own.values()) == inventory.unique == 6
