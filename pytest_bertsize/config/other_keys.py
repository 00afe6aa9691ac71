"""Keys of a config that give no value to its closed form: refused, misspelt, ignored, or known to change no count."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.config.keys import LABELS
from pytest_bertsize.config.vocabulary import (
    DTYPE,
    IMPLEMENTATIONS,
    KNOWN_DTYPES,
    KNOWN_IMPLEMENTATIONS,
    PASSED,
    QUANTIZATION,
    REFUSED,
    SYNONYMS,
    WITHHELD,
)
from pytest_bertsize.findings import Finding
from pytest_bertsize.wording import LONGEST_NUMBER, listed, nearest_to, number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.config.dims import Dims
    from pytest_bertsize.config.keys import ConfigKeys, Ignored
    from pytest_bertsize.config.model_config import ModelConfig
    from pytest_bertsize.config.sheet import Sheet


def check_keys(sheet: Sheet, *, labels: bool) -> None:
    """Note every key of file and table that the family does not read, with what was probably meant.

    :param labels: whether the architecture has ``num_labels`` outputs to count.
    """
    ignored = [key for key in sheet.config.data if _is_ignored(key, sheet, labels=labels)]
    _note_ignored(ignored, sheet)
    for key in sheet.overrides:
        _check_key_of_table(key, sheet)


def note_what_is_unknown(sheet: Sheet) -> None:
    """Note every key whose value only other code can tell, and that the class would be given."""
    config, given = sheet.config, sheet.meaningful | PASSED | sheet.keys.inert
    below = {at[len(config.key_path)] for at in config.unknown if len(at) > len(config.key_path)}
    for key in dict.fromkeys((*config.data, *sorted(below))):
        own = sheet.keys.aliases.get(key, key)
        if own not in sheet.overrides and (sheet.keys.open or key in given) and (why := config.why_unknown(key)):
            sheet.note(key, *why)


def refused(key: str, value: object) -> str:
    """Why a key may not stand in a config, ``""`` if it may."""
    if key.startswith("__"):
        return "it is a name of Python's own"
    if _says_which_code(key) and not _names_an_implementation(value):
        return f"{shown(value)} is code to fetch and to run in place of the library's own"
    if key in DTYPE and not _names_a_dtype(value):
        return f"{shown(value)} is no number format of torch"
    if key == QUANTIZATION and not isinstance(value, dict | None):
        return f"{shown(value)} is no object"
    return REFUSED.get(key, "")


def is_withheld(key: str) -> bool:
    """Whether a key steers the library: who saved the file, in which numbers or by which code a model computes."""
    return key in WITHHELD or _says_which_code(key)


def _says_which_code(key: str) -> bool:
    return any(part in key for part in IMPLEMENTATIONS)


def _names_a_dtype(value: object) -> bool:
    """Whether it is a number format, for the model or for each of its parts."""
    if isinstance(value, dict):
        return all(_names_a_dtype(each) for each in value.values())
    return value is None or (isinstance(value, str) and value.removeprefix("torch.") in KNOWN_DTYPES)


def _names_an_implementation(value: object) -> bool:
    """Whether it is one of the library's own, for the model or for each of its parts."""
    if isinstance(value, dict):
        return all(_names_an_implementation(each) for each in value.values())
    return value is None or isinstance(value, bool) or (isinstance(value, str) and value in KNOWN_IMPLEMENTATIONS)


MOST_NAMED = 8
"""Keys that one sentence names."""


def _is_ignored(key: str, sheet: Sheet, *, labels: bool) -> bool:
    """Whether nothing reads a key of the file; what is wrong with it is noted."""
    if key in sheet.meaningful or key in sheet.keys.all_ignored:
        return False
    if key not in sheet.overrides and _is_refused_by_family(key, sheet.config.data[key], sheet):
        return False
    if (own := sheet.keys.unread.get(key)) and own not in sheet.values:
        message = f"{shown(key)} is not read for {own} yet by the transformers that is there"
        sheet.note(key, message, f'write "{own}"')
    elif reason := refused(key, sheet.config.data[key]):
        sheet.note(key, f"the key {shown(key)} is refused: {reason}", "remove it", "config-refused")
    elif key in sheet.known or is_withheld(key) or key in sheet.config.ignored:
        return False
    elif meant := _key_meant(key, sheet, labels=labels):
        sheet.note(key, f"{shown(key)} is not a key of this family and would be ignored", _renaming(key, meant, sheet))
    else:
        return not sheet.keys.open
    return False


def _is_refused_by_family(key: str, value: object, sheet: Sheet) -> bool:
    """Whether it changes what is built in a way that no closed form follows, which is noted."""
    changes = sheet.keys.refused.get(key)
    if changes is None or value in changes.harmless:
        return False
    sheet.note(key, f"{key} = {shown(value)} is refused: {changes.because}", changes.fix, "config-refused")
    return True


def _renaming(key: str, meant: str, sheet: Sheet) -> str:
    """A file that other code reads keeps its names: the table says what they mean."""
    if not sheet.config.is_shared or meant in sheet.values:
        return f'write "{meant}"'
    return f"write keys = {{ {key if key.isidentifier() else shown(key)} = {shown(meant)} }} in the table"


