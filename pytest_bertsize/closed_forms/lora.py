"""LoRA (Hu et al. 2021, arXiv 2106.09685): PEFT's change of a model, as a change of its terms.

Each target of ``in`` inputs and ``out`` outputs gets r·in + out·r parameters, with DoRA (Liu et al. 2024, arXiv
2402.09353) ``out`` more. PiSSA and OLoRA decompose a weight, so that no rank exceeds min(in, out). All other tensors
stop training, except the biases that ``bias`` names and the modules to save. PEFT copies each module to save, trains
the copy, and keeps the original frozen. The rules are those of peft 0.21.2: ``check_target_module_exists``,
``_maybe_include_all_linear_layers`` and ``_mark_only_adapters_as_trainable`` in ``tuners/tuners_utils.py``,
``get_pattern_key``, ``_set_trainable`` and ``ModulesToSaveWrapper`` in ``utils/other.py``, and three classes of
``peft_model.py`` that name modules themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.closed_forms.blocks import STAR
from pytest_bertsize.closed_forms.changes import change_tensors, find_owners, name_tensors, put_below
from pytest_bertsize.config.adapter import ALL_LINEAR, CUTTING, at_the_end
from pytest_bertsize.findings import Finding, Kind
from pytest_bertsize.wording import did_you_mean, nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Term
    from pytest_bertsize.config.adapter import Adapter

PREFIX = "base_model.model"
"""The path at which PEFT keeps the whole model."""
ORIGINAL, COPY = "original_module", "modules_to_save.default"
"""The children of a saved module: the original, and the copy that trains."""
LORA = "adapters.lora"
SAVED = "adapters.modules_to_save"
LINEAR = ("linear", "transposed_linear")
"""Kinds of module that PEFT treats as linear layers: ``torch.nn.Linear``, and ``Conv1D`` of transformers."""
ADAPTABLE = (*LINEAR, "embedding")
CLASSIFIERS = ("classifier", "score")
BY_TASK = {"SEQ_CLS": CLASSIFIERS, "TOKEN_CLS": CLASSIFIERS, "QUESTION_ANS": ("qa_outputs",)}
"""Modules to save that PEFT's class for a task adds, whether or not the model has them."""
HEADS = ("head.classifier", "head.qa_outputs")
"""Components that no checkpoint of pretraining has."""
MOST_SHOWN = 12
"""The most names of modules in one message."""


def add_adapter(terms: Iterable[Term], adapter: Adapter, r: Count) -> list[Term]:
    """Return the terms of a model with an adapter on it.

    :param r: the adapter's rank, or a symbol for it.
    :raises ValueError: with a message, if the adapter fits no module, or if it fits a module that PEFT or this closed
        form does not support.
    """
    with_lora = _Targets(adapter, _Modules(terms)).add_lora(r)
    return put_below(PREFIX, _Saving(adapter, _Modules(with_lora)).add_copies())


class Module(NamedTuple):
    """A module of a model."""

    pattern: str
    """The path of the module, with a star for the index of each list."""
    kind: str = ""
    """The kind of the module in the closed form; ``""`` for a module that only contains others."""
    component: str = ""


