"""``config = "pkg.cfg:make"``: made by the project's code in a process of its own, or refused in one sentence."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.config import by_code, source
from pytest_bertsize.config.source import ALLOWED, PLAIN, Disk, read
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings

if TYPE_CHECKING:
    from pytest_bertsize.config.model_config import ModelConfig

NOT_MADE = "the config was not made: "
NO_JSON = " cannot be written as JSON: "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "pkg").mkdir(parents=True)
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process give the answer that one of its own would give."""

    def answer(_module: str, asked: Mapping[str, Any], *_: object, **__: object) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(by_code, "limit_memory", lambda: None)
            importlib.invalidate_caches()
            for name in [each for each in sys.modules if each.partition(".")[0] == "pkg"]:
                del sys.modules[name]
            return json.loads(json.dumps(by_code._answer_question(asked)))

    monkeypatch.setattr(own_process, "answer_of", answer)


def made(root: Path, body: str, reference: str = "pkg.cfg:make") -> ModelConfig:
    (root / "pkg/cfg.py").write_text(textwrap.dedent(body), encoding="utf-8")
    return Disk(root).made_by_code(reference)


def refused(root: Path, body: str, reference: str = "pkg.cfg:make") -> Finding:
    with pytest.raises(Unusable) as unusable:
        made(root, body, reference)
    (finding,) = unusable.value.findings
    assert (finding.kind, finding.severity, finding.line) == ("config-invalid", "error", None)
    assert finding.file == reference.partition("#")[0]
    return finding


