"""Read YAML as PyYAML reads it, and find the lines of its keys and of JSON's.

PyYAML, because training code nearly always reads the same file with PyYAML: ``no`` is false and ``010`` is 8. As in
OmegaConf, ``1e-12`` is a number, a date is a string, and ``${sizes.width}`` is the value of that key. An unknown tag
outside the requested object does no harm.
"""

from __future__ import annotations

import json
import re
from collections import UserString
from typing import Any, ClassVar, NoReturn

import yaml
from msgspec.structs import replace

from pytest_bertsize.config.model_config import (
    DEEPEST,
    ONE_MODEL,
    KeyPath,
    ModelConfig,
    config_at,
    decode_text,
    fail,
    keys_of,
)
from pytest_bertsize.wording import printable, reason, shown

MOST_EVENTS = 200_000  # the most keys, values, beginnings and ends in a file; PyYAML takes 10 µs for each
FIX = 'write the value, set it by overrides, or name a function that composes the config, as in config = "module:make"'
COMPOSE = (
    'name a function of the project that does, as in config = "module:make": it returns '
    'OmegaConf.to_container(compose("config").model, resolve=True), with initialize("conf", version_base=None)'
)
MISSING = "???"  # OmegaConf's text for a value that a run has to set
_TAG = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*+(?:\.[0-9_]*+)?[eE][-+]?[0-9]+")  # to PyYAML often a text
_REFERENCE = re.compile(r"\$\{(\.*)(\w+(?:\.\w+)*)?\}")  # a key from the top or, after dots, from here


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # (PyYAML has no types)
    """PyYAML's loader, in C if it is there, to which ``1e-12`` is a number and a date is a text."""

    yaml_implicit_resolvers: ClassVar = {
        first: [kind for kind in kinds if kind[0] != f"{_TAG}timestamp"]
        for first, kinds in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver(f"{_TAG}float", _NUMBER, [*"-+0123456789"])


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """Return the object at ``inner`` in the bytes of a YAML file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    root = compose(text, file)
    whole: Any = Constructor(file).read(root)
    if isinstance(whole, dict):
        _refuse_composed(whole.get("defaults"), file, find_line(root, ("defaults",)))
        whole.pop("hydra", None)  # how hydra itself runs
        _resolve_references(whole, file)
    config = config_at(whole, file, keys_of(inner), lambda path: find_line(root, path), content)
    unresolved = {key: text for key, value in config.data.items() if (text := _find_unresolved(value))}
    unknown = {key: (f"{key} is {shown(text)}, which only a run knows", FIX) for key, text in unresolved.items()}
    return replace(config, unknown=unknown)


def compose(text: str, file: str) -> Any:
    """Return the root of the file's only document; too deep nesting is refused before C code composes it."""
    depth = documents = 0
    try:
        for seen, event in enumerate(yaml.parse(text, Loader=_Loader)):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            line = event.start_mark.line + 1
            if seen > MOST_EVENTS:
                fail(file, f"more than {MOST_EVENTS:,} keys and values", ONE_MODEL, line)
            if documents > 1:
                fail(file, "the file holds more than one document", "keep one, without a second ---", line)
            if depth > DEEPEST:
                fail(file, f"nested more than {DEEPEST} deep", ONE_MODEL, line)
        node = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or error
        said = printable(str(problem).partition("\n")[0])
        fail(file, f"not YAML: {said}", "correct the file", mark and mark.line + 1)
    if node is None:
        fail(file, "the file is empty", "write the model's config")
    return node


def find_line(root: Any, path: KeyPath) -> int | None:
    """Return the line of a key, or of the nearest key above it; keys of an alias have their lines at the anchor."""
    line = None
    for key in path:
        pairs = root.value if root.id == "mapping" else ()
        found = next((pair for pair in reversed(pairs) if pair[0].value == key), None)
        if found is None:
            break
        line, root = found[0].start_mark.line + 1, found[1]
    return line


class Constructor(yaml.constructor.SafeConstructor):  # type: ignore[misc]  # (PyYAML has no types)
    """PyYAML's own constructor of values, which refuses repeated keys and what would take the machine's memory."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file
        self._seen: set[int] = set()
        self._merged = 0

    def read(self, root: Any) -> object:
        try:
            return self.construct_document(root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            fail(self.file, f"it is not plain data: {printable(str(error.problem))}", "write plain values", line)
        except RecursionError:
            fail(self.file, f"nested more than {DEEPEST} deep", ONE_MODEL)
        except (ValueError, LookupError, AttributeError) as error:  # a text that does not fit its tag
            fail(self.file, f"a value does not fit its tag: {reason(error)}", "remove the tag")

    def flatten_mapping(self, node: Any) -> None:
        if id(node) not in self._seen:
            self._seen.add(id(node))
            seen: set[str] = set()
            for key, _ in node.value:
                if key.id == "scalar" and key.value in seen:
                    self._fail_at(key, f"one object has the key {shown(key.value)} twice", "keep one of them")
                seen.add(str(key.value))
        self._merged += len(node.value)
        if self._merged > MOST_EVENTS:
            self._fail_at(node, f"with every << written out, it has more than {MOST_EVENTS:,} keys", ONE_MODEL)
        super().flatten_mapping(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002  (PyYAML's)
        """Return an object whose keys are texts, as JSON writes them: ``no`` is ``false``."""
        found = super().construct_mapping(node, deep)
        return {key if isinstance(key, str) else json.dumps(key, default=str): each for key, each in found.items()}

    def _fail_at(self, place: Any, message: str, fix: str) -> NoReturn:
        fail(self.file, message, fix, place.start_mark.line + 1)


Constructor.add_constructor(None, lambda _, node: UserString(node.tag))  # which is no plain data


def _refuse_composed(named: object, file: str, line: int | None) -> None:
    """:raises Unusable: if hydra's list ``defaults`` in the file names another file."""
    for each in named if isinstance(named, list) else ():
        if isinstance(each, str | dict) and each != "_self_":
            fail(file, f"its defaults name {shown(each)}, and only hydra composes such files", COMPOSE, line)


def _resolve_references(whole: dict[str, Any], file: str) -> None:
    """Put the value of another key in place of each ``${sizes.width}``; any other ``${…}`` stays."""

    def resolve(node: Any, key: Any, path: KeyPath) -> Any:
        match = _REFERENCE.fullmatch(node[key]) if isinstance(node[key], str) else None
        if match is None:
            return node[key]
        written, node[key] = node[key], MISSING  # which a circle finds
        above = path[: -len(match[1])] if match[1] else ()
        target = (*above, *keys_of(match[2] or ""))
        there: Any = whole
        for depth, part in enumerate(target, 1):
            if not isinstance(there, dict) or part not in there:
                there = written
                break
            there = resolve(there, part, target[:depth])
        node[key] = there
        return there

    def walk(node: Any, path: KeyPath) -> None:
        if isinstance(node, dict | list) and id(node) not in seen:
            seen.add(id(node))
            for key in [*node] if isinstance(node, dict) else range(len(node)):
                below = (*path, str(key))
                walk(resolve(node, key, below), below)

    seen: set[int] = set()
    try:
        walk(whole, ())
    except RecursionError:
        fail(file, "a chain of ${…} is too long", FIX)


def _find_unresolved(value: object) -> str:
    """Return the first ``${…}`` or ``???`` in a value, or ``""``."""
    if isinstance(value, str):
        return value if "${" in value or value == MISSING else ""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(_find_unresolved, inside)), "")
