"""A class of a project's own as the tests write one: modules of torch on the meta device, and the table beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import BertConfig, BertModel

from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.review.check import conclude
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.settings import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_bertsize.builder.messages import Request
    from pytest_bertsize.inventory import Inventory
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

TINY: dict[str, Any] = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 11,
    "hidden_size": 4,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 6,
    "max_position_embeddings": 7,
    "type_vocab_size": 3,
}
BERT = 400
"""(11 + 7 + 3 + 2)·4 of embeddings, and 2·(4·20 + 58 + 2·8) of layers."""
POOLER = 20
"""4·4 + 4."""


def of(**parts: Any) -> nn.Module:
    """A module of a project, with these parts; ``None`` for one that it does not have."""
    module = nn.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def bert(**options: Any) -> BertModel:
    with torch.device("meta"):
        return BertModel(BertConfig(**TINY), **options)


def on_meta(kind: type[nn.Module], *arguments: Any, **named: Any) -> nn.Module:
    return kind(*arguments, device="meta", **named)


def checked(folder: Path, table: str, module: nn.Module, config: dict[str, Any] | None = TINY) -> Review:
    """What the gate says of a module that a factory has built, and of the table that describes it."""
    named = 'config = "config.json"\n' if config else ""
    budget = "" if "budget" in table else 'budget = "report-only"\n'
    text = f'[tool.bertsize.models.own]\nfactory = "own:build"\n{named}{budget}{table}'
    (folder / "config.json").write_text(json.dumps(config))
    return concluded(examined(folder, text), lambda _: module)


def examined(folder: Path, text: str) -> Subject:
    """The only model of a table, before its build."""
    settings = parse(text, folder / "pyproject.toml")
    (model,) = settings.models.values()
    return examine(model, settings, Registry())


def concluded(subject: Subject, build: Callable[[Request], nn.Module]) -> Review:
    return conclude(subject, take_inventory(build(subject.request), own=True) if subject.request else None)


def errors(review: Review | Subject) -> list[str]:
    return [finding.message for finding in review.errors]


def passing(review: Review) -> Inventory:
    assert errors(review) == []
    assert review.actual is not None
    return review.actual
