"""Draw when pytest and the helper process work, and when each waits: ``python benchmarks/timeline.py``, one model."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from time import monotonic

from measuring import run
from projects import GATE, many, write_project

RUN = """
import sys
from time import monotonic
marks = {"pytest starts": float(sys.argv[1])}
import atexit, json, pathlib
from pytest_bertsize.builder.helper import Helper

def mark(method, before, after):
    def marking(*arguments):
        marks.setdefault(before, monotonic())
        try:
            return method(*arguments)
        finally:
            marks[after] = monotonic()
    return marking

def take(helper, frame):
    marks[{"ready": "imported", "begun": "builds", "answer": "built"}.get(frame.kind, frame.kind)] = monotonic()
    return taken(helper, frame)

taken, Helper._take_frame = Helper._take_frame, take
Helper.start = mark(Helper.start, "helper starts", "helper started")
Helper.result = mark(Helper.result, "waits", "has all")
atexit.register(lambda: pathlib.Path("marks.json").write_text(json.dumps(marks)))
sys.argv[:] = ["pytest", *sys.argv[2:]]
import pytest
sys.exit(pytest.main())
"""
WIDTH = 100


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = write_project(Path(folder, "one"), many(1))
        for _ in range(2):  # the first fills caches
            start = monotonic()
            run("-c", RUN, str(start), *GATE[2:], folder=project)
            end = monotonic()
        marks = {what: at - start for what, at in json.loads((project / "marks.json").read_text()).items()}
    print(draw(marks, end - start), end="")


def draw(marks: dict[str, float], end: float) -> str:
    """Return two rows, one for each process, and the moments below them."""
    rows = {
        "pytest": [(0.0, marks["waits"], "█"), (marks["waits"], marks["has all"], "·"), (marks["has all"], end, "█")],
        "helper": [
            (marks["helper starts"], marks["imported"], "█"),
            (marks["imported"], marks["builds"], "·"),
            (marks["builds"], marks["built"], "▒"),
        ],
    }
    lines = [f"{end:.2f} s; █ works, ▒ builds the model, · waits for the other", ""]
    for who, spans in rows.items():
        cells = [" "] * WIDTH
        for first, last, sign in spans:
            for column in range(int(first / end * WIDTH), max(int(first / end * WIDTH) + 1, int(last / end * WIDTH))):
                cells[min(column, WIDTH - 1)] = sign
        lines.append(f"{who:7} {''.join(cells).rstrip()}")
    moments = ("helper starts", "waits", "imported", "builds", "built", "has all")
    lines += ["", " · ".join(f"{what} {marks[what]:.2f}" for what in moments)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
