"""Find out how transformers itself loads a checkpoint: names, shapes, and tensors that it skips."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Optional

from pytest_bertsize.builder.child.listing import find_library_base
from pytest_bertsize.inventory import Loading

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Filed = tuple[str, tuple[int, ...]]  # name and shape of a tensor in the file
Row = tuple[str, Optional[str], tuple[int, ...]]  # name in the file, in the model (``None``: skipped), shape there
NORM = re.compile(r"(?<=LayerNorm\.)(?:gamma|beta)$")  # the ends of names in converted checkpoints of TensorFlow


def find_loading(model: Any, filed: Collection[Filed]) -> Loading | None:
    """Ask transformers how it loads a file; return ``None`` if the model is no ``PreTrainedModel``."""
    if not isinstance(model, find_library_base()):
        return None
    find_rows = _find_rows if hasattr(model, "all_tied_weights_keys") else find_rows_of_4
    unsaved: Any = sorted(model._keys_to_ignore_on_save or ())  # noqa: SLF001  (JSON has no sets)
    return Loading(tuple(find_rows(model, filed)), unsaved)


def _find_rows(model: PreTrainedModel, filed: Iterable[Filed]) -> Iterator[Row]:
    """Yield a :data:`Row` for each tensor of a file, as ``convert_and_load_state_dict_in_model`` of 5.1 to 5.23 does.

    It renames, collects tensors to convert (three matrices into one, say), converts, and skips as the class does.
    """
    import torch
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, WeightRenaming, dot_natural_key, rename_source_key

    known: dict[str, Any] = dict(model.state_dict())
    transforms = get_model_conversion_mapping(model)
    renamings = [each for each in transforms if isinstance(each, WeightRenaming)]
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    by_pattern = {pattern: each for each in converters for pattern in each.source_patterns}
    converted: dict[str, tuple[str, Any]] = {}
    for name, shape in sorted(filed, key=lambda each: dot_natural_key(each[0])):
        new, pattern = rename_source_key(name, renamings, converters, model.base_model_prefix, known)
        if new not in known and name in known:
            new, pattern = name, None
        if new in known and pattern is not None:
            _, converter = converted.setdefault(new, (name, deepcopy(by_pattern[pattern])))
            converter.add_tensor(new, name, pattern, partial(torch.empty, shape, device="meta"))
        else:
            yield name, _find_target(model, known, name, new), tuple(shape)
    for new, (name, converter) in converted.items():
        for target, tensor in converter.convert(new, model=model, config=model.config).items():
            one = tensor[0] if isinstance(tensor, list) else tensor
            yield name, target, tuple(one.shape)


def find_rows_of_4(model: PreTrainedModel, filed: Collection[Filed]) -> Iterator[Row]:
    """Yield a :data:`Row` for each tensor of a file, as ``_load_pretrained_model`` of 4.40 to 4.57 loads it."""
    known: Mapping[str, Any] = model.state_dict()
    prefix = f"{model.base_model_prefix}."
    has, wants = (any(name.startswith(prefix) for name in names) for names in ((name for name, _ in filed), known))
    for name, shape in filed:
        new = NORM.sub(lambda found: {"gamma": "weight", "beta": "bias"}[found[0]], name)
        if has and not wants:
            new = new.removeprefix(prefix)
        elif wants and not has:
            new = f"{prefix}{new}"
        yield name, _find_target(model, known, name, new), tuple(shape)


def _find_target(model: PreTrainedModel, known: Collection[str], name: str, new: str) -> str | None:
    """Return ``new`` if the model has that name, ``None`` if the model's class skips it, and otherwise ``name``."""
    if new in known:
        return new
    skipped = model._keys_to_ignore_on_load_unexpected or ()  # noqa: SLF001
    return None if any(re.search(each, new) for each in skipped) else name
