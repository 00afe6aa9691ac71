"""The helper process: what it builds, what it refuses, and what becomes of a run whose helper is lost."""

from __future__ import annotations

import importlib
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from pytest_bertsize.builder import helper as module
from pytest_bertsize.builder import own_process
from pytest_bertsize.builder.child.listing import take_inventory
from pytest_bertsize.builder.child.making import instantiate
from pytest_bertsize.builder.confined import Refused
from pytest_bertsize.builder.helper import Helper, Limits
from pytest_bertsize.builder.messages import Buffer, Built, ConfigSaid, NotBuilt, Request, message, understood
from pytest_bertsize.closed_forms import FAMILIES, ClosedForm
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.inventory import Inventory, Loading, Tensor

TINY = {"vocab_size": 11, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}


def request(name: str = "tiny", architecture: str = "BertForMaskedLM", **config: Any) -> Request:
    return Request(name, "bert", architecture, {**TINY, **config}, {})


@pytest.fixture(params=["forked", pytest.param("cold", marks=pytest.mark.process)])
def helper(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Helper]:
    """From the warm process, and in ``whole`` by the real command as well."""
    if request.param == "cold":
        monkeypatch.setattr(module, "started", own_process.started)
    helper = Helper()
    yield helper
    helper.stop()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., Helper]]:
    """A helper process that does what a test writes instead of building."""
    helpers = []

    def make(body: str, **limits: Any) -> Helper:
        script = tmp_path / "child.py"
        opening = (
            'import json, os, signal, sys, time\nready = json.dumps({"ready": {"torch": "1", "transformers": "2"}})\n'
            "def asked(): return (json.loads(line) for line in sys.stdin if not line.strip().isdigit())\n"
        )
        script.write_text(opening + textwrap.dedent(body))
        helpers.append(Helper(Limits(**limits), (sys.executable, str(script))))
        return helpers[-1]

    yield make
    for helper in helpers:
        helper.stop()


# in the real helper


def test_one_helper_builds_every_model_and_says_with_what(helper: Helper) -> None:
    helper.ask([request("a"), request("b", hidden_act="foo"), request("c", architecture="BertModel")])
    third, first, second = helper.result("c"), helper.result("a"), helper.result("b")
    assert isinstance(first, Built)
    assert isinstance(third, Built)
    assert second == NotBuilt("KeyError: 'foo'")
    assert len(first.tensors) > len(third.tensors)
    assert helper.versions["torch"] == str(torch.__version__)
    assert set(helper.versions) == {"torch", "transformers", "python"}


EVERYTHING = Built(
    (Tensor("a.weight", (2, 3), ""), Tensor("b.weight", (2, 3), "", trainable=False, tied_to="a.weight")),
    {"b.weight": "a.weight"},
    (Buffer("mask", 5, "bool", 5, saved=True), Buffer("inv_freq", 4, "float32", 16, saved=False)),
    (("a", 12),),
    {"flops": "it takes no input_ids"},
    ConfigSaid({"hidden_size": 4, "block_sizes": [1, 2], "tie": None}, ("head_dim",), "transformers 5.1.0"),
    Loading((("a", "a.weight", (2, 3)), ("c", None, (1,))), frozenset({"b.weight"})),
)


@pytest.mark.parametrize(
    "result",
    [EVERYTHING, Built(EVERYTHING.tensors, {}), NotBuilt("it was not built within 30 s"), NotBuilt("why", "what")],
    ids=["everything", "nothing but tensors", "not built", "not built, and what to do"],
)
def test_a_result_is_the_same_to_a_process_that_has_not_heard_the_helper(result: Built | NotBuilt) -> None:
    assert understood(json.loads(json.dumps(message(result, "a"))), "a") == result


def test_a_model_that_needs_too_much_memory_fails_alone(helper: Helper) -> None:
    helper.ask([request("many-labels", "BertForSequenceClassification", num_labels=2 * 10**7), request("small")])
    lost, built = helper.result("many-labels"), helper.result("small")
    assert isinstance(lost, NotBuilt)
    assert lost.reason == "it took more than 80 MB of memory"
    assert isinstance(built, Built)


