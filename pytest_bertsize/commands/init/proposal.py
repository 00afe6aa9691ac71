"""Propose a table for each config whose class is certain and that passes the gate today; list the other configs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pytest_bertsize.closed_forms.what_if import Variants
from pytest_bertsize.commands.init.classes import Code
from pytest_bertsize.commands.init.configs import ByHand, Configs, describe_others, explain
from pytest_bertsize.commands.init.files import list_files
from pytest_bertsize.commands.init.project import write_table
from pytest_bertsize.inventory import TOTAL, TRAINABLE
from pytest_bertsize.quantity import SCALES
from pytest_bertsize.review.check import conclude_unbuilt
from pytest_bertsize.review.examine import examine
from pytest_bertsize.table.model import NAMES
from pytest_bertsize.table.toml import quoted
from pytest_bertsize.wording import listed, printable

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.configs import Candidate
    from pytest_bertsize.commands.init.files import Files
    from pytest_bertsize.commands.init.project import Project
    from pytest_bertsize.review.examine import Subject

MOST_TABLES = 200
_STEP = re.compile(r"(checkpoint|ckpt|global_step|step|epoch)[-_]?\d+", re.IGNORECASE)
_WEIGHTS = re.compile(
    r"(model|pytorch_model|tf_model|flax_model|adapter_model|optimizer|scheduler|trainer_state|training_args|rng_state)"
    r".*\.(safetensors|bin|pt|pth|h5|msgpack)|trainer_state\.json|.+\.(safetensors|ckpt|ckpt\.(index|meta|data-.+))",
)
SAYS_NOTHING = frozenset(
    {
        *("config", "configs", "configuration", "conf", "cfg", "model", "models", "src", "params", "hparams", "json"),
        *("train", "training", "args", "arguments", "settings", "data", "resources", "assets", "checkpoints"),
    }
)
"""Parts of a path that name no model."""
LONGEST = 100
"""The most characters of a model's name."""
FEWEST_DIGITS = 3
"""The fewest digits of a proposed limit; rounding up to three digits adds at most one percent."""
MOST_DIGITS = 5
"""The most digits of a limit with a unit; a longer limit is easier to read as a whole number."""


