"""The helper process: what it builds, what it refuses, and what becomes of a run whose helper is lost."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import psutil
import pytest
import torch

from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.answers import read_content
from pytest_bertsize.builder.child.making import explain_error, import_peft
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.helper import Helper, Limits
from pytest_bertsize.builder.messages import (
    Buffer,
    Built,
    ConfigSaid,
    Frame,
    NotBuilt,
    Request,
    Why,
    exceed_limit,
)
from pytest_bertsize.inventory import Loading, Tensor
from tests.builder.conftest import ask_for_factory, ask_helper

pytestmark = pytest.mark.process

TINY = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}


def request(name: str = "tiny", architecture: str = "BertForMaskedLM", **config: Any) -> Request:
    return Request(name, "bert", architecture, {**TINY, **config}, {})


OPENING = """
import json, os, signal, sys, time
from pytest_bertsize.builder.messages import Frames, encode_frame
def say(kind, number, message): os.write(1, encode_frame(kind, number, message))
def asked():
    frames = Frames(0)
    while True:
        frame = frames.read()
        yield frame.number, json.loads(frame.content)
"""


Scripted = Callable[..., Helper]


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Scripted]:
    """A helper process that does what a test writes instead of building."""
    helpers = []

    def make(body: str, **limits: Any) -> Helper:
        script = tmp_path / "child.py"
        script.write_text(OPENING + textwrap.dedent(body))
        helpers.append(Helper(Limits(**limits), (sys.executable, str(script))))
        return helpers[-1]

    yield make
    for helper in helpers:
        helper.stop()


# in the real helper


@pytest.mark.usefixtures("cold_helper")
def test_one_helper_builds_every_model_and_reaches_for_no_network_nor_for_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Traps are audit hooks, which a sitecustomize installs in the helper before anything else runs."""
    log = tmp_path / "events"
    trap = f"""
        import sys
        def watch(event, args):
            if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "builtins.input"):
                open({str(log)!r}, "a").write(event)
        sys.addaudithook(watch)
        open({str(log)!r}, "a").write("watching.")
    """
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(trap))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    many_labels = request("takes", "BertForSequenceClassification", num_labels=2 * 10**7)
    helper = Helper()
    helper.ask([request("a"), request("b", hidden_act="foo"), many_labels, request("c", architecture="BertModel")])
    third, first, second = helper.result("c"), helper.result("a"), helper.result("b")
    assert isinstance(first, Built)
    assert isinstance(third, Built)
    assert second == NotBuilt("KeyError: 'foo'")
    assert helper.result("takes") == exceed_limit(many_labels, "it took more than 160 MB of memory", "memory")
    assert len(first.tensors) > len(third.tensors)
    assert helper.versions["torch"] == str(torch.__version__)
    assert set(helper.versions) == {"torch", "transformers", "python"}
    helper.ask([request("d", "NoSuchModel")])
    assert isinstance(helper.result("d"), NotBuilt)
    helper.stop()
    assert log.read_text() == "watching."


MUCH: dict[str, int] = {"seconds": 20, "memory": 2 * 10**9, "longest": 1000}
EVERYTHING = Built(
    (Tensor("a.weight", (2, 3), ""), Tensor("b.weight", (2, 3), "", trainable=False, tied_to="a.weight")),
    {"b.weight": "a.weight"},
    (Buffer("mask", 5, "bool", 5, saved=True), Buffer("inv_freq", 4, "float32", 16, saved=False)),
    (("a", 12),),
    {"flops": "it takes no input_ids"},
    ConfigSaid({"hidden_size": 4, "block_sizes": [1, 2], "tie": None}, ("head_dim",), "transformers 5.1.0"),
    Loading((("a", "a.weight", (2, 3)), ("c", None, (1,))), frozenset({"b.weight"})),
)


@pytest.mark.parametrize(
    "result",
    [EVERYTHING, Built(EVERYTHING.tensors, {}), NotBuilt("no", "fix", "time")],
    ids=["all", "tensors", "none"],
)
def test_a_result_is_the_same_to_a_process_that_has_not_heard_the_helper(result: Built | NotBuilt) -> None:
    kind = "built" if isinstance(result, Built) else "unbuilt"
    assert read_content(Frame(kind, 1, msgspec.json.encode(result))) == result


