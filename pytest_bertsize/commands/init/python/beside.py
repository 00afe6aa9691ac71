"""What a call gives a class of the library beside a name: read at the call by the gate, else said in the table."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_bertsize.commands.init.python.made import made_of
from pytest_bertsize.commands.init.python.names import Named
from pytest_bertsize.commands.init.python.own_classes import toml
from pytest_bertsize.config.flows import OF_SHAPE, called_name
from pytest_bertsize.config.handed_over import LABEL_KEYS
from pytest_bertsize.config.python_nodes import first_argument
from pytest_bertsize.config.python_source import Said, of_call
from pytest_bertsize.config.python_values import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_bertsize.commands.init.python.made import Made
    from pytest_bertsize.config.flows import Statement

POOLER = "add_pooling_layer"


class OnlyARun(Exception):
    """What a call gives that no table of another place can say; the message says what."""


@dataclass(frozen=True)
class Beside:
    """Of one call of a class."""

    use: Made

    @cached_property
    def config(self) -> ast.Call | None:
        """The call that makes its config, where that stands in the file."""
        return made_of(self.use, _config_of(self.use))

    @property
    def call(self) -> ast.Call:
        """The one that names the published model, if one does."""
        return self.use.call if self.use.is_pretrained or self.config is None else self.config

    @cached_property
    def given(self) -> Mapping[str, tuple[object, str]]:
        """Keys that change a count: each with its value, ``None`` where only a run can tell, and as it is written."""
        source = self.use.module.source
        calls = (each for each in (self.config, self.use.call) if each is not None)
        said = [each for call in calls if (each := of_call(call, self.use.place))]
        later = [Said(None, 0, source.later(each)) for each in said]
        return {
            name: (values.get(name), ast.unparse(field.node) if field.node else name)
            for each, values in ((each, source.readable(each)) for each in (*said, *later))
            for name, field in each.fields.items()
            if OF_SHAPE.match(name) and name != POOLER
        }

    @cached_property
    def changed(self) -> Statement | None:
        """What changes the config, or the model, so that only a run can tell how."""
        after = self.use.module.source.rebound.after
        return after(self.config).changed or after(self.use.call).changed

    @property
    def labels(self) -> int | None:
        """How many labels the calls give; 0 where only a run can tell, ``None`` where they give none."""
        said = [self.given[key][0] for key in ("num_labels", "id2label", "label2id") if key in self.given]
        counts = [len(each) if isinstance(each, dict) else each for each in said]
        return next((each for each in counts if type(each) is int), 0) if said else None

    def place(self, named: Named) -> Named | None:
        """The call as a place, where it says more than the name and the gate can read the name there."""
        if not self.given and self.changed is None:
            return None
        source, place, first = self.use.module.source, called_name(self.call), first_argument(self.call)
        try:
            is_named = first is not None and source.value(Said(first, 0, scope=self.use.place)) == named.name
        except Unreadable:
            return None
        is_one = is_named and len(source.at(place)) == 1
        return Named(self.use.module.file, place, named.name, self.call.lineno, self.use.module) if is_one else None

    def lines(self, architecture: str, *, is_read: bool) -> Iterator[str]:
        """Of a table: what the gate does not read at the place that it names.

        :raises OnlyARun: where no table can say it.
        """
        pairs = [] if is_read else [*self._pairs()]
        labels = self.labels if "For" in architecture else None
        if labels == 0 or (labels and not is_read):
            pairs.append(f"num_labels = {labels or 2}")
        if pairs:
            told = "  # only a run can tell: write how many labels there are" if labels == 0 else ""
            yield f"overrides = {{ {', '.join(pairs)} }}{told}"
        yield from self.options()

    def options(self) -> Iterator[str]:
        """What the constructor is given, by name or behind the config, as in ``BertModel(config, False)``."""
        call = self.use.call
        behind = call.args[1:2] if self.use.kind.endswith("Model") and not self.use.is_pretrained else []
        pooled = next((each.value for each in call.keywords if each.arg == POOLER), behind[0] if behind else None)
        if isinstance(pooled, ast.Constant) and isinstance(pooled.value, bool) and not self.use.is_own:
            yield f"options = {{ {POOLER} = {toml(pooled.value)} }}"

    def _pairs(self) -> Iterator[str]:
        if self.changed is not None:
            raise OnlyARun(f"changes it by {ast.unparse(self.changed)[:80]} (line {self.changed.lineno})")
        for key, (value, code) in self.given.items():
            if key in LABEL_KEYS:
                continue
            if not (text := toml(value)):
                raise OnlyARun(f"gives it {key} = {code[:80]}, which only a run can tell")
            yield f"{key} = {text}"


def _config_of(use: Made) -> ast.expr | None:
    """What a model is made of, where that is a config."""
    said = next((each.value for each in use.call.keywords if each.arg == "config"), None)
    return said or (use.call.args[0] if use.call.args and not use.is_pretrained else None)
