"""Closed forms that a project contributes: through the hook, for a class of its own, in the same blocks."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import transformers

from pytest_bertsize.closed_forms import FAMILIES, Architecture
from pytest_bertsize.closed_forms.registry import Conflict, Registry

if TYPE_CHECKING:
    from tests.conftest import Project

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-closed-form"
OWN = replace(FAMILIES["bert"], architectures=(Architecture("AcmeRanker", lambda dims: dims.nothing),))
USAGE_ERROR = pytest.ExitCode.USAGE_ERROR


def example(pytester: pytest.Pytester, **changes: tuple[str, str]) -> pytest.Pytester:
    """The example, its closed form in a conftest.py, with one replacement in each of the named modules."""
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)
    (pytester.path / "forms.py").rename(pytester.path / "conftest.py")
    table = pytester.path / "pyproject.toml"
    table.write_text(re.sub(r"\[tool.bertsize\]\n.*\n", "", table.read_text("utf-8")), encoding="utf-8")
    for module, (old, new) in changes.items():
        path = pytester.path / f"{module}.py"
        assert old in path.read_text("utf-8")
        path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    return pytester


def test_a_class_that_is_not_what_its_closed_form_says_fails_by_component(pytester: pytest.Pytester) -> None:
    result = example(pytester, colbert=("bias=False", "bias=True")).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["✗ head.projection is +128 off the closed form W·D = 98,304: linear.bias (128)*"])


@pytest.mark.process
def test_xdists_workers_know_it_too(pytester: pytest.Pytester) -> None:
    assert example(pytester).runpytest_subprocess("--bert-budget", "-n2").ret == pytest.ExitCode.OK


def test_a_marked_test_knows_it_without_the_option(pytester: pytest.Pytester) -> None:
    example(pytester).makepyfile(
        """
        import pytest
        @pytest.mark.bert_budget
        def test_it(bert_budget):
            assert bert_budget.actual["head.projection"] == 98_304
        """
    )
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=1)


# what the library reads otherwise

SEED = {
    "model_type": "seed_oss",
    "architectures": ["SeedOssModel"],
    "vocab_size": 101,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 72,
}
SEEDS_FORM = """
    from pytest_bertsize.closed_forms import Architecture, Dims, Family, Size, block, embedding, linear, parameter, repeat
    from pytest_bertsize.config.keys import ConfigKeys

    def norm(name, size):
        return parameter(f"{name}.weight", size)

    def seed(dims: Dims):
        D, I, S = dims.D, dims.I, dims.S
        def matrix(name, rows, columns):
            return linear(name, rows, columns, bias=False)
        return block(
            "",
            embedding("embed_tokens", dims.V, D, component="embeddings"),
            repeat(
                "layers", dims.L,
                linear("self_attn.q_proj", D, dims.A * S), linear("self_attn.k_proj", D, dims.K * S),
                linear("self_attn.v_proj", D, dims.K * S), matrix("self_attn.o_proj", dims.A * S, D),
                matrix("mlp.gate_proj", D, I), matrix("mlp.up_proj", D, I), matrix("mlp.down_proj", I, D),
                norm("input_layernorm", D), norm("post_attention_layernorm", D),
                component="encoder",
            ),
            block("norm", parameter("weight", D), component="encoder"),
        )

    SIZES = [("vocab_size", "V", 155136), ("hidden_size", "D", 4096), ("num_hidden_layers", "L", 64),
             ("num_attention_heads", "A", 80), ("num_key_value_heads", "K", 8), ("intermediate_size", "I", 27648),
             ("head_dim", "S", HEAD_DIM)]
    KEYS = ConfigKeys(sizes=tuple(Size(key, symbol, default=default) for key, symbol, default in SIZES if key != WITHOUT))

    def pytest_bertsize_closed_forms():
        return [Family("seed_oss", KEYS, (Architecture("SeedOssModel", seed),))]
    """


def seed(project: Project, config: dict[str, object], head_dim: int, without: str = "") -> pytest.RunResult:
    """A run with a closed form of Seed-OSS whose default of ``head_dim`` is ours to get wrong; the library's is 128."""
    conftest = SEEDS_FORM.replace("HEAD_DIM", str(head_dim)).replace("WITHOUT", repr(without))
    if without:
        conftest = conftest.replace("dims.K", str(SEED[without]))
    table = '[tool.bertsize.models.seed]\nconfig = "config.json"\nbudget = "report-only"\n'
    return project(table, config, conftest=conftest).runpytest("--bert-budget", "--bert-budget-report=size.json")


def errors_of(file: str = "size.json") -> list[tuple[str, str]]:
    (model,) = json.loads(Path(file).read_text("utf-8"))["models"]
    return [(each["kind"], each["message"]) for each in model["findings"] if each["severity"] == "error"]


def test_a_default_that_is_not_the_librarys_is_an_error_by_name(project: Project) -> None:
    seed(project, SEED, 64).assert_outcomes(failed=1)
    (kind, message), *rest = errors_of()
    assert (kind, message) == (
        "read-otherwise",
        f"the closed form assumes head_dim 64, transformers {transformers.__version__} says 128",
    )
    assert {kind for kind, _ in rest} == {"off-closed-form"}


