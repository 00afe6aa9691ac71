"""A model stays where it is built: no device, and nothing that is compiled, changes what there is of it to count."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

from pytest_bertsize.builder.child.stand_ins import StandIn, load_extension

EXTENSIONS = "torch.utils.cpp_extension"


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """Let ``model.to(device)`` and ``model.cuda()`` do nothing, and compile no extension."""
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
            compiler = sys.modules[EXTENSIONS] = cast("Any", StandIn(EXTENSIONS))
            compiler.load = compiler.load_inline = load_extension
            stack.callback(sys.modules.pop, EXTENSIONS, None)
        yield


def _as_it_is(self: Any, *_: Any, **__: Any) -> Any:
    return self


def _converted(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``to`` that changes the dtype alone."""

    def to(self: Any, *arguments: Any, **named: Any) -> Any:
        import torch

        said = [*arguments, *named.values()]
        dtype = next((each for each in said if isinstance(each, torch.dtype)), None)
        dtype = dtype or next((each.dtype for each in said if isinstance(each, torch.Tensor)), None)
        if isinstance(self, torch.Tensor) and named.get("copy"):
            return own(self, dtype or self.dtype, copy=True)
        return self if dtype is None else own(self, dtype)

    return to
