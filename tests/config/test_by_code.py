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
from typing import Any

import pytest

from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import Allowed
from pytest_bertsize.config import by_code
from pytest_bertsize.config.model_config import ModelConfig
from pytest_bertsize.config.source import ALLOWED, _made_by_code, read
from pytest_bertsize.findings import Finding, Unusable
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import Settings

NOT_MADE = "the config was not made: "
MEND, CALL = "fix the function", "fix the function, or name a file"
RETURN = "return a dict with the keys of config.json, or a name of the hub"
NO_JSON = " cannot be written as JSON: "
PLAIN = "make it a plain number, string, list or dict"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "pkg").mkdir(parents=True)
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process give the answer that one of its own would give."""

    def answer(_module: str, asked: Mapping[str, Any], *_: object) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "path", [*sys.path])
            patch.setattr(by_code, "limit_memory", lambda: None)
            importlib.invalidate_caches()
            for name in [each for each in sys.modules if each.partition(".")[0] == "pkg"]:
                del sys.modules[name]
            return json.loads(json.dumps(by_code._answer_question(asked)))

    monkeypatch.setattr(own_process, "answer_of", answer)


def made(root: Path, body: str, reference: str = "pkg.cfg:make", allowed: Allowed = ALLOWED) -> ModelConfig:
    (root / "pkg/cfg.py").write_text(textwrap.dedent(body), encoding="utf-8")
    found = _made_by_code(root, reference, allowed)
    assert isinstance(found, ModelConfig)
    return found


def refused(root: Path, body: str, reference: str = "pkg.cfg:make", allowed: Allowed = ALLOWED) -> Finding:
    with pytest.raises(Unusable) as unusable:
        made(root, body, reference, allowed)
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
        found = _made_by_code(root, "pkg.cfg:make")
        assert isinstance(found, ModelConfig)
        assert found.data == {"folder": str(root), "first": str(root), "read": "", "layers": layers}
    assert not list(root.rglob("__pycache__"))


# what is taken

DICT = "def make(): return {'vocab_size': 30522, 'id2label': {0: 'O'}, 'sizes': (1, 2.5), 'none': None, 'on': True}"
SAID = {"vocab_size": 30522, "id2label": {"0": "O"}, "sizes": [1, 2.5], "none": None, "on": True}
TAKEN = {
    "a dict": (DICT, SAID),
    "a dataclass": (
        """
        from dataclasses import dataclass, field
        @dataclass
        class Inner:
            heads: int = 12
        @dataclass
        class make:
            hidden_size: int = 768
            attention: Inner = field(default_factory=Inner)
        """,
        {"hidden_size": 768, "attention": {"heads": 12}},
    ),
    "members of enumerations": (
        """
        from enum import Enum, IntEnum
        class Act(str, Enum):
            GELU = "gelu"
        class Size(IntEnum):
            BASE = 768
        def make(): return {"hidden_act": Act.GELU, "hidden_size": Size.BASE}
        """,
        {"hidden_act": "gelu", "hidden_size": 768},
    ),
    "attributes of a class, of an object and of its base": (
        """
        class Base:
            vocab_size = 9
        class make(Base):
            hidden_size = 768
            def __init__(self): self.layers = 3
            @property
            def intermediate_size(self): return 4 * self.hidden_size
            def method(self): return 1
        """,
        {"vocab_size": 9, "hidden_size": 768, "intermediate_size": 3072, "layers": 3},
    ),
    "a Namespace": (
        "import argparse\ndef make(): return argparse.Namespace(sizes=argparse.Namespace(hidden_size=768))",
        {"sizes": {"hidden_size": 768}},
    ),
    "a method": ("class Configs:\n    @staticmethod\n    def make(): return {'a': 1}", {"a": 1}),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("what", TAKEN)
def test_what_the_code_returns_is_the_config(root: Path, what: str) -> None:
    body, data = TAKEN[what]
    reference = "pkg.cfg:Configs.make" if what == "a method" else "pkg.cfg:make"
    config = made(root, body, reference)
    assert config.data == data
    assert (config.file, config.reference, config.key_path) == (reference, reference, ())
    assert config.line("hidden_size") is None
    assert config.sha256 == hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


@pytest.mark.usefixtures("here")
def test_an_object_in_it_is_named_as_in_a_file(root: Path) -> None:
    config = made(root, "def make(): return {'model': {'bert': {'hidden_size': 4}}}", "pkg.cfg:make#model.bert")
    assert (config.data, config.reference) == ({"hidden_size": 4}, "pkg.cfg:make#model.bert")
    finding = refused(root, "def make(): return {'model': 1}", "pkg.cfg:make#bert")
    assert finding.message == 'the file has no key "bert"; it has "model"'


CONSTANTS = """
import argparse, pathlib
from collections import UserDict

class Plain:
    hidden_size = 768

class Library:
    def to_dict(self): return {"hidden_size": 768}

class CfgNode(dict):  # as in yacs
    __getattr__ = dict.__getitem__

