"""Everything that a project's files say of its models, before anything is proposed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_bertsize.builder.published import is_name
from pytest_bertsize.commands.init.python.code import LIBRARIES, Code
from pytest_bertsize.commands.init.python.made import made
from pytest_bertsize.commands.init.python.meant import Meanings
from pytest_bertsize.commands.init.python.names import Named, names, names_beside
from pytest_bertsize.commands.init.python.settings_files import SettingsFiles
from pytest_bertsize.config.source import by_name
from pytest_bertsize.findings import Unusable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_bertsize.closed_forms.registry import Registry
    from pytest_bertsize.commands.init.files import Listed
    from pytest_bertsize.commands.init.found import Found
    from pytest_bertsize.commands.init.project import Project

_OF_CONFIG = re.compile(r"(?i)config\.from_pretrained")
_OF_TOKENIZER = re.compile(r"(?i)tokeni[sz]er|processor|extractor|config\.from_pretrained|pipeline|vocab")


class Reading:
    """Of one project."""

    def __init__(
        self,
        project: Project,
        files: Listed,
        registry: Registry,
        configs: Sequence[Found],
        of_own_classes: Sequence[Found] = (),
    ) -> None:
        """Read all.

        :param configs: files of the project that hold one.
        :param of_own_classes: those that only a class of the project can read.
        """
        self.project, self.registry = project, registry
        self.code = Code()
        for file, content in files.contents(files.python):
            self.code.add(file, content)
        self.code.look_into_the_one_folder()
        self.code.put_copies_last()
        self.code.settings = SettingsFiles(project.root)
        self.code.settings.find(self.code, files.files)
        self._families: dict[str, str] = {}
        last = self.code.comes_last
        here = [Named(each.file, "", each.reference, 0, None, last(each.file)) for each in (*configs, *of_own_classes)]
        those = (*names(self.code, self.is_published), *names_beside(files, self.is_published, last))
        self.all_named = [each for each in those if not _OF_TOKENIZER.search(each.place)]
        self.named = [each for each in self.all_named if self.is_published(each.name)]
        families = {name: family for name, family in self._families.items() if family}
        families |= {each.reference: str(each.config.model_type or each.family) for each in (*configs, *of_own_classes)}
        self.meanings = Meanings(self.named, families, here, self.code)
        self.all_meanings = Meanings(self.all_named, {})
        """Names of which there is no config here among them."""
        of_configs = [each for each in those if _OF_CONFIG.search(each.place) and self.is_published(each.name)]
        self.meanings_of_configs = Meanings(of_configs, families)
        """Names by which a config alone is made, which says no class."""
        self.made = [*made(self.code)]

    @property
    def is_without_library(self) -> bool:
        """Whether there are classes of models, and no file imports transformers."""
        paths = (path for module in self.code.modules.values() for path in (*module.imports.values(), *module.stars))
        return bool(self.made) and not any(path.partition(".")[0] in LIBRARIES for path in paths)

    def family_of(self, name: str) -> str:
        return self._families[name]

    def is_published(self, name: str) -> bool:
        """Whether a config of a known family is there for a name."""
        if name not in self._families:
            self._families[name] = self._looked_up(name) if is_name(name) else ""
        return bool(self._families[name])

    def architectures(self, family: str) -> list[str]:
        """The classes that a family has."""
        return [each.name for found in self.registry.families(family) for each in found.architectures]

    def _looked_up(self, name: str) -> str:
        hub = self.project.settings.hub if self.project.settings else {}
        try:
            config = by_name(name, self.project.root, hub)
        except Unusable:
            return ""
        return str(config.model_type) if config and self.registry.families(str(config.model_type)) else ""
