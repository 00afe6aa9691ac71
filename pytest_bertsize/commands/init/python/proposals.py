"""What a project's Python gives to propose: tables of published models, and functions that make its own classes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bertsize.builder.published import fetching, is_name
from pytest_bertsize.commands.init.limits import budget, budget_of_built
from pytest_bertsize.commands.init.python.code import Code
from pytest_bertsize.commands.init.python.made import PRETRAINED, made, made_of
from pytest_bertsize.commands.init.python.meant import Meanings
from pytest_bertsize.commands.init.python.names import names, names_beside
from pytest_bertsize.commands.init.python.plan import Planner, Undecided
from pytest_bertsize.commands.init.python.tried import MODULE, tried
from pytest_bertsize.config.in_python import dotted, first_argument
from pytest_bertsize.config.source import by_name
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.check import examine
from pytest_bertsize.table.schema import TABLE
from pytest_bertsize.table.settings import SettingsError, parse
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.names import Named
    from pytest_bertsize.commands.init.python.plan import Plan
    from pytest_bertsize.config.model_config import ModelConfig

MOST_TRIED = 6
"""Classes of the project, of which one is built each."""
MOST_NAMED = 6
"""Tables of published models."""
MOST_SAID = 12
"""Lines of what cannot be decided."""
FACTORIES = '"""The models of this project as pytest-bertsize builds them: shapes alone, no weights."""\n\nimport sys\n'
_RELEVANT = re.compile(r"bert|electra|transformer|mpnet|longformer|from_pretrained|AutoModel", re.IGNORECASE)
_NONE = re.compile(
    r"(Loss|Sampler|Pooling|Normalize|CRF|Embeddings?|Attention|Layer|LayerNorm|Output|Pooler|Collator\w*)$"
)
GUESSED = "nothing says the class: write the one that your code builds, then pytest --bert-budget --bert-budget-update"


@dataclass
class FromPython:
    """What is proposed."""

    tables: dict[str, str] = field(default_factory=dict)
    factories: str = ""
    """The file with the functions; ``""`` where none is needed."""
    by_hand: list[str] = field(default_factory=list)


def from_python(
    project: Project, files: Listed, registry: Registry, taken: Iterable[str], helper: Helper | None
) -> FromPython:
    """Read the project's Python, and propose what it says."""
    code = Code()
    for file, content in files.contents(files.python, "files of Python"):
        code.add(file, content)
    code.put_copies_last()
    return _Proposing(project, code, files, registry, {*taken}, helper).all()


