"""The effect of each changed key on a model without a closed form: builds of today's code with former values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bertsize.builder.messages import Built, NotBuilt, Request
from pytest_bertsize.findings import Unusable
from pytest_bertsize.review.examine import Subject, clean_config, make_factory_config
from pytest_bertsize.table.model import Model, split_command
from pytest_bertsize.wording import listed, plural, printable, shown

if TYPE_CHECKING:
    from pytest_bertsize.base.baseline import Baseline
    from pytest_bertsize.base.project_at_commit import ModelAtCommit
    from pytest_bertsize.closed_forms.attribution import Counts, Moved
    from pytest_bertsize.inventory import Inventory

CODE = "code"  # the name of the row for changes that no key explains
MOST_KEYS = 15  # the most changed keys for which a model is built again: n keys need n + 1 more builds
MOST_NAMED = 6  # the most keys that a sentence names; it gives the number of the others
NOT_PUT_BACK = ("architecture", "classes", "adapter")  # keys that change the build, and that a request cannot put back
_NOTHING = object()
Path = tuple[str, ...]


class PutBack(NamedTuple):
    """The changed keys of a config, and the builds with old values that measure the effect of each key."""

    result: Callable[[str], Built | NotBuilt]
    problem: str = ""  # the reason why nothing is built with old values
    keys: tuple[tuple[str, str, str], ...] = ()  # each key, its old and its new value, as a report shows them
    requests: Mapping[int | None, Request] = MappingProxyType({})
    """The builds with old values: the build under a key's index has the new value of this key alone; the build under
    ``None`` has no new value."""


class Shares(NamedTuple):
    """The parameters that keys and code added or removed, and sentences on effects that are not known."""

    moved: tuple[Moved, ...] = ()
    method: str = ""
    said: tuple[str, ...] = ()


def plan_rebuilds(
    subject: Subject, baseline: Baseline | None, result: Callable[[str], Built | NotBuilt] | None
) -> PutBack | None:
    """Plan builds that show the effect of each changed key, for a model whose count at the base only a lock has.

    :param result: returns the result of a build when it is needed; ``None`` if nothing is built.
    """
    former = baseline.find_former(subject.model.name) if baseline and result else None
    request = subject.request
    if not result or not former or not former.locked or not request:
        return None
    if former.derivation and (subject.derivation or subject.awaits_build):
        return None
    before = _list_former_values(former)
    if before is None:
        return PutBack(result, "the keys of its config at the base are not known")
    given = request.config
    if subject.config and subject.derivation and subject.model.factory:
        given = make_factory_config(subject.model, subject.config)
    after = _list_values(given, subject.model)
    paths = sorted(path for path in {**before, **after} if before.get(path, _NOTHING) != after.get(path, _NOTHING))
    names = [".".join(path[1:] if path[0] == "config" else path) for path in paths]
    keys = tuple((name, _show(before, path), _show(after, path)) for name, path in zip(names, paths, strict=True))
    problem = ""
    if others := [key for key in NOT_PUT_BACK if getattr(former.model, key) != getattr(subject.model, key)]:
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
    return PutBack(result, problem, keys, requests)


def _list_former_values(former: ModelAtCommit) -> dict[Path, Any] | None:
    make = make_factory_config if former.model.factory else clean_config
    try:
        return _list_values(make(former.model, former.config), former.model) if former.config else None
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


def divide_change(
    put_back: PutBack, before: Counts, now: Inventory, components: Callable[[Built], Inventory]
) -> Shares:
    """Measure three effects on the parameters: of each key alone, of the keys together, and of the code.

    :param before: the base's counts by component.
    :param components: assigns components to the tensors of a build.
    """
    from pytest_bertsize.closed_forms.attribution import Moved, alone_and_together, difference, in_one_row

    keys, requests = put_back.keys, put_back.requests
    changed = f"these keys changed: {listed([printable(key) for key, *_ in keys], MOST_NAMED)}; "
    if put_back.problem:
        unknown = f"the effects of keys and code are not known: {put_back.problem}"
        return Shares(said=(f"{changed if keys else ''}{unknown}",))
    counts: dict[int | None, Counts] = {} if keys else {None: now.own}
    for index, request in requests.items():
        built = put_back.result(request.name)
        if isinstance(built, Built):
            counts[index] = components(built).own
        elif index is None:
            back = ", ".join(printable(key) for key, *_ in keys)
            why = f"because the model cannot be built with {back} put back: {built.reason}"
            return Shares(said=(f"{changed}the effect of each is not known, {why}",))
    code = difference(counts[None], before)
    last = (Moved(CODE, "", "", code),) if code else ()
    builds = len(requests)
    if len(counts) <= builds - 1:
        row = in_one_row(keys, difference(now.own, counts[None]))
        return Shares((row, *last), "these keys go together: the model cannot be built with one of them changed alone")
    alone = [now.own] if len(keys) == 1 else [counts[index] for index in range(len(keys))]
    back = "the key put back to its old value" if builds == 1 else "keys put back to their old values"
    method = f"by {plural(builds, 'build')} of today's code with {back}" if builds else ""
    return Shares((*alone_and_together(keys, counts[None], alone, now.own), *last), method)
