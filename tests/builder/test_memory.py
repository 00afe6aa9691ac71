"""The memory of builds: what recalls a build of an earlier run, and what makes the model be built again."""

from __future__ import annotations

import json
import os
import site
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep, time_ns
from types import ModuleType
from typing import Any

import pytest

from pytest_bertsize.builder import memory as memories
from pytest_bertsize.builder.child.__main__ import list_loaded
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.memory import Memory
from pytest_bertsize.builder.messages import Built, Request
from pytest_bertsize.inventory import Tensor

COMMAND = ("python", "-m", "helper")
VERSIONS = {"torch": "2.13.0", "transformers": "5.24.0", "python": "3.11.7"}
REQUEST = Request("tiny", "bert", "BertModel", {"hidden_size": 48}, {"add_pooling_layer": True})
TENSORS = (Tensor("embeddings.word_embeddings.weight", (101, 48), ""),)
LONG_AGO = 10**18  # nanoseconds since the epoch


@pytest.fixture(autouse=True)
def _each_run_is_another() -> None:
    memories._hash_surroundings.cache_clear()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python searches, with the one file that the build has loaded, both older than the run."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "modeling.py").write_text("layers = 12\n")
    for path in (folder / "modeling.py", folder):
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    monkeypatch.setattr(memories, "_STARTED", time_ns() + 10**9)
    return folder


def remember(folder: Path, library: Path, request: Request = REQUEST) -> Memory:
    built = Built(TENSORS, {}, loaded=(str(library), str(library / "modeling.py"), str(library / "absent.py")))
    Memory(folder).keep(request, COMMAND, built, VERSIONS)
    memories._hash_surroundings.cache_clear()
    return Memory(folder)


def test_a_build_is_recalled_with_its_age_and_versions(tmp_path: Path, library: Path) -> None:
    recalled = remember(tmp_path / "memory", library).recall(REQUEST._replace(name="other"), COMMAND)
    assert recalled is not None
    built, versions = recalled
    assert (built.tensors, built.loaded, versions) == (TENSORS, (), VERSIONS)
    assert built.seconds_ago is not None
    assert 0 <= built.seconds_ago < 60


def write(library: Path, text: str, *, is_set_back: bool = False) -> None:
    sleep(0.02)  # the clock of a file system ticks every few milliseconds
    (library / "modeling.py").write_text(text)
    if is_set_back:
        os.utime(library / "modeling.py", ns=(LONG_AGO, LONG_AGO))


Change = Callable[[Path, pytest.MonkeyPatch], object]
CHANGES: dict[str, Change] = {
    "edited": lambda library, _: write(library, "layers = 13\n"),
    "edited, and its time set back": lambda library, _: write(library, "layers = 13\n", is_set_back=True),
    "of another length": lambda library, _: write(library, "layers = 100\n", is_set_back=True),
    "removed": lambda library, _: (library / "modeling.py").unlink(),
    "there now": lambda library, _: (library / "absent.py").touch(),
    "there now beside it": lambda library, _: (library / "other.pth").touch(),
    "our own file": lambda library, patch: patch.setattr(memories, "_OWN", library),
    "the working folder": lambda library, patch: patch.chdir(library),  # a relative PYTHONPATH leads elsewhere
}
VARIABLES = (
    *("PYTHONPATH", "CUDA_HOME", "PEFT_OF_NOTHING", "HF_HOME", "LD_PRELOAD_OF_NOTHING"),
    *("TRANSFORMERS_CACHE", "TORCH_LOGS", "PYTORCH_ALLOC", "USE_TF"),
)
CHANGES |= {name: lambda _, patch, name=name: patch.setenv(name, "other") for name in VARIABLES}  # type: ignore[misc]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_is_changed_is_built_anew(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    memory = remember(tmp_path / "memory", library)
    change(library, monkeypatch)
    assert memory.recall(REQUEST, COMMAND) is None


