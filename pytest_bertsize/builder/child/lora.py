"""Add PEFT's adapter to a model that the helper process has built. This file is imported only for such a model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.messages import Why

try:
    from peft import PEFT_TYPE_TO_CONFIG_MAPPING, get_peft_model
except ImportError as error:
    lacks = f"the model has an adapter, and PEFT cannot be imported ({type(error).__name__}: {error})"
    raise Refused(lacks, why=Why.NO_PEFT) from None

from pytest_bertsize.builder.child.listing import (
    INNER,
    declared_ties,
    group_names,
    join_path,
    walk_modules,
    walk_tensors,
)

if TYPE_CHECKING:
    from torch import nn

COPIED = "modules_to_save"  # PEFT's name for the copies of a module, by the name of their adapter


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
        method = PEFT_TYPE_TO_CONFIG_MAPPING[arguments.pop("peft_type", "LORA")]
        adapted: Any = get_peft_model(model, method(**arguments))
    adapted.all_tied_weights_keys = name_ties(adapted, model, declared)
    trained: nn.Module = adapted
    return trained


def name_ties(adapted: nn.Module, model: nn.Module, declared: Mapping[str, str]) -> dict[str, str]:
    """Return the ties of an adapted model: those that the base model's class declares, and PEFT's own.

    If PEFT has copied a module with both tensors of a tie (``modules_to_save``), the tie of the copy is returned too.
    """
    modules = dict(walk_modules(adapted, wrapped=True))
    prefix = join_path(next(path for path, module in modules.items() if module is model), "")
    first: dict[int, str] = {}
    shared: dict[str, str] = {}
    now: dict[tuple[str, str], str] = {}  # names by the path of the copied module, and the name before the adapter
    for name, parameter in walk_tensors(modules, "_parameters"):
        owner = first.setdefault(id(parameter), name)
        shared |= {name: owner} if owner != name else {}
        path = [part for part in name.removeprefix(prefix).split(".") if part not in INNER]
        at = path.index(COPIED) if COPIED in path else 0  # and the adapter's name
        now[".".join(path[:at]), ".".join(path[:at] + path[at + 2 :] if at else path)] = name
    ties = {
        now.get((copied, name), prefix + name): now.get((copied, source), prefix + source)
        for name, source in declared.items()
        for copied in ("", *(where for where, each in now if where and each == name and (where, source) in now))
    }
    return {**{name: owner for name, owner in shared.items() if name not in ties}, **ties}
