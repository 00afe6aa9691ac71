"""Add PEFT's adapter to a model that the helper process has built. This file is imported only for such a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.messages import Why

try:
    import peft
    from peft.utils import ModulesToSaveWrapper
except ModuleNotFoundError as error:
    lacks = f"the model has an adapter, and PEFT cannot be imported ({error}): pip install 'pytest-bertsize[peft]'"
    raise Refused(f"ModuleNotFoundError: {lacks}", why=Why.NO_PEFT) from None
except ImportError as error:
    found = f"the model has an adapter, and the installed PEFT cannot be imported ({error})"
    raise Refused(found, "install releases of PEFT and transformers that fit each other") from None

from pytest_bertsize.builder.child.listing import INNER, declared_ties, group_names, walk_modules

if TYPE_CHECKING:
    from torch import nn


def adapt(model: nn.Module, config: Mapping[str, Any], device: str = "meta") -> nn.Module:
    """Add PEFT's adapter to a model, and rename the ties that its class declares.

    Tensors that PEFT itself shares (layers that ``layer_replication`` stacks twice) are tied like declared ones.

    :param config: arguments of PEFT's config class, which the key ``peft_type`` names; ``LoraConfig`` without the key.
    :param device: the model's device.
    """
    import torch

    declared = declared_ties(dict(walk_modules(model)), group_names(model.named_parameters(remove_duplicate=False)))
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = dict(config)
        method = peft.PEFT_TYPE_TO_CONFIG_MAPPING[arguments.pop("peft_type", "LORA")]
        adapted: Any = peft.get_peft_model(model, method(**arguments))
    adapted.all_tied_weights_keys = name_ties(adapted, model, declared)
    trained: nn.Module = adapted
    return trained


def name_ties(adapted: nn.Module, model: nn.Module, declared: Mapping[str, str]) -> dict[str, str]:
    """Return the ties of an adapted model: those that the base model's class declares, and PEFT's own."""
    prefix = next(name for name, module in adapted.named_modules() if module is model)
    ties = {f"{prefix}.{name}": f"{prefix}.{source}" for name, source in _rename_ties(model, declared)}
    first: dict[int, str] = {}
    named = [
        (each, first.setdefault(id(parameter), each))
        for each, parameter in adapted.named_parameters(remove_duplicate=False)
    ]
    return {**{name: owner for name, owner in named if owner != name and name not in ties}, **ties}


def _rename_ties(model: nn.Module, declared: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each tie by the names that PEFT made; if PEFT copied a module with both tensors, also the copy's tie."""
    for name, source in declared.items():
        at, source_at = _find_path(model, name), _find_path(model, source)
        yield ".".join(at), ".".join(source_at)
        for depth, inner in enumerate(at):
            if inner == INNER[1] and at[: depth + 1] == source_at[: depth + 1]:
                yield ".".join(_copy_path(at, depth)), ".".join(_copy_path(source_at, depth))


def _find_path(model: nn.Module, name: str) -> list[str]:
    """Return the path of the tensor or module that had this name before the adapter was added."""
    path: list[str] = []
    module: Any = model
    for part in name.split("."):
        while isinstance(module, (ModulesToSaveWrapper, peft.tuners.tuners_utils.BaseTunerLayer)):
            inner = INNER[isinstance(module, ModulesToSaveWrapper)]
            if part == inner:
                break
            path.append(inner)
            module = getattr(module, inner)
        path.append(part)
        module = getattr(module, part)
    return path


def _copy_path(path: list[str], depth: int) -> list[str]:
    return [*path[:depth], "modules_to_save", "default", *path[depth + 1 :]]
