"""LoRA (Hu et al. 2021, arXiv 2106.09685): what PEFT makes of a model, as a change of its closed form's blocks.

Each target of ``in`` inputs and ``out`` outputs gets r·in + out·r parameters, DoRA (Liu et al. 2024, arXiv 2402.09353)
``out`` more. PiSSA and OLoRA take a weight apart, and so have no rank above min(in, out). Everything else stops
training, but for what ``bias`` and ``modules_to_save`` say. The rules for names are those of peft 0.21.2:
``check_target_module_exists``, ``_maybe_include_all_linear_layers`` and ``_mark_only_adapters_as_trainable`` in
``tuners/tuners_utils.py``, ``get_pattern_key`` in ``utils/other.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pytest_bertsize.closed_forms.blocks import Block, Parameter, block, linear, parameter, terms
from pytest_bertsize.closed_forms.lora_saved_modules import BY_TASK, CLASSIFIERS, SAVED, saved, saved_ends
from pytest_bertsize.closed_forms.module_tree import (
    Module,
    Names,
    in_runs,
    numbered,
    one_name_each,
    retied,
    shared_flags,
    tree,
)
from pytest_bertsize.closed_forms.parts.variations import tied_below
from pytest_bertsize.config.adapter import ALL_LINEAR, CUTTING, at_the_end, in_table
from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import did_you_mean, nearest_to, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.closed_forms.blocks import Count, Node
    from pytest_bertsize.config.adapter import Adapter, Place

PREFIX = "base_model.model"
"""Where PEFT puts the whole model."""
LORA = "adapters.lora"
LINEAR = ("linear", "transposed-linear")
"""Kinds of block that PEFT takes for linear layers: ``torch.nn.Linear``, and ``Conv1D`` of transformers."""
INNER = ("base_layer", "original_module")
MOST_SHOWN = 12
"""Names of modules in one message."""


def adapted(root: Block, adapter: Adapter, r: Count, number: Callable[[Count], int] = int) -> Block:
    """The blocks of a model with an adapter on it.

    :param root: the model's own. Layers that the adapter treats alike stay one block, those it does not are several.
    :param r: the adapter's rank, or a symbol for it.
    :param number: what a count is that may be a symbol, where one of several has to be chosen.
    :raises ValueError: in words, when the adapter fits no module, or one that PEFT or this closed form does not know.
    """
    targets = _Targets(adapter, one_name_each(root), number)
    with_lora = shared_flags(one_name_each(targets.adapted(r)), any)
    with_copies = saved(retied(with_lora, INNER), adapter)
    final = shared_flags(retied(with_copies, INNER), all)
    return Block("base_model", (Block("model", (tied_below(PREFIX, final),)),))


class _Targets:
    """Which modules of one model get an adapter, and what becomes of all of them."""

    def __init__(self, adapter: Adapter, root: Block, number: Callable[[Count], int]) -> None:
        self.adapter = adapter
        self.number = number
        self.said = f"target_modules = {shown(adapter.target_modules)}"
        self.found = False
        # the other tasks name modules to save when the targets are chosen already
        names = (*adapter.modules_to_save, *(CLASSIFIERS if adapter.task_type == "SEQ_CLS" else ()))
        whole = tree(numbered(root, number))
        self.names = tuple({name: 0 for module in whole.all_in_it for name in (*module.names, *module.lists)})
        self.wanted = self._wanted(whole)
        self.left_out = self._named(adapter.exclude_modules) | self._kept_whole(names)
        self.ranks = self._ranks()
        self.ends = saved_ends(adapter)
        self.root = tree(in_runs(root, self._decided, number))

    def adapted(self, r: Count) -> Block:
        """:raises ValueError: when nothing is a target."""
        changed = self._changed(self.root, r)
        if not self.found:
            raise ValueError(f"{self.said} matches no module that may have an adapter; {self._instead()}")
        return changed

    def is_target(self, name: str) -> bool:
        return name in self.wanted and name not in self.left_out

    def _named(self, said: tuple[str, ...] | str) -> set[str]:
        """The modules that a list of ends, or a regular expression over the whole name, means."""
        if isinstance(said, str):
            return set(_first_matches((said,), self.names)) if said else set()
        ends = set(said)
        return {name for name in self.names if not ends.isdisjoint(_ends_of(name))}

    def _kept_whole(self, saved_as: Iterable[str]) -> set[str]:
        """The modules to save and all in them; in the names of these, PEFT takes a dot for any character."""
        parts = {name for name in saved_as if "." not in name}
        found = {name for name in self.names if not parts.isdisjoint(name.split("."))}
        dotted = tuple(rf"(^|.*\.){name}($|\..*)" for name in saved_as if "." in name)
        return found | set(_first_matches(dotted, self.names))

    def _ranks(self) -> dict[str, int]:
        """Of each target that an entry of ``rank_pattern`` matches, what the first that does says."""
        said = self.adapter.rank_pattern
        targets = tuple(filter(self.is_target, self.names)) if said else ()
        found = _first_matches(map(at_the_end, said), targets)
        ranks = [*said.values()]
        return {name: ranks[index] for name, index in found.items()}

    def _wanted(self, whole: Module) -> set[str]:
        said = self.adapter.target_modules
        if said == ALL_LINEAR:
            return set(_all_linear(whole, self.adapter))
        found = self._named(said)
        return {name for name in found if isinstance(said, str) or name in said or self._is_in_its_layers(name)}

    def _is_in_its_layers(self, name: str) -> bool:
        """Whether ``layers_to_transform`` has the first number in the name, of a list that ``layers_pattern`` has."""
        layers, lists = self.adapter.layers_to_transform, self.adapter.layers_pattern
        *parts, _ = name.split(".")
        numbers = [
            int(part)
            for at, part in enumerate(parts)
            if part.isdigit() and (parts[at - 1] in lists if lists else at > 1)
        ]
        return not layers or any(number in layers for number in numbers[:1])

    def _decided(self, name: str) -> object:
        """What becomes of a module, which is the same for all copies of a block."""
        return self.is_target(name) and (self._rank(name, 0),), name.endswith(self.ends)

    def _changed(self, module: Module, r: Count) -> Block:
        is_target = any(map(self.is_target, module.names[:1]))
        if any(map(self.is_target, module.lists[:1])) or (is_target and not _may_have_one(module.block)):
            where = printable((module.lists or module.names)[0])
            raise ValueError(f"{self.said} matches {where}, which is no linear layer and no embedding")
        if is_target:
            self.found = True
            return self._with_lora(module, self._rank(module.names[0], r))
        inner = module.children
        children = tuple(
            self._changed(next(inner), r) if isinstance(each, Block) else self._frozen(each)
            for each in module.block.children
        )
        return module.block._replace(children=children)

    def _frozen(self, leaf: Parameter, *, in_target: bool = False) -> Parameter:
        trained = self.adapter.bias == "all" or (in_target and self.adapter.bias == "lora_only")
        return leaf._replace(trainable=trained and leaf.name == "bias")

    def _rank(self, name: str, r: Count) -> Count:
        return self.ranks.get(name, r)

    def _with_lora(self, module: Module, r: Count) -> Block:
        node = module.block
        leaves = tuple(self._frozen(each, in_target=True) for each in node.children if isinstance(each, Parameter))
        # Conv1D has its inputs first, and so does what an embedding looks up: V words, each of D numbers
        inputs, outputs = reversed(leaves[0].shape) if node.kind == "linear" else leaves[0].shape
        if node.kind == "embedding" and self.adapter.lora_bias:
            raise ValueError(f"lora_bias is true and {printable(module.names[0])} an embedding: PEFT has no bias there")
        if node.kind == "embedding":  # which PEFT starts with zeros, whatever init_lora_weights says
            added = _embedding_lora(inputs, outputs, r)
        else:
            swapped = node.kind == "transposed-linear" and self.adapter.start == "olora"
            ends = (outputs, inputs) if swapped else (inputs, outputs)
            added = self._linear_lora(*ends, self._cut(r, inputs, outputs, module))
        if self.adapter.use_dora:
            added += (block("lora_magnitude_vector.default", parameter("weight", outputs), component=LORA),)
        return node._replace(kind="", children=(Block("base_layer", leaves, kind=node.kind), *added))

    def _cut(self, r: Count, inputs: Count, outputs: Count, module: Module) -> Count:
        """The rank that is left of it in a matrix that is taken apart."""
        start = self.adapter.start
        least = min((r, inputs, outputs), key=self.number) if start.startswith(CUTTING) else r
        where = f"init_lora_weights is {shown(start)} and the rank of {printable(module.names[0])} {r}"
        if start == "loftq" and module.block.kind != "linear":
            raise ValueError(f"{where}, of a Conv1D, whose sides LoftQ swaps: leave it out of target_modules")
        if start == "loftq" and least != r:
            raise ValueError(f"{where}, which LoftQ cuts to {self.number(least)}: write that in rank_pattern")
        if start == "orthogonal" and self.number(r) % 2:
            raise ValueError(f"{where}, which is odd: PEFT refuses that; write an even one")
        return least

    def _linear_lora(self, inputs: Count, outputs: Count, r: Count) -> tuple[Node, ...]:
        """r·(in + out)."""
        return (
            linear("lora_A.default", inputs, r, bias=False, component=LORA),
            linear("lora_B.default", r, outputs, bias=self.adapter.lora_bias, component=LORA),
        )

    def _instead(self) -> str:
        wanted = self.adapter.target_modules
        left_out = [name for module in self.root.all_in_it for name in module.names[:1] if name in self.wanted]
        if left_out:
            return f"exclude_modules, modules_to_save or the task_type leave out {printable(left_out[0])}"
        if isinstance(wanted, str) and wanted != ALL_LINEAR and re.fullmatch(r"[\w.-]+", wanted):
            return f"a string is a regular expression over a module's whole name, so write [{shown(wanted)}]"
        there = _last_names(self.root)
        near = {nearest_to(each, there) for each in wanted} - {""} if isinstance(wanted, tuple) else set()
        return f"there is {printable(', '.join(sorted(near or there)[:MOST_SHOWN]))}"


def _embedding_lora(rows: Count, width: Count, r: Count) -> tuple[Node, ...]:
    """r·(V + D), in two parameters that are no modules."""
    return (
        parameter("lora_embedding_A.default", r, rows, component=LORA),
        parameter("lora_embedding_B.default", width, r, component=LORA),
    )


def _may_have_one(node: Block) -> bool:
    return node.kind in LINEAR or node.kind == "embedding"


def _ends_of(name: str) -> Iterator[str]:
    """What PEFT takes in a list for this module: ``output.dense`` and ``dense`` for ``0.output.dense``."""
    parts = name.split(".")
    return (".".join(parts[depth:]) for depth in range(len(parts)))


def _first_matches(expressions: Iterable[str], names: Iterable[str]) -> dict[str, int]:
    """Return the index of the first expression that matches a whole name, for each name that one matches."""
    matches = [re.compile(each).fullmatch for each in expressions]
    first = {name: next((index for index, match in enumerate(matches) if match(name)), None) for name in names}
    return {name: index for name, index in first.items() if index is not None}


def _last_names(root: Module) -> set[str]:
    """What the modules that may have an adapter are called, without what they are in."""
    return {module.names[0].rsplit(".", 1)[-1] for module in root.all_in_it if _may_have_one(module.block)}


def _all_linear(root: Module, adapter: Adapter) -> Iterator[str]:
    """Every linear layer but the one that gives the model's output: the words, else the labels of a sequence."""
    modules = [module for module in root.all_in_it if module.block.kind in LINEAR]
    outputs: list[Names] = [module.names for module in modules if module.component == "head.decoder"]
    if any(".tail." in name for names in outputs for name in names):  # an adaptive softmax, which is no linear layer
        outputs = [()]
    if not outputs and adapter.task_type == "SEQ_CLS":
        there = {module.names for module in root.all_in_it}
        heads: list[Names] = [(name,) for name in reversed(CLASSIFIERS)]
        outputs = [names for names in heads if names in there][:1]
    for module in modules:
        if module.names != (outputs or [()])[-1]:
            yield from module.names