@pytest.mark.parametrize(
    "other",
    [
        {"config": {"hidden_size": 49}},
        {"config": {"hidden_size": 48.0}},
        {"options": {"add_pooling_layer": False}},
        {"architecture": "BertForMaskedLM"},
        {"adapter": {"r": 8}},
        {"seq_len": 128},
        {"filed": (("pooler.weight", (48, 48)),)},
        {"closed_form": "a hash"},
    ],
    ids=str,
)
def test_another_request_is_another_build(tmp_path: Path, library: Path, other: dict[str, Any]) -> None:
    assert remember(tmp_path / "memory", library).recall(REQUEST._replace(**other), COMMAND) is None


def test_an_interpreter_that_is_a_script_is_another_if_the_script_changes(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("exec one")
    monkeypatch.setattr(sys.modules[__name__], "COMMAND", (str(script), "-m", "helper"))
    memory = remember(tmp_path / "memory", library)
    assert memory.recall(REQUEST, COMMAND) is not None
    assert memory.recall(REQUEST, (*COMMAND, "/other/python")) is None
    script.write_text("exec another")
    assert memory.recall(REQUEST, COMMAND) is None


@pytest.mark.parametrize("own", [{"factory": "acme:build"}, {"module": "acme.models"}], ids=str)
def test_code_of_the_project_is_always_built(tmp_path: Path, library: Path, own: dict[str, Any]) -> None:
    memory = remember(tmp_path / "memory", library, REQUEST._replace(**own))
    assert not memory.has_entries()
    assert memory.recall(REQUEST._replace(**own), COMMAND) is None


def test_a_library_that_changed_during_the_run_is_not_remembered(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "_STARTED", time_ns() - 10**9)
    write(library, "layers = 13\n")
    assert not remember(tmp_path / "memory", library).has_entries()


def test_a_build_that_cannot_list_what_it_loaded_is_not_remembered(tmp_path: Path) -> None:
    built = Built(TENSORS, {})
    Memory(tmp_path).keep(REQUEST, COMMAND, built, VERSIONS)
    assert not Memory(tmp_path).has_entries()


# what agreed with its closed form


@pytest.mark.parametrize(
    ("closed_form", "agrees", "kept"),
    [("a hash", True, ()), ("a hash", False, TENSORS), ("", True, TENSORS)],
    ids=["agrees", "differs", "no closed form"],
)
def test_only_a_build_that_agreed_with_its_closed_form_is_kept_without_tensors(
    tmp_path: Path, library: Path, closed_form: str, agrees: object, kept: tuple[Tensor, ...]
) -> None:
    memory, request = Memory(tmp_path), REQUEST._replace(closed_form=closed_form)
    memory.agrees = lambda *asked: asked == (request, built) and bool(agrees)
    built = Built(TENSORS, {}, loaded=(str(library),))
    assert memory.keep(request, COMMAND, built, VERSIONS) == built._replace(agreed=not kept)
    recalled = memory.recall(request, COMMAND)
    assert recalled
    assert (recalled[0].tensors, recalled[0].agreed) == (kept, not kept)


def test_without_a_gate_no_build_agrees(tmp_path: Path, library: Path) -> None:
    request = REQUEST._replace(closed_form="a hash")
    recalled = remember(tmp_path / "a" / "memory", library, request).recall(request, COMMAND)
    assert recalled
    assert recalled[0].tensors == TENSORS


# entries that are broken


def find_file(memory: Memory, suffix: str = ".json") -> Path:
    (path,) = memory.folder.glob(f"*{suffix}")
    return path


def altered(entry: bytes, place: int, value: object) -> bytes:
    """Return an entry with another value in one of its fields, and with the checksum that it then has."""
    fields = json.loads(entry.partition(b"\n")[2])
    fields[place] = value
    content = json.dumps(fields).encode()
    return memories._sum(memories._hash_key(REQUEST, COMMAND), content) + b"\n" + content


BROKEN: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "cut": (".json", lambda content: content[:-1]),
    "no text": (".json", lambda _: b"\xff"),
    "edited": (".json", lambda content: content.replace(b"[101,48]", b"[101,47]")),
    "of another model": (".json", lambda content: memories._sum("0", content[65:]) + content[64:]),
    "no model": (".json", lambda content: altered(content, 3, None)),
    "of the future": (".json", lambda content: altered(content, 0, 9e18)),
    "files elsewhere": (".json", lambda content: altered(content, 2, "../README")),
    "no tensors": (".json", lambda content: altered(content, 3, [[], {}])),
    "deep": (".json", lambda _: b"[" * 100_000),
    "long": (".json", lambda content: b" " * memories.LARGEST + content),
    "stamps that are edited": (".stamps", lambda content: content.replace(b"12", b"13")),
    "no stamps": (".stamps", lambda _: b"[]"),
}