def test_the_code_runs_as_it_is_now_in_the_project_and_without_input(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python takes bytecode for that of a file with the same second and length."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    body = "import os, sys\nprint('{}')\ndef make():\n"
    body += "    return {'folder': os.getcwd(), 'first': sys.path[0], 'read': sys.stdin.read(), 'layers': %s}"
    for layers in (12, 13):
        (root / "pkg/cfg.py").write_text(body % layers, encoding="utf-8")
        os.utime(root / "pkg/cfg.py", (0, 0))
        found = Disk(root).made_by_code("pkg.cfg:make")
        assert found.data == {"folder": str(root), "first": str(root), "read": "", "layers": layers}
    assert not list(root.rglob("__pycache__"))


# what is taken

CODE = """
import argparse, pathlib
from collections import UserDict
from dataclasses import dataclass, field
from enum import Enum, IntEnum

class Act(str, Enum):
    GELU = "gelu"

class Size(IntEnum):
    BASE = 768

def a_dict(): return {"sizes": (1, 2.5), "id2label": {0: "O"}, "none": None, "act": Act.GELU, "width": Size.BASE}

class Base:
    vocab_size = 9

class Own(Base):
    _private = 1
    def __init__(self): self.layers = 3
    @property
    def intermediate_size(self): return 4 * self.vocab_size
    def method(self): return 1
    def __call__(self): return {}

@dataclass
class Data:
    hidden_size: int = 768
    inner: Own = field(default_factory=Own)

class Library:
    def to_dict(self): return {"hidden_size": 768}

class CfgNode(dict):  # as in yacs
    __getattr__ = dict.__getitem__

class Configs:
    @staticmethod
    def make(): return {"hidden_size": 768}

OBJECT, LIBRARY = Own(), Library()
A_MAPPING = UserDict(hidden_size=768)
NAMESPACE = argparse.Namespace(sizes=argparse.Namespace(hidden_size=768))
NODE = CfgNode(MODEL=CfgNode(hidden_size=768))
"""
WIDTH = {"hidden_size": 768}
OWN = {"vocab_size": 9, "intermediate_size": 36, "layers": 3}
TAKEN: dict[str, object] = {
    "a_dict": {"sizes": [1, 2.5], "id2label": {"0": "O"}, "none": None, "act": "gelu", "width": 768},
    "Data": {**WIDTH, "inner": OWN},
    "Data#inner": OWN,
    "Own": OWN,
    "OBJECT": OWN,
    "NAMESPACE": {"sizes": WIDTH},
    **dict.fromkeys(("LIBRARY", "A_MAPPING", "Configs.make", "NODE#MODEL"), WIDTH),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", TAKEN)
def test_what_the_code_has_or_returns_is_the_config(root: Path, name: str) -> None:
    config = made(root, CODE, f"pkg.cfg:{name}")
    file, _, inner = f"pkg.cfg:{name}".partition("#")
    assert config.data == TAKEN[name]
    assert (config.file, config.reference, config.key_path) == (file, f"pkg.cfg:{name}", (inner,) if inner else ())
    assert config.line("hidden_size") is None
    assert config.sha256 == hashlib.sha256(json.dumps(TAKEN[name], sort_keys=True).encode()).hexdigest()


MIXED = """
import argparse, numpy, pathlib
LOOP = {}
LOOP["loop"] = LOOP
def make():
    return {"hidden_size": 768, "log": pathlib.Path("log"), "model": {"x": 1, "device": object()}, **LOOP,
            "a": {"b": [1, numpy.int64(3)]}, "big": 10**5000}
"""
ODD = {
    "log": "a pathlib.PosixPath is not plain data",
    "model": "an object is not plain data",
    "loop": "Circular reference detected",
    "a": "a numpy.int64 is not plain data",
    "big": "a number with thousands of digits",
}


@pytest.mark.usefixtures("here")
def test_what_is_not_plain_is_told_where_it_is_read(root: Path) -> None:
    """A training script's constants have paths and devices beside the sizes."""
    config = made(root, MIXED)
    assert config.data["hidden_size"] == 768
    assert config.unknown == {key: (f"{key}{NO_JSON}{why}", PLAIN) for key, why in ODD.items()}
    assert (config.why_unknown("log"), config.why_unknown("hidden_size")) == (config.unknown["log"], None)
    settings = Settings(root / "pyproject.toml", "", {})
    (root / "pkg/own.py").write_text(MIXED, encoding="utf-8")
    declared = Model(name="m", config="pkg.own:make", closed_form=False, architecture="Own", budget=Budget())
    with pytest.raises(Unusable, match=r"log cannot be written"):  # its class would be given it
        read(declared, settings)
    assert read(declared.replace(overrides=dict.fromkeys(ODD, 1)), settings).data["hidden_size"] == 768


# what is refused

NO_CONFIG = "return a dict with the keys of config.json, or a name of the hub"
ONE_MODEL = "name one model's config"
LINES = {  # each of another length: Python takes an equally long module of the same second for the one before
    "raise KeyError('key')": (f"{NOT_MADE}it raised KeyError: 'key' (pkg/cfg.py:3)", by_code.CORRECT),
    "raise SystemExit(0)": (f"{NOT_MADE}it raised SystemExit: 0 (pkg/cfg.py:3)", by_code.CORRECT),
    "import pytest; pytest.skip('no')": (f"{NOT_MADE}it raised Skipped: no (pkg/cfg.py:3)", by_code.CORRECT),
    "pass": (f"{NOT_MADE}it is None, not a config", NO_CONFIG),
    "return object()": (f"{NOT_MADE}it is an object, not a config", NO_CONFIG),
    "return {'a': float('nan')}": ("a is nan, which JSON cannot hold", "write a plain value"),
    "return {'a': 'x' * 1100000}": ("the config is larger than 1,048,576 bytes", ONE_MODEL),
    "return {str(i): i for i in range(3000)}": ("an object has 3,000 keys, more than 2,000", ONE_MODEL),
}
NAMES = "class Sizes:\n    def __init__(self, path): pass\nSIZES = []\ndef make(): return {'model': 1}"
REFUSED = {
    "cfg:mak": f"{NOT_MADE}it raised AttributeError: module 'pkg.cfg' has no attribute 'mak'",
    "cfg:SIZES": f"{NOT_MADE}it is a list, not a config",
    "cfg:Sizes": f"{NOT_MADE}it raised TypeError: Sizes.__init__() missing 1 required positional argument: 'path'",
    "cfh:make": f"{NOT_MADE}it raised ModuleNotFoundError: No module named 'pkg.cfh'",
    "cfg:make#bert": 'the file has no key "bert"; it has "model"',
}


@pytest.mark.usefixtures("here")
def test_whatever_the_code_does_there_is_one_sentence(root: Path) -> None:
    for line, said in LINES.items():
        finding = refused(root, f"import os\ndef make():\n    {line}")
        assert (finding.message, finding.fix) == said
    for name, message in REFUSED.items():
        assert refused(root, NAMES, f"pkg.{name}").message == message
    assert refused(root, "def (").message == f"{NOT_MADE}it raised SyntaxError: invalid syntax (cfg.py, line 1)"


OF_THE_PROCESS = {
    "os._exit(0)": "its process ended early, with status 0",
    "os.kill(os.getpid(), 9)": "its process was killed by SIGKILL",
    "os.write(3, b'[]\\n')": "its process sent an unreadable answer",
    "return {'a': 'x' * 2200000}": "its process answered more than 2,097,152 bytes",
}


@pytest.mark.parametrize("line", OF_THE_PROCESS)
def test_whatever_becomes_of_its_process_there_is_one_sentence(root: Path, line: str) -> None:
    finding = refused(root, f"import os\ndef make():\n    {line}")
    assert (finding.message, finding.fix) == (f"{NOT_MADE}{OF_THE_PROCESS[line]}", source.MEND)


@pytest.mark.parametrize("line", ["while True: pass", "import os; os.fork() and time.sleep(60)"])
def test_what_does_not_end_is_ended(root: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ALLOWED", {**ALLOWED, "seconds": 0.7})
    started = time.monotonic()
    message = refused(root, f"import time\ndef make():\n    {line}\n    time.sleep(60)").message
    assert message == f"{NOT_MADE}it was not done within 0.7 s"
    assert time.monotonic() - started < 20


def test_what_takes_too_much_memory_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ALLOWED", {**ALLOWED, "memory": 128 * MEGABYTE})
    finding = refused(root, "import time\ndef make():\n    taken = b'x' * 300 * 1024**2\n    time.sleep(60)")
    assert finding.message == f"{NOT_MADE}it took more than 128 MB of memory"
