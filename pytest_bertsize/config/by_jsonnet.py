"""The process in which a jsonnet file is evaluated: it imports files of the project, and nothing else."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from pytest_bertsize.builder.confined import (
    answer,
    keep_to_oneself,
    limit_memory,
    question,
    refuse_the_network,
    take_over_descriptors,
)

LIBRARIES = ("rjsonnet", "_jsonnet")
LARGEST = 1024 * 1024
"""Bytes of a file that is imported."""


def main() -> None:
    keep_to_oneself()
    answers = take_over_descriptors()
    asked = question()
    sys.addaudithook(refuse_the_network)
    answer(answers, _evaluated(asked))
    os._exit(0)


def _evaluated(asked: dict[str, str]) -> dict[str, Any]:
    library = next(filter(None, map(_imported, LIBRARIES)), None)
    if library is None:
        return {"absent": True}
    limit_memory()
    root = Path(asked["root"]) if asked["root"] else None
    name = str(root / asked["file"]) if root else asked["file"]
    try:
        imports = _Imports(root, as_text=library.__name__ == "rjsonnet")
        said = library.evaluate_snippet(name, asked["text"], import_callback=imports)
        return {"value": json.loads(said)}
    except BaseException as error:  # noqa: BLE001  (one library has an exception of its own, the other panics)
        return {"message": _in_a_line(str(error), asked["root"]), "line": _line(str(error), name)}


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class _Imports:
    """Finds what a file imports: beside it, and in the project."""

    def __init__(self, root: Path | None, *, as_text: bool) -> None:
        """:param as_text: what one library takes; the other takes bytes."""
        self._root = root
        self._as_text = as_text

    def __call__(self, folder: str, name: str) -> tuple[str, bytes | str]:
        if self._root is None:
            raise RuntimeError(f"it imports {name}, which is not read at another revision")
        path = (Path(folder) / name).resolve()
        if not path.is_relative_to(self._root):
            raise RuntimeError(f"it imports {name}, which lies outside the project")
        if not path.is_file():
            raise RuntimeError(f"it imports {name}, which is no file")
        content = path.read_bytes()
        if len(content) > LARGEST:
            raise RuntimeError(f"it imports {name}, which is larger than {LARGEST:,} bytes")
        return str(path), content.decode() if self._as_text else content


def _in_a_line(message: str, root: str) -> str:
    """The first line, without the paths of this machine."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = lines[0] if lines else "it cannot be evaluated"
    said = said.removeprefix("import_callback error: ").removeprefix("RuntimeError: ")
    return said.replace(f"{root}/", "") if root else said


def _line(message: str, file: str) -> int | None:
    found = re.search(rf"{re.escape(file)}:\(?(\d+)[:)]", message)
    return int(found[1]) if found else None


if __name__ == "__main__":
    main()
