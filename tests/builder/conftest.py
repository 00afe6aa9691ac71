"""Shared by tests of the builder: one helper for some models, and a process that forgets what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pytest_bertsize.builder import confined
from pytest_bertsize.builder.child import from_pretrained, stand_ins, tokenizer
from pytest_bertsize.builder.helper import Helper, Limits
from pytest_bertsize.builder.messages import Built, NotBuilt, Request


def ask_helper(requests: Sequence[Request], **limits: Any) -> dict[str, Built | NotBuilt]:
    helper = Helper(Limits(**limits))
    try:
        helper.ask(requests)
        return {each.name: helper.result(each.name) for each in requests}
    finally:
        helper.stop()


def ask_for_factory(root: object, name: str, module: str = "own", **more: Any) -> Request:
    """Return the request for a function of the project, which is called without a config."""
    return Request(name, "", "", {}, {}, root=str(root), factory=f"{module}:{name}", config_given=False, **more)


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    """Here, one process builds many models; the helper has a fork for each."""
    yield
    for remembered in (from_pretrained.ANSWERED, tokenizer.TAKEN, stand_ins.STOOD_IN, confined.REFUSED):
        remembered.clear()