def _note_ignored(keys: list[str], sheet: Sheet) -> None:
    """Note the keys that nothing reads, in one line."""
    if len(keys) == 1:
        sheet.note(
            keys[0], f"the key {shown(keys[0])} is ignored: it changes no count", leave(keys), "ignored-key", "warning"
        )
    elif keys:
        message = f"{len(keys):,} keys are ignored: they change no count: {listed([*map(shown, keys)], MOST_NAMED)}"
        sheet.note(keys[0], message, leave(keys), "ignored-key", "warning")


def leave(keys: list[str], otherwise: str = "") -> str:
    """What to do about keys that the library ignores, and the project's own code may read."""
    it = "it" if len(keys) == 1 else "them"
    entries = ", ".join(map(shown, keys[:MOST_NAMED])) + (", …" if len(keys) > MOST_NAMED else "")
    return f"leave {it} if your code reads {it}, as ignored = [{entries}] says, else {otherwise or f'remove {it}'}"


def note_what_is_read(sheet: Sheet) -> None:
    """Note every entry of the table's ``ignored`` that is no ignored key."""
    read = sheet.meaningful | PASSED | sheet.keys.inert
    inner = {key for value in sheet.config.data.values() if isinstance(value, dict) for key in value}
    for key in sheet.config.ignored:
        place: dict[str, Any] = {"table_key": ("ignored",)}
        if key in sheet.config.data and key in read:
            message = f"ignored names {printable(key)}, which this family reads"
            sheet.findings.append(Finding("config-invalid", message, "remove it from ignored", **place))
            sheet.wrong.add(key)
        elif key not in sheet.config.data and key not in inner:
            message = f"ignored names {printable(key)}, which is not in {sheet.config.reference}"
            fix = "remove it from ignored"
            sheet.findings.append(Finding("ignored-key", message, fix, "warning", **place))


def beyond_json(value: object) -> str:
    """Why a config cannot say what TOML can, ``""`` for what it can."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return next(filter(None, map(beyond_json, inner)), "")
    if isinstance(value, int):
        return "" if abs(value) < LONGEST_NUMBER else number(value)
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{value}"
    return "" if value is None or isinstance(value, str) else f"a {type(value).__name__}"


def note_what_no_config_says(sheet: Sheet) -> None:
    """Note every override that only TOML can say, but for those that are wrong already."""
    for key, value in sheet.overrides.items():
        if key not in sheet.wrong and (beyond := beyond_json(value)):
            message = f"overrides.{printable(key)} is {beyond}, which no config can say"
            sheet.note(key, message, "write what the config would say")


def _check_key_of_table(key: str, sheet: Sheet) -> None:
    if key in sheet.meaningful | PASSED | sheet.keys.inert:
        return
    if _is_refused_by_family(key, sheet.overrides[key], sheet):
        return
    if reason := refused(key, sheet.overrides[key]):
        sheet.note(key, f"overrides.{printable(key)} is refused: {reason}", "remove it", "config-refused")
        return
    known = sorted(sheet.meaningful)
    nearest = by_another_name(key, sheet.keys) or nearest_to(snake(key), known)
    if sheet.keys.open and not nearest:
        return
    fix = f"did you mean {nearest}?" if nearest else f"it can override {', '.join(known)}"
    sheet.note(key, f"overrides.{printable(key)} changes nothing in this family", fix)


def _key_meant(key: str, sheet: Sheet, *, labels: bool) -> str:
    """The key that a name was probably meant for; another library's name only counts where ours is missing."""
    shape_key = by_another_name(key, sheet.keys)
    if shape_key:
        counts = labels or shape_key != "num_labels"
        return shape_key if counts and shape_key not in sheet.values else ""
    return nearest_to(snake(key), sorted(sheet.meaningful), cutoff=0.87)


def by_another_name(key: str, keys: ConfigKeys) -> str:
    """The shape key that other libraries call by this name."""
    symbols = {**{size.symbol: size.key for size in keys.sizes}, LABELS: "num_labels"}
    name = snake(key)
    known = (own for symbol, own in symbols.items() if name in SYNONYMS.get(symbol, ()) and name != own)
    return next(known, "")


def snake(key: str) -> str:
    """``numHiddenLayers`` and ``num-hidden-layers`` → ``num_hidden_layers``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower().replace("-", "_")


def without_effect(
    ignored: Mapping[str, Ignored], config: ModelConfig, dims: Dims | None, architecture: str
) -> list[Finding]:
    """A warning for each key of a config that looks as if it changed a count, with what it would have cost.

    :param dims: ``None`` where the sizes are not known.
    """
    findings = []
    for key, known in ignored.items():
        if key not in config.data or config.data[key] in known.harmless or key in config.ignored:
            continue
        value = config.data[key]
        concerns = not known.only or architecture.endswith(known.only)
        cost = known.cost(value, dims) if known.cost and dims and concerns else None
        verb = "cost" if cost is None or cost >= 0 else "saved"
        would = f"; it would have {verb} {number(abs(cost))} parameters" if cost is not None else ""
        message = f"{key} = {shown(value)} is ignored: {known.because}{would}"
        file, line = config.place(key)
        findings.append(Finding("ignored-key", message, leave([key], known.fix), "warning", file=file, line=line))
    return findings