class _Modules:
    """All modules of a model by their paths, each after the module around it."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(terms)
        self.by_path: dict[str, Module] = {}
        others: set[str] = set()
        for name, term in name_tensors(self.terms):
            parts, pattern = name.split("."), term.name.split(".")
            for depth in range(1, len(parts)):
                path = ".".join(parts[:depth])
                self.by_path.setdefault(path, Module(".".join(pattern[:depth])))
                if pattern[depth] != STAR and not parts[depth].isdigit():
                    others.add(path)
            if term.kind:
                self.by_path[path] = Module(".".join(pattern[:-1]), term.kind, term.component)
        self.lists = self.by_path.keys() - others
        """The paths of modules that are lists of modules."""

    def find_named(self, said: Sequence[str] | str) -> set[str]:
        """Find modules by a list of the ends of their paths, or by a regular expression that matches a whole path."""
        if isinstance(said, str):
            return set(_first_matches((said,), self.by_path)) if said else set()
        ends = set(said)
        return {path for path in self.by_path if not ends.isdisjoint(_ends_of(path))}

    def last_names(self, kinds: Sequence[str] | None = None) -> set[str]:
        """Return the last part of each path, for modules of some ``kinds`` or for all modules."""
        return {path.rsplit(".", 1)[-1] for path, each in self.by_path.items() if kinds is None or each.kind in kinds}


def _ends_of(path: str) -> Iterator[str]:
    """Yield the names by which a list for PEFT may mean a module: ``a.b.c``, ``b.c`` and ``c`` for ``a.b.c``."""
    parts = path.split(".")
    return (".".join(parts[depth:]) for depth in range(len(parts)))


def _first_matches(expressions: Iterable[str], names: Iterable[str]) -> dict[str, int]:
    """Return, for each name that an expression matches as a whole, the index of the first such expression."""
    matches = [re.compile(each).fullmatch for each in expressions]
    first = {name: next((index for index, match in enumerate(matches) if match(name)), None) for name in names}
    return {name: index for name, index in first.items() if index is not None}


def _insert_part(pattern: str, depth: int, inner: str) -> str:
    """Put ``inner`` after the first ``depth`` parts of a name."""
    parts = pattern.split(".")
    return ".".join((*parts[:depth], inner, *parts[depth:]))


class _Targets:
    """The modules of one model that get an adapter."""

    def __init__(self, adapter: Adapter, modules: _Modules) -> None:
        self.adapter, self.modules = adapter, modules
        self.wanted = self._find_wanted()
        # other tasks add modules to save after the targets are chosen
        saved = (*adapter.modules_to_save, *(CLASSIFIERS if adapter.task_type == "SEQ_CLS" else ()))
        left_out = modules.find_named(adapter.exclude_modules) | self._find_kept_whole(saved)
        self.paths = {path: each for path, each in modules.by_path.items() if path in self.wanted - left_out}
        said = f"target_modules = {shown(adapter.target_modules)}"
        if not self.paths:
            raise ValueError(f"{said} matches no module that can have an adapter; {self._suggest_target()}")
        if unfit := next((path for path, each in self.paths.items() if each.kind not in ADAPTABLE), None):
            raise ValueError(f"{said} matches {printable(unfit)}, which is neither a linear layer nor an embedding")
        ranks = [*adapter.rank_pattern.values()]
        matches = _first_matches(map(at_the_end, adapter.rank_pattern), self.paths)
        self.ranks = {path: ranks[index] for path, index in matches.items()}

    def _find_wanted(self) -> set[str]:
        said = self.adapter.target_modules
        if said == ALL_LINEAR:
            return self._find_all_linear()
        found = self.modules.find_named(said)
        return {path for path in found if isinstance(said, str) or path in said or self._is_in_its_layers(path)}

    def _find_all_linear(self) -> set[str]:
        """Find every linear layer except the output layer ``head.decoder`` or, without one, SEQ_CLS's classifier."""
        linear = {path: each for path, each in self.modules.by_path.items() if each.kind in LINEAR}
        outputs = [each.pattern for each in linear.values() if each.component == "head.decoder"]
        if any(".tail." in path for path in outputs):  # an adaptive softmax is not a linear layer
            outputs = []
        elif not outputs and self.adapter.task_type == "SEQ_CLS":
            outputs = [path for path in CLASSIFIERS if path in self.modules.by_path]
            outputs.reverse()
            outputs = outputs[:1]
        return {path for path, each in linear.items() if each.pattern not in outputs[-1:]}

    def _find_kept_whole(self, saved: Iterable[str]) -> set[str]:
        """Find the modules to save and all modules in them; a dot in a name matches any character, as in PEFT."""
        parts = {name for name in saved if "." not in name}
        found = {path for path in self.modules.by_path if not parts.isdisjoint(path.split("."))}
        dotted = tuple(rf"(^|.*\.){name}($|\..*)" for name in saved if "." in name)
        return found | set(_first_matches(dotted, self.modules.by_path))

    def _is_in_its_layers(self, path: str) -> bool:
        """Return whether the adapter goes into the layer of ``path``.

        The layer is the first index in ``path``, or the first after a name in ``layers_pattern`` if that is set.
        """
        layers, lists = self.adapter.layers_to_transform, self.adapter.layers_pattern
        *parts, _ = path.split(".")
        numbers = [
            int(part)
            for at, part in enumerate(parts)
            if part.isdigit() and (parts[at - 1] in lists if lists else at > 1)
        ]
        return not layers or any(number in layers for number in numbers[:1])

    def _suggest_target(self) -> str:
        """Return the fix if no module is a target."""
        wanted = self.adapter.target_modules
        if left_out := next((path for path in self.modules.by_path if path in self.wanted), None):
            return f"exclude_modules, modules_to_save or the task_type leave out {printable(left_out)}"
        if isinstance(wanted, str) and wanted != ALL_LINEAR and re.fullmatch(r"[\w.-]+", wanted):
            return f"a string is a regular expression over a module's whole name, so write [{shown(wanted)}]"
        there = self.modules.last_names(ADAPTABLE)
        near = {nearest_to(each, there) for each in wanted} - {""} if isinstance(wanted, tuple) else set()
        return f"the model has {printable(', '.join(sorted(near or there)[:MOST_SHOWN]))}"

    def add_lora(self, r: Count) -> list[Term]:
        """Freeze all tensors except adapters and the biases that train, and put each target into a ``base_layer``."""
        owners = find_owners(self.modules.terms)
        trained = {owner for name, owner in owners.items() if self._is_trained(name)}
        tensors = [(name.rpartition(".")[0], name, term) for name, term in name_tensors(self.modules.terms)]
        weights = {path: term for path, name, term in tensors if name.endswith(".weight")}
        last = {path: name for path, name, _ in tensors}

        def adapt_tensor(name: str, term: Term) -> Iterator[Term]:
            yield term._replace(
                name=self._name_inside(term.name, name),
                tied_to=term.tied_to and self._name_inside(term.tied_to, owners[name]),
                trainable=owners[name] in trained,
            )
            path = name.rpartition(".")[0]
            if path in self.paths and last[path] == name:
                yield from self._list_lora(weights[path], path, self.ranks.get(path, r))

        return change_tensors(self.modules.terms, adapt_tensor)

    def _is_trained(self, name: str) -> bool:
        path, _, leaf = name.rpartition(".")
        bias = self.adapter.bias
        return leaf == "bias" and (bias == "all" or (bias == "lora_only" and path in self.paths))

    def _name_inside(self, pattern: str, name: str) -> str:
        path = name.rpartition(".")[0]
        return _insert_part(pattern, len(path.split(".")), "base_layer") if path in self.paths else pattern

    def _list_lora(self, weight: Term, path: str, r: Count) -> Iterator[Term]:
        """Yield the terms of the adapter's matrices beside a weight: r·(in + out)."""
        pattern = weight.name.rpartition(".")[0]
        # Conv1D has its inputs first, as an embedding has: V words, each of D numbers
        shapes: dict[str, tuple[Count, ...]]
        inputs, outputs = reversed(weight.shape) if weight.kind == "linear" else weight.shape
        if weight.kind == "embedding" and self.adapter.lora_bias:
            raise ValueError(f"lora_bias is true, but {printable(path)} is an embedding: PEFT has no bias there")
        if weight.kind == "embedding":  # PEFT initialises it with zeros for every init_lora_weights
            shapes = {"lora_embedding_A.default": (r, inputs), "lora_embedding_B.default": (outputs, r)}
        else:
            swapped = weight.kind == "transposed_linear" and self.adapter.start == "olora"
            first, last = (outputs, inputs) if swapped else (inputs, outputs)
            rank = self._cut_rank(r, weight, path)
            shapes = {"lora_A.default.weight": (rank, first), "lora_B.default.weight": (last, rank)}
            shapes |= {"lora_B.default.bias": (last,)} if self.adapter.lora_bias else {}
        shapes |= {"lora_magnitude_vector.default.weight": (outputs,)} if self.adapter.use_dora else {}
        for name, shape in shapes.items():
            yield weight._replace(
                name=f"{pattern}.{name}", shape=shape, component=LORA, trainable=True, tied_to=None, kind=""
            )

    def _cut_rank(self, r: Count, weight: Term, path: str) -> Count:
        """Return the rank of the adapter on a weight; a decomposition cuts it to the weight's smaller side."""
        start = self.adapter.start
        least = min((r, *weight.shape), key=int) if start.startswith(CUTTING) else r
        where = f"init_lora_weights is {shown(start)}, and the rank of {printable(path)} is {r}"
        if start == "loftq" and weight.kind != "linear":
            raise ValueError(
                f"init_lora_weights is 'loftq', and {printable(path)} is a Conv1D, whose sides LoftQ swaps: "
                "leave it out of target_modules"
            )
        if start == "loftq" and least != r:
            raise ValueError(f"{where}, which LoftQ cuts to {int(least)}: write {int(least)} in rank_pattern")
        if start == "orthogonal" and r % 2:
            raise ValueError(f"{where}, an odd number, which PEFT refuses; write an even one")
        return least


