"""LoRA (Hu et al. 2021, arXiv 2106.09685): PEFT's change of a model, as a change of its terms.

Each target of ``in`` inputs and ``out`` outputs gets r·in + out·r parameters, with DoRA (Liu et al. 2024, arXiv
2402.09353) ``out`` more. All other tensors stop training, except the biases that ``bias`` names and the modules to
save. PEFT copies each module to save, trains the copy, and keeps the original frozen. The rules are those of peft
0.21.2: ``check_target_module_exists``, ``_maybe_include_all_linear_layers`` and ``_mark_only_adapters_as_trainable`` in
``tuners/tuners_utils.py``, ``get_pattern_key``, ``_set_trainable`` and ``ModulesToSaveWrapper`` in ``utils/other.py``,
and three classes of ``peft_model.py`` that name modules themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.closed_forms.blocks import STAR
from pytest_bertsize.closed_forms.changes import change_tensors, find_owners, name_tensors, put_below
from pytest_bertsize.config.adapter import ALL_LINEAR, CUTTING, at_the_end
from pytest_bertsize.findings import Finding, Kind
from pytest_bertsize.wording import did_you_mean, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.config.adapter import Adapter

PREFIX = "base_model.model"  # the path at which PEFT keeps the whole model
# children of a module: the target of an adapter, the original of a saved module, and the copy that trains
TARGET, ORIGINAL, COPY = "base_layer", "original_module", "modules_to_save.default"
LORA = "adapters.lora"
SAVED = "adapters.modules_to_save"
LINEAR = ("linear", "transposed_linear")  # PEFT's linear layers: torch.nn.Linear, and Conv1D of transformers
ADAPTABLE = (*LINEAR, "embedding")
CLASSIFIERS = ("classifier", "score")
BY_TASK = {"SEQ_CLS": CLASSIFIERS, "TOKEN_CLS": CLASSIFIERS, "QUESTION_ANS": ("qa_outputs",)}  # what it saves
HEADS = ("head.classifier", "head.qa_outputs")  # components that no checkpoint of pretraining has
MOST_SHOWN = 12


def add_adapter(terms: Iterable[Term], adapter: Adapter, r: Count) -> list[Term]:
    """Return a model's terms with an adapter of rank ``r``; raise ValueError if it does not fit."""
    return _Placement(adapter, tuple(terms)).change_terms(r)


class Module(NamedTuple):
    """A module of a model; its kind is ``""`` if it only contains others."""

    pattern: str  # the path of the module, with a star for the index of each list
    kind: str = ""
    component: str = ""


