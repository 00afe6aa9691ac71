from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import BertConfig, BertForMaskedLM

from pytest_bertsize.checkpoint import headers
from pytest_bertsize.findings import Unusable
from pytest_bertsize.wording import shown

NO_FORMAT = f"this is not a safetensors file, or it is truncated → {headers.SAVE}"
WRITE_AGAIN = "write it again with safetensors"
F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def tiny_bert() -> BertForMaskedLM:
    sizes = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    return BertForMaskedLM(BertConfig(**sizes, intermediate_size=12))


def file_of(header: object, data: int = 0, length: int | None = None) -> bytes:
    """A safetensors file with a header of one's own."""
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(written) if length is None else length) + written + bytes(data)


def refused(root: Path, reference: str = "model.safetensors") -> str:
    """The finding that a checkpoint is refused with: place, sentence, fix."""
    with pytest.raises(Unusable) as refusal:
        headers.read_headers(root, reference)
    (finding,) = refusal.value.findings
    assert (finding.kind, finding.severity) == ("checkpoint-differs", "error")
    assert f"{finding.message}{finding.fix}".isprintable()
    return f"{finding.place}: {finding.message} → {finding.fix}"


def shapes(stored: headers.Stored) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.shape for tensor in stored.inventory.tensors}


# what is read


def test_one_file_gives_names_shapes_dtypes_and_bytes(tmp_path: Path) -> None:
    tensors = {
        "a.weight": torch.zeros(3, 2),
        "b": torch.zeros(4, dtype=torch.bfloat16),
        "scalar": torch.tensor(1.0),
        "none": torch.zeros(0, 7),
        "position_ids": torch.zeros(1, 5, dtype=torch.int64),
    }
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    stored = headers.read_headers(tmp_path, "model.safetensors")
    assert stored.file == "model.safetensors"
    assert shapes(stored) == {"a.weight": (3, 2), "b": (4,), "scalar": (), "none": (0, 7), "position_ids": (1, 5)}
    assert stored.dtypes == {"a.weight": "F32", "b": "BF16", "scalar": "F32", "none": "F32", "position_ids": "I64"}
    assert stored.bytes == 3 * 2 * 4 + 4 * 2 + 4 + 0 + 5 * 8
    assert headers.read_headers(tmp_path.parent, tmp_path.name).file == f"{tmp_path.name}/model.safetensors"


