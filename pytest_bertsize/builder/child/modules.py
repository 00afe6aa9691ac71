"""The helper's making of a folder of modules: what sentence-transformers makes of it, of plain modules of torch.

Only what the folder's own files write is handed over; which class each is made of, and with what, is decided here,
after https://github.com/huggingface/sentence-transformers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from torch import nn

ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}
"""What a Transformer takes of models that have a decoder as well."""


def whole(request: Mapping[str, Any]) -> nn.Module:
    """All modules of a folder, each where its sequence has it.

    :param request: the fields of a :class:`~pytest_bertsize.builder.messages.Request`; ``modules`` are what it lists.
    :raises Refused: for a module of no known kind, or a config without what its class cannot do without.
    """
    import torch

    root = torch.nn.Module()
    with torch.device(request["device"]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in request["modules"]:
            root.add_module(module["at"], _made(module))
    return root


def _made(module: Mapping[str, Any]) -> nn.Module:
    kind = module["kind"]
    make = {
        "Transformer": _transformer,
        "MLMTransformer": _transformer,
        "Dense": _dense,
        "LayerNorm": _layer_norm,
    }.get(kind)
    if make is None:
        raise Refused(f"there is no module of the kind {kind}")
    try:
        return make(module)
    except KeyError as error:
        raise Refused(f"the config of the {kind} at {module['at']} has no {error.args[0]}") from None


def _transformer(module: Mapping[str, Any]) -> nn.Module:
    import torch
    import transformers
    from transformers.models.auto import modeling_auto

    settings, kind = module["settings"], module["kind"]
    config_class = transformers.CONFIG_MAPPING[module["family"]]
    config = config_class(**module["config"], attn_implementation="eager")
    task = settings.get("transformer_task", "fill-mask" if kind == "MLMTransformer" else "feature-extraction")
    if task == "fill-mask":
        model_class = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING[config_class]
    elif encoder := ENCODERS.get(module["family"]):
        model_class = getattr(transformers, encoder)
    else:
        model_class = modeling_auto.MODEL_MAPPING[config_class]
    if isinstance(model_class, (list, tuple)):
        model_class = model_class[0]
    said = {**settings.get("model_args", {}), **settings.get("model_kwargs", {})}
    arguments = {key: value for key, value in said.items() if key == "add_pooling_layer"}
    held = torch.nn.Module()
    held.add_module("auto_model", model_class(config, **arguments))
    return held


def _dense(module: Mapping[str, Any]) -> nn.Module:
    import torch

    config, held = module["config"], torch.nn.Module()
    inputs, outputs = config["in_features"], config["out_features"]
    held.add_module("linear", torch.nn.Linear(inputs, outputs, bias=config.get("bias", True)))
    if config.get("use_residual", False) and inputs != outputs:
        held.add_module("residual", torch.nn.Linear(inputs, outputs, bias=False))
    return held


def _layer_norm(module: Mapping[str, Any]) -> nn.Module:
    import torch

    held = torch.nn.Module()
    held.add_module("norm", torch.nn.LayerNorm(module["config"]["dimension"]))
    return held