@pytest.mark.process
def test_the_parent_imports_neither_torch_nor_transformers(pytester: pytest.Pytester) -> None:
    code = """
        import sys
        from pytest_bertsize.builder.helper import Helper
        from pytest_bertsize.builder.messages import Request
        helper = Helper()
        helper.ask([Request("a", "bert", "BertModel", {"num_hidden_layers": 1}, {})])
        print(type(helper.result("a")).__name__, sorted({"torch", "transformers", "sympy", "rich"} & set(sys.modules)))
        helper.stop()
    """
    result = pytester.runpython_c(textwrap.dedent(code))
    result.stdout.fnmatch_lines(["Built []"])


@pytest.mark.process
def test_what_the_first_module_on_meta_imports_is_taken_for_no_model_s_memory(pytester: pytest.Pytester) -> None:
    """80 MB of torch and sympy, which transformers 5 has imported by itself, and 4.40 has not."""
    code = """
        import sys
        sys.modules["transformers"] = None
        from pytest_bertsize.builder.child.making import make_a_first_module
        make_a_first_module()
        before = set(sys.modules)
        import torch
        with torch.device("meta"):
            torch.nn.ModuleList([torch.nn.Embedding(3, 4), torch.nn.Linear(4, 5), torch.nn.LayerNorm(5)])
        print(sorted(set(sys.modules) - before))
    """
    result = pytester.runpython_c(textwrap.dedent(code))
    result.stdout.fnmatch_lines(["[[]]"])


def test_a_peft_that_does_not_fit_the_library_is_told_apart_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PEFT 0.18 beside transformers 4.40: "cannot import name 'EncoderDecoderCache' from 'transformers'"."""
    lora = "pytest_bertsize.builder.child.lora"
    monkeypatch.setitem(sys.modules, "peft.utils", ModuleType("peft.utils"))
    monkeypatch.delitem(sys.modules, lora, raising=False)
    with pytest.raises(Refused, match="the installed PEFT cannot be imported") as refused:
        importlib.import_module(lora)
    assert refused.value.fix == "install releases of PEFT and transformers that fit each other"
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pytest-bertsize\[peft\]'"):
        importlib.import_module(lora)


@pytest.mark.process
def test_the_helper_never_reaches_for_the_network_nor_for_standard_input(
    helper: Helper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Traps are audit hooks, which a sitecustomize installs in the helper before anything else runs."""
    log = tmp_path / "events"
    trap = f"""
        import sys
        def watch(event, args):
            if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "builtins.input"):
                open({str(log)!r}, "a").write(event)
        sys.addaudithook(watch)
        open({str(log)!r}, "a").write("watching.")
    """
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(trap))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    helper.ask([request("a"), request("b", "NoSuchModel")])
    assert isinstance(helper.result("a"), Built)
    assert isinstance(helper.result("b"), NotBuilt)
    assert log.read_text() == "watching."


def test_what_reaches_for_the_network_is_not_built(helper: Helper, tmp_path: Path) -> None:
    """A class of a project's own, which asks for a name as a download would."""
    own = """
        import socket
        from transformers import BertConfig, BertModel
        class Fetches(BertModel):
            config_class = BertConfig
            def __init__(self, config):
                socket.getaddrinfo("example.org", 443)
                super().__init__(config)
        class Connects(Fetches):
            def __init__(self, config):
                socket.create_connection(("127.0.0.1", 9), timeout=1)
    """
    (tmp_path / "own.py").write_text(textwrap.dedent(own))
    names = ("Fetches", "Connects")
    helper.ask([Request(name, "bert", name, TINY, {}, "own", str(tmp_path)) for name in names])
    assert [helper.result(name) for name in names] == [
        NotBuilt("it reached for the network (socket.getaddrinfo) (own.py:7)"),
        NotBuilt("it reached for the network (socket.getaddrinfo) (own.py:11)"),
    ]


