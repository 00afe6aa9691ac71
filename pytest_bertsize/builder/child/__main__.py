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
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bertsize.builder.child.config_said import config_said
from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import instantiate, is_own_code, prepare
from pytest_bertsize.builder.confined import (
    ATTEMPTS,
    MEMORY_ABOVE_IMPORT,
    answer,
    in_words,
    leave_no_bytecode,
    limit_memory,
    question,
    refuse_the_network,
    take_over_descriptors,
)
from pytest_bertsize.builder.own_process import cause_of_death, memory_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OWN_MEMORY = 8 * 1024**3
"""Bytes of address space where a function of the project builds, and imports what it likes."""


def main() -> None:
    gc.disable()
    answers = take_over_descriptors()
    try:
        import torch
        import transformers
        import transformers.modeling_utils
    except BaseException as error:
        answer(answers, {"failed": in_words(error)})
        os._exit(1)
    gc.freeze()
    gc.enable()
    answer(answers, {"ready": {"torch": str(torch.__version__), "transformers": transformers.__version__}})
    requests = question() or []
    sys.addaudithook(refuse_the_network)
    for request in requests:
        answer(answers, {"name": request["name"], **_in_a_process_of_its_own(request, answers)})
    os._exit(0)


def _in_a_process_of_its_own(request: Mapping[str, Any], answers: int) -> dict[str, Any]:
    """What code of the project leaves behind, or whether it leaves at all, is no other model's business."""
    if not is_own_code(request):
        return _built(request, answers)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        leave_no_bytecode()
        answer(writing, _built(request, answers))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:  # noqa: PTH123  (a pipe)
        said = stream.readline()  # one line: what the code has forked may hold the pipe open
    if said.endswith(b"\n"):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if said.endswith(b"\n"):
        found: dict[str, Any] = json.loads(said)
        return found
    return {"error": cause_of_death(os.waitstatus_to_exitcode(status), "the process of the project's code")}


def _built(request: Mapping[str, Any], answers: int) -> dict[str, Any]:
    """Build what is asked for; from the import of what makes it on, the parent watches the memory."""
    try:
        prepare(request)
        problems: dict[str, str] = {}
        stored = _tried("stored", problems, partial(_stored_in, request)) if request["checkpoint"] else None
        limit_memory(OWN_MEMORY if request["factory"] else MEMORY_ABOVE_IMPORT)
        answer(answers, {"building": request["name"], "process": os.getpid(), "memory": memory_of("self")})
        model = instantiate(request)
        found = take_inventory(model, own=is_own_code(request))
        config = config_said(request) if request["asked"] else None
        flops = _tried("flops", problems, partial(_operations, model, request)) if request["seq_len"] else None
    except BaseException as error:
        return {"error": in_words(error, request["root"]), "fix": getattr(error, "fix", "")}
    if ATTEMPTS:
        return {"error": f"it reached for the network ({ATTEMPTS[0]}), and took no for an answer"}
    also = {"stored": stored, "flops": flops, "config": config}
    return {**found, **{what: rows for what, rows in also.items() if rows is not None}, "problems": problems}


def _tried(what: str, problems: dict[str, str], ask: Callable[[], list[Any]]) -> list[Any] | None:
    """What is asked for beside the model; why there is none goes to ``problems``."""
    try:
        return ask()
    except Exception as error:
        problems[what] = in_words(error)
        return None


def _stored_in(request: Mapping[str, Any]) -> list[Any]:
    from pytest_bertsize.builder.child.pickled import stored_rows

    return stored_rows(request["checkpoint"])


def _operations(model: Any, request: Mapping[str, Any]) -> list[Any]:
    from pytest_bertsize.builder.child.flops import counted

    return counted(model, seq_len=request["seq_len"])


if __name__ == "__main__":
    main()
