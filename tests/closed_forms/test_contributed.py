"""Closed forms of a project's file or of an installed package: data, whose every mistake is one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import transformers

from pytest_bertsize.closed_forms.expressions import BadExpression
from pytest_bertsize.closed_forms.registry import GROUP, families_in, registry_of
from pytest_bertsize.commands.check import check
from pytest_bertsize.commands.named_model import closed_form
from pytest_bertsize.findings import Unusable
from pytest_bertsize.release import NEWEST
from pytest_bertsize.table.settings import SettingsError, load

if TYPE_CHECKING:
    from tests.conftest import Project

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-closed-form"
FORMS = (EXAMPLE / "forms.toml").read_text("utf-8")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, copied, and entered."""
    monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / "project"))
    return Path.cwd()


def checked() -> tuple[int, list[str]]:
    """The exit status of ``check --no-build``, and its lines."""
    out = StringIO()
    status = check(Path.cwd(), None, (), out=out, err=out)
    return status, out.getvalue().splitlines()


def changed(old: str, new: str, file: str = "forms.toml") -> None:
    text = Path(file).read_text("utf-8")
    assert old in text
    Path(file).write_text(text.replace(old, new), "utf-8")


# the doors


def test_a_check_counts_by_the_file(example: Path) -> None:
    status, lines = checked()
    assert (status, lines[-1]) == (0, "1 configured, 1 checked, 0 failed; not compared with a build")
    assert "109,580,544" in lines[1]  # 109,482,240 of BERT-base (Devlin et al. 2018), and 768·128


@pytest.mark.long
def test_a_gate_compares_it_with_the_built_class(example: Path, pytester: pytest.Pytester) -> None:
    shutil.copytree(example, pytester.path, dirs_exist_ok=True)
    changed("bias=False", "bias=True", "colbert.py")
    result = pytester.runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*head.projection is +128 off the closed form W·D = 98,304*"])


def test_a_side_of_a_pair_may_be_of_a_family_that_is_contributed(example: Path) -> None:
    Path("forms.toml").write_text('[acme]\nlike = "bert"\nclasses = "AcmeModel   body(pooler)"\n', "utf-8")
    bert = json.loads(Path("config.json").read_text("utf-8"))
    bert.pop("architectures", None)
    sides = {"encoder": {**bert, "model_type": "acme"}, "decoder": {**bert, "model_type": "bert", "is_decoder": True}}
    pair = {"model_type": "encoder-decoder", "architectures": ["EncoderDecoderModel"], **sides}
    Path("config.json").write_text(json.dumps(pair), "utf-8")
    sides["encoder"]["model_type"] = "bert"
    Path("plain.json").write_text(json.dumps(pair), "utf-8")
    assert closed_form("config.json").components == closed_form("plain.json").components


def test_a_class_of_a_contributed_family_keeps_its_body_by_the_name_of_that_family() -> None:
    (family,) = families_in(b'[acme-x]\nlike = "llama"\nclasses = "AcmeForCausalLM, *Model"')
    assert [each.name for each in family.architectures] == ["AcmeForCausalLM", "LlamaModel"]
    assert family.trees["under"] == "acme_x"


# of a family of the library that has no closed form yet: what the library reads otherwise

SEED = {"model_type": "seed_oss", "architectures": ["SeedOssModel"], "vocab_size": 101, "hidden_size": 48}
SEED |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 72}
SEEDS_FORM = """
[seed_oss]
sizes = "V 155136, D 4096, L 64 layers, A 80, {heads} I 27648, S {head_dim}"
classes = "SeedOssModel   body"

[seed_oss.trees]
body = '''
embed_tokens                 embedding V D             @embeddings
layers × L                                             @encoder
  self_attn
    q_proj                   linear D A*S
    k_proj, v_proj           linear D {keys}*S
    o_proj                   linear A*S D bias=False
  mlp
    gate_proj, up_proj       linear D I bias=False
    down_proj                linear I D bias=False
  input_layernorm, post_attention_layernorm   rms_norm D
norm                         rms_norm D                @encoder
'''
"""


READS = f"transformers {transformers.__version__} reads"


