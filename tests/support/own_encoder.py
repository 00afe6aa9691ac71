"""A class of a project's own without a closed form, as its helper would list it: no torch, and a git repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bertsize.base.lock import read_lock, render_lock
from pytest_bertsize.builder.messages import Buffer, Built, NotBuilt, Why
from pytest_bertsize.closed_forms.registry import Registry
from pytest_bertsize.inventory import Tensor
from pytest_bertsize.review.gate import Gate, Mode
from pytest_bertsize.table.settings import load
from tests.support.git_projects import GitProject, repository

if TYPE_CHECKING:
    from pytest_bertsize.review.accept import Verb

CONFIG: dict[str, Any] = {"words": 100, "width": 8, "layers_num": 3, "dropout": 0.1}
EMBED, LAYER, HEAD = 100 * 8, 8 * 8 + 8, 2 * 8
TOTAL = EMBED + 3 * LAYER + HEAD
TABLE = """
    [tool.bertsize]
    lock = "bertsize.lock"
    [tool.bertsize.models.own]
    factory = "own:build"
    config = "own.json"
    closed_form = false
    budget.total = "1100"
    """

Code = dict[str, tuple[int, ...]]


def tensors(config: Mapping[str, Any], code: Code) -> tuple[Tensor, ...]:
    """What the class builds from a config.

    :param code: what it builds whatever the config says.
    """
    width = config["width"]
    layers = {
        f"encoder.layers.{index}.{name}": shape
        for index in range(config["layers_num"])
        for name, shape in {"attn.weight": (width, width), "norm.weight": (width,)}.items()
    }
    shapes = {"embed.weight": (config["words"], width), **layers, "head.weight": (2, width), **code}
    return tuple(Tensor(name, shape, "") for name, shape in shapes.items())


@dataclass
class OwnProject:
    """The project; what its class builds is what its code is now."""

    git: GitProject
    code: Code = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()
    refuses: Callable[[Mapping[str, Any]], bool] = lambda _: False
    built: list[str] = field(default_factory=list)
    """What was asked for."""

    def gate(self, base: str | None = None, verb: Verb | None = None) -> Gate:
        settings = load(self.git.folder / "pyproject.toml")
        baseline = self.git.baseline(base) if base else None
        lock = read_lock(settings)

        def result(name: str) -> Built | NotBuilt:
            self.built.append(name)
            config = gate.requests[name].config
            if self.refuses(config):
                return NotBuilt(Why.RAISED, "ValueError: no")
            return Built(tensors(config, self.code), {}, self.buffers, transformers="5.23.0", torch="2.13.0")

        gate = Gate(settings, Registry(), result, baseline, Mode(verb=verb), lock)
        return gate

    @property
    def lock(self) -> str:
        return (self.git.folder / "bertsize.lock").read_text("utf-8")

    def accept(self) -> None:
        """What ``--bert-budget-update`` writes to the lock."""
        gate = self.gate(verb="update")
        head = render_lock({})
        (self.git.folder / "bertsize.lock").write_text(f"{head}\n{gate.to_lock('own')}", encoding="utf-8")

    def config(self, **changed: Any) -> None:
        self.git.write("own.json", {**CONFIG, **changed})


def own_project(folder: Path, table: str = TABLE, *, locked: bool = True) -> OwnProject:
    """A repository whose ``main`` has the class, and its lock; what is checked out is another branch."""
    found = OwnProject(repository(folder))
    found.config()
    found.git.declare(table)
    if locked:
        found.accept()
    found.git.commit()
    found.git.git("switch", "--quiet", "--create", "change")
    return found
