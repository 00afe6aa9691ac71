"""What a project's code names and is not there: it can be imported and held, and any use of it fails the model."""

from __future__ import annotations

import copy
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bertsize.builder import confined
from pytest_bertsize.builder.child import stand_ins
from pytest_bertsize.builder.child.from_pretrained import functions_replaced
from pytest_bertsize.builder.child.stand_ins import StandIn, describe_stand_ins, run_with_stand_ins
from pytest_bertsize.builder.confined import Refused

Use = Callable[[Any], object]
UNUSED = "not installed and not used"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Here, one process runs many projects; the helper has one for each."""
    modules = {**sys.modules}
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in {*sys.modules} - {*modules}:
        del sys.modules[name]


def enter(value: Any) -> None:
    with value:
        pass


USES: dict[str, Use] = {
    "call": lambda it: it(1),
    "iterate": lambda it: [*it],
    "truth": bool,
    "contain": lambda it: 1 in it,
    "enter": enter,
    "equal": lambda it: it == 1,
    "add": lambda it: it + 1,
    "or": lambda it: it | None,
    "integer": int,
    "text": str,
    "path": open,
    "instance": lambda it: isinstance(1, it),
    "base class": lambda it: types.new_class("Own", types.resolve_bases((it,))),
}


@pytest.mark.parametrize("name", ["acme", "acme.Layer"])
@pytest.mark.parametrize("use", USES)
def test_any_use_fails_by_name(use: str, name: str) -> None:
    acme: Any = StandIn("acme")
    with pytest.raises(Refused) as refused:
        USES[use](acme if name == "acme" else acme.Layer)
    assert str(refused.value) == f"{name} is used, but not installed where the model is built"
    assert refused.value.fix == (
        'install it there (python = ".venv/bin/python" in [tool.bertsize] names the interpreter), '
        "write the name that an installed library has for it, or add the folder of a module of your own to pytest's pythonpath"
    )
    assert refused.value in confined.REFUSED  # which is looked at where the code catches it


def test_it_can_be_held_compared_by_identity_put_into_a_set_and_copied() -> None:
    acme: Any = StandIn("acme")
    assert acme.Layer is acme.Layer
    assert {acme.Layer}
    assert copy.deepcopy(acme.Layer).__name__ == "acme.Layer"
    assert not hasattr(acme, "__version__")


# a project that lacks something


def run(root: Path, **files: str) -> Any:
    """Import ``own`` of a project with these modules."""
    sys.path.insert(0, str(root))
    for name, text in files.items():
        (root / f"{name}.py").write_text(text, "utf-8")
    importlib.invalidate_caches()
    return run_with_stand_ins(lambda: importlib.import_module("own"), lambda name: name.partition(".")[0] in files)


NOTED = {
    "from torch.utils.tensorboard import SummaryWriter": [f"{UNUSED}: tensorboard, torch.utils.tensorboard"],
    "import acme_logs": [f"{UNUSED}: acme_logs"],
    "import acme_logs.deep.inside\nfrom acme_logs.deep import Layer, other": [f"{UNUSED}: acme_logs"],
    "from acme_logs import *": [f"{UNUSED}: acme_logs"],
    "from acme_logs import __version__": [f"{UNUSED}: acme_logs"],
    "import acme_logs\nacme_logs.__version__": [f"{UNUSED}: acme_logs"],
    "import acme_logs, acme_metrics": [f"{UNUSED}: acme_logs, acme_metrics"],
    "import email.acme": [f"{UNUSED}: email.acme"],
    "from json import AcmeReader": [f"{UNUSED}: json.AcmeReader"],
    "import json\nheld = json.AcmeWriter": [f"{UNUSED}: json.AcmeWriter"],
    "import acme_logs\nlog = acme_logs.get(1)\nlog.level(2)\n@acme_logs.main()\ndef main(): pass": [
        f"{UNUSED}: acme_logs",
        "not installed, and called at import, which returned nothing: acme_logs.get, acme_logs.main",
    ],
    'import acme_plots\nacme_plots.rcParams["figure.dpi"] = 150\nacme_plots.backend = "agg"': [
        f"{UNUSED}: acme_plots",
        "not installed, and set at import without effect: acme_plots.rcParams",
    ],
    "from typing import *\nfrom acme_logs import Run\ndef main(run: Optional[Run], runs: List[Union[Run, int]]): pass": [
        f"{UNUSED}: acme_logs"
    ],
    "from acme_logs import Run\nclass Own:\n    def main(self, run: Run | None, other: None | Run): pass": [
        f"{UNUSED}: acme_logs"
    ],
    "try: import acme_logs\nexcept ImportError: acme_logs = None\nassert acme_logs is None": [],
    "import json\ntry: held = json.AcmeCaught\nexcept AttributeError: held = None\nassert held is None": [],
}


@pytest.mark.parametrize("text", NOTED)
def test_what_is_missing_is_noted_once_unless_the_code_catches_it(text: str, tmp_path: Path) -> None:
    run(tmp_path, own=text)
    assert [*describe_stand_ins()] == NOTED[text]


def test_what_a_library_looks_for_among_what_is_installed_is_found_without_a_version(tmp_path: Path) -> None:
    run(tmp_path, own="import acme_logs")
    from transformers.utils.import_utils import _is_package_available

    assert _is_package_available("acme_logs", return_version=True) == (False, "N/A")
    assert confined.REFUSED == []


@pytest.mark.parametrize(
    "text",
    ["import beside.nowhere", "from beside import nowhere", "import beside\nbeside.nowhere", "raise ImportError('no')"],
)
def test_what_the_project_itself_should_have_stays_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises((ImportError, AttributeError)):
        run(tmp_path, own=text, beside="")
    assert stand_ins.STOOD_IN == {}


@pytest.mark.parametrize(
    "name", ["transformers.modeling_bert", "pytorch_transformers", "pytorch_pretrained_bert.modeling"]
)
def test_a_former_name_of_a_library_can_be_imported_and_fails_when_it_is_used(name: str, tmp_path: Path) -> None:
    own = run(tmp_path, own=f"import {name}\nfrom {name} import BertModel")
    missing = name.removesuffix(".modeling")
    assert [*describe_stand_ins()] == [f"{UNUSED}: {missing}"]
    with pytest.raises(Refused, match=rf"^{name}\.BertModel is used"):
        own.BertModel(3)


def test_no_weights_are_fetched_by_a_library_that_was_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchvision has a name of its own for torch's function, and transformers imports torchvision."""
    import torch

    vision: Any = types.ModuleType("vision")
    fetch = vision.load_state_dict_from_url = torch.hub.load_state_dict_from_url
    monkeypatch.setitem(sys.modules, "vision", vision)
    layer = torch.nn.Linear(3, 2)
    with functions_replaced({}):
        layer.load_state_dict(vision.load_state_dict_from_url("https://example.org/w.pth"))
    assert vision.load_state_dict_from_url is fetch
