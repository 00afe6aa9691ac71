"""Which changed key moved what, of a class that no closed form describes: it is built again with keys put back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.findings import Unusable
from pytest_bertsize.review import build_request
from pytest_bertsize.wording import shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.comparison import PutBack
    from pytest_bertsize.base.lock import Lock
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request
    from pytest_bertsize.review.check import Subject

MOST_KEYS = 15
"""That are put back: with n of them the model is built n + 1 times more."""
_NOTHING = object()
Path = tuple[str, ...]


class Accepted(NamedTuple):
    """What a model was, as it was accepted: today's lock, and what its config was at the base."""

    lock: Lock | None = None
    put_back: Mapping[str, PutBack | None] = MappingProxyType({})
    """By model."""


NOTHING = Accepted()


def fingerprint(subject: Subject) -> str:
    """Hash of all that a model is built from beside code; ``""`` where that is nothing."""
    model, config = subject.model, subject.config
    data = None
    if config is not None:
        data = {name: part.data for name, part in config.parts.items()} if config.parts else config.data
    adapter = subject.request.adapter if subject.request else {}
    said = [data, model.overrides, model.options, adapter]
    if not any(said):
        return ""
    text = json.dumps(said, sort_keys=True, default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def planned(
    subject: Subject, baseline: Baseline | None, result: Callable[[str], Built | NotBuilt] | None
) -> PutBack | None:
    """Of a model that a lock of the base has and no closed form compares: what changed, and what to build for it.

    :param result: what became of what was built, which is asked when it is needed; ``None`` where nothing is built.
    """
    former = baseline.find_former(subject.model.name) if baseline and result else None
    if former and former.locked and not (former.derivation and subject.derivation) and subject.request:
        return replace(_plan(subject, subject.request, former), result=result)
    return None


def _plan(subject: Subject, request: Request, former: ModelAtCommit) -> PutBack:
    from pytest_bertsize.base.comparison import PutBack

    before = _said(former)
    if before is None:
        return PutBack(problem="the keys of its config at the base are not known")
    after = _leaves({"config": _given(subject, request), "options": request.options})
    was = _leaves(before)
    paths = sorted(path for path in {**was, **after} if was.get(path, _NOTHING) != after.get(path, _NOTHING))
    keys = tuple((_key(path), _shown(was, path), _shown(after, path)) for path in paths)
    if not keys or len(keys) > MOST_KEYS or request.device != "meta":
        return PutBack(keys, {}, _refused(len(keys), request))
    requests: dict[int | None, Request] = {None: _with(request, was, paths, f"{request.name}\n")}
    for kept in range(len(keys)) if len(keys) > 1 else ():
        back = [path for index, path in enumerate(paths) if index != kept]
        requests[kept] = _with(request, was, back, f"{request.name}\n{kept}")
    return PutBack(keys, requests)


def _refused(keys: int, request: Request) -> str:
    if keys > MOST_KEYS:
        return f"more than {MOST_KEYS} changed, and each would be a build"
    return "it is built on the CPU, and once alone" if keys and request.device != "meta" else ""


def _given(subject: Subject, request: Request) -> Mapping[str, Any]:
    config = subject.config
    if config is None or subject.derivation is None:
        return request.config
    return build_request.make_factory_config(subject.model, config) if subject.model.factory else request.config


def _said(former: ModelAtCommit) -> dict[str, Any] | None:
    model, config = former.model, former.config
    if config is None:
        return None
    try:
        given = (
            build_request.make_factory_config(model, config)
            if model.factory
            else build_request.clean_config(model, config)
        )
    except Unusable:
        return None
    return {"config": given, "options": model.options}


def _leaves(said: Mapping[str, Any], inside: Path = ()) -> dict[Path, Any]:
    """Every value that is no object, by its path."""
    found: dict[Path, Any] = {}
    for key, value in said.items():
        path = (*inside, str(key))
        found |= _leaves(value, path) if isinstance(value, dict) and value else {path: value}
    return found


def _shown(leaves: Mapping[Path, Any], path: Path) -> str:
    return shown(leaves[path]) if path in leaves else "nothing"


def _key(path: Path) -> str:
    """As the config has it, or ``options.add_pooling_layer``."""
    return ".".join(path[1:] if path[0] == "config" else path)


def _with(request: Request, was: Mapping[Path, Any], back: list[Path], name: str) -> Request:
    said: dict[str, Any] = {"config": request.config, "options": request.options}
    for path in back:
        said = _put(said, path, was.get(path, _NOTHING))
    asked: dict[str, Any] = {"asked": (), "unknown": (), "filed": (), "seq_len": 0}
    return request._replace(name=name, config=said["config"], options=said["options"], **asked)


def _put(said: Mapping[str, Any], path: Path, value: object) -> dict[str, Any]:
    """A copy with another value at a path, or without it."""
    key, *below = path
    found = dict(said)
    if below:
        inner = found.get(key)
        found[key] = _put(inner if isinstance(inner, dict) else {}, tuple(below), value)
    elif value is _NOTHING:
        found.pop(key, None)
    else:
        found[key] = value
    return found
