"""Propose a table for each config that is certain, if the gate passes it today; put the rest into lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.commands.init.classes import Code
from pytest_bertsize.commands.init.configs import ByHand, describe_others, explain, find_configs
from pytest_bertsize.commands.init.limits import budget
from pytest_bertsize.commands.init.listing import list_files
from pytest_bertsize.commands.init.naming import heading, model_name
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.toml import key, quoted
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.configs import Candidate
    from pytest_bertsize.commands.init.listing import Listing
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.review.examine import Subject
    from pytest_bertsize.review.review import Review

MOST_TABLES = 200
_STEP = re.compile(r"(checkpoint|ckpt|global_step|step|epoch)[-_]?\d+", re.IGNORECASE)
_WEIGHTS = re.compile(
    r"(model|pytorch_model|tf_model|flax_model|adapter_model|optimizer|scheduler|trainer_state|training_args|rng_state)"
    r".*\.(safetensors|bin|pt|pth|h5|msgpack)|trainer_state\.json|.+\.(safetensors|ckpt|ckpt\.(index|meta|data-.+))",
)


@dataclass(frozen=True)
class ProposedTable:
    """The table of one model."""

    name: str
    candidate: Candidate
    limits: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Write it as TOML; held to no limit, where there is none yet."""
        of = self.candidate
        lines = [heading(self.name), f"config = {quoted(of.reference)}"]
        lines += [f"architecture = {quoted(of.architecture)}"] if of.architecture else []
        lines += [f"adapter = {quoted(of.adapter)}"] if of.adapter else []
        lines += [f"budget.{key(component)} = {limit}" for component, limit in self.limits]
        return "".join(f"{line}\n" for line in (*lines, *([] if self.limits else ['budget = "report-only"'])))


@dataclass
class Proposal:
    """The tables that are proposed for a project, and the lines beside them."""

    tables: list[ProposedTable]
    by_hand: list[ByHand]
    left_out: list[str]
    code: Code


class _Counted(NamedTuple):
    """A candidate that its closed form counts."""

    table: ProposedTable
    subject: Subject
    derivation: Derivation

    @property
    def place(self) -> str:
        return self.table.candidate.place

    @property
    def shape(self) -> tuple[object, ...]:
        """The class, and what its count depends on but for the labels."""
        form, keys = self.derivation.form, self.derivation.family.keys
        sizes = {symbol: size for symbol, size in form.dims.sizes.items() if symbol != "C"}
        switches = [each.key for those in (keys.switches, keys.choices, keys.lists) for each in those]
        return form.architecture.name, *sizes.items(), *((name, str(form.dims.switches.get(name))) for name in switches)


def propose(project: Project, registry: Registry) -> Proposal:
    """Propose a table for every config of the project that is not declared yet and that passes its own limits."""
    listing = list_files(project.root)
    code = Code(listing, registry)
    hub = project.settings.hub if project.settings else {}
    found = find_configs(listing, registry, code, hub)
    declared = set(_declared_places(project))
    by_hand = [one for one in found.by_hand if _place(project.root, one.reference) not in declared]
    candidates = sorted(found.certain, key=lambda each: (each.place.count("/"), each.place))
    if len(candidates) > MOST_TABLES:
        why = f'only {MOST_TABLES} configs are read: declare others by a pattern, as in config = "configs/*.json"'
        by_hand += [ByHand(each.place, why) for each in candidates[MOST_TABLES:]]
    counted: list[_Counted] = []
    settled: set[str] = set()
    for candidate in candidates[:MOST_TABLES]:
        is_declared = _place(project.root, candidate.place) in declared
        settled |= {candidate.place} if is_declared else set()
        counted += _count(candidate, project, registry, [] if is_declared else by_hand)
    copies = _find_copies(counted, settled, listing)
    taken = {*(project.settings.models if project.settings else ())}
    tables: list[ProposedTable] = []
    for each in counted:
        if each.place not in settled and each.place not in copies:
            name = model_name(_named_after(each.table.candidate), each.table.candidate.family, taken)
            if table := _limited(each, name, project, code, by_hand):
                tables.append(table)
                taken.add(name)
    left_out = [*_describe_copies(copies), *describe_others(found.others), *listing.left_out]
    return Proposal(tables, by_hand, left_out, code)


