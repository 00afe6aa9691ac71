"""The helper process's side of a pickled checkpoint: torch's own loader for weights alone, which runs no code of it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.dtypes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

WRAPPERS = ("state_dict", "model_state_dict", "model")
"""Where a training loop keeps the weights beside its other state."""


ZIP = b"PK\x03\x04"
"""How a file begins that torch.save has written."""


class NotACheckpoint(Exception):
    """What is wrong with a file, in one sentence."""


def stored_rows(path: str) -> list[list[Any]]:
    """``[name, shape, dtype, tied to]`` for each tensor of a checkpoint, or of the shards that an index names.

    :raises NotACheckpoint: for a file that holds anything but tensors by name.
    """
    if not path.endswith(".index.json"):
        return _rows(_loaded(path))
    weight_map = _weight_map(path)
    rows: list[list[Any]] = []
    stands_in: dict[str, str] = {}
    for shard in dict.fromkeys(weight_map.values()):
        for row in _rows(_loaded(str(Path(path).parent / shard))):
            if row[0] in stands_in:
                raise NotACheckpoint(f"the tensor {row[0]!r} stands in two shards, {stands_in[row[0]]!r} and {shard!r}")
            stands_in[row[0]] = shard
            rows.append(row)
    if wrong := sorted(name for name in {*weight_map, *stands_in} if weight_map.get(name) != stands_in.get(name)):
        raise NotACheckpoint(f"{len(wrong):,} tensors do not stand where the index says; the first is {wrong[0]!r}")
    return rows


def size_of(path: str) -> int:
    """Bytes of a checkpoint, or of the largest of its shards: they are read one after the other."""
    shards = set(_weight_map(path).values()) if path.endswith(".index.json") else {Path(path).name}
    return max(Path(path).with_name(shard).stat().st_size for shard in shards)


def _weight_map(path: str) -> dict[str, str]:
    """Of an index that the parent has looked at."""
    found: dict[str, str] = json.loads(Path(path).read_bytes())["weight_map"]
    return found


def _loaded(path: str) -> Any:
    import torch

    with Path(path).open("rb") as stream:
        mapped = stream.read(len(ZIP)) == ZIP  # as torch writes since 1.6; what is older cannot be mapped into memory
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:  # its text advises to load the file without the protection
        message = "it holds more than tensors: torch.load(…, weights_only=True) refuses it, and nothing else is tried"
        raise NotACheckpoint(message) from error
    except MemoryError:
        raise
    except Exception as error:
        raise NotACheckpoint(f"torch.load cannot read it: {' '.join(str(error).split())[:200]}") from error


def _rows(loaded: Any) -> list[list[Any]]:
    owner: dict[object, str] = {}
    rows: list[list[Any]] = []
    for name, tensor in _state(loaded).items():
        first = owner.setdefault(_storage(tensor) or name, name)
        rows.append(
            [name, [int(size) for size in tensor.shape], _dtype(name, tensor), None if first == name else first]
        )
    return rows


def _state(loaded: Any) -> Mapping[str, torch.Tensor]:
    """The tensors by name, be they one level down."""
    import torch

    inner = (
        next((loaded[key] for key in WRAPPERS if isinstance(loaded.get(key), dict)), loaded)
        if isinstance(loaded, dict)
        else loaded
    )
    if not isinstance(inner, dict):
        raise NotACheckpoint(f"it holds a {type(loaded).__name__}, not tensors by name")
    for name, value in inner.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise NotACheckpoint(f"{str(name)[:100]!r} is a {type(value).__name__}, not a tensor with a name")
    return inner


def _storage(tensor: torch.Tensor) -> tuple[object, ...] | None:
    """What two names have in common that share a tensor; ``None`` for one that has no memory to share."""
    import torch

    if tensor.layout != torch.strided or tensor.device.type == "meta" or not tensor.numel():
        return None
    return tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride()


def _dtype(name: str, tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise NotACheckpoint(f"the tensor {name[:100]!r} has the dtype {dtype}, which safetensors has no name for")
    return DTYPES[dtype].stored
