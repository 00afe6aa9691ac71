"""Change the modules whose mistakes would be false greens, one spot at a time, and see whether their tests notice.

    python -m benchmarks.mutation [MODULE ...]
    python -m benchmarks.mutation closed_forms/families/bert
    python -m benchmarks.mutation closed_forms/families --each 2

The changes are mutmut's, made wherever a module says something: in properties and at its top level too, which mutmut's
own run leaves out, and in conditions. Each mutant is written into a copy of the project and gets a process of its own,
forked from this one, which has imported what the tests need but nothing of the package. Prints what survives and a
score for each module. Exit status 1 where a score is below the bar: that of a module, or of all together where only
some mutants of each are drawn.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gc
import importlib
import io
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NoReturn

import libcst as cst
import pytest
from mutmut.mutation.file_mutation import NEVER_MUTATE_FUNCTION_CALLS, deep_replace
from mutmut.mutation.mutators import mutation_operators, operator_if_exp

TESTS_OF = {
    "wording": ["test_wording.py"],
    "files": ["test_files.py"],
    "quantity": ["test_quantity.py"],
    "inventory": [
        "test_inventory.py",
        "closed_forms/test_own_class.py",
        "closed_forms/test_without.py",
        "closed_forms/test_blocks_of_extra.py",
        "review/test_accept.py",
    ],
    "table/settings": ["table/test_settings.py", "bad_input/test_bad_runs.py::test_bad_tables"],
    "table/model": [
        "table/test_settings.py",
        "table/test_budget.py",
        "project/test_docs.py::test_the_reference_is_that_of_the_code",
        "config/test_which_release.py",
        "closed_forms/test_several_backbones.py",
        "bad_input/test_bad_runs.py::test_bad_tables",
    ],
    "table/limits": [
        "table/test_budget.py",
        "review/test_measures.py",
        "review/test_review.py",
        "review/test_since_base.py",
        "bad_input/test_bad_runs.py::test_bad_tables",
    ],
    "table/toml": ["table/test_toml.py"],
    "table/rewrite": ["review/test_accept.py", "table/test_rewrite_of_file.py", "plugin/test_update.py"],
    "config/model_config": ["config/test_model_config.py"],
    "base/git": ["base/test_git_is_safe.py", "base/test_revision.py", "base/test_matching.py"],
    "base/commit_files": ["base/test_three_answers.py", "commands/test_log.py"],
    "base/run_base": ["base/test_revision.py", "base/test_interpreter.py"],
    "base/baseline": [
        "base/test_baseline.py",
        "base/test_three_answers.py",
        "base/test_models_that_left.py",
        "base/test_lock.py",
        "review/test_since_base.py",
        "closed_forms/test_contributed.py",
    ],
    "base/declared": ["base/test_baseline.py", "closed_forms/test_several_backbones.py", "commands/test_explain.py"],
    "base/project_at_commit": ["base/test_baseline.py", "base/test_three_answers.py", "commands/test_log.py"],
    "base/history": ["commands/test_log.py"],
    "differences": [
        "test_differences.py",
        "review/test_off_closed_form.py",
        "review/test_against_lock.py",
        "checkpoint/test_differences.py",
        "closed_forms/test_without.py",
    ],
    "review/limits": [
        "review/test_review.py",
        "review/test_measures.py",
        "review/test_measures_at_base.py",
        "review/test_since_base.py",
        "table/test_budget.py",
    ],
    "review/review": [
        "base/test_baseline.py",
        "review/test_review.py",
        "review/test_measures.py",
        "review/test_off_closed_form.py",
        "review/test_since_base.py",
        "review/test_accept.py",
        "closed_forms/test_what_if.py",
        "reports/test_headline.py",
        "reports/test_files.py",
    ],
    "review/against_base": [
        "base/test_baseline.py",
        "base/test_loosening.py",
        "base/test_three_answers.py",
        "review/test_against_lock.py",
        "review/test_since_base.py",
        "review/test_measures_at_base.py",
    ],
    "review/tensors": [
        "closed_forms/test_own_class.py",
        "closed_forms/test_several_backbones.py",
        "review/test_off_closed_form.py",
        "review/test_review.py",
        "review/test_against_lock.py",
        "review/test_config_of_build.py",
        "in_hand/test_check_model.py",
    ],
    "builder/memory": ["builder/test_memory.py"],
    "review/accept": ["review/test_accept.py", "plugin/test_update.py", "commands/test_accept.py"],
    "closed_forms/changes": [
        "closed_forms/test_freezing.py",
        "closed_forms/test_without.py",
        "closed_forms/test_own_class.py",
        "closed_forms/test_several_backbones.py",
        "closed_forms/test_lora.py",
    ],
    "reports/outcome": ["reports/test_outcome.py", "plugin/test_ledger.py"],
    "plugin/ledger": ["plugin/test_ledger.py", "plugin/test_update.py"],
}
FAMILIES = "closed_forms/families"
"""A module of which is compared with what the classes of its name build; the reference has its components."""
LEAST_KILLED = 0.95
OPERATORS = (*mutation_operators, (cst.If, operator_if_exp), (cst.CompIf, operator_if_exp))
SLOW_TO_IMPORT = ("hypothesis", "msgspec", "rich", "tomlkit", "transformers.models.bert.modeling_bert")
IMPORTED_ALREADY = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Not by pytest, which would have rewritten the asserts of these plugins."""
ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_bertsize"


def mutants(source: str) -> list[str]:
    """Every program that differs from ``source`` in one spot."""
    module = cst.parse_module(source)
    changed = (
        deep_replace(module, node, other).code
        for node in _spots(module)
        for kind, operator in OPERATORS
        if isinstance(node, kind)
        for other in operator(node)
    )
    return [each for each in dict.fromkeys(changed) if each != source and _is_python(each)]


