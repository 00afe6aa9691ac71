"""The parent's side of building: one helper process per run, its limits and its answers. It never imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import takewhile
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from pytest_bertsize.findings import printable, shown
from pytest_bertsize.inventory import Inventory, Tensor, levels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes; a model of 1,000 layers answers in 2 MB."""

MEGABYTE = 1024 * 1024
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at the helper's memory."""

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONOPTIMIZE": "",  # without docstrings, transformers cannot be imported
}


@dataclass(frozen=True, slots=True)
class Request:
    """One model to build: a known class, by name, and a clean config."""

    name: str
    family: str
    architecture: str
    config: Mapping[str, Any]
    options: Mapping[str, bool]
    module: str = "transformers"
    """Where the class is found."""
    root: str = ""
    """The project's folder, from which a module of its own is imported."""


@dataclass(frozen=True, slots=True)
class Built:
    """What the helper found, before components are known."""

    tensors: tuple[Tensor, ...]
    """Without components: those come from the closed form, joined by name."""
    declared_ties: Mapping[str, str]
    """Each tied name and its source, as the class itself declares them."""

    def inventory(self, expected: Inventory | None) -> Inventory:
        """Give every tensor its component: that of the closed form, else the nearest enclosing one.

        :param expected: ``None`` where there is no closed form; then a component is a module by its name.
        """
        component = partial(_component, expected=expected) if expected else _module
        return Inventory(
            tuple(Tensor(t.name, t.shape, component(t.name), t.trainable, t.tied_to) for t in self.tensors)
        )

    def lost_ties(self) -> list[str]:
        """Names on which the tensors' identity and the class's own declaration disagree."""
        by_identity = {tensor.name: tensor.tied_to for tensor in self.tensors if tensor.tied_to}
        sources = {name: _last_source(name, self.declared_ties) for name in self.declared_ties}
        return sorted(
            name for name in by_identity.keys() | sources.keys() if by_identity.get(name) != sources.get(name)
        )


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Why there is no model, as the rest of a sentence: ``"it was not built within 30 s"``."""

    reason: str


def _last_source(name: str, ties: Mapping[str, str]) -> str:
    seen = {name}
    while (name := ties[name]) in ties and name not in seen:
        seen.add(name)
    return name


def _component(name: str, expected: Inventory) -> str:
    """The closed form's component of a name, else that of the longest module path they share."""
    if known := expected.by_name.get(name):
        return known.component
    parts = name.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:depth]) + "."
        enclosed = {t.component for t in expected.tensors if t.name.startswith(prefix)}
        if enclosed:
            return _common(enclosed)
    return "unexpected"


def _module(name: str) -> str:
    """``bert.encoder.layer.0.output.dense.weight`` → ``bert.encoder``: the two outermost modules of a tensor."""
    modules = name.split(".")[:-1][:2]
    return ".".join(takewhile(lambda part: not part.isdigit(), modules)) or "parameters"


def _common(components: set[str]) -> str:
    """``{'encoder.attention', 'encoder.norm'}`` → ``'encoder'``; ``'unexpected'`` where they share nothing."""
    shared = set.intersection(*(set(levels(component)) for component in components))
    return max(shared, key=len, default="unexpected")


ISOLATION = "-I" if sys.flags.isolated else "-P"
"""The helper never finds modules in the current folder, and nothing by the environment where its parent does not."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the helper may take before it is killed."""

    importing: float = 120.0
    """Seconds."""
    building: float = 30.0
    """Seconds for one model, from the last answer on."""
    memory: int = 64 * MEGABYTE
    """Bytes for one model, on top of what its class took to import; watched where the system has ``/proc``."""