class _Saving:
    """The modules to save in one model, which has its adapters already."""

    def __init__(self, adapter: Adapter, modules: _Modules) -> None:
        self.adapter, self.modules = adapter, modules
        self.ends = tuple(dict.fromkeys((*adapter.modules_to_save, *BY_TASK.get(adapter.task_type or "", ()))))
        # no dot comes before an end, so that pre_classifier is one of "classifier"
        found = [path for path in modules.by_path if path.endswith(self.ends)] if self.ends else []
        for path in found:
            self._refuse_module(path, [each for each in found if each.startswith(f"{path}.")])
        self.paths = frozenset(found)

    def _refuse_module(self, path: str, inner: Sequence[str]) -> None:
        """:raises ValueError: for a module that cannot be saved."""
        said = f"modules_to_save = {shown(list(self.ends))}"
        if path in self.modules.lists:
            raise ValueError(f"{said} has {printable(path)}, a list of modules, which PEFT cannot save as one module")
        if f"{path}.base_layer" in self.modules.by_path:
            by_task = not path.endswith(tuple(self.adapter.modules_to_save))
            because = f", to which task_type {self.adapter.task_type} adds it" if by_task else ""
            raise ValueError(
                f"{printable(path)} gets an adapter and is one of the modules to save{because}: PEFT refuses that; "
                f"write exclude_modules = [{shown(path.rsplit('.', 1)[-1])}]"
            )
        if inner:
            both = any(path.endswith(end) and inner[0].endswith(end) for end in self.ends)
            write = f"; write {shown(path)}" if both and "." in path else "; leave one of them out"
            raise ValueError(
                f"{said} matches {printable(inner[0])} and also {printable(path)} around it: PEFT compares the "
                f"ends of names, and would save {printable(inner[0])} twice{write}"
            )

    def add_copies(self) -> Sequence[Term]:
        """Replace each module to save by a frozen ``original_module`` and a copy that trains.

        Ties within a module stay in its copy; a tensor that the original shares with others is separate there.
        """
        terms = self.modules.terms
        if not self.paths:
            return terms
        owners = find_owners(terms)
        frozen = {owners[name] for name, term in name_tensors(terms) if not term.trainable or self.find_around(name)}
        first: dict[tuple[str, str], str] = {}
        """The first copy of a tensor that is tied to an owner outside of the saved module, by module and owner."""

        def keep_original(name: str, term: Term) -> Iterator[Term]:
            inside = self._name_inside(term.name, name, ORIGINAL)
            tied_to = term.tied_to and self._name_inside(term.tied_to, owners[name], ORIGINAL)
            yield term._replace(name=inside, tied_to=tied_to, trainable=owners[name] not in frozen)

        def add_copy(name: str, term: Term) -> Iterator[Term]:
            if path := self.find_around(name):
                own, owner = self._name_inside(name, name, COPY), owners[name]
                tied_to = term.tied_to and self._name_inside(term.tied_to, owner, COPY)
                if self.find_around(owner) != path:
                    heir = first.setdefault((path, owner), own)
                    tied_to = None if heir == own else heir
                inside = self._name_inside(term.name, name, COPY)
                yield term._replace(name=inside, component=SAVED, trainable=True, tied_to=tied_to)

        originals, copies = change_tensors(terms, keep_original), change_tensors(terms, add_copy)
        last = {term.name.partition(f".{ORIGINAL}.")[0]: at for at, term in enumerate(originals)}
        behind = [(last[term.name.partition(f".{COPY}.")[0]], term) for term in copies]
        return [term for _, term in sorted([*enumerate(originals), *behind], key=lambda row: row[0])]

    def find_around(self, name: str) -> str:
        """Return the path of the saved module that a tensor is in, or ``""``."""
        parts = name.split(".")
        paths = (".".join(parts[:depth]) for depth in range(1, len(parts)))
        return next((path for path in paths if path in self.paths), "")

    def _name_inside(self, pattern: str, name: str, inner: str) -> str:
        path = self.find_around(name)
        return _insert_part(pattern, len(path.split(".")), inner) if path else pattern


