"""Many models use the cores: builders that the helper process forks, each with a lane of its own to the gate."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from pytest_bertsize.builder import helper as module
from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.helper import Helper, Limits, builders_for
from pytest_bertsize.builder.lane import Lane, Task
from pytest_bertsize.builder.messages import Built, NotBuilt, Request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process builds")

TINY = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}
OWN = """
import os, signal, time
from torch import nn
def kills(): os.kill(os.getppid(), signal.SIGKILL); time.sleep(99)
def never(): time.sleep(99)
def takes(): held = b"x" * 200 * 2**20; time.sleep(99)
def has_open(): raise ValueError(sorted(os.readlink(f"/proc/self/fd/{each}").partition(":")[0] for each in range(3, 99)
    if os.path.exists(f"/proc/self/fd/{each}")))
def line(): return nn.Linear(3, 2)
"""


def tiny(number: int, **config: Any) -> Request:
    return Request(f"m{number}", "bert", "BertModel", {**TINY, "vocab_size": 11 + number, **config}, {})


@pytest.fixture
def own(tmp_path: Path) -> Callable[[str], Request]:
    (tmp_path / "own.py").write_text(OWN)

    def asked(name: str) -> Request:
        return Request(name, "", "", {}, {}, root=str(tmp_path), factory=f"own:{name}", config_given=False)

    return asked


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Helper]]:
    """A helper of so many builders, however few the models are."""
    made: list[Helper] = []

    def build(requests: list[Request], builders: int = 2, command: Any = Helper.command, **limits: Any) -> Helper:
        monkeypatch.setattr(module, "builders_for", lambda *_: builders)
        made.append(Helper(Limits(**limits), command))
        made[-1].ask(requests)
        return made[-1]

    yield build
    for each in made:
        each.stop()


def results(helper: Helper, requests: list[Request]) -> list[Built | NotBuilt]:
    return [helper.result(each.name) for each in requests]


def test_several_processes_build_the_same_as_one(
    building: Callable[..., Helper], own: Callable[[str], Request]
) -> None:
    requests = [*map(tiny, range(12)), tiny(12, hidden_act="foo"), own("line"), tiny(13)]
    one, several = building(requests, 1), building(requests, 3)
    found = results(several, requests)
    assert found == results(one, requests)
    shapes = [each.tensors[0].shape for each in found[:12] if isinstance(each, Built)]
    assert shapes == [(11 + number, 4) for number in range(12)]
    assert found[12] == NotBuilt("KeyError: 'foo'")
    assert (len(one._lanes), len(several._lanes)) == (1, 4)
    assert one.versions == several.versions


def test_what_becomes_of_a_builder_is_its_models_alone(
    building: Callable[..., Helper], own: Callable[[str], Request]
) -> None:
    """In the words of one process; what is lost is forked anew, from the same import."""
    requests = [own("kills"), *map(tiny, range(5)), own("never"), own("takes"), *map(tiny, range(5, 10)), own("line")]
    helper = building(requests, building=4, own_memory=100 * MEGABYTE)
    process = helper._process
    found = dict(zip([each.name for each in requests], results(helper, requests), strict=True))
    assert {name: each.reason for name, each in found.items() if isinstance(each, NotBuilt)} == {
        "kills": "the helper process was killed by SIGKILL",
        "never": "it was not built within 4 s",
        "takes": "it took more than 100 MB of memory",
    }
    assert helper._process is process


def test_code_of_the_project_has_nothing_open_of_any_builder(
    building: Callable[..., Helper], own: Callable[[str], Request]
) -> None:
    """But the pipe by which it answers."""
    helper = building([tiny(0), own("has_open"), tiny(1), tiny(2), tiny(3), tiny(4)])
    assert helper.result("has_open") == NotBuilt("ValueError: ['pipe'] (own.py:7)")


def test_the_secret_of_one_builder_opens_no_others_model() -> None:
    pipes = [os.fdopen(each, mode) for _ in range(2) for each, mode in zip(os.pipe(), ("rb", "wb"), strict=True)]
    first, second = (Lane(0, pipes[2 * number + 1], pipes[2 * number]) for number in range(2))
    first.give(Task(tiny(0), 1, 1))
    second.give(Task(tiny(1), 1, 1))
    answer = {"tensors": [["w", [2, 3], True, None]], "declared_ties": {}}
    with pytest.raises(ValueError, match="w"):
        second.answered({"name": first.tasks[0].secret, **answer})
    assert second.answered({"name": second.tasks[0].secret, **answer})[0] == tiny(1)
    for each in pipes:
        each.close()


def test_a_stopped_helper_leaves_no_builder_behind(
    building: Callable[..., Helper], own: Callable[[str], Request]
) -> None:
    """Nor what a builder has forked for code of the project."""
    helper = building([own("never"), *map(tiny, range(5))], 3)
    assert isinstance(helper.result("m4"), Built)
    assert helper._process is not None
    parent = psutil.Process(helper._process.pid)
    while len(processes := [parent, *parent.children(recursive=True)]) < 1 + 3 + 1:
        time.sleep(0.01)
    helper.stop()
    assert psutil.wait_procs(processes, timeout=10)[1] == []


def test_builders_end_by_themselves_when_all_is_built(building: Callable[..., Helper]) -> None:
    requests = [*map(tiny, range(4))]
    helper = building(requests)
    results(helper, requests)
    assert helper._process is not None
    assert helper._process.wait() == 0


def test_a_fork_of_the_run_has_builders_of_its_own(building: Callable[..., Helper]) -> None:
    """And leaves those that are there to the run."""
    requests = [*map(tiny, range(6))]
    helper = building(requests)
    assert isinstance(helper.result("m0"), Built)
    fork = os.fork()
    if not fork:
        built = isinstance(helper.result("m5"), Built)
        helper.stop()
        os._exit(0 if built else 1)
    assert os.waitpid(fork, 0)[1] == 0
    assert all(isinstance(each, Built) for each in results(helper, requests))


# where there can be none


def test_a_helper_that_cannot_fork_builds_by_itself(building: Callable[..., Helper], tmp_path: Path) -> None:
    """As where the system allows no more processes: it dies of that, and the next one is not asked to."""
    script = tmp_path / "child.py"
    body = """
        import json, sys
        print(json.dumps({"ready": {"torch": "1"}, "forks": True}), flush=True)
        for each in (json.loads(line) for line in sys.stdin if not line.strip().isdigit()):
            answer = {"name": each["name"], "tensors": [["w", [2, 3], True, None]], "declared_ties": {}}
            print(json.dumps(answer), flush=True)
    """
    script.write_text(textwrap.dedent(body))
    requests = [*map(tiny, range(6))]
    found = results(building(requests, command=(sys.executable, str(script))), requests)
    assert all(isinstance(each, Built) for each in found)


@pytest.mark.parametrize(
    ("models", "cores", "free", "memory", "builders"),
    [
        (31, 8, 8192, 0, 1),
        (32, 8, 8192, 0, 2),
        (100, 8, 8192, 0, 6),
        (1_000, 8, 8192, 0, 8),
        (1_000, 1, 8192, 0, 1),
        (1_000, 8, 400, 0, 5),
        (1_000, 8, 8192, 4096, 2),
        (1_000, 8, 50, 0, 1),
    ],
)
def test_there_are_as_many_as_have_a_core_models_and_memory(
    monkeypatch: pytest.MonkeyPatch, models: int, cores: int, free: int, memory: int, builders: int
) -> None:
    """Sixteen models each, and room for the largest of them: 80 MB, or what the table gives it."""
    monkeypatch.setattr(module, "free_cores", lambda: cores)
    monkeypatch.setattr(module, "free_memory", lambda: free * MEGABYTE)
    large = Request("large", "bert", "BertModel", TINY, {}, memory=memory * MEGABYTE)
    assert builders_for([large, *map(tiny, range(models - 1))], Limits()) == builders


@pytest.mark.parametrize(
    ("files", "cores", "free"),
    [
        ({}, 8, 9000),  # at home
        ({"cpu.max": "max 100000", "memory.max": "max", "memory.current": "1048576"}, 8, 9000),
        ({"cpu.max": "250000 100000"}, 2, 9000),
        ({"cpu.max": "50000 100000"}, 1, 9000),
        ({"cpu.max": "1600000 100000"}, 8, 9000),
        ({"memory.max": 2048, "memory.current": 512}, 8, 1536),
        ({"memory.max": 2048, "memory.current": 2000, "memory.stat": "anon 7\ninactive_file 1048576000\n"}, 8, 1048),
        ({"memory.max": 16384, "memory.current": 512}, 8, 9000),
        ({"memory.max": 2048, "memory.current": 2049}, 8, 0),
    ],
)
def test_a_container_may_have_less_than_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str | int], cores: int, free: int
) -> None:
    """As cgroup-v2.rst of the kernel writes them: ``$MAX $PERIOD`` in microseconds, and bytes (here in MB)."""
    for name, content in files.items():
        (tmp_path / name).write_text(f"{content if isinstance(content, str) else content * MEGABYTE}\n")
    monkeypatch.setattr(own_process, "CONTAINER", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=9000 * MEGABYTE))
    assert (own_process.free_cores(), own_process.free_memory()) == (cores, free * MEGABYTE)


def test_elsewhere_than_on_linux_one_process_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert builders_for([*map(tiny, range(1_000))], Limits()) == 1