# what there is to say about it


def notes(adapter: Adapter, root: Block, place: Place = in_table) -> list[Finding]:
    """What an adapter costs without saying so, and what it leaves untrained.

    :param root: the model's own blocks, with numbers.
    :param place: where the adapter's keys stand.
    """
    before = tree(one_name_each(root))
    after = tree(one_name_each(adapted(root, adapter, adapter.r)))
    return [
        *_by_default(adapter, place),
        *_unmatched(adapter, before, place),
        *_copied(after, place),
        *_untrained_head(after, place),
    ]


def _unmatched(adapter: Adapter, root: Module, place: Place) -> Iterator[Finding]:
    """Names in a list that are of no module: PEFT passes them over, targets as long as another one matches."""
    names = [name for module in root.all_in_it for name in (*module.names[:1], *module.lists[:1])]
    there = {end for name in names for end in _ends_of(name)}
    targets = adapter.target_modules if isinstance(adapter.target_modules, tuple) else ()
    absent = [("target_modules", each) for each in targets if each not in there]
    absent += [
        ("modules_to_save", each)
        for each in adapter.modules_to_save
        if each not in BY_TASK.get(adapter.task_type or "", ()) and not any(name.endswith(each) for name in names)
    ]
    last = {"target_modules": _last_names(root), "modules_to_save": {name.rsplit(".", 1)[-1] for name in names}}
    for key, wanted in absent:
        yield Finding(
            "ignored-key",
            f"{key} has {shown(wanted)}, which no module's name ends with: PEFT passes it over",
            did_you_mean(wanted, last[key], "remove it", shown),
            "warning",
            "adapters",
            **place(key),
        )


