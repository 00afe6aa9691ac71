"""The helper's list of a module: every parameter by name, and what would make that list a lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.hidden import refuse_hidden
from pytest_bertsize.builder.child.ties import below, declared_ties, owner_of, shared_names
from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from torch import nn

Row = list[Any]
"""``[name, shape, trainable, tied to, dtype]``."""
Named = tuple[str, Any]
PACKED = "_x2"
"""How the name of a dtype ends that has two numbers in each element: ``float4_e2m1fn_x2``."""
INTEGER = re.compile("q?u?int(?!64)")
"""Dtypes that weights are packed in; int64 is that of indices."""
PACKED_SHARE = 100


def take_inventory(model: nn.Module, *, own: bool = False) -> dict[str, Any]:
    """List every parameter by name, the ties that the class declares, and its buffers, which are no parameters.

    Names that share a tensor are found by identity (on meta, every ``data_ptr`` is 0); the
    owner is the source that the class declares, whatever was registered first.

    :param own: whether code of the project built it.
    :raises Refused: for parameters that have no shape to count, or that torch cannot see.
    """
    modules = dict(_named_modules(model))
    parameters = dict(_named_parameters(modules))
    buffers = list(_buffers(modules))
    _refuse_uncountable(parameters)
    if own:
        _refuse_packed(buffers, sum({id(each): each.numel() for each in parameters.values()}.values()))
        _refuse_keras(modules)
        refuse_hidden(modules)
    groups = shared_names(parameters.items())
    declared = declared_ties(model, groups)
    owner = {name: owner_of(names, declared) for names in groups for name in names}
    tied_to = {name: owned_by for name, owned_by in owner.items() if owned_by != name}
    tensors = [
        [name, [int(size) for size in each.shape], bool(each.requires_grad), tied_to.get(name), _dtype(each)]
        for name, each in parameters.items()
    ]
    if own:  # a module that is no library's declares nothing: there the tensors themselves say what is tied
        declared = {**{name: source for name, source in tied_to.items() if name not in declared}, **declared}
    if not any(parameter.numel() for parameter in parameters.values()):
        raise Refused("it has no parameters")
    kinds = dict(_kinds(modules)) if own else {}
    return {"tensors": tensors, "declared_ties": declared, "buffers": buffers, "kinds": kinds}


def _kinds(modules: Mapping[str, nn.Module]) -> Iterator[tuple[str, str]]:
    """The paths of modules whose class is torch's own, and what it is called."""
    for path, module in modules.items():
        if path and type(module).__module__.startswith("torch.nn.modules."):
            yield path, type(module).__name__


def _buffers(modules: Mapping[str, nn.Module]) -> Iterator[Row]:
    """Name, numbers, dtype, bytes, and whether a checkpoint has it; a second name of a tensor has no numbers."""
    seen: set[int] = set()
    for path, module in modules.items():
        for name, kept in module._buffers.items():  # noqa: SLF001
            if kept is not None:
                numbers = 0 if id(kept) in seen else kept.numel()
                seen.add(id(kept))
                saved = name not in module._non_persistent_buffers_set  # noqa: SLF001
                yield [below(path, name), numbers, _dtype(kept), numbers * kept.element_size(), saved]


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _named_modules(module: nn.Module, path: str = "", above: tuple[nn.Module, ...] = ()) -> Iterator[Named]:
    """Every module by each of its names, as torch's own ``named_modules`` finds them where no class overrides it."""
    if any(module is each for each in above):
        raise Refused(f"{path} is a module that it is in itself")
    yield path, module
    for name, inner in module._modules.items():  # noqa: SLF001
        if inner is not None:
            yield from _named_modules(inner, below(path, name), (*above, module))


def _named_parameters(modules: Mapping[str, nn.Module]) -> Iterator[Named]:
    """Every parameter by each of its names, whatever ``parameters`` of a class leaves out for its optimiser."""
    for path, module in modules.items():
        for name, parameter in module._parameters.items():  # noqa: SLF001
            if parameter is not None:
                yield below(path, name), parameter


# what would make it a lie


def _refuse_uncountable(parameters: Mapping[str, Any]) -> None:
    from torch.nn.parameter import Parameter, UninitializedParameter

    for name, parameter in parameters.items():
        if isinstance(parameter, UninitializedParameter):
            raise Refused(
                f"{name} is of a lazy module, which has no shape before its first forward pass; give it sizes"
            )
        if hasattr(parameter, "ds_id"):
            raise Refused(f"{name} is partitioned by DeepSpeed: its shape is no count; build it without ZeRO-3")
        if type(parameter) is not Parameter:
            what = f"{name} is a {type(parameter).__name__}, whose shape is no count"
            raise Refused(f"{what}; build the model before it is quantised")
        dtype = _dtype(parameter)
        if not (parameter.is_floating_point() or parameter.is_complex()) or dtype.endswith(PACKED):
            raise Refused(
                f"{name} is of {dtype}, perhaps several numbers in one; build the model before it is quantised"
            )


def _refuse_keras(modules: Mapping[str, nn.Module]) -> None:
    """Refuse layers of Keras: with torch as its backend they are modules, whose list of weights can be empty."""
    for path, module in modules.items():
        if any(kind.__module__.partition(".")[0] == "keras" for kind in type(module).__mro__):
            where = path or "the model"
            raise Refused(f"{where} is a layer of Keras, whose weights torch does not list; write it in torch")


def _refuse_packed(buffers: Iterable[Row], parameters: int) -> None:
    """Buffers that hold weights, as those of AWQ and GPTQ do: a hundredth of the parameters, and no mask or index."""
    packed = [row for row in buffers if row[4] and (row[2].endswith(PACKED) or INTEGER.match(row[2]))]
    if PACKED_SHARE * sum(numbers for _, numbers, *_ in packed) > parameters:
        name, numbers, dtype, *_ = max(packed, key=lambda row: int(row[1]))
        more = f", and {len(packed) - 1:,} more are like it" if len(packed) > 1 else ""
        raise Refused(
            f"{name} is a buffer of {dtype} that holds {numbers:,} numbers, perhaps several in one{more}; build the "
            "model before it is quantised (a mask is of torch.bool, an index of torch.int64, or persistent=False)"
        )