W = Tensor("w", (2, 3), "")


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("built", {"tensors": []}),
        ("built", []),
        ("unbuilt", {}),
        ("built", [[], {}]),
        ("built", [[["w", [-1], "", True, None]], {}]),
        ("built", [[["w", [True], "", True, None]], {}]),
        ("built", [[["w", [2], "", 1, None]], {}]),
        ("built", Built((W,), {}, (Buffer("b", -1, "bool", 5, saved=True),))),
        ("built", Built((W,), {}, flops=(("", -1),))),
        ("unbuilt", NotBuilt("no", "fix", "because")),  # type: ignore[arg-type]
        *(("begun", "much"), ("begun", -1), ("forked", 0), ("ready", []), ("other", 0)),
    ],
    ids=str,
)
def test_a_frame_of_another_kind_or_beyond_its_bounds_is_no_model(kind: str, content: object) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(read_content(Frame(kind, 1, json.dumps(content).encode())), NotBuilt)


def test_no_process_says_of_its_model_that_it_agreed_with_the_closed_form() -> None:
    found, none = (
        read_content(Frame("built", 1, json.dumps(Built(each, {}, agreed=True)).encode())) for each in ((W,), ())
    )
    assert found == Built((W,), {})
    assert none == NotBuilt("it has no parameters")


def test_foreign_text_in_an_answer_is_made_printable() -> None:
    odd = "a\x1b[31m" + "b" * 999
    built = Built((W,), {}, (Buffer(odd, 1, odd, 4, saved=True),), problems={"flops": odd}, stood_in=(odd,))
    found = read_content(Frame("built", 1, json.dumps(built).encode()))
    assert isinstance(found, Built)
    for text in (found.buffers[0].name, found.buffers[0].dtype, found.problems["flops"]):
        assert text.startswith(r"a\x1b[31mb")
        assert len(text) == 200
    assert len(found.stood_in[0]) == 700
    failed = read_content(Frame("unbuilt", 1, json.dumps(NotBuilt(odd, odd)).encode()))
    assert isinstance(failed, NotBuilt)
    assert (len(failed.reason), len(failed.fix)) == (700, 700)


@pytest.mark.parametrize("peft", [None, ModuleType("peft")], ids=["none", "another release"])
def test_a_peft_that_cannot_be_imported_is_a_refusal(monkeypatch: pytest.MonkeyPatch, peft: ModuleType | None) -> None:
    """As PEFT 0.18 beside transformers 4.40: "cannot import name 'EncoderDecoderCache' from 'transformers'"."""
    monkeypatch.setitem(sys.modules, "peft", peft)
    with pytest.raises(Refused, match="the model has an adapter, and PEFT cannot be imported"):
        import_peft()


# several at once


def test_what_becomes_of_one_fork_is_its_models_alone(tmp_path: Path) -> None:
    """Whoever kills the helper is found by building the others one after the other."""
    (tmp_path / "own.py").write_text(
        "import os, signal, time\nfrom torch import nn\n"
        "def kills(): os.kill(os.getppid(), signal.SIGKILL); time.sleep(99)\n"
        "def never(): time.sleep(99)\n"
        "def takes(): held = b'x' * 200 * 2**20; time.sleep(99)\n"
        "def has_open(): raise ValueError(sorted(os.readlink(f'/proc/self/fd/{n}').partition(':')[0]\n"
        "    for n in range(3, 99) if os.path.exists(f'/proc/self/fd/{n}')))\n"
        "def line(): return nn.Linear(3, 2)\n"
    )
    names = ("never", "takes", "has_open", "kills", "line")
    own = [ask_for_factory(tmp_path, each) for each in names]
    requests = [request("a"), *own[:3], request("b", vocab_size=12), *own[3:], request("c", vocab_size=13)]
    helper = Helper(Limits(building=6, own_memory=100 * 2**20), _at_once=3)
    try:
        helper.ask(requests)
        found = {each.name: helper.result(each.name) for each in requests}
    finally:
        helper.stop()
    assert {name: each.reason for name, each in found.items() if isinstance(each, NotBuilt)} == {
        "kills": "the helper process was killed by SIGKILL",
        "never": "it was not built within 6 s",
        "takes": "it took more than 100 MB of memory",
        "has_open": "ValueError: ['pipe'] (own.py:6)",
    }
    sizes = [each.tensors[0].shape for name in "abc" if isinstance(each := found[name], Built)]
    assert sizes == [(11, 4), (12, 4), (13, 4)]


