"""Models in Keras: the example, and which are listed whole or refused. ``tox run -e keras`` installs what this needs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.builder.test_factory import answers, asked, found
from tests.project.test_examples import broken, counts, run

pytestmark = pytest.mark.keras

KERAS: dict[str, tuple[str, Any]] = {
    "functional": (
        "i = keras.Input((4,)); return keras.Model(i, keras.layers.Dense(3)(i))",
        [("dense.kernel", (4, 3)), ("dense.bias", (3,))],
    ),
    "in_a_module_of_torch": (
        "made = torch.nn.Module(); made.inner = functional(); made.head = torch.nn.Linear(3, 2); return made",
        "inner is a layer of Keras in a module of torch, which does not list all of its weights",
    ),
    "half_built": (
        "made = Own(); made.a.build((None, 4)); made.built = True; return made",
        "* has no weights before it is built: call it once, on shapes",
    ),
    "never_built": ("return Own()", "* has no weights before it is built: call it once, on shapes"),
    "built_by_a_call": (
        "made = Own(); made(keras.KerasTensor((None, 4))); return made",
        [
            ("own.dense.kernel", (4, 3)),
            ("own.dense.bias", (3,)),
            ("own.dense_1.kernel", (3, 2)),
            ("own.dense_1.bias", (2,)),
        ],
    ),
}
KERAS_LIBRARY = """
import keras, torch
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = keras.layers.Dense(3), keras.layers.Dense(2)
    def call(self, x): return self.b(self.a(x))
"""


@pytest.fixture(scope="module")
def of_keras(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("keras")
    functions = (f"def {name}():\n    {body}\n" for name, (body, _) in KERAS.items())
    (root / "own.py").write_text(KERAS_LIBRARY + "\n".join(functions))
    told = answers([asked(root, f"own:{name}", name) for name in KERAS], building=60)
    return {name: found(answer) for name, answer in told.items()}


@pytest.mark.parametrize("name", KERAS)
def test_a_model_of_keras_is_listed_whole_or_refused(of_keras: dict[str, Any], name: str) -> None:
    said, expected = of_keras[name], KERAS[name][1]
    if isinstance(expected, str):
        assert isinstance(said, str), said
        assert fnmatchcase(said, expected), said
    else:
        assert said == expected


def test_the_example_in_keras_counts_what_bert4keras_counts(pytester: pytest.Pytester) -> None:
    assert run(pytester, "keras-backbone").ret == pytest.ExitCode.OK
    assert counts("classifier")["total"] == 101_678_594


def test_the_example_in_keras_with_another_label_fails(pytester: pytest.Pytester) -> None:
    said = broken(pytester, "keras-backbone", "backbone.py", "LABELS = 2", "LABELS = 3")
    assert said == {"classifier": "classifier: total 101,679,363, limit 101,678,594 (+769); 1 more finding"}
