"""What is proposed for the library's own classes: a table of each published model that a place in the files names."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_bertsize.builder.published import fetching, is_name
from pytest_bertsize.commands.init.files import SCRIPTS
from pytest_bertsize.commands.init.limits import budget
from pytest_bertsize.commands.init.naming import heading
from pytest_bertsize.commands.init.python.beside import Beside, OnlyARun
from pytest_bertsize.commands.init.python.callers import config_calls
from pytest_bertsize.commands.init.python.made import PRETRAINED
from pytest_bertsize.commands.init.python.meant import may_be_of
from pytest_bertsize.commands.init.python.names import Named
from pytest_bertsize.commands.init.python.own_classes import dashed
from pytest_bertsize.config.flows import called_name
from pytest_bertsize.config.python_nodes import dotted, first_argument
from pytest_bertsize.config.python_source import CONFIG_CLASSES
from pytest_bertsize.review.check import conclude_unbuilt, examine
from pytest_bertsize.table.settings import SettingsError
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pytest_bertsize.commands.init.python.callers import Given
    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.commands.init.python.proposals import FromPython
    from pytest_bertsize.commands.init.python.reading import Reading

MOST = 12
"""Tables."""
MOST_UNNAMED = 6
"""Lines of calls that nothing says the name for."""
GUESSED = "no call says the class: write the one that is built, then pytest --bert-budget --bert-budget-update"


class LibraryClasses:
    """Of one project."""

    def __init__(self, reading: Reading, found: FromPython, named: Callable[..., str]) -> None:
        """:param named: a name that no other model has."""
        self.reading, self.found, self.name = reading, found, named
        self.done: set[tuple[str, str]] = set()
        """References, and the classes that they are of."""
        self.names: set[str] = set()
        self.unnamed: list[str] = []
        self.tables = 0

    def propose(self, own: Collection[str]) -> None:
        """Add a table for each, as what the code makes of it.

        :param own: classes of the project that have a table, with all that is in them.
        """
        for use in self.reading.made:
            is_last = use.module.comes_last or use.kind in {"Module", "LightningModule"}
            if use.inside in own or use.class_name in own:
                self._leave_inside(use)
            elif not is_last:
                self._of_use(use)
        for each in self.reading.named:
            if each.comes_last or each.name in self.names or self._is_read_by_a_function(each):
                continue
            if self.found.tables and each.file.lower().endswith(SCRIPTS):
                continue  # an example of what else can be given
            architecture = _architecture("AutoModel", self._architectures(each))
            self._propose(self._as_trained(each), architecture, GUESSED, any_class=True)
        self._say_unknown()
        for said in self.unnamed[:MOST_UNNAMED]:
            self._say(said)
        if more := len(self.unnamed[MOST_UNNAMED:]):
            self._say(f"and {more} such call{'s' if more > 1 else ''} more")

    def _leave_inside(self, use: Made) -> None:
        """What a class of the project's makes is counted with it."""
        named = self.reading.meanings.of(use.first, use.module, use.place)
        if named is not None:
            self.names.add(named.name)

    def _as_trained(self, named: Named) -> Named:
        """Where a class says a name for its own default, the option of a script that trains, which says it too."""
        those = (each for each in self.reading.named if each.name == named.name and each.module is not None)
        is_own = named.module is not None and named.place not in named.module.source.of_options
        options = (each for each in those if each.module and each.place in each.module.source.of_options)
        return next((each for each in options if is_own and "train" in each.file.rpartition("/")[2]), named)

    def _is_read_by_a_function(self, named: Named) -> bool:
        """Whether a function that is proposed is given what names it."""
        tables = self.found.tables.values()
        said = (f"config = {quoted(named.reference)}\n", f"config = {quoted(named.file)}\n")
        of_its_class = any(each.place.split(".")[0] in self.found.factories for each in (named,) if named.place)
        return any(each in table for each in said for table in tables) or (
            bool(self.found.factories) and (named.name in self.found.factories or of_its_class)
        )

    def _architectures(self, named: Named) -> list[str]:
        return self.reading.architectures(self.reading.family_of(named.name))

    def _of_use(self, use: Made) -> None:
        meanings, beside = self.reading.meanings, Beside(use)
        named = meanings.of(use.first, use.module, use.place) or self._by_its_config(beside)
        if named is not None and not may_be_of(use.kind, self.reading.family_of(named.name)):
            return
        if named is None:
            if not self._by_call(use):
                self._say_unnamed(use)
            return
        architectures = self._architectures(named)
        architecture, because = _architecture(use.kind, architectures), f"{use.where} makes it"
        if use.inside:
            because = f"the part of {use.inside} that {use.where} makes; what stands on it is not counted"
        elif use.is_own:
            architecture = architecture or _architecture("AutoModel", architectures)
            because = f"the library's part of {use.class_name}, which {use.where} makes; the rest is not counted"
        if not architecture:
            return
        for each in (beside.place(named) or named, *meanings.others_of(use.first, named)):
            is_alike = self.reading.family_of(each.name) == self.reading.family_of(named.name)
            if fitting := architecture if is_alike else _architecture(use.kind, self._architectures(each)):
                self._propose_with(beside, each, fitting, because)

    def _propose_with(self, beside: Beside, named: Named, architecture: str, because: str) -> None:
        use = beside.use
        is_read = named.module is use.module and named.place == called_name(beside.call)
        try:
            lines = [*beside.lines(architecture, is_read=is_read)]
        except OnlyARun as only:
            self.names.add(named.name)
            fix = f"declare it by hand, with config = {quoted(named.reference)} and overrides"
            self._say(f"{use.where} makes {use.class_name} of {named.name}, and {only}: {fix}")
        else:
            self._propose(named, architecture, because, lines, any_class=beside.labels == 0)

    def _by_its_config(self, beside: Beside) -> Named | None:
        """``Model(config)``, where the config was made by the name of a published one."""
        use, call = beside.use, beside.config
        if call is None or not dotted(call.func).endswith(f".{PRETRAINED}"):
            return None
        first = first_argument(call)
        found = self.reading.meanings.of(first, use.module, use.place)
        return found or self.reading.meanings_of_configs.of(first, use.module, use.place)

    def _say_unnamed(self, use: Made) -> None:
        """A call of which no file says what it loads."""
        said = use.first if use.is_pretrained else None
        key = ("", ast.unparse(said)) if said is not None else ("", "")
        is_named = self.reading.all_meanings.of(said, use.module, use.place) is not None
        if said is None or is_named or key in self.done or use.is_own:
            return
        self.done.add(key)
        what = f"{use.where} makes {use.class_name} of {ast.unparse(said)[:60]}"
        text = said.value if isinstance(said, ast.Constant) else None
        if isinstance(text, str) and is_name(text):
            self.unnamed.append(f"{what}, whose config is not here: {fetching(text)}")
        else:
            fix = 'declare it, as in config = "org/name", or by its config.json'
            self.unnamed.append(f"{what}, and no file says which: {fix}")

    def _by_call(self, use: Made) -> bool:
        """``Model(config)``, where the config was made by a call that says its sizes, or by several."""
        done = [self._of_call(use, given) for given in config_calls(self.reading.code, use)]
        return any(done)

    def _of_call(self, use: Made, given: Given) -> bool:
        call = given.node
        if not isinstance(call, ast.Call) or not call.keywords:
            return False
        name = dotted(call.func).rpartition(".")[2]
        wanted = name.removesuffix("Config").lower()
        family = next((each for each in self.reading.registry.names if re.sub("[-_]", "", each) == wanted), "")
        because = f"{use.where} makes it"
        if use.inside:
            because = f"the part of {use.inside} that {use.where} makes; what stands on it is not counted"
        if architecture := _architecture(use.kind, self.reading.architectures(family)):
            said = Named(given.module.file, name, name, call.lineno, given.module)
            self._propose(said, architecture, because, Beside(use).options(), family=family)
        return bool(architecture)

    def _propose(
        self,
        named: Named,
        architecture: str,
        because: str,
        beside: Iterable[str] = (),
        *,
        any_class: bool = False,
        family: str = "",
    ) -> None:
        if (named.reference, architecture) in self.done:
            return
        if self._is_declared(named):
            self.names.add(named.name)
            return
        self.done.add((named.reference, architecture))
        self.names.add(named.name)
        if self.tables >= MOST:
            self._say(f"{named.where} names {named.name}: declare it, as in config = {quoted(named.reference)}")
            return
        wanted = architecture if family else named.name.rpartition("/")[2]
        name = self.name(dashed(wanted), dashed(PurePosixPath(named.file).stem))
        lines = [heading(name)]
        lines.append(f"config = {quoted(named.reference)}" + ("" if family else f"  # {named.name}"))
        lines += [f"family = {quoted(family)}"] if family and named.name not in CONFIG_CLASSES else []
        comment = f"  # {because}" if because.isprintable() else ""
        lines += [f"architecture = {quoted(architecture)}{comment}"] if architecture else []
        lines += beside
        if problem := self._add(name, "".join(f"{line}\n" for line in lines), any_class=any_class):
            self._say(f"{named.where} names {named.name}: {problem}")
        else:
            self.tables += 1

    def _add(self, name: str, text: str, *, any_class: bool) -> str:
        """Add a table that the gate passes; else why it does not."""
        project, registry = self.reading.project, self.reading.registry
        try:
            settings = project.beside(f'{text}budget = "report-only"\n')
        except SettingsError as error:
            return str(error)
        subject = examine(settings.models[name], settings, registry)
        review = conclude_unbuilt(subject, settings)
        if subject.derivation is None or review.errors:
            return review.errors[0].sentence if review.errors else "it has no closed form"
        limits = budget(subject.derivation, any_class=any_class)
        self.found.tables[name] = text + "".join(f"budget.{key(part)} = {limit}\n" for part, limit in limits)
        return ""

    def _is_declared(self, named: Named) -> bool:
        settings = self.reading.project.settings
        declared = {model.config for model in settings.models.values()} if settings else set()
        same = {each.reference for each in self.reading.all_named if each.name == named.name} | {named.name}
        if found := declared & {*same, named.reference}:
            self.found.declared |= found
        return bool(found)

    def _say_unknown(self) -> None:
        """Names of which there is no config here, the most used first."""
        counts: dict[str, list[Named]] = {}
        for each in self.reading.all_named:
            if not self.reading.is_published(each.name) and not each.comes_last and is_name(each.name):
                counts.setdefault(each.name, []).append(each)
        for name, those in sorted(counts.items(), key=lambda item: -len(item[1])):
            self._say(f"{those[0].where} names {name}, whose config is not here: {fetching(name)}")

    def _say(self, what: str) -> None:
        self.found.by_hand.append(printable(what, 600))


def _architecture(kind: str, names: list[str]) -> str:
    """``AutoModelForMaskedLM`` of bert → ``BertForMaskedLM``; a class by its own name; ``""`` for none."""
    kind = kind.removeprefix("TF").removeprefix("Flax")
    if kind in names:
        return kind
    if not kind.startswith("AutoModel"):
        return ""
    rest = kind.removeprefix("AutoModel")
    rest = {"": "Model", "WithLMHead": "ForMaskedLM"}.get(rest, rest)
    fitting = (name for name in names if re.fullmatch(rf"\w+?{rest}", name) and ("For" in rest) == ("For" in name))
    return next(fitting, "")
