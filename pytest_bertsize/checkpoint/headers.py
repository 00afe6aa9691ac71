"""Read a checkpoint from its headers alone: names, shapes and dtypes, no weights.

safetensors' own ``safe_open`` needs numpy, and huggingface_hub's reader accepts broken files. So this module reads the
format itself, by https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from pytest_bertsize.dtypes import OF_PARAMETERS, whole_bytes
from pytest_bertsize.files import Place
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.wording import listed, reason, shown

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
SAVE = "name a safetensors file; the model's class writes one: Class.from_pretrained(folder).save_pretrained(folder)"
ONE_MODEL = "name the checkpoint of one model"
COPY = "copy all of its files again, or run git lfs pull if git LFS has them"
WRITE_AGAIN = "write it again with safetensors"

LARGEST_HEADER = 25_000_000  # the most bytes of all headers together, or of an index; BERT-large's header has 50,000
MOST_TENSORS = 100_000
MARKS_PER_TENSOR = 16  # the most commas and brackets of an entry of a header or index, on average; real ones have fewer
MOST_DOTS = 24  # the most dots in a tensor's name, which are the levels of nested modules
MOST_SHARDS = 1_000
MOST_NAMED = 4  # the most files that one sentence names; it counts the rest
LENGTH = 8  # the number of bytes at the start of a file that give the length of its header

_OTHER_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8, "BOOL": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32}
# bits of one element, by dtype in safetensors 0.8
BITS = {**dict(OF_PARAMETERS.values()), **_OTHER_BITS, "I64": 64, "U64": 64, "C64": 64}

_Size = Annotated[int, Meta(ge=0)]


class _Entry(Struct):
    dtype: str
    shape: Annotated[list[_Size], Meta(max_length=64)]
    data_offsets: tuple[_Size, _Size]


class _Index(Struct):
    weight_map: Annotated[dict[str, str], Meta(min_length=1)]


class Stored(Struct, frozen=True):
    """The tensors of a checkpoint."""

    file: str  # the path in messages, relative to the project's root
    inventory: Inventory  # names and shapes
    dtypes: Mapping[str, str]  # dtypes by tensor name, as safetensors writes them: ``F32``, ``BF16``, ``I64``

    @property
    def bytes(self) -> int:
        return sum(map(self.bytes_of, self.inventory.tensors))

    def bytes_of(self, tensor: Tensor) -> int:
        return whole_bytes(tensor.size, BITS[self.dtypes[tensor.name]])


def read_headers(root: Path, reference: str) -> Stored:
    """Read a safetensors file, an index, or the one of these in a folder; raise :class:`Unusable` with one finding."""
    place = Place(root, reference, "checkpoint", "checkpoint-differs", table_key="checkpoint")
    place = place.one_of((SINGLE, INDEX), SAVE)
    is_index = place.reference.endswith(".index.json")
    entries = _read_shards(place) if is_index else _read_file(place, LARGEST_HEADER)[0]
    tensors = (Tensor(name, tuple(entry.shape), "") for name, entry in entries.items())
    return Stored(place.file, Inventory(tuple(tensors)), {name: entry.dtype for name, entry in entries.items()})


def _read_file(place: Place, room: int) -> tuple[dict[str, _Entry], int]:
    """Return the tensors that a file's header lists, and the header's length, which may be up to ``room``."""
    with place.opened() as stream:
        size = os.fstat(stream.fileno()).st_size
        length = int.from_bytes(stream.read(LENGTH), "little")
        if length > size - LENGTH:
            place.fail("this is not a safetensors file, or it is truncated", SAVE)
        if length > room:
            place.fail(f"its header has {length:,} bytes, more than {room:,}", ONE_MODEL)
        header = place.json(stream.read(length), MARKS_PER_TENSOR * MOST_TENSORS)
    if not isinstance(header, dict):
        place.fail("its header is not a JSON object", WRITE_AGAIN)
    header.pop("__metadata__", None)
    if len(header) > MOST_TENSORS:
        place.fail(f"it has {len(header):,} tensors, more than {MOST_TENSORS:,}", ONE_MODEL)
    entries = {name: _read_entry(place, name, value) for name, value in header.items()}
    _check_cover(place, entries, size - LENGTH - length)
    return entries, length


def _read_entry(place: Place, name: str, value: object) -> _Entry:
    try:
        entry = msgspec.convert(value, _Entry)
        begin, end = entry.data_offsets
        is_right = (end - begin) * 8 == prod(entry.shape) * BITS[entry.dtype] and name.count(".") <= MOST_DOTS
    except (msgspec.ValidationError, KeyError):
        is_right = False
    if not is_right:
        place.fail(f"the header's entry for the tensor {shown(name)} cannot be true: {shown(value)}", WRITE_AGAIN)
    return entry


def _check_cover(place: Place, entries: Mapping[str, _Entry], size: int) -> None:
    """Refuse a file in which a byte after the header belongs to no tensor, or to more than one."""
    reached = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        if begin != reached:
            message = f"the tensor {shown(name)} begins at byte {begin:,}, not at {reached:,}, the next free one"
            place.fail(message, WRITE_AGAIN)
        reached = end
    if reached != size:
        place.fail(f"its header describes {reached:,} bytes of tensors, and {size:,} follow it", COPY)


def _read_shards(place: Place) -> dict[str, _Entry]:
    """Return the tensors of all shards, if each has the tensors that the index says, and no others."""
    try:
        data = place.json(place.content(LARGEST_HEADER), MARKS_PER_TENSOR * MOST_TENSORS)
        weight_map = msgspec.convert(data, _Index).weight_map
    except msgspec.ValidationError as error:
        place.fail(f"its weight_map does not name the file of each tensor: {reason(error)}", COPY)
    shards: dict[str, set[str]] = {}
    for name, shard in weight_map.items():
        shards.setdefault(shard, set()).add(name)
    if len(shards) > MOST_SHARDS:
        place.fail(f"it names {len(shards):,} files, more than {MOST_SHARDS:,}", ONE_MODEL)
    folder = place.neighbour(".")
    if missing := [shown(each) for each in shards if not folder.has(each)]:
        named = listed(missing, MOST_NAMED)
        place.fail(f"{len(missing)} of the {len(shards)} files that it names are missing: {named}", COPY)
    found, room = dict[str, _Entry](), LARGEST_HEADER
    for shard, names in shards.items():
        entries, length = _read_file(place.neighbour(shard), room)
        room -= length
        if odd := sorted(names ^ entries.keys()):
            place.fail(f"the index and {shown(shard)} disagree about the tensor {shown(odd[0])}", COPY)
        found |= entries
    return found
