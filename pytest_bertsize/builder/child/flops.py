"""The helper's count of FLOPs: torch's own counter around one forward pass on the meta device."""

from __future__ import annotations

import inspect
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import nn
    from torch.utils.flop_counter import FlopCounterMode


class Uncountable(Exception):
    """There is no count, for the reason in this one sentence."""


def counted(model: nn.Module, *, seq_len: int) -> list[list[Any]]:
    """Count what a forward pass multiplies: ``[path of a module, FLOPs]``, each its own without those inside it.

    The rows sum to the total of :class:`torch.utils.flop_counter.FlopCounterMode`: matrix products and convolutions,
    2 FLOPs for a multiply-add. The model is left in its mode of evaluation. Its input is one text of ``seq_len``
    token ids; an encoder-decoder gets as many for its decoder, and a multiple choice is one choice.

    :param model: on the meta device. A part that is called where it is not registered counts for its caller.
    :raises Uncountable: when the forward pass fails, takes other arguments, or multiplies nothing.
    """
    from torch.utils.flop_counter import FlopCounterMode

    _refuse_recurrent(model)
    _check_positions(model, seq_len)
    inputs = _inputs(model, seq_len)
    counter = FlopCounterMode(display=False)
    tally = _Tally(counter)
    with ExitStack() as hooks:
        for name, module in model.named_modules():
            hooks.callback(module.register_forward_pre_hook(tally.entering(name)).remove)
            hooks.callback(module.register_forward_hook(tally.left, always_call=True).remove)
        try:
            with _without_values(), counter:
                model.eval()(**inputs)
        except Exception as error:
            raise Uncountable(_in_words(error)) from error
    if not tally.flops:
        raise Uncountable("its forward pass multiplies nothing that torch's counter knows")
    return [[name, flops] for name, flops in tally.flops.items()]


def _refuse_recurrent(model: nn.Module) -> None:
    """Of such a layer torch's counter sees some products, and not others: a count too low would be a green one."""
    from torch.nn import RNNBase

    for name, module in model.named_modules():
        if isinstance(module, RNNBase):
            what = f"{printable(name)} is an {type(module).__name__}"
            raise Uncountable(f"{what}, of which torch's counter does not count every product")


@contextmanager
def _without_values() -> Iterator[None]:
    """Tell whatever asks that it is being traced: then a model does without the values of its masks and token ids."""
    import torch

    traced = dict.fromkeys(("is_compiling", "is_exporting"), lambda: True)
    with torch.no_grad(), torch.device("meta"), patch.dict(vars(torch.compiler), traced):
        yield


class _Tally:
    """Charges what the counter has counted since the last look to the module that the pass is in."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self.flops: Counter[str] = Counter()
        self._counter = counter
        self._path = [""]
        self._seen = 0

    def entering(self, name: str) -> Any:
        def enter(*_: Any) -> None:
            self._charge()
            self._path.append(name)

        return enter

    def left(self, *_: Any) -> None:
        self._charge()
        self._path.pop()

    def _charge(self) -> None:
        total = self._counter.get_total_flops()
        if total > self._seen:
            self.flops[self._path[-1]] += total - self._seen
        self._seen = total


def _inputs(model: nn.Module, seq_len: int) -> Mapping[str, Any]:
    """Token ids for every argument that needs some.

    :raises Uncountable: when the forward pass takes no ``input_ids``, or needs more.
    """
    import torch

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
        taken = ", ".join(signature.parameters)
        raise Uncountable(
            printable(f"its forward takes ({taken}), and is given {' and '.join(inputs)} and nothing else")
        ) from None
    return inputs


def _check_positions(model: nn.Module, seq_len: int) -> None:
    """Refuse more tokens than there are positions: most families would look up rows that are not there.

    :raises Uncountable: on the meta device a lookup has no rows that it could miss.
    """
    tables = [getattr(module, "position_embeddings", None) for module in model.modules()]
    padding = [getattr(table, "padding_idx", None) for table in tables]
    unused = max((row + 1 for row in padding if isinstance(row, int)), default=0)
    configs = [getattr(module, "config", None) for module in model.modules()]
    limits = [getattr(config, "max_position_embeddings", None) for config in configs]
    positions = min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=seq_len + unused)
    if seq_len > positions - unused:
        less = f", of which the first {unused} are never used" if unused else ""
        raise Uncountable(f"seq_len {seq_len:,} is more than its max_position_embeddings {positions:,}{less}")


def _in_words(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "meta tensor" in text:
        return printable(f"its forward pass looks at values, and on the meta device there are none: {text}")
    return printable(f"its forward pass fails: {type(error).__name__}: {text}".rstrip(": "))
