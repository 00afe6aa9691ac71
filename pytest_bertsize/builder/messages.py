"""The messages between the gate, its helper process and the helper's forks: named tuples, as JSON in frames on a pipe.

A helper process may have an interpreter as old as Python 3.9, so this module runs there too. A frame is one line, such
as ``answer 3 512``, and then JSON: the line has the frame's kind, the model's number and the length of the JSON.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pytest_bertsize.inventory import Loading, Tensor  # noqa: TC001  (msgspec reads the annotations)

LONGEST_ANSWER = 16 * 1024 * 1024  # bytes; a model of 1,000 layers answers in 2 MB
_HEAD = re.compile(rb"([a-z]{1,9}) (\d{1,9}) (\d{1,12})")
_LONGEST_HEAD = 40


class Module(NamedTuple):
    """One module of a folder that sentence-transformers saved."""

    kind: str
    path: str
    settings: Mapping[str, Any]
    family: str
    config: Mapping[str, Any]


class Request(NamedTuple):
    """A model to build: the name of its class or factory, its config, and what is wanted of the build."""

    name: str
    family: str
    architecture: str
    config: Mapping[str, Any]
    options: Mapping[str, bool]
    module: str = "transformers"  # the library or the module of the project that has the class
    root: str = ""  # the project's folder, from which a module of its own is imported
    factory: str = ""  # ``module:function`` or a command of the project, which builds the model in place of the class
    command: tuple[str, ...] = ()  # the words of a command after ``python``, whose script hands its model over
    declared: str | None = None  # the name by which ``check_model`` ends its code; ``""``: any, ``None``: none
    config_given: bool = True  # true if a factory that takes an argument is called with the config
    kwargs: Mapping[str, Any] = {}  # the keyword arguments of a factory
    paths: tuple[str, ...] = ()  # folders, beside the root, from which a module of the project is imported
    modules: tuple[Module, ...] = ()
    adapter: Mapping[str, Any] = {}  # arguments of PEFT's ``LoraConfig``; empty for a model without an adapter
    filed: tuple[tuple[str, tuple[int, ...]], ...] = ()  # names and shapes of the tensors of a checkpoint
    seq_len: int = 0  # tokens of a forward pass whose operations are counted; 0 for no pass
    asked: tuple[str, ...] = ()  # keys whose values in the config object are wanted: ``encoder.hidden_size``
    unknown: tuple[str, ...] = ()  # keys that are left out; the config's class is asked whether it has them
    varied: tuple[tuple[str, Any, Any], ...] = ()  # keys of configs, their value, and the one in its place
    hub: Mapping[str, Mapping[str, Any]] = {}  # from_pretrained's answers by name: config, file, folder, or error
    device: str = "meta"  # the device that it is built on, ``meta`` or ``cpu``
    seconds: float = 0.0  # the time that it may take; 0 for the limit of every model
    memory: int = 0  # the bytes that it may take; 0 for the limit of every model of its kind
    closed_form: str = ""  # its hash, by which a build is recalled; the process that builds does not get it

    @property
    def runs_own_code(self) -> bool:
        """True if the build runs code of the project: a factory, or a class of the project."""
        return bool(self.factory) or self.module != "transformers"


def read_request(content: bytes) -> Request:
    request = Request(*json.loads(content))
    return request._replace(modules=tuple(Module(*each) for each in request.modules))


class ConfigSaid(NamedTuple):
    """The values in a config object, which the class of the config makes from the file."""

    said: Mapping[str, Any]  # the object's values of the wanted keys as JSON; of any other value its type
    read: tuple[str, ...] = ()  # keys of the file that were left out, and that its class has
    by: str = "transformers"  # ``"transformers 5.23.0"``, or the name of a class of the project


class Buffer(NamedTuple):
    """A module's tensor that is not a parameter."""

    name: str
    numbers: int  # 0 under a second name of the same tensor
    dtype: str
    bytes: int
    saved: bool  # true if a checkpoint has it (``persistent``)


class Finished(NamedTuple):
    """A model of transformers in a model that the project's code built, with its config as it is after the build."""

    path: str  # of its module; "" for the model itself
    architecture: str  # its class; for one that the project derives, its parent in the library
    family: str
    config: Mapping[str, Any]  # plain values alone


OF_DISK = ("its folder", "its file")  # the origins of a config that code reads by a path


class Answered(NamedTuple):
    """A name that code of the project gave to ``from_pretrained``, and the answer."""

    name: str
    origin: str  # the source of the config that answered it
    tokens: int | None = None  # the assumed length of a missing tokenizer, if the code needs it
    by_hub: bool = False  # true if ``hub`` of the table gives the name another config


class Untied(NamedTuple):
    """A tie that a class of the project declares, and that the installed release of transformers does not make."""

    name: str
    source: str
    by: str  # ``Tagger.get_output_embeddings``


class Hidden(NamedTuple):
    """An attribute of a module with parameters that torch does not list."""

    name: str  # layers are folded: ``inner.*.held``
    kind: str  # the attribute's class
    numbers: int
    shapes: tuple[str, ...] = ()  # of its parameters, in order: ``2 of 41×768``