class _Proposing:
    def __init__(
        self, project: Project, code: Code, files: Listed, registry: Registry, taken: set[str], helper: Helper | None
    ) -> None:
        self.project, self.code, self.registry, self.taken, self.helper = project, code, registry, taken, helper
        self.found = FromPython()
        self._families: dict[str, str] = {}
        those = (*names(code, self._is_published), *names_beside(files, self._is_published))
        self.all_named = [each for each in those if not _of_tokenizer(each)]
        self.named = [each for each in self.all_named if self._is_published(each.name)]
        self.meanings = Meanings(self.named)
        self.made = [*made(code)]

    def all(self) -> FromPython:
        built = self._own_classes()
        self._published_ones(built)
        self._unknown_ones()
        self.found.by_hand[MOST_SAID:] = _folded(self.found.by_hand[MOST_SAID:])
        return self.found

    def _is_published(self, name: str) -> bool:
        """Whether a config of a known family is there for a name."""
        if name not in self._families:
            self._families[name] = ""
            hub = self.project.settings.hub if self.project.settings else {}
            if is_name(name):
                config = self._config_of(name, hub)
                if config and self.registry.families(str(config.model_type)):
                    self._families[name] = str(config.model_type)
        return bool(self._families[name])

    def _config_of(self, name: str, hub: Mapping[str, str]) -> ModelConfig | None:
        try:
            return by_name(name, self.project.root, hub)
        except Unusable:
            return None

    # the project's own classes

    def _own_classes(self) -> set[str]:
        """The model classes that are proposed, by file and name; and those inside them."""
        plans: dict[str, Plan] = {}
        planner = Planner(self.code, self.meanings, {name: family for name, family in self._families.items() if family})
        tops = self._tops()
        for (file, class_name), those in tops.items():
            if len(plans) == MOST_TRIED:
                self.found.by_hand.append(
                    f"{file}: {class_name}, made at {those[0].where}, is one of {len(tops)} classes: declare it by factory"
                )
                continue
            why = ""
            for each in those[:4]:
                name = self._name(_dashed(class_name))
                try:
                    plans[name] = planner.plan(each, _snake(class_name, {plan.name for plan in plans.values()}))
                    break
                except Undecided as undecided:
                    why = why or f"{each.where}: {class_name} is made here, and {undecided}"
                    self.taken.discard(name)
            else:
                self.found.by_hand.append(f"{why}; declare it by factory")
        return self._tried(plans) if plans else set()

    def _tops(self) -> dict[tuple[str, str], list[Made]]:
        """Classes that are made by themselves and have to do with our families, those that scripts make first."""
        found: dict[tuple[str, str], list[Made]] = {}
        for each in self.made:
            module = each.origin.module
            if (
                each.inside
                or module is None
                or each.module.comes_last
                or module.comes_last
                or _NONE.search(each.class_name)
            ):
                continue
            if each.class_name in module.classes and _RELEVANT.search(self._text(each)):
                found.setdefault((module.file, each.class_name), []).append(each)
        if any("train" in each.module.file or each.module.is_script for those in found.values() for each in those):
            return found
        return found

    def _text(self, made: Made) -> str:
        module = made.origin.module
        assert module is not None
        node = module.classes[made.class_name]
        return f"{made.kind} {made.class_name} {ast.unparse(node)}"

    def _tried(self, plans: dict[str, Plan]) -> set[str]:
        bare = {name: _own_table(name, plan) for name, plan in plans.items()}
        text = factories(plans.values())
        if (self.project.root / f"{MODULE}.py").exists():
            for plan in plans.values():
                self.found.by_hand.append(
                    f"{plan.class_where}: {plan.made.class_name} needs a function, and there is a {MODULE}.py already: add it there\n{plan.text}"
                )
            return set()
        if self.helper is None:
            return self._untried(plans, "it was not built")
        try:
            settings = parse("\n".join(f'{each}budget = "report-only"\n' for each in bare.values()), self.project.path)
        except SettingsError as error:
            return self._untried(plans, str(error))
        kept, reviews = {}, tried(text, settings, self.registry, self.helper)
        for name, review in reviews.items():
            if review.actual is None or review.errors:
                reason = review.errors[0].message if review.errors else "it was not built"
                self._say_unbuilt(plans[name], reason)
                continue
            limits = budget_of_built(review.actual)
            self.found.tables[name] = bare[name] + "".join(f"budget.{key(part)} = {limit}\n" for part, limit in limits)
            kept[name] = plans[name]
        if kept:
            self.found.factories = factories(kept.values())
        return {
            f"{plan.made.origin.module.file}:{plan.made.class_name}"
            for plan in kept.values()
            if plan.made.origin.module
        }

    def _untried(self, plans: dict[str, Plan], why: str) -> set[str]:
        for plan in plans.values():
            self._say_unbuilt(plan, why)
        return set()

    def _say_unbuilt(self, plan: Plan, reason: str) -> None:
        self.found.by_hand.append(
            printable(
                f"{plan.class_where}: {plan.made.class_name}, made at {plan.made.where}: {reason}; declare it by factory",
                600,
            )
        )

    # published models

    def _published_ones(self, built: set[str]) -> None:
        """A table for each published model that a place names, as what the code makes of it."""
        done: set[tuple[str, str]] = set()
        inside = {name.rpartition(":")[2] for name in built}
        uses = [each for each in self.made if each.kind not in {"Module", "LightningModule"}]
        for each in uses:
            if (
                each.module.comes_last
                or each.inside in inside
                or f"{each.origin.module.file if each.origin.module else ''}:{each.class_name}" in built
            ):
                continue
            self._of_use(each, done)
        for named in self.named:
            if (
                not named.comes_last
                and named.name not in {name for name, _ in done}
                and not (built and self._is_used_up(named))
            ):
                self._propose(named, "", {}, GUESSED, done)

    def _is_used_up(self, named: Named) -> bool:
        """Whether a function that is proposed reads it, or the class that it makes does."""
        return (
            named.name in self.found.factories
            or any(
                named.reference in table or f'config = "{named.file}"' in table for table in self.found.tables.values()
            )
            or any(named.place.startswith(f"{each.made.class_name}.") for each in ())
        )

    def _of_use(self, use: Made, done: set[tuple[str, str]]) -> None:
        named = self.meanings.of(use.first, use.module, use.place) or self._by_its_config(use)
        if named is None:
            self._by_call(use, done)
            return
        family = self._families[named.name]
        names = [each.name for found in self.registry.families(family) for each in found.architectures]
        architecture = _architecture(use.kind, names)
        if not architecture:
            return
        because = f"{use.where} makes it"
        if use.inside:
            because = f"the backbone of {use.inside}, which {use.where} makes; what stands on it is not counted"
        elif use.is_own:
            because = f"the library's part of {use.class_name}; {use.where} makes it"
            architecture = names[0] if names else ""
            architecture = _architecture("AutoModel", [each for each in names]) or architecture
        labels = {each.arg: each.value for each in use.call.keywords if each.arg == "num_labels"}
        overrides = (
            {name: value.value for name, value in labels.items() if isinstance(value, ast.Constant)}
            if architecture and "For" in architecture
            else {}
        )
        self._propose(named, architecture, overrides, because, done, any_class="num_labels" in labels and not overrides)

    def _by_its_config(self, use: Made) -> Named | None:
        """``Model(config)``, where the config was made by the name of a published one."""
        call = made_of(use, _config_of(use))
        if call is None or not dotted(call.func).endswith(f".{PRETRAINED}"):
            return None
        return self.meanings.of(first_argument(call), use.module, use.place)

    def _by_call(self, use: Made, done: set[tuple[str, str]]) -> None:
        """``Model(config)``, where the config was made by a call that says its sizes."""
        call = made_of(use, _config_of(use))
        name = dotted(call.func).rpartition(".")[2] if call else ""
        if call is None or not name.endswith("Config") or not call.keywords:
            return
        family = next(
            (each for each in self.registry.names if each.replace("-", "").replace("_", "") == name[:-6].lower()), ""
        )
        names = (
            [each.name for found in self.registry.families(family) for each in found.architectures] if family else []
        )
        if architecture := _architecture(use.kind, names):
            said = Named(use.module.file, name, name, call.lineno, use.module)
            self._propose(said, architecture, {}, f"{use.where} makes it", done, family=family)

    def _propose(
        self,
        named: Named,
        architecture: str,
        overrides: dict[str, object],
        because: str,
        done: set[tuple[str, str]],
        *,
        any_class: bool = False,
        family: str = "",
    ) -> None:
        if (named.name, architecture) in done or (not architecture and any(name == named.name for name, _ in done)):
            return
        done.add((named.name, architecture))
        if len(done) > MOST_NAMED:
            self.found.by_hand.append(
                f'{named.where} names {named.name}: declare it, as in config = "{named.reference}"'
            )
            return
        if not architecture:
            names = [
                each.name
                for found in self.registry.families(self._families[named.name])
                for each in found.architectures
            ]
            architecture, any_class = _architecture("AutoModel", names), True
        name = self._name(_dashed(named.name.rpartition("/")[2]))
        lines = [f"[{'.'.join((*TABLE, 'models', key(name)))}]", f"config = {quoted(named.reference)}  # {named.name}"]
        if family:
            lines[1:] = [f"config = {quoted(named.reference)}", f"family = {quoted(family)}"]
        if architecture:
            lines.append(f"architecture = {quoted(architecture)}  # {because}")
        if overrides:
            lines.append(f"overrides = {{ {', '.join(f'{each} = {value}' for each, value in overrides.items())} }}")
        text = "".join(f"{line}\n" for line in lines)
        try:
            settings = parse(f'{text}budget = "report-only"\n', self.project.path)
            subject = examine(settings.models[name], settings, self.registry)
        except (SettingsError, Unusable) as error:
            self.found.by_hand.append(f"{named.where} names {named.name}: {error}")
            return
        if subject.derivation is None:
            first = next(iter(subject.review.errors), None)
            self.found.by_hand.append(
                f"{named.where} names {named.name}: {first.sentence if first else 'it has no closed form'}"
            )
            return
        limits = budget(subject.derivation, any_class=any_class)
        self.found.tables[name] = text + "".join(f"budget.{key(part)} = {limit}\n" for part, limit in limits)

    def _unknown_ones(self) -> None:
        """Names of which there is no config here."""
        counts: dict[str, list[Named]] = {}
        for each in self.all_named:
            if (
                not self._is_published(each.name)
                and not each.comes_last
                and is_name(each.name)
            ):
                counts.setdefault(each.name, []).append(each)
        for name, those in sorted(counts.items(), key=lambda item: -len(item[1])):
            self.found.by_hand.append(
                f"{those[0].where} names {name}, whose config is not here: huggingface-cli download {name} config.json"
            )

    def _name(self, wanted: str) -> str:
        name = next(
            each
            for number in range(1, 1000)
            if (each := wanted if number == 1 else f"{wanted}-{number}") not in self.taken
        )
        self.taken.add(name)
        return name