class ProposedTable(NamedTuple):
    """A table that is proposed for one model."""

    name: str
    candidate: Candidate
    limits: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the table as TOML."""
        of = self.candidate
        said = {"config": of.reference, "architecture": of.architecture, "adapter": of.adapter}
        keys = (f"{name} = {quoted(value)}" for name, value in said.items() if value)
        return write_table(self.name, keys, self.limits)


class Proposal(NamedTuple):
    """The tables that are proposed for a project, and the lines to print beside them."""

    tables: list[ProposedTable]
    by_hand: list[ByHand]
    left_out: list[str]
    code: Code


class _Counted(NamedTuple):
    """A candidate that its closed form counts."""

    candidate: Candidate
    subject: Subject
    derivation: Derivation

    @property
    def place(self) -> str:
        return self.candidate.place

    @property
    def shape(self) -> tuple[object, ...]:
        """Return the class, and all sizes and switches that change the count, except the number of labels."""
        form, keys = self.derivation.form, self.derivation.family.keys
        sizes = {symbol: size for symbol, size in form.dims.sizes.items() if symbol != "C"}
        switches = [each.key for those in (keys.switches, keys.choices, keys.lists) for each in those]
        return form.architecture.name, *sizes.items(), *((name, str(form.dims.switches.get(name))) for name in switches)


def propose(project: Project, registry: Registry) -> Proposal:
    """Propose a table for every config of the project that is not declared yet and passes the proposed limits."""
    files = list_files(project.root)
    code = Code(files, registry)
    configs = Configs(files, registry, code, project.settings.hub)
    declared = set(_list_declared_places(project))

    def is_declared(reference: str) -> bool:
        file, _, inner = reference.partition("#")
        return ((project.root / file).resolve(), inner) in declared

    by_hand = [one for one in configs.by_hand if not is_declared(one.reference)]
    candidates = sorted(configs.certain, key=lambda each: (each.place.count("/"), each.place))
    if len(candidates) > MOST_TABLES:
        why = f'only {MOST_TABLES} configs are read: declare others by a pattern, as in config = "configs/*.json"'
        by_hand += [ByHand(each.place, why) for each in candidates[MOST_TABLES:]]
    counted: list[_Counted] = []
    settled: set[str] = set()
    for candidate in candidates[:MOST_TABLES]:
        settled |= {candidate.place} if is_declared(candidate.place) else set()
        settings = project.parse_beside(str(ProposedTable("model", candidate)))
        subject = examine(settings.models["model"], settings, registry)
        if subject.derivation and not subject.errors:
            counted.append(_Counted(candidate, subject, subject.derivation))
        elif candidate.place not in settled:
            by_hand.append(explain(subject.errors, candidate.place))
    copies = _find_copies(counted, settled, files)
    tables: list[ProposedTable] = []
    for each in counted:
        if each.place not in settled and each.place not in copies:
            taken = {*project.settings.models, *(table.name for table in tables)}
            name = make_name(_find_telling_path(each.candidate), each.candidate.family, taken)
            found = _make_table(each, name, project, code)
            if isinstance(found, ProposedTable):
                tables.append(found)
            else:
                by_hand.append(found)
    of: dict[str, list[str]] = defaultdict(list)
    for copy, original in copies.items():
        of[original].append(printable(copy))
    left_out = [f"{listed(those, 1)} in a checkpoint folder, a copy of {printable(one)}" for one, those in of.items()]
    return Proposal(tables, by_hand, [*left_out, *describe_others(configs.others), *files.left_out], code)


def _make_table(counted: _Counted, name: str, project: Project, code: Code) -> ProposedTable | ByHand:
    """Return the table with a budget or, if the gate would fail the model, the line that says why."""
    table = ProposedTable(name, counted.candidate, tuple(list_limits(counted.derivation)))
    settings = project.parse_beside(str(table))
    review = conclude_unbuilt(replace(counted.subject, model=settings.models[name], settings=settings))
    wrong = [*review.errors, *(each for each in review.findings if each.kind == "insensitive-budget")]
    own = next(filter(None, map(code.describe_key, counted.derivation.values.unknown)), "")
    problem = f"{wrong[0].message}; {wrong[0].fix}" if wrong else own
    return ByHand(counted.place, problem) if problem else table


# declared models


def _list_declared_places(project: Project) -> Iterator[tuple[Path, str]]:
    """Yield the file of each declared config or adapter, and the key of a config inside the file, else ``""``."""
    for model in project.settings.models.values():
        inner = model.config.partition("#")[2]
        places = [(model.file, inner), *((f"{model.file}/{name}", inner) for name in NAMES)] if model.file else []
        for name, path in [(model.adapter_file, "")] if model.adapter_file else places:
            try:
                yield (project.root / name).resolve(), path
            except (OSError, RuntimeError, ValueError):  # a NUL byte, a symlink loop: its model's mistake
                continue


# configs that a training run saved


def _find_copies(counted: list[_Counted], settled: set[str], files: Files) -> dict[str, str]:
    """Find configs that a training run saved, and whose class and sizes are those of an original.

    The original is a config that no run saved. For a config in a checkpoint folder, it may also be one beside weights
    or of the same run. Equal configs that no run saved are no copies: people may change each by hand.

    :returns: the place of each copy, with the place of its original.
    """
    runs = {each.place: None if each.place in settled else _find_run(each.place, files) for each in counted}
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


def _find_run(file: str, files: Files) -> str | None:
    """Find the folder of the training run that saved a file in a folder like ``checkpoint-500``.

    :returns: the folder; ``""`` for a file beside weights, which a run saves when it ends; ``None`` if no run saved it.
    """
    folders = PurePosixPath(file).parent.parts
    step = next((depth for depth, name in enumerate(folders) if _STEP.fullmatch(name)), None)
    if step is not None:
        return "/".join(folders[:step]) or "."
    return "" if files.has_name(str(PurePosixPath(file).parent), _WEIGHTS) else None


# names: from the folder or the file, each unique


def make_name(path: str, family: str, taken: Collection[str]) -> str:
    """Make a name that a table can have and that no other model has.

    :param path: path of the config: ``models/encoder/config.json`` becomes ``encoder``.
    :param family: the name if no part of the path is telling.
    """
    file = PurePosixPath(path)
    stem = "" if file.name in NAMES and (file.parent.name or file.name == NAMES[0]) else file.stem
    parts = [name for part in (stem, *reversed(file.parent.parts)) if (name := _make_valid(part))]
    telling = [name for name in parts if name.lower() not in SAYS_NOTHING]
    name = telling[0] if telling else _make_valid(family) or "model"
    longer = (f"{other}-{name}"[:LONGEST] for other in (*telling, *parts) if other != name)
    numbered = (f"{name[:90]}-{number}" for number in count(2))
    return next(each for each in chain([name], longer, numbered) if each not in taken)


def _find_telling_path(candidate: Candidate) -> str:
    """Return the path that gives a model its name; for a folder or an adapter, that of a config.json in the folder."""
    folder = candidate.adapter.rpartition("/")[0] if candidate.adapter else candidate.reference
    is_file = not candidate.adapter and PurePosixPath(folder).suffix in {".json", ".yaml", ".yml"}
    return folder if is_file else str(PurePosixPath(folder, NAMES[0]))


def _make_valid(part: str) -> str:
    """Return a part of a path as a valid test id, without an ending such as ``-config``."""
    name = re.sub(r"[^\w.+@-]+", "-", part)
    name = re.sub(r"[._-]conf(ig)?$", "", name, flags=re.IGNORECASE)
    return re.sub(r"^\W+|-+$", "", name)[:LONGEST]


# limits a little above today's counts, as an author writes them


def list_limits(derivation: Derivation) -> Iterator[tuple[str, str]]:
    """Yield a limit for the total and for each top-level component, lower than one more layer would need.

    The limit is 0 for a component that only other classes of the family have. An adapter adds a limit on ``trainable``.
    """
    form, variants = derivation.form, Variants(derivation)
    layers = [size.key for size in variants.sizes.values() if size.repeats]
    deeper = [varied for each in layers if (varied := variants.varied(**{each: variants.now(each) + 1}))]
    parts = [name for name, count in form.components.items() if "." not in name and count]
    for component in (TOTAL, *([TRAINABLE] if "adapters" in parts else []), *parts):
        larger = [each.count_of(component) for each in deeper if each.count_of(component) > form.count_of(component)]
        yield component, write_limit_above(form.count_of(component), min(larger, default=None))
    known = derivation.family.component_names(form.dims)
    yield from ((name, "0") for name in known if "." not in name and name not in parts)


def write_limit_above(count: int, too_much: int | None = None) -> str:
    """Return ``'"110M"'`` for ``109_482_240``: round up to as few digits as keep the limit below ``too_much``."""
    digits = len(str(count))
    for kept in range(FEWEST_DIGITS, digits + 1):
        step = 10 ** (digits - kept)
        rounded = -(-count // step) * step
        if too_much is None or rounded < too_much:
            break
    else:
        rounded, kept = count, digits
    if kept > MOST_DIGITS:
        return f"{rounded:_}"
    unit = max((unit for unit, scale in SCALES.items() if scale <= max(rounded, 1)), key=SCALES.__getitem__)
    places = max(0, kept - len(str(rounded // SCALES[unit])))  # with its zeros: accept keeps the number of digits
    return f'"{Decimal(rounded) / SCALES[unit]:.{places}f}{unit}"' if unit else str(rounded)
