"""The helper process: the only importer of torch and transformers.

It imports both with the garbage collector paused, builds every model that it is asked for on the meta device, answers
with one line of JSON each, and leaves by ``os._exit``: collection and interpreter shutdown are half of what a plain
import costs. Requests come in on standard input; answers leave on a descriptor of their own, so that nothing that a
library prints can be mistaken for one.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import signal
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pytest_bertsize.builder.child.config_said import config_said
from pytest_bertsize.builder.child.from_pretrained import answers
from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import instantiate, is_own_code, prepare, way_out
from pytest_bertsize.builder.child.stand_ins import STOOD_IN
from pytest_bertsize.builder.confined import (
    LONGEST_ANSWER,
    MEMORY_ABOVE_IMPORT,
    NOT_IMPORTED,
    REFUSED,
    WENT_ON,
    answer,
    cause_of_death,
    close_all_but,
    in_words,
    keep_to_oneself,
    leave_no_bytecode,
    limit_memory,
    most_memory,
    questions,
    refuse_the_network,
    take_over_descriptors,
    take_over_input,
)
from pytest_bertsize.builder.offline import cut_off

OWN_MEMORY = 8 * 1024**3
"""Bytes of address space where a function of the project builds, and imports what it likes."""
BEGINS = b"begins "
"""What a fork says when it has imported what it builds with, before the most bytes of memory that it has had."""


def main() -> None:
    keep_to_oneself()
    gc.disable()
    answers = take_over_descriptors()
    try:
        versions = _imported()
    except BaseException as error:
        answer(answers, {"failed": in_words(error)})
        os._exit(1)
    gc.freeze()
    gc.enable()
    asked = take_over_input()
    forks = sys.platform.startswith("linux") and stat.S_ISSOCK(os.fstat(asked).st_mode)
    answer(answers, {"ready": {**versions, "python": platform.python_version()}, "forks": forks})
    sys.addaudithook(refuse_the_network)
    _serve(asked, answers)
    os._exit(0)


def _serve(asked: int, answers: int) -> None:
    """Build what is asked for, one model after the other, or fork others that do, and say how they ended."""
    for request in questions(asked):
        if "builder" in request:
            answer(answers, {"builder": _builder(asked)})
        elif "ended" in request:
            _, status = os.waitpid(request["ended"], 0)
            answer(answers, {"ended": os.waitstatus_to_exitcode(status)})
        else:
            answer(answers, {**_answer_to(request, answers), "name": request["name"]})


def _builder(asked: int) -> int:
    """Fork a process that has imported all that this one has, and builds what the two pipes that it is given ask for.

    It has nothing else of the gate's open, and has read of no model: neither those of others nor what they answer.
    """
    with socket.socket(fileno=os.dup(asked)) as connection:
        _, pipes, *_ = socket.recv_fds(connection, 1, 2)
    child = os.fork()
    if not child:
        try:
            close_all_but(*pipes)
            _serve(*pipes)
        finally:
            os._exit(0)
    for each in pipes:
        os.close(each)
    return child


def _imported() -> dict[str, str]:
    """The versions of torch and of transformers, which a project may be without whose classes are its own."""
    import torch

    try:
        import transformers
    except ModuleNotFoundError as error:
        if error.name != "transformers":
            raise
        return {"torch": str(torch.__version__)}
    import transformers.modeling_utils

    return {"torch": str(torch.__version__), "transformers": transformers.__version__}


def _answer_to(request: Mapping[str, Any], answers: int) -> dict[str, Any]:
    """What there is to say of one model."""
    if not request["factory"] and "transformers" not in sys.modules:
        return {"error": f"{NOT_IMPORTED}: ModuleNotFoundError: No module named 'transformers'"}
    begin = partial(_say_building, request, answers)
    if is_own_code(request) or request["device"] == "cpu":  # memory that a fork has taken is given back with it
        whose = "the process of the project's code" if is_own_code(request) else "the process that builds it"
        return _built_in_fork(request, whose, begin)
    return _built(request, lambda: begin(os.getpid(), most_memory()))


def _say_building(request: Mapping[str, Any], answers: int, process: int, memory: int) -> None:
    """From here on the parent watches the memory."""
    answer(answers, {"building": request["name"], "process": process, "memory": memory})


def _built_in_fork(request: Mapping[str, Any], whose: str, say: Callable[[int, int], None]) -> dict[str, Any]:
    """Build in a fork that has nothing of ours open but the way back, and return its answer.

    What it leaves behind, or whether it leaves at all, is no other model's business.

    :param say: called with the fork's number and memory, when it begins.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        close_all_but(writing)
        answer(writing, _built_offline(request, lambda: os.write(writing, b"%b%d\n" % (BEGINS, most_memory()))))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:  # noqa: PTH123  (a pipe)
        said = stream.readline(LONGEST_ANSWER)  # one line: what the code has forked may hold the pipe open
        if said.startswith(BEGINS) and (memory := said[len(BEGINS) :].strip()).isdigit():
            say(child, int(memory))
            said = stream.readline(LONGEST_ANSWER)
    whole = said.endswith(b"\n") or len(said) == LONGEST_ANSWER
    if whole:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not whole:
        return {"error": cause_of_death(os.waitstatus_to_exitcode(status), whose)}
    return _object_in(said) or {"error": f"{whose} answered nonsense"}


def _object_in(said: bytes) -> dict[str, Any]:
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _built_offline(request: Mapping[str, Any], begin: Callable[[], object]) -> dict[str, Any]:
    leave_no_bytecode()
    cut_off()
    return _built(request, begin)


def _built(request: Mapping[str, Any], begin: Callable[[], object]) -> dict[str, Any]:
    """Build what is asked for.

    :param begin: called when what makes it is imported.
    """
    try:
        prepare(request)
        problems: dict[str, str] = {}
        limit_memory(request["memory"] + (OWN_MEMORY if request["factory"] else MEMORY_ABOVE_IMPORT))
        begin()
        model = instantiate(request)
        found = take_inventory(model, own=is_own_code(request) or bool(request["modules"]))
        config = config_said(request) if request["asked"] else None
        flops = _tried("flops", problems, partial(_operations, model, request)) if request["seq_len"] else None
    except BaseException as error:
        return {"error": in_words(error, request["root"]), "fix": way_out(error, request)}
    if REFUSED:
        return {"error": f"{REFUSED[0]}, {WENT_ON}", "fix": REFUSED[0].fix}
    loading = _tried("loading", problems, partial(_loading, model, request["filed"]))
    also: dict[str, Any] = {"flops": flops, "config": config, "loading": loading, "answered": answers() or None}
    also["stood_in"] = [*STOOD_IN] or None
    also |= {
        library: str(getattr(sys.modules.get(library), "__version__", "")) for library in ("transformers", "torch")
    }
    also["problems"] = problems
    return {**found, **{what: said for what, said in also.items() if said is not None}}


def _tried(what: str, problems: dict[str, str], ask: Callable[[], Any]) -> Any:
    """What is asked for beside the model; why there is none goes to ``problems``."""
    try:
        return ask()
    except Exception as error:
        problems[what] = in_words(error)
        return None


def _loading(model: Any, filed: list[Any]) -> dict[str, Any] | None:
    from pytest_bertsize.builder.child.loading import loading

    return loading(model, [(name, tuple(shape)) for name, shape in filed]) if filed else None


def _operations(model: Any, request: Mapping[str, Any]) -> list[Any]:
    from pytest_bertsize.builder.child.flops import counted

    return counted(model.to("meta"), seq_len=request["seq_len"])


if __name__ == "__main__":
    main()
