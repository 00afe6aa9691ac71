"""What older releases of transformers build otherwise, without any of them being there.

The numbers of ``tests/data/older-releases.jsonl`` are the parameters, each tensor once, of the class in the release that
stands beside them, built from the config on the meta device of torch 2.13.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.closed_forms.derive import choose, derive
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.config.json_and_toml import parse_json
from pytest_bertsize.findings import Unusable
from pytest_bertsize.release import read_version
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

BUILT = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "older-releases.jsonl").read_text("utf-8").splitlines()
]


def config(family: str, data: dict[str, Any]) -> ModelConfig:
    written = {"model_type": family, **data}
    return parse_json(json.dumps(written).encode(), "config.json")


def counted(release: str, family: str, name: str, **data: Any) -> int:
    there = FAMILIES[family].at(read_version(release))
    architecture = there.architecture(name)
    assert architecture is not None
    values = there.resolve(config(family, data), {}, architecture)
    options = architecture.options
    return ClosedForm(architecture, Dims(values.sizes, {**values.switches, **options}, release=there.release)).total


def refusal(release: str, family: str, name: str, **data: Any) -> str:
    """What the path of a declared model says."""
    model = Model(name="x", config="config.json", architecture=name, budget=Budget())
    read = config(family, data)
    try:
        derive(model, read, choose(model, read, Registry(release=read_version(release))))
    except Unusable as refused:
        return "\n".join(finding.sentence for finding in refused.findings)
    return ""


def test_an_older_release_is_counted_as_it_builds() -> None:
    for built in BUILT:
        total = counted(built["release"], built["family"], built["architecture"], **built["config"])
        assert total == built["total"], built


LATER = (
    "transformers 4.40.2 has no ModernBertModel, which came with 4.48; write another class, or run transformers 4.48"
)
UNREAD = 'config.json:1: this release of transformers does not read "num_hidden_layers" for encoder_layers yet'
SHARED = {"tie_word_embeddings": False, "pad_token_id": 0}


@pytest.mark.parametrize(
    ("release", "name", "data", "says"),
    [
        ("4.40.2", "ModernBertModel", {}, LATER),
        ("4.48.0", "ModernBertModel", {}, ""),
        ("4.51.3", "ModernBertForMultipleChoice", {}, "which came with 4.55"),
        ("4.57.6", "BertModel", {"pruned_heads": {"0": [1]}}, "is refused: transformers 4 removes heads from layers"),
        ("4.57.6", "BertModel", {"torchscript": True}, "is refused: transformers 4 then copies tied tensors"),
        ("4.57.6", "BertModel", {"tie_encoder_decoder": True}, "is refused: transformers 4 then ties layer by layer"),
        ("4.57.6", "CanineModel", {"position_embedding_type": "relative_key"}, "tables of distances"),
        ("5.3.0", "BartModel", {"num_hidden_layers": 2}, UNREAD),
        ("5.3.0", "MarianModel", SHARED, "transformers before 5.4 ties by share_encoder_decoder_embeddings, which is"),
    ],
)
def test_what_a_release_does_not_have_or_builds_otherwise_is_refused(
    release: str, name: str, data: dict[str, Any], says: str
) -> None:
    family = next(family for family in FAMILIES if FAMILIES[family].architecture(name))
    said = refusal(release, family, name, **data)
    assert says in said
    assert bool(says) == bool(said)


def test_what_a_release_reads_is_counted() -> None:
    assert counted("4.57.6", "modernbert", "ModernBertModel", pad_token_id=0) == 149_014_272  # 4.57.6, torch 2.13
    plain = counted("4.57.6", "bert", "BertModel")
    for key, value in {"pruned_heads": {"0": [1]}, "torchscript": True, "tie_encoder_decoder": True}.items():
        assert counted("5.1.0", "bert", "BertModel", **{key: value}) == plain
    beside = counted("5.3.0", "bart", "BartModel", num_hidden_layers=2, encoder_layers=6)
    assert beside == counted("5.4.0", "bart", "BartModel", encoder_layers=6)
    assert counted("5.4.0", "bart", "BartModel", num_hidden_layers=6) == beside


@pytest.mark.parametrize(
    ("word", "major", "minor"), [("prelu", 4, 49), ("xielu", 4, 56), ("hardswish", 5, 4), ("sqrtsoftplus", 5, 8)]
)
def test_an_activation_is_known_since_it_is_there(word: str, major: int, minor: int) -> None:
    said = refusal(f"{major}.{minor - 1}", "bert", "BertModel", hidden_act=word)
    assert f'hidden_act is "{word}", which transformers does not know' in said
    assert counted(f"{major}.{minor}", "bert", "BertModel", hidden_act=word) > 0
