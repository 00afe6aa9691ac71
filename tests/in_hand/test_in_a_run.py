"""``check_model`` where pytest runs the gate: in a test, and in the factory that the gate calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conftest import Project

TABLE = """
[tool.bertsize.models.encoder]
factory = "train:build"
architecture = "BertForMaskedLM"
budget.total = "60K"
"""
TRAIN = """
import json
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM
from pytest_bertsize import check_model

def build(**more):
    model = BertForMaskedLM(BertConfig(**{**json.loads(Path("config.json").read_text()), **more}))
    check_model(model, "encoder")
    return model
"""
TEST = """
import pytest
from train import build

def test_as_declared():
    build()

def test_another():
    build(num_hidden_layers=4)
"""


def test_a_test_holds_a_model_beside_the_declared_ones(project: Project) -> None:
    result = project(TABLE, train=TRAIN, test_train=TEST).runpytest("--bert-budget")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E*AssertionError: encoder: total 76,181, limit 60,000 (+16,181)*"])
    result.stdout.no_fnmatch_line("*_hold_to_table*")


def test_a_factory_that_checks_what_it_makes_is_judged_by_the_run(project: Project) -> None:
    result = project(TABLE.replace("60K", "50K"), train=TRAIN).runpytest("--bert-budget")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["encoder: total 59,549, limit 50,000 (+9,549)"])
    accepted = project(TABLE.replace("60K", "50K"), train=TRAIN).runpytest("--bert-budget", "--bert-budget-update")
    accepted.assert_outcomes(passed=1)


def test_a_command_is_counted_and_held_in_hand_by_the_same_line(project: Project) -> None:
    train = f"""{TRAIN}
if __name__ == "__main__":
    import sys
    build(num_hidden_layers=int(sys.argv[1]))
    raise RuntimeError("trained")
"""
    for layers, outcome in ((3, {"passed": 1}), (4, {"failed": 1})):
        made = project(TABLE.replace("train:build", f"python train.py {layers}"), train=train)
        made.runpytest("--bert-budget").assert_outcomes(**outcome)
    table = f"{TABLE.replace('train:build', 'python train.py 3')}lock = 'strict'\n[tool.bertsize]\nlock = 'b.lock'\n"
    made = project(table, train=train)
    made.runpytest("--bert-budget", "--bert-budget-update").assert_outcomes(passed=1)
    made.runpytest("--bert-budget", "--bert-budget-no-build").assert_outcomes(passed=1)
    made = project(table.replace("train.py 3", "train.py 4"), train=train)
    result = made.runpytest("--bert-budget", "--bert-budget-no-build")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*its lock was written for other keys (such as factory, kwargs or options)*"])


def test_a_factory_may_check_what_no_table_declares_yet(project: Project) -> None:
    train = TRAIN.replace('check_model(model, "encoder")', 'check_model(model, "not-yet")')
    project(TABLE, train=train).runpytest("--bert-budget").assert_outcomes(passed=1)


def test_what_a_factory_wraps_or_ties_is_the_same_for_a_run_and_in_hand(project: Project) -> None:
    train = f"""
{TRAIN.replace('    check_model(model, "encoder")', "")}
def tied():
    model = build()
    model.bert.encoder.layer[2] = model.bert.encoder.layer[1]
    return __import__("torch").nn.DataParallel(model)
"""
    table = f"""
{TABLE.replace(":build", ":tied")}
tied = {{ "bert.encoder.layer.2" = "bert.encoder.layer.1" }}
"""
    test = """
from pytest_bertsize import check_model
from train import tied

def test_it():
    assert check_model(tied(), name="encoder").actual["total"] == 59_549 - 16_632
"""
    project(table, train=train, test_train=test).runpytest("--bert-budget").assert_outcomes(passed=2)