def _by_default(adapter: Adapter, place: Place) -> Iterator[Finding]:
    if adapter.targets_of:
        targets = shown(list(adapter.target_modules))
        yield Finding(
            "defaulted-key",
            f"target_modules is left out: PEFT takes {targets} for {adapter.targets_of}",
            f"write target_modules = {targets}",
            "warning",
            "adapters",
            **place("target_modules"),
        )


def _copied(root: Module, place: Place) -> Iterator[Finding]:
    tied = {leaf.tied_to: name for name, leaf in root.leaves if leaf.tied_to}
    for module in root.all_in_it:
        if module.block.name != "modules_to_save":
            continue
        name = module.names[0].removesuffix(".modules_to_save")
        short = printable(name.removeprefix(f"{PREFIX}."))
        count = int(sum(term.total for term in terms(module.block))) * len(module.names)
        original = f"{name}.original_module."
        leaves = [(each, leaf) for each, leaf in root.leaves if each.startswith(original)]
        outside = [leaf.tied_to or tied.get(each, "") for each, leaf in leaves]
        shared = [each for each in outside if each and not each.startswith(original)]
        what = f"modules_to_save trains a copy of {short} beside the frozen original: {count:,} parameters more"
        fields: dict[str, Any] = {"component": SAVED, "actual": count, **place("modules_to_save")}
        if shared:
            other = printable(shared[0].removeprefix(f"{PREFIX}."))
            message = f"{what}, and the copy no longer shares what the original shares with {other}"
            yield Finding(
                "dead-weight",
                message,
                f"put {shown(short.rsplit('.', 1)[-1])} in target_modules instead",
                "warning",
                **fields,
            )
        else:
            yield Finding("dead-weight", what, severity="note", **fields)


def _untrained_head(root: Module, place: Place) -> Iterator[Finding]:
    """A classifier that no checkpoint has: random numbers that the adapter leaves as they are."""
    frozen: dict[str, int] = {}
    for module in root.all_in_it:
        leaves = [each for each in module.block.children if isinstance(each, Parameter)]
        if leaves and module.component in ("head.classifier", "head.qa_outputs"):
            frozen[module.names[0]] = sum(terms_of.total for leaf in leaves for terms_of in terms(leaf))
    saved_names = [name for name in frozen if ".original_module" in name or name.endswith(".base_layer")]
    for name, count in frozen.items():
        if name in saved_names:
            continue
        short = name.removeprefix(f"{PREFIX}.")
        outer = short.split(".")[0]
        yield Finding(
            "dead-weight",
            f"{printable(short)} does not train: its {count:,} parameters stay what they are initialised with",
            f"write modules_to_save = [{shown(outer)}], or the task_type that it is for",
            "warning",
            "adapters",
            actual=count,
            **place("modules_to_save"),
        )
