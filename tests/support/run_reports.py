"""Run reports as a page is made from, of real closed forms: bert-base grown from 12 to 14 layers, and what can be missing.

Every count is a closed form's; :data:`GROWN` and the shares of the three keys are derived by hand beside it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_bertsize import __version__
from pytest_bertsize.findings import Finding
from pytest_bertsize.inventory import Inventory, Tensor
from pytest_bertsize.reports import headline
from pytest_bertsize.reports.from_review import report_model
from pytest_bertsize.reports.report import (
    Base,
    Change,
    Choices,
    Component,
    Cost,
    FindingRow,
    Fit,
    Layer,
    LayerTensor,
    ModelReport,
    Removed,
    RunBase,
    RunReport,
    Totals,
)
from pytest_bertsize.review.examine import Subject
from pytest_bertsize.review.review import Review
from pytest_bertsize.table.settings import limits_from
from tests.support.bert_reviews import derived, hold

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms import ClosedForm

Row = TypeVar("Row", bound=Struct)
LISTS = ("published", "components", "measures", "frozen", "tensors", "layers", "findings")


def blank(kind: type[Row], /, **said: Any) -> Row:
    return kind(**{**dict.fromkeys(kind.__struct_fields__), **said})


def component(
    name: str, actual: int, expected: int | None = None, maximum: int | None = None, **more: Any
) -> Component:
    expected = actual if expected is None else expected
    failed = actual != expected or (maximum is not None and actual > maximum)
    limit = None if maximum is None else f"{maximum:,}"
    counts = {"expected": expected, "actual": actual, "max": maximum, "limit": limit, "failed": failed}
    return blank(Component, name=name, **{"layers": 1, **counts, **more})


def model(*components: Component, findings: list[FindingRow] | None = None, name: str = "encoder") -> ModelReport:
    total = components[-1]
    said = {
        "headline": f"{name}: total {total.actual:,}, limit {total.limit}",
        "verdict": "failed",
        "report_only": False,
    }
    what = {"name": name, "family": "bert", "architecture": "BertForMaskedLM", "symbols": {"V": 30522, "D": 768}}
    origin = {"config": "models/config.json", "config_sha256": "", "built": True, "closed_form": True}
    lists = {**{each: [] for each in LISTS}, "components": [*components], "findings": findings or []}
    totals = Totals(expected=1, actual=1, trainable=1, stored=1, unrolled=1)
    return blank(ModelReport, totals=totals, **said, **what, **origin, **lists)


def finding(message: str, fix: str = "", severity: str = "error", kind: str = "over-budget") -> FindingRow:
    place = {"file": "pyproject.toml", "line": 11, "in_headline": False}
    return blank(FindingRow, kind=kind, severity=severity, message=message, fix=fix, **place)


COMMIT, BASE_COMMIT, FILE = "a" * 40, "b" * 40, "models/encoder/config.json"
LAYER = 4 * 768 * 768 + 2 * 768 * 3072 + 9 * 768 + 3072
"""7,087,872: four square matrices, two to and from I, their biases, two norms."""
GROWN = {
    "encoder": 2 * LAYER,
    "embeddings": 512 * 768,
    "head": 30522 * 768 + 30522,  # the decoder's matrix, and the bias that is no longer shared
}
"""What two more layers, 512 more positions and an untied decoder add to bert-base: 38,040,378 in all."""


def bert(layers: int, positions: int, *, tied: bool) -> ClosedForm:
    """BertForMaskedLM in the sizes of bert-base-uncased (Devlin et al. 2018, table 1), with three of them changed."""
    sizes = {"num_hidden_layers": layers, "max_position_embeddings": positions, "tie_word_embeddings": tied}
    form = derived(FILE, **sizes).form
    assert form
    return form


def review_of(subject: Subject, name: str, budget: dict[str, Any], *findings: Finding) -> Review:
    named = replace(subject, model=subject.model.replace(name=name))
    return Review(named, limits_from(budget, file="pyproject.toml", line=11), findings)


def reported(
    form: ClosedForm, actual: Inventory | None = None, /, name: str = "encoder", **budget: object
) -> ModelReport:
    """The report of a model that is what its closed form says, unless another inventory is given."""
    names = {key.replace("__", "."): limit for key, limit in budget.items()}
    found = derived(FILE)
    assert found.derivation
    subject = replace(found, shows_formulas=True, derivation=found.derivation._replace(form=form))
    return plain(report_model(hold(review_of(subject, name, names), actual or form)))


def plain(model: ModelReport) -> ModelReport:
    model.base, model.layers, model.choices = None, [], None
    return model


def base_of(**more: Any) -> Base:
    """A model at ``main``, by its closed form."""
    counted = {"is_new": False, "former_name": "", "grown": 0, "shrunk": 0, "method": ""}
    place = {"by": "closed form", "revision": "main", "commit": BASE_COMMIT}
    return blank(Base, **{**counted, **place, "tensors": [], "said": [], "changes": [], **more})


def against(model: ModelReport, former: ClosedForm, revision: str = "main", **more: Any) -> ModelReport:
    for row in model.components:
        row.base = former.total if row.name == "total" else former.components.get(row.name, 0)
    names = {row.name for row in model.components}
    lowest = (row for row in model.components if not any(each.startswith(f"{row.name}.") for each in names))
    deltas = [(row.actual or 0) - (row.base or 0) for row in lowest if row.name != "total"]
    grown, shrunk = sum(each for each in deltas if each > 0), -sum(each for each in deltas if each < 0)
    counted = {"config": model.config, "total": former.total, "grown": grown, "shrunk": shrunk, "revision": revision}
    model.base = base_of(**{**counted, **more})
    model.headline = headline.describe_model(model, model.headline.partition(": ")[2])
    return model


def failing() -> ModelReport:
    """Over its budget in three ways, not equal to its closed form, with all that a report can have."""
    form = bert(14, 1024, tied=False)
    odd = Tensor("cls.predictions.decoder.scale", (768,), "head.decoder")
    actual = Inventory((*form.tensors, odd))
    model = reported(form, actual, total="110M", embeddings="24M", head="1M", encoder={"min": "80M", "max": "100M"})
    layers = {"encoder.feed_forward": 9_444_864, "encoder.attention": 4_724_736, "encoder.norm": 6_144}
    changes = [
        change("tie_word_embeddings", "true", "false", {"head": GROWN["head"], "head.decoder": GROWN["head"]}),
        change("num_hidden_layers", "12", "14", {"encoder": 2 * LAYER, **layers}),
        change("max_position_embeddings", "512", "1024", {"embeddings": 393_216, "embeddings.position": 393_216}),
        change("code", "", "", {"head": 768, "head.decoder": 768}),
    ]
    against(model, bert(12, 512, tied=True), changes=changes, method="by 3 builds of today's code")
    model.layers = [layer("bert.encoder.layer.12-13", 2)]
    smaller = {"num_hidden_layers": 8}
    model.choices = Choices(
        fits=[Fit(change="num_hidden_layers 14 → 8", overrides=smaller, total=bert(8, 1024, tied=False).total)],
        costs=[
            Cost(what="one more layer", change="num_hidden_layers 14 → 15", total=LAYER),
            Cost(what="512 more positions", change="max_position_embeddings 1024 → 1536", total=393_216),
            Cost(what="tie the decoder", change="tie_word_embeddings false → true", total=-GROWN["head"]),
        ],
    )
    default = "max_position_embeddings is missing, 1,024 is taken"
    said = {"message": "pruned_heads changes nothing here", "file": "config.json", "line": 4}
    rows = [{"kind": "ignored-key", "severity": "warning", **said}]
    rows += [{"kind": "defaulted-key", "severity": "note", "message": default}]
    model.findings += [blank(FindingRow, **{"fix": "", "in_headline": False, **row}) for row in rows]
    return model


def change(key: str, before: str, after: str, components: dict[str, int]) -> Change:
    total = sum(count for name, count in components.items() if "." not in name)
    return Change(key=key, before=before, after=after, total=total, components=components)


def layer(name: str, times: int = 1, tensors: int = 3) -> Layer:
    names = (f"attention.part{number}.weight" for number in range(tensors))
    shapes = [LayerTensor(name=each, base=None, expected=[768, 768], actual=[768, 768]) for each in names]
    return Layer(name=name, times=times, base=None, expected=LAYER, actual=LAYER, tensors=shapes)


def saying(word: str) -> ModelReport:
    """A model with a foreign text wherever a file, a class or a command line has a say."""
    model = failing()
    model.name, model.headline, model.architecture, model.config = word, f"{word}: {word}", word, word
    model.symbols = {word: 1}
    for row in model.components[:3]:
        row.name, row.limit, row.formula, row.latex = word, word, word, None
    for finding in model.findings:
        finding.message, finding.fix, finding.file = word, word, word
    assert model.base
    assert model.choices
    model.base.revision, model.base.config, model.base.said, model.base.method = word, word, [word], word
    model.base.changes[0] = Change(key=word, before=word, after=word, total=1, components={word: 1})
    model.choices.fits[0].change = word
    model.choices.costs[0].what = model.choices.costs[0].change = word
    model.layers[0].name = model.layers[0].tensors[0].name = word
    return model


def passing(name: str = "encoder") -> ModelReport:
    """As it was at the base, with room in its budget."""
    form = bert(12, 512, tied=True)
    return against(reported(form, name=name, total="110.2M", embeddings="24M"), form)


def free_key() -> ModelReport:
    """A key has changed that moves no count."""
    model = passing()
    assert model.base
    model.base.changes = [change("num_attention_heads", "12", "6", {})]
    return model


def new(name: str = "fresh") -> ModelReport:
    model = reported(bert(12, 512, tied=True), name=name, total="120M")
    model.base = base_of(is_new=True, config=None, said=[f"new: main declares no model {name}"])
    model.headline = headline.describe_model(model, "")
    return model


def not_built(name: str = "broken") -> ModelReport:
    failed = Finding("build-failed", "BertForMaskedLM cannot be built: no room", "try again")
    return plain(report_model(review_of(derived(FILE), name, {"total": "120M"}, failed)))


def refused(name: str = "hostile") -> ModelReport:
    finding = Finding("config-refused", 'the key "auto_map" runs code', "remove it", file="config.json", line=3)
    subject = Subject(derived(FILE).model.replace(config="config.json"), settings=derived(FILE).settings)
    return plain(report_model(review_of(subject, name, {}, finding)))


def without_closed_form(name: str = "own") -> ModelReport:
    """Held to its budget alone."""
    model = derived(FILE).model.replace(config="models/own/config.json", closed_form=False)
    subject = Subject(model, settings=derived(FILE).settings, family="bert", architecture="OwnModel")
    return plain(report_model(hold(review_of(subject, name, {"total": "120M"}), bert(12, 512, tied=True))))


def large(components: int = 200, layers: int = 1000) -> ModelReport:
    parts = tuple(Tensor(f"part{n}.weight", (1000 + n, 97), f"part{n // 4}.piece{n}") for n in range(components))
    form = bert(12, 512, tied=True)
    actual = Inventory((*form.tensors, *parts))
    model = against(reported(form, actual, total="110M"), form)
    model.layers = [layer(f"bert.encoder.layer.{n}", tensors=16) for n in range(layers)]
    row = model.findings[0]
    model.findings += [copy.deepcopy(row) for _ in range(100)]
    assert model.base
    model.base.changes = [change(f"key_{n}", "1", "2", {"encoder": n, f"encoder.part{n}": n}) for n in range(300)]
    return model


def run(*models: ModelReport, **more: Any) -> RunReport:
    counted = {"configured": len(models), "checked": len(models), "not_checked": [], "complete": True, "mode": "full"}
    counted |= {"models": [*models], "failed": sum(model.verdict == "failed" for model in models)}
    versions = {"pytest_bertsize": __version__, "transformers": "5.23.0", "torch": "2.13.0", "python": "3.11.2"}
    made_of = {"schema": 1, "versions": versions, "commit": COMMIT, "table_sha256": "c" * 64}
    base = compared() if any(model.base for model in models) else None
    found = blank(RunReport, **{**counted, **made_of, "base": base, **more})
    lines = {"headline": headline.describe_run(found), "news": headline.describe_news(found)}
    return replace(found, **lines, changed=headline.has_news(found))


def compared(**more: Any) -> RunBase:
    found = RunBase(revision="main", commit=BASE_COMMIT, problem="", removed=[], not_compared=[])
    return replace(found, **more)


def gone(name: str, total: int | None = None, limit: str | None = None, **more: Any) -> Removed:
    """A model that left the table, and nothing is amiss with it."""
    found = Removed(name=name, config=f"{name}.json", total=total, limit=limit, problem="", reason="", failed=False)
    return replace(found, **more)


def renamed(model: ModelReport, name: str) -> ModelReport:
    """The same model by another name; the two have their rows in common."""
    return replace(model, name=name, headline=model.headline.replace(model.name, name))
