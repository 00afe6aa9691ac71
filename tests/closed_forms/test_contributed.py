"""Closed forms of a project's files: what crosses from their process is what the file says, and a mistake is one line."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bertsize.closed_forms import FAMILIES, ClosedForm, Family
from pytest_bertsize.closed_forms.blocks import Block, Parameter
from pytest_bertsize.closed_forms.contributed import asked, child
from pytest_bertsize.closed_forms.contributed.asked import ENTRY_POINTS, Forms, registry_of
from pytest_bertsize.closed_forms.contributed.wire import Nonsense, block_read, family_read, family_said, node_said
from pytest_bertsize.closed_forms.everywhere import everywhere
from pytest_bertsize.closed_forms.families.encoder_decoder import PairFamily
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.named_model import closed_form
from pytest_bertsize.config.dims import Dims
from pytest_bertsize.findings import Unusable
from pytest_bertsize.release import NEWEST
from pytest_bertsize.table.settings import SettingsError, load
from tests.support.family_configs import PAIRS, typical
from tests.support.what_ifs import derived

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_bertsize.builder.own_process import Allowed

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-closed-form"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, copied, and entered."""
    monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / "project"))
    return Path.cwd()


def told(*reports: str) -> tuple[int, list[str]]:
    """The exit status of ``check --no-build``, and its lines."""
    out = StringIO()
    status = check(Path.cwd(), None, reports, out=out, err=out)
    return status, out.getvalue().splitlines()


# the doors


def test_a_check_counts_by_the_file_and_runs_it_in_a_process_of_its_own(project: Path) -> None:
    before = {*sys.modules}
    status, lines = told()
    assert (status, lines[-1]) == (0, "1 configured, 1 checked, 0 failed; not compared with a build")
    assert "109,580,544" in lines[1]  # 109,482,240 of BERT-base (Devlin et al. 2018), and 768·128
    assert not {name for name in {*sys.modules} - before if "forms" in name and "pytest_bertsize" not in name}


def test_a_gate_compares_it_with_the_built_class(project: Path, pytester: pytest.Pytester) -> None:
    shutil.copytree(project, pytester.path, dirs_exist_ok=True)
    Path("colbert.py").write_text(Path("colbert.py").read_text("utf-8").replace("bias=False", "bias=True"), "utf-8")
    result = pytester.runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["✗ head.projection is +128 off the closed form W·D = 98,304: linear.bias (128)*"])


def test_its_formulas_are_told_of_a_config_in_the_folder_of_the_table(project: Path) -> None:
    found = closed_form("config.json", architecture="ColBert")
    assert found.formulas()["head"].text == "W·D"
    assert found["head"] == 98_304


def test_a_side_of_a_pair_may_be_of_a_family_that_is_contributed(project: Path) -> None:
    forms = Path("forms.py")
    forms.write_text(
        "from dataclasses import replace\n"
        "from pytest_bertsize.closed_forms import Architecture, FAMILIES\n"
        "BERT = FAMILIES['bert']\n"
        "def pytest_bertsize_closed_forms():\n"
        "    (model,) = (each for each in BERT.architectures if each.name == 'BertModel')\n"
        "    return [replace(BERT, name='acme', architectures=(replace(model, name='AcmeModel'),))]\n",
        "utf-8",
    )
    bert = json.loads(Path("config.json").read_text("utf-8"))
    bert.pop("architectures", None)
    sides = {"encoder": {**bert, "model_type": "acme"}, "decoder": {**bert, "model_type": "bert", "is_decoder": True}}
    pair = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"], **sides}
    Path("config.json").write_text(json.dumps(pair), "utf-8")
    sides["encoder"]["model_type"] = "bert"
    Path("plain.json").write_text(json.dumps(pair), "utf-8")
    assert closed_form("config.json").components == closed_form("plain.json").components


# what crosses


def crossed(family: Family) -> Family:
    """The family as the gate has it: everything that is said and asked goes through JSON."""

    def ask(read: Callable[[Any], Any], *call: Any) -> Any:
        question = json.loads(json.dumps(call))
        return read(json.loads(json.dumps(child._called(family, *question))))

    return family_read(json.loads(json.dumps(family_said(family, NEWEST))), ask)


