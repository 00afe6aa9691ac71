"""The helper's making of a folder of modules: what sentence-transformers makes of it, of plain modules of torch.

Only what the folder's own files write is handed over; which class each is made of, and with what, is decided here,
after https://github.com/huggingface/sentence-transformers, sentence_transformers/models.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    made: dict[str, nn.Module] = {}
    with torch.device(request["device"]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in request["modules"]:
            at, same_as = module["at"], module["same_as"]
            made[at] = made[same_as] if same_as else _made(module)
            _put(root, at, made[at])
    return root


def _put(root: nn.Module, at: str, module: nn.Module) -> None:
    import torch

    *outer, name = at.split(".")
    for each in outer:
        if each not in root._modules:  # noqa: SLF001
            root.add_module(each, torch.nn.Module())
        root = root._modules[each]  # noqa: SLF001
    root.add_module(name, module)


def _made(module: Mapping[str, Any]) -> nn.Module:
    kind = module["kind"]
    make = {
        "Transformer": _transformer,
        "MLMTransformer": _transformer,
        "Dense": _dense,
        "CNN": _cnn,
        "LSTM": _lstm,
        "LayerNorm": _layer_norm,
        "WordWeights": _word_weights,
        "WeightedLayerPooling": _weighted_layers,
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


def _cnn(module: Mapping[str, Any]) -> nn.Module:
    import torch

    config, held = module["config"], torch.nn.Module()
    inputs = _either(config, "in_embedding_dimension", "in_word_embedding_dimension")
    kernels = config.get("kernel_sizes", [1, 3, 5])
    convolutions = (torch.nn.Conv1d(inputs, config.get("out_channels", 256), kernel) for kernel in kernels)
    held.add_module("convs", torch.nn.ModuleList(convolutions))
    return held


def _lstm(module: Mapping[str, Any]) -> nn.Module:
    import torch

    config, held = module["config"], torch.nn.Module()
    inputs = _either(config, "embedding_dimension", "word_embedding_dimension")
    layers, both = config.get("num_layers", 1), config.get("bidirectional", True)
    held.add_module("encoder", torch.nn.LSTM(inputs, config["hidden_dim"], layers, bidirectional=both))
    return held


def _layer_norm(module: Mapping[str, Any]) -> nn.Module:
    import torch

    held = torch.nn.Module()
    held.add_module("norm", torch.nn.LayerNorm(module["config"]["dimension"]))
    return held


def _word_weights(module: Mapping[str, Any]) -> nn.Module:
    import torch

    held = torch.nn.Module()
    held.add_module("emb_layer", torch.nn.Embedding(len(module["config"]["vocab"]), 1))
    return held


def _weighted_layers(module: Mapping[str, Any]) -> nn.Module:
    import torch

    config, held = module["config"], torch.nn.Module()
    weights = torch.empty(config.get("num_hidden_layers", 12) + 1 - config.get("layer_start", 4))
    held.register_parameter("layer_weights", torch.nn.Parameter(weights))
    return held


def _either(config: Mapping[str, Any], now: str, before: str) -> int:
    """A key that has had another name."""
    return int(config[before] if before in config else config[now])