def test_a_sharded_checkpoint_is_the_sum_of_its_shards(tmp_path: Path) -> None:
    model = tiny_bert()
    model.save_pretrained(tmp_path, max_shard_size="2KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    stored = headers.read_headers(tmp_path, "model.safetensors.index.json")
    again = headers.read_headers(tmp_path, ".")
    assert (again.inventory.tensors, again.dtypes) == (stored.inventory.tensors, stored.dtypes)
    assert shapes(stored) == {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert stored.bytes == 4 * sum(parameter.numel() for parameter in model.parameters())


def test_nothing_of_the_weights_is_read_and_neither_torch_nor_numpy_is_imported(tmp_path: Path) -> None:
    with open(tmp_path / "model.safetensors", "wb") as stream:  # noqa: PTH123
        stream.write(file_of({"a": {"dtype": "F32", "shape": [2**38], "data_offsets": [0, 2**40]}}))
        stream.truncate(stream.tell() + 2**40)  # a terabyte of nothing
    code = (
        "import sys, pathlib; from pytest_bertsize.checkpoint import headers; "
        "print(headers.read_headers(pathlib.Path(sys.argv[1]), 'model.safetensors').bytes, "
        "[name for name in ('torch', 'numpy', 'safetensors', 'huggingface_hub') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{2**40} []\n"


def test_every_dtype_has_the_bytes_that_safetensors_gives_it(tmp_path: Path) -> None:
    names = {"BOOL": "bool", "BF16": "bfloat16", "C64": "complex64"}
    kinds = {"U": "uint", "I": "int", "F": "float"}
    for dtype in (name for name in headers.BITS if not name.startswith(("F4", "F6", "F8"))):
        torch_dtype = getattr(torch, names.get(dtype) or f"{kinds[dtype[0]]}{dtype[1:]}")
        save_file({"a": torch.zeros(3, dtype=torch_dtype)}, tmp_path / "model.safetensors")
        stored = headers.read_headers(tmp_path, "model.safetensors")
        assert stored.dtypes == {"a": dtype}
        assert stored.bytes == 3 * torch.zeros(1, dtype=torch_dtype).element_size()


# what is refused


HOSTILE: dict[str, tuple[bytes, str]] = {
    "short": (b"abc", NO_FORMAT),
    "length of 2**63": (struct.pack("<Q", 2**63) + b"{}", NO_FORMAT),
    "header cut off": (file_of(b"{}", length=3), NO_FORMAT),
    "keras": (b"\x89HDF\r\n\x1a\n" + bytes(20), NO_FORMAT),
    "list": (file_of(b"[]"), f"its header is not a JSON object → {WRITE_AGAIN}"),
    "cut off": (file_of({"a": F32}, 4), f"its header describes 8 bytes of tensors, and 4 follow it → {headers.COPY}"),
    "bytes of nobody": (
        file_of({"a": F32}, 12),
        f"its header describes 8 bytes of tensors, and 12 follow it → {headers.COPY}",
    ),
    "overlap": (
        file_of({"a": F32, "b": F32}, 8),
        f'the tensor "b" begins at byte 0, not at 8, the next free one → {WRITE_AGAIN}',
    ),
    "hole": (
        file_of({"a": {**F32, "data_offsets": [4, 12]}}, 12),
        f'the tensor "a" begins at byte 4, not at 0, the next free one → {WRITE_AGAIN}',
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_checkpoint_is_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    content, expected = HOSTILE[case]
    (tmp_path / "model.safetensors").write_bytes(content)
    assert refused(tmp_path) == f"model.safetensors: {expected}"


ENTRIES: dict[str, tuple[str, object]] = {
    "no object": ("a", 5),
    "a negative size": ("a", {**F32, "shape": [-2]}),
    "a size that is true": ("a", {**F32, "shape": [True, 2]}),
    "a size that is a float": ("a", {**F32, "shape": [2.0]}),
    "more elements than bytes": ("a", {**F32, "shape": [2**32, 2**32, 2**32]}),
    "more bytes than elements": ("a", {**F32, "shape": [1]}),
    "many dimensions": ("a", {**F32, "shape": [2, *[1] * 64]}),
    "backwards": ("a", {**F32, "data_offsets": [8, 0]}),
    "three offsets": ("a", {**F32, "data_offsets": [0, 8, 8]}),
    "another dtype": ("a", {**F32, "dtype": "Q9"}),
    "no dtype": ("a", {"shape": [2], "data_offsets": [0, 8]}),
    "control characters": ("a\n\x1b[31m::error::", {**F32, "shape": [5]}),
    "modules in modules": ("a." * 25, F32),
}


@pytest.mark.parametrize(("name", "entry"), ENTRIES.values(), ids=ENTRIES)
def test_a_tensor_that_cannot_be_is_shown(tmp_path: Path, name: str, entry: object) -> None:
    (tmp_path / "model.safetensors").write_bytes(file_of({name: entry}, 8))
    assert refused(tmp_path) == (
        f"model.safetensors: the header's entry for the tensor {shown(name)} cannot be true: {shown(entry)} → {WRITE_AGAIN}"
    )


@pytest.mark.parametrize(
    ("tensors", "said"), [(40, "more than 160 commas, colons and brackets"), (11, "it has 11 tensors, more than 10")]
)
def test_a_million_tensors_are_refused_before_they_take_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: int, said: str
) -> None:
    monkeypatch.setattr(headers, "MOST_TENSORS", 10)
    header = {str(number): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(tensors)}
    (tmp_path / "model.safetensors").write_bytes(file_of(header))
    assert refused(tmp_path) == f"model.safetensors: {said} → name the checkpoint of one model"


def test_a_header_larger_than_any_model_s_is_refused_unread(tmp_path: Path) -> None:
    with open(tmp_path / "model.safetensors", "wb") as stream:  # noqa: PTH123
        stream.write(struct.pack("<Q", 2**40))
        stream.truncate(8 + 2**40)
    large = "its header has 1,099,511,627,776 bytes, more than 25,000,000"
    assert refused(tmp_path) == f"model.safetensors: {large} → name the checkpoint of one model"


sizes = st.lists(st.integers(-1, 3), max_size=2)
offsets = st.lists(st.integers(0, 24), min_size=2, max_size=2)
entries = st.fixed_dictionaries(
    {"dtype": st.sampled_from(["F32", "F16", "Q9"]), "shape": sizes, "data_offsets": offsets}
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), entries, max_size=3), st.integers(0, 24))
def test_what_safetensors_opens_is_read_and_what_it_refuses_is_refused(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any], data: int
) -> None:
    root = tmp_path_factory.getbasetemp()
    (root / "model.safetensors").write_bytes(file_of(header, data))
    opened: dict[str, tuple[int, ...]] | None = None
    try:
        with safe_open(root / "model.safetensors", framework="np") as file:
            opened = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        refused(root)
    else:
        assert shapes(headers.read_headers(root, "model.safetensors")) == opened


# where it may be


def test_a_folder_with_two_checkpoints_or_none_says_what_to_name(tmp_path: Path) -> None:
    neither = "the folder holds neither model.safetensors nor model.safetensors.index.json"
    assert refused(tmp_path, ".") == f".: {neither} → {headers.SAVE}"
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "model.safetensors.index.json").touch()
    assert refused(tmp_path, ".") == (
        ".: the folder holds both model.safetensors and model.safetensors.index.json → name one of them: model.safetensors"
    )