PLAIN, LIBRARY = Plain(), Library()
A_MAPPING = UserDict(hidden_size=768)
NAMESPACE = argparse.Namespace(hidden_size=768)
NODE = CfgNode(MODEL=CfgNode(hidden_size=768))
MIXED = {"hidden_size": 768, "log": pathlib.Path("log"), "model": {"x": 1, "device": object()}}
"""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["Plain", "PLAIN", "LIBRARY", "A_MAPPING", "NAMESPACE", "NODE#MODEL"])
def test_what_is_there_already_is_the_config(root: Path, name: str) -> None:
    assert made(root, CONSTANTS, f"pkg.cfg:{name}").data == {"hidden_size": 768}


@pytest.mark.usefixtures("here")
def test_what_is_not_plain_is_told_where_it_is_read(root: Path) -> None:
    """A training script's constants have paths and devices beside the sizes."""
    config = made(root, CONSTANTS, "pkg.cfg:MIXED")
    assert config.data["hidden_size"] == 768
    assert [*config.unknown] == ["log", "model"]
    assert config.why_unknown("log") == (f"log{NO_JSON}a pathlib.PosixPath is not plain data", PLAIN)
    assert config.why_unknown("model") == (f"model{NO_JSON}an object is not plain data", PLAIN)
    assert config.why_unknown("hidden_size") is None
    settings = Settings(root / "pyproject.toml", "", {})
    (root / "pkg/own.py").write_text(CONSTANTS, encoding="utf-8")
    declared = Model(name="m", config="pkg.own:MIXED", closed_form=False, architecture="Own", budget=Budget())
    with pytest.raises(Unusable, match="an object is not plain"):  # its class would be given them
        read(declared, settings)
    assert read(declared.replace(overrides={"log": "log", "model": {}}), settings).data["hidden_size"] == 768


# what is refused

CODE = {
    "raise KeyError('x')": (f"{NOT_MADE}it raised KeyError: 'x' (pkg/cfg.py:3)", MEND),
    "raise SystemExit(0)": (f"{NOT_MADE}it raised SystemExit: 0 (pkg/cfg.py:3)", MEND),
    "import pytest; pytest.skip('not here')": (f"{NOT_MADE}it raised Skipped: not here (pkg/cfg.py:3)", MEND),
    "pass": (f"{NOT_MADE}it returned None, not a config", RETURN),
    "return object()": (f"{NOT_MADE}it returned an object, not a config", RETURN),
    "import numpy; return {'a': {'b': [1, numpy.int64(3)]}}": (
        f"{NOT_MADE}a{NO_JSON}a numpy.int64 is not plain data",
        PLAIN,
    ),
    "return {'a': float('nan')}": ("a is nan, which JSON cannot hold", "write a plain value"),
    "return {'a': 10**5000}": (f"{NOT_MADE}a{NO_JSON}a number with thousands of digits", PLAIN),
    "d = {}; d['d'] = d; return d": (f"{NOT_MADE}d{NO_JSON}Circular reference detected", PLAIN),
    "return {'a': 'x' * 1100000}": ("the config is larger than 1,048,576 bytes", "name one model's config"),
    "return {str(i): i for i in range(3000)}": ("an object has 3,000 keys, more than 2,000", "name one model's config"),
}
OF_THE_PROCESS = {
    "os._exit(0)": "its process ended early, with status 0",
    "os.kill(os.getpid(), 9)": "its process was killed by SIGKILL",
    "os.write(3, b'[]\\n')": "its process sent an unreadable answer",
    "return {'a': 'x' * 2200000}": "its process answered more than 2,097,152 bytes",
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", CODE)
def test_whatever_the_code_does_there_is_one_sentence(root: Path, line: str) -> None:
    finding = refused(root, f"import os\ndef make():\n    {line}")
    assert (finding.message, finding.fix) == CODE[line]


@pytest.mark.parametrize("line", OF_THE_PROCESS)
def test_whatever_becomes_of_its_process_there_is_one_sentence(root: Path, line: str) -> None:
    finding = refused(root, f"import os\ndef make():\n    {line}")
    assert (finding.message, finding.fix) == (f"{NOT_MADE}{OF_THE_PROCESS[line]}", CALL)


NO_MODULE = "there is no module pkg.cfh: not in the folder of pyproject.toml or its src, not in the pythonpath of "
NAMES = "class Sizes:\n    def __init__(self, path): pass\nSIZES = []\ndef make(): return {}"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("body", "name", "why", "fix"),
    [
        (NAMES, "cfg:mak", "pkg.cfg has no mak", "did you mean make?"),
        (NAMES, "cfg:SIZES", "SIZES is a list, which is not a config and cannot be called", RETURN),
        (NAMES, "cfg:Sizes", "Sizes(path) is called without arguments", "write a function that needs none"),
        (NAMES, "cfh:make", f"{NO_MODULE}pytest, and not installed", "write MODULE:FUNCTION"),
        ("import no", "cfg:make", "it raised ModuleNotFoundError: No module named 'no' (pkg/cfg.py:1)", MEND),
        ("\nraise ImportError('no')", "cfg:make", "it raised ImportError: no (pkg/cfg.py:2)", MEND),
        ("def (", "cfg:make", "it raised SyntaxError: invalid syntax (cfg.py, line 1)", MEND),
    ],
)
def test_a_name_that_means_nothing_and_a_module_that_is_not_imported_are_refused(
    root: Path, body: str, name: str, why: str, fix: str
) -> None:
    finding = refused(root, body, f"pkg.{name}")
    assert (finding.message, finding.fix) == (f"{NOT_MADE}{why}", fix)


@pytest.mark.parametrize("line", ["while True: pass", "import os; os.fork() and time.sleep(60)"])
def test_what_does_not_end_is_ended(root: Path, line: str) -> None:
    started = time.monotonic()
    body = f"import time\ndef make():\n    {line}\n    time.sleep(60)"
    message = refused(root, body, allowed=Allowed(0.7, ALLOWED.memory, ALLOWED.answer)).message
    assert message == f"{NOT_MADE}it was not done within 0.7 s"
    assert time.monotonic() - started < 20


def test_what_takes_too_much_memory_is_ended(root: Path) -> None:
    body = "import time\ndef make():\n    taken = b'x' * 300 * 1024**2\n    time.sleep(60)"
    finding = refused(root, body, allowed=Allowed(30.0, 128 * MEGABYTE, ALLOWED.answer))
    assert finding.message == f"{NOT_MADE}it took more than 128 MB of memory"