LEAVES = """
import os, subprocess, sys, time
from pathlib import Path
from torch import nn
def fork(name):
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.closerange(3, 99)
            Path(name).write_text(str(os.getpid()))
            time.sleep(60)
        os._exit(0)
    os.wait()
    while not (os.path.exists(name) and Path(name).read_text()): time.sleep(0.01)
def forks():
    fork("forks")
    return nn.Linear(3, 2)
def starts():
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    Path("starts").write_text(str(started.pid))
    return nn.Linear(3, 2)
def dies():
    fork("dies")
    os._exit(3)
def hangs():
    fork("hangs")
    time.sleep(60)
def is_unfinished(): time.sleep(60)
def config():
    fork("config")
    return {"a": 1}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="an orphan is the system's there")
def test_no_process_that_a_build_has_started_outlives_it_nor_a_build_its_helper(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(LEAVES)
    names = ("forks", "starts", "dies", "hangs")
    helper = Helper(Limits(building=5))
    try:
        helper.ask([ask_for_factory(tmp_path, each) for each in names])
        found = [helper.result(each) for each in names]
        asked = {"root": str(tmp_path), "reference": "own:config", "inner": [], "paths": []}
        own_process.answer_of("pytest_bertsize.config.by_code", asked, tmp_path, **MUCH)
        assert [type(each) for each in found[:2]] == [Built, Built]
        assert wait_until_ended(int((tmp_path / each).read_text()) for each in (*names, "config")) == []
        helper.ask([ask_for_factory(tmp_path, "is_unfinished"), request("a")])
        assert isinstance(helper.result("a"), Built)
        assert helper._child is not None
        process = psutil.Process(helper._child.process.pid)
        numbers = [each.pid for each in (process, *process.children(recursive=True))]
        assert len(numbers) >= 2
    finally:
        helper.stop()
    assert wait_until_ended(numbers) == []


def wait_until_ended(numbers: Iterable[int]) -> list[int]:
    """Return the processes that still run after a while."""
    left, deadline = [*numbers], time.monotonic() + 10
    while left and time.monotonic() < deadline:
        left = [each for each in left if is_running(each)]
        time.sleep(0.05)
    return left


def is_running(number: int) -> bool:
    return bool(psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE)


TELLS = """
import os, sys
from torch import nn
def raises(): raise ValueError("401 for " + os.environ["ACME_TOKEN"])
def of_key(): return {}[os.environ["acme_key"]]
def gone(): raise ValueError(os.environ.pop("ACME_TOKEN"))
def read():
    os.environ["FROM_FILE_SECRET"] = "read-from-a-file"
    raise ValueError("read-from-a-file")
def short(): raise ValueError(os.environ["SHORT_PASSWORD"] + os.environ["OTHER"])
def writes():
    print("401 for", os.environ["acme_key"], file=sys.stderr)
    sys.exit(1)
class Fails(nn.Linear):
    def forward(self, input_ids): raise ValueError(os.environ["ACME_TOKEN"])
def in_forward(): return Fails(3, 2)
def config(): raise ValueError(os.environ["ACME_TOKEN"])
"""


def test_no_value_of_the_environment_that_is_secret_leaves_the_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {
        "raises": "ValueError: 401 for (the value of ACME_TOKEN is left out) (own.py:4)",
        "of_key": "KeyError: '(the value of acme_key is left out)' (own.py:5)",
        "gone": "ValueError: (the value of ACME_TOKEN is left out) (own.py:6)",
        "read": "ValueError: (the value of FROM_FILE_SECRET is left out) (own.py:9)",
        "short": "ValueError: 1234567no secret (own.py:10)",
        "writes": "the code exited before it returned a model: SystemExit: 1 (own.py:13), "
        "after it wrote '401 for (the value of acme_key is left out)' to stderr",
    }
    environment = {"ACME_TOKEN": "hf_1234567", "acme_key": "of two\nlines", "SHORT_PASSWORD": "1234567"}
    for name, value in {**environment, "OTHER": "no secret"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "own.py").write_text(TELLS)
    found = ask_helper([ask_for_factory(tmp_path, each, seq_len=3) for each in (*told, "in_forward")])
    assert {name: getattr(found[name], "reason", "") for name in told} == told
    assert "the value of ACME_TOKEN is left out" in repr(found["in_forward"])
    assert "hf_1234567" not in repr(found)
    asked = {"root": str(tmp_path), "reference": "own:config", "inner": [], "paths": []}
    said = own_process.answer_of("pytest_bertsize.config.by_code", asked, tmp_path, **MUCH)
    assert "(the value of ACME_TOKEN is left out)" in said["message"]
    assert "hf_1234567" not in repr(said)


# a helper that is lost


ECHO = """
    say("ready", 0, {{"torch": "1", "transformers": "2"}})
    for number, each in asked():
        {bad}
        say("built", number, [[["w", [2, 3], "", True, None]], {{}}])
