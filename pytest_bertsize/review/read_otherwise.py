"""Where the library reads otherwise than the closed form does: another release, or key by key another value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_bertsize.findings import Finding
from pytest_bertsize.release import NEWEST, Unsupported, of_metadata
from pytest_bertsize.wording import number, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.builder.messages import Built, ConfigSaid
    from pytest_bertsize.closed_forms.derive import Derivation
    from pytest_bertsize.config.keys import Values
    from pytest_bertsize.config.model_config import ModelConfig


def by_another_release(derivation: Derivation | None, built: Built) -> list[Finding]:
    """Where the library that was imported is not the one whose metadata said what the closed form is asked about."""
    if derivation is None or not built.transformers:
        return []
    asked = derivation.family.release
    try:
        imported = min(of_metadata(built.transformers), NEWEST)
    except Unsupported as error:
        return [Finding("build-failed", str(error), "build with a release that it knows")]
    if imported == asked:
        return []
    message = f"transformers {built.transformers} has built it, and the closed form is that of {asked}"
    return [Finding("build-failed", message, "have one transformers only where it is built")]


def of_two_values(values: Values, config: ModelConfig, library: ConfigSaid) -> Iterator[Finding]:
    """Keys that are one thing to the closed form and another to the library: a default, an alias, a new meaning.

    A key that the config object does not have says nothing: the class does what its code says, and the tensors show
    whether that is what the closed form assumes.
    """
    for key, assumed in values.assumed.items():
        if key in library.said and not _same(assumed, library.said[key]):
            yield _assumed(key, assumed, f"says {_in_words(library.said[key])}", values, config, library)


def unknown_to_the_library(values: Values, config: ModelConfig, library: ConfigSaid) -> Iterator[Finding]:
    """Keys that the closed form takes to be there by default, and that the config object does not have."""
    for key, assumed in values.assumed.items():
        if key not in library.said and not _is_none_of_it(assumed):
            yield _assumed(key, assumed, "has no such key unless the file writes it", values, config, library)


def unknown_to_the_closed_form(config: ModelConfig, library: ConfigSaid) -> Iterator[Finding]:
    """Keys of the file that were not handed over, although the library reads them."""
    for key in library.read:
        message = f"{library.by} reads {printable(key)}, which the closed form does not know"
        fix = "add it to the keys of the closed form: as a size, a switch, a choice, or as inert if it changes no count"
        line = config.line(*key.split("."))
        yield Finding("read-otherwise", message, fix, file=config.file, line=line)


def _assumed(
    key: str, assumed: object, otherwise: str, values: Values, config: ModelConfig, library: ConfigSaid
) -> Finding:
    path = tuple(key.split("."))
    message = f"the closed form assumes {printable(key)} {_in_words(assumed)}, {library.by} {otherwise}"
    if _is_there(values.for_build, path):
        fix = "report it: the library does not take the file at its word"
        return Finding("read-otherwise", message, fix, file=config.file, line=config.line(*path))
    return Finding("read-otherwise", message, f"write {shown(path[-1])} with the value that is meant", file=config.file)


def _same(assumed: object, said: object) -> bool:
    if said is None:
        return _is_none_of_it(assumed)
    return (list(assumed) if isinstance(assumed, tuple) else assumed) == said


def _is_none_of_it(assumed: object) -> bool:
    """What the library may also say by ``None``, or by not having the key."""
    return assumed is False or assumed == ()


def _in_words(value: object) -> str:
    return number(value) if type(value) is int else shown(value)


def _is_there(handed_over: Mapping[str, object], path: tuple[str, ...]) -> bool:
    """Whether the file, or the table, has the key under this name."""
    inside: object = handed_over
    for key in path:
        if not isinstance(inside, dict) or key not in inside:
            return False
        inside = inside[key]
    return True