OWN = """
    import os, sys, time
    from transformers import BertConfig, BertModel
    class Own(BertModel):
        config_class = BertConfig
        def __init__(self, config):
            {body}
            super().__init__(config)
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os._exit(0)", "the process of the project's code ended early, with status 0"),
        ("raise SystemExit(0)", "SystemExit: 0 (own.py:7)"),
        ("input()", "EOFError: EOF when reading a line (own.py:7)"),
        ("time.sleep(60)", "it was not built within 5 s"),
        ("kept = bytes(range(250)) * 400_000; time.sleep(1)", "it took more than 80 MB of memory"),
    ],
)
def test_a_class_that_misbehaves_fails_its_model_alone(tmp_path: Path, body: str, reason: str) -> None:
    (tmp_path / "own.py").write_text(textwrap.dedent(OWN).format(body=body))
    helper = Helper(Limits(building=5))
    try:
        helper.ask([Request("bad", "bert", "Own", TINY, {}, "own", str(tmp_path)), request("good")])
        assert helper.result("bad") == NotBuilt(reason)
        assert isinstance(helper.result("good"), Built)
    finally:
        helper.stop()


def test_fifty_megabytes_of_print_are_nobodys_business(helper: Helper, tmp_path: Path) -> None:
    body = "[print('x' * 1_000_000) or os.write(2, b'y' * 1_000) for _ in range(50)]"
    (tmp_path / "own.py").write_text(textwrap.dedent(OWN).format(body=body))
    helper.ask([Request("loud", "bert", "Own", TINY, {}, "own", str(tmp_path))])
    assert isinstance(helper.result("loud"), Built)


# a helper that is lost


ECHO = """
    print(ready, flush=True)
    for each in asked():
        name = each["name"]
        {bad}
        print(json.dumps({{"name": name, "tensors": [["w", [2, 3], True, None]], "declared_ties": {{}}}}), flush=True)
"""


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("os._exit(0)", "the helper process ended early, with status 0"),
        ("os._exit(7)", "the helper process ended early, with status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the helper process was killed by SIGSEGV"),
        ("time.sleep(60)", "it was not built within 1 s"),
        ("print('x' * 50_000_000, flush=True)", "the helper process answered more than 16,777,216 bytes"),
        ("print('Downloading…', flush=True)", "the helper process answered nonsense"),
        ("print('[]', flush=True)", "the helper process answered nonsense"),
        ("print('{}', flush=True)", "the helper process answered nonsense"),
        ("""print('{"name": "other"}', flush=True)""", "the helper process answered nonsense"),
        ("print(json.dumps({'name': name}), flush=True)", "the helper process answered nonsense"),
        (
            "print(json.dumps({'building': 'bad', 'process': 1, 'memory': 9**9}))",
            "the helper process answered nonsense",
        ),
        (
            "print(json.dumps({'name': name, 'tensors': [['w', [-1], True, None]], 'declared_ties': {}}), flush=True)",
            "the helper process answered nonsense",
        ),
        (
            "print(json.dumps({'name': name, 'tensors': [], 'declared_ties': {}}), flush=True)",
            "it has no parameters",
        ),
    ],
)
def test_a_lost_helper_fails_its_model_and_another_builds_the_rest(
    scripted: Callable[..., Helper], bad: str, reason: str
) -> None:
    helper = scripted(ECHO.format(bad=f"if each['config']['vocab_size'] == 12: {bad}; continue"), building=1)
    helper.ask([request("first"), request("bad", vocab_size=12), request("last", vocab_size=13)])
    assert isinstance(helper.result("first"), Built)
    assert helper.result("bad") == NotBuilt(reason)
    assert isinstance(helper.result("last"), Built)


def test_a_fork_of_the_run_has_a_helper_of_its_own(scripted: Callable[..., Helper]) -> None:
    """As plugins that run each test in a fork: all have the same pipe, and what one reads the others never see."""
    helper = scripted(ECHO.format(bad="pass"), building=5)
    helper.ask([request("first"), request("second", vocab_size=12), request("third", vocab_size=13)])
    for name in ("first", "third", "second"):
        fork = os.fork()
        if not fork:
            built = isinstance(helper.result(name), Built)
            helper.stop()
            os._exit(0 if built else 1)
        assert os.waitpid(fork, 0)[1] == 0
    assert isinstance(helper.result("second"), Built)


def test_a_helper_that_cannot_import_is_not_started_again(scripted: Callable[..., Helper]) -> None:
    helper = scripted("""print(json.dumps({"failed": "ModuleNotFoundError: No module named 'torch'"}), flush=True)""")
    helper.ask([request("a"), request("b")])
    reason = "torch and transformers cannot be imported: ModuleNotFoundError: No module named 'torch'"
    assert [helper.result("a"), helper.result("b")] == [NotBuilt(reason)] * 2


def test_a_helper_that_never_comes_up_fails_all_and_is_not_started_again(
    scripted: Callable[..., Helper], tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    helper = scripted(f"open({str(starts)!r}, 'a').write('x'); time.sleep(60)", importing=1)
    helper.ask([request("a"), request("b")])
    reason = "torch and transformers were not imported within 1 s"
    assert [helper.result("b"), helper.result("a")] == [NotBuilt(reason)] * 2
    assert starts.read_text() == "x"


def test_a_stopped_helper_leaves_no_process_behind(scripted: Callable[..., Helper], tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    helper = scripted(f"open({str(pid)!r}, 'w').write(str(os.getpid())); print(ready, flush=True); time.sleep(60)")
    helper.ask([request("a")])
    while not (pid.exists() and pid.read_text()):
        pass
    helper.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_what_was_never_asked_for_was_not_built(helper: Helper) -> None:
    assert helper.result("a") == NotBuilt("it was never asked for")


# what is built


def test_only_model_classes_of_the_library_are_built() -> None:
    for name in ("BertConfig", "AutoModel", "pipeline", "os", "NoSuchModel"):
        with pytest.raises(Refused, match=f"has no model class {name}"):
            instantiate(asdict(Request("tiny", "bert", name, TINY, {})))


def test_a_class_of_another_family_is_refused() -> None:
    with pytest.raises(Refused, match="RobertaModel is of the family 'roberta', not 'bert'"):
        instantiate(asdict(Request("tiny", "bert", "RobertaModel", TINY, {})))


def test_a_build_leaves_default_device_dtype_and_random_state_alone() -> None:
    before = torch.get_rng_state()
    model = instantiate(asdict(Request("tiny", "bert", "BertModel", TINY, {})))
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert torch.empty(1).device.type == "cpu"
    assert torch.get_default_dtype() is torch.float32
    assert torch.equal(before, torch.get_rng_state())


class Module(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
    """Two names for one tensor, a frozen one, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.second = torch.nn.Linear(2, 3, bias=False)
        self.first = torch.nn.Linear(2, 3)
        self.second.weight = self.first.weight
        self.first.bias.requires_grad_(requires_grad=False)
        self.register_buffer("positions", torch.zeros(100))