class _Placement:
    """The places of an adapter in one model: the targets, and the modules to save."""

    def __init__(self, adapter: Adapter, terms: Sequence[Term]) -> None:
        self.adapter, self.terms = adapter, terms
        self.modules: dict[str, Module] = {}  # by path, each after the module around it
        self.lists: set[str] = set()
        others: set[str] = set()
        for name, term in name_tensors(terms):
            parts, pattern = name.split("."), term.name.split(".")
            for depth in range(1, len(parts)):
                path = ".".join(parts[:depth])
                self.modules.setdefault(path, Module(".".join(pattern[:depth])))
                (self.lists if pattern[depth] == STAR or parts[depth].isdigit() else others).add(path)
            if term.kind:
                self.modules[path] = Module(".".join(pattern[:-1]), term.kind, term.component)
        self.lists -= others
        self.by_task = BY_TASK.get(adapter.task_type or "", ())
        self.targets = self._find_targets()
        # no dot comes before an end, so that pre_classifier is one of "classifier"
        ends = (*adapter.modules_to_save, *self.by_task)
        self.saved = [path for path in self.modules if path.endswith(ends)]
        for path in self.saved:
            if path in self.lists or path in self.targets or self.find_saved(path):
                why = "it is a list, has an adapter, or is inside of another module to save"
                fix = "name other modules in modules_to_save, or this one in exclude_modules"
                raise ValueError(f"PEFT cannot save {printable(path)}: {why}; {fix}")

    # which modules

    def _find_targets(self) -> dict[str, Module]:
        adapter, said = self.adapter, f"target_modules = {shown(self.adapter.target_modules)}"
        # other tasks add modules to save after the targets are chosen; a dot matches any character, as in PEFT
        saved = (*adapter.modules_to_save, *(CLASSIFIERS if adapter.task_type == "SEQ_CLS" else ()))
        whole = rf"(.*\.)?({'|'.join(saved)})(\..*)?" if saved else ""
        wanted = self._find_wanted() - self._find_named(adapter.exclude_modules) - self._find_named(whole)
        found = {path: each for path, each in self.modules.items() if path in wanted}
        if not found:
            has = printable(", ".join(sorted(self.last_names(ADAPTABLE))[:MOST_SHOWN]))
            left_out = "that exclude_modules, modules_to_save and task_type leave"
            raise ValueError(f"{said} matches no module {left_out}; the names that can have an adapter are {has}")
        if unfit := next((path for path, each in found.items() if each.kind not in ADAPTABLE), None):
            raise ValueError(f"{said} matches {printable(unfit)}, which is neither a linear layer nor an embedding")
        return found

    def _find_wanted(self) -> set[str]:
        said = self.adapter.target_modules
        if said != ALL_LINEAR:
            found = self._find_named(said)
            return {path for path in found if isinstance(said, str) or path in said or self._is_in_its_layers(path)}
        linear = {path: each for path, each in self.modules.items() if each.kind in LINEAR}
        outputs = [each.pattern for each in linear.values() if each.component == "head.decoder"]
        if any(".tail." in path for path in outputs):  # an adaptive softmax is not a linear layer
            outputs = []
        elif not outputs and self.adapter.task_type == "SEQ_CLS":
            outputs = [path for path in CLASSIFIERS if path in self.modules]
        return {path for path, each in linear.items() if each.pattern not in outputs[-1:]}

    def _find_named(self, said: Sequence[str] | str) -> set[str]:
        """Find modules by a list of the ends of their paths, or by a regular expression that matches a whole path."""
        if isinstance(said, str):
            return set(filter(re.compile(said).fullmatch, self.modules)) if said else set()
        return {path for path in self.modules if not set(said).isdisjoint(_ends_of(path))}

    def _is_in_its_layers(self, path: str) -> bool:
        """Return whether the layer is adapted: the first index in its path, or after ``layers_pattern`` if set."""
        layers, lists = self.adapter.layers_to_transform, self.adapter.layers_pattern
        *parts, _ = path.split(".")
        indices = [at for at, part in enumerate(parts) if part.isdigit()]
        numbers = (int(parts[at]) for at in indices if (parts[at - 1] in lists if lists else at > 1))
        return not layers or next(numbers, None) in layers

    def last_names(self, kinds: Sequence[str] | None = None) -> set[str]:
        """Return the last part of each path, for modules of some ``kinds`` or for all modules."""
        return {path.rsplit(".", 1)[-1] for path, each in self.modules.items() if kinds is None or each.kind in kinds}

    def find_saved(self, name: str) -> str:
        """Return the path of the saved module that a tensor is in, or ``""``."""
        return next((path for path in self.saved if name.startswith(f"{path}.")), "")

    # which tensors

    def change_terms(self, r: Count) -> list[Term]:
        """Freeze the model's tensors, put each target into a ``base_layer`` beside its adapter, and copy saved modules.

        Ties within a saved module stay in its copy; a tensor that the original shares with others is separate there.
        """
        owners = find_owners(self.terms)
        around = {name: self.find_saved(name) for name in owners}
        trained = {owner for name, owner in owners.items() if self._is_trained(name)}
        trained -= {owner for name, owner in owners.items() if around[name]}
        weights = {name.removesuffix(".weight"): term for name, term in name_tensors(self.terms)}
        last = {name.rpartition(".")[0]: name for name in owners}
        first: dict[tuple[str, str], str] = {}  # the first copy of a tensor with an outer owner, by module and owner

        def put_inside(pattern: str, saved: str, child: str) -> str:
            parts, depth = pattern.split("."), len(saved.split("."))
            return ".".join((*parts[:depth], child, *parts[depth:])) if saved else pattern

        def rename(pattern: str, name: str, child: str) -> str:
            path = name.rpartition(".")[0]
            pattern = put_inside(pattern, path, TARGET) if path in self.targets else pattern
            return put_inside(pattern, around[name], child)

        def change_tensor(name: str, term: Term) -> Iterator[Term]:
            owner, saved, path = owners[name], around[name], name.rpartition(".")[0]
            is_target = path in self.targets and last[path] == name
            lora = [*self._list_lora(weights[path], path, r)] if is_target else []
            for child in (ORIGINAL, COPY) if saved else (ORIGINAL,):
                is_copy = child == COPY
                tied_to = term.tied_to and rename(term.tied_to, owner, child)
                if is_copy and around[owner] != saved:
                    own = rename(name, name, COPY)
                    heir = first.setdefault((saved, owner), own)
                    tied_to = None if heir == own else heir
                component, trainable = (SAVED, True) if is_copy else (term.component, owner in trained)
                inside = rename(term.name, name, child)
                yield term._replace(name=inside, component=component, trainable=trainable, tied_to=tied_to)
                for each in lora:
                    component = SAVED if is_copy else LORA
                    inside = put_inside(each.name, saved, child)
                    yield each._replace(name=inside, component=component, trainable=is_copy or not saved)

        return put_below(PREFIX, change_tensors(self.terms, change_tensor))

    def _is_trained(self, name: str) -> bool:
        path, _, leaf = name.rpartition(".")
        bias = self.adapter.bias
        return leaf == "bias" and (bias == "all" or (bias == "lora_only" and path in self.targets))

    def _list_lora(self, weight: Term, path: str, r: Count) -> Iterator[Term]:
        """Yield the terms of the adapter's matrices beside a weight: r·(in + out)."""
        pattern, kind, start = weight.name.rpartition(".")[0], weight.kind, self.adapter.start
        ranks = self.adapter.rank_pattern
        r = next((rank for said, rank in ranks.items() if re.fullmatch(at_the_end(said), path)), r)
        # Conv1D has its inputs first, as an embedding has: V words, each of D numbers
        inputs, outputs = reversed(weight.shape) if kind == "linear" else weight.shape
        shapes: dict[str, tuple[Count, ...]]
        if kind == "embedding":  # PEFT initialises it with zeros for every init_lora_weights
            if self.adapter.lora_bias:
                raise ValueError(f"lora_bias is true, but {printable(path)} is an embedding: PEFT has no bias there")
            shapes = {"lora_embedding_A.default": (r, inputs), "lora_embedding_B.default": (outputs, r)}
        else:
            if start.startswith(CUTTING) and (kind != "linear" or r > inputs or r > outputs):
                apart = f"init_lora_weights = {shown(start)} takes the weight of {printable(path)} apart"
                raise ValueError(f"{apart}: it must be a torch.nn.Linear, and no side of it smaller than the rank")
            shapes = {"lora_A.default.weight": (r, inputs), "lora_B.default.weight": (outputs, r)}
            shapes |= {"lora_B.default.bias": (outputs,)} if self.adapter.lora_bias else {}
        shapes |= {"lora_magnitude_vector.default.weight": (outputs,)} if self.adapter.use_dora else {}
        for name, shape in shapes.items():
            yield weight._replace(
                name=f"{pattern}.{name}", shape=shape, component=LORA, trainable=True, tied_to=None, kind=""
            )


