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
from pytest_bertsize.config.text_files import parse_json
from pytest_bertsize.config.values import Dims
from pytest_bertsize.findings import Unusable
from pytest_bertsize.release import Release, read_version
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
    with pytest.raises(Unusable) as refused:
        derive(model, read, choose(model, read, Registry(release=read_version(release))))
    return "\n".join(finding.sentence for finding in refused.value.findings)


@pytest.mark.parametrize(
    "built", BUILT, ids=[f"{index}-{each['release']}-{each['architecture']}" for index, each in enumerate(BUILT)]
)
def test_an_older_release_is_counted_as_it_builds(built: dict[str, Any]) -> None:
    assert counted(built["release"], built["family"], built["architecture"], **built["config"]) == built["total"]


def test_a_class_that_came_later_is_named_with_the_release_that_is_there() -> None:
    said = refusal("4.40.2", "modernbert", "ModernBertModel")
    assert said == (
        "transformers 4.40.2 has no ModernBertModel, which came with 4.48; "
        "write another class, or run transformers 4.48 or newer"
    )
    assert "which came with 4.55" in refusal("4.51.3", "modernbert", "ModernBertForMultipleChoice")
    assert counted("4.57.6", "modernbert", "ModernBertModel", pad_token_id=0) == 149_014_272  # 4.57.6, torch 2.13


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("pruned_heads", {"0": [1]}, 'pruned_heads = {"0": [1]} is refused: transformers 4 removes heads from layers'),
        ("torchscript", True, "torchscript = true is refused: transformers 4 then copies tied tensors"),
        (
            "tie_encoder_decoder",
            True,
            "tie_encoder_decoder = true is refused: transformers 4 then ties layer by layer",
        ),
    ],
)
def test_what_transformers_4_builds_otherwise_and_no_closed_form_follows_is_refused(
    key: str, value: object, says: str
) -> None:
    assert says in refusal("4.57.6", "bert", "BertModel", **{key: value})
    assert counted("5.1.0", "bert", "BertModel", **{key: value}) == counted("4.57.6", "bert", "BertModel")


def test_a_name_that_is_not_read_yet_is_no_size() -> None:
    said = refusal("5.3.0", "bart", "BartModel", num_hidden_layers=2)
    assert said.startswith(
        'config.json:1: this release of transformers does not read "num_hidden_layers" for encoder_layers yet'
    )
    beside = counted("5.3.0", "bart", "BartModel", num_hidden_layers=2, encoder_layers=6)
    assert beside == counted("5.4.0", "bart", "BartModel", encoder_layers=6)
    assert counted("5.4.0", "bart", "BartModel", num_hidden_layers=6) == beside


@pytest.mark.parametrize(
    ("word", "since"),
    [
        ("prelu", Release(4, 49)),
        ("xielu", Release(4, 56)),
        ("hardswish", Release(5, 4)),
        ("sqrtsoftplus", Release(5, 8)),
    ],
)
def test_an_activation_is_known_since_it_is_there(word: str, since: Release) -> None:
    before = str(Release(since.major, since.minor - 1))
    assert f'hidden_act is "{word}", which transformers does not know' in refusal(
        before, "bert", "BertModel", hidden_act=word
    )
    assert counted(str(since), "bert", "BertModel", hidden_act=word) > 0


def test_marian_ties_by_another_key_in_the_first_releases_of_5() -> None:
    said = refusal("5.3.0", "marian", "MarianModel", tie_word_embeddings=False, pad_token_id=0)
    assert "transformers before 5.4 ties by share_encoder_decoder_embeddings, which is" in said


def test_tables_of_distances_that_a_closed_form_lacks_are_refused() -> None:
    assert "tables of distances" in refusal("4.57.6", "canine", "CanineModel", position_embedding_type="relative_key")