def factories(plans: Iterable[Plan]) -> str:
    """The file with the functions."""
    plans = [*plans]
    start = FACTORIES if any(plan.folders for plan in plans) else FACTORIES.partition("\n\n")[0] + "\n"
    return f"{start}\n\n" + "\n\n".join(plan.text for plan in plans)


def _own_table(name: str, plan: Plan) -> str:
    lines = [f"[{'.'.join((*TABLE, 'models', key(name)))}]"]
    lines.append(f"factory = {quoted(f'{MODULE}:{plan.name}')}  # {plan.made.class_name} of {plan.class_where}")
    if plan.config:
        lines.append(f"config = {quoted(plan.config)}")
    if plan.overrides and plan.config:
        said = ", ".join(
            f"{key(each)} = {_toml(value)}"
            for each, value in plan.overrides.items()
            if isinstance(value, bool | int | float | str)
        )
        lines += [f"overrides = {{ {said} }}"] if said else []
    lines.append("closed_form = false")
    return "".join(f"{line}\n" for line in lines)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


def _architecture(kind: str, names: list[str]) -> str:
    """``AutoModelForMaskedLM`` of bert → ``BertForMaskedLM``; a class by its own name; ``""`` for none."""
    kind = kind.removeprefix("TF").removeprefix("Flax")
    if kind in names:
        return kind
    if kind.startswith("AutoModel") or kind.endswith("PreTrainedModel"):
        rest = kind.removeprefix("AutoModel") if kind.startswith("AutoModel") else ""
        rest = {"": "Model", "WithLMHead": "ForMaskedLM"}.get(rest, rest)
        return next(
            (
                name
                for name in names
                if re.fullmatch(rf"[A-Za-z0-9]+?{rest}", name) and ("For" in rest) == ("For" in name)
            ),
            "",
        )
    return ""


def _config_of(use: Made) -> ast.expr | None:
    """What a model is made of, where that is a config."""
    said = next((each.value for each in use.call.keywords if each.arg == "config"), None)
    return said or (use.call.args[0] if use.call.args and not use.is_pretrained else None)


def _of_tokenizer(named: Named) -> bool:
    return re.search(r"(?i)tokeni[sz]er|processor|extractor|config\.|pipeline", named.place) is not None


def _dashed(name: str) -> str:
    found = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return re.sub(r"[^a-z0-9.]+", "-", found).strip("-.")[:80] or "model"


def _snake(name: str, taken: set[str]) -> str:
    wanted = _dashed(name).replace("-", "_").replace(".", "_")
    return next(
        each for number in range(1, 1000) if (each := wanted if number == 1 else f"{wanted}_{number}") not in taken
    )


def _folded(rest: list[str]) -> list[str]:
    return [f"and {len(rest)} more"] if rest else []
