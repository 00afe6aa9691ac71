"""``modules_to_save``: modules that PEFT copies, to train the copy whole and keep the original frozen beside it.

The rules are those of peft 0.21.2: ``_set_trainable`` and ``ModulesToSaveWrapper`` in ``utils/other.py``, and three
classes of ``peft_model.py`` that name modules themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bertsize.closed_forms.blocks import Block, Parameter, frozen
from pytest_bertsize.closed_forms.module_tree import Module, tree
from pytest_bertsize.wording import printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.adapter import Adapter

SAVED = "adapters.modules_to_save"
CLASSIFIERS = ("classifier", "score")
BY_TASK = {"SEQ_CLS": CLASSIFIERS, "TOKEN_CLS": CLASSIFIERS, "QUESTION_ANS": ("qa_outputs",)}
"""What the classes for a task add, whether or not the model has it."""


def saved_ends(adapter: Adapter) -> tuple[str, ...]:
    """What the names of the saved modules end with; no dot comes in between, so that ``pre_classifier`` is one."""
    return tuple(dict.fromkeys((*adapter.modules_to_save, *BY_TASK.get(adapter.task_type or "", ()))))


def saved(root: Block, adapter: Adapter) -> Block:
    """The tree with ``original_module`` and ``modules_to_save.default`` in place of each module to save.

    :raises ValueError: when a name is of a module that cannot be saved.
    """
    return _Saving(adapter, root).saved()


class _Saving:
    def __init__(self, adapter: Adapter, root: Block) -> None:
        self.adapter = adapter
        self.root = tree(root)
        self.ends = saved_ends(adapter)
        self.said = f"modules_to_save = {shown(list(self.ends))}"

    def saved(self) -> Block:
        if not self.ends:
            return self.root.block
        return self._changed(self.root)

    def _is_saved(self, name: str) -> bool:
        return name.endswith(self.ends)

    def _changed(self, module: Module) -> Block:
        if any(map(self._is_saved, module.lists[:1])):
            self._refuse_list(module.lists[0])
        if any(map(self._is_saved, module.names[:1])):
            if module.is_list:
                self._refuse_list(module.names[0])
            return self._twice(module)
        inner = module.children
        children = tuple(
            self._changed(next(inner)) if isinstance(each, Block) else each for each in module.block.children
        )
        return module.block._replace(children=children)

    def _refuse_list(self, name: str) -> None:
        raise ValueError(f"{self.said} has {printable(name)}, a list of modules, which PEFT cannot save as one")

    def _twice(self, module: Module) -> Block:
        node, name = module.block, module.names[0]
        if any(isinstance(each, Block) and each.name == "base_layer" for each in node.children):
            because = f", which task_type {self.adapter.task_type} adds to them" if self.adapter.task_type else ""
            short = name.rsplit(".", 1)[-1]
            raise ValueError(
                f"{printable(name)} gets an adapter and is one of the modules to save{because}: PEFT refuses both; "
                f"write exclude_modules = [{shown(short)}]"
            )
        self._refuse_nested(module)
        original = frozen(node)
        copy = _Copying(f"{name}.").copied(module)
        return node._replace(
            kind="",
            children=(
                Block("original_module", original.children, kind=node.kind),
                Block("modules_to_save", (Block("default", copy.children, kind=node.kind),), SAVED),
            ),
        )

    def _refuse_nested(self, outer: Module) -> None:
        name = outer.names[0]
        for module in outer.all_in_it:
            inner = next(filter(self._is_saved, (*module.lists, *module.names)), "")
            if inner and module.block is not outer.block:
                both = any(name.endswith(end) and inner.endswith(end) for end in self.ends)
                write = f"; write {shown(name)}" if both and "." in name else "; leave one of them out"
                raise ValueError(
                    f"{self.said} matches {printable(inner)}, and {printable(name)} that it is in: PEFT compares the "
                    f"ends of names, and would save it twice{write}"
                )


class _Copying:
    """A copy owns what its original shares with others; what is shared within the module stays so in the copy."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.owner: dict[str, str] = {}

    def copied(self, module: Module) -> Block:
        inner = module.children
        children = tuple(
            self.copied(next(inner))._replace(component=None)
            if isinstance(each, Block)
            else self._leaf(each, f"{module.prefixes[0]}{each.name}")
            for each in module.block.children
        )
        return module.block._replace(children=children)

    def _leaf(self, leaf: Parameter, name: str) -> Parameter:
        own = f"{self.prefix}modules_to_save.default.{name.removeprefix(self.prefix)}"
        source = leaf.tied_to
        if source is None:
            tied_to = None
        elif source.startswith(self.prefix):
            tied_to = f"{self.prefix}modules_to_save.default.{source.removeprefix(self.prefix)}"
        else:  # the first of those that shared a tensor outside owns their copy
            tied_to = self.owner.setdefault(source, own)
        return leaf._replace(component=None, trainable=True, tied_to=None if tied_to == own else tied_to)