@pytest.mark.parametrize(("name", "architecture"), [("electra", "ElectraModel"), ("canine", "CanineModel")])
def test_a_family_that_has_crossed_is_followed_for_all_sizes_as_it_was(name: str, architecture: str) -> None:
    """Two widths differ or do not in ELECTRA, a number of hashes is asked for itself in CANINE; both have rules."""
    derivation = derived(name, architecture, {})
    there = crossed(FAMILIES[name])
    (same,) = (each for each in there.architectures if each.name == architecture)
    form = replace(derivation.form, architecture=same)
    found, own = everywhere(derivation._replace(family=there, form=form)), everywhere(derivation)
    assert (found.counts, found.fixed) == (own.counts, own.fixed)
    assert [ruled.holds for ruled in found.rules] == [ruled.holds for ruled in own.rules]
    assert own.rules


@pytest.mark.parametrize(("key", "value"), [("position_embedding_type", "relative_key"), ("pruned_heads", {"0": [1]})])
def test_what_an_ignored_key_would_have_cost_is_asked_of_who_contributes_it(key: str, value: object) -> None:
    family = FAMILIES["bert"]
    here, there = family.keys.all_ignored[key].cost, crossed(family).keys.all_ignored[key].cost
    dims = Dims({"D": 48, "A": 4, "P": 40, "L": 3}, {})
    assert here
    assert there
    assert there(value, dims) == here(value, dims) is not None


@pytest.mark.parametrize("name", [name for name in FAMILIES if not isinstance(FAMILIES[name], PairFamily)])
def test_a_family_that_has_crossed_counts_reads_and_refuses_as_it_did(name: str) -> None:
    """Every built-in family stands for what a file may contribute."""
    family, read = FAMILIES[name], crossed(FAMILIES[name])
    own = replace(family.keys, rules=(), ignored={}, until=())
    there = replace(read.keys, rules=(), ignored={})
    lists = {key: [*each.words] for key, each in ((each.key, each) for each in own.choices)}
    assert {each.key: sorted(lists[each.key]) for each in there.choices} == {key: sorted(v) for key, v in lists.items()}
    assert replace(there, choices=()) == replace(own, choices=())
    assert read.keys.ignored.keys() == family.keys.ignored.keys()
    architecture = next(architecture for of, architecture in PAIRS if of == name)
    for case in typical(name, architecture):
        here, other = case.closed_form(), read.architecture(architecture)
        assert other
        form = ClosedForm(other, here.dims)
        assert form.inventory.tensors == here.inventory.tensors
        assert [*form.symbolic] == [*here.symbolic]
        values, again = case.values(), read.resolve(case.file, {}, other)
        assert (again.sizes, again.switches, again.findings) == (values.sizes, values.switches, values.findings)


