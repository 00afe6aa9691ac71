"""Components of a model without a closed form: the modules that hold its tensors."""

from __future__ import annotations

from pytest_bertsize.builder.structure import find_components
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
