"""The helper's adapters: PEFT's, on a module that is on the meta device. Imported only where a model has one."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused

try:
    import peft
    from peft.utils import ModulesToSaveWrapper
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"the model has an adapter, and PEFT cannot be imported ({error}): pip install 'pytest-bertsize[peft]'"
    ) from None
except ImportError as error:
    found = f"the model has an adapter, and the installed PEFT cannot be imported ({error})"
    raise Refused(f"{found}; install releases of PEFT and transformers that fit each other") from None

from collections.abc import Collection, Iterator, Mapping

from pytest_bertsize.builder.child.ties import declared_ties, shared_names

if TYPE_CHECKING:
    from torch import nn

INNER = ("base_layer", "original_module")
"""Where PEFT puts the module in whose place another one stands now."""


def adapt(model: nn.Module, config: Mapping[str, Any], device: str = "meta") -> nn.Module:
    """The model as PEFT trains it, with the ties that its class declares by the names that they have now.

    What PEFT shares of its own (layers that ``layer_replication`` stacks twice) is a tie like a declared one.

    :param config: arguments of ``peft.LoraConfig``, or of the class that ``peft_type`` among them names.
    :param device: that of the model.
    """
    import torch

    declared = declared_ties(model, shared_names(model.named_parameters(remove_duplicate=False)))
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = dict(config)
        method = peft.PEFT_TYPE_TO_CONFIG_MAPPING[arguments.pop("peft_type", "LORA")]
        adapted: Any = peft.get_peft_model(model, method(**arguments))
    prefix = next(name for name, module in adapted.named_modules() if module is model)
    ties = {f"{prefix}.{name}": f"{prefix}.{source}" for name, source in _ties(model, declared)}
    adapted.all_tied_weights_keys = {**dict(_shared(adapted, ties)), **ties}
    trained: nn.Module = adapted
    return trained


def _shared(adapted: nn.Module, declared: Collection[str]) -> Iterator[tuple[str, str]]:
    """Every further name of a tensor that no class declares as tied."""
    first: dict[int, str] = {}
    for name, parameter in adapted.named_parameters(remove_duplicate=False):
        owner = first.setdefault(id(parameter), name)
        if owner != name and name not in declared:
            yield name, owner


def _ties(model: nn.Module, declared: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each tie by its new names; a copy of a module that holds both of its ends has it once more."""
    for name, source in declared.items():
        at, source_at = _found(model, name), _found(model, source)
        yield _named(at), _named(source_at)
        for depth, inner in enumerate(at):
            if inner == INNER[1] and at[: depth + 1] == source_at[: depth + 1]:
                yield _named(_in_copy(at, depth)), _named(_in_copy(source_at, depth))


def _found(model: nn.Module, name: str) -> list[str]:
    """The path to what had this name before the adapter came."""
    path: list[str] = []
    module: Any = model
    for part in name.split("."):
        while (inner := _inner(module)) and part != inner:
            path.append(inner)
            module = getattr(module, inner)
        path.append(part)
        module = getattr(module, part)
    return path


def _inner(module: Any) -> str:
    if isinstance(module, ModulesToSaveWrapper):
        return INNER[1]
    return INNER[0] if isinstance(module, peft.tuners.tuners_utils.BaseTunerLayer) else ""


def _in_copy(path: list[str], depth: int) -> list[str]:
    return [*path[:depth], "modules_to_save", "default", *path[depth + 1 :]]


def _named(path: list[str]) -> str:
    return ".".join(path)