@pytest.mark.parametrize(
    "said",
    [
        7,
        ["x"],
        ["x", [["w", [-1], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [2.5], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [[]], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [[[1, 0, []]]], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [], None, [None] * 3, 0, [7], ["", ""]],
        ["x", [["w", [10**19], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [[[1, 1, [["V", 10**9]]]]], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [[[10**40, 1, []]]], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
        ["x", [["w", [[[1, 1, [["V", 1]]]] * 201], None, True, None]], None, [None] * 3, 0, [], ["", ""]],
    ],
    ids=lambda said: str(said)[:60],
)
def test_an_answer_that_is_no_block_is_refused(said: object) -> None:
    with pytest.raises(Nonsense):
        block_read(said)


def test_blocks_that_are_too_deep_are_refused() -> None:
    said: list[Any] = ["x", [], None, [None] * 3, 0, [], ["", ""]]
    for _ in range(60):
        said = ["x", [said], None, [None] * 3, 0, [], ["", ""]]
    with pytest.raises(Nonsense):
        block_read(said)


def test_a_name_with_an_escape_sequence_crosses_as_text() -> None:
    leaf = block_read(["x", [["w\x1b[2J", [3], None, True, None]], None, [None] * 3, 0, [], ["", ""]]).children[0]
    assert isinstance(leaf, Parameter)
    assert "\x1b" not in leaf.name


def test_a_block_crosses_whole() -> None:
    node = Block("layer", (), "encoder", 3, 1, ("a", "b"), 6, "linear", 12, "token")
    said = json.loads(json.dumps(node_said(node)))
    assert block_read(said) == node


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (True, "a size is bool, not a whole number"),
        (128.0, "a size is float, not a whole number"),
        (-1, "a size is -1, and no size is negative"),
        (10**5000, "a size is a number of more than 30 digits, and no size is as large"),
    ],
    ids=["bool", "float", "negative", "huge"],
)
def test_a_size_that_is_none_is_told_as_such(size: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{says}$"):
        node_said(Block("x", (Parameter("w", (size,)),)))


# a process that is not to be trusted


def test_an_attempt_at_the_network_gives_no_answer_though_it_was_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"number": 7, "places": [["forms.py", "/forms.py"]]}
    assert child._honest({"families": []}, question) == {"families": [], "number": 7}
    monkeypatch.setattr(child, "REFUSED", ["it reached for the network (socket.connect)"])
    why = "it reached for the network (socket.connect), and the code caught that and went on"
    assert child._honest({"families": []}, question) == {"origin": "forms.py", "error": why, "number": 7}
    assert child._honest({"error": "it raised"}, {"number": 8}) == {"error": "it raised", "number": 8}


@pytest.mark.parametrize(
    "said",
    [
        [],
        {},
        {"number": 2, "families": []},  # of another question, or of a fork
        {"number": 1},
        {"number": 1, "families": [["x"]]},
        {"number": 1, "families": [["x", {"name": 1}]]},
        {"number": 1, "families": [["x", None]]},
        RecursionError(),
        ValueError(),
    ],
    ids=str,
)
def test_an_answer_that_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    forms = answering(tmp_path, monkeypatch, said)
    with pytest.raises(SettingsError, match=r"^who: the closed forms were not read: their process answered nonsense$"):
        list(forms.families([("forms.py", "forms.py")], NEWEST))


@pytest.mark.parametrize("said", [{"number": 1, "answer": ["x"]}, {"number": 2}, RecursionError(), 7], ids=str)
def test_blocks_that_are_none_fail_their_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    forms = answering(tmp_path, monkeypatch, said)
    with pytest.raises(Unusable) as refused:
        forms._ask(0, "forms.py", block_read, "blocks", 0, {})
    (finding,) = refused.value.findings
    assert finding.message == "the closed form gives no count: its process answered nonsense"


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, said: object) -> Forms:
    """With a process that says one thing, whatever it is asked."""

    def read(*_: object) -> object:
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(Forms, "_running", lambda _: None)
    monkeypatch.setattr(Forms, "_read", read)
    return Forms(folder, "who")


def test_a_process_that_takes_its_time_over_each_answer_has_thirty_seconds_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, given = [0.0], []

    def read(_: object, question: dict[str, Any], allowed: Allowed) -> object:
        now[0] += 11
        given.append(allowed.seconds)
        return {"number": question["number"], "answer": True}

    monkeypatch.setattr(Forms, "_running", lambda _: None)
    monkeypatch.setattr(Forms, "_read", staticmethod(read))
    monkeypatch.setattr(asked, "monotonic", lambda: now[0])
    forms = Forms(tmp_path, "who")
    assert [forms._ask(0, "forms.py", bool, "rule", number) for number in range(3)] == [True] * 3
    with pytest.raises(Unusable, match=r"its 4 answers took more than 30 s"):
        forms._ask(0, "forms.py", bool, "rule", 3)
    assert forms._ask(0, "forms.py", bool, "rule", 2)  # what is known already is not asked for
    assert given == [31, 20, 9]


# mistakes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise ValueError('no')", "it raised ValueError: no (forms.py:1)"),
        ("import sys; sys.exit(3)", "it raised SystemExit: 3 (forms.py:1)"),
        ("import os; os._exit(3)", "the closed forms were not read: its process ended early, with status 3"),
        (
            "",
            "it has no function pytest_bertsize_closed_forms; write def pytest_bertsize_closed_forms(): return [FAMILY]",
        ),
        ("import socket; socket.create_connection(('a', 1))", "it reached for the network (socket.getaddrinfo)"),
        (
            "import socket\ntry: socket.create_connection(('a', 1))\nexcept Exception: pytest_bertsize_closed_forms = list",
            "it reached for the network (socket.getaddrinfo), and the code caught that and went on",
        ),
    ],
)
def test_a_file_that_contributes_nothing_is_a_mistake_in_one_line(project: Path, text: str, says: str) -> None:
    Path("forms.py").write_text(text, "utf-8")
    status, lines = told()
    line = load(Path("pyproject.toml")).line(("tool", "bertsize", "closed_forms"))
    assert status == 2
    assert len(lines) == 1
    assert lines[0].startswith(f"ERROR: pyproject.toml:{line}: tool.bertsize.closed_forms: ")
    assert lines[0].endswith(says)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "form.py",
            "form.py: there is no such file; write the path of the file of closed forms, relative to pyproject.toml",
        ),
        ("../forms.py", "../forms.py: the file of closed forms lies outside the project; copy it into the project"),
        ("forms", '"forms" is no Python file; name one, as in closed_forms = ["sizes/forms.py"]'),
    ],
)
def test_what_is_no_file_of_the_project_is_a_mistake(project: Path, written: str, says: str) -> None:
    table = Path("pyproject.toml")
    table.write_text(table.read_text("utf-8").replace('"forms.py"', f'"{written}"'), "utf-8")
    status, lines = told()
    assert (status, len(lines)) == (2, 1)
    assert lines[0].endswith(f"tool.bertsize.closed_forms: {says}")


