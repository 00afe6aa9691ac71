"""A function of the project that builds its model: what it may do, and in which sentence it fails its model alone."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.builder.helper import Helper
from pytest_bertsize.builder.messages import Built, NotBuilt, Request, encode_frame
from pytest_bertsize.review.build_findings import check_hidden
from tests.builder.conftest import ask_helper

pytestmark = pytest.mark.process

Project = Callable[..., pytest.Pytester]

CUTS_OFF = sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64")

LIBRARY = '''
"""Factories, each by its name; line() is what most of them would build."""
import asyncio, gc, json, os, signal, subprocess, sys, threading, time
from collections import deque
from dataclasses import dataclass
from functools import partial
import torch
from torch import nn
from transformers import BertConfig, BertModel

def line(): return nn.Linear(3, 2)

class Holds(nn.Module):
    def __init__(self, held=None):
        super().__init__()
        self.line = line()
        self.held = held

class Subclass(nn.Parameter): pass

class Packed:
    """An object of the project's own."""
    def __init__(self, inner): self.inner = inner

@dataclass(slots=True)
class InSlots:
    inner: object

class OnItsClass(Holds):
    shared = nn.Linear(3, 2)

class Slotted(Holds):
    __slots__ = ("kept",)

BESIDE = [nn.Linear(3, 2)]

class UsesAName(Holds):
    def forward(self, x): return [each(x) for each in BESIDE]

def in_a_closure(inner): return lambda x: inner(x)

def with_buffer(numbers, dtype, **how):
    made = Holds(); made.register_buffer("qweight", torch.empty(numbers, dtype=dtype), **how); return made