# notes


def list_notes(adapter: Adapter, terms: Sequence[Term]) -> list[Finding]:
    """Return notes on hidden costs of an adapter, and on heads that it leaves untrained.

    :param terms: the model's own terms, with integers as sizes.
    """
    modules = _Modules(terms)
    targets, saving = _Targets(adapter, modules), _Saving(adapter, modules)
    found: list[Finding] = []
    if adapter.targets_of:
        names = shown(list(adapter.target_modules))
        message = f"target_modules is left out: PEFT uses {names} for {adapter.targets_of}"
        found.append(_warn("defaulted-key", message, f"write target_modules = {names}", "target_modules"))
    found += [*_note_unmatched(adapter, modules), *_note_copies(saving, add_adapter(terms, adapter, adapter.r))]
    sizes: dict[str, int] = {}
    for term in terms:
        name = term.name_at([each.indices()[0] for each in term.copies])
        path = name.rpartition(".")[0]
        if term.component in HEADS and path not in targets.paths and not saving.find_around(name):
            sizes[path] = sizes.get(path, 0) + (0 if term.tied_to else term.size)
    for path, count in sizes.items():  # a classifier that no checkpoint has
        message = f"{printable(path)} does not train: its {count:,} parameters keep their initial values"
        fix = f"write modules_to_save = [{shown(path.split('.')[0])}], or the task_type of this head"
        found.append(_warn("dead-weight", message, fix, "modules_to_save", actual=count))
    return found


