"""The helper's question how transformers itself loads a file: under which names, in which shapes, what it skips."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Optional

from pytest_bertsize.inventory import Loading

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Filed = tuple[str, tuple[int, ...]]  # name and shape of a tensor in the file
Row = tuple[str, Optional[str], tuple[int, ...]]
"""Name in the file, name in the model or ``None`` where it is left out, and shape in the model."""


def find_loading(model: Any, filed: Collection[Filed]) -> Loading | None:
    """Ask the library what it makes of a file; ``None`` for a model that is no class of the library."""
    transformers = sys.modules.get("transformers")  # which a project may be without whose classes are its own
    if transformers is None or not isinstance(model, transformers.PreTrainedModel):
        return None
    find_rows = _find_rows if hasattr(model, "all_tied_weights_keys") else find_rows_of_4
    unsaved: Any = sorted(model._keys_to_ignore_on_save or ())  # noqa: SLF001  (JSON has no sets)
    return Loading(tuple(find_rows(model, filed)), unsaved)


def _find_rows(model: PreTrainedModel, filed: Iterable[Filed]) -> Iterator[Row]:
    """Yield what each tensor of a file becomes when ``from_pretrained`` loads it, by the library's own renaming.

    The steps are those of ``convert_and_load_state_dict_in_model`` (core_model_loading.py, 5.1 to 5.23), on the meta
    device: rename, collect what is converted (three matrices in one, say), convert, look what the class skips.

    :param filed: the file's tensors, names and shapes.
    """
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
            converter.add_tensor(new, name, pattern, _defer_tensor(shape))
        else:
            yield name, _find_target(model, known, name, new), tuple(shape)
    for new, (name, converter) in converted.items():
        for target, tensor in converter.convert(new, model=model, config=model.config).items():
            one = tensor[0] if isinstance(tensor, list) else tensor
            yield name, target, tuple(one.shape)


def find_rows_of_4(model: PreTrainedModel, filed: Collection[Filed]) -> Iterator[Row]:
    """Yield the same for transformers 4, which renames and converts nothing else.

    As ``_load_pretrained_model`` does (modeling_utils.py, 4.40 to 4.57): TensorFlow's names of a norm, and the base
    model's prefix put on or taken off.
    """
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
    """Return a tensor's name in the model: its new one, its own where there is none of that, ``None`` where skipped.

    :param known: the names of the model's tensors.
    """
    if new in known:
        return new
    skipped = model._keys_to_ignore_on_load_unexpected or ()  # noqa: SLF001
    return None if any(re.search(each, new) for each in skipped) else name


NORM = re.compile(r"(?<=LayerNorm\.)(?:gamma|beta)$")  # how converted checkpoints of TensorFlow end


def _defer_tensor(shape: tuple[int, ...]) -> Any:
    """Return what makes a tensor when it is called: so the library gets them."""
    import torch

    return lambda: torch.empty(shape, device="meta")
