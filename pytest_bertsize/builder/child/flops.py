"""Count FLOPs with torch's own counter, around one forward pass on the meta device.

The counter ignores some products. This module adds formulas for vectors, and refuses what else has no formula.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from torch import nn

TORCHS = ("aten", "prim", "prims")  # namespaces of operations that torch has itself
# the names of torch's operations that multiply matrices or vectors
PRODUCT = re.compile(
    r"\w*(mm|mv|dot)_?|\w*conv\w*|\w*attention\w*|\w*(lstm|gru|rnn)_\w+|_?linalg_\w+|\w*(c|_)dist\w*|matrix_exp|_trilinear"
)
NO_PRODUCT = re.compile(r"\w*_norm\w*|\w*_check_errors")
TRACED = dict.fromkeys(("is_compiling", "is_exporting"), lambda: True)


def count_flops(model: nn.Module, *, seq_len: int) -> tuple[tuple[str, int], ...]:
    """Return the path of each module and its FLOPs in a forward pass, without those of its inner modules.

    The input is one text of ``seq_len`` token ids, also for a decoder; a multiple-choice model gets one choice.
    """
    inputs = _make_inputs(model, seq_len)
    watch = _Watch()
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.RNNBase):  # a count too low would pass
                what = f"{printable(name)} ({type(module).__name__})"
                raise Refused(f"torch's counter does not count every product of {what}")
            hooks.callback(module.register_forward_pre_hook(partial(watch.enter, name)).remove)
            hooks.callback(module.register_forward_hook(watch.leave, always_call=True).remove)
        try:  # traced code does without the values of its masks and token ids
            with torch.no_grad(), torch.device("meta"), patch.dict(vars(torch.compiler), TRACED), watch, watch.counter:
                model.eval()(**inputs)
        except Exception as error:
            text = " ".join(str(error).split())
            if "meta tensor" in text:
                values = "its forward pass reads values, which meta tensors do not have"
                raise Refused(f"{values}: {text}") from error
            raise Refused(f"its forward pass fails: {type(error).__name__}: {text}".rstrip(": ")) from error
    if watch.unseen:
        raise Refused(watch.unseen[0])
    if not watch.flops:
        raise Refused("its forward pass multiplies nothing that torch's counter knows")
    return tuple(watch.flops.items())


# formulas that torch's counter lacks: each takes the shapes of an operation's arguments
PRODUCTS: Mapping[Any, Any] = {
    torch.ops.aten.mv: lambda matrix, _vector, **_: 2 * prod(matrix),
    torch.ops.aten.addmv: lambda _bias, matrix, _vector, **_: 2 * prod(matrix),
    torch.ops.aten.dot: lambda vector, _other, **_: 2 * prod(vector),
}


class _Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is not typed here
    """Adds each count to the module whose forward runs, and notes products without a formula, after torch's counter."""

    def __init__(self) -> None:
        super().__init__()
        self.counter = FlopCounterMode(display=False, custom_mapping=dict(PRODUCTS))
        self.flops: Counter[str] = Counter()
        self.unseen: list[str] = []
        self._path = [""]
        self._charged = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        namespace, _, name = func.name().partition(".")[0].partition("::")
        if func._overloadpacket not in self.counter.flop_registry:  # noqa: SLF001
            what = f"{self._path[-1] or 'its forward pass'} calls {namespace}.{name}"
            if namespace not in TORCHS:
                self.unseen.append(f"{what}, an operation that is not torch's, whose products are unknown")
            elif PRODUCT.fullmatch(name) and not NO_PRODUCT.fullmatch(name):
                self.unseen.append(f"{what}, a product that torch's counter does not count")
        return func(*args, **(kwargs or {}))

    def enter(self, name: str, *_: Any) -> None:
        self._charge()
        self._path.append(name)

    def leave(self, *_: Any) -> None:
        self._charge()
        self._path.pop()

    def _charge(self) -> None:
        total = self.counter.get_total_flops()
        if total > self._charged:
            self.flops[self._path[-1]] += total - self._charged
        self._charged = total


def _make_inputs(model: nn.Module, seq_len: int) -> Mapping[str, Any]:
    """Make token ids for each argument that needs them."""
    choices = any(type(module).__name__.endswith("ForMultipleChoice") for module in model.modules())
    shape = (1, 1, seq_len) if choices else (1, seq_len)
    inputs = {"input_ids": torch.zeros(shape, dtype=torch.int64, device="meta")}
    signature = inspect.signature(model.forward)
    two_stacks = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    if two_stacks and "decoder_input_ids" in signature.parameters:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    try:
        signature.bind(**inputs)
    except TypeError:
        taken, given = ", ".join(signature.parameters), " and ".join(inputs)
        raise Refused(f"its forward takes ({taken}), and is given only {given}") from None
    return inputs
