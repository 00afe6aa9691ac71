"""The files of settings that a script is run with: what hydra composes for it, or what it loads by a name it writes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import join, normpath
from typing import TYPE_CHECKING, NamedTuple

from pytest_bertsize.commands.init.python.code import shared
from pytest_bertsize.config.python_nodes import dotted
from pytest_bertsize.config.source import read_file
from pytest_bertsize.findings import Unusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_bertsize.commands.init.python.code import Code, Module

YAML = (".yaml", ".yml")
READERS = ("OmegaConf.load", "yaml.safe_load", "yaml.load", "json.load", "toml.load", "tomllib.load")
MOST = 20
"""Files that are composed."""


class Access(NamedTuple):
    """``cfg.encoder.width`` or ``config["encoder"]["width"]``."""

    root: str
    keys: tuple[str, ...]
    text: str
    """As written, with ``cfg`` in place of the root."""


class SettingsFile(NamedTuple):
    """One, and who is run with it."""

    file: str
    data: Mapping[str, object]
    module: Module

    def has(self, keys: Sequence[str]) -> bool:
        """Whether it says something at a path."""
        value: object = self.data
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                return False
            value = value[key]
        return True


@dataclass
class SettingsFiles:
    """Of one project."""

    root: Path
    all: list[SettingsFile] = field(default_factory=list)

    def find(self, code: Code, files: Sequence[str]) -> None:
        """Read those that a script names, scripts that train first.

        :param files: of the project.
        """
        known = {*files}
        for module in (each for each in code.in_order if not each.comes_last):
            for named in dict.fromkeys(_named_by(module)):
                if len(self.all) < MOST and named in known and (data := self._read(named)):
                    self.all.append(SettingsFile(named, data, module))

    def of(self, keys: Sequence[str], module: Module) -> SettingsFile | None:
        """The nearest that has a path, where a file of the project reads it."""
        those = [each for each in self.all if each.has(keys)]

        def distance(each: SettingsFile) -> tuple[object, ...]:
            return each.module is not module, -shared(each.module.file, module.file), "train" not in each.module.file

        return min(those, key=distance, default=None)

    def _read(self, file: str) -> Mapping[str, object] | None:
        try:
            config = read_file(self.root, file)
        except Unusable:
            return None
        return None if config.unknown else config.data


def access(node: ast.expr) -> Access | None:
    """What an expression asks settings for; ``None`` for one that asks for nothing."""
    keys: list[str] = []
    here = node
    while isinstance(here, ast.Attribute | ast.Subscript):
        if isinstance(here, ast.Attribute):
            keys.append(here.attr)
        elif isinstance(here.slice, ast.Constant) and isinstance(here.slice.value, str):
            keys.append(here.slice.value)
        else:
            return None
        here = here.value
        if dotted(here) in {"self.cfg", "self.config", "self.hparams"}:
            break
    root = dotted(here)
    text = ast.unparse(node)
    if not root or not keys or not text.startswith(root):
        return None
    return Access(root, tuple(reversed(keys)), f"cfg{text[len(root) :]}")


def _named_by(module: Module) -> Iterator[str]:
    """What a script is run with: ``@hydra.main(config_path=…, config_name=…)``, ``OmegaConf.load("…")``."""
    folder = PurePosixPath(module.file).parent
    for node in ast.walk(module.source.tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if name in {"hydra.main", "hydra_main"} or (name == "main" and module.imports.get("main") == "hydra.main"):
            said = {each.arg: getattr(each.value, "value", None) for each in node.keywords}
            said |= dict(
                zip(("config_path", "config_name"), (getattr(each, "value", None) for each in node.args), strict=False)
            )
            path, config = said.get("config_path") or "", said.get("config_name")
            if isinstance(path, str) and isinstance(config, str):
                yield normpath(join(str(folder), path, config if config.endswith(YAML) else f"{config}.yaml"))
        elif name.endswith(READERS):
            for each in ast.walk(node):
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and "." in each.value:
                    yield from dict.fromkeys((normpath(each.value), normpath(join(str(folder), each.value))))
