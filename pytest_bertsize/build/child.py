"""The helper process: the only importer of torch and transformers.

It imports both with the garbage collector paused, builds every model that it is asked for on the meta device, answers
with one line of JSON each, and leaves by ``os._exit``: collection and interpreter shutdown are half of what a plain
import costs. Requests come in on standard input; answers leave on a descriptor of their own, so that nothing that a
library prints can be mistaken for one.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from pytest_bertsize.build import memory_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn

MEMORY_ABOVE_IMPORT = 1024**3
"""Bytes of address space that building may take on top of what the imports took."""


NETWORK = frozenset(f"socket.{call}" for call in ("bind", "connect", "getaddrinfo", "gethostbyname", "sendto"))
"""What Python announces before a process reaches for another machine."""


class Refused(Exception):
    """A request for something that is not a model class of the library, or an attempt to reach the network."""


def instantiate(request: Mapping[str, Any]) -> nn.Module:
    """Build one model on the meta device: no memory, no weights, no network, ties kept.

    :param request: ``architecture`` and ``family`` by name, ``config`` and ``options`` as keyword arguments, and the
        ``module`` that has the class, where that is not transformers.
    :raises Refused: when there is no such class, or the class belongs to another family.
    """
    import torch

    model_class = model_class_of(request)
    config_class = model_class.config_class
    if getattr(config_class, "model_type", None) != request["family"]:
        family = config_class.model_type
        raise Refused(f"{request['architecture']} is of the family {family!r}, not {request['family']!r}")
    _refuse_methods(config_class, request["config"])
    config = config_class(**request["config"], attn_implementation="eager")  # fresh: constructors change their config
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tensor without elements counts like any other
        model: nn.Module = model_class(config, **request["options"])
    return model


def model_class_of(request: Mapping[str, Any]) -> Any:
    import transformers

    library = request.get("module", "transformers")
    if library != "transformers" and request["root"] not in sys.path:
        sys.path.insert(0, request["root"])
    module = importlib.import_module(library)
    found = getattr(module, request["architecture"], None)
    if inspect.isclass(found) and issubclass(found, transformers.PreTrainedModel):
        return found
    where = f"transformers {transformers.__version__}" if module is transformers else library
    raise Refused(f"{where} has no model class {request['architecture']}")


def _refuse_methods(config_class: type, config: Mapping[str, Any]) -> None:
    """A config is data: none of its keys may take the place of what its class does."""
    for key in config:
        found = inspect.getattr_static(config_class, key, None)
        read_only = isinstance(found, property) and found.fset is None
        if read_only or isinstance(found, staticmethod | classmethod) or inspect.isroutine(found):
            raise Refused(f"{key!r} is a method of {config_class.__name__}, not a key of a config")


def take_inventory(model: nn.Module) -> dict[str, Any]:
    """List every parameter by name: ``[name, shape, trainable, tied to]``, and the ties that the class declares.

    Buffers are no parameters. Names that share a tensor are found by identity (on meta, every ``data_ptr`` is 0); the
    owner is the source that the class declares, whatever was registered first.
    """
    declared = dict(getattr(model, "all_tied_weights_keys", None) or {})
    names_of: dict[int, list[str]] = {}
    parameters = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names_of.setdefault(id(parameter), []).append(name)
        parameters[name] = parameter
    owner = {name: _owner(names, declared) for names in names_of.values() for name in names}
    tied_to = {name: owned_by for name, owned_by in owner.items() if owned_by != name}
    tensors = [
        [name, [int(size) for size in parameter.shape], bool(parameter.requires_grad), tied_to.get(name)]
        for name, parameter in parameters.items()
    ]
    return {"tensors": tensors, "declared_ties": declared}


def _owner(names: list[str], declared: Mapping[str, str]) -> str:
    return next((name for name in names if name in declared.values() and name not in declared), names[0])


def main() -> None:
    gc.disable()
    answers = _take_over_descriptors()
    try:
        import torch
        import transformers
        import transformers.modeling_utils
    except BaseException as error:
        _answer(answers, {"failed": _in_words(error)})
        os._exit(1)
    gc.freeze()
    gc.enable()
    _answer(answers, {"ready": {"torch": str(torch.__version__), "transformers": transformers.__version__}})
    requests = json.loads(sys.stdin.buffer.readline() or b"[]")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.addaudithook(_refuse_the_network)
    for request in requests:
        _answer(answers, {"name": request["name"], **_built(request, answers)})
    os._exit(0)


def _refuse_the_network(event: str, arguments: object) -> None:  # noqa: ARG001  (what an audit hook is given)
    if event in NETWORK:
        raise Refused(f"it reached for the network ({event})")


def _built(request: Mapping[str, Any], answers: int) -> dict[str, Any]:
    """Build what is asked for; from the import of its class on, the parent watches the memory."""
    try:
        model_class_of(request)
        _limit_memory()
        _answer(answers, {"building": request["name"], "memory": memory_of("self")})
        return take_inventory(instantiate(request))
    except BaseException as error:
        return {"error": _in_words(error)}


def _in_words(error: BaseException) -> str:
    cause = error.__cause__ or error
    text = " ".join(str(cause).split())
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _limit_memory() -> None:
    """Cap the address space, counted from what the process has now; a platform that cannot is left as it is."""
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123  (procfs, not a path of ours)
            now = int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + MEMORY_ABOVE_IMPORT
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _take_over_descriptors() -> int:
    """Keep standard output for the answers; whatever libraries print goes nowhere."""
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _answer(descriptor: int, message: Mapping[str, Any]) -> None:
    remaining = memoryview(json.dumps(message).encode() + b"\n")
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


if __name__ == "__main__":
    main()
