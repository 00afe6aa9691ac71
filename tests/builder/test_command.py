"""Commands and functions of the project that hand their model to ``check_model`` in place of returning it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_bertsize.builder.child.making import BEFORE_CHECK, CALL_IT
from pytest_bertsize.builder.messages import Built, Request
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from tests.builder.conftest import ask_helper

pytestmark = pytest.mark.process

FILES = {
    "scripts/train.py": """
import argparse
import wandb
from parts import Line
from pytest_bertsize import check_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=2)
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    assert open("data.txt").read() == options.note
    check_model(Line(1), "teacher")
    model = Line(options.width)
    try:
        check_model(model, "line")
    except Exception:
        pass
    raise RuntimeError("trained")

if __name__ == "__main__":
    wandb.init(project="line")
    main()
""",
    "scripts/parts.py": "from torch import nn\nclass Line(nn.Linear):\n    def __init__(self, width): super().__init__(3, width)",
    "scripts/make.py": "from parts import Line\ndef build(): return Line(2)",
    "scripts/below.py": "from package import parts\nimport pytest_bertsize\npytest_bertsize.check_model(parts.make(3, 2), name='line')",
    "scripts/run.sh": (
        "cd $(dirname $0)/.. && echo 'two steps'\nexport WIDTH=${1:-4}\n"
        "nohup python3 -u env.py --width $WIDTH | cat\npython3 missing.py --WIDTH=9\n"
    ),
    "env.py": (
        "import os, sys\nfrom torch import nn\nfrom pytest_bertsize import check_model\n"
        "check_model(nn.Linear(int(os.environ['WIDTH']), int(sys.argv[2])), 'line')"
    ),
    "idle.sh": "true",
    "data.txt": "two words",
    "package/__init__.py": "",
    "package/parts.py": "from torch import nn\nmake = nn.Linear",
    "package/train.py": "import sys\nfrom .parts import make\nimport pytest_bertsize\npytest_bertsize.check_model(make(3, int(sys.argv[1])), name='line')",
    "other.py": "from torch import nn\nfrom pytest_bertsize import check_model\ncheck_model(nn.Linear(3, 2), 'tagger', total=9)",
    "decorated.py": "import hydra_absent\n@hydra_absent.main()\ndef main(): pass\nmain",
    "ends.py": "from torch import nn\nmodel = nn.Linear(3, 2)",
    "reads.py": "open('train.csv')",
    "catches.py": (
        "from torch import nn\nfrom pytest_bertsize import check_model\nmodel = nn.Linear(3, 2)\n"
        "try: check_model(model, 'line')\nexcept: model.weight = None\nraise RuntimeError"
    ),
    "none.py": "from pytest_bertsize import check_model\ncheck_model(3, 'line')",
    "own.py": (
        "from torch import nn\nfrom pytest_bertsize import check_model\n"
        "def main():\n    check_model(nn.DataParallel(nn.Linear(3, 2)), 'line')\n    raise RuntimeError\n"
    ),
    "both.py": (
        "from torch import nn\nfrom pytest_bertsize import check_model\n"
        "def build():\n    check_model(nn.Linear(9, 9), 'line')\n    return nn.Linear(3, 2)"
    ),
    "my code/bare.py": "from torch import nn\nfrom pytest_bertsize import check_model\ncheck_model(nn.Linear(3, 2), 'line')",
    "bare.py": "from torch import nn\nfrom pytest_bertsize import check_model\ncheck_model(nn.Linear(3, 2), 'line')",
}


class Case(NamedTuple):
    """A factory, and what is built, or what is said in its place."""

    factory: str
    found: list[tuple[int, ...]] | str


CASES = {
    "the words of a command": Case("python scripts/train.py --note 'two words'", [(2, 3), (2,)]),
    "another size by an option": Case("python3 scripts/train.py --note='two words' --width 5", [(5, 3), (5,)]),
    "a script in a folder with a space": Case("python 'my code/bare.py'", [(2, 3), (2,)]),
    "a module": Case("python -m package.train 4", [(4, 3), (4,)]),
    "a function, and what is wrapped": Case("own:main", [(2, 3), (2,)]),
    "a module that does it while it is imported": Case("bare:main", [(2, 3), (2,)]),
    "a wrong option": Case(
        "python scripts/train.py --with 5",
        f"the code exited before it handed over a model: *unrecognized arguments: --with 5*; {BEFORE_CHECK}",
    ),
    "another name": Case("python other.py", f'python other.py ended without check_model(model, "line"); {CALL_IT}'),
    "no call": Case("python ends.py", f'python ends.py ended without check_model(model, "line"); {CALL_IT}'),
    "no call, of what a decorator would have called": Case(
        "python decorated.py",
        'python decorated.py ended without check_model(model, "line"); *not installed, and called at import, which returned nothing: '
        f"hydra_absent.main; {CALL_IT}",
    ),
    "data before it": Case("python reads.py", f"FileNotFoundError: *'train.csv' (reads.py:1); {BEFORE_CHECK}"),
    "code that catches the end": Case(
        "python catches.py",
        "this code caught the exception with which check_model ends the code; catch Exception alone",
    ),
    "no module": Case("python none.py", "*check_model takes a torch.nn.Module, not an object of type int*"),
    "no script": Case("python missing.py", f"FileNotFoundError: *missing.py'; {BEFORE_CHECK}"),
    "a module beside another, for a function": Case(
        "scripts.make:build", "*No module named 'parts' (scripts/make.py:1)"
    ),
    "a module of the root, for a script below it": Case("python scripts/below.py", [(2, 3), (2,)]),
    "the first Python command of a shell script, in its folder and environment": Case(
        "bash scripts/run.sh", [(4, 4), (4,)]
    ),
    "a shell script with an argument": Case("bash scripts/run.sh 6", [(6, 6), (6,)]),
    "no shell script": Case("bash missing.sh", "missing.sh runs no Python script; write a function*"),
    "a shell script that runs no Python": Case("bash idle.sh", "idle.sh runs no Python script; write a function*"),
    "no such module": Case("python -m package.missing", "ImportError: No module named package.missing*"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for file, source in FILES.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(source)
    return folder


@pytest.fixture(scope="module")
def found(root: Path) -> dict[str, Any]:
    """The answers of one helper to all of them."""
    requests = [
        Request(
            name, "", "", {}, {}, root=str(root), factory=each.factory, declared="line", config_given=False,
            command=Model(name="line", factory=each.factory, budget=Budget()).command,
        )
        for name, each in CASES.items()
    ]  # fmt: skip
    return ask_helper(requests, building=30)


@pytest.mark.parametrize("name", CASES)
def test_what_check_model_is_given_by_the_name_is_the_model(found: dict[str, Any], name: str) -> None:
    expected, answer = CASES[name].found, found[name]
    if isinstance(answer, Built):
        assert [each.shape for each in answer.tensors] == expected
    else:
        told = f"{answer.reason}; {answer.fix}" if answer.fix else answer.reason
        assert isinstance(expected, str), told
        assert fnmatchcase(f"{told}; ", f"{expected}; *".replace("[", "[[]")), told


def test_a_function_that_several_models_share_returns_the_model(root: Path) -> None:
    one = Request("", "", "", {}, {}, root=str(root), factory="both:build", config_given=False)
    for names, shapes in ((["line"], [(9, 9), (9,)]), (["line", "other"], [(2, 3), (2,)])):
        for answer in ask_helper([one._replace(name=name, declared=name) for name in names]).values():
            assert [each.shape for each in getattr(answer, "tensors", ())] == shapes