def test_blocks_that_raise_fail_their_model_with_the_files_name(project: Path) -> None:
    forms = Path("forms.py")
    forms.write_text(forms.read_text("utf-8").replace("dims.W, bias", "dims.X, bias"), "utf-8")
    status, lines = told()
    assert status == 1
    said = " ".join(" ".join(lines).split())
    assert "forms.py: the closed form gives no count: AttributeError: no size or switch 'X'; there are V, D, L" in said


def test_two_for_one_architecture_name_both(project: Path) -> None:
    shutil.copy("forms.py", "more.py")
    table = Path("pyproject.toml")
    table.write_text(table.read_text("utf-8").replace('["forms.py"]', '["forms.py", "more.py"]'), "utf-8")
    with pytest.raises(SettingsError, match=r"^more.py contributes a closed form for ColBert .*, and so does forms.py"):
        registry_of(load(table), NEWEST)


# installed packages


def installed(monkeypatch: pytest.MonkeyPatch, *places: str) -> None:
    """Entry points as if packages had them."""
    found = [metadata.EntryPoint(f"acme{at}", place, ENTRY_POINTS) for at, place in enumerate(places)]

    def entry_points(*, group: str) -> Sequence[metadata.EntryPoint]:
        return found if group == ENTRY_POINTS else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_an_installed_package_is_asked_where_nothing_else_is_found(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Path("pyproject.toml")
    table.write_text(table.read_text("utf-8").replace('["forms.py"]', "[]"), "utf-8")
    installed(monkeypatch, "forms:pytest_bertsize_closed_forms")  # found in the project's root
    registry = registry_of(None, NEWEST)
    assert registry.find("bert", "BertModel")
    assert [family.name for family in registry.families("bert")] == ["bert"]  # nobody was asked yet
    found = registry.find("bert", "ColBert")
    assert found
    assert found[1].defined_in == "colbert"


def test_a_package_that_raises_fails_the_model_that_asks(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "no_such_package:forms")
    with pytest.raises(Unusable) as raised:
        registry_of(None, NEWEST).find("bert", "ColBert")
    (finding,) = raised.value.findings
    says = "acme0 (entry point acme0): it raised ModuleNotFoundError: No module named 'no_such_package'"
    assert finding.sentence == f"an installed package: {says}; mend that package, or uninstall it"
