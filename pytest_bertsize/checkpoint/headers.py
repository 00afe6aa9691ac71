"""A checkpoint, read from its headers alone: names, shapes and dtypes, no weights.

safetensors' own ``safe_open`` imports numpy to say as much and keeps the last of two equal keys, and huggingface_hub's
``get_local_safetensors_metadata`` (2.4) takes a file that is cut off, overlapping tensors and negative sizes. So the
format is read here, as its README defines it: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeGuard

from pytest_bertsize.dtypes import OF_PARAMETERS, whole_bytes
from pytest_bertsize.files import PICKLE, ZIP, Place
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.wording import listed, shown

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""Names that ``save_pretrained`` once gave a checkpoint that ``torch.save`` writes, which is not read."""
NAME_SAFETENSORS = "name a safetensors file"
SAVE_AS_SAFETENSORS = (
    f"{NAME_SAFETENSORS}; Class.from_pretrained(folder).save_pretrained(folder), by the model's own class, writes one"
)

LARGEST_HEADER = 25_000_000
"""Bytes, all shards together, and of an index; BERT-large has 50,000. safetensors itself goes up to 100,000,000."""
MOST_TENSORS = 100_000
MARKS_PER_TENSOR = 16
"""Commas and brackets in one tensor's entry, generously."""
MOST_DIMENSIONS = 64
MOST_SHARDS = 1_000
MOST_NAMED = 4
"""Files or tensors that one sentence names before it counts the rest."""

LENGTH = 8
"""Bytes at the start of a file that say how long its header is."""

_OTHER_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8, "BOOL": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32}
BITS = {**dict(OF_PARAMETERS.values()), **_OTHER_BITS, "I64": 64, "U64": 64, "C64": 64}
"""Of one element, by dtype as safetensors 0.8 writes it."""

OTHERS = {
    ZIP: "a zip archive, as torch.save writes it",
    PICKLE + b"\x02": "a pickle, as torch.save once wrote it",
    b"\x89HDF": "HDF5, as Keras writes it",
    b"GGUF": "GGUF",
}
"""What else a file of weights may be, by how it begins."""


@dataclass(frozen=True)
class Stored:
    """What a checkpoint holds."""

    file: str
    """As messages show it, relative to the project's root."""
    inventory: Inventory
    """Names and shapes."""
    dtypes: Mapping[str, str]
    """By tensor name, as safetensors writes them: ``F32``, ``BF16``, ``I64``."""

    @property
    def bytes(self) -> int:
        """What the tensors take."""
        return sum(bytes_of(tensor.size, self.dtypes[tensor.name]) for tensor in self.inventory.tensors)


class _Entry(NamedTuple):
    shape: tuple[int, ...]
    dtype: str


def bytes_of(elements: int, dtype: str) -> int:
    return whole_bytes(elements, BITS[dtype])


def read(root: Path, reference: str) -> Stored:
    """Read the headers of a checkpoint, relative to the project's root.

    :param reference: a safetensors file, the index of a sharded one, or a folder that holds exactly one of
        :data:`SINGLE` and :data:`INDEX`.
    :raises Unusable: with one finding that says what is wrong with the file.
    """
    place = _file(Place(root, reference, "checkpoint", "checkpoint-differs"))
    if place.reference.endswith(".index.json"):
        return _stored(place.file, _sharded(place))
    entries, _ = _entries(place, LARGEST_HEADER)
    return _stored(place.file, entries)


def _stored(file: str, entries: Mapping[str, _Entry]) -> Stored:
    tensors = (Tensor(name, entry.shape, "") for name, entry in entries.items())
    return Stored(file, Inventory(tuple(tensors)), {name: entry.dtype for name, entry in entries.items()})


def _file(place: Place) -> Place:
    """The file itself, where a folder is named."""
    otherwise = SAVE_AS_SAFETENSORS if any(map(place.has, PICKLED)) else "name the file itself"
    return place.one_of((SINGLE, INDEX), otherwise)


# one file


def _entries(place: Place, room: int) -> tuple[dict[str, _Entry], int]:
    """The tensors that a header lists, and its length."""
    with place.opened() as stream:
        behind = os.fstat(stream.fileno()).st_size - LENGTH
        start = stream.read(LENGTH)
        length = int.from_bytes(start, "little")
        if length > behind:
            _not_safetensors(place, start, length, behind + LENGTH)
        if length > room:
            place.fail(f"its header has {length:,} bytes, more than {room:,}", "name the checkpoint of one model")
        header = stream.read(length)
    listed = place.json(header, MARKS_PER_TENSOR * MOST_TENSORS)
    if not isinstance(listed, dict):
        place.fail("its header is no JSON object", "write it again with safetensors")
    _check_metadata(place, listed.pop("__metadata__", None))
    if len(listed) > MOST_TENSORS:
        place.fail(f"it has {len(listed):,} tensors, more than {MOST_TENSORS:,}", "name the checkpoint of one model")
    spans = {name: _span(place, name, value) for name, value in listed.items()}
    _check_cover(place, spans, behind - length)
    return {name: entry for name, (_, _, entry) in spans.items()}, length


def _not_safetensors(place: Place, start: bytes, length: int, size: int) -> NoReturn:
    for begins, what in OTHERS.items():
        if start.startswith(begins):
            fix = SAVE_AS_SAFETENSORS if begins.startswith((ZIP, PICKLE)) else NAME_SAFETENSORS
            place.fail(f"this is {what}, not safetensors", fix)
    said = f"says that its header has {length:,} bytes" if len(start) == LENGTH else "is too short for a header"
    message = f"the file has {size:,} bytes and {said}: it is no safetensors file, or it is cut off"
    place.fail(message, "copy or download it again")