def test_the_declared_source_owns_a_tied_tensor_whatever_comes_first() -> None:
    module = Module()
    module.all_tied_weights_keys = {"second.weight": "first.weight"}
    built = understood({"name": "", **take_inventory(module)}, "")
    assert isinstance(built, Built)
    assert built.tensors == (
        Tensor("second.weight", (3, 2), "", tied_to="first.weight"),
        Tensor("first.weight", (3, 2), ""),
        Tensor("first.bias", (3,), "", trainable=False),
    )
    assert built.lost_ties() == []


def test_a_tie_that_the_class_does_not_declare_is_found() -> None:
    built = understood({"name": "", **take_inventory(Module())}, "")
    assert isinstance(built, Built)
    assert built.lost_ties() == ["first.weight"]


def test_a_declared_tie_that_was_lost_is_found() -> None:
    module = Module()
    module.second = torch.nn.Linear(2, 3, bias=False)
    module.all_tied_weights_keys = {"second.weight": "first.weight"}
    built = understood({"name": "", **take_inventory(module)}, "")
    assert isinstance(built, Built)
    assert built.lost_ties() == ["second.weight"]


# components of what was built


def expected() -> Inventory:
    bert = FAMILIES["bert"]
    sizes = {"V": 11, "D": 4, "L": 1, "A": 2, "I": 3, "P": 5, "T": 2}
    switches = {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True, "hidden_act": "gelu"}
    architecture = bert.architecture("BertForMaskedLM")
    assert architecture
    return ClosedForm(architecture, Dims(sizes, switches)).inventory


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("bert.encoder.layer.0.attention.self.query.weight", "encoder.attention"),
        ("bert.encoder.layer.0.attention.self.extra.weight", "encoder.attention"),
        ("bert.encoder.layer.7.output.dense.weight", "encoder"),
        ("bert.embeddings.extra.weight", "embeddings"),
        ("bert.pooler.dense.weight", "unexpected"),
        ("cls.predictions.transform.extra", "head.transform"),
        ("crf.transitions", "unexpected"),
    ],
)
def test_an_unknown_tensor_lands_in_the_nearest_enclosing_component(name: str, component: str) -> None:
    inventory = Built((Tensor(name, (2, 3), ""),), {}).inventory(expected())
    assert [tensor.component for tensor in inventory.tensors] == [component]
    assert sum(inventory.own.values()) == inventory.unique == 6
