"""What is proposed for a project's own classes: a function that makes each, tried before anything is written."""

from __future__ import annotations

import ast
import re
from itertools import product
from typing import TYPE_CHECKING

from pytest_bertsize.builder.confined import NOT_IMPORTED
from pytest_bertsize.builder.messages import TO_BUILD
from pytest_bertsize.commands.init.limits import budget_of_built
from pytest_bertsize.commands.init.naming import heading
from pytest_bertsize.commands.init.python.arguments import plan_by_options, plan_of, plan_of_registered
from pytest_bertsize.commands.init.python.callers import set_to
from pytest_bertsize.commands.init.python.made import registered
from pytest_bertsize.commands.init.python.of_functions import made_by_functions, plan_of_function
from pytest_bertsize.commands.init.python.plan import MODULE, Plan, Undecided, file_of
from pytest_bertsize.commands.init.python.tried import tried
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_bertsize.builder.helper import Helper
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.proposals import FromPython
    from pytest_bertsize.commands.init.python.reading import Reading
    from pytest_bertsize.review.review import Review

MOST_TRIED = 6
"""Classes, of which one is built each."""
MOST_WAYS = 4
"""To make one, that are tried."""
MOST_CALLS = 4
"""Calls of one class that are looked at for one whose arguments can be told."""
MOST_FUNCTIONS = 3
_RELEVANT = re.compile(r"bert|electra|transformer|mpnet|longformer|from_pretrained|AutoModel", re.IGNORECASE)
_LOADS = re.compile(r"(^|[._])(test|eval|predict|infer|load)", re.IGNORECASE)
"""Functions that make again what others have trained."""
A_PART = re.compile(
    r"(Loss|Sampler|Pooling|Normalize|\bCRF|Embeddings?|Attention|Layer|LayerNorm|Output|Pooler|(?<!Bi)(?<!Dual)(?<!Cross)Encoder|Head|Collator\w*)$"
)
"""What is a part of a model by its name."""
BY_FACTORY = "declare it by a factory"