@dataclass
class Helper:
    """The helper process of one run. :meth:`ask` returns at once; :meth:`result` waits.

    A helper that dies, hangs or answers nonsense fails the model that it was at, and another one builds the rest.
    """

    limits: Limits = field(default_factory=Limits)
    command: Sequence[str] = (sys.executable, ISOLATION, "-m", "pytest_bertsize.build.child")
    versions: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _pending: list[Request] = field(default_factory=list)
    _results: dict[str, Built | NotBuilt] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)
    _importing: bool = True
    _most_memory: int | None = None
    """Bytes that the process may have now; ``None`` where it is importing."""

    def _start(self) -> None:
        self._buffer.clear()
        self._importing, self._most_memory = True, None
        self._process = subprocess.Popen(  # noqa: S603  (our own module, by our own interpreter)
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )

    def ask(self, requests: Sequence[Request]) -> None:
        """Say which models to build; once in a helper's life.

        The process starts now, if there is any, and imports torch and transformers while pytest goes on.
        """
        self._pending = list(requests)
        if self._pending:
            self._send()

    def result(self, name: str) -> Built | NotBuilt:
        """What became of one model that was asked for; waits until it is known."""
        while name not in self._results:
            if name not in {request.name for request in self._pending}:
                return NotBuilt("it was never asked for")
            self._next_answer()
        return self._results[name]

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
        self._process = None

    def _send(self) -> None:
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        line = json.dumps([asdict(request) for request in self._pending]).encode() + b"\n"
        with contextlib.suppress(OSError):  # a helper that is dead already is noticed where it is read
            self._process.stdin.write(line)
            self._process.stdin.close()

    def _next_answer(self) -> None:
        """Read one message, and move on accordingly."""
        try:
            message = self._message()
            if "ready" in message:
                self._importing = False
                self.versions.update((str(name), str(version)) for name, version in message["ready"].items())
            elif "failed" in message:
                self._give_up(f"torch and transformers cannot be imported: {printable(str(message['failed']))}")
            elif "building" in message:
                self._most_memory = int(message["memory"]) + self.limits.memory if message["memory"] else None
            else:
                self._most_memory = None
                self._results[self._pending[0].name] = _understood(message, self._pending[0].name)
                self._pending.pop(0)
        except _HelperLost as lost:
            self._lose(str(lost))
        except (ValueError, KeyError, TypeError, AttributeError):
            self._lose("the helper process answered nonsense")

    def _lose(self, reason: str) -> None:
        """The model at hand is lost with its helper; the rest get a new one, unless it never came up."""
        self.stop()
        if not self.versions:
            return self._give_up(reason)
        self._results[self._pending.pop(0).name] = NotBuilt(reason)
        if self._pending:
            self._send()
        return None

    def _give_up(self, reason: str) -> None:
        self._results.update((request.name, NotBuilt(reason)) for request in self._pending)
        self._pending.clear()
        self.stop()

    def _message(self) -> Any:
        """The next line of the helper, or the reason why there is none."""
        seconds = self.limits.importing if self._importing else self.limits.building
        deadline = monotonic() + seconds
        while b"\n" not in self._buffer:
            self._read_some(deadline, seconds)
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = bytearray(rest)
        return json.loads(bytes(line))

    def _read_some(self, deadline: float, seconds: float) -> None:
        if self._process is None or self._process.stdout is None:
            raise _HelperLost("the helper process is gone")
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not selector.select(min(BETWEEN_LOOKS, max(0.0, deadline - monotonic()))):
                if monotonic() >= deadline:
                    what = "torch and transformers were not imported" if self._importing else "it was not built"
                    raise _HelperLost(f"{what} within {seconds:g} s")
                if self._most_memory and memory_of(self._process.pid) > self._most_memory:
                    raise _HelperLost(f"it took more than {self.limits.memory // MEGABYTE} MB of memory")
        chunk = os.read(self._process.stdout.fileno(), 1 << 20)
        if not chunk:
            raise _HelperLost(_cause_of_death(self._process.wait()))
        self._buffer += chunk
        if len(self._buffer) > LONGEST_ANSWER:
            raise _HelperLost(f"the helper process answered more than {LONGEST_ANSWER:,} bytes")


def memory_of(process: int | str) -> int:
    """The bytes of memory that a process has, 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as stream:  # noqa: PTH123  (procfs, not a path of ours)
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class _HelperLost(Exception):
    """The helper process is dead, silent or babbling."""


def _cause_of_death(status: int) -> str:
    if status < 0:
        return f"the helper process was killed by {signal.Signals(-status).name}"
    return f"the helper process ended early, with status {status}"


def _understood(message: Mapping[str, Any], name: str) -> Built | NotBuilt:
    """:raises ValueError, TypeError, KeyError: when the message is no inventory of the model ``name``."""
    if message["name"] != name:
        raise ValueError(message)
    if "error" in message:
        return NotBuilt(printable(str(message["error"])))
    tensors = tuple(_tensor(*row) for row in message["tensors"])
    if not tensors:
        return NotBuilt("it has no parameters")
    if odd := next((tensor.name for tensor in tensors if tensor.name != printable(tensor.name)), None):
        return NotBuilt(f"it has a parameter named {shown(odd)}")
    return Built(tensors, {str(name): str(source) for name, source in message["declared_ties"].items()})


def _tensor(name: object, shape: Sequence[object], trainable: object, tied_to: object) -> Tensor:
    if not (isinstance(name, str) and isinstance(trainable, bool) and isinstance(tied_to, str | None)):
        raise TypeError(name)
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(shape)
    return Tensor(name, tuple(cast("Sequence[int]", shape)), "", trainable, tied_to)
