"""The memory of training without activations: parameters, gradients and the states of AdamW, by arithmetic alone.

A trainable parameter has a gradient and two moments of its own dtype (``torch.optim.AdamW`` makes ``exp_avg`` and
``exp_avg_sq`` with ``zeros_like``). Each trainable tensor also has a ``step`` in float32. With weights in float32 that
is 16 bytes a parameter and 4 a tensor. Autocast changes none of this, as it casts only activations and, while a layer
runs, copies of weights. A frozen parameter takes only its own bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_bertsize.dtypes import bytes_of

if TYPE_CHECKING:
    from pytest_bertsize.inventory import Inventory

STEP = 4  # bytes of the step that AdamW keeps for each tensor
MOMENTS = 2


class TrainingStates(Struct, frozen=True):
    """The bytes that a model takes in training."""

    parameters: int
    gradients: int
    moments: int
    tensors: int  # the number of trainable tensors, each with a step

    @property
    def steps(self) -> int:
        return STEP * self.tensors

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.moments + self.steps


def training_states(inventory: Inventory, dtype: str = "float32", frozen: str = "float32") -> TrainingStates:
    """Return the bytes that AdamW needs to train a model, by the dtypes of trainable and of frozen parameters."""
    trained = bytes_of(inventory.trainable, dtype)
    return TrainingStates(
        parameters=trained + bytes_of(inventory.unique - inventory.trainable, frozen),
        gradients=trained,
        moments=MOMENTS * trained,
        tensors=sum(each.trainable and not each.tied_to for each in inventory.tensors),
    )