def _warn(kind: Kind, message: str, fix: str, key: str, **more: Any) -> Finding:
    at = {"component": "adapters", "table_key": ("adapter", key)}
    return Finding(kind, message, fix, "warning", **{**at, **more})


def _note_unmatched(adapter: Adapter, modules: _Modules) -> Iterator[Finding]:
    """Yield a warning for each target or module to save that matches no module, and that PEFT therefore ignores."""
    there = {end for path in modules.by_path for end in _ends_of(path)}
    targets = adapter.target_modules if isinstance(adapter.target_modules, tuple) else ()
    absent = [("target_modules", each) for each in targets if each not in there]
    absent += [
        ("modules_to_save", each)
        for each in adapter.modules_to_save
        if each not in BY_TASK.get(adapter.task_type or "", ())
        and not any(path.endswith(each) for path in modules.by_path)
    ]
    last = {"target_modules": modules.last_names(ADAPTABLE), "modules_to_save": modules.last_names()}
    for key, wanted in absent:
        message = f"{key} has {shown(wanted)}, but no module's name ends with it: PEFT ignores it"
        yield _warn("ignored-key", message, did_you_mean(wanted, last[key], "remove it", shown), key)


def _note_copies(saving: _Saving, after: Sequence[Term]) -> Iterator[Finding]:
    modules, owners = saving.modules.by_path, find_owners(saving.modules.terms)
    first: dict[str, str] = {}
    for path in filter(saving.paths.__contains__, modules):
        first.setdefault(modules[path].pattern, path)
    for pattern, path in first.items():
        inside, short = f"{path}.", printable(path)
        shared = {owner for name, owner in owners.items() if name.startswith(inside)}
        outside = (name for name, owner in owners.items() if owner in shared and not name.startswith(inside))
        copies = f"{PREFIX}.{pattern}.{COPY}."
        count = int(sum(term.total for term in after if term.name.startswith(copies)))
        what = f"modules_to_save trains a copy of {short} beside the frozen original: {count:,} parameters more"
        if other := next(outside, ""):
            message = f"{what}, and the copy is not tied to {printable(other)}, as the original is"
            fix = f"put {shown(short.rsplit('.', 1)[-1])} in target_modules instead"
            yield _warn("dead-weight", message, fix, "modules_to_save", component=SAVED, actual=count)
        else:
            key = ("adapter", "modules_to_save")
            yield Finding("dead-weight", what, severity="note", component=SAVED, actual=count, table_key=key)
