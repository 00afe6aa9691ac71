"""The helper's search for parameters that torch does not see: no optimiser trains them, and nothing counts them.

They may hang on a module (in a list, an object, a hook, a closure), on its class, or on a name that its methods use.
"""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import (
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.stand_ins import Result
from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from torch import nn

MOST_LOOKED_AT = 500_000
"""Objects that can hold others, in all modules: a second."""
OF_TORCH = frozenset({"_modules", "_parameters", "_buffers"})
OF_PYTHON: Iterable[str] = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
"""Python 3.9 names only those that are built in; what is of the others is looked at there, too."""
LIBRARIES = frozenset({"torch", "transformers", *OF_PYTHON})
"""Whose classes and functions hold nothing of a model's."""
OPAQUE = (ModuleType, CodeType, FrameType, GeneratorType, CoroutineType)
INSTEAD = "use torch.nn.Parameter, ModuleList, ModuleDict, ParameterList or ParameterDict, or assign it as an attribute"


def refuse_hidden(modules: Mapping[str, nn.Module]) -> None:
    """Look at all that hangs on modules of the project's own.

    :raises Refused: for what holds parameters that are no module's, and for more than can be looked at.
    """
    search = _Search({id(part) for module in modules.values() for part in (module, *_own_tensors(module))})
    for path, module in modules.items():
        if hasattr(module, "_packed_params"):
            raise Refused(f"{path or 'the model'} is quantised: its weights are no parameters; build it before that")
        for name, value in _attributes(module):
            if isinstance(value, Result):
                raise Refused(f"{path or 'the model'} has {name}, of what is not installed: {value.__name__}")
            search.refuse_if_any(f"{path}.{name}" if path else name, value)
    classes = {each: None for module in modules.values() for each in type(module).__mro__ if _is_own(each)}
    for each in classes:
        for name, value in vars(each).items():
            search.refuse_if_any(f"{name} of the class {each.__name__}", value)


def _own_tensors(module: nn.Module) -> list[Any]:
    return [*module._parameters.values(), *module._buffers.values()]  # noqa: SLF001


def _attributes(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Its own, those in slots among them; what torch lists itself is left out."""
    yield from ((name, value) for name, value in vars(module).items() if name not in OF_TORCH)
    for each in type(module).__mro__:
        for name, value in vars(each).items():
            if isinstance(value, MemberDescriptorType):
                yield name, getattr(module, name, None)


class _Search:
    """Through objects, from one to those that it refers to, each only once."""

    def __init__(self, seen: set[int]) -> None:
        self._seen = seen
        self._looked_at = 0

    def refuse_if_any(self, where: str, value: object) -> None:
        """:raises Refused: when there are parameters behind a value, or more than can be looked at."""
        count = sum(tensor.numel() for tensor in self._hidden_in(where, value))
        if count:
            what = f"{where}, a {type(value).__name__}, has {count:,} parameters that torch does not see"
            raise Refused(f"{what}; {INSTEAD}")

    def _hidden_in(self, where: str, value: object) -> Iterator[Any]:
        """Tensors that could be trained."""
        import torch

        waiting = [value]
        while waiting:
            each = waiting.pop()
            if id(each) in self._seen or not gc.is_tracked(each):  # a number, a text or the like
                continue
            self._seen.add(id(each))
            self._looked_at += 1
            if self._looked_at > MOST_LOOKED_AT:
                far = f"up to {where}, a {type(value).__name__}, the modules hold more than {MOST_LOOKED_AT:,} objects"
                raise Refused(f"{far}, and what is behind was not looked at; keep data outside of modules")
            if isinstance(each, torch.Tensor):
                if isinstance(each, torch.nn.Parameter) or (each.requires_grad and each.is_leaf):
                    yield each
            else:
                waiting += _inside(each)


def _inside(value: object) -> list[Any]:
    """What an object refers to; of what is shared by everybody, as modules of Python are, nothing."""
    if isinstance(value, OPAQUE):
        return []
    if isinstance(value, type):
        return [*vars(value).values(), *value.__bases__] if _is_own(value) else []
    if isinstance(value, FunctionType):
        held = [*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, vars(value)]
        return [*held, *_used_globals(value, value.__code__)] if _is_own(value) else held
    return gc.get_referents(value)


def _is_own(code: Any) -> bool:
    """Whether a class or a function is none of the libraries' that make models."""
    return str(code.__module__).partition(".")[0] not in LIBRARIES


def _used_globals(function: FunctionType, code: CodeType) -> Iterator[Any]:
    """The values of the names of its module that a function uses, and those that are in it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield function.__globals__.get(str(instruction.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _used_globals(function, inner)
