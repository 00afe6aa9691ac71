"""Read YAML as PyYAML reads it, and find the lines of its keys and of JSON's.

PyYAML, because training code nearly always reads the same file with PyYAML: ``1e-12`` is a string, ``no`` is false and
``010`` is 8. In a file that is marked as OmegaConf's, ``1e-12`` is a number, a date is a string, and OmegaConf itself
resolves ``${…}``. A date or an unknown tag outside the requested object does no harm.
"""

from __future__ import annotations

import json
import re
from collections import UserString
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import yaml

from pytest_bertsize.builder.confined import MEGABYTE
from pytest_bertsize.builder.messages import Allowed
from pytest_bertsize.builder.own_process import Lost, answer_of
from pytest_bertsize.config.model_config import (
    DEEPEST,
    LARGEST,
    ONE_MODEL,
    KeyPath,
    ModelConfig,
    config_at,
    decode_text,
    fail,
    follow,
    keys_of,
    nest,
)
from pytest_bertsize.wording import printable, shown

SUFFIXES = (".yaml", ".yml")
LONGEST_NUMBER = 4_300
"""The most characters of a number; Python reads no more digits from a text."""
MOST_EVENTS = 200_000
"""The most keys, values, beginnings and ends of objects and lists in a file; PyYAML takes 10 µs for each."""
_TAG = "tag:yaml.org,2002:"


def parse(content: bytes, file: str, inner: str) -> ModelConfig:
    """Return the object at ``inner`` in the bytes of a YAML file; raise :class:`Unusable` for the first mistake."""
    text = decode_text(content, file)
    is_omegaconf, key_path = _MARKS.search(text) is not None, keys_of(inner)
    root = compose(text, file, is_omegaconf=is_omegaconf)
    value: Any = Constructor(file).read(root)
    unknown: Mapping[KeyPath, tuple[str, str]] = {}
    _refuse_composed(value, file, find_line(root, ("defaults",)))
    value = follow(value, key_path, file, lambda each: is_omegaconf and isinstance(each, str) and "${" in each)
    if is_omegaconf:
        value, unknown = resolve(text, value, key_path, file)
    value = nest(value, key_path)
    return config_at(value, file, key_path, lambda path: find_line(root, path), content, unknown=unknown)


def compose(text: str, file: str, *, is_omegaconf: bool = False) -> Any:
    """Return the root of the file's only document; too deep nesting is refused before C code composes it."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if is_omegaconf:
        kinds = {
            first: [(tag, pattern) for tag, pattern in each if tag != f"{_TAG}timestamp"]
            for first, each in loader.yaml_implicit_resolvers.items()
        }
        loader = type("OmegaConfLoader", (loader,), {"yaml_implicit_resolvers": kinds})
        loader.add_implicit_resolver(f"{_TAG}float", _NUMBER, [*"-+0123456789"])
    depth = documents = 0
    try:
        for seen, event in enumerate(yaml.parse(text, Loader=loader)):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            line = event.start_mark.line + 1
            if seen > MOST_EVENTS:
                fail(file, f"more than {MOST_EVENTS:,} keys and values", ONE_MODEL, line)
            if documents > 1:
                fail(file, "the file holds more than one document", "keep one, without a second ---", line)
            if depth > DEEPEST:
                fail(file, f"nested more than {DEEPEST} deep", ONE_MODEL, line)
        node = yaml.compose(text, Loader=loader)
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
            fail(self.file, f"a value does not fit its tag: {printable(str(error))}", "remove the tag")

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

    def construct_scalar(self, node: Any) -> Any:
        if node.id == "scalar" and not node.tag.endswith(":str") and len(node.value) > LONGEST_NUMBER:
            self._fail_at(node, "a number with thousands of digits", "write the number")
        return super().construct_scalar(node)

    def _fail_at(self, place: Any, message: str, fix: str) -> NoReturn:
        fail(self.file, message, fix, place.start_mark.line + 1)


Constructor.add_constructor(None, lambda _, node: UserString(node.tag))  # which is no plain data


def _refuse_composed(value: Any, file: str, line: int | None) -> None:
    """:raises Unusable: if hydra's list ``defaults`` in the file names another file."""
    named = value.get("defaults") if isinstance(value, dict) else ()
    for each in named if isinstance(named, list) else ():
        if isinstance(each, str | dict) and each != "_self_":
            fail(file, f"its defaults name {shown(each)}, and only hydra composes such files", COMPOSE, line)


# OmegaConf and hydra


ALLOWED = Allowed(seconds=10.0, memory=1024 * MEGABYTE, answer=2 * LARGEST)
FIX = 'write the value, set it by overrides, or name a function that composes the config, as in config = "module:make"'
COMPOSE = (
    'name a function of the project that does, as in config = "module:make": it returns '
    'OmegaConf.to_container(compose("config").model, resolve=True), with initialize("conf", version_base=None)'
)
_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*+(?:\.[0-9_]*+)?[eE][-+]?[0-9]+")
"""A number with an exponent: to OmegaConf a float, to PyYAML a string if it lacks a point or the exponent's sign."""
_MARKS = re.compile(
    r"\$\{|^\s*+(?:-\s++)?_target_\s*+:|^\#\s*+@package\b|:[^\S\n]++\?\?\?[^\S\n]*+$|^defaults:[^\S\n]*+(?:\#.*+)?\n\s*+-\s",
    re.MULTILINE,
)
"""Marks that only OmegaConf or hydra understands."""


def resolve(
    text: str, value: object, key_path: Sequence[str], file: str
) -> tuple[object, Mapping[KeyPath, tuple[str, str]]]:
    """Return an object with each ``${…}`` resolved, and the problem and the fix of each that cannot be, by its path.

    :param text: the text of the file.
    :param value: the object as it is written; a string if ``${…}`` is at the keys or above them.
    :param key_path: the keys that lead to the object.
    :raises Unusable: if the object itself is a ``${…}`` that is not resolved.
    """
    if not key_path and isinstance(value, dict):
        value = {key: each for key, each in value.items() if key != "hydra"}  # how hydra itself runs
    written = dict(_find_unresolved(value))
    known: dict[KeyPath, object] = {}
    unknown: dict[KeyPath, tuple[str, str]] = {}
    asked = {"text": text, "paths": [[*key_path, *path] for path in written]}
    try:
        said = answer_of("pytest_bertsize.config.by_code", asked, None, ALLOWED) if written else {}
    except Lost as lost:
        said = {"why": str(lost)}
    answers: Sequence[dict[str, Any]] = said.get("answers", [said] * len(written))
    for path, answer in zip(written, answers, strict=True):
        if "value" in answer:
            known[path] = answer["value"]
            continue
        name = printable(".".join(path or key_path))
        why = f"{name} is {printable(written[path])}, which OmegaConf does not resolve: {printable(str(answer['why']))}"
        fix = f"{answer.get('first', '')}{FIX}"
        if not path:
            fail(file, why, fix)
        unknown[*key_path, *path] = why, fix
    return _put_values(value, known), unknown


def _find_unresolved(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the text of each string that has ``${…}`` or is ``???``."""
    if isinstance(value, str) and ("${" in value or value == "???"):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_unresolved(inner, (*path, str(key)))


def _put_values(value: object, known: Mapping[KeyPath, object], path: KeyPath = ()) -> object:
    if path in known:
        return known[path]
    if isinstance(value, dict):
        return {key: _put_values(inner, known, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_put_values(inner, known, (*path, str(index))) for index, inner in enumerate(value)]
    return value