@pytest.mark.parametrize(
    ("head_dim", "heads", "keys", "message"),
    [
        (128, "Q 8,", "Q", ""),
        (64, "Q 8,", "Q", f"the closed form assumes head_dim 64, {READS} 128"),
        # both sides would be without it: the closed form by its number, and the class by its default
        (128, "", "2", f"{READS} num_key_value_heads, a key that the closed form does not know"),
    ],
)
def test_what_the_library_reads_otherwise_is_an_error_by_name(
    project: Project, head_dim: int, heads: str, keys: str, message: str
) -> None:
    """Seed-OSS by a closed form whose default of ``head_dim`` is ours to get wrong; the library's is 128."""
    table = '[tool.bertsize]\nclosed_forms = ["seed.toml"]\n[tool.bertsize.models.seed]\nconfig = "config.json"\n'
    here = project(f'{table}budget = "report-only"\n', SEED)
    Path("seed.toml").write_text(SEEDS_FORM.format(head_dim=head_dim, heads=heads, keys=keys), "utf-8")
    here.runpytest("--bert-budget", "--bert-budget-report=size.json")
    (model,) = json.loads(Path("size.json").read_text("utf-8"))["models"]
    wrong = [(each["kind"], each["message"]) for each in model["findings"] if each["severity"] == "error"]
    assert wrong[:1] == ([("read-otherwise", message)] if message else [])
    assert {kind for kind, _ in wrong[1:]} <= {"off-closed-form"}


# mistakes

MISTAKES = {
    "": 'it has no table; write a table [MODEL_TYPE] with the keys "classes" and "trees"',
    "bert": "it is not TOML: *",
    "\udcff": "it is not TOML: *",
    "[bert]": '[bert]: Object missing required field `classes`; the keys are * classes = "NAME   body + head"',
    '[bert]\nclass = "A   body"': "[bert]: Object contains unknown field `class`; the keys are classes, like, *",
    '[acme]\nlike = "brt"\nclasses = "A   body"': "[acme]: like is \"brt\"; did you mean 'bert'?",
    '[bert]\nclasses = "A   bod"': "[bert]: 'bod' names no tree; did you mean 'body'?",
    '[bert]\nclasses = "A   body"\nsizes = "W width x"': "[bert]: sizes, switches or activations cannot be read: *",
    '[bert]\nclasses = "A   body"\ninert = "x"': "[bert]: Expected `array`, got `str` - at `$.inert`; *",
    '[bert]\nclasses = "A   body"\ndivisible = [["x"]]': "[bert]: *`$.divisible[0]`; *",
    '[bert]\nclasses = "A   body"\ntrees = { a = 3 }': "[bert]: Expected `str`, got `int` - at `$.trees[...]`; *",
    '[bert]\nclasses = "A   body"\ntrees = { a = "x  lienar D D" }': "[bert]: 'x  lienar D D': there is no kind 'lienar'*",
    '[bert]\nclasses = "A   body"\ntrees = { a = "x  linear D().x D" }': "[bert]: *'D().x' is not arithmetic*",
    '[bert]\nclasses = "A   body"\ntrees = { a = "x  linear 2/D D" }': "[bert]: *'2 / D' is not arithmetic with a config's sizes*",
    '[bert]\nclasses = "A   body"\ntrees = { a = "x  for i in (1, 2)\\n  y  for j in (1, 2)" }': (
        "[bert]: 'y  for j in (1, 2)': a line with 'for' is inside of another line with 'for', 'x  for i in (1, 2)'"
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_file_with_a_mistake_is_refused_in_one_line(example: Path, text: str) -> None:
    Path("forms.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadExpression) as refused:
        list(families_in(Path("forms.toml").read_bytes()))
    said = str(refused.value)
    start, star, end = MISTAKES[text].partition("*")
    assert said.startswith(start)
    assert star or said == start
    assert all(part in said for part in end.split("*"))
    line = load(Path("pyproject.toml")).line(("tool", "bertsize", "closed_forms"))
    place = f"ERROR: pyproject.toml:{line}: tool.bertsize.closed_forms: "
    status, lines = checked()
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith(place)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "form.toml",
            "form.toml: there is no such file; write the path of the file of closed forms, relative to pyproject.toml",
        ),
        ("../forms.toml", "../forms.toml: the file of closed forms lies outside the project; copy it into the project"),
        ("forms.py", '"forms.py" is not a TOML file; name one, as in closed_forms = ["forms.toml"]'),
    ],
)
def test_what_is_no_file_of_the_project_is_a_mistake(example: Path, written: str, says: str) -> None:
    changed('"forms.toml"', f'"{written}"', "pyproject.toml")
    status, lines = checked()
    assert (status, len(lines)) == (2, 1)
    assert lines[0].endswith(f"tool.bertsize.closed_forms: {says}")


DOUBLING = "\n".join(["X0 := V + D", *(f"X{at + 1} := X{at} * X{at} + X{at} * X{at}" for at in range(60))])


