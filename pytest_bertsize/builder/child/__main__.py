"""The helper process: the only importer of torch and transformers.

It imports both without garbage collection, and exits by ``os._exit``: collection and shutdown are half their cost.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import platform
import resource
import selectors
import signal
import site
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_bertsize.builder import confined
from pytest_bertsize.builder.child.from_pretrained import list_answers
from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.loading import find_loading
from pytest_bertsize.builder.child.making import explain_error, import_maker, instantiate, read_config_values
from pytest_bertsize.builder.child.stand_ins import ADDED, describe_stand_ins, stand_in_for
from pytest_bertsize.builder.messages import Built, Frames, NotBuilt, Request, read_request, send_frame

OWN_MEMORY = 8 * 1024**3  # bytes of address space for code of the project, whose imports are unknown
MOST_MISSING = 100  # names for which a fork runs again


class Fork:
    """A fork that builds one model, and the pipe for its answers."""

    def __init__(self, number: int, process: int, pipe: int, request: Request) -> None:
        self.number, self.process, self.pipe, self.request = number, process, pipe, request
        self.missing: list[str] = []  # names that it found missing, for another fork that has stand-ins from the start
        os.set_blocking(pipe, False)
        self._frames = Frames(pipe)

    def pass_on(self, answers: int) -> bool:
        """Send the fork's messages on to the gate; after the last message, kill the fork and return ``True``."""
        kind, content = "nonsense", b"null"
        try:
            while (frame := self._frames.read()) and frame.kind == "begun":
                send_frame(answers, "begun", self.number, frame.content)
            if frame is None:
                return False
            if frame.kind in {"built", "unbuilt"}:
                kind, content = frame.kind, frame.content
            elif frame.kind == "missing":
                self.missing = [*map(str, json.loads(frame.content))]
        except EOFError:
            kind = "died"
        except (ValueError, TypeError, RecursionError):
            pass
        with contextlib.suppress(ProcessLookupError):
            if self.request.runs_own_code:
                os.kill(self.process, signal.SIGSTOP)
                confined.end_below(self.process)
            os.kill(self.process, signal.SIGKILL)  # one that has ended keeps its own status
        os.close(self.pipe)
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        if not self.missing:
            send_frame(answers, kind, self.number, status if kind == "died" else content)
        return True


def main() -> None:
    confined.keep_to_oneself()
    gc.disable()
    asked, answers = confined.take_over_pipes()
    try:
        import torch

        versions = {"torch": str(torch.__version__)}
        if importlib.util.find_spec("transformers"):
            import transformers.modeling_utils

            versions["transformers"] = transformers.__version__
    except BaseException as error:
        send_frame(answers, "failed", 0, confined.describe_error(error))
        os._exit(1)
    gc.freeze()
    gc.enable()
    send_frame(answers, "ready", 0, {**versions, "python": platform.python_version()})
    sys.addaudithook(confined.refuse_the_network)
    with contextlib.suppress(EOFError):
        serve(asked, answers)
    confined.end_below(os.getpid())
    os._exit(0)


def serve(asked: int, answers: int) -> None:
    """Start a fork for each request until the input ends, which raises an ``EOFError``; the gate sets the limits."""
    questions = Frames(asked)
    with selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)

        def start(number: int, request: Request, missing: Sequence[str] = ()) -> None:
            fork = start_fork(number, request, answers, missing)
            selector.register(fork.pipe, selectors.EVENT_READ, fork)

        while True:
            for key, _ in selector.select():
                fork: Fork | None = key.data
                if fork is None:
                    if frame := questions.read():
                        start(frame.number, read_request(frame.content))
                elif fork.pass_on(answers):
                    selector.unregister(fork.pipe)
                    if fork.missing:
                        start(fork.number, fork.request, fork.missing)
                    if fork.request.runs_own_code:  # processes that it left behind when it exited
                        others = [each.data for each in selector.get_map().values()]
                        confined.end_below(os.getpid(), {each.process for each in others if each})


def start_fork(number: int, request: Request, answers: int, missing: Sequence[str] = ()) -> Fork:
    """Fork a process that builds, with stand-ins at ``missing``; it answers with the names that it misses besides."""
    if not request.runs_own_code:
        with contextlib.suppress(Exception):  # the fork reports the error; all forks share what is imported here
            import_maker(request)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        confined.keep_to_oneself()
        confined.close_all_but(writing)
        for name in missing:
            stand_in_for(name)
        result = build(request, writing)
        if ADDED and len(missing) < MOST_MISSING:
            send_frame(writing, "missing", 0, [*missing, *ADDED])
        else:
            send_frame(writing, "built" if isinstance(result, Built) else "unbuilt", 0, result)
        os._exit(0)
    os.close(writing)
    send_frame(answers, "forked", number, child)
    return Fork(number, child, reading, request)


def build(request: Request, pipe: int) -> Built | NotBuilt:
    """Build the requested model, and tell the gate when the build begins: from then on the gate limits memory."""
    sys.dont_write_bytecode = True  # Python would read it after a change of the file within the same second
    confined.cut_off()
    errors = sys.stderr = confined.LastLine(sys.stderr.buffer)
    try:
        import_maker(request)
        confined.limit_memory(request.memory + (OWN_MEMORY if request.factory else confined.MEMORY_ABOVE_IMPORT))
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        send_frame(pipe, "begun", 0, most * (1 if sys.platform == "darwin" else 1024))
        built = _build_and_list(request)
    except BaseException as error:
        return explain_error(error, request, errors.read_last())
    if confined.REFUSED:
        first = confined.REFUSED[0]
        went_on = f"{confined.describe_error(first)}, and the code caught that and went on"
        return NotBuilt(went_on, confined.hide_secrets(first.fix), first.kind)
    loaded = () if request.runs_own_code else list_loaded()
    handed_as, answered = "".join(name for name, _ in confined.HANDED), list_answers()
    return built._replace(handed_as=handed_as, answered=answered, stood_in=describe_stand_ins(), loaded=loaded)


def _build_and_list(request: Request) -> Built:
    model = instantiate(request)
    built = take_inventory(model, own=request.runs_own_code or bool(request.modules))
    built = built._replace(config=read_config_values(request) if request.asked else None)
    finders: Any = ("flops", request.seq_len, _count_flops), ("loading", request.filed, find_loading)
    for what, asked, find in (each for each in finders if each[1]):
        try:
            built = built._replace(**{what: find(model, asked)})
        except Exception as error:  # noqa: PERF203
            built = built._replace(problems={**built.problems, what: confined.describe_error(error)})
    return built


def _count_flops(model: Any, seq_len: int) -> Any:
    from pytest_bertsize.builder.child.flops import count_flops

    return count_flops(model.to("meta"), seq_len=seq_len)


def list_loaded() -> tuple[str, ...]:
    """Return what the build depends on: files, and folders of modules; nothing if a library has no wheel's record."""
    files = [sys.executable, str(Path(sys.prefix, "pyvenv.cfg")), site.getusersitepackages(), *sys.path]
    for name in {"torch", "transformers", "peft"} & {*sys.modules}:
        records = [*Path(str(sys.modules[name].__file__)).parents[1].glob(f"{name}-*.dist-info/RECORD")]
        if len(records) != 1:
            return ()
        files.append(str(records[0]))
    for name, module in [*sys.modules.items()]:
        if isinstance(file := getattr(module, "__file__", None), str):
            files += [file, *([str(Path(file).parent)] if name.partition(".")[0] in {"transformers", "peft"} else [])]
    return tuple(dict.fromkeys(files))


if __name__ == "__main__":
    main()
