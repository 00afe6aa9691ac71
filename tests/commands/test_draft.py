"""``explain --draft``: a closed form derived from what a class builds, which is a draft until somebody has read it."""

from __future__ import annotations

import ast
import json
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from transformers import BertConfig, BertModel

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import Built, NotBuilt, understood
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Dims, Family
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.explain.draft.command import draft
from pytest_bertsize.commands.explain.draft.drafting import Ask, Changed, drafted
from pytest_bertsize.commands.explain.draft.fitting import fitted
from pytest_bertsize.commands.explain.draft.python import python
from pytest_bertsize.commands.named_model import Named, closed_form
from pytest_bertsize.findings import Unusable
from pytest_bertsize.inventory import Tensor
from tests.support.own_classes import TINY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Class = Callable[[dict[str, Any]], Built]


def asked(data: dict[str, Any], build: Class) -> Ask:
    def ask(tries: Sequence[Changed]) -> list[Built | NotBuilt]:
        found: list[Built | NotBuilt] = []
        for changed in tries:
            try:
                found.append(build({**data, **changed}))
            except ValueError as error:
                found.append(NotBuilt(str(error)))
        return found

    return ask


def text_of(data: dict[str, Any], build: Class) -> str:
    return python(drafted(data, asked(data, build)), "own:build", "own", "Own")


def family_of(text: str) -> Family:
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102  (as the process of contributed forms does)
    (family,) = space["pytest_bertsize_closed_forms"]()
    assert isinstance(family, Family)
    return family


def built(**shapes: tuple[int, ...]) -> Built:
    return Built(tuple(Tensor(name.replace("__", "."), shape, "") for name, shape in shapes.items()), {})


# sizes