def _spots(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what is evaluated when the module runs: no annotation, and nothing that only a type checker reads."""
    if isinstance(node, cst.Annotation | cst.Decorator) or _is_for_type_checkers(node) or _never_changed(node):
        return
    yield node
    for child in node.children:
        yield from _spots(child)


def _is_for_type_checkers(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.AnnAssign):
        return getattr(node.annotation.annotation, "value", "") == "TypeAlias"
    return isinstance(node, cst.If) and getattr(node.test, "value", "") == "TYPE_CHECKING"


def _never_changed(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and getattr(node.func, "value", "") in {*NEVER_MUTATE_FUNCTION_CALLS, "TypeVar"}


def _is_python(program: str) -> bool:
    try:
        compile(program, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def exit_status(tests: Iterable[str], *, seconds: int, quiet: bool) -> int:
    """Run tests in a forked process, which is ended after so many seconds with all that it started."""
    child = os.fork()
    if child == 0:
        _run_tests(tests, seconds, quiet=quiet)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return status


class QuickFirst:
    """A plugin of pytest: examples that were written down before those that hypothesis draws."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: getattr(getattr(item, "function", None), "is_hypothesis_test", False))


def _run_tests(tests: Iterable[str], seconds: int, *, quiet: bool) -> NoReturn:
    status = 1
    try:
        os.setsid()
        signal.alarm(seconds)
        if quiet:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
        sys.dont_write_bytecode = quiet  # a mutant may be as long as the next and as old
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1" if quiet else ""
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *IMPORTED_ALREADY, *tests], [QuickFirst()])
    finally:
        os._exit(status)


def tests_of(module: str) -> list[str]:
    """Arguments of pytest."""
    if Path(module).parent == Path(FAMILIES):
        from pytest_bertsize.closed_forms.families import FILE_OF

        names = (name for name, file in FILE_OF.items() if file == Path(module).name)
        families = (" and ".join(re.split("[-_]", name)) for name in names)
        reference = "test_the_reference_is_that_of_the_code"
        files = ["tests/closed_forms/test_families.py", f"tests/project/test_docs.py::{reference}"]
        return [*files, "-k", " or ".join((*families, reference))]
    return [f"tests/{name}" for name in TESTS_OF[module]]


def survivors(path: Path, tests: list[str], most: int | None) -> Iterator[tuple[str, bool]]:
    """Each mutant of a module, or so many, as a diff, and whether its tests passed all the same."""
    source = path.read_text(encoding="utf-8")
    started = perf_counter()
    if exit_status(tests, seconds=600, quiet=False):
        sys.exit(f"the tests of {path.stem} fail as it is")
    seconds = 10 + 5 * round(perf_counter() - started)
    each = mutants(source)
    drawn = random.Random(str(path)).sample(each, min(most, len(each))) if most else each  # noqa: S311  (the same each time)
    for mutant in drawn:
        path.write_text(mutant, encoding="utf-8")
        lines = difflib.unified_diff(source.splitlines(), mutant.splitlines(), lineterm="", n=0)
        yield "\n".join([*lines][2:]), exit_status(tests, seconds=seconds, quiet=True) == 0
    path.write_text(source, encoding="utf-8")


def score(module: str, most: int | None) -> Counter[bool]:
    """Print what survives of a module's mutants; how many did, and how many were killed."""
    counts: Counter[bool] = Counter()
    started = perf_counter()
    for diff, survived in survivors(Path(PACKAGE, f"{module}.py"), tests_of(module), most):
        counts[survived] += 1
        if survived:
            print(f"survived in {module} {diff}", flush=True)
    print(f"{module}: {_killed(counts)}, {perf_counter() - started:.0f} s", flush=True)
    return counts


def _killed(counts: Counter[bool]) -> str:
    return f"{counts[False]} of {counts.total()} killed, {_share(counts):.1%}"


def _share(counts: Counter[bool]) -> float:
    return counts[False] / counts.total()


def _import_what_is_slow() -> None:
    """Everything but the package: pytest's own plugins by pytest, which wants to rewrite their asserts."""
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--markers", "--noconftest", "-p", "no:bertsize"])
    for name in SLOW_TO_IMPORT:
        importlib.import_module(name)
    assert PACKAGE not in sys.modules
    gc.freeze()  # pytest collects garbage in every run: it need not look at all this


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", metavar="MODULE", nargs="*", help=f"of {', '.join(TESTS_OF)}, {FAMILIES}")
    parser.add_argument("--each", type=int, metavar="N", help="of each module so many mutants, drawn (default: all)")
    given = parser.parse_args()
    chosen = given.modules or [*TESTS_OF]
    if chosen == [FAMILIES]:
        chosen = sorted(f"{FAMILIES}/{each.stem}" for each in (ROOT / PACKAGE / FAMILIES).glob("[!_]*.py"))
    with tempfile.TemporaryDirectory() as copy:
        for each in (PACKAGE, "tests", "docs", "examples"):
            shutil.copytree(ROOT / each, Path(copy, each), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        os.chdir(copy)
        sys.path.insert(0, copy)
        os.environ["PYTHONPATH"] = copy  # for what the tests start
        os.environ.setdefault("TOX_ENV_NAME", "mutation")  # hypothesis draws the same examples for every mutant
        _import_what_is_slow()
        counts = [score(module, given.each) for module in chosen]
    in_all = sum(counts, Counter[bool]())
    print(f"in all: {_killed(in_all)}")
    few = _share(in_all) < LEAST_KILLED if given.each else any(_share(each) < LEAST_KILLED for each in counts)
    return 1 if few else 0


if __name__ == "__main__":
    sys.exit(main())
