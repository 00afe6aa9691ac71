"""Components of what was built: those of the closed form, without one the modules that hold its tensors."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from pytest_bertsize.builder.messages import Built
from pytest_bertsize.builder.structure import NoComponent, find_components, inventory_of
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import Inventory, Tensor

LAYER = {"self_attn.in_proj_weight": (192, 64), "self_attn.out_proj.weight": (64, 64), "linear.weight": (64, 64)}


def test_the_rows_in_a_module_add_up_to_it() -> None:
    shapes = {f"layers.{layer}.{name}": shape for layer in range(2) for name, shape in LAYER.items()}
    tensors = [Tensor(name, shape, "") for name, shape in shapes.items()]
    found = find_components(tensors)
    counts = Inventory(tuple(each._replace(component=found[each.name]) for each in tensors)).components
    assert counts["layers.self_attn.parameters"] == 2 * 192 * 64
    for outer, inner in {"layers": ("self_attn", "linear"), "layers.self_attn": ("parameters", "out_proj")}.items():
        assert counts[outer] == sum(counts[f"{outer}.{each}"] for each in inner)


TREE = [
    *(Tensor(f"big.x{number}.weight", (100,), "") for number in range(6)),
    *(Tensor(f"mid.y{number}.weight", (100,), "") for number in range(3)),
    *(Tensor(f"low.{number}.z.weight", (1,), "") for number in range(9)),
    Tensor("low.weight", (1,), ""),
]
DIVIDED = {"big": {f"big.x{number}" for number in range(6)}, "mid": {f"mid.y{number}" for number in range(3)}}


@pytest.mark.parametrize(
    ("asked", "named", "components"),
    [
        ((), {}, DIVIDED["big"] | DIVIDED["mid"] | {"low"}),  # twelve: big, mid, low and what is in the first two
        (("low.z",), {}, DIVIDED["big"] | {"mid", "low.z", "low.parameters"}),
        ((), {"head": ["low.weight"]}, DIVIDED["big"] | {"mid", "low.z", "head"}),
    ],
    ids=["a dozen", "a limit", "a component of the table"],
)
def test_the_largest_modules_are_divided_up_to_a_dozen(
    asked: tuple[str, ...], named: dict[str, list[str]], components: set[str]
) -> None:
    assert {*find_components(TREE, asked, named).values()} == components


@pytest.mark.parametrize(("count", "rows"), [(12, 12), (13, 12)])
def test_of_too_many_modules_the_smallest_are_the_others(count: int, rows: int) -> None:
    found = find_components([Tensor(f"m{number}.weight", (number + 1,), "") for number in range(count)])
    assert len({*found.values()}) == rows
    assert [name for name, row in found.items() if row == "others"] == (
        [] if count == rows else ["m0.weight", "m1.weight"]
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (
            {"low": ["low.weight"]},
            "the component low has a module's name, but not all its tensors: give the component *",
        ),
        (
            {"a": ["low"], "b": ["*.weight"]},
            "low.0.z.weight is also in the component a: a tensor has only one component",
        ),
        ({"a": ["gone"]}, '"gone" matches no module or tensor of the built model'),
    ],
    ids=["a module's name", "two components", "none of today"],
)
def test_a_component_of_the_table_has_tensors_of_its_own(named: dict[str, list[str]], said: str) -> None:
    with pytest.raises(NoComponent) as refused:
        find_components(TREE, named=named, former=[Tensor("gone.weight", (1,), "")])
    assert fnmatchcase(str(refused.value), said)


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