@pytest.mark.parametrize(
    ("size", "written"),
    [
        (lambda a, _: 4 * a, "4 * a"),
        (lambda a, b: a + 2 * b - 1, "a + 2 * b - 1"),
        (lambda a, b: 3 * a * b, "3 * b * a"),
        (lambda a, b: a * (b + 2), "(b + 2) * a"),
        (lambda a, b: a // b, "a // b"),
        (lambda a, _: a // 2, "a // 2"),
        (lambda _, __: 7, "7"),
        (lambda a, b: max(a, 16 * b), None),
        (lambda a, _: a * a, None),
    ],
)
def test_a_size_is_told_from_what_changes_it(size: Callable[[int, int], int], written: str | None) -> None:
    pairs = [(64, 4), (128, 4), (192, 4), (65, 4), (64, 8), (64, 12), (64, 5), (128, 8), (192, 12)]
    found = fitted([({"a": a, "b": b}, size(a, b)) for a, b in pairs])
    assert (found and found.written(str)) == written


def test_a_sum_is_not_told_from_a_product_unless_both_keys_have_changed_at_once() -> None:
    alone = [(2, 2), (4, 2), (6, 2), (2, 4), (2, 6)]
    assert fitted([({"a": a, "b": b}, a * b) for a, b in alone]) is None


# a class of the project's own


def tagger(config: dict[str, Any]) -> Built:
    """An encoder of layers, of which the last has one tensor more, and a CRF over the tags."""
    width, layers, tags = config["width"], config["depth"], config["tags"] + 2
    if width % config["heads"]:
        raise ValueError("heads")
    shapes: dict[str, tuple[int, ...]] = {f"layers__{at}__dense__weight": (width, 4 * width) for at in range(layers)}
    shapes[f"layers__{layers - 1}__norm__weight"] = (width,)
    return built(**dict(sorted(shapes.items())), crf__transitions=(tags, tags))


CONFIG: dict[str, Any] = {"width": 8, "depth": 4, "heads": 2, "tags": 9, "act": "gelu", "dropout": 0.1}


def test_layers_fold_and_one_that_is_unlike_the_rest_stands_by_itself() -> None:
    text = text_of(CONFIG, tagger)
    assert 'repeat("layers", dims.depth - 1,' in " ".join(text.split()).replace("( ", "(")
    form = ClosedForm(family_of(text).architectures[0], Dims({"width": 16, "depth": 6, "tags": 3}, {}))
    assert form.total == 6 * 16 * 64 + 16 + 25  # six layers, one norm, (3 + 2)² of transitions
    assert form.inventory.by_name["layers.5.norm.weight"].shape == (16,)


@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
def test_a_layer_that_is_as_wide_as_the_rest_by_chance_is_told_from_them_all_the_same(place: int) -> None:
    """At twice its width, which is one of those that are tried, it is as wide as they are."""

    def build(config: dict[str, Any]) -> Built:
        widths = [config["width"]] * config["depth"]
        widths[place] = config["other"]
        return built(**{f"layers__{at}__weight": (width,) for at, width in enumerate(widths)})

    text = text_of({"width": 8, "other": 4, "depth": 4}, build)
    form = ClosedForm(family_of(text).architectures[0], Dims({"width": 16, "other": 3, "depth": 6}, {}))
    assert form.total == 5 * 16 + 3


def test_a_switch_that_changes_what_is_built_is_held_as_it_is() -> None:
    def build(config: dict[str, Any]) -> Built:
        return built(weight=(config["width"],), **({"bias": (config["width"],)} if config["bias"] else {}))

    keys = family_of(text_of({"width": 8, "bias": True}, build)).keys
    assert {key: each.harmless for key, each in keys.refused.items()} == {"bias": (True,)}


def labelled(config: dict[str, Any]) -> Built:
    labels = config["id2label"] if "id2label" in config else range(config.get("num_labels", 2))
    return built(head__weight=(len(labels), config["width"]))


@pytest.mark.parametrize("said", [{"num_labels": 5}, {"id2label": {str(at): "X" for at in range(5)}}], ids=str)
def test_the_labels_that_a_config_says_or_names_are_a_size(said: dict[str, Any]) -> None:
    draft = drafted({"width": 8, **said}, asked({"width": 8, **said}, labelled))
    assert draft.sizes == {"width": 8, "num_labels": 5}
    assert (draft.unfitted, draft.fixed) == ({}, {})


def test_a_class_that_is_sized_by_labels_that_no_config_says_has_no_draft() -> None:
    with pytest.raises(Unusable) as refused:
        drafted({"width": 8}, asked({"width": 8}, labelled))
    assert [each.sentence for each in refused.value.findings] == [
        "the class is sized by num_labels, which the config does not say; write num_labels in the config"
    ]


def test_a_class_that_is_not_built_as_its_config_says_has_no_draft() -> None:
    with pytest.raises(Unusable) as refused:
        drafted({**CONFIG, "heads": 3}, asked({**CONFIG, "heads": 3}, tagger))
    assert [each.sentence for each in refused.value.findings] == ["it could not be built: heads"]


def test_a_key_that_changes_nothing_is_inert_and_one_that_was_not_tried_is_held() -> None:
    keys = family_of(text_of(CONFIG, tagger)).keys
    assert keys.inert == {"heads", "dropout"}
    assert {key: each.harmless for key, each in keys.refused.items()} == {"act": ("gelu",)}


def test_a_size_that_is_not_found_is_a_number_and_its_keys_are_held() -> None:
    def odd(config: dict[str, Any]) -> Built:
        return built(a__weight=(config["width"] ** 2,), b__weight=(config["width"],))

    keys = family_of(text_of({"width": 8}, odd)).keys
    (rule,) = keys.rules
    assert (rule.holds({"width": 8}), rule.holds({"width": 9})) == (True, False)


def test_a_key_that_gives_the_class_other_tensors_is_held() -> None:
    def factorised(config: dict[str, Any]) -> Built:
        more = {"project__weight": (8, config["narrow"])} if config["narrow"] != 8 else {}
        return built(words__weight=(config["words"], config["narrow"]), **more)

    keys = family_of(text_of({"words": 30, "narrow": 8}, factorised)).keys
    assert [size.key for size in keys.sizes] == ["words"]
    assert keys.refused["narrow"].harmless == (8,)


# ties, and what does not train

Rows = list[tuple[str, tuple[int, ...], bool, str | None]]


def of_rows(rows: Rows) -> Built:
    return Built(tuple(Tensor(name, shape, "", trains, owner) for name, shape, trains, owner in rows), {})


def drafted_as_built(rows: Callable[[dict[str, Any]], Rows], data: dict[str, Any], other: dict[str, Any]) -> str:
    """The draft of a class, once it says of another config what the class builds of it, tie by tie."""
    text = text_of(data, lambda config: of_rows(rows(config)))
    family = family_of(text)
    symbols = {size.key: size.symbol for size in family.keys.sizes}
    form = ClosedForm(family.architectures[0], Dims({symbols[key]: other[key] for key in symbols}, {}))
    said = {each.name: (each.shape, each.trainable, each.tied_to) for each in form.inventory.tensors}
    assert said == {name: (shape, trains, owner) for name, shape, trains, owner in rows(other)}
    return text


LAYERS, DEEPER = {"width": 8, "depth": 3, "words": 30}, {"width": 6, "depth": 5, "words": 7}


def tied_in_layers(config: dict[str, Any]) -> Rows:
    """A gate that is the up projection of its own layer, norms that do not train, a head that is the table."""
    width, words = config["width"], config["words"]
    found: Rows = [("embed.weight", (words, width), True, None)]
    for at in range(config["depth"]):
        found += [(f"stack.layers.{at}.up.weight", (width, width), True, None)]
        found += [(f"stack.layers.{at}.gate.weight", (width, width), True, f"stack.layers.{at}.up.weight")]
        found += [(f"stack.layers.{at}.norm.weight", (width,), False, None)]
    return [*found, ("head.weight", (words, width), True, "embed.weight"), ("head.bias", (words,), True, None)]


def test_a_tie_inside_each_layer_is_said_once_by_the_layers_own_index() -> None:
    text = drafted_as_built(tied_in_layers, LAYERS, DEEPER)
    assert 'weight="stack.layers.*.up.weight"' in text
    assert text.count("repeat(") == 1


def test_a_tie_to_the_first_layer_is_to_that_one_whichever_layer_it_is_of() -> None:
    def rows(config: dict[str, Any]) -> Rows:
        owners = [None, *(["layers.0.w"] * (config["depth"] - 1))]
        return [(f"layers.{at}.w", (config["width"],), True, owner) for at, owner in enumerate(owners)]

    assert '"layers.0.w"' in drafted_as_built(rows, {"width": 8, "depth": 3}, {"width": 6, "depth": 5})


def test_a_tie_between_two_places_of_a_list_that_are_no_layers_has_their_places() -> None:
    def rows(config: dict[str, Any]) -> Rows:
        width = config["width"]
        own: Rows = [("head.0.in.w", (width, 3), True, None), ("head.0.out.w", (width, 3), True, "head.0.in.w")]
        return [*own, ("head.2.bias", (width,), True, None)]

    assert '"head.0.in.w"' in drafted_as_built(rows, {"width": 8}, {"width": 6})


def test_a_tie_that_is_there_at_some_sizes_alone_holds_its_key() -> None:
    def rows(config: dict[str, Any]) -> Rows:
        owner = "words.w" if config["narrow"] == 8 else None
        return [("words.w", (30, config["wide"]), True, None), ("out.w", (30, config["wide"]), True, owner)]

    keys = family_of(text_of({"narrow": 8, "wide": 8}, lambda config: of_rows(rows(config)))).keys
    assert keys.refused["narrow"].harmless == (8,)


def test_what_does_not_train_is_frozen_tensor_by_tensor_or_as_a_whole() -> None:
    def rows(config: dict[str, Any]) -> Rows:
        width = config["width"]
        half: Rows = [("half.weight", (width, width), False, None), ("half.bias", (width,), True, None)]
        whole: Rows = [("whole.a.weight", (width, width), False, None), ("whole.b.bias", (width,), False, None)]
        return [*half, *whole, ("twin.weight", (width, width), False, "half.weight"), ("scale", (1,), False, None)]

    text = drafted_as_built(rows, {"width": 8}, {"width": 6})
    assert text.count("frozen(") == 4  # half's weight, whole, the twin, the scale


# names that somebody chose to be pasted

HOSTILE = (
    'a"b',
    "it's",
    "a\\b",
    "{x}",
    "é",
    "😀",
    "class",
    "module",
    "007",
    "\N{FULLWIDTH DIGIT ONE}",
    "²",
    "*",
    "#",
    "${x}",
    '"""',
    "__class__",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_module_or_a_tensor_is_more_than_a_name(name: str) -> None:
    def rows(config: dict[str, Any]) -> Rows:
        width = config["width"]
        found: Rows = [(f"{name}.{name}", (width, 2), True, None), (f"list.{name}.w", (width,), False, None)]
        return [*found, ("list.0.w", (width,), True, None), (f"tied.{name}", (width, 2), True, f"{name}.{name}")]

    drafted_as_built(rows, {"width": 8}, {"width": 6})


HOSTILE_KEY = "x\nraise SystemExit\n# \r\u2028\x0c"


@pytest.mark.parametrize("key", [*HOSTILE, HOSTILE_KEY, "\N{LATIN SMALL LIGATURE FI}", "sizes", "known"])
def test_no_key_of_a_config_is_more_than_a_key(key: str) -> None:
    """As a size, as one that a number follows from, as one that moves nothing, and as one that is held."""

    def rows(config: dict[str, Any]) -> Rows:
        return [("a.w", (config[key],), True, None), ("b.w", (config[f"{key}2"] ** 2,), True, None)]

    held = {f"{key}3": [key, float("inf"), {key: None}], f"{key}4": 0.5}
    text = text_of({key: 8, f"{key}2": 8, **held}, lambda config: of_rows(rows(config)))
    keys = family_of(text).keys
    assert [size.key for size in keys.sizes] == [key, f"{key}2"]
    assert keys.refused[f"{key}3"].harmless == ([key, float("inf"), {key: None}],)
    assert keys.inert == {f"{key}4"}
    assert [type(each).__name__ for each in ast.parse(text).body] == [
        *("Expr", "ImportFrom", "FunctionDef", "FunctionDef", "FunctionDef", "Assign", "FunctionDef")
    ]


# BERT


def test_a_draft_of_bert_counts_at_other_sizes_what_its_own_closed_form_does() -> None:
    def bert(config: dict[str, Any]) -> Built:
        with torch.device("meta"):
            found = understood({"name": "", **take_inventory(BertModel(BertConfig(**config)), own=True)}, "")
        assert isinstance(found, Built)
        return found

    family = family_of(text_of(TINY, bert))
    own = FAMILIES["bert"].architecture("BertModel")
    assert own
    for sizes in ((30522, 768, 12, 3072, 512, 2), (21128, 1024, 24, 4096, 512, 2), (7, 6, 1, 5, 4, 3)):
        named = dict(zip("VDLIPT", sizes, strict=True))
        switches = {"hidden_act": "gelu", "add_cross_attention": False, "add_pooling_layer": True}
        expected = ClosedForm(own, Dims({**named, "A": 1}, {**switches, "position_embedding_type": "absolute"}))
        form = ClosedForm(family.architectures[0], Dims(named, {}))
        assert {(each.name, each.shape) for each in form.inventory.tensors} == {
            (each.name, each.shape) for each in expected.inventory.tensors
        }
        assert form.total == expected.total


# as a user does


MODULE = """
from torch import nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)


class Reader(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.words = nn.Embedding(config["words"], config["width"])
        self.stack = nn.ModuleList(Layer(config["width"]) for _ in range(config["depth"]))
"""
TABLE = """
[tool.bertsize]
closed_forms = ["forms.py"]

[tool.bertsize.models.reader]
factory = "reader:Reader"
config = "config.json"
family = "reader"
architecture = "Reader"
budget = "report-only"
"""


def told() -> tuple[int, str]:
    out = StringIO()
    status = check(Path.cwd(), Helper(), (), out=out, err=out)
    return status, " ".join(out.getvalue().split())


@pytest.mark.process
def test_a_draft_is_green_says_so_and_is_red_where_the_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reader.py").write_text(MODULE, "utf-8")
    Path("config.json").write_text(json.dumps({"words": 100, "width": 8, "depth": 3}), "utf-8")
    out, err = StringIO(), StringIO()
    assert draft(Named("config.json"), "reader:Reader", out, err) == 0
    assert 'architecture = "Reader"' in err.getvalue()
    assert out.getvalue().startswith('"""DRAFT derived from the class that reader:Reader builds, and read by nobody.')
    Path("forms.py").write_text(out.getvalue(), "utf-8")
    Path("pyproject.toml").write_text(TABLE, "utf-8")
    formula = closed_form("pyproject.toml::reader").formulas()["stack"].text
    assert formula == "depth·(width² + 3·width)"
    status, text = told()
    assert (status, "1 configured, 1 checked, 0 failed" in text) == (0, True)
    assert "closed form drafted from the class, and read by nobody" in text
    Path("forms.py").write_text(out.getvalue().replace('read_by=""', 'read_by="A. Reader"'), "utf-8")
    Path("reader.py").write_text(MODULE.replace("range(config", "range(1 + config"), "utf-8")
    status, text = told()
    assert status == 1
    assert "drafted" not in text
    assert "reader: stack 352, closed form 264 (+88)" in text  # 8·8 + 8 of a dense layer, 2·8 of a norm


def test_what_is_no_function_is_refused_in_one_line() -> None:
    out, err = StringIO(), StringIO()
    assert draft(Named("config.json"), "reader", out, err) == 2
    assert out.getvalue() == ""
    assert err.getvalue().startswith("ERROR: --draft reader: ")
    assert err.getvalue().count("\n") == 1