@pytest.mark.parametrize(("suffix", "change"), BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_is_a_build(
    tmp_path: Path, library: Path, suffix: str, change: Callable[[bytes], bytes]
) -> None:
    memory = remember(tmp_path / "memory", library)
    path = find_file(memory, suffix)
    path.write_bytes(change(path.read_bytes()))
    assert memory.recall(REQUEST, COMMAND) is None


def test_an_entry_of_another_time_is_recalled_with_its_age(tmp_path: Path, library: Path) -> None:
    """So that the changes above are what makes an entry a broken one."""
    memory = remember(tmp_path / "memory", library)
    path = find_file(memory)
    path.write_bytes(altered(path.read_bytes(), 0, time_ns() // 10**9 - 5))
    recalled = memory.recall(REQUEST, COMMAND)
    assert recalled
    assert recalled[0].seconds_ago in {5, 6}


@pytest.mark.parametrize(("name", "size"), [("words", -101), ("words\x1b[31m", 101)])
def test_an_entry_that_somebody_wrote_is_checked_as_an_answer(
    tmp_path: Path, library: Path, name: str, size: int
) -> None:
    built = Built((Tensor(name, (size, 48), ""),), {}, loaded=(str(library),))
    memory = Memory(tmp_path / "memory")
    helper = Helper(memory=memory)
    memory.keep(REQUEST, helper.command, built, VERSIONS)
    assert memory.has_entries()
    assert memory.recall(REQUEST, helper.command) is None


def test_an_entry_is_a_file_and_no_link_to_one(tmp_path: Path, library: Path) -> None:
    memory = remember(tmp_path / "memory", library)
    path = find_file(memory)
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert memory.recall(REQUEST, COMMAND) is None


def test_files_of_others_in_the_folder_stay(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memories.MOST_FILES, ".json", 2)
    others = [tmp_path / name for name in ("doc.json", "doc2.json", "notes.stamps")]
    for path in others:
        path.write_text("mine")
    memory = remember(tmp_path, library)
    assert memory.has_entries()
    memory.clear()
    assert not memory.has_entries()
    assert all(path.read_text() == "mine" for path in others)


def test_a_folder_that_cannot_be_written_fails_no_run(tmp_path: Path, library: Path) -> None:
    (tmp_path / "memory").touch()  # a file in its place; root may write in any folder
    assert not remember(tmp_path / "memory", library).has_entries()


def test_the_oldest_entries_make_room(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memories.MOST_FILES, ".json", 10)
    requests = [REQUEST._replace(seq_len=length) for length in range(12)]
    for age, request in enumerate(requests):
        memory = remember(tmp_path, library, request)
        os.utime(tmp_path / f"{memories._hash_key(request, COMMAND)}.json", ns=(LONG_AGO + age, LONG_AGO + age))
    recalled = [request.seq_len for request in requests if memory.recall(request, COMMAND)]
    assert recalled == [*range(2, 12)]


# the files that a build has loaded


def test_a_library_beside_no_record_of_a_wheel_may_change_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType("peft")
    package.__file__ = str(tmp_path / "peft" / "__init__.py")
    (tmp_path / "peft").mkdir()
    monkeypatch.setitem(sys.modules, "peft", package)
    assert list_loaded() == ()
    (tmp_path / "peft-1.0.dist-info").mkdir()
    record = tmp_path / "peft-1.0.dist-info" / "RECORD"
    record.touch()
    beside = {package.__file__, str(Path(package.__file__).parent)}
    others = {sys.executable, pytest.__file__, site.getusersitepackages()}
    assert {str(record), *beside, *others} <= {*list_loaded()}