def test_the_librarys_own_default_passes(project: Project) -> None:
    seed(project, SEED, 128).assert_outcomes(passed=1)
    assert errors_of() == []


def test_a_key_that_the_library_reads_and_a_contributed_form_does_not_know_is_an_error(project: Project) -> None:
    """Both sides would be without it: the closed form by its number, and the class by its default, were they the same."""
    seed(project, SEED, 128, without="num_key_value_heads").assert_outcomes(failed=1)
    message = f"transformers {transformers.__version__} reads num_key_value_heads, which the closed form does not know"
    assert ("read-otherwise", message) in errors_of()


# mistakes


def test_a_rule_that_raises_fails_its_model_and_no_other(pytester: pytest.Pytester) -> None:
    example(pytester)
    rule = 'Rule(("hidden_size",), lambda values: values["height"] > 0, "", "")'
    broken = f"\nfrom pytest_bertsize.config.keys import Rule\nFAMILY = replace(FAMILY, keys=replace(FAMILY.keys, rules=({rule},)))\n"
    with Path("conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(broken)
    table = Path("pyproject.toml").read_text("utf-8")
    other = '[tool.bertsize.models.other]\nconfig = "config.json"\narchitecture = "BertModel"\nbudget = "report-only"\n'
    Path("pyproject.toml").write_text(f"{table}\n{other}", encoding="utf-8")
    result = pytester.runpytest("--bert-budget")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["✗ the gate itself failed on this config: KeyError: 'height' (*config.json)"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_second_contribution_for_one_architecture_names_both(pytester: pytest.Pytester) -> None:
    example(pytester)
    Path("acme_plugin.py").write_text(Path("conftest.py").read_text("utf-8"), encoding="utf-8")
    pytester.syspathinsert()
    result = pytester.runpytest("--bert-budget", "-p", "acme_plugin")
    assert result.ret == USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: * contributes a closed form for ColBert of the family 'bert', and so does *: remove one of them"]
    )
    assert {"conftest.py", "acme_plugin"} <= set(result.stderr.str().replace(":", "").split())


def test_a_contribution_cannot_replace_a_built_in_closed_form(pytester: pytest.Pytester) -> None:
    result = example(pytester, conftest=('"ColBert"', '"BertModel"')).runpytest("--bert-budget")
    assert result.ret == USAGE_ERROR
    message = (
        "conftest.py contributes a closed form for BertModel of the family 'bert', and so does pytest-bertsize itself"
    )
    result.stderr.fnmatch_lines([f"ERROR: {message}: remove one of them"])


@pytest.mark.parametrize("returned", ["FAMILY", "['bert']", "7"])
def test_a_contribution_that_is_none_is_refused(pytester: pytest.Pytester, returned: str) -> None:
    result = example(pytester, conftest=("return [FAMILY]", f"return {returned}")).runpytest("--bert-budget")
    assert result.ret == USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: conftest.py: pytest_bertsize_closed_forms returned *; write return [[]FAMILY]"]
    )


def test_a_hook_that_raises_is_a_mistake_in_one_line(pytester: pytest.Pytester) -> None:
    result = example(pytester, conftest=("return [FAMILY]", "return [FAMILY][7]")).runpytest("--bert-budget")
    assert result.ret == USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: conftest.py: pytest_bertsize_closed_forms raised IndexError: *"])


def test_blocks_that_raise_fail_their_model_in_a_sentence(pytester: pytest.Pytester) -> None:
    result = example(pytester, conftest=("dims.W, bias", "dims.X, bias")).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    message = "the closed form for ColBert gives no count: AttributeError: no size or switch 'X'; there are V, D, L"
    assert message in " ".join(result.stdout.str().split())
    assert "Traceback" not in result.stdout.str()


def test_a_class_that_is_not_where_it_is_said_to_be_fails_its_model(pytester: pytest.Pytester) -> None:
    result = example(pytester, conftest=('defined_in="colbert"', 'defined_in="colbart"')).runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (
        "colbert: ColBert could not be built: ModuleNotFoundError: No module named 'colbart'; make the module "
        "importable from the project's root, or correct defined_in of its closed form"
    ) in " ".join(result.stdout.str().split())


# the registry


def test_a_family_of_the_same_name_stands_beside_the_built_in_one() -> None:
    registry = Registry([("conftest.py", OWN)])
    assert registry.families("bert") == [FAMILIES["bert"], OWN]
    assert registry.find("bert", "AcmeRanker") == (OWN, OWN.architectures[0])
    assert registry.find("bert", "BertModel") == (FAMILIES["bert"], FAMILIES["bert"].architectures[0])
    assert registry.find("roberta", "AcmeRanker") is None


def test_a_new_family_is_named_after_the_built_in_ones() -> None:
    registry = Registry([("conftest.py", replace(OWN, name="acme"))])
    assert registry.names == [*FAMILIES, "acme"]
    assert registry.family_of("AcmeRanker") == replace(OWN, name="acme")
    assert registry.nearest("AcmeRankr") == ["AcmeRanker"]


def test_two_contributions_for_one_architecture_conflict() -> None:
    with pytest.raises(Conflict, match=r"^b contributes .* AcmeRanker of the family 'bert', and so does a: remove one"):
        Registry([("a", OWN), ("b", OWN)])