@pytest.mark.parametrize(
    ("projection", "says"),
    [
        ("linear D X bias=False", "there is no size or switch X; the names are V, D, L"),
        ("linear D W//0 bias=False", "ZeroDivisionError"),
        ("linear D range(W*W) bias=False", "a list of 16,384 items is longer than 10,000"),
        ("linear D 2**W bias=False", "a power is 128, and must be from 0 to 16"),
        ("linear D (((W**16)**16)**16)**16 bias=False", "a product is larger than 100,000 bits or terms"),
        ("linear D X bias=False\nX := X + 1", "RecursionError"),
        ("linear D W-10**9 bias=False", "its total is -"),
        (f"linear D X60\n{DOUBLING}", "a product is larger than 100,000 bits or terms"),
    ],
)
def test_a_tree_that_gives_no_count_fails_its_model(example: Path, projection: str, says: str) -> None:
    changed('"linear   linear D W bias=False   @head.projection"', f'"""\nlinear   {projection}\n"""')
    status, lines = checked()
    assert status == 1
    said = " ".join(" ".join(lines).split())
    assert f"the closed form for ColBert gives no count: {says}" in said
    assert "Traceback" not in said


def test_a_shared_tree_asks_nothing_of_a_key_that_the_family_does_not_read(example: Path) -> None:
    """Of ``summary_type`` in BERT, which has no such key; ``summary_use_proj`` is one that the tree itself needs."""
    changed("bert.body(pooler) + projection", "bert.body + summary")
    status, lines = checked()
    assert status == 1
    assert "gives no count: there is no size or switch summary_use_proj" in " ".join(map(str.strip, lines))
    changed(
        "classes =",
        'switches = "summary_use_proj true, summary_proj_to_labels false"\nactivations = "summary_activation gelu"\nclasses =',
    )
    changed("109_580_544", "109_482_240", "pyproject.toml")  # 768² + 768 where its pooler was
    changed("98_304", "590_592", "pyproject.toml")
    status, lines = checked()
    assert (status, lines[-1]) == (0, "1 configured, 1 checked, 0 failed; not compared with a build")


def test_a_class_that_is_not_where_it_is_said_to_be_fails_its_model(example: Path, pytester: pytest.Pytester) -> None:
    changed('defined_in = "colbert"', 'defined_in = "colbart"')
    shutil.copytree(example, pytester.path, dirs_exist_ok=True)
    result = pytester.runpytest("--bert-budget")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (
        "colbert: ColBert could not be built: ModuleNotFoundError: No module named 'colbart'; add the folder of a module "
        "of your own to pytest's pythonpath, or install it, or correct its name"
    ) in " ".join(result.stdout.str().split())


# two for one class


def test_two_for_one_architecture_name_both_and_none_replaces_a_built_in_closed_form(example: Path) -> None:
    shutil.copy("forms.toml", "more.toml")
    changed('["forms.toml"]', '["forms.toml", "more.toml"]', "pyproject.toml")
    with pytest.raises(SettingsError, match=r"^more.toml contributes .* for ColBert .*, and so does forms.toml"):
        registry_of(load(Path("pyproject.toml")), NEWEST)
    changed("ColBert  ", "BertModel  ")
    with pytest.raises(SettingsError, match=r"^forms.toml contributes .* BertModel .* so does pytest-bertsize itself"):
        registry_of(load(Path("pyproject.toml")), NEWEST)


# installed packages


def installed(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """An entry point as if a package had it."""
    found = [metadata.EntryPoint("acme", place, GROUP)]

    def entry_points(*, group: str) -> Sequence[metadata.EntryPoint]:
        return found if group == GROUP else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_an_installed_package_is_asked_where_nothing_else_is_found_and_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_sizes" / "data").mkdir(parents=True)
    (tmp_path / "acme_sizes" / "__init__.py").write_text("raise AssertionError")
    (tmp_path / "acme_sizes" / "data" / "forms.toml").write_text(FORMS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    installed(monkeypatch, "acme_sizes.data:forms.toml")
    registry = registry_of(None, NEWEST)
    assert registry.find("bert", "BertModel")
    assert [family.name for family in registry.families("bert")] == ["bert"]  # nobody was asked yet
    found = registry.find("bert", "ColBert")
    assert found
    assert found[1].defined_in == "colbert"


@pytest.mark.parametrize("place", ["no_such_package:forms.toml", "json:forms.toml", "json:tool"])
def test_a_package_without_the_file_fails_the_model_that_asks(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, place)
    with pytest.raises(Unusable) as raised:
        registry_of(None, NEWEST).find("bert", "ColBert")
    (finding,) = raised.value.findings
    assert finding.sentence.startswith("an installed package: acme (entry point acme): ")
    assert finding.fix == "correct that package, or uninstall it"