'''

ENDED = "the code exited before it returned a model"

WRITES_TO_ALL = """
    for each in map(int, os.listdir('/dev/fd')):
        try: os.write(each, {!r})
        except OSError: pass
    time.sleep(60)"""
DISTURBS = """
    torch.set_default_dtype(torch.float64); torch.set_default_device("cpu"); torch.set_grad_enabled(False)
    os.chdir("/"); os.environ.clear(); sys.path.clear(); torch.manual_seed(0)
    nn.Linear.__init__ = nn.Module.__init__
    BertModel.__init__ = lambda self, *arguments, **named: nn.Module.__init__(self)
    nn.Module.named_parameters = lambda self, *arguments, **named: iter([])
    torch.Tensor.numel = lambda self: 0
    made = nn.Module(); made.only = nn.Parameter(torch.empty(1)); return made
"""
STARTS = (
    "done = subprocess.run([sys.executable, '-Ic', {!r}], capture_output=True, text=True)\n"
    "    raise RuntimeError(done.stderr.splitlines()[-1])"
)
NO_NETWORK = f"RuntimeError: OSError: [Errno {errno.ENETDOWN}] {os.strerror(errno.ENETDOWN)} (own.py:*)"

FAILING = r"""
raise RuntimeError(sorted(each.factory for each in gc.get_objects() if type(each).__name__ == 'Request'), sys.stdin.read())
→ RuntimeError: (['own:f1'], '') (own.py:*)
# what has no count
return nn.LazyLinear(3)
→ weight is a UninitializedParameter, whose shape does not count its parameters; *
made = line(); made.weight = Subclass(torch.empty(2, 3)); return made
→ weight is a Subclass, whose shape does not count its parameters; build the model before it is quantised, *
made = line(); made.weight = nn.Parameter(torch.empty(2, 3, dtype=torch.uint8), requires_grad=False); return made
→ weight has dtype uint8, which may pack several numbers in one; build the model before it is quantised
made = line(); made.weight = nn.Parameter(torch.empty(2, 3, dtype=torch.float4_e2m1fn_x2), requires_grad=False); return made
→ weight has dtype float4_e2m1fn_x2, which may pack several numbers in one; build the model before it is quantised
return with_buffer(50, torch.int32)
→ qweight is a buffer of 50 numbers of int32, which may pack several in one; build the model before it is *
made = line(); made.weight.ds_id = 1; return made
→ weight is partitioned by DeepSpeed ZeRO-3: its shape here is not the full one; call check_model before *
Holds.__module__ = 'keras.src.layers'; return Holds()
→ the model is a layer of Keras, whose weights torch does not list; write it in torch
made = Holds(); made._packed_params = 1; return made
→ the model is quantised: *
made = nn.Module(); made.a = nn.Parameter(torch.empty(0, 3)); return made
→ it has no parameters
made = Holds(); made.register_parameter('a\nb', nn.Parameter(torch.empty(2))); return made
→ it has a parameter named "a\nb"
# what torch does not see
return Holds([line(), line()])
→ torch does not see these parameters: 16 in held (list); assign each to self in the constructor: a tensor as a Parameter, *
made = Slotted({'a': line()}); object.__setattr__(made, 'kept', line())
made.c, made.d, made.e, Slotted.f = [nn.Parameter(torch.empty(1)), line()], [], [line()], line()
made.inner = nn.ModuleList([Holds((nn.Parameter(torch.empty(3)),)) for _ in range(3)]); return made
→ torch does not see these parameters: 8 in kept (Linear), 8 in held (dict), 9 in c (list), 8 in e (list),
  9 in inner.*.held (tuple) and 1 more; *
return Holds(lambda x, inner=line(): inner(x))
→ torch does not see these parameters: 8 in held (function); *
return Holds(Packed(line()))
→ torch does not see these parameters: 8 in held (Packed); *
made = Holds(); made.register_forward_hook(in_a_closure(line())); return made
→ torch does not see these parameters: 8 in _forward_hooks (OrderedDict); *
return OnItsClass()
→ torch does not see these parameters: 8 in shared of the class OnItsClass (Linear); *
return UsesAName()
→ torch does not see these parameters: 8 in forward of the class UsesAName (function); *
return Holds([line(), *([] for _ in range(500_001))])
→ the modules hold more than 500,000 objects up to held, a list, and the rest was not searched; keep *
return Holds(torch.empty(4, 4, requires_grad=True))
→ torch does not see these parameters: 16 in held (Tensor); *
# what is no module
return None
→ own:f* returned None; return a torch.nn.Module
return BertModel
→ own:f* returned <class '*BertModel'>; *
# what ends early
return (lambda f: f(f))(lambda f: f(f))
→ RecursionError: maximum recursion depth exceeded* (own.py:*)
os._exit(0)
→ *the project's code*with status 0
os.kill(os.getpid(), signal.SIGKILL)
→ *the project's code*was killed by SIGKILL
print('beside\nno GPU', end='  \n', file=sys.stderr); sys.exit(1)
→ the code exited before it returned a model: SystemExit: 1 (own.py:*), after it wrote 'no GPU' to stderr
import argparse; argparse.ArgumentParser().parse_args(['--x'])
→ the code exited before it returned a model: SystemExit: 2 (own.py:*), after it wrote 'unrecognized arguments: --x' to stderr
input(); return line()
→ EOFError: EOF when reading a line (own.py:*)
os.closerange(3, 256); return line()
→ *the project's code*
# the network
import socket; socket.getaddrinfo('example.org', 443)
→ it tried to use the network (socket.getaddrinfo) (own.py:*); read a file of the project, download *
return BertModel.from_pretrained('acme/none')
→ neither hub in * has the config of from_pretrained('acme/none') (own.py:*); run hf download acme/none config.json *
return line().load_state_dict(torch.load('best.pt'))
→ FileNotFoundError: * No such file or directory: 'best.pt' (own.py:*)
import socket; socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('127.0.0.1', 9)); return line()
→ *etwork* (own.py:*)
import socket
try: socket.create_connection(('127.0.0.1', 9))
except Exception: pass
return line()
→ it tried to use the network (socket.*)*
"""
"""What a factory does, line by line, and then what is said of it."""
FAILS: dict[str, tuple[str, str]] = {
    f"f{number}": (code.strip().replace("\n", "\n    "), said.replace("\n  ", " "))
    for number, (code, said) in enumerate(re.findall(r"((?:(?!→ ).*\n)+)→ (.*(?:\n  .*)*)\n", FAILING), 1)
}
NONSENSE = "the process of the project's code sent an unreadable answer"
FAILS |= {"disturbs": (DISTURBS, "it has no parameters"), "babbles": (WRITES_TO_ALL.format(b"[]\n"), NONSENSE)}
if CUTS_OFF:  # elsewhere, there is Python's own hook alone
    FAILS |= {
        "starts_what_connects": (
            STARTS.format("import socket; socket.create_connection(('127.0.0.1', 9))"),
            NO_NETWORK,
        ),
        "starts_what_sends": (STARTS.format("import socket; socket.socket(type=socket.SOCK_DGRAM)"), NO_NETWORK),
    }

PASSES = {
    "moves_to_what_is_not_there": "torch.cuda.set_device(1); return line().cuda().to('cuda:1', non_blocking=True)",
    "moves_to_another_kind": "made = line().to('cuda', torch.float16); assert made.weight.dtype is torch.float16; return made",
    "asks_the_library_for_what_it_had": "import transformers; transformers.AdamW; return line()",
    "counts_its_calls_and_lacks_a_library": (
        "os.environ['CALLS'] = str(int(os.environ.get('CALLS', '1')) + 1)\n"
        "    import not_installed_here\n    return nn.Linear(3, int(os.environ['CALLS']))"
    ),
    "leaves_its_folder_and_lacks_a_library": (
        "assert 'own.py' in os.listdir(); os.chdir('/')\n    import not_installed_here\n    return line()"
    ),
    "loads_weights_of_an_address": (
        "made = line(); made.load_state_dict(torch.hub.load_state_dict_from_url('https://example.org/w.pth')); return made"
    ),
    "talks_to_itself": "import socket; a, b = socket.socketpair(); a.sendmsg([b'x']); b.recv(1); return line()",
    "asks_for_ipv6_as_urllib3_does": (
        "import socket\n    try: socket.socket(socket.AF_INET6).bind(('::1', 0))\n    except Exception: pass\n    return line()"
    ),
    "line": "return nn.Linear(3, 2)",
    "starts_a_process": "subprocess.Popen(['sleep', '60']); return line()",
    "forks": "os.fork(); return line()",
    "forks_and_leaves_it_running": "os.fork() or (time.sleep(60), os._exit(0)); return line()",
    "closes_its_output": "os.close(1); os.close(2); return line()",
    "trains_nothing": "return line().requires_grad_(False)",
    "keeps_a_view_of_its_own_weight": "made = line(); made.first = made.weight[:1]; return made",
    "keeps_its_own_parts_in_a_list": "made = line(); made.parts = [made, made.weight, [made.bias]]; return made",
    "keeps_an_object_that_has_it": "made = line(); made.trainer = Packed(made); return made",
    "keeps_a_mask": "made = line(); made.register_buffer('mask', torch.ones(99, 99, dtype=torch.bool)); return made",
    "keeps_bytes_that_are_not_saved": (
        "made = line(); made.register_buffer('mask', torch.ones(99, dtype=torch.uint8), persistent=False); return made"
    ),
    "hands_its_optimiser_less": (
        "made = type('Own', (nn.Linear,), {'parameters': lambda self, recurse=True: iter([self.bias])})(3, 2); return made"
    ),
    "lists_less": (
        "made = type('Own', (nn.Linear,), {'named_parameters': lambda self: iter([('bias', self.bias)]),"
        " 'named_modules': lambda self, *a, **k: iter([]), 'modules': lambda self: iter([])})(3, 2); return made"
    ),
    "builds_on_the_cpu": "return nn.Linear(3, 2, device='cpu')",
}
"""Each of them a linear layer of 3 × 2."""

LINE = [("weight", (2, 3)), ("bias", (2,))]


def asked(root: Path, factory: str, name: str = "", config: Any = None) -> Request:
    given = {} if config is None else config
    return Request(name or factory, "", "", given, {}, root=str(root), factory=factory, config_given=config is not None)


def found(answer: Built | NotBuilt) -> str | list[tuple[str, tuple[int, ...]]]:
    """Return the tensors, or what is wrong and what to do about it where the helper process knows."""
    if isinstance(answer, Built):
        if hidden := [*check_hidden(answer, "", None)]:
            return f"{hidden[0].message}; {hidden[0].fix}"
        return [(each.name, each.shape) for each in answer.tensors]
    return f"{answer.reason}; {answer.fix}" if answer.fix else answer.reason


PLACES = {
    "top:build": "top.py",
    "package.inner.models:build": "package/inner/models.py",
    "folder.top:build": "folder/top.py",
}
BUILD = "from torch import nn\ndef build(): return nn.Linear(3, 2)\n"
TAKEN = ("statistics", "json")
"""Names of modules of Python's own."""
CLASS = """
class Own(nn.Linear):
    def __init__(self, config): super().__init__(config["in"], config["out"])
    @classmethod
    def small(cls, config): return cls({"in": 3, "out": 2})
def beside(): return nn.Linear(*json.load(open("sizes.json")))
"""
CALLED: dict[str, tuple[str, str]] = {
    "called:mak": ("def make(): ...", "the module called (called.py) has no mak; correct the name"),
    "called:missing": ("", "the module called (called.py) has no missing; correct the name"),
    "called:line.missing": ("", "the module called (called.py) has no line.missing; correct the name"),
    "nowhere:build": ("", "ModuleNotFoundError: No module named 'nowhere'; add the folder of a module *"),
    "called.inner:build": ("", "ModuleNotFoundError: No module named 'called.inner'; 'called' is not a package"),
    "called:three": ("three = 3", "TypeError: 3 is not a callable object"),
    "called:two": (
        "def two(a, b): pass",
        "called:two(a, b) is called with one argument (the config as a dict): missing*'b'",
    ),
    "called:keyword": (
        "def keyword(*, size): pass",
        "called:keyword(*, size) is called with no argument: missing a required argument: 'size'",
    ),
    "called:spread": (
        "def spread(**config): pass",
        "called:spread(**config) is called with one argument (the config as a dict): *",
    ),
}


INSTALL = (
    'install it there (python = ".venv/bin/python" in [tool.bertsize] names the interpreter), '
    "write the name that an installed library has for it, or add the folder of a module of your own to pytest's pythonpath"
)
IMPORTS = {
    "raise RuntimeError('no GPU')": "RuntimeError: no GPU (own.py:1)",
    "from not_there import Layer\ndef build(): return Layer()": (
        f"not_there.Layer is used, but not installed where the model is built (own.py:2); {INSTALL}"
    ),
    "from not_there import make\nclass Layer(make('Layer')): pass": (
        f"not_there.make(…) is used, but not installed where the model is built (own.py:2); {INSTALL}"
    ),
    "from not_there import Layer\nfrom torch import nn\nheld = Layer()\ndef build():\n"
    "    made = nn.Linear(3, 2)\n    made.held = held.inner\n    return made": (
        "the model has held, made by not_there.Layer(…).inner, which is not installed"
    ),
    f"import not_there\ndef look():\n    try:\n        not_there.Layer()\n    except Exception:\n        pass\nlook()\n{BUILD}": (
        "not_there.Layer is used, but not installed where the model is built, "
        f"and the code caught that and went on; {INSTALL}"
    ),
    "from not_there import size\nfrom torch import nn\nheld = size()\ndef build(): return nn.Linear(held, 2)": (
        "TypeError: *; not installed and not used: not_there; "
        "not installed, and called at import, which returned nothing: not_there.size"
    ),
    "from not_there import Layer\ndef build(): raise FileNotFoundError('no weights')": (
        "FileNotFoundError: no weights (own.py:2)"
    ),
    "import sys; sys.exit(0)": f"{ENDED}: SystemExit: 0 (own.py:1)",
    "def build(:": "SyntaxError: *",
}


BERT = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}
FORGED = encode_frame("built", 1, [[["forged", [9, 9], "", True, None]], {}])
WRITTEN = {
    **{name: body for name, (body, _) in FAILS.items()},
    **PASSES,
    "forges": WRITES_TO_ALL.format(FORGED),
    "own_bert": f"return BertModel(BertConfig(**{BERT!r}))",
}
SAID = {
    **{name: said for name, (_, said) in (*FAILS.items(), *CALLED.items())},
    **{source: said.replace("own.py", "bad*.py") for source, said in IMPORTS.items()},
    **{f"{name}:build": f"the module {name} (*) has no build; correct the name" for name in TAKEN},
}


@pytest.fixture(scope="module")
def of_all(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The answers of one helper to all of them, by their names."""
    root, taken = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("taken")
    files = {
        "own.py": LIBRARY + "\n".join(f"def {name}():\n    {body}\n" for name, body in WRITTEN.items()),
        "called.py": "\n".join([LIBRARY, CLASS, *(source for source, _ in CALLED.values())]),
        "sizes.json": "[3, 2]",
        **dict.fromkeys(PLACES.values(), BUILD),
        **{f"bad{number}.py": source for number, source in enumerate(IMPORTS)},
    }
    for file, source in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(source)
    for name in TAKEN:
        (taken / f"{name}.py").write_text(BUILD)
    sizes = {"in": 3, "out": 2}
    requests = [
        *(asked(root, f"own:{name}", name) for name in WRITTEN),
        Request("bert", "bert", "BertModel", BERT, {}),
        *(asked(root, factory, config={}) for factory in CALLED),
        *(asked(root, factory, config=sizes) for factory in ("called:Own", "called:Own.small")),
        *(asked(root, factory) for factory in (*PLACES, "called:beside")),
        *(asked(root, f"bad{number}:build", source) for number, source in enumerate(IMPORTS)),
        *(asked(taken, f"{name}:build") for name in TAKEN),
    ]
    return {name: found(answer) for name, answer in ask_helper(requests, building=10).items()}


def test_each_factory_is_built_or_fails_in_one_sentence_and_none_moves_another(of_all: dict[str, Any]) -> None:
    """The one that forges answers to all that is open finds its own way back, and no number that is read."""
    said = {name: str(of_all[name]) for name in SAID}
    patterns = {name: each.replace("[", "[[]") for name, each in SAID.items()}
    wrong = {name: each for name, each in said.items() if not fnmatchcase(f"{each}; ", f"{patterns[name]}; *")}
    assert wrong == {}
    built = (*PASSES, *PLACES, "called:Own", "called:Own.small", "called:beside")
    assert {name: of_all[name] for name in built} == dict.fromkeys(built, LINE)
    assert of_all["forges"] == [("forged", (9, 9))]
    assert len(of_all["bert"]) == 23
    assert of_all["bert"] == of_all["own_bert"]  # after DISTURBS


def test_a_change_within_the_same_second_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes bytecode for that of a file with the same second and length."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    helper = Helper()
    for rows in (2, 3):
        (tmp_path / "changes.py").write_text(f"from torch import nn\ndef build(): return nn.Linear(5, {rows})")
        os.utime(tmp_path / "changes.py", (0, 0))
        helper.ask([asked(tmp_path, "changes:build", f"of {rows} rows")])
        assert found(helper.result(f"of {rows} rows")) == [("weight", (rows, 5)), ("bias", (rows,))]
    helper.stop()
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system has no such switch")
def test_the_process_of_check_lets_no_factory_look_into_its_memory(tmp_path: Path) -> None:
    """PR_GET_DUMPABLE is 3 in linux/prctl.h; 0: no other process of this user opens what it has open."""
    code = (
        "import ctypes; from pytest_bertsize.__main__ import main; main(['check', '--no-build']); "
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["0"]


def test_an_answer_of_a_factory_s_own_is_its_own_failure(tmp_path: Path) -> None:
    """Frames, which are passed on, with a content that is no answer."""
    frames = {
        "short": b"built 1 2\n[]",
        "odd": b"built 1 7\n[[],{}]",
        "deep": b"built 1 100000\n" + b"[" * 100_000,
    }
    babbles = "".join(f"def {name}():{WRITES_TO_ALL.format(frame)}\n" for name, frame in frames.items())
    (tmp_path / "own.py").write_text(LIBRARY + babbles)
    told = ask_helper([asked(tmp_path, f"own:{name}") for name in (*frames, "line")])
    assert [type(each) for each in told.values()] == [NotBuilt] * 3 + [Built]


def test_what_it_does_to_its_config_stays_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoils = """
        def build(config):
            assert config == {"sizes": {"a": 3}, "b": [2]}, config
            config["sizes"]["a"] = config["b"][0] = 99
            return nn.Linear(3, 2)
    """
    (tmp_path / "own_that_spoils.py").write_text(LIBRARY + textwrap.dedent(spoils))
    monkeypatch.setattr(sys, "path", [*sys.path])
    request = asked(tmp_path, "own_that_spoils:build", config={"sizes": {"a": 3}, "b": [2]})
    for _ in range(2):
        assert [tuple(each.shape) for each in instantiate(request).parameters()] == [(2, 3), (2,)]


# the whole gate


OWN = """
    import json
    from torch import nn
    from transformers import BertConfig, BertModel, BertPreTrainedModel
    class Own(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.bert = BertModel(BertConfig(**config), add_pooling_layer=False)
            self.out = nn.Linear(config["hidden_size"], 2)
    def build(config): return Own(config)
    def aliased(config):
        assert set(config) >= {"width", "layers"} and "hidden_size" not in config, sorted(config)
        assert config["layers"] == 1, "the table overrides it"
        config["hidden_size"], config["num_hidden_layers"] = config.pop("width"), config.pop("layers")
        return Own(config)
    def without(): return nn.Linear(3, 2)
    def opens():
        with open("sizes.json") as file: return nn.Linear(*json.load(file))
    def broken(config): raise KeyError("lstm_hidden")
    def build_all(): return Own(json.load(open("config.json")))
    class Taking(nn.Linear):
        def __init__(self, config, *, outputs): super().__init__(48, outputs)
    class Derived(BertPreTrainedModel):
        def __init__(self, config):
            assert config.__class__ is BertConfig
            super().__init__(config)
            self.bert = BertModel(config, add_pooling_layer=False)
            self.out = nn.Linear(config.hidden_size, 2)
            self.post_init()
"""
DESCRIBED = """
    config = "config.json"
    architecture = "BertModel"
    backbone = "bert"
    options = { add_pooling_layer = false }
    extra = [{ name = "out", linear = ["hidden_size", 2] }]
"""


REPORT_ONLY = 'budget = "report-only"'
ALIASED = {"hidden_size": "width", "num_hidden_layers": "layers"}
TABLES: dict[str, str] = {
    "broken": f'{DESCRIBED}\nfactory = "own:broken"\n{REPORT_ONLY}',
    "of_the_library": f'config = "config.json"\n{REPORT_ONLY}',
    "given_a_dict": f'{DESCRIBED}\nfactory = "own:build"\n{REPORT_ONLY}',
    "given_nothing": f'{DESCRIBED}\nfactory = "own:build_all"\n{REPORT_ONLY}',
    "given_an_object": f'{DESCRIBED}\nfactory = "own:Derived"\n{REPORT_ONLY}',
    "opens_a_file": f'factory = "own:opens"\nclosed_form = false\n{REPORT_ONLY}',
    "without_a_config": 'factory = "own:without"\nextra = [{ name = "x", linear = [3, 2] }]\nbudget.total = 8',
    "given_keywords": f"""
        factory = "own:Taking"
        config = "config.json"
        kwargs = {{ outputs = 9 }}
        extra = [{{ name = "weight", parameter = ["outputs", 48] }}, {{ name = "bias", parameter = ["2*outputs"] }}]
        {REPORT_ONLY}
    """,
    "given_the_names_of_the_file": f"""
        {DESCRIBED.replace("config.json", "aliased.json")}
        factory = "own:aliased"
        overrides = {{ num_hidden_layers = 1 }}
        keys = {{ width = "hidden_size", layers = "num_hidden_layers" }}
        {REPORT_ONLY}
    """,
}
BUILT_BY_THEM = {
    **dict.fromkeys(("given_a_dict", "given_nothing", "given_an_object"), 57_098),  # 7,104 + 49,896 + 2 * 48 + 2
    "broken": None,
    "of_the_library": 59_549,
    "opens_a_file": 8,
    "without_a_config": 8,
    "given_keywords": 48 * 9 + 9,
    "given_the_names_of_the_file": 7_104 + 16_632 + 98,
}


def models(tables: Mapping[str, str]) -> str:
    return "\n".join(f"[tool.bertsize.models.{name}]\n{textwrap.dedent(text)}" for name, text in tables.items())


def report() -> dict[str, Any]:
    return {each["name"]: each for each in json.loads(Path("size.json").read_text("utf-8"))["models"]}


def test_each_is_given_what_its_table_says_and_a_broken_one_fails_its_own_model_with_its_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, Any]
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    Path("sizes.json").write_text("[3, 2]")
    Path("aliased.json").write_text(json.dumps({ALIASED.get(key, key): value for key, value in tiny.items()}))
    result = project(models(TABLES), own=OWN).runpytest("--bert-budget", "--bert-budget-report=size.json")
    found = report()
    assert {name: (each["totals"] or {}).get("actual") for name, each in found.items()} == BUILT_BY_THEM
    failed = {name for name, each in found.items() if each["verdict"] == "failed"}
    assert failed == {"broken", "without_a_config", "given_keywords"}  # the second has weight, in its table x.weight
    assert found["given_keywords"]["findings"][-1]["message"].endswith("bias: 18 → 9, -9")
    line = OWN.splitlines().index('    def broken(config): raise KeyError("lstm_hidden")') + 1
    result.stdout.fnmatch_lines([f"broken: own:broken could not be built: KeyError: 'lstm_hidden' (own.py:{line})*"])
    assert "correct the value that the class refuses" not in result.stdout.str()


def test_a_module_is_imported_from_the_paths_of_pytest_else_from_src(project: Project) -> None:
    own = models({"own": 'factory = "acme.model:build"\nclosed_form = false\nbudget.total = "60K"'})
    library = models({"library": 'config = "acme.sizes:small"\nbudget.total = "9M"'})
    config = "BertConfig(num_hidden_layers=1, vocab_size=9, architectures=['BertModel'])"
    files = {"model.py": BUILD, "sizes.py": f"from transformers import BertConfig\nsmall = {config}"}
    for folder, table in (("src", own), ("lib/code", f'pythonpath = "elsewhere lib/code"\n{own}\n{library}')):
        Path(folder, "acme").mkdir(parents=True)
        for name, text in files.items():
            Path(folder, "acme", name).write_text(text)
        result = project(table).runpytest("--bert-budget")
        result.assert_outcomes(passed=table.count("[tool.bertsize.models."))
        Path(folder).rename(f"former_{Path(folder).name}")


LACKS = """
    import acme_logs.deep, acme_metrics
    from transformers import BertConfig, BertModel, BertPreTrainedModel
    from transformers.modeling_bert import BertLayerNorm
    log = acme_logs.get("here")
    class Ends(BertPreTrainedModel):
        def __init__(self, config):
            super().__init__(config)
            self.bert = BertModel(config)
            self.post_init()
    def build(config): return Ends(BertConfig(**config))
"""
STOOD_IN = [
    "not installed and not used: acme_logs, acme_metrics, transformers.modeling_bert",
    "not installed, and called at import, which returned nothing: acme_logs.get",
]


def test_what_stood_in_is_named_once_in_each_report_of_a_run_and_is_a_note_of_each_model(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    table = 'factory = "own:build"\nconfig = "config.json"\nclosed_form = false\nbudget.total = "{}"'
    limits = {"a": "70K", "b": "71K", "over": "1K"}
    tables = models({name: table.format(limit) for name, limit in limits.items()})
    reports = [f"--bert-budget-report=size.{suffix}" for suffix in ("json", "md", "html")]
    result = project(tables, own=LACKS).runpytest("--bert-budget", *reports)
    result.assert_outcomes(passed=2, failed=1)
    for model in report().values():
        notes = [each for each in model["findings"] if each["kind"] == "stood-in"]
        assert [(each["severity"], each["message"]) for each in notes] == [("note", each) for each in STOOD_IN]
    written = {suffix: unescape(Path(f"size.{suffix}").read_text("utf-8")) for suffix in ("md", "html")}
    written["md"] = written["md"].replace("\\", "")
    for text in (result.stdout.str(), *written.values()):
        for sentence in STOOD_IN:
            (line,) = (each for each in text.splitlines() if sentence in each)
            assert line in {f"- a, b, over: {sentence}", f"<li>a, b, over: {sentence}</li>"}


def test_the_module_itself_is_there_for_a_test_without_a_trace_in_the_process(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``.model`` is the only thing that builds in pytest's own process."""
    test = """
        import os, random, signal, torch

        def state():
            return (
                torch.get_default_dtype(), torch.get_default_device(), torch.random.get_rng_state().tolist(),
                random.getstate(), os.getcwd(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM),
            )

        def test_it(bert_budget):
            before = state()
            assert type(bert_budget.model).__name__ == "Own"
            assert state() == before
    """
    here = project(models({"own": TABLES["given_a_dict"]}), own=OWN, test_own=test)
    monkeypatch.chdir(here.mkdir("elsewhere"))
    here.runpytest_inprocess("..", "--rootdir=..").assert_outcomes(passed=1)