"""


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("os._exit(7)", "the helper process ended early, with status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the helper process was killed by SIGSEGV"),
        ("time.sleep(60)", "it was not built within 1 s"),
        ("os.write(1, b'built 1 999999999\\n')", "the helper process answered more than 16,777,216 bytes"),
        ("print('Downloading…', flush=True)", "the helper process sent an unreadable answer"),
        ("say('built', number, {})", "the helper process sent an unreadable answer"),
        ("say('built', number, [[], {}])", "it has no parameters"),
        ("say('died', number, 3)", "the process that builds it ended early, with status 3"),
        ("say('nonsense', number, 0)", "the process that builds it sent an unreadable answer"),
    ],
)
def test_a_lost_helper_fails_its_model_and_another_builds_the_rest(scripted: Scripted, bad: str, reason: str) -> None:
    helper = scripted(ECHO.format(bad=f"if each[3]['vocab_size'] == 12: {bad}; continue"), building=1)
    helper.ask([request("first"), request("bad", vocab_size=12), request("last", vocab_size=13)])
    assert isinstance(helper.result("first"), Built)
    assert getattr(helper.result("bad"), "reason", "") == reason
    assert isinstance(helper.result("last"), Built)


def test_a_fork_of_the_run_has_a_helper_of_its_own(scripted: Scripted) -> None:
    """As plugins that run each test in a fork: all have the same pipe, and what one reads the others never see."""
    helper = scripted(ECHO.format(bad="pass"), building=5)
    helper.ask([request("first"), request("second", vocab_size=12), request("third", vocab_size=13)])
    for name in ("first", "third", "second"):
        fork = os.fork()
        if not fork:
            built = isinstance(helper.result(name), Built)
            helper.stop()
            os._exit(0 if built else 1)
        assert os.waitpid(fork, 0)[1] == 0
    assert isinstance(helper.result("second"), Built)


@pytest.mark.parametrize(
    ("body", "reason", "is_elsewhere"),
    [
        ('say("failed", 0, "Error: no torch")', "torch and transformers cannot be imported: Error: no torch", True),
        ("time.sleep(60)", "torch and transformers were not imported within 1 s", True),
        ("os._exit(0)", "the helper process ended early, with status 0", False),
    ],
)
def test_a_helper_that_never_comes_up_fails_all_and_is_not_started_again(
    scripted: Scripted, tmp_path: Path, body: str, reason: str, *, is_elsewhere: bool
) -> None:
    starts = tmp_path / "starts"
    helper = scripted(f"open({str(starts)!r}, 'a').write('x'); {body}", importing=1)
    helper.ask([request("a"), request("b", vocab_size=12)])
    for failed in (helper.result("b"), helper.result("a")):
        assert isinstance(failed, NotBuilt)
        assert (failed.reason, failed.kind == "elsewhere") == (reason, is_elsewhere)
    assert starts.read_text() == "x"


# how requests are handed over

LARGE = [request(f"m{number}", x=f"{number:05}" + "x" * 200_000) for number in range(20)]
"""Megabytes, of which a pipe holds 64 KiB."""


def test_a_helper_that_never_reads_keeps_nobody_waiting(scripted: Scripted) -> None:
    helper = scripted("time.sleep(300)")
    helper.ask(LARGE)
    assert helper._child is not None
    process = helper._child.process
    helper.stop()
    assert process.returncode is not None


def test_a_helper_that_is_slow_to_read_builds_all_the_same(scripted: Scripted) -> None:
    body = """
        time.sleep(1)
        say("ready", 0, {"torch": "1"})
        for number, each in asked():
            say("built", number, [[["w", [int(each[3]["x"][:5]) + 1], "", True, None]], {}])
    """
    helper = scripted(body)
    helper.ask(LARGE)
    built = [helper.result(each.name) for each in LARGE]
    shapes = [each.tensors[0].shape for each in built if isinstance(each, Built)]
    assert shapes == [(n + 1,) for n in range(len(LARGE))]


# ways out


def test_torch_and_python_say_by_many_words_that_memory_is_lacking() -> None:
    words = ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 400 bytes", "CUDA out of memory.")
    for error in (*map(RuntimeError, words), MemoryError()):
        assert explain_error(error, request("big")).kind == "memory"
    assert explain_error(RuntimeError("no memory of it"), request("big")).kind == "other"
    for device, kind in (("meta", "on-meta"), ("cpu", "other")):
        assert explain_error(RuntimeError("on meta"), request("big")._replace(device=device)).kind == kind


def test_each_failure_has_its_way_out() -> None:
    own = Request("", "", "", {}, {}, factory="own:build")
    cases: tuple[tuple[Request, Why, str], ...] = (
        (request(), "memory", 'declare a smaller model, or allow more: build.memory, up to "16GB"'),
        (own, "time", "build nothing but the module, on the default device, or allow more: build.seconds, up to 600"),
    )
    for asked, kind, fix in cases:
        assert exceed_limit(asked, "", kind).suggest_fix(own=bool(asked.factory)) == fix
    assert NotBuilt("").suggest_fix(own=True) == "fix the factory, or the code that it calls"
    assert NotBuilt("").suggest_fix(own=False) == "correct the value that the class refuses"