class Built(NamedTuple):
    """A model as the helper built it, before components are known."""

    tensors: tuple[Tensor, ...]  # without components: those come from the closed form, joined by name
    declared_ties: Mapping[str, str]  # each tied name and its source, as the class itself declares them
    buffers: tuple[Buffer, ...] = ()  # tensors that a checkpoint may hold beside parameters
    flops: tuple[tuple[str, int], ...] | None = None  # of each module, without those of its inner modules
    problems: Mapping[str, str] = {}  # the reason for a missing :attr:`loading` or :attr:`flops` that was asked for
    config: ConfigSaid | None = None  # ``None`` if no key was wanted
    loading: Loading | None = None  # the way that transformers loads the checkpoint
    transformers: str = ""  # the version that was imported where it was built
    answered: tuple[Answered, ...] = ()
    kinds: Mapping[str, str] = {}  # classes of torch's own modules in a model of the project's code, by path
    stood_in: tuple[str, ...] = ()  # a sentence for each kind of missing code: ``not installed and not used: wandb``
    torch: str = ""  # the version that was imported where it was built
    finished: tuple[Finished, ...] = ()  # the outermost models of the library in a model of the project's code
    untied: tuple[Untied, ...] = ()
    hidden: tuple[Hidden, ...] = ()  # in a model of the project's code
    handed_as: str = ""  # the name by which code of the project gave it to ``check_model``
    loaded: tuple[str, ...] = ()  # the files and folders that the build depends on; empty if they are unknown
    seconds_ago: int | None = None  # seconds since an earlier run built it; ``None`` if this run did
    agreed: bool = False  # true if it equals the closed form whose hash was asked; it may then lack its tensors

    def lost_ties(self) -> list[str]:
        """Return each name that is tied by declaration alone, by a shared tensor alone, or differently by the two."""
        shared = {tensor.name: tensor.tied_to for tensor in self.tensors if tensor.tied_to}
        declared: dict[str, str] = {}
        for name, source in self.declared_ties.items():
            seen = {name}
            while source in self.declared_ties and source not in seen:
                seen.add(source)
                source = self.declared_ties[source]  # noqa: PLW2901
            declared[name] = source
        return sorted(name for name in {**shared, **declared} if shared.get(name) != declared.get(name))


# Kinds of failure that are handled in different ways: "elsewhere", if the system or the interpreter is the reason,
# whatever the model; "no-transformers", as a fork reports it, for the gate says in which interpreter.
Why = Literal["elsewhere", "no-transformers", "time", "memory", "on-meta", "arguments", "other"]


class NotBuilt(NamedTuple):
    """A model that was not built."""

    reason: str  # the rest of a sentence: ``it was not built within 30 s``
    fix: str = ""  # ``""`` if only the code that builds the model can be at fault
    kind: Why = "other"

    def suggest_fix(self, *, own: bool) -> str:
        """Return the fix; ``own`` is true if a function of the project builds the model."""
        return self.fix or (
            "fix the factory, or the code that it calls" if own else "correct the value that the class refuses"
        )


def explain_death(status: int, process: str) -> NotBuilt:
    """:param status: the return code, as ``subprocess`` gives it: negative for a signal."""
    ended = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended early, with status {status}"
    fix = "change the code that ends it, give it more memory, or try another release of torch or transformers"
    return NotBuilt(f"{process} {ended}", fix)


def exceed_limit(request: Request, reason: str, kind: Why) -> NotBuilt:
    """Return the failure of a build that takes too much time or memory."""
    instead = "build nothing but the module, on the default device" if request.factory else "declare a smaller model"
    more = "build.seconds, up to 600" if kind == "time" else 'build.memory, up to "16GB"'
    return NotBuilt(reason, f"{instead}, or allow more: {more}", kind)


class Frame(NamedTuple):
    """One message on a pipe."""

    kind: str
    number: int
    content: bytes


class TooLong(ValueError):
    """The error for a frame that is longer than the reader's limit."""


class Frames:
    """The frames that arrive on a pipe. No byte after the current frame is read, because a fork would inherit it."""

    def __init__(self, descriptor: int, most: int = LONGEST_ANSWER) -> None:
        self._descriptor, self._most, self._read = descriptor, most, bytearray()

    def read(self) -> Frame | None:
        """Return the next frame; ``None`` if the descriptor does not block and the frame is not complete yet.

        :raises EOFError: at the end of the pipe.
        :raises ValueError: for anything but a frame.
        """
        while missing := self._count_missing():
            try:
                chunk = os.read(self._descriptor, min(missing, 1 << 20))
            except BlockingIOError:
                return None
            if not chunk:
                raise EOFError
            self._read += chunk
        head, _, content = bytes(self._read).partition(b"\n")
        self._read.clear()
        return Frame(head.split()[0].decode(), int(head.split()[1]), content)

    def _count_missing(self) -> int:
        """Return how many bytes of the frame are missing: one, as long as its first line has no end."""
        end = self._read.find(b"\n", 0, _LONGEST_HEAD)
        if end < 0 and len(self._read) < _LONGEST_HEAD:
            return 1
        if (found := _HEAD.fullmatch(self._read, 0, max(end, 0))) is None:
            raise ValueError(bytes(self._read))
        if int(found[3]) > self._most:
            raise TooLong
        return end + 1 + int(found[3]) - len(self._read)


def encode_frame(kind: str, number: int, message: object) -> bytes:
    """:param message: ``bytes`` are JSON already."""
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"%b %d %d\n%b" % (kind.encode(), number, len(content), content)


def send_frame(descriptor: int, kind: str, number: int, message: object) -> None:
    """Write a frame to a blocking descriptor."""
    remaining = memoryview(encode_frame(kind, number, message))
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