def _named_after(candidate: Candidate) -> str:
    """The path that a model's name is made of; that of a folder, for its only file."""
    folder = candidate.adapter.rpartition("/")[0] if candidate.adapter else candidate.reference
    is_file = not candidate.adapter and PurePosixPath(folder).suffix in {".json", ".yaml", ".yml"}
    return folder if is_file else str(PurePosixPath(folder, NAMES[0]))


def _count(candidate: Candidate, project: Project, registry: Registry, by_hand: list[ByHand]) -> list[_Counted]:
    """Count a candidate by its closed form; one that cannot be used becomes a line."""
    table = ProposedTable("model", candidate)
    settings = project.beside(str(table))
    subject = examine(settings.models["model"], settings, registry)
    if subject.derivation is None or subject.errors:
        by_hand.append(explain(subject.errors, candidate.place))
        return []
    return [_Counted(table, subject, subject.derivation)]


def _limited(counted: _Counted, name: str, project: Project, code: Code, by_hand: list[ByHand]) -> ProposedTable | None:
    """The table with a budget; none that the gate would fail: whoever starts has to start from a pass."""
    table = replace(counted.table, name=name, limits=tuple(budget(counted.derivation)))
    settings = project.beside(str(table))
    subject = replace(counted.subject, model=settings.models[name], settings=settings)
    own = next(filter(None, map(code.describe_key, counted.derivation.values.unknown)), "")
    if problem := _problem(conclude_unbuilt(subject)) or own:
        by_hand.append(ByHand(counted.place, problem))
        return None
    return table


def _problem(review: Review) -> str:
    """Why the gate would fail a proposed model, or would not notice one more layer, or is about another class."""
    wrong = [*review.errors, *(each for each in review.findings if each.kind == "insensitive-budget")]
    return f"{wrong[0].message}; {wrong[0].fix}" if wrong else ""


# what is declared already


def _declared_places(project: Project) -> Iterator[tuple[Path, str]]:
    """Yield the files of declared models, and the places in them."""
    for model in project.settings.models.values() if project.settings else ():
        inner = model.config.partition("#")[2]
        places = [(model.file, inner), *((f"{model.file}/{name}", inner) for name in NAMES)] if model.file else []
        for name, path in [(model.adapter, "")] if isinstance(model.adapter, str) else places:
            try:
                yield (project.root / name).resolve(), path
            except (OSError, RuntimeError, ValueError):  # a NUL byte, a symlink loop: its model's mistake
                continue


def _place(root: Path, reference: str) -> tuple[Path, str]:
    file, _, inner = reference.partition("#")
    return (root / file).resolve(), inner


# what a training run has saved


def _find_copies(counted: list[_Counted], settled: set[str], listing: Listing) -> dict[str, str]:
    """Find configs in folders of checkpoints that say what one outside says, or an earlier step of the same run.

    Two files that both may be changed by hand are two configs, though they say the same today.

    :returns: the place of each copy, and of what it is a copy of.
    """
    runs = {each.place: None if each.place in settled else _run_of(each.place, listing) for each in counted}
    originals: dict[tuple[object, ...], str] = {}
    found: dict[str, str] = {}
    for each in sorted(counted, key=lambda one: (runs[one.place] is not None, runs[one.place] or "")):
        run = runs[each.place]
        sources = () if run is None else (None, "", run) if run else (None,)
        known = (originals[source, each.shape] for source in sources if (source, each.shape) in originals)
        if original := next(known, None):
            found[each.place] = original
        else:
            originals.setdefault((run, each.shape), each.place)
    return found


def _run_of(file: str, listing: Listing) -> str | None:
    """The folder of the training run that saved a file in a folder like ``checkpoint-500``.

    :returns: ``""`` for a file beside weights, which a run has ended with; ``None`` for one that no run has saved.
    """
    folders = PurePosixPath(file).parent.parts
    step = next((depth for depth, name in enumerate(folders) if _STEP.fullmatch(name)), None)
    if step is not None:
        return "/".join(folders[:step]) or "."
    return "" if listing.has_files(str(PurePosixPath(file).parent), _WEIGHTS) else None


def _describe_copies(copies: dict[str, str]) -> Iterable[str]:
    of: dict[str, list[str]] = defaultdict(list)
    for copy, original in copies.items():
        of[original].append(printable(copy))
    for original, those in of.items():
        yield f"{listed(those, 1)} in a checkpoint folder, a copy of {printable(original)}"
