"""A class that no closed form describes: held against its lock, and compared with the lock of the base."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_bertsize.base.lock import Lock, Locked, hash_sources, read_lock, render_lock
from pytest_bertsize.builder.messages import Buffer, Built, NotBuilt
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.review.review import AgainstLock
from pytest_bertsize.review.tensors import compare_with_lock
from pytest_bertsize.table.limits import Budget
from pytest_bertsize.table.model import Model
from pytest_bertsize.table.settings import load
from tests.support.bert_reviews import subject as bert
from tests.support.desk import as_project
from tests.support.git_projects import GitProject, repository

if TYPE_CHECKING:
    from pytest_bertsize.findings import Finding
    from pytest_bertsize.review.accept import Verb
    from pytest_bertsize.review.review import Comparison, Review

CONFIG: dict[str, Any] = {"words": 100, "width": 8, "layers_num": 3, "dropout": 0.1}
EMBED, LAYER, HEAD = 100 * 8, 8 * 8 + 8, 2 * 8
TOTAL = EMBED + 3 * LAYER + HEAD
TABLE = """
    [tool.bertsize]
    lock = "bertsize.lock"
    [tool.bertsize.models.own]
    factory = "own:build"
    config = "own.json"
    closed_form = false
    budget.total = "1100"
    """

Code = dict[str, tuple[int, ...]]
POOL: Code = {"pool.weight": (8, 8)}


def tensors(config: Mapping[str, Any], code: Code) -> tuple[Tensor, ...]:
    """What the class builds from a config.

    :param code: what it builds whatever the config says.
    """
    width = config["width"]
    layers = {
        f"encoder.layers.{index}.{name}": shape
        for index in range(config["layers_num"])
        for name, shape in {"attn.weight": (width, width), "norm.weight": (width,)}.items()
    }
    shapes = {"embed.weight": (config["words"], width), **layers, "head.weight": (2, width), **code}
    return tuple(Tensor(name, shape, "") for name, shape in shapes.items())


@dataclass
class OwnProject:
    """The project; what its class builds is what its code is now."""

    git: GitProject
    code: Code = field(default_factory=dict)
    by_table: Code = field(default_factory=dict)
    """What another factory builds, or this one with other arguments."""
    buffers: tuple[Buffer, ...] = ()
    refuses: Callable[[Mapping[str, Any]], bool] = lambda _: False
    built: list[str] = field(default_factory=list)
    """What was asked for."""

    def gate(self, base: str | None = None, verb: Verb | None = None) -> Gate:
        settings = load(self.git.folder / "pyproject.toml")
        baseline = self.git.baseline(base) if base else None
        lock = read_lock(settings)

        def result(name: str) -> Built | NotBuilt:
            self.built.append(name)
            request = gate.find_requests(gate.settings.models)[name]
            if self.refuses(request.config):
                return NotBuilt("ValueError: no")
            code = {**self.code, **(self.by_table if (request.factory, request.kwargs) != ("own:build", {}) else {})}
            return Built(tensors(request.config, code), {}, self.buffers, transformers="5.23.0", torch="2.13.0")

        gate = Gate(as_project(settings, baseline), result, Mode(verb=verb), lock)
        return gate

    def accept(self, base: str | None = None) -> None:
        """What ``--bert-budget-update`` writes to the lock."""
        gate = self.gate(base, verb="update")
        head = render_lock({})
        (self.git.folder / "bertsize.lock").write_text(f"{head}\n{gate.to_lock('own')}", encoding="utf-8")

    def config(self, **changed: Any) -> None:
        self.git.write("own.json", {**CONFIG, **changed})

    def become_base(self) -> None:
        """Let ``main`` be what there is now."""
        self.git.commit()
        self.git.git("branch", "--force", "main")


def own_project(folder: Path, table: str = TABLE, *, locked: bool = True) -> OwnProject:
    """A repository whose ``main`` has the class, and its lock; what is checked out is another branch."""
    found = OwnProject(repository(folder))
    found.config()
    found.git.declare(table)
    if locked:
        found.accept()
    found.git.commit()
    found.git.git("switch", "--quiet", "--create", "change")
    return found


STRICT = TABLE.replace('"bertsize.lock"', '{ file = "bertsize.lock", strict = true }')
ACCEPT = 'if that is intended, accept it: bertsize accept --reason "…"'


@pytest.fixture
def own(tmp_path: Path) -> OwnProject:
    return own_project(tmp_path / "project")


def of_lock(project: OwnProject) -> list[Finding]:
    return [found for found in project.gate().review("own").findings if found.kind == "differs-from-lock"]


def compared(project: OwnProject) -> Comparison:
    project.built.clear()
    found = project.gate("main").review("own").comparison
    assert found
    return found


# against today's lock


def test_a_difference_is_a_note_with_the_line_of_its_block(own: OwnProject) -> None:
    own.code = POOL
    (found,) = of_lock(own)
    assert found.message == (
        "it differs from bertsize.lock: pool is new: 64 (weight 8×8) "
        "(the inputs of its table are unchanged: the code has changed, or a file that it reads)"
    )
    assert (found.severity, found.fix, found.file, found.line) == ("note", ACCEPT, "bertsize.lock", 5)
    assert own.gate().review("own").verdict == "passed"


@pytest.mark.parametrize(("table", "severity"), [(TABLE, "note"), (STRICT, "error")])
def test_a_lock_that_is_not_there_yet_is_said_with_how_to_make_it(tmp_path: Path, table: str, severity: str) -> None:
    (found,) = of_lock(own_project(tmp_path / "project", table, locked=False))
    assert found.sentence == (
        'there is no bertsize.lock, which the table names as its lock; write it: bertsize accept --reason "…"'
    )
    assert found.severity == severity


# differences in words, of a comparison alone

BEFORE = Locked(
    tuple(Tensor(f"part{at}.weight", (at + 2, 3), "part") for at in range(8)),
    "sha256:1",
    "transformers 5.23.0, torch 2.13.0",
)


def found(now: Locked, *, before: Locked | None = BEFORE, unbuilt: bool = False) -> Review:
    models = {"zh": before} if before else {}
    return compare_with_lock(
        replace(bert(), unbuilt=unbuilt), now, Lock("a.lock", strict=False, models=models, text=render_lock(models))
    )


def test_what_is_as_it_was_accepted_says_so_and_a_lock_without_the_model_how_to_write_it_there() -> None:
    assert found(BEFORE).findings == ()
    assert found(BEFORE).locked == AgainstLock("a.lock", is_there=True)
    (finding,) = found(BEFORE, before=None).findings
    assert finding.sentence == 'a.lock: a.lock does not have this model; add it: bertsize accept --reason "…"'
    assert (finding.kind, finding.severity) == ("differs-from-lock", "note")


def test_what_counts_is_told_where_nothing_is_built_without_a_word_on_whose_change_it_is() -> None:
    more = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("pool.weight", (8, 8), "pool")))
    (finding,) = found(more, unbuilt=True).findings
    assert finding.message == "it differs from a.lock: pool is new: 64 (weight 8×8)"
    untied = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("x.weight", (2, 3), "part", tied_to="part0.weight")))
    assert ([*found(untied, unbuilt=True).findings], len(found(untied).findings)) == ([], 1)  # another name alone
    freed = replace(BEFORE, tensors=(*BEFORE.tensors, Tensor("x.weight", (2, 3), "part")))
    locked = found(freed, before=untied, unbuilt=True).locked
    assert locked
    assert [each.kind for each in locked.changes] == ["untied"]


def test_what_else_has_changed_is_said_with_it() -> None:
    """Its config before the libraries."""
    same = "the inputs of its table are unchanged; it was built with"
    for changed, why in (
        ({"config": "sha256:2", "built_with": "x"}, "its config or another input of its table has changed"),
        ({"built_with": "transformers 6"}, f"{same} {BEFORE.built_with}, and now with transformers 6"),
    ):
        (finding,) = found(replace(BEFORE, tensors=BEFORE.tensors[1:], **changed)).findings
        assert finding.message.endswith(f" ({why})")


FUNCTION = Model(name="zh", factory="own:build", kwargs={"labels": 2}, architecture="BertModel", budget=Budget())


def test_other_words_of_a_command_are_a_note_even_of_a_strict_lock_and_other_sizes_an_error() -> None:
    model = FUNCTION.replace(lock="strict")
    before = replace(BEFORE, sizes={"bert.layers": 2})
    lock = Lock("a.lock", strict=True, models={"zh": before}, text=render_lock({"zh": before}))

    def compare(**changed: Any) -> Finding:
        review = bert()
        review = replace(review, subject=replace(review.subject, model=model))
        (finding,) = compare_with_lock(review, replace(before, **changed), lock).findings
        return finding

    note, error = compare(config="sha256:2"), compare(sizes={"bert.layers": 3})
    but = "no tensor differs from a.lock, but"
    assert (note.severity, note.message) == ("note", f"{but} its config or another input of its table has changed")
    assert (error.severity, error.message) == ("error", f"{but} bert.layers was 2 and is 3")


def test_a_table_that_names_another_class_is_not_the_same() -> None:
    now = hash_sources(FUNCTION, None, {})
    assert now == hash_sources(FUNCTION.replace(reason="new"), None, {})
    for key, value in (
        *(("factory", "own:make"), ("factory", "python own.py"), ("kwargs", {"labels": 3})),
        *(("architecture", "BertForMaskedLM"), ("overrides", {"a": 1}), ("options", {"a": True})),
    ):
        assert now != hash_sources(FUNCTION.replace(**{key: value}), None, {}), key


# against the base


def test_without_a_lock_the_base_says_that_there_is_none_and_how_to_make_one(tmp_path: Path) -> None:
    project = own_project(tmp_path / "project", TABLE.replace('lock = "bertsize.lock"', ""), locked=False)
    project.config(layers_num=4)
    assert compared(project).said == (
        "at main it cannot be counted: closed_form = false",
        (
            'at main its table names no lock; only a lock can show what changed; commit one: lock = "bertsize.lock" in '
            '[tool.bertsize], written by bertsize accept --reason "…"'
        ),
        "these keys changed: layers_num; the effect of each is not known",
    )


DEEPER, WIDER = 2 * LAYER, 2 * 100 + 3 * (100 + 10 - LAYER) + 2 * 2
BOTH = 100 * 10 + 5 * 110 + 20 - TOTAL
"""Two layers of 8 more and 2 columns more: (2·64 + 16) alone, and what is wider in 3, and in 5."""


MOVED: list[tuple[dict[str, Any], Code, dict[str, int], int]] = [
    ({"layers_num": 4, "dropout": 0.2}, {}, {"layers_num": LAYER, "dropout": 0}, 3),  # of nothing that was counted
    ({"layers_num": 4}, POOL, {"layers_num": LAYER, "code": 64}, 1),
    ({"layers_num": 5, "width": 10}, {}, {"width": WIDER, "layers_num": DEEPER, "together": BOTH - DEEPER - WIDER}, 3),
    ({}, POOL, {"code": 64}, 0),
]


@pytest.mark.parametrize(("config", "code", "moved", "builds"), MOVED)
def test_a_key_moved_what_builds_with_the_others_put_back_say(
    own: OwnProject, config: dict[str, Any], code: Code, moved: dict[str, int], builds: int
) -> None:
    """With all of them put back, and, of several keys, with each alone as it is now."""
    own.config(**config)
    own.code = code
    found = compared(own)
    assert {row.key: row.total for row in found.by_keys.moved} == moved
    layers = [(row.before, row.after) for row in found.by_keys.moved if row.key == "layers_num"]
    assert layers == ([("3", str(config["layers_num"]))] if config else [])
    assert len(own.built) == 1 + builds  # today's first
    methods = {0: "", 1: "by 1 build of today's code with old values", 3: "by 3 builds of today's code with old values"}
    assert found.by_keys.method == methods[builds]


def test_the_tensors_of_the_base_are_those_of_its_lock(own: OwnProject) -> None:
    own.config(layers_num=4)
    found = compared(own)
    assert [each.sentence for each in found.tensors] == [f"encoder.layers.3 is new: {LAYER}, like the other 3"]
    assert (found.said, found.by) == ((), "lock")
    assert found.inventory
    assert (found.inventory.unique, found.grown) == (TOTAL, LAYER)
    (row,) = found.by_keys.moved
    assert dict(row.own) == {"encoder.layers.attn": 64, "encoder.layers.norm": 8}


BY_TABLE = {
    "    kwargs = { pool = 8 }\n": ("kwargs.pool", "nothing", "8"),
    '    factory = "own:other"\n': ("factory", '"own:build"', '"own:other"'),
}


@pytest.mark.parametrize(("changed", "row"), BY_TABLE.items())
def test_what_the_table_moved_is_told_from_what_the_code_moved(
    own: OwnProject, changed: str, row: tuple[str, str, str]
) -> None:
    key = changed.split(" = ", maxsplit=1)[0].strip()
    kept = "".join(line for line in TABLE.splitlines(keepends=True) if f" {key} = " not in line)
    own.git.declare(kept.replace("    config", f"{changed}    config"))
    own.by_table = POOL
    assert [(each.key, each.before, each.after, each.total) for each in compared(own).by_keys.moved] == [(*row, 64)]


UNKNOWN = "the effects of keys and code are not known: "
FAILS = "the effect of each is not known, because the model cannot be built with old values: ValueError: no"


MANY = {"layers_num": 4, **dict.fromkeys("abcdefghijklmno", 1)}
UNPLACED = [
    ('    architecture = "Other"\n', {}, f"architecture; {UNKNOWN}the table had another architecture"),
    ("", MANY, f"a, b, c, d, e, f and 10 more; {UNKNOWN}more than 15 keys changed, and each needs a build"),
    ("", {"layers_num": 4}, f"layers_num; {FAILS}"),
]


@pytest.mark.parametrize(("table", "config", "said"), UNPLACED, ids=["another class", "too many keys", "a failure"])
def test_keys_that_cannot_be_put_back_are_named(own: OwnProject, table: str, config: dict[str, int], said: str) -> None:
    own.git.declare(TABLE + table)
    own.config(**config)
    own.refuses = lambda config: config["layers_num"] == 3 and not table
    own.code = POOL
    found = compared(own)
    assert (found.said, found.by_keys.moved) == ((f"these keys changed: {said}",), ())
    assert len(own.built) == len(own.gate("main").find_requests(["own"])) == (2 if FAILS in said else 1)
    assert {each.kind for each in found.tensors} == {"new"}


def test_a_lock_of_the_base_that_cannot_be_read_is_said(own: OwnProject) -> None:
    own.git.write("bertsize.lock", "lock = 1\n=======\n")
    own.become_base()
    (own.git.folder / "bertsize.lock").unlink()
    own.accept()
    assert any("at main bertsize.lock:2: not TOML: " in said for said in compared(own).said)


def test_growth_that_is_counted_from_the_lock_asks_for_one_that_is_true(own: OwnProject) -> None:
    own.git.declare(TABLE + '    budget.growth = "50%"\n')
    own.code = POOL
    (found,) = own.gate("main").review("own").errors
    assert found.kind == "differs-from-lock"
    own.accept("main")
    assert own.gate("main").review("own").errors == ()


def test_a_lock_that_is_strict_no_more_is_a_loosened_budget(tmp_path: Path) -> None:
    project = own_project(tmp_path / "project", STRICT)
    project.git.declare(TABLE)
    errors = [found for found in project.gate("main").review("own").errors if found.kind == "budget-loosened"]
    assert [found.message for found in errors] == [
        "main declares strict = true (a difference from the lock fails), and this table does not"
    ]
    project.git.declare(TABLE + '    reason = "ADR-9: a note is enough"\n')
    assert project.gate("main").review("own").verdict == "passed"


def test_other_components_of_a_limited_model_are_a_loosened_budget(own: OwnProject) -> None:
    components = '    components = {{ tower = "{}" }}\n    budget.tower = "1.1K"\n'
    own.git.declare(TABLE + components.format("encoder.*"))
    own.accept()
    own.become_base()
    assert own.gate("main").review("own").verdict == "passed"
    own.git.declare(TABLE + components.format("encoder.layers.0.*"))
    (error,) = own.gate("main").review("own").errors
    assert (error.kind, error.message) == (
        "budget-loosened",
        "main has other components, so a limit may cover less than there",
    )
    own.git.declare(TABLE + components.format("encoder.layers.0.*") + '    reason = "ADR-3: the first one alone"\n')
    assert own.gate("main").review("own").verdict == "passed"


def test_bytes_with_buffers_have_no_measure_at_a_base_that_was_not_built(own: OwnProject) -> None:
    own.git.declare(TABLE + '    budget.bytes = "1MB"\n')
    own.buffers = (Buffer("mask", 9, "float32", 36, saved=True),)
    (measured,) = (each for each in own.gate("main").review("own").measured if each.name == "bytes")
    assert (measured.actual, measured.base) == (4 * TOTAL + 36, None)


# components


def test_components_are_the_modules_that_there_are_or_those_that_the_table_names(own: OwnProject) -> None:
    review = own.gate().review("own")
    assert review.actual
    attention, norm = 3 * 64, 3 * 8
    assert review.actual.components == {
        **dict.fromkeys(("encoder", "encoder.layers"), attention + norm),
        "encoder.layers.attn": attention,
        "encoder.layers.norm": norm,
        "head": HEAD,
        "embed": EMBED,
    }
    named = 'components = { tower = "encoder.*", ends = ["embed", "head"] }\nbudget.tower = 200\nbudget.ends = 816\n'
    own.git.declare(textwrap.dedent(TABLE) + named)
    review = own.gate().review("own")
    assert review.actual
    assert review.actual.components == {"tower": 3 * LAYER, "ends": EMBED + HEAD}
    assert [found.message for found in review.errors] == [f"tower is {3 * LAYER}, 16 over its limit of 200"]


NO_COMPONENTS = {
    'components = { tower = "vision.*" }': '"vision.*" matches no module or tensor of the built model; correct components.tower',
    'components = { a = "encoder", b = "*.norm.weight" }': "encoder.layers.0.norm.weight is also in the component a: a tensor has only one component",
    'components = { encoder = "embed" }': "the component encoder has a module's name, but not all its tensors: give the component another name",
    'budget."encoder.layer" = 5': "did you mean 'encoder.layers'?",
}


@pytest.mark.parametrize(("more", "said"), NO_COMPONENTS.items())
def test_a_component_that_holds_nothing_is_red(own: OwnProject, more: str, said: str) -> None:
    own.git.declare(f"{TABLE}    {more}\n")
    review = own.gate().review("own")
    assert review.verdict == "failed"
    assert said in " ".join(found.sentence for found in review.errors)


@pytest.mark.parametrize(("limits", "notes"), [("2_063", []), ("2_064", ["2,064"]), ('"5B"\n    budget.head = 31', [])])
def test_a_limit_that_twice_the_model_would_pass_is_noted(own: OwnProject, limits: str, notes: list[str]) -> None:
    own.git.declare(TABLE.replace('"1100"', limits))
    found = [each for each in own.gate().review("own").findings if each.kind == "insensitive-budget"]
    assert [each.fix for each in found] == [
        f"total is 1,032, and its limit {each}: write a lower limit" for each in notes
    ]


def test_another_name_alone_is_no_parameter_of_the_code(own: OwnProject) -> None:
    own.code = POOL
    own.accept()
    own.become_base()
    own.code = {"summary.weight": (8, 8)}
    found = compared(own)
    assert ([each.sentence for each in found.tensors], found.by_keys.moved) == (
        ["pool is now named summary, with the same shapes: 64"],
        (),
    )