def _check_metadata(place: Place, value: object) -> None:
    if value is None or (isinstance(value, dict) and all(isinstance(each, str) for each in value.values())):
        return
    place.fail(f"its __metadata__ is {shown(value)}, not strings by name", "write it again with safetensors")


def _span(place: Place, name: str, value: object) -> tuple[int, int, _Entry]:
    """Where one tensor begins and ends, and what it is."""
    again = "write it again with safetensors"
    if not isinstance(value, dict):
        place.fail(f"the tensor {shown(name)} is {shown(value)}, not an object", again)
    dtype, shape, offsets = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in BITS:
        place.fail(f"the tensor {shown(name)} has the dtype {shown(dtype)}, which safetensors does not know", again)
    if not _are_sizes(shape) or len(shape) > MOST_DIMENSIONS:
        place.fail(f"the tensor {shown(name)} has the shape {shown(shape)}", again)
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:  # noqa: PLR2004
        place.fail(f"the tensor {shown(name)} has the data_offsets {shown(offsets)}", again)
    begin, end = offsets
    if (end - begin) * 8 != prod(shape) * BITS[dtype]:
        message = f"the tensor {shown(name)} of {dtype} {shown(shape)} takes {end - begin:,} bytes"
        place.fail(f"{message}, not {bytes_of(prod(shape), dtype):,}", again)
    return begin, end, _Entry(tuple(shape), dtype)


def _are_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and 0 <= each < 2**64 for each in value)


def _check_cover(place: Place, spans: Mapping[str, tuple[int, int, _Entry]], size: int) -> None:
    """Each byte behind the header belongs to one tensor."""
    reached = 0
    for name, (begin, end, _) in sorted(spans.items(), key=lambda item: item[1][:2]):
        if begin != reached:
            message = f"the tensor {shown(name)} begins at byte {begin:,}, and those before it end at {reached:,}"
            place.fail(message, "write it again with safetensors")
        reached = end
    if reached != size:
        cut = ": the file is cut off" if reached > size else ""
        message = f"its header describes {reached:,} bytes of tensors, and {size:,} follow it{cut}"
        place.fail(message, "copy or download it again")


# shards


def _sharded(place: Place) -> dict[str, _Entry]:
    """The tensors of all shards, where index and shards agree."""
    weight_map = _weight_map(place)
    found: dict[str, _Entry] = {}
    stands_in: dict[str, str] = {}
    room = LARGEST_HEADER
    for shard in dict.fromkeys(weight_map.values()):
        entries, length = _entries(place.neighbour(shard), room)
        room -= length
        twice = [name for name in entries if name in found]
        if twice:
            both = f"{shown(stands_in[twice[0]])} and {shown(shard)}"
            place.fail(f"{_some(twice)} in two shards, {both}", "save the model again with save_pretrained")
        found |= entries
        stands_in |= dict.fromkeys(entries, shard)
    _check_index(place, weight_map, stands_in)
    return found


def _check_index(place: Place, weight_map: Mapping[str, str], stands_in: Mapping[str, str]) -> None:
    """:raises Unusable: when an index does not say in which shards the tensors stand."""
    again = "save the model again with save_pretrained, which writes the index"
    if lost := [name for name in weight_map if name not in stands_in]:
        place.fail(f"{_some(lost)} in the index and in no shard", again)
    if unlisted := [name for name in stands_in if name not in weight_map]:
        place.fail(f"{_some(unlisted)} in {shown(stands_in[unlisted[0]])} and not in the index", again)
    if moved := [name for name, shard in weight_map.items() if stands_in[name] != shard]:
        first = f"by the index in {shown(weight_map[moved[0]])}, in truth in {shown(stands_in[moved[0]])}"
        place.fail(f"{_some(moved)} in another shard than the index says: the first is {first}", again)


def _weight_map(place: Place) -> dict[str, str]:
    """In which file each tensor stands; every file is an entry of the index's own folder."""
    data = place.json(place.content(LARGEST_HEADER), MARKS_PER_TENSOR * MOST_TENSORS)
    weight_map = data.get("weight_map") if isinstance(data, dict) else None
    again = "save the model again with save_pretrained, which writes the index"
    if not isinstance(weight_map, dict) or not weight_map:
        place.fail("it has no weight_map, which says in which file each tensor stands", again)
    shards = list(dict.fromkeys(map(str, weight_map.values())))
    if strange := [each for each in weight_map.values() if not _is_plain(each)]:
        place.fail(f"its weight_map names {shown(strange[0])}, which is no file of this folder", again)
    if len(shards) > MOST_SHARDS:
        place.fail(f"it names {len(shards):,} files, more than {MOST_SHARDS:,}", "name the checkpoint of one model")
    if missing := [each for each in shards if not place.neighbour(".").has(each)]:
        fix = "copy all of its files; run git lfs pull if they are kept there"
        place.fail(f"{len(missing)} of the {len(shards)} files that it names are missing: {_listed(missing)}", fix)
    return weight_map


def _is_plain(name: object) -> bool:
    """A file's own name, without a way to another folder."""
    return isinstance(name, str) and name not in {"", ".", ".."} and not set(name) & set("/\\\0")


def _some(names: list[str]) -> str:
    stand = "stand" if len(names) > 1 else "stands"
    return f"{_listed(names)} {stand}"


def _listed(names: list[str]) -> str:
    return listed([*map(shown, names)], MOST_NAMED)