# shards


def sharded(root: Path, weight_map: object, **shards: list[str]) -> None:
    for shard, names in shards.items():
        save_file({name: torch.zeros(2) for name in names}, root / f"{shard}.safetensors")
    (root / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


@pytest.mark.parametrize("outside", ["../x.safetensors", "/etc/passwd", "..", "", "a\0b", 5, None])
def test_an_index_may_not_name_files_outside_the_project(tmp_path: Path, outside: object) -> None:
    root = tmp_path / "project"
    root.mkdir()
    save_file({"a": torch.zeros(2)}, tmp_path / "x.safetensors")
    sharded(root, {"a": outside})
    refused(root, "model.safetensors.index.json")


@pytest.mark.parametrize("reference", [".", "x.safetensors"])
def test_a_file_or_shard_that_is_a_link_out_of_the_project_is_refused(tmp_path: Path, reference: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    save_file({"a": torch.zeros(2)}, tmp_path / "x.safetensors")
    (root / "x.safetensors").symlink_to(tmp_path / "x.safetensors")
    sharded(root, {"a": "x.safetensors"})
    said = "x.safetensors: the checkpoint lies outside the project → copy it into the project"
    assert refused(root, reference) == said


def test_shards_that_are_missing_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    sharded(tmp_path, {name: f"{name}.safetensors" for name in "abcdef"}, a=["a"])
    assert refused(tmp_path, ".") == (
        "model.safetensors.index.json: 5 of the 6 files that it names are missing: "
        f'"b.safetensors", "c.safetensors", "d.safetensors", "e.safetensors" and 1 more → {headers.COPY}'
    )


@pytest.mark.parametrize(
    ("weight_map", "filed", "shard", "tensor"),
    [
        ({"a": "x", "c": "x"}, {"x": ["a"]}, "x", "c"),
        ({"a": "x"}, {"x": ["a", "b"]}, "x", "b"),
        ({"a": "y", "b": "x"}, {"x": ["a"], "y": ["d"]}, "y", "a"),
        ({"a": "x", "b": "y"}, {"x": ["a"], "y": ["a", "b"]}, "y", "a"),
    ],
)
def test_an_index_that_disagrees_with_its_shards_is_refused(
    tmp_path: Path, weight_map: dict[str, str], filed: dict[str, list[str]], shard: str, tensor: str
) -> None:
    sharded(tmp_path, {name: f"{shard}.safetensors" for name, shard in weight_map.items()}, **filed)
    said = f'the index and "{shard}.safetensors" disagree about the tensor "{tensor}"'
    assert refused(tmp_path, ".") == f"model.safetensors.index.json: {said} → {headers.COPY}"


def test_headers_of_all_shards_share_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded(tmp_path, {"a": "a.safetensors", "b": "b.safetensors"}, a=["a"], b=["b"])
    one = int.from_bytes((tmp_path / "a.safetensors").read_bytes()[:8], "little")
    monkeypatch.setattr(headers, "LARGEST_HEADER", 2 * one)
    assert len(headers.read_headers(tmp_path, ".").dtypes) == 2
    monkeypatch.setattr(headers, "LARGEST_HEADER", 2 * one - 1)
    assert refused(tmp_path, ".") == (
        f"b.safetensors: its header has {one} bytes, more than {one - 1} → name the checkpoint of one model"
    )


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_an_index_without_a_map_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert "its weight_map does not name the file of each tensor" in refused(tmp_path, ".")


# what torch.save writes


@pytest.mark.parametrize("reference", ["pytorch_model.bin", "pytorch_model.bin.index.json", "last.pt"])
def test_a_pickle_is_refused_with_the_line_that_writes_safetensors(tmp_path: Path, reference: str) -> None:
    pickle = reference.removesuffix(".index.json")
    torch.save({"a": torch.zeros(2)}, tmp_path / pickle, _use_new_zipfile_serialization=reference != "last.pt")
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"a": "pytorch_model.bin"}}))
    assert refused(tmp_path, reference) == f"{pickle}: {NO_FORMAT}"