class OwnClasses:
    """The classes of one project that are made by themselves."""

    def __init__(self, reading: Reading, found: FromPython, named: Callable[[str], str]) -> None:
        """:param named: a name that no other model has."""
        self.reading, self.found, self.named = reading, found, named
        self.plans: dict[str, list[Plan]] = {}
        """The ways to make each, by the name of the model, the likeliest first."""

    def propose(self, helper: Helper | None) -> set[str]:
        """Add tables for those that can be built; their names are returned.

        :param helper: ``None`` where nothing is built.
        """
        tops = self._tops()
        for (file, class_name), those in tops.items():
            if len(self.plans) == MOST_TRIED:
                self._say(f"{file}: {class_name}, made at {those[0].where}, is one of {len(tops)} classes")
            elif not self._is_declared(class_name):
                self._plan(class_name, those)
        self._plan_by_options()
        self._plan_registered()
        if self.plans and (self.reading.project.root / f"{MODULE}.py").exists():
            self._say_by_hand(f"there is a {MODULE}.py already, to which a function can be added")
        elif self.plans and helper is None:
            self._say_by_hand("it was not built")
        elif self.plans and helper is not None:
            self._try(helper)
        if not self.found.factories and helper is not None:
            self._by_functions(helper)
        return {self.plans[name][0].class_name for name in self.found.tables if name in self.plans}

    def _tops(self) -> dict[tuple[str, str], list[Made]]:
        """Those that have to do with our families, by file and name, and where they are made: by scripts first."""
        found: dict[tuple[str, str], list[Made]] = {}
        for each in self.reading.made:
            module = each.origin.module
            if each.inside or module is None or each.module.comes_last or module.comes_last:
                continue
            if each.class_name in module.classes and not A_PART.search(each.class_name):
                text = f"{each.kind} {ast.unparse(module.classes[each.class_name])} {_parts_of(each)}"
                if (module.file, each.class_name) in found or _RELEVANT.search(text):
                    found.setdefault((module.file, each.class_name), []).append(each)
        return found

    def _is_declared(self, class_name: str) -> bool:
        settings = self.reading.project.settings
        factories = (model.factory or "" for model in (settings.models.values() if settings else ()))
        return any(each.rpartition(":")[2] == snake(class_name) for each in factories)

    def _plan(self, class_name: str, those: list[Made]) -> None:
        why, ways = "", list[Plan]()
        taken = {plans[0].name for plans in self.plans.values()}
        function = next(each for each in _numbered(snake(class_name), "_") if each not in taken)
        those = sorted(those, key=lambda each: _LOADS.search(each.place) is not None)
        for each, runs in product(those[:MOST_CALLS], (True, False)):
            number = f"_way_{len(ways) + 1}" if ways else ""
            try:
                plan = plan_of(each, function + number, self.reading.code, self.reading.meanings, runs_functions=runs)
            except Undecided as undecided:
                why = why or f"{each.where}: {class_name} is made here, and {undecided}"
            else:
                if len(ways) < MOST_WAYS and all(plan.made_by != other.made_by for other in ways):
                    ways.append(plan)
        if ways:
            self.plans[self.named(dashed(class_name))] = ways
        else:
            self._say(why)

    def _plan_by_options(self) -> None:
        """Classes of the library whose sizes are options of another file than the one that makes them."""
        done: set[str] = set()
        for each in self.reading.made:
            is_one = each.origin.of_library and not each.inside and not each.module.comes_last
            if is_one and each.class_name not in done and len(self.plans) < MOST_TRIED:
                try:
                    plan = plan_by_options(each, snake(each.class_name), self.reading.code)
                except Undecided:
                    continue
                if plan is not None:
                    done.add(each.class_name)
                    self.plans[self.named(dashed(each.class_name))] = [plan]

    def _plan_registered(self) -> None:
        """Classes that a decorator registers, which are made by the name that it gives them."""
        planned = {ways[0].class_name for ways in self.plans.values()}
        for each in registered(self.reading.code):
            is_new = (
                each.class_name not in planned and _RELEVANT.search(each.class_name) and len(self.plans) < MOST_TRIED
            )
            if is_new and (plan := plan_of_registered(each, snake(each.class_name), self.reading.code)):
                self.plans[self.named(dashed(each.class_name))] = [plan]

    def _by_functions(self, helper: Helper) -> None:
        """Where no class can be made by itself: what functions of the project return, which know how."""
        before = [*self.found.by_hand]
        self.plans.clear()
        for calls in made_by_functions(self.reading.code):
            if len(self.plans) < MOST_FUNCTIONS and not self._is_declared(calls[0].class_name):
                self._plan_function(calls)
        if self.plans and not (self.reading.project.root / f"{MODULE}.py").exists():
            self._try(helper)
        if self.found.factories:
            self.found.by_hand[:] = [each for each in self.found.by_hand if each not in before]

    def _plan_function(self, calls: list[Made]) -> None:
        why, ways = "", list[Plan]()
        for each in calls[:MOST_CALLS]:
            number = f"_way_{len(ways) + 1}" if ways else ""
            try:
                ways.append(plan_of_function(each, snake(each.class_name) + number, self.reading.code))
            except Undecided as undecided:
                why = why or f"{each.where}: {each.class_name} is called here, and {undecided}"
        if ways:
            self.plans[self.named(dashed(calls[0].class_name))] = ways
        else:
            self._say(why)

    def _try(self, helper: Helper) -> None:
        tried_as = {plan.name: (name, plan) for name, ways in self.plans.items() for plan in ways}
        text = "\n".join(f'{_table(key, plan)}budget = "report-only"\n' for key, (_, plan) in tried_as.items())
        try:
            settings = self.reading.project.beside(text)
        except SettingsError as error:
            return self._say_by_hand(str(error))
        plans = [plan for _, plan in tried_as.values()]
        reviews = tried(file_of(plans), settings, self.reading.registry, helper)
        kept = {name: plan for name, ways in self.plans.items() if (plan := self._chosen(name, ways, reviews))}
        for name in [each for each, plan in kept.items() if any(other.makes(plan) for other in kept.values())]:
            del kept[name], self.found.tables[name]
        self.found.factories = file_of(kept.values()) if kept else ""
        return None

    def _chosen(self, name: str, ways: list[Plan], reviews: Mapping[str, Review]) -> Plan | None:
        """The first way that builds; where none does, what the first one lacks is told."""
        function = ways[0].name
        for plan in ways:
            review = reviews[plan.name]
            if review.actual is not None and not review.errors:
                plan.name = function
                limits = (f"budget.{key(part)} = {limit}\n" for part, limit in budget_of_built(review.actual))
                self.found.tables[name] = _table(name, plan) + "".join(limits)
                return plan
        plan, review = ways[0], reviews[function]
        reason = review.errors[0].message if review.errors else "it was not built"
        fix = f"{', or '.join(TO_BUILD)}, and start init again" if NOT_IMPORTED in reason else BY_FACTORY
        self._say(f"{plan.where}: {plan.class_name}, made at {plan.made.where}: {reason}", fix)
        return None

    def _say_by_hand(self, why: str) -> None:
        for plan, *_ in self.plans.values():
            self._say(f"{plan.where}: {plan.class_name}, made at {plan.made.where}: {why}")

    def _say(self, what: str, fix: str = BY_FACTORY) -> None:
        self.found.by_hand.append(f"{printable(what, 600)}; {fix}")


def _parts_of(made: Made) -> str:
    """What a class is made of, where that is made before it: the encoders of a bi-encoder."""
    given = (each.id for each in made.call.args if isinstance(each, ast.Name))
    before = (set_to(made.module, made.scope, name) for name in given)
    return " ".join(ast.unparse(each.func) for each in before if isinstance(each, ast.Call))


def _table(name: str, plan: Plan) -> str:
    """The table of one, without its budget."""
    lines = [heading(name)]
    where = f"  # {plan.class_name} of {plan.where}"
    lines.append(f"factory = {quoted(f'{MODULE}:{plan.name}')}{where if where.isprintable() else ''}")
    if plan.config:
        lines.append(f"config = {quoted(plan.config)}")
        if said := [f"{key(name)} = {text}" for name, value in plan.overrides.items() if (text := toml(value))]:
            lines.append(f"overrides = {{ {', '.join(said)} }}")
    return "".join(f"{line}\n" for line in (*lines, "closed_form = false"))


def toml(value: object) -> str:
    """A value of an inline table, ``""`` for one that is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    return str(value) if isinstance(value, int | float) else ""


def dashed(name: str) -> str:
    """``BertForNER`` → ``bert-for-ner``."""
    found = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return re.sub(r"[^a-z0-9.]+", "-", found).strip("-.")[:80] or "model"


def snake(name: str) -> str:
    return re.sub(r"\W", "_", dashed(name))


def _numbered(name: str, between: str) -> Iterator[str]:
    yield name
    yield from (f"{name}{between}{number}" for number in range(2, 1_000))
