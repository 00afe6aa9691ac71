"""A config and the table's overrides on one sheet, by the family's own names; what is wrong is noted on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding, Kind, Severity
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from pytest_bertsize.config.keys import ConfigKeys
    from pytest_bertsize.config.model_config import ModelConfig


class Sheet:
    """What is written for one model, and what is found on the way through it."""

    def __init__(self, keys: ConfigKeys, config: ModelConfig, overrides: Mapping[str, object]) -> None:
        self.keys = keys
        self.config = config
        self.meaningful = keys.meaningful
        """What the family reads, gathered once."""
        self.known = keys.known
        """What it reads, and what is known to change nothing."""
        self.findings: list[Finding] = []
        self._noted: set[Finding] = set()
        self.wrong: set[str] = set()
        """Keys that have an error."""
        self._written_as: dict[str, str] = {}
        self.overridden = {keys.aliases.get(key, key) for key in overrides}
        in_file = self._by_own_name(config.data)
        self.as_overridden = overrides
        """By the names that the table has."""
        self.overrides = self._by_own_name(overrides)
        self.values = {**in_file, **self.overrides}
        """By own name; the table wins over the file."""

    def _by_own_name(self, written: Mapping[str, object]) -> dict[str, object]:
        """What is written, aliases replaced by the keys that they stand for; an alias wins, as in the library."""
        aliases = self.keys.aliases
        own = {key: value for key, value in written.items() if key not in aliases}
        for alias in written.keys() & aliases.keys():
            key = aliases[alias]
            self._written_as[key] = alias
            if key in own and own[key] != written[alias]:
                message = f"{key} is {shown(own[key])} and {alias}, another name for it, {shown(written[alias])}"
                self.note(key, message, "keep one of them")
            own[key] = written[alias]
        return own

    def note(
        self, key: str, message: str, fix: str, kind: Kind = "config-invalid", severity: Severity = "error"
    ) -> None:
        """Add a finding at the place where the key stands: the table if it overrides, else the file."""
        if severity == "error":
            self.wrong.add(key)
        written = self._written_as.get(key, key)
        if key in self.overridden:
            finding = Finding(kind, message, fix, severity, table_key=("overrides", written))
        else:
            message += self.config.say_name_in_file(written)
            file, line = self.config.place(written)
            finding = Finding(kind, message, fix, severity, file=file, line=line)
        if finding not in self._noted:
            self._noted.add(finding)
            self.findings.append(finding)
