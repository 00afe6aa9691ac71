"""Read the answers of the helper process, which are never trusted, and suggest a fix for each failure."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any

import msgspec

from pytest_bertsize.builder.messages import Answer, Built, Frame, NotBuilt, Why
from pytest_bertsize.wording import printable, shown

LONGEST_REASON = 700  # characters of a failure that are shown: torch's sentences end with its advice
_UNESCAPED = frozenset({"tensors", "declared_ties", "loading", "flops"})  # names here are compared with other names
_CONTENTS: Mapping[str, Any] = {  # the type of a frame's content, by the frame's kind
    "ready": dict[str, str],
    "failed": str,
    "refused": str,
    "forked": Annotated[int, msgspec.Meta(gt=0)],
    "begun": Annotated[int, msgspec.Meta(ge=0)],
    "died": int,
    "nonsense": Any,
}


def read_content(frame: Frame) -> Any:
    """Decode a frame of the helper process.

    :raises ValueError: for an unknown kind, or for content of another type.
    """
    if frame.kind == "answer":
        return read_answer(frame.content)
    if frame.kind not in _CONTENTS:
        raise ValueError(frame.kind)
    return msgspec.json.decode(frame.content, type=_CONTENTS[frame.kind])


def read_answer(content: bytes) -> Built | NotBuilt:
    """Decode an :class:`Answer`; raise a ``ValueError`` for anything else."""
    built, failed = msgspec.json.decode(content, type=Answer)
    if failed:
        detail, fix = (printable(text, LONGEST_REASON) for text in (failed.detail, failed.fix))
        return failed._replace(detail=detail, fix=fix)
    if built is None:
        raise ValueError("the answer has neither a model nor the reason why there is none")
    return check_built(built) if built.tensors else NotBuilt(Why.RAISED, "it has no parameters")


def check_built(built: Built) -> Built | NotBuilt:
    """Return a build with its texts escaped, a ``NotBuilt`` for an unprintable name; raise for a negative number."""
    numbers = [size for tensor in built.tensors for size in tensor.shape]
    numbers += [number for each in built.buffers for number in (each.numbers, each.bytes)]
    numbers += [each.numbers for each in built.hidden]
    numbers += [flops for _, flops in built.flops or ()]
    numbers += [size for *_, shape in (built.loading.rows if built.loading else ()) for size in shape]
    if min(numbers, default=0) < 0:
        raise ValueError("a build has a negative number")
    if odd := next((each.name for each in built.tensors if each.name != printable(each.name)), None):
        return NotBuilt(Why.RAISED, f"it has a parameter named {shown(odd)}")
    escaped = {key: _escape(value) for key, value in built._asdict().items() if key not in _UNESCAPED}
    return built._replace(**{**escaped, "stood_in": tuple(printable(each, LONGEST_REASON) for each in built.stood_in)})


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, tuple):
        return type(value)._make(map(_escape, value)) if hasattr(value, "_make") else tuple(map(_escape, value))
    if isinstance(value, dict):
        return {key: _escape(each) for key, each in value.items()}
    return value


# fixes

_FIXES: Mapping[Why, str] = {
    Why.ON_WINDOWS: "check it without a build there (--no-build), or build it on Linux, WSL or macOS",
    Why.NO_TORCH: (
        "pip install 'pytest-bertsize[build]', name the project's own environment (python = \".venv/bin/python\" in "
        "[tool.bertsize]), or check budgets by the closed form alone (bertsize check --no-build)"
    ),
    Why.NO_PYTHON: 'name a Python of 3.9 or newer that has torch, as in python = ".venv/bin/python"',
    Why.SLOW_IMPORT: "run it again on a less busy machine",
    Why.KILLED: "the system kills processes when memory runs out: run it with more memory",
    Why.CRASHED: "change the code that ends the process, or try another release of torch or transformers",
    Why.NO_PEFT: "pip install 'pytest-bertsize[peft]' where the model is built, in a release that fits transformers",
    Why.ON_META: 'build it with values: build.device = "cpu"',
    Why.NO_MODULE: "add the folder of a module of your own to pytest's pythonpath, or install it, or correct its name",
    Why.NO_CLASS: "install a version of transformers that has it, or correct the name",
    Why.ARGUMENTS: "write kwargs, or a function of the project that calls it with its arguments",
    Why.NO_FILE: (
        "a count needs no weights: load them only if their file exists (if Path(file).exists()), and commit any other "
        "file to the project"
    ),
}


def suggest_fix(failed: NotBuilt, *, own: bool) -> str:
    """Suggest a fix for a model that was not built; ``own`` is true if a function of the project builds it."""
    if failed.fix:
        return failed.fix
    if failed.kind is Why.NO_TORCH and failed.python:
        return f"install them there: {failed.python} -m pip install torch transformers"
    if failed.lacks_memory or failed.kind is Why.TIME:
        most, more = 600, f"build.seconds = {min(4 * failed.limit, 600):g}"
        if failed.lacks_memory:
            most, more = 16_000, f'build.memory = "{min(2 * ceil(failed.limit / 1_000) or 2, 16)}GB"'
        instead = "build nothing but the module, on the default device" if own else "declare a smaller model"
        return instead if failed.limit >= most else f"{instead}, or allow more: {more}"
    return _FIXES.get(failed.kind) or (
        "fix the factory, or the code that it calls" if own else "correct the value that the class refuses"
    )
