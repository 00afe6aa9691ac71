"""Find what each changed key changes in a model without a closed form: build the model with former values of keys."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_bertsize.findings import Unusable
from pytest_bertsize.review import build_request
from pytest_bertsize.table.model import Model, split_command
from pytest_bertsize.wording import listed, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.comparison import PutBack
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.builder.messages import Built, NotBuilt, Request
    from pytest_bertsize.review.examine import Subject

MOST_KEYS = 15
"""The most changed keys for which a model is built again: n keys need n + 1 more builds."""
NOT_PUT_BACK = ("architecture", "classes", "adapter")
"""Keys of the table that change the build, and whose former values a request cannot have."""
_NOTHING = object()
Path = tuple[str, ...]


def plan_rebuilds(
    subject: Subject, baseline: Baseline | None, result: Callable[[str], Built | NotBuilt] | None
) -> PutBack | None:
    """Plan builds that show the effect of each changed key, for a model whose count at the base only a lock has.

    :param result: returns the result of a build when it is needed; ``None`` if nothing is built.
    """
    former = baseline.find_former(subject.model.name) if baseline and result else None
    is_compared = former and (former.derivation and (subject.derivation or subject.awaits_build))
    if not former or not former.locked or is_compared or not subject.request:
        return None
    from pytest_bertsize.base.comparison import PutBack

    request = subject.request
    before = _list_former_values(former)
    if before is None:
        return PutBack(problem="the keys of its config at the base are not known", result=result)
    given = request.config
    if subject.config and subject.derivation and subject.model.factory:
        given = build_request.make_factory_config(subject.model, subject.config)
    after = _list_values(given, subject.model)
    paths = sorted(path for path in {**before, **after} if before.get(path, _NOTHING) != after.get(path, _NOTHING))
    keys = tuple(
        (".".join(path[1:] if path[0] == "config" else path), _show(before, path), _show(after, path)) for path in paths
    )
    problem = ""
    others = [key for key in NOT_PUT_BACK if getattr(former.model, key) != getattr(subject.model, key)]
    if others:
        keys += tuple((key, "", "") for key in others)
        problem = f"the table had another {listed(others, len(others))}"
    elif len(keys) > MOST_KEYS:
        problem = f"more than {MOST_KEYS} keys changed, and each needs a build"
    elif keys and request.device != "meta":
        problem = "the model is built on the CPU, so only once"
    requests: dict[int | None, Request] = {}
    if keys and not problem:
        requests[None] = _put_back(request, before, paths, "")
        for kept in range(len(keys)) if len(keys) > 1 else ():
            requests[kept] = _put_back(request, before, paths[:kept] + paths[kept + 1 :], str(kept))
    return PutBack(keys, requests, problem, result)


def _list_former_values(former: ModelAtCommit) -> dict[Path, Any] | None:
    if former.config is None:
        return None
    make = build_request.make_factory_config if former.model.factory else build_request.clean_config
    try:
        return _list_values(make(former.model, former.config), former.model)
    except Unusable:
        return None


def _list_values(config: Mapping[str, Any], model: Model) -> dict[Path, Any]:
    """Return the factory, config, options and kwargs by path: each value inside an object has a path of its own."""
    found: dict[Path, Any] = {("factory",): model.factory} if model.factory else {}
    given = {"config": config, "options": model.options, "kwargs": model.kwargs}
    waiting: list[tuple[Path, object]] = [((name,), values) for name, values in given.items()]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping) and (value or len(path) == 1):
            waiting += [((*path, str(key)), each) for key, each in value.items()]
        else:
            found[path] = value
    return found


def _show(values: Mapping[Path, Any], path: Path) -> str:
    return shown(values[path]) if path in values else "nothing"


def _put_back(request: Request, before: Mapping[Path, Any], paths: Iterable[Path], number: str) -> Request:
    """Return the request with the former values at ``paths``, and with ``number`` added to its name."""
    given: dict[str, Any] = {"factory": request.factory}
    given |= {name: copy.deepcopy(dict(getattr(request, name))) for name in ("config", "options", "kwargs")}
    for path in sorted(paths, key=before.__contains__):  # remove new entries first
        *outer, key = path
        inner: dict[str, Any] = given
        for each in outer:
            inner = inner.setdefault(each, {})
        if path in before:
            inner[key] = before[path]
        else:
            del inner[key]
    left_out: dict[str, Any] = {"asked": (), "unknown": (), "filed": (), "seq_len": 0}
    left_out["command"] = tuple(split_command(given["factory"]))
    return request._replace(name=f"{request.name}\n{number}", **given, **left_out)
