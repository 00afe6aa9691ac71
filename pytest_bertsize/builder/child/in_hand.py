"""List the tensors of a module in the process that trains it, under the names that they have without wrappers.

This code imports no library that the process has not imported already.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.child import listing
from pytest_bertsize.builder.confined import Refused

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built


class InHand(NamedTuple):
    """A module of the running process, without its wrappers."""

    module: Any  # the counted module, with its adapter if it has one
    base: Any  # the model that PEFT has adapted, else the module itself
    adapter: str  # the adapter's type, ``"LORA"``; ``""`` without one

    @property
    def is_adapted(self) -> bool:
        return self.base is not self.module

    @property
    def kind(self) -> str:
        return self.classes[0].__name__

    @property
    def classes(self) -> list[type]:
        """The model's class and its bases, without the classes that sharding puts before them."""
        module = getattr(self.base, "_fsdp_wrapped_module", self.base)
        return [each for each in type(module).__mro__ if not each.__module__.startswith("torch.distributed.")]

    @property
    def is_own(self) -> bool:
        return self.classes[0].__module__.partition(".")[0] != "transformers"


def take_in_hand(model: Any) -> InHand:
    """Unwrap a model; raise a ``TypeError`` for an object that is no module."""
    __tracebackhide__ = True
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"an object of type {type(model).__name__}"
        fix = "pass the model itself: an instance of a class, the .model of a trainer"
        raise TypeError(f"check_model takes a torch.nn.Module, not {what}: {fix}")
    module = listing.unwrap(model)
    peft = sys.modules.get("peft")
    if peft is None or not isinstance(module, (peft.PeftModel, peft.PeftMixedModel)):
        inside = [type(each) for each in module.modules()]  # ``model.add_adapter`` puts layers into the model itself
        adapter = next((each.__name__ for each in inside if each.__module__.startswith("peft.tuners.")), "")
        return InHand(module, module, adapter)
    kinds = [getattr(each.peft_type, "value", each.peft_type) for each in module.peft_config.values()]
    inner = module.base_model.model if isinstance(module, peft.PeftMixedModel) else module.get_base_model()
    return InHand(module, listing.unwrap(inner), ", ".join(dict.fromkeys(kinds)))


def list_in_hand(held: InHand, *, own: bool = False) -> Built:
    """List the tensors of a model in hand; ``own`` is true if its table names code of the project that makes it."""
    ties = None
    if held.is_adapted:
        ties = listing.name_ties(
            held.module, held.base, listing.declared_ties(dict(listing.walk_modules(held.base, wrapped=True)))
        )
    built = listing.take_inventory(held.module, own=own or held.is_own, in_hand=True, ties=ties)
    if built.lost_ties() and any(each.is_meta for each in held.module.parameters()):
        parted = "moving the model to the meta device, by .to or by offloading, untied its tied tensors"
        raise Refused(parted, "call check_model before the move, or make the model under torch.device('meta')")
    return _call_default(built, held) if held.is_adapted else built


def _call_default(built: Built, held: InHand) -> Built:
    """Rename the model's only adapter to PEFT's default name, because a table does not name its adapter."""
    names = [*held.module.peft_config]
    if len(names) > 1:
        has = f"the model has {len(names)} adapters ({', '.join(names)}), and a table has only one"
        raise Refused(has, "delete the others")

    def rename(name: str) -> str:
        return ".".join("default" if part == names[0] else part for part in name.split("."))

    tensors = tuple(
        each._replace(name=rename(each.name), tied_to=rename(each.tied_to) if each.tied_to else None)
        for each in built.tensors
    )
    ties = {rename(one): rename(other) for one, other in built.declared_ties.items()}
    return built._replace(tensors=tensors, declared_ties=ties)
