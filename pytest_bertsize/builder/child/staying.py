"""A model stays where it is built: no device, and nothing that is compiled, changes what there is of it to count.

A constructor that says ``self.to(device)`` or ``self.bert.cuda()`` wants its weights elsewhere, and has none here; one
that compiles an extension in C++ wants to run it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.lacking import STOOD_IN, Lacking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXTENSIONS = "torch.utils.cpp_extension"


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """While code of the project runs."""
    import torch

    with contextlib.ExitStack() as stack:
        for owner in (torch.nn.Module, torch.Tensor):
            for name in ("to", "cuda", "cpu"):
                own = getattr(owner, name)
                if name in vars(owner):
                    stack.callback(setattr, owner, name, own)
                else:
                    stack.callback(delattr, owner, name)
                setattr(owner, name, _converted(own) if name == "to" else _as_it_is)
        if EXTENSIONS not in sys.modules:
            sys.modules[EXTENSIONS] = _extensions()
            stack.callback(sys.modules.pop, EXTENSIONS, None)
        yield


def _as_it_is(self: Any, *_: Any, **__: Any) -> Any:
    return self


def _converted(own: Callable[..., Any]) -> Callable[..., Any]:
    """``to`` of a dtype, and of no device."""

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        import torch

        said = [*arguments, *named.values()]
        dtype = next((each for each in said if isinstance(each, torch.dtype)), None)
        dtype = dtype or next((each.dtype for each in said if isinstance(each, torch.Tensor)), None)
        if isinstance(self, torch.Tensor) and named.get("copy"):
            return own(self, dtype or self.dtype, copy=True)
        return self if dtype is None else own(self, dtype)

    return to


def _extensions() -> Lacking:
    """What would compile: its name can be held, and what uses it is told that it is not there."""
    found = Lacking(EXTENSIONS)

    def load(name: str, *_: object, **__: object) -> Lacking:
        STOOD_IN.append(f"the extension {name} is not compiled, and was not used")
        return Lacking(name)

    vars(found).update(load=load, load_inline=load)
    return found