def _ends_of(path: str) -> Iterator[str]:
    """Yield the names by which a list for PEFT may mean a module: ``a.b.c``, ``b.c`` and ``c`` for ``a.b.c``."""
    parts = path.split(".")
    return (".".join(parts[depth:]) for depth in range(len(parts)))


# notes


def list_notes(adapter: Adapter, terms: Sequence[Term]) -> Iterator[Finding]:
    """Yield notes on hidden costs of an adapter on a model's own terms, and on heads that it leaves untrained."""
    places = _Placement(adapter, terms)
    if adapter.targets_of:
        names = shown(list(adapter.target_modules))
        message = f"target_modules is left out: PEFT uses {names} for {adapter.targets_of}"
        yield _warn("defaulted-key", message, f"write target_modules = {names}", "target_modules")
    targets = adapter.target_modules if isinstance(adapter.target_modules, tuple) else ()
    ends = {end for path in places.modules for end in _ends_of(path)}
    ignored = [("target_modules", each, places.last_names(ADAPTABLE)) for each in targets if each not in ends]
    ignored += [
        ("modules_to_save", each, places.last_names())
        for each in adapter.modules_to_save
        if each not in places.by_task and not any(path.endswith(each) for path in places.modules)
    ]
    for key, wanted, known in ignored:
        message = f"{key} has {shown(wanted)}, but no module's name ends with it: PEFT ignores it"
        yield _warn("ignored-key", message, did_you_mean(wanted, known, "remove it", shown), key)
    yield from _note_copies(places)
    sizes: dict[str, int] = {}
    for name, term in name_tensors(terms):
        path = name.rpartition(".")[0]
        if term.component in HEADS and path not in places.targets and not places.find_saved(name):
            sizes[path] = sizes.get(path, 0) + (0 if term.tied_to else term.size)
    for path, count in sizes.items():  # a classifier that no checkpoint has
        message = f"{printable(path)} does not train: its {count:,} parameters keep their initial values"
        fix = f"write modules_to_save = [{shown(path.split('.')[0])}], or the task_type of this head"
        yield _warn("dead-weight", message, fix, "modules_to_save", actual=count)


def _warn(kind: Kind, message: str, fix: str, key: str, **more: Any) -> Finding:
    return Finding(kind, message, fix, "warning", **{"component": "adapters", "table_key": ("adapter", key), **more})


def _note_copies(places: _Placement) -> Iterator[Finding]:
    """Yield a warning for each module to save whose copy loses a tie; equal layers have one."""
    owners = find_owners(places.terms)
    first = {places.modules[path].pattern: path for path in reversed(places.saved)}
    for pattern, path in first.items():
        inside, short = f"{path}.", printable(path)
        shared = {owner for name, owner in owners.items() if name.startswith(inside)}
        outside = (name for name, owner in owners.items() if owner in shared and not name.startswith(inside))
        if other := next(outside, ""):
            copies, after = f"{PREFIX}.{pattern}.{COPY}.", places.change_terms(places.adapter.r)
            count = int(sum(term.owned for term in after if term.name.startswith(copies)))
            what = f"modules_to_save trains a copy of {short} beside the frozen original: {count:,} parameters more"
            message = f"{what}, and the copy is not tied to {printable(other)}, as the original is"
            fix = f"put {shown(short.rsplit('.', 1)[-1])} in target_modules instead"
            yield _warn("dead-weight", message, fix, "modules_to_save", component=SAVED, actual=count)
